//! Schedules of on-card collectives, proved on contributions: every byte of every memory is the multiset of the
//! group inputs that are summed in it, and tasks run in any order that their dependencies allow.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stratasim_device::card::{AlgorithmSpec, Copy, Operation, Place, Region, Schedule, Work, chunk};

/// How often the input of each group is in a byte; `None` where nothing was written.
type Byte = Option<Vec<u8>>;

/// The memories of a card while a schedule runs.
struct Memories(BTreeMap<Place, Vec<Byte>>);

impl Memories {
    fn start(schedule: &Schedule, operation: Operation) -> Self {
        let (groups, bytes) = (schedule.groups, schedule.bytes as usize);
        let input = |group: u32| {
            let mut counts = vec![0; groups as usize];
            counts[group as usize] = 1;
            Some(counts)
        };
        let owns = |group: u32, byte: usize| match operation {
            Operation::AllGather => chunk(schedule.bytes, group, groups).contains(&(byte as u64)),
            Operation::ReduceScatter | Operation::AllReduce => true,
            Operation::Broadcast => group == 0,
        };
        let mut places = BTreeMap::new();
        let mut global = vec![None; schedule.global_bytes as usize];
        for group in 0..groups {
            let local: Vec<Byte> =
                (0..bytes).map(|byte| if owns(group, byte) { input(group) } else { None }).collect();
            if schedule.starts_in_global {
                // a reduction has a slot per group, the others one vector
                let slot = if operation == Operation::ReduceScatter { group as usize * bytes } else { 0 };
                for (byte, it) in local.iter().enumerate().filter(|(_, it)| it.is_some()) {
                    global[slot + byte] = it.clone();
                }
            }
            places.insert(Place::Local(group), local);
            let sum = chunk(schedule.bytes, group, groups);
            places.insert(Place::Ldm(group), vec![None; (sum.end - sum.start) as usize]);
        }
        places.insert(Place::Global, global);
        Self(places)
    }

    fn copy(&mut self, copy: &Copy) {
        let range =
            |region: Region| region.offset_bytes as usize..(region.offset_bytes + copy.bytes) as usize;
        let source = self.0[&copy.from.place][range(copy.from)].to_vec();
        let target = &mut self.0.get_mut(&copy.to.place).unwrap()[range(copy.to)];
        for (target, source) in target.iter_mut().zip(source) {
            let source = source.expect("nobody reads what nobody wrote");
            match target {
                Some(counts) if copy.add => {
                    counts.iter_mut().zip(source).for_each(|(count, more)| *count += more)
                }
                _ => {
                    assert!(!copy.add, "nothing is added to what nobody wrote");
                    *target = Some(source);
                }
            }
        }
    }
}

/// Runs the tasks in an order that `choice` takes among those that may run.
fn run(schedule: &Schedule, operation: Operation, mut choice: impl FnMut(usize) -> usize) -> Memories {
    let mut memories = Memories::start(schedule, operation);
    let mut done = vec![false; schedule.tasks.len()];
    for _ in 0..schedule.tasks.len() {
        let may =
            |at: &usize| !done[*at] && schedule.tasks[*at].after.iter().all(|&before| done[before as usize]);
        let ready: Vec<usize> = (0..done.len()).filter(may).collect();
        let at = ready[choice(ready.len())];
        if let Work::Copy(copy) = &schedule.tasks[at].work {
            memories.copy(copy);
        }
        done[at] = true;
    }
    memories
}

/// Says what is wrong with the memories at the end.
fn check(schedule: &Schedule, operation: Operation, memories: &Memories) {
    let groups = schedule.groups;
    let owner =
        |byte: u64| (0..groups).find(|&it| chunk(schedule.bytes, it, groups).contains(&byte)).unwrap();
    for group in 0..groups {
        for byte in 0..schedule.bytes {
            let wanted: Vec<u8> = match operation {
                Operation::AllGather => (0..groups).map(|it| u8::from(it == owner(byte))).collect(),
                Operation::Broadcast => (0..groups).map(|it| u8::from(it == 0)).collect(),
                Operation::ReduceScatter if owner(byte) != group => continue,
                Operation::ReduceScatter | Operation::AllReduce => vec![1; groups as usize],
            };
            let found = &memories.0[&Place::Local(group)][byte as usize];
            assert_eq!(found.as_ref(), Some(&wanted), "group {group}, byte {byte} of {}", schedule.bytes);
        }
    }
}

#[test]
fn every_algorithm_gives_every_group_what_the_operation_says() {
    for algorithm in AlgorithmSpec::ALL {
        for operation in Operation::ALL {
            for groups in 1..=8 {
                for bytes in [0, 1, 2, 3, 7, 8, 13, 24, 29] {
                    let Some(schedule) = algorithm.plugin().schedule(operation, groups, bytes) else {
                        assert_eq!((algorithm.kind(), operation), ("csc-equation", Operation::AllReduce));
                        continue;
                    };
                    check(&schedule, operation, &run(&schedule, operation, |_| 0));
                    check(&schedule, operation, &run(&schedule, operation, |count| count - 1));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn no_dependency_is_missing(
        choices in prop::collection::vec(any::<prop::sample::Index>(), 64),
        groups in 2_u32..=6,
        bytes in 0_u64..=20,
    ) {
        for algorithm in AlgorithmSpec::ALL {
            for operation in Operation::ALL {
                let Some(schedule) = algorithm.plugin().schedule(operation, groups, bytes) else { continue };
                let mut turn = 0;
                let memories = run(&schedule, operation, |count| {
                    turn += 1;
                    choices[turn % choices.len()].index(count)
                });
                check(&schedule, operation, &memories);
            }
        }
    }
}

#[test]
fn a_lost_dependency_would_be_found() {
    // the GETs of a CSC all-gather without the synchronisation before them
    let mut schedule = AlgorithmSpec::named("csc").unwrap().plugin().all_gather(4, 16);
    let sync = schedule.tasks.iter().position(|task| task.work == Work::Sync).unwrap();
    for task in &mut schedule.tasks {
        task.after.retain(|&before| before as usize != sync);
    }
    let operation = Operation::AllGather;
    assert!(std::panic::catch_unwind(|| run(&schedule, operation, |count| count - 1)).is_err());
}

#[test]
fn launches_and_synchronisations_are_those_of_the_paper() {
    // "launches fall from 12 to 4, synchronisations from 3 to 1": a launch here starts all four groups
    let barriers =
        |name: &str| AlgorithmSpec::named(name).unwrap().plugin().all_gather(4, 1 << 20).barriers();
    assert_eq!(barriers("ring"), (3, 3));
    for name in ["csc", "csc-equation", "direct"] {
        assert_eq!(barriers(name), (1, 1), "{name}");
    }
}

#[test]
fn bytes_that_move_and_memory_that_is_used_are_those_of_the_algorithms() {
    let (groups, bytes) = (4_u32, 4096_u64);
    let of = |name: &str, operation| {
        let schedule =
            AlgorithmSpec::named(name).unwrap().plugin().schedule(operation, groups, bytes).unwrap();
        (schedule.moved_bytes(), schedule.global_bytes)
    };
    let n = u64::from(groups);
    use Operation::{AllGather, ReduceScatter};
    assert_eq!(of("ring", AllGather), ((n - 1) * bytes, 0));
    assert_eq!(of("ring", ReduceScatter), ((n - 1) * bytes, 0));
    assert_eq!(of("csc", AllGather), (n * bytes, bytes), "with the PUT of every chunk");
    // PUT and GET of what belongs to others, and the own chunk into and out of the scratch-pads
    assert_eq!(of("csc", ReduceScatter), (2 * (n - 1) * bytes + 2 * bytes, n * bytes));
    assert_eq!(of("csc-equation", AllGather), ((n - 1) * bytes, bytes));
    assert_eq!(of("direct", ReduceScatter), ((n - 1) * bytes + 2 * bytes, 0));
}

proptest! {
    #[test]
    fn chunks_cover_the_vector_and_differ_by_one_byte_at_most(bytes in 0..u64::MAX, count in 1_u32..=64) {
        let chunks: Vec<_> = (0..count).map(|index| chunk(bytes, index, count)).collect();
        prop_assert_eq!((chunks[0].start, chunks[count as usize - 1].end), (0, bytes));
        prop_assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
        let lengths = || chunks.iter().map(|chunk| chunk.end - chunk.start);
        prop_assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1);
    }
}
