//! Ranks: what each does and what waits for what, or which earlier rank of the block it equals.
//!
//! A block has four lists of varints: heads, shapes, counts, edges; the lengths in bytes of the first three
//! stand before them. A head `h` is one of
//!
//! | lowest bits of `h` | the rest of `h` | then |
//! |---|---|---|
//! | 0 | number of operations | a rank with shapes, counts and edges of its own |
//! | 1 | distance | shapes of the rank that far before, counts and edges of its own |
//! | 2 | distance | counts and edges of the rank that far before, shapes of its own |
//! | 3 | number of ranks less one | a distance: each of these ranks equals the one that far before it |
//!
//! Shapes: the folded difference to the shape before plus one. Counts: the dependants of each operation.
//! Edges: twice the folded difference to the operation that waits in the edge before (0 at the beginning of
//! a rank), plus one where it waits for the start.

use super::super::schedule::{Edge, Schedule};
use super::ITEMS;
use super::varint::{Numbers, fold, put, unfold};

/// A rank with all of its own.
pub(super) const OWN: u64 = 0;
/// A rank with the shapes of an earlier one.
pub(super) const SAME_SHAPES: u64 = 1;
/// A rank with the dependencies of an earlier one.
pub(super) const SAME_EDGES: u64 = 2;
/// Ranks that equal earlier ones.
pub(super) const SAME: u64 = 3;

/// The lists of a block that is written.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) heads: Vec<u8>,
    shapes: Vec<u8>,
    counts: Vec<u8>,
    edges: Vec<u8>,
    /// The shape before, as the list of shapes counts.
    last: i64,
}

impl Lists {
    pub(super) fn clear(&mut self) {
        self.last = 0;
        for list in [&mut self.heads, &mut self.shapes, &mut self.counts, &mut self.edges] {
            list.clear();
        }
    }

    pub(super) fn put_shapes(&mut self, shapes: &[u32]) {
        for &shape in shapes {
            put(&mut self.shapes, fold(i64::from(shape) - self.last));
            self.last = i64::from(shape) + 1;
        }
    }

    /// Appends the dependants of a rank: where those of each operation begin, and all of them.
    pub(super) fn put_edges(&mut self, first: &[u32], edges: &[Edge]) {
        for pair in first.windows(2) {
            put(&mut self.counts, u64::from(pair[1] - pair[0]));
        }
        let mut last = 0;
        for edge in edges {
            let after = i64::from(edge.after());
            put(&mut self.edges, fold(after - last) << 1 | u64::from(edge.on_start()));
            last = after;
        }
    }

    /// Appends the block's content to `out`.
    pub(super) fn join(&self, out: &mut Vec<u8>) {
        for list in [&self.heads, &self.shapes, &self.counts] {
            put(out, list.len() as u64);
        }
        for list in [&self.heads, &self.shapes, &self.counts, &self.edges] {
            out.extend_from_slice(list);
        }
    }
}

/// The lists of a block that is read, and what of its sizes is left.
struct Decoder<'a> {
    heads: Numbers<'a>,
    shapes: Numbers<'a>,
    counts: Numbers<'a>,
    edges: Numbers<'a>,
    last: i64,
    ranks_left: usize,
    operations_left: usize,
    edges_left: usize,
}

const SHORT: &str = "its lists are shorter than its ranks";

/// Appends the ranks of a block to `schedule`; `sizes` are the ranks, operations and dependencies that the
/// block says it has, `whole` those of the file, `shape_count` the shapes of the file.
pub(super) fn decode(
    raw: &[u8],
    sizes: [u32; 3],
    whole: [u32; 3],
    shape_count: u32,
    schedule: &mut Schedule,
) -> Result<(), String> {
    let [ranks, operations, edges] = sizes.map(|size| size as usize);
    let fits = if ranks == 1 {
        operations.max(edges) <= raw.len() && operations <= Edge::MOST as usize
    } else {
        ranks.saturating_add(operations).saturating_add(edges) <= ITEMS
    };
    if ranks == 0 || !fits {
        return Err(format!(
            "a block of {ranks} ranks, {operations} operations and {edges} dependencies in {} bytes; one rank expected with a byte for each, or at most {ITEMS} together",
            raw.len()
        ));
    }
    let whole = whole.map(|size| size as usize);
    schedule.make_room([ranks, operations, edges], whole);
    let mut decoder = Decoder::split(raw, [ranks, operations, edges]).ok_or(SHORT)?;
    while decoder.ranks_left > 0 {
        decoder.next(ranks - decoder.ranks_left, shape_count, schedule)?;
    }
    if decoder.operations_left > 0 || decoder.edges_left > 0 {
        return Err(format!(
            "its ranks have {} operations and {} dependencies less than the {operations} and {edges} expected",
            decoder.operations_left, decoder.edges_left
        ));
    }
    let Decoder { heads, shapes, counts, edges, .. } = decoder;
    if [heads, shapes, counts, edges].iter().any(|list| !list.is_empty()) {
        return Err("its lists are longer than its ranks".to_owned());
    }
    Ok(())
}

impl<'a> Decoder<'a> {
    fn split(raw: &'a [u8], [ranks_left, operations_left, edges_left]: [usize; 3]) -> Option<Self> {
        let mut all = Numbers::new(raw);
        let lengths = [all.next()?, all.next()?, all.next()?];
        let mut lists = lengths.map(|length| all.bytes(length).map(Numbers::new));
        let [heads, shapes, counts] = &mut lists;
        let (heads, shapes, counts) = (heads.take()?, shapes.take()?, counts.take()?);
        Some(Self { heads, shapes, counts, edges: all, last: 0, ranks_left, operations_left, edges_left })
    }

    /// Appends the ranks of a head; the block has `done` ranks before.
    fn next(&mut self, done: usize, shape_count: u32, schedule: &mut Schedule) -> Result<(), String> {
        let head = self.heads.next().ok_or(SHORT)?;
        let value = head >> 2;
        let distance = |value: u64| match usize::try_from(value) {
            Ok(distance) if (1..=done).contains(&distance) => Ok(distance),
            _ => Err(format!(
                "a rank like the one {value} before; 1 to {done} expected, the block's ranks so far"
            )),
        };
        let mut ranks = 1;
        match head & 3 {
            OWN => {
                let operations = self.count(value)?;
                self.own_shapes(operations, shape_count, schedule)?;
                self.own_edges(operations, schedule)?;
            }
            SAME_SHAPES => {
                let first = schedule.first.len() - 1 - distance(value)?;
                let range = schedule.first[first] as usize..schedule.first[first + 1] as usize;
                let operations = self.count(range.len() as u64)?;
                schedule.shape_of.extend_from_within(range);
                self.own_edges(operations, schedule)?;
            }
            SAME_EDGES => {
                let first = schedule.first.len() - 1 - distance(value)?;
                let (start, end) = (schedule.first[first] as usize, schedule.first[first + 1] as usize);
                let operations = self.count((end - start) as u64)?;
                let edges = schedule.first_edge[end] - schedule.first_edge[start];
                self.edges_left = self.edges_left.checked_sub(edges as usize).ok_or_else(too_many)?;
                self.own_shapes(operations, shape_count, schedule)?;
                schedule.repeat_edges(start, end);
            }
            _ => {
                let distance = distance(self.heads.next().ok_or(SHORT)?)?;
                ranks = usize::try_from(value)
                    .ok()
                    .filter(|&count| count < self.ranks_left)
                    .ok_or_else(too_many)?
                    + 1;
                let (operations, edges) = repeated(schedule, distance, ranks);
                self.operations_left = self.operations_left.checked_sub(operations).ok_or_else(too_many)?;
                self.edges_left = self.edges_left.checked_sub(edges).ok_or_else(too_many)?;
                schedule.repeat_ranks(distance, ranks);
            }
        }
        if head & 3 != SAME {
            schedule.end_rank();
        }
        self.ranks_left -= ranks;
        Ok(())
    }

    /// Takes the operations of a rank from what is left.
    fn count(&mut self, operations: u64) -> Result<usize, String> {
        let operations = usize::try_from(operations).map_err(|_| too_many())?;
        self.operations_left = self.operations_left.checked_sub(operations).ok_or_else(too_many)?;
        Ok(operations)
    }

    fn own_shapes(&mut self, count: usize, shapes: u32, schedule: &mut Schedule) -> Result<(), String> {
        let (mut last, mut largest) = (self.last, 0);
        self.shapes
            .each(count, |number| {
                let shape = last.wrapping_add(unfold(number));
                largest = (shape as u64).max(largest);
                schedule.shape_of.push(shape as u32);
                last = shape.wrapping_add(1);
            })
            .ok_or(SHORT)?;
        self.last = last;
        if count > 0 && largest >= u64::from(shapes) {
            return Err(format!("shape {}; less than {shapes} expected", largest as i64));
        }
        Ok(())
    }

    fn own_edges(&mut self, operations: usize, schedule: &mut Schedule) -> Result<(), String> {
        let first = schedule.edges.len();
        // sums cannot overflow before the check: there are fewer than 2^32 counts, kept below 2^32 each
        let (mut total, most) = (first as u64, u64::from(u32::MAX));
        self.counts
            .each(operations, |count| {
                total += count.min(most);
                schedule.first_edge.push(total as u32);
            })
            .ok_or(SHORT)?;
        let count = total - first as u64;
        let left = u64::try_from(self.edges_left).expect("64 bits are enough");
        self.edges_left = left.checked_sub(count).ok_or_else(too_many)? as usize;
        let (mut last, mut largest, mut on_start) = (0i64, 0, 0);
        self.edges
            .each(count as usize, |number| {
                let after = last.wrapping_add(unfold(number >> 1));
                largest = (after as u64).max(largest);
                on_start |= number & 1;
                schedule.edges.push(Edge::new(after as u32 & Edge::MOST, number & 1 != 0));
                last = after;
            })
            .ok_or(SHORT)?;
        if count > 0 && largest >= operations as u64 {
            return Err(format!(
                "operation {} of a rank waits for another; less than {operations} expected",
                largest as i64
            ));
        }
        if on_start != 0 {
            check_order(schedule, operations)?;
        }
        Ok(())
    }
}

fn too_many() -> String {
    "its ranks have more operations or dependencies than the block says".to_owned()
}

/// Operations and dependencies of `ranks` more ranks, each equal to the one `distance` before it.
fn repeated(schedule: &Schedule, distance: usize, ranks: usize) -> (usize, usize) {
    let (operations, edges) = schedule.tail(distance);
    let first = schedule.first.len() - 1 - distance;
    let (start, end) = (schedule.first[first] as usize, schedule.first[first + ranks % distance] as usize);
    let rest = schedule.first_edge[end] - schedule.first_edge[start];
    // counted, not made: a block claims at most 2^32 ranks, a group has fewer than 2^19 items
    (ranks / distance * operations + (end - start), ranks / distance * edges + rest as usize)
}

/// What waits for the end of an operation stands before what waits for its start.
fn check_order(schedule: &Schedule, operations: usize) -> Result<(), String> {
    let first = &schedule.first_edge[schedule.first_edge.len() - 1 - operations..];
    for (operation, pair) in first.windows(2).enumerate() {
        let edges = &schedule.edges[pair[0] as usize..pair[1] as usize];
        if !edges.is_sorted_by_key(|edge| edge.on_start()) {
            return Err(format!(
                "operation {operation} of a rank: what waits for its start stands before what waits for its end; the reverse expected"
            ));
        }
    }
    Ok(())
}
