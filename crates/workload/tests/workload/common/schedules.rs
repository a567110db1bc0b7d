//! Schedules of a known form, random ones, and what makes two of them the same.
use proptest::prelude::*;
use stratasim_workload::goal::{ANY, Operation, Schedule, ScheduleBuilder};

/// Ring all-reduce: in each of 2(P-1) steps a send to the next rank and a receive from the one before; a send
/// requires the receive of the step before.
pub(crate) fn ring(ranks: u32, bytes: u64) -> Schedule {
    let mut builder = ScheduleBuilder::new(ranks);
    for rank in 0..ranks {
        let mut before = None;
        for _ in 0..2 * (ranks - 1) {
            let send = builder.push(Operation::send(bytes, (rank + 1) % ranks, 0));
            let receive = builder.push(Operation::receive(bytes, (rank + ranks - 1) % ranks, 0));
            if let Some(before) = before.replace(receive) {
                builder.requires(send, before);
            }
        }
        builder.close_rank().unwrap();
    }
    builder.build().unwrap()
}

/// Ring all-reduce of a vector that does not divide evenly: chunk `k` has a byte more for `k < longer`.
pub(crate) fn uneven_ring(ranks: u32, bytes: u64, longer: u32) -> Schedule {
    let mut builder = ScheduleBuilder::new(ranks);
    let size = |chunk: u32| bytes + u64::from(chunk % ranks < longer);
    for rank in 0..ranks {
        let mut before = None;
        for step in 0..2 * (ranks - 1) {
            let chunk = rank + 2 * ranks - step % ranks;
            let send = builder.push(Operation::send(size(chunk), (rank + 1) % ranks, 0));
            let receive = builder.push(Operation::receive(size(chunk - 1), (rank + ranks - 1) % ranks, 0));
            if let Some(before) = before.replace(receive) {
                builder.requires(send, before);
            }
        }
        builder.close_rank().unwrap();
    }
    builder.build().unwrap()
}

/// Binomial broadcast from rank 0: at distance 1, 2, 4, ... every rank below the distance sends that far.
pub(crate) fn broadcast(ranks: u32, bytes: u64) -> Schedule {
    let mut builder = ScheduleBuilder::new(ranks);
    for rank in 0..ranks {
        let receive =
            rank.checked_ilog2().map(|level| builder.push(Operation::receive(bytes, rank - (1 << level), 0)));
        let mut distance = rank.checked_ilog2().map_or(1, |level| 2 << level);
        while u64::from(rank) + u64::from(distance) < u64::from(ranks) {
            let send = builder.push(Operation::send(bytes, rank + distance, 0));
            if let Some(receive) = receive {
                builder.requires(send, receive);
            }
            distance *= 2;
        }
        builder.close_rank().unwrap();
    }
    builder.build().unwrap()
}

/// Linear all-to-all: step `s` sends to the rank `s` further and receives from the rank `s` before.
pub(crate) fn all_to_all(ranks: u32, bytes: u64) -> Schedule {
    let mut builder = ScheduleBuilder::new(ranks);
    for rank in 0..ranks {
        for step in 1..ranks {
            builder.push(Operation::send(bytes, (rank + step) % ranks, 0));
            builder.push(Operation::receive(bytes, (rank + ranks - step) % ranks, 0));
        }
        builder.close_rank().unwrap();
    }
    builder.build().unwrap()
}

/// What a random rank does: operations with their labels, and dependencies.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    operations: Vec<(Operation, bool, Option<String>)>,
    edges: Vec<(prop::sample::Index, prop::sample::Index, bool)>,
}

fn operation() -> impl Strategy<Value = (Operation, bool, Option<String>)> {
    let size = prop_oneof![Just(0), Just(1024), 0..300u64, any::<u64>()];
    let peer = prop_oneof![4 => 0..6u32, 1 => Just(ANY), 1 => any::<u32>()];
    let tag = prop_oneof![4 => 0..3u32, 1 => Just(ANY), 1 => any::<u32>()];
    let place =
        (prop_oneof![4 => Just(0u16), 1 => 0..=255u16], prop_oneof![4 => Just(0u16), 1 => 0..=255u16]);
    let label = prop::option::weighted(0.1, "[A-Za-z][A-Za-z0-9_]{0,12}");
    (0..3, size, peer, any::<bool>(), tag, place, label).prop_map(
        |(kind, size, peer, relative, tag, (cpu, nic), label)| {
            let operation = match kind {
                0 => Operation::send(size, peer, tag).on_nic(nic),
                1 => Operation::receive(size, peer, tag).on_nic(nic),
                _ => Operation::calc(size),
            };
            (operation.on_cpu(cpu), relative, label)
        },
    )
}

/// Random schedules: ranks like one another and ranks like no other, without operations, with wildcards, peers
/// that do not exist, labels, dependencies on ends and starts, twice the same, on itself.
pub(crate) fn random() -> impl Strategy<Value = Schedule> {
    let edge = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>());
    let template = (prop::collection::vec(operation(), 0..12), prop::collection::vec(edge, 0..12))
        .prop_map(|(operations, edges)| Template { operations, edges });
    let mutation = prop::option::weighted(0.1, operation());
    let rank = (any::<prop::sample::Index>(), mutation);
    (prop::collection::vec(template, 1..4), prop::collection::vec(rank, 0..20)).prop_map(
        |(templates, choices)| {
            let ranks = choices.len() as u32;
            let mut builder = ScheduleBuilder::new(ranks);
            for (rank, (choice, mutation)) in choices.iter().enumerate() {
                let template = &templates[choice.index(templates.len())];
                for (operation, relative, label) in template.operations.iter().chain(mutation) {
                    let mut operation = *operation;
                    if *relative && operation.peer < ranks {
                        operation.peer = (operation.peer + rank as u32) % ranks;
                    }
                    if operation.kind == stratasim_workload::goal::OperationKind::Calc {
                        operation.peer = 0;
                    }
                    let place = builder.push(operation);
                    if let Some(label) = label {
                        builder.label(place, label);
                    }
                }
                let count = builder.rank_len() as usize;
                if count > 0 {
                    for (after, before, on_start) in &template.edges {
                        let (after, before) = (after.index(count) as u32, before.index(count) as u32);
                        if *on_start {
                            builder.requires_start(after, before);
                        } else {
                            builder.requires(after, before);
                        }
                    }
                }
                builder.close_rank().unwrap();
            }
            builder.build().unwrap()
        },
    )
}

/// Compares everything that a schedule says; labels where `labels`.
pub(crate) fn assert_same(found: &Schedule, expected: &Schedule, labels: bool) {
    assert_eq!(found.ranks(), expected.ranks());
    assert_eq!((found.len(), found.edge_count()), (expected.len(), expected.edge_count()));
    for rank in 0..expected.ranks() {
        assert_eq!(found.of_rank(rank), expected.of_rank(rank), "operations of rank {rank}");
        for operation in expected.of_rank(rank) {
            assert_eq!(found.operation(rank, operation), expected.operation(rank, operation));
            assert_eq!(found.edges(operation), expected.edges(operation));
            if labels {
                assert_eq!(found.own_label(operation), expected.own_label(operation));
            }
        }
    }
    assert_eq!(found.digest(), expected.digest());
}
