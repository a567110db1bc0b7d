//! NCCL's schedules: what they send, that they end in any order of events, and the peers' generator.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use rand::RngExt;
use stratasim_core::random::Streams;
use stratasim_core::{Bandwidth, Bytes};
use stratasim_workload::goal::nccl::{NcclAlgorithm, NcclOperation, NcclProtocol, NcclSpec};
use stratasim_workload::goal::{OperationKind, Schedule};

use NcclOperation::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter, SendReceive};
use NcclProtocol::{Ll, Ll128, Simple};

/// When a message ends for its sender.
#[derive(Clone, Copy, PartialEq)]
enum Sends {
    /// At once.
    Eager,
    /// When the receive is there.
    Rendezvous,
}

/// Runs a schedule without time: whatever may start starts, in an order that `seed` draws, so that
/// nothing but dependencies keeps an order. Says which ranks contributed to each rank at the end, as bits.
fn run(schedule: &Schedule, sends: Sends, seed: u64) -> Vec<u64> {
    let ranks = schedule.ranks();
    let mut waits = vec![0_u32; schedule.len() as usize];
    let mut counts = Vec::new();
    for rank in 0..ranks {
        schedule.count_dependencies(rank, &mut counts);
        let first = schedule.of_rank(rank).start as usize;
        waits[first..first + counts.len()].copy_from_slice(&counts);
    }
    let mut random = Streams::new(seed).stream("order");
    let mut ready: Vec<u32> = (0..schedule.len()).filter(|&op| waits[op as usize] == 0).collect();
    let mut heard = vec![0_u64; schedule.len() as usize];
    // sends and receives that have not met, by sender, receiver and tag
    let mut under_way: BTreeMap<(u32, u32, u32), [VecDeque<u32>; 2]> = BTreeMap::new();
    let mut ended = 0;
    while !ready.is_empty() {
        let op = ready.swap_remove(random.random_range(0..ready.len()));
        let rank = schedule.rank_of(op);
        heard[op as usize] |= 1 << rank;
        let operation = schedule.operation(rank, op);
        let mut ends = Vec::new();
        match operation.kind {
            OperationKind::Calc => ends.push(op),
            OperationKind::Send => {
                under_way.entry((rank, operation.peer, operation.tag)).or_default()[0].push_back(op);
                if sends == Sends::Eager {
                    ends.push(op);
                }
            }
            OperationKind::Receive => {
                under_way.entry((operation.peer, rank, operation.tag)).or_default()[1].push_back(op);
            }
        }
        if operation.kind != OperationKind::Calc {
            let pair = match operation.kind {
                OperationKind::Send => (rank, operation.peer, operation.tag),
                _ => (operation.peer, rank, operation.tag),
            };
            let [sent, posted] = under_way.get_mut(&pair).unwrap();
            if let (Some(&send), Some(&receive)) = (sent.front(), posted.front()) {
                sent.pop_front();
                posted.pop_front();
                let size = |op, rank| schedule.operation(rank, op).size;
                assert_eq!(size(send, pair.0), size(receive, pair.1), "messages of {pair:?} in order");
                heard[receive as usize] |= heard[send as usize];
                ends.push(receive);
                if sends == Sends::Rendezvous {
                    ends.push(send);
                }
            }
        }
        ended += ends.len() as u32;
        let mut enable = |op: u32, ended: bool, heard: &mut [u64]| {
            let first = schedule.of_rank(schedule.rank_of(op)).start;
            for edge in schedule.edges(op).iter().filter(|edge| edge.on_start() != ended) {
                let after = first + edge.after();
                heard[after as usize] |= heard[op as usize];
                waits[after as usize] -= 1;
                if waits[after as usize] == 0 {
                    ready.push(after);
                }
            }
        };
        enable(op, false, &mut heard);
        for op in ends {
            enable(op, true, &mut heard);
        }
    }
    assert_eq!(ended, schedule.len(), "operations that never end");
    let of_rank = |rank| schedule.of_rank(rank).fold(0, |all, op| all | heard[op as usize]);
    (0..ranks).map(of_rank).collect()
}

/// Messages and bytes that each rank sends.
fn sent(schedule: &Schedule) -> Vec<(u64, u64)> {
    let of_rank = |rank| {
        let operations = schedule.of_rank(rank).map(|op| schedule.operation(rank, op));
        let sends = operations.filter(|operation| operation.kind == OperationKind::Send);
        sends.fold((0, 0), |(count, bytes), send| (count + 1, bytes + send.size))
    };
    (0..schedule.ranks()).map(of_rank).collect()
}

fn spec(operation: NcclOperation, protocol: NcclProtocol, ranks: u32, bytes: u64) -> NcclSpec {
    NcclSpec { protocol, ranks_per_node: 1, ..NcclSpec::new(operation, ranks, bytes) }
}

/// Every operation that NCCL has, with its algorithms.
fn all() -> impl Iterator<Item = (NcclOperation, NcclAlgorithm)> {
    let rings = NcclOperation::ALL.into_iter().map(|operation| (operation, NcclAlgorithm::Ring));
    rings.chain([(AllReduce, NcclAlgorithm::Tree)])
}

#[test]
fn every_combination_ends_in_any_order_and_everybody_hears_of_everybody() {
    for (operation, algorithm) in all() {
        for protocol in [Simple, Ll, Ll128] {
            for (ranks, ranks_per_node) in [(1, 1), (2, 1), (2, 2), (5, 1), (6, 3), (12, 4), (18, 1)] {
                for bytes in [0, 4 * u64::from(ranks), 41_088 * u64::from(ranks)] {
                    let spec = NcclSpec {
                        algorithm,
                        ranks_per_node,
                        channels: 3,
                        nics: 2,
                        // small enough that buffers are full again and again
                        buffer: Some(Bytes(16 << 10)),
                        root: if matches!(operation, Broadcast | Reduce) { ranks / 2 } else { 0 },
                        reduce_bandwidth: (bytes % 3 == 0).then_some(Bandwidth(1e9)),
                        ..spec(operation, protocol, ranks, bytes)
                    };
                    let schedule = spec.schedule().unwrap_or_else(|error| panic!("{spec:?}: {error}"));
                    assert_eq!(schedule.ranks(), ranks);
                    assert_eq!(schedule.is_empty(), ranks == 1 || bytes == 0, "{spec:?}");
                    if schedule.is_empty() {
                        continue;
                    }
                    for seed in 0..2 {
                        for sends in [Sends::Eager, Sends::Rendezvous] {
                            let heard = run(&schedule, sends, seed);
                            let everybody = |rank: u32| heard[rank as usize] == (1 << ranks) - 1;
                            match operation {
                                AllReduce | AllGather | ReduceScatter | AllToAll => {
                                    assert!((0..ranks).all(everybody), "{spec:?}");
                                }
                                Reduce => assert!(everybody(spec.root)),
                                Broadcast => assert!(heard.iter().all(|heard| heard >> spec.root & 1 == 1)),
                                SendReceive => assert!(heard.iter().all(|heard| heard.count_ones() >= 2)),
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_ring_sends_what_the_closed_form_says() {
    // all loops and slices are whole: multiples of the lines of every protocol
    let (channels, chunk) = (2, 15 << 15_u64);
    for n in [2_u64, 3, 4, 8] {
        for protocol in [Simple, Ll, Ll128] {
            let loops = 3;
            let bytes = loops * u64::from(channels) * n * chunk;
            let wire = |data: u64| match protocol {
                Simple => data,
                Ll => 2 * data,
                Ll128 => data / 120 * 128,
            };
            let slices = if protocol == Simple { 2 } else { 1 };
            for (operation, phases) in [(AllReduce, 2), (AllGather, 1), (ReduceScatter, 1)] {
                let spec = NcclSpec {
                    channels,
                    chunk: Some(Bytes(chunk)),
                    ..spec(operation, protocol, n as u32, bytes)
                };
                let messages = loops * u64::from(channels) * phases * (n - 1) * slices;
                let expected = (messages, wire(phases * (n - 1) * (bytes / n)));
                let schedule = spec.schedule().unwrap();
                assert_eq!(sent(&schedule), vec![expected; n as usize], "{operation:?} {protocol:?}");
            }
        }
    }
}

#[test]
fn all_ranks_together_send_what_the_operation_needs() {
    // odd sizes: the last chunks are shorter, some are empty
    for (operation, algorithm) in all() {
        for n in [2_u64, 3, 7, 8] {
            for bytes in [4 * n, 1_000_000 * n + 4 * n, 77_777_700 * n] {
                let spec = NcclSpec { algorithm, channels: 4, ..spec(operation, Simple, n as u32, bytes) };
                let total: u64 = sent(&spec.schedule().unwrap()).iter().map(|(_, bytes)| bytes).sum();
                let expected = match operation {
                    AllReduce => 2 * (n - 1) * bytes,
                    SendReceive => n * bytes,
                    _ => (n - 1) * bytes,
                };
                assert_eq!(total, expected, "{operation:?} {algorithm:?} over {n} of {bytes} bytes");
            }
        }
    }
}

#[test]
fn chunks_are_those_of_the_protocols_buffers() {
    let largest = |operation, algorithm, protocol, bytes| {
        let spec = NcclSpec { algorithm, ..spec(operation, protocol, 4, bytes) };
        let schedule = spec.schedule().unwrap();
        let sizes = (0..schedule.len()).map(|op| schedule.operation(schedule.rank_of(op), op).size);
        sizes.max().unwrap()
    };
    let (ring, tree) = (NcclAlgorithm::Ring, NcclAlgorithm::Tree);
    let large = 1 << 30;
    // half of 4 MiB in two slices; one step of 512 KiB; half of 64 KiB, doubled; 600000 B of lines
    assert_eq!(largest(AllReduce, ring, Simple, large), 1 << 20);
    assert_eq!(largest(Broadcast, ring, Simple, large), 512 << 10);
    assert_eq!(largest(AllReduce, tree, Simple, large), 512 << 10);
    assert_eq!(largest(AllReduce, ring, Ll, large), 64 << 10);
    assert_eq!(largest(AllReduce, ring, Ll128, large), 576_000 / 1920 * 2048);
    assert_eq!(largest(AllToAll, ring, Simple, large), 128 << 10);
    // 8 MiB on 2 channels: fewer than 8 times the depth of 2 of chunks above 128 KiB... are not needed
    assert_eq!(largest(AllReduce, tree, Simple, 8 << 20), 256 << 10);
    assert_eq!(largest(AllReduce, tree, Simple, 1 << 20), 64 << 10);
}

#[test]
fn channels_run_on_their_own_streams_and_nics() {
    let spec = NcclSpec {
        channels: 6,
        nics: 4,
        tag: 100,
        ranks_per_node: 4,
        reduce_bandwidth: Some(Bandwidth(100e9)),
        ..spec(AllReduce, Simple, 8, 1 << 20)
    };
    let schedule = spec.schedule().unwrap();
    assert_eq!((schedule.cpus(), schedule.nics()), (6, 4));
    for rank in 0..8 {
        for op in schedule.of_rank(rank) {
            let operation = schedule.operation(rank, op);
            if operation.kind == OperationKind::Calc {
                // an eighth of a channel's sixth, within a grain, at 100 B/ns
                assert!((200..=225).contains(&operation.size), "{}", operation.size);
                continue;
            }
            assert_eq!(operation.tag, 100 + u32::from(operation.cpu));
            assert_eq!(operation.nic, operation.cpu % 4);
            // channel c leaves the node at the GPU before c
            let leaves = operation.kind == OperationKind::Send && operation.peer / 4 != rank / 4;
            assert!(!leaves || rank % 4 == (u32::from(operation.cpu) + 3) % 4);
        }
    }
}

#[test]
fn a_channel_handles_eight_pairs_of_a_group_at_once() {
    let schedule = NcclSpec { channels: 1, ..spec(AllToAll, Simple, 20, 20 << 20) }.schedule().unwrap();
    let mut waits = Vec::new();
    for rank in 0..20 {
        schedule.count_dependencies(rank, &mut waits);
        let operations = schedule.of_rank(rank).map(|op| schedule.operation(rank, op));
        let kinds: Vec<_> = operations.map(|operation| operation.kind).collect();
        // 19 others in batches of 8, 8 and 3; the first of each of 16 rows waits for nothing
        assert_eq!(kinds.iter().filter(|kind| **kind == OperationKind::Calc).count(), 2);
        assert_eq!(waits.iter().filter(|waits| **waits == 0).count(), 16);
        // 8 chunks of 128 KiB to and from every other one
        assert_eq!(kinds.len(), 2 * 19 * 8 + 2);
    }
}

#[test]
fn what_cannot_be_scheduled_is_refused() {
    let error = |spec: NcclSpec| spec.schedule().map(|_| ()).unwrap_err().to_string();
    let plain = || spec(AllReduce, Simple, 8, 1 << 20);
    for algorithm in [
        NcclAlgorithm::Nvls,
        NcclAlgorithm::NvlsTree,
        NcclAlgorithm::CollnetDirect,
        NcclAlgorithm::CollnetChain,
        NcclAlgorithm::Pat,
    ] {
        let message = error(NcclSpec { algorithm, ..plain() });
        assert_eq!(message, "algorithm: NVLS, CollNet and PAT are not modelled: choose `ring` or `tree`");
    }
    let tree = NcclSpec { algorithm: NcclAlgorithm::Tree, ..spec(Broadcast, Simple, 8, 8) };
    assert!(error(tree).contains("a tree for all-reduce only"));
    for (wrong, field) in [
        (NcclSpec { ranks: 0, ..plain() }, "ranks"),
        (NcclSpec { ranks_per_node: 3, ..plain() }, "ranks-per-node"),
        (NcclSpec { channels: 0, ..plain() }, "channels"),
        (NcclSpec { channels: 65, ..plain() }, "channels"),
        (NcclSpec { nics: 0, ..plain() }, "nics"),
        (NcclSpec { element_bytes: 3, ..plain() }, "element-bytes"),
        (NcclSpec { bytes: Bytes(6), ..plain() }, "bytes"),
        (spec(AllGather, Simple, 8, 40), "bytes"),
        (NcclSpec { bytes: Bytes(1 << 60), ..plain() }, "bytes"),
        (NcclSpec { root: 8, ..spec(Broadcast, Simple, 8, 8) }, "root"),
        (NcclSpec { root: 1, ..spec(AllReduce, Simple, 8, 8) }, "root"),
        (NcclSpec { distance: 2, ..spec(AllToAll, Simple, 8, 8) }, "distance"),
        (NcclSpec { distance: 16, ..spec(SendReceive, Simple, 8, 8) }, "distance"),
        (NcclSpec { tag: u32::MAX - 1, ..plain() }, "tag"),
        (NcclSpec { chunk: Some(Bytes(3)), ..plain() }, "chunk"),
        (NcclSpec { buffer: Some(Bytes(4)), ..plain() }, "buffer"),
        (NcclSpec { copy_bandwidth: Some(Bandwidth(0.0)), ..plain() }, "copy-bandwidth"),
    ] {
        let message = error(wrong);
        assert!(message.starts_with(&format!("{field}: ")), "{field}: {message}");
    }
    // refused by count, before anything is built
    let huge = NcclSpec { chunk: Some(Bytes(4)), ..spec(AllReduce, Simple, 1 << 20, 1 << 50) };
    assert!(error(huge).contains("at most 2147483648 are built"));
    assert!(error(spec(AllToAll, Simple, 1 << 20, 1 << 30)).contains("at most 2147483648 are built"));
}

#[test]
fn specs_are_read_with_defaults() {
    let json = r#"{"operation": "all-reduce", "ranks": 16, "bytes": "1 MB"}"#;
    let read: NcclSpec = serde_json::from_str(json).unwrap();
    assert_eq!(read, NcclSpec::new(AllReduce, 16, 1_000_000));
    let text = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<NcclSpec>(&text).unwrap(), read);
    assert!(serde_json::from_str::<NcclSpec>(r#"{"operation": "all-reduce", "rank": 1}"#).is_err());
}

/// What the peers' tags say of an operation: its type and its number among those of the type.
type Name = (u32, u32);

/// Sizes of the messages from one node to the other in the peers' schedule, by operation, channel and
/// node, in order. The generator's tags are index, channel (2 digits), operation (4), type (1) and
/// communicator (2).
fn sizes_of_the_peers(text: &str) -> BTreeMap<Name, BTreeMap<(u32, u32), Vec<u64>>> {
    let mut sizes: BTreeMap<_, BTreeMap<_, Vec<(u64, u64)>>> = BTreeMap::new();
    let mut node = 0;
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        match &words[..] {
            ["rank", number, ..] => node = number.parse().unwrap(),
            [_, "send", size, "to", _, "tag", tag, ..] => {
                let (index, rest) = tag.split_at(tag.len() - 9);
                let number = |digits: &str| digits.parse::<u32>().unwrap();
                let name = (number(&rest[6..7]), number(&rest[2..6]));
                let size = size.trim_end_matches('b').parse().unwrap();
                let list = sizes.entry(name).or_default().entry((number(&rest[..2]), node)).or_default();
                list.push((index.parse().unwrap(), size));
            }
            _ => {}
        }
    }
    let in_order = |(key, mut list): (_, Vec<(u64, u64)>)| {
        list.sort_by_key(|(index, _)| *index);
        (key, list.into_iter().map(|(_, size)| size).collect())
    };
    let by_channel = |(name, lists): (_, BTreeMap<_, _>)| (name, lists.into_iter().map(in_order).collect());
    sizes.into_iter().map(by_channel).collect()
}

#[test]
fn messages_between_nodes_are_those_of_the_atlahs_generator() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/goal/data/nsys_synthetic");
    let Ok(text) = std::fs::read_to_string(folder.join("expected_v1_zero-red-copy_unique-nic.goal")) else {
        eprintln!("skipped: no reference data in {}", folder.display());
        return;
    };
    let theirs = sizes_of_the_peers(&text);
    // two nodes of two GPUs with two channels, as `mk_nsys.py` says for each operation
    let base = |operation, protocol, bytes| NcclSpec {
        ranks_per_node: 2,
        buffer: Some(Bytes(1 << 20)),
        ..spec(operation, protocol, 4, bytes)
    };
    let chunked = |spec, chunk| NcclSpec { chunk: Some(Bytes(chunk)), ..spec };
    let tree = |spec| NcclSpec { algorithm: NcclAlgorithm::Tree, ..spec };
    // an all-gather or broadcast of elements counts as one of bytes there
    let in_bytes = |spec| NcclSpec { element_bytes: 1, ..spec };
    let (all_reduce, broadcast, all_gather, reduce_scatter, reduce, pair) = (0, 1, 2, 3, 4, 5);
    for (name, spec) in [
        ((all_reduce, 0), base(AllReduce, Simple, 4 << 20)),
        ((all_reduce, 1), NcclSpec { buffer: Some(Bytes(128 << 10)), ..base(AllReduce, Ll, 64 << 10) }),
        ((all_reduce, 3), chunked(tree(base(AllReduce, Simple, 1 << 20)), 256 << 10)),
        ((all_reduce, 4), chunked(tree(base(AllReduce, Ll, 8 << 10)), 4 << 10)),
        ((all_gather, 0), chunked(in_bytes(base(AllGather, Simple, 1 << 20)), 128 << 10)),
        ((reduce_scatter, 0), base(ReduceScatter, Simple, 4 << 20)),
        (
            (broadcast, 0),
            NcclSpec { root: 1, ..chunked(in_bytes(base(Broadcast, Simple, 512 << 10)), 64 << 10) },
        ),
        ((reduce, 0), NcclSpec { root: 2, ..chunked(base(Reduce, Simple, 2 << 20), 256 << 10) }),
        ((pair, 0), chunked(base(SendReceive, Simple, 1_000_000), 256 << 10)),
    ] {
        let schedule = spec.schedule().unwrap();
        let mut ours: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for rank in 0..4 {
            for op in schedule.of_rank(rank) {
                let operation = schedule.operation(rank, op);
                if operation.kind == OperationKind::Send && operation.peer / 2 != rank / 2 {
                    ours.entry((u32::from(operation.cpu), rank / 2)).or_default().push(operation.size);
                }
            }
        }
        assert_eq!(Some(&ours), theirs.get(&name), "operation {name:?}: {spec:?}");
    }
}
