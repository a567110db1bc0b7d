//! What a schedule consists of, in numbers.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{ANY, OperationKind, Schedule};

/// Most classes of message sizes.
const MOST_CLASSES: usize = 10;

/// A schedule in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Ranks.
    pub ranks: u32,
    /// Ranks without operations.
    pub idle_ranks: u32,
    /// Sends.
    pub sends: u64,
    /// Receives.
    pub receives: u64,
    /// Computations.
    pub computations: u64,
    /// Dependencies on the end of an operation.
    pub requires: u64,
    /// Dependencies on the start of an operation.
    pub irequires: u64,
    /// Streams of a rank: the largest cpu of any operation and one.
    pub streams: u32,
    /// NICs of a rank: the largest of any operation and one.
    pub nics: u32,
    /// Different tags of messages, wildcards not counted.
    pub tags: u64,
    /// Receives from any source.
    pub any_source: u64,
    /// Messages and receives with any tag.
    pub any_tag: u64,
    /// Messages of a rank to itself.
    pub to_itself: u64,
    /// Bytes of all sends.
    pub bytes: u128,
    /// Sizes of sends; none without any.
    pub message_bytes: Option<Sizes>,
    /// Sends by size, ascending.
    pub messages_by_size: Vec<SizeClass>,
    /// Nanoseconds of all computations.
    pub computation_ns: u128,
    /// Nanoseconds of computation of the rank that has most.
    pub most_computation_ns: u128,
    /// The most operations of a rank that run one after the other; none where some wait for themselves.
    pub longest_chain: Option<Chain>,
    /// Different operations when peers are counted from the rank.
    pub shapes: u64,
    /// [`Schedule::digest`] as 16 hexadecimal digits.
    pub digest: String,
}

/// Sizes of messages, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// The smallest.
    pub least: u64,
    /// The one in the middle; of two the smaller one.
    pub median: u64,
    /// The largest.
    pub most: u64,
}

/// Messages of similar size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SizeClass {
    /// Smallest size that belongs to it.
    pub from_bytes: u64,
    /// Largest size that belongs to it.
    pub to_bytes: u64,
    /// How many.
    pub messages: u64,
}

/// Operations of a rank that wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// How many.
    pub operations: u32,
    /// The first rank that has so many.
    pub rank: u32,
}

impl Summary {
    /// Goes over `schedule` a few times.
    ///
    /// ```
    /// use stratasim_workload::goal::generate::{GenerateContext, GenerateSpec};
    /// use stratasim_workload::goal::summary::Summary;
    ///
    /// let spec = GenerateSpec::named("dissemination", serde_json::Map::new()).unwrap();
    /// let summary = Summary::of(&spec.generate(&GenerateContext::new(8)).unwrap());
    /// assert_eq!((summary.sends, summary.receives, summary.requires), (24, 24, 16));
    /// assert_eq!(summary.bytes, 24);
    /// ```
    pub fn of(schedule: &Schedule) -> Self {
        let mut uses = vec![0_u64; schedule.shapes().len()];
        let (mut idle_ranks, mut irequires, mut most_computation_ns) = (0, 0, 0);
        for rank in 0..schedule.ranks() {
            let numbers = schedule.of_rank(rank);
            idle_ranks += u32::from(numbers.is_empty());
            let mut computation_ns = 0_u128;
            for number in numbers {
                uses[schedule.shape_of(number) as usize] += 1;
                irequires += schedule.edges(number).iter().filter(|edge| edge.on_start()).count() as u64;
                let operation = &schedule.shape(number).operation;
                if operation.kind == OperationKind::Calc {
                    computation_ns += u128::from(operation.size);
                }
            }
            most_computation_ns = most_computation_ns.max(computation_ns);
        }
        let mut of_kind = [0_u64; 4];
        let (mut any_source, mut any_tag, mut to_itself) = (0, 0, 0);
        let (mut bytes, mut computation_ns, mut shapes) = (0, 0, 0);
        let mut tags = BTreeSet::new();
        let mut sizes: Vec<(u64, u64)> = Vec::new();
        for (shape, &uses) in schedule.shapes().iter().zip(&uses).filter(|(_, uses)| **uses > 0) {
            let operation = &shape.operation;
            shapes += 1;
            of_kind[operation.kind as usize] += uses;
            let total = u128::from(operation.size) * u128::from(uses);
            match operation.kind {
                OperationKind::Calc => {
                    computation_ns += total;
                    continue;
                }
                OperationKind::Send => {
                    bytes += total;
                    sizes.push((operation.size, uses));
                    to_itself += if shape.relative && operation.peer == 0 { uses } else { 0 };
                }
                OperationKind::Receive if operation.peer == ANY => any_source += uses,
                OperationKind::Receive => {}
            }
            if operation.tag == ANY {
                any_tag += uses;
            } else {
                tags.insert(operation.tag);
            }
        }
        sizes.sort_unstable();
        Self {
            ranks: schedule.ranks(),
            idle_ranks,
            sends: of_kind[OperationKind::Send as usize],
            receives: of_kind[OperationKind::Receive as usize],
            computations: of_kind[OperationKind::Calc as usize],
            requires: u64::from(schedule.edge_count()) - irequires,
            irequires,
            streams: schedule.cpus(),
            nics: schedule.nics(),
            tags: tags.len() as u64,
            any_source,
            any_tag,
            to_itself,
            bytes,
            message_bytes: spread(&sizes),
            messages_by_size: classes(&sizes),
            computation_ns,
            most_computation_ns,
            longest_chain: longest_chain(schedule),
            shapes,
            digest: format!("{:016x}", schedule.digest()),
        }
    }

    /// All operations.
    pub const fn operations(&self) -> u64 {
        self.sends + self.receives + self.computations
    }
}

/// Least, median and most of sizes with their counts, ascending.
fn spread(sizes: &[(u64, u64)]) -> Option<Sizes> {
    let (&(least, _), &(most, _)) = (sizes.first()?, sizes.last()?);
    let half = sizes.iter().map(|(_, count)| count).sum::<u64>().div_ceil(2);
    let mut below = 0;
    let median = sizes.iter().find(|(_, count)| {
        below += count;
        below >= half
    });
    Some(Sizes { least, median: median?.0, most })
}

/// Every size where there are few, else powers of two, of four, of sixteen, ... until they are few.
fn classes(sizes: &[(u64, u64)]) -> Vec<SizeClass> {
    let by = |bounds: &dyn Fn(u64) -> (u64, u64)| {
        let mut classes: Vec<SizeClass> = Vec::new();
        for &(size, messages) in sizes {
            let (from_bytes, to_bytes) = bounds(size);
            match classes.last_mut() {
                Some(last) if last.from_bytes == from_bytes => last.messages += messages,
                _ => classes.push(SizeClass { from_bytes, to_bytes, messages }),
            }
        }
        classes
    };
    let mut all = by(&|size| (size, size));
    let mut bits = 1;
    while all.len() > MOST_CLASSES {
        all = by(&|size| {
            if size == 0 {
                return (0, 0);
            }
            let low = size.ilog2() / bits * bits;
            let high = low + bits;
            (1 << low, if high >= u64::BITS { u64::MAX } else { (1 << high) - 1 })
        });
        bits *= 2;
    }
    all
}

/// The longest way over dependencies within a rank.
fn longest_chain(schedule: &Schedule) -> Option<Chain> {
    let mut longest = Chain { operations: 0, rank: 0 };
    let (mut depth, mut waits, mut ready) = (Vec::new(), Vec::new(), Vec::new());
    for rank in 0..schedule.ranks() {
        let range = schedule.of_rank(rank);
        depth.clear();
        depth.resize(range.len(), 1_u32);
        let pass = |place: u32, depth: &mut Vec<u32>| {
            let mut forward = true;
            for edge in schedule.edges(range.start + place) {
                let further = depth[place as usize] + 1;
                let after = &mut depth[edge.after() as usize];
                *after = further.max(*after);
                forward &= edge.after() > place;
            }
            forward
        };
        // operations that wait only for earlier ones are in order already
        if !(0..range.len() as u32).all(|place| pass(place, &mut depth)) {
            depth.fill(1);
            schedule.count_dependencies(rank, &mut waits);
            ready.clear();
            ready.extend((0..).zip(&waits).filter(|(_, count)| **count == 0).map(|(place, _)| place));
            let mut passed = 0;
            while let Some(place) = ready.pop() {
                passed += 1;
                pass(place, &mut depth);
                for edge in schedule.edges(range.start + place) {
                    let count = &mut waits[edge.after() as usize];
                    *count -= 1;
                    if *count == 0 {
                        ready.push(edge.after());
                    }
                }
            }
            if passed < range.len() {
                return None;
            }
        }
        let operations = depth.iter().copied().max().unwrap_or(0);
        if operations > longest.operations {
            longest = Chain { operations, rank };
        }
    }
    Some(longest)
}

#[cfg(test)]
mod tests {
    use super::super::{Operation, ScheduleBuilder};
    use super::*;

    #[test]
    fn the_median_is_that_of_all_messages() {
        assert_eq!(spread(&[]), None);
        let sizes = |list: &[(u64, u64)]| spread(list).map(|sizes| (sizes.least, sizes.median, sizes.most));
        assert_eq!(sizes(&[(1, 2), (5, 1), (9, 1)]), Some((1, 1, 9)));
        assert_eq!(sizes(&[(1, 2), (5, 3)]), Some((1, 5, 5)));
    }

    #[test]
    fn few_sizes_are_listed_and_many_are_gathered() {
        let few: Vec<_> = (0..10).map(|size| (size, 1)).collect();
        assert_eq!(classes(&few).len(), 10);
        let many: Vec<_> = (0..1000).map(|size| (size, 2)).collect();
        let gathered = classes(&many);
        assert!(gathered.len() <= MOST_CLASSES, "{gathered:?}");
        assert_eq!(gathered.iter().map(|class| class.messages).sum::<u64>(), 2000);
        for (class, next) in gathered.iter().zip(&gathered[1..]) {
            assert!(class.to_bytes < next.from_bytes);
        }
        for class in &gathered {
            let inside = many.iter().filter(|(size, _)| (class.from_bytes..=class.to_bytes).contains(size));
            assert_eq!(class.messages, 2 * inside.count() as u64);
        }
        let wide: Vec<_> = (0..64).map(|bit| (1_u64 << bit, 1)).chain([(u64::MAX, 1)]).collect();
        assert_eq!(classes(&wide).last().unwrap().to_bytes, u64::MAX);
    }

    #[test]
    fn the_longest_chain_is_found_in_any_order_and_not_in_a_circle() {
        let chain = |edges: &[(u32, u32)]| {
            let mut builder = ScheduleBuilder::new(2);
            builder.close_rank().unwrap();
            for _ in 0..5 {
                builder.push(Operation::calc(1));
            }
            edges.iter().for_each(|&(after, before)| builder.requires(after, before));
            let schedule = builder.build().unwrap();
            Summary::of(&schedule).longest_chain.map(|chain| (chain.operations, chain.rank))
        };
        assert_eq!(chain(&[]), Some((1, 1)));
        assert_eq!(chain(&[(1, 0), (2, 1), (4, 0)]), Some((3, 1)));
        assert_eq!(chain(&[(0, 1), (1, 2), (2, 3), (3, 4)]), Some((5, 1)));
        assert_eq!(chain(&[(3, 2), (2, 4), (4, 0)]), Some((4, 1)));
        assert_eq!(chain(&[(0, 1), (1, 0)]), None);
    }
}
