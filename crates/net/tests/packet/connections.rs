//! Connections that carry one message after the other.

use std::sync::Arc;

use crate::packets::{count, fat_tree, run};
use crate::support::network;
use stratasim_core::model::{Cx, NetworkDone, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::{Duration, Time, Token};
use stratasim_testkit::network_contract;
use stratasim_topo::Topology;

network_contract!(in_turn kept_connections, |topology| network(
    r#"{"kind": "packet", "connections": "per-pair", "buffer": "40 kB"}"#,
    topology
));

/// Messages from the first host to the last one, each sent when the one before has arrived: what each takes.
fn in_turn(spec: &str, machine: &Arc<Topology>, messages: &[u64]) -> (Vec<Duration>, NetworkReport) {
    let hosts = machine.compute_nodes();
    let mut network = network(spec, machine.clone());
    let (mut now, mut took, mut done) = (Time::ZERO, Vec::new(), Vec::new());
    for (token, &bytes) in (0..).zip(messages) {
        let start = now;
        let transfer = Transfer::new(Token(token), hosts[0], hosts[hosts.len() - 1], bytes);
        network.submit(now, NetworkRequest::Transfer(transfer));
        while done.is_empty() {
            now = network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut Blind });
        }
        assert_eq!(std::mem::take(&mut done), [NetworkDone::Delivered(Token(token))]);
        took.push(now - start);
    }
    let report = network.report(now);
    assert!(report.violations().is_empty(), "{:?}", report.violations());
    (took, report)
}

/// Receivers that do not know where messages end do not hear of the next one unless its sender asks: it does, at once, where no
/// credit is left, and waits for no more than the answer.
#[test]
fn what_was_left_over_is_not_all_that_a_kept_connection_lives_on() {
    let machine = fat_tree(4);
    for kind in ["eqds", "rccc"] {
        for bytes in [1, 8_000, 60_000, 200_000] {
            let spec = format!(
                r#"{{"kind": "packet", "connections": "per-pair",
                    "congestion": {{"kind": "{kind}", "htsim-leftovers": true}}}}"#
            );
            let (took, report) = in_turn(&spec, &machine, &[bytes; 4]);
            assert_eq!(count(&report, "network.connections"), 1);
            // six links of a microsecond each way, a packet on each, and the turn of a pull
            let trips = Duration::from_ns(2 * (2 * 6 * 1000 + 6 * 400));
            for &later in &took[1..] {
                assert!(later < took[0] + trips, "{kind}, {bytes} B: {took:?}");
            }
        }
    }
}

/// Slow start happens once: the second message of a pair finds the window that the first one left.
#[test]
fn what_a_connection_has_learnt_lives_on_with_the_next_message() {
    let machine = fat_tree(4);
    let second = |connections: &str| {
        let spec = format!(
            r#"{{"kind": "packet", "connections": "{connections}", "congestion": {{"kind": "cubic"}}, "buffer": "10 MB",
                "ecn": {{"enabled": false}}}}"#
        );
        let (took, report) = in_turn(&spec, &machine, &[300_000; 2]);
        (took, count(&report, "network.connections"))
    };
    let (new, of_new) = second("per-message");
    let (kept, of_kept) = second("per-pair");
    assert_eq!((of_new, of_kept), (2, 1));
    assert_eq!((new[0], new[1]), (kept[0], new[0]), "new ones know nothing of each other");
    // one full window away from the closed form at most, and no round trips of slow start
    let alone = (300_000 + 74 * 64) * 80 + 5 * 4160 * 80 + 6_000_000;
    assert!(
        kept[1] < new[1] && kept[1].as_ps() < alone + 1_000_000,
        "{} of {}, alone {alone}",
        kept[1],
        new[1]
    );
}

/// Four messages of each pair at once, small and large: each comes once, in order, whatever is lost, at either end.
#[test]
fn messages_of_a_pair_arrive_in_order_whatever_is_lost() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (0..16)
        .flat_map(|from| [50_000, 1, 4096, 120_000].map(move |bytes| (from, (from + 5) % 16, bytes)))
        .collect();
    for completion in ["receiver", "sender"] {
        for transport in [
            r#""congestion": {"kind": "nscc"}"#,
            r#""congestion": {"kind": "ndp"}"#,
            r#""congestion": {"kind": "dcqcn"}, "queue": {"kind": "drop-tail"}"#,
            r#""congestion": {"kind": "swift"}"#,
            r#""congestion": {"kind": "fixed-window"}, "recovery": {"kind": "rltp"}"#,
            r#""congestion": {"kind": "fixed-window"}, "recovery": {"kind": "irn"}"#,
        ] {
            for loss in ["0.0", "0.02"] {
                let spec = format!(
                    r#"{{"kind": "packet", "connections": "per-pair", "completion": "{completion}", {transport},
                        "loss": {{"probability": {loss}}}}}"#
                );
                let (ends, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
                assert!(report.violations().is_empty(), "{transport}: {:?}", report.violations());
                assert_eq!(count(&report, "network.connections"), 16);
                for pair in ends.chunks(4) {
                    assert!(pair.is_sorted(), "{transport}, {completion}, loss {loss}: {pair:?}");
                }
            }
        }
    }
}
