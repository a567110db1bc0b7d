//! What holds for every schedule, on every network.

use std::collections::BTreeMap;

use crate::support::random::{Draft, Planned, complete};
use crate::support::*;
use proptest::prelude::*;
use stratasim_core::{Duration, Time};
use stratasim_net::message::Message;
use stratasim_workload::goal::{Operation, OperationKind, Schedule};

/// LogGOPS with and without each of its parts.
fn any_parameters() -> impl Strategy<Value = Message> {
    let part = || prop_oneof![Just(0.0), 0.001..3000.0_f64];
    let per_byte = || prop_oneof![Just(0.0), Just(0.04), 0.0..2.0_f64];
    let eager = prop_oneof![Just(0), Just(1000), Just(1 << 40)];
    (part(), part(), part(), per_byte(), per_byte(), eager)
        .prop_map(|(l, o, g, per_byte, cpu, eager)| parameters([l, o, g, per_byte, cpu], eager))
}

/// (start, end) of each operation.
fn spans(schedule: &Schedule, run: &Run) -> Vec<(Time, Time)> {
    let mut spans = vec![None; schedule.len() as usize];
    for task in &run.tasks {
        let before = spans[task.vertex as usize].replace((task.start, task.end));
        assert_eq!(before, None, "an operation ends once");
    }
    spans.into_iter().map(|span| span.expect("every operation ends")).collect()
}

/// What must be true of a run, whatever the network.
fn check(schedule: &Schedule, run: &Run, host: impl Fn(u64) -> Duration) {
    let spans = spans(schedule, run);
    assert!(run.tasks.is_sorted_by_key(|task| task.end), "time never goes back");
    assert!(run.messages.is_sorted_by_key(|message| message.end));
    let mut busy: BTreeMap<(u32, u16), Vec<(Time, Time)>> = BTreeMap::new();
    for rank in 0..schedule.ranks() {
        let operations = schedule.of_rank(rank);
        for number in operations.clone() {
            let (start, end) = spans[number as usize];
            assert!(start <= end);
            for edge in schedule.edges(number) {
                let after = spans[(operations.start + edge.after()) as usize].0;
                assert!(after >= if edge.on_start() { start } else { end }, "nothing starts too early");
            }
            let Operation { kind, size, cpu, .. } = schedule.operation(rank, number);
            let host = host(size);
            let used = match kind {
                OperationKind::Calc => {
                    assert_eq!(end, start + Duration::from_ns(size));
                    (start, end)
                }
                OperationKind::Send => (start, start + host),
                OperationKind::Receive => (Time::from_ps(end.as_ps() - host.as_ps()), end),
            };
            assert!(start <= used.0 && used.1 <= end);
            busy.entry((rank, cpu)).or_default().push(used);
        }
    }
    for (stream, mut pieces) in busy {
        pieces.retain(|(from, to)| from < to);
        pieces.sort_unstable();
        assert!(pieces.is_sorted_by(|a, b| a.1 <= b.0), "{stream:?} does two things at once: {pieces:?}");
    }
    let of = |kind| {
        let all = (0..schedule.ranks()).flat_map(|rank| schedule.of_rank(rank).map(move |at| (rank, at)));
        let sizes = all.map(|(rank, at)| schedule.operation(rank, at)).filter(move |own| own.kind == kind);
        sizes.map(|operation| operation.size).collect::<Vec<_>>()
    };
    let (sent, mut received) = (of(OperationKind::Send), of(OperationKind::Receive));
    assert_eq!(run.messages.len(), sent.len(), "every message arrives once");
    let mut arrived: Vec<u64> = run.messages.iter().map(|message| message.bytes).collect();
    assert_eq!(run.carried.iter().map(|carried| carried.bytes).sum::<u64>(), sent.iter().sum::<u64>());
    assert!(run.carried.iter().all(|carried| carried.delivered.is_some()));
    arrived.sort_unstable();
    received.sort_unstable();
    assert_eq!(arrived, received, "what is sent is what is received");
    let makespan = run.makespan();
    assert_eq!(spans.iter().map(|span| span.1).max().unwrap_or(Time::ZERO), makespan);
    for account in &run.summary.run.ranks {
        let parts = [account.compute, account.memory, account.communication, account.idle];
        assert_eq!(parts.iter().map(|part| part.as_ps()).sum::<u64>(), makespan.as_ps());
    }
}

/// Every NIC carries one message at a time in either direction, first come, first served: when all
/// messages are there, from when they were handed over.
fn check_nics(run: &Run, spec: &Message) {
    let lane_time =
        |bytes: u64| (bytes.saturating_sub(1) as f64 * spec.gap_per_byte.ps_per_byte()).round() as u64;
    let (mut sending, mut receiving) = (BTreeMap::new(), BTreeMap::new());
    let mut arrivals = Vec::new();
    for carried in &run.carried {
        let free = sending.entry((carried.from, carried.nic)).or_insert(0);
        let injected = carried.submitted.as_ps().max(*free);
        *free = injected + lane_time(carried.bytes) + spec.gap.as_ps();
        arrivals.push((injected + spec.latency.as_ps(), carried));
    }
    arrivals.sort_by_key(|arrival| arrival.0);
    for (at, carried) in arrivals {
        let free = receiving.entry((carried.to, carried.nic)).or_insert(0);
        let there = at.max(*free) + lane_time(carried.bytes);
        *free = there + spec.gap.as_ps();
        assert_eq!(carried.delivered, Some(Time::from_ps(there)), "{carried:?}");
    }
}

fn switch(ranks: usize) -> std::sync::Arc<stratasim_topo::Topology> {
    machine(&format!(
        r#"{{"kind": "single-switch", "nodes": {}, "bandwidth": "3 GB/s", "latency": "70 ns"}}"#,
        ranks.max(2)
    ))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn the_message_network_keeps_the_rules(draft in complete(60), spec in any_parameters()) {
        let schedule = draft.schedule();
        let run = try_message(&schedule, &spec).unwrap_or_else(|error| panic!("{error}"));
        let host = |bytes: u64| {
            let further = bytes.saturating_sub(1) as f64 * spec.overhead_per_byte.ps_per_byte();
            Duration::from_ps(spec.overhead.as_ps() + further.round() as u64)
        };
        check(&schedule, &run, host);
        check_nics(&run, &spec);
        let again = try_message(&schedule, &spec).expect("as before");
        prop_assert_eq!(&again.summary.run.digest, &run.summary.run.digest);
        prop_assert_eq!(again.tasks, run.tasks);
    }

    #[test]
    fn other_networks_keep_the_rules_too(draft in complete(60)) {
        let schedule = draft.schedule();
        let topology = switch(draft.ranks.len());
        let nodes = &topology.compute_nodes()[..draft.ranks.len()];
        for spec in [
            r#"{"kind": "flow"}"#,
            r#"{"kind": "constant-rate", "bandwidth": "2 GB/s", "latency": "1 us"}"#,
            r#"{"kind": "message", "gap-per-byte": "0.1 ns/B", "eager-limit": "500 B", "from-routes": true}"#,
        ] {
            let network = network(spec, &topology, schedule.nics());
            let costs = network.host_costs();
            let run = run_on(&schedule, nodes, network, None).unwrap_or_else(|error| panic!("{error}"));
            check(&schedule, &run, |bytes| costs.of(bytes));
        }
    }

    #[test]
    fn ranks_with_other_names_do_the_same_at_the_same_time(
        draft in complete(60),
        first in prop::collection::vec(1..1_000_000_000_u64, 6),
        names in Just((0..6_u32).collect::<Vec<_>>()).prop_shuffle(),
        eager in prop_oneof![Just(0), Just(1000), Just(1 << 40)],
    ) {
        let count = draft.ranks.len();
        let names: Vec<u32> = names.into_iter().filter(|name| (*name as usize) < count).collect();
        // nothing of different ranks happens in one instant, which names would decide
        let draft = draft.staggered(&first[..count]);
        let spec = parameters([3701.003, 211.017, 5.129, 0.041, 0.007], eager);
        let schedule = draft.schedule();
        let renamed = draft.renamed(&names).schedule();
        let run = try_message(&schedule, &spec).unwrap_or_else(|error| panic!("{error}"));
        let other = try_message(&renamed, &spec).unwrap_or_else(|error| panic!("{error}"));
        let (spans, others) = (spans(&schedule, &run), spans(&renamed, &other));
        for (rank, name) in (0..).zip(&names) {
            let [own, there] = [schedule.of_rank(rank), renamed.of_rank(*name)];
            prop_assert_eq!(
                &spans[own.start as usize..own.end as usize],
                &others[there.start as usize..there.end as usize]
            );
            let accounts = [&run.summary.run.ranks[rank as usize], &other.summary.run.ranks[*name as usize]];
            prop_assert_eq!(accounts[0].finish, accounts[1].finish);
        }
    }

    /// Where nothing can change its place in a queue. (Elsewhere it may: what comes later lets something
    /// else go first, and the whole may end sooner, as with every list schedule.)
    #[test]
    fn a_longer_latency_never_shortens_a_chain(
        steps in prop::collection::vec((0..5_usize, 0..5_usize, 0..5000_u64, any::<bool>()), 1..60),
        latencies in prop::array::uniform2(0.0..5000.0_f64),
    ) {
        // every rank does one thing after the other, and receives from one rank only
        let mut ranks: Vec<Vec<Planned>> = vec![Vec::new(); 5];
        let mut source = [None; 5];
        for (from, to, size, calc) in steps {
            let mut push = |rank: usize, operation| {
                let before = ranks[rank].len().checked_sub(1);
                let after = before.map(|before| (before as u32, false)).into_iter().collect();
                ranks[rank].push(Planned { operation, after });
            };
            if calc || *source[to].get_or_insert(from) != from {
                push(from, Operation::calc(size));
            } else {
                push(from, Operation::send(size, to as u32, 0));
                push(to, Operation::receive(size, from as u32, 0));
            }
        }
        let schedule = Draft { ranks }.schedule();
        let [short, long] = [latencies[0].min(latencies[1]), latencies[0].max(latencies[1])];
        let run = |latency| try_message(&schedule, &parameters([latency, 300.0, 50.0, 0.5, 0.1], 1 << 40));
        let (short, long) = (run(short).expect("a run"), run(long).expect("a run"));
        for (short, long) in spans(&schedule, &short).iter().zip(spans(&schedule, &long)) {
            prop_assert!(short.0 <= long.0 && short.1 <= long.1);
        }
    }
}
