//! Connections that carry one message after the other.

use crate::packets::{count, fat_tree, run};
use crate::support::network;
use stratasim_core::model::{Cx, NetworkDone, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::{Time, Token};
use stratasim_testkit::network_contract;

network_contract!(in_turn kept_connections, |topology| network(
    r#"{"kind": "packet", "connections": "per-pair", "buffer": "40 kB"}"#,
    topology
));

/// Slow start happens once: the second message of a pair finds the window that the first one left.
#[test]
fn what_a_connection_has_learnt_lives_on_with_the_next_message() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let second = |connections: &str| {
        let spec = format!(
            r#"{{"kind": "packet", "connections": "{connections}", "congestion": {{"kind": "cubic"}}, "buffer": "10 MB",
                "ecn": {{"enabled": false}}}}"#
        );
        let mut network = network(&spec, machine.clone());
        let (mut now, mut took, mut done) = (Time::ZERO, Vec::new(), Vec::new());
        for token in 0..2 {
            let start = now;
            let transfer = Transfer::new(Token(token), hosts[0], hosts[15], 300_000);
            network.submit(now, NetworkRequest::Transfer(transfer));
            while done.is_empty() {
                now = network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut Blind });
            }
            assert_eq!(std::mem::take(&mut done), [NetworkDone::Delivered(Token(token))]);
            took.push(now - start);
        }
        let report = network.report(now);
        assert!(report.violations().is_empty(), "{:?}", report.violations());
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
