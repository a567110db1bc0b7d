//! A reader of GOAL text as schedgen writes it, and what every schedule must obey.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use stratasim_workload::goal::{ANY, Operation, OperationKind, Schedule, ScheduleBuilder};

/// A file of the reference folder; `None`, with a message, where the folder is missing.
pub(crate) fn reference(path: &str) -> Option<String> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/goal").join(path);
    let text = std::fs::read_to_string(&file).ok();
    if text.is_none() {
        eprintln!("skipped: no {}", file.display());
    }
    text
}

/// Reads one statement per line, `key value` pairs, labels `l1`, `l2`, ...
pub(crate) fn parse(text: &str) -> Schedule {
    let number = |word: &str| -> u64 {
        if word == "-1" { ANY.into() } else { word.trim_end_matches('b').parse().expect(word) }
    };
    let mut builder: Option<ScheduleBuilder> = None;
    let mut places = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => continue,
            ["num_ranks", ranks] => builder = Some(ScheduleBuilder::new(number(ranks) as u32)),
            ["rank", ..] => places.clear(),
            ["}"] => builder.as_mut().unwrap().close_rank().unwrap(),
            [after, "requires", before] => builder.as_mut().unwrap().requires(places[after], places[before]),
            [after, "irequires", before] => {
                builder.as_mut().unwrap().requires_start(places[after], places[before]);
            }
            [label, kind, size, ref rest @ ..] => {
                let size = number(size);
                let mut operation = match kind {
                    "send" => Operation::send(size, 0, 0),
                    "recv" => Operation::receive(size, 0, 0),
                    "calc" => Operation::calc(size),
                    _ => panic!("{line}"),
                };
                for pair in rest.chunks(2) {
                    let value = number(pair[1]);
                    match pair[0] {
                        "to" | "from" => operation.peer = value as u32,
                        "tag" => operation.tag = value as u32,
                        "cpu" => operation.cpu = value as u16,
                        "nic" => operation.nic = value as u16,
                        _ => panic!("{line}"),
                    }
                }
                let place = builder.as_mut().unwrap().push(operation);
                places.insert(label.trim_end_matches(':'), place);
            }
            _ => panic!("{line}"),
        }
    }
    builder.unwrap().build().unwrap()
}

/// (kind, size, peer, tag, cpu, nic, what waits for it).
pub(crate) type Plain = (OperationKind, u64, u32, u32, u16, u16, Vec<(u32, bool)>);

/// The operations of a rank, to compare and print.
pub(crate) fn plain(schedule: &Schedule, rank: u32) -> Vec<Plain> {
    let row = |number| {
        let Operation { kind, size, peer, tag, cpu, nic } = schedule.operation(rank, number);
        let edges = schedule.edges(number).iter().map(|edge| (edge.after(), edge.on_start()));
        (kind, size, peer, tag, cpu, nic, edges.collect())
    };
    schedule.of_rank(rank).map(row).collect()
}

/// Asserts that two schedules are the same, rank by rank, and by digest.
pub(crate) fn assert_same(found: &Schedule, expected: &Schedule, what: &str) {
    assert_eq!(found.ranks(), expected.ranks(), "{what}");
    for rank in 0..found.ranks() {
        assert_eq!(plain(found, rank), plain(expected, rank), "{what}, rank {rank}");
    }
    assert_eq!(found.digest(), expected.digest(), "{what}");
}

/// What a schedule moves.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// Messages on the longest chain of operations that wait for each other.
    pub(crate) rounds: u32,
}

/// Runs a schedule without time, in rounds: computations and sends once what they wait for is done, then
/// all messages whose receives are posted, first in, first out per (source, destination, tag). Panics
/// unless everything runs and every message is received in its own size.
pub(crate) fn run(schedule: &Schedule, what: &str) -> Traffic {
    type Key = (u32, u32, u32);
    let mut waits: Vec<Vec<u32>> = Vec::new();
    let mut ready: Vec<(u32, u32)> = Vec::new();
    for rank in 0..schedule.ranks() {
        let mut counts = Vec::new();
        schedule.count_dependencies(rank, &mut counts);
        ready.extend((0..).zip(&counts).filter(|(_, count)| **count == 0).map(|(place, _)| (rank, place)));
        waits.push(counts);
    }
    let mut sent: BTreeMap<Key, VecDeque<u64>> = BTreeMap::new();
    let mut posted: BTreeMap<Key, VecDeque<(u32, u64)>> = BTreeMap::new();
    let mut traffic = Traffic { messages: 0, bytes: 0, rounds: 0 };
    let mut done = 0;
    loop {
        let mut woken = Vec::new();
        while !ready.is_empty() {
            for (rank, place) in std::mem::take(&mut ready) {
                let operation = schedule.operation(rank, schedule.of_rank(rank).start + place);
                let Operation { size, peer, tag, .. } = operation;
                release(schedule, rank, place, true, &mut waits, &mut woken);
                if operation.kind == OperationKind::Receive {
                    posted.entry((peer, rank, tag)).or_default().push_back((place, size));
                    continue;
                }
                if operation.kind == OperationKind::Send {
                    assert!(peer < schedule.ranks(), "{what}: {operation:?}");
                    sent.entry((rank, peer, tag)).or_default().push_back(size);
                    traffic.messages += 1;
                    traffic.bytes += size;
                }
                done += 1;
                release(schedule, rank, place, false, &mut waits, &mut woken);
            }
            ready.append(&mut woken);
        }
        let mut any = false;
        for (key, queue) in &mut sent {
            let waiting = posted.entry(*key).or_default();
            while let (Some(bytes), Some((place, size))) = (queue.front(), waiting.front()) {
                assert_eq!(bytes, size, "{what}: {key:?}, operation {place}");
                done += 1;
                any = true;
                release(schedule, key.1, *place, false, &mut waits, &mut ready);
                queue.pop_front();
                waiting.pop_front();
            }
        }
        if !any {
            break;
        }
        traffic.rounds += 1;
        ready.sort_unstable();
    }
    assert_eq!(done, schedule.len(), "{what}: not everything ran");
    assert!(sent.values().all(VecDeque::is_empty), "{what}: not everything was received");
    traffic
}

fn release(
    schedule: &Schedule,
    rank: u32,
    place: u32,
    on_start: bool,
    waits: &mut [Vec<u32>],
    ready: &mut Vec<(u32, u32)>,
) {
    let edges = schedule.edges(schedule.of_rank(rank).start + place);
    for edge in edges.iter().filter(|edge| edge.on_start() == on_start) {
        let left = &mut waits[rank as usize][edge.after() as usize];
        *left -= 1;
        if *left == 0 {
            ready.push((rank, edge.after()));
        }
    }
}

/// (sends, receives, computations).
pub(crate) fn count(schedule: &Schedule) -> (u64, u64, u64) {
    let mut counts = (0, 0, 0);
    for number in 0..schedule.len() {
        *match schedule.shape(number).operation.kind {
            OperationKind::Send => &mut counts.0,
            OperationKind::Receive => &mut counts.1,
            OperationKind::Calc => &mut counts.2,
        } += 1;
    }
    counts
}
