//! A network in several parts, each on a thread, gives what one part gives, to the bit.

use std::sync::Arc;

use crate::packets::{count, fat_tree};
use crate::support::{network, topology};
use stratasim_core::model::{Cx, NetworkDone, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::random::Draws;
use stratasim_core::{Time, Token};
use stratasim_topo::Topology;
use stratasim_transport::CongestionSpec;

/// All that can be seen of a run in which every message that ends begins another, until `messages` have been sent.
fn seen(options: &str, threads: u32, machine: &Arc<Topology>, messages: u64, bytes: u32) -> String {
    let spec = format!(r#"{{"kind": "packet", "threads": {threads}, {options}}}"#);
    let mut network = network(&spec, machine.clone());
    let hosts = machine.compute_nodes();
    let mut draws = Draws::new(messages);
    let mut sent = 0;
    let mut next = |sent: &mut u64| {
        let [from, to] = [(); 2].map(|()| hosts[draws.below(hosts.len() as u32) as usize]);
        *sent += 1;
        NetworkRequest::Transfer(Transfer::new(Token(*sent), from, to, u64::from(draws.below(bytes))))
    };
    for _ in 0..hosts.len() {
        network.submit(Time::ZERO, next(&mut sent));
    }
    let mut log = Vec::new();
    let mut done = Vec::new();
    let mut now = Time::ZERO;
    while network.next_event().is_some() {
        now = network.advance(crate::packets::LIMIT, &mut Cx { done: &mut done, observer: &mut Blind });
        for ended in done.drain(..) {
            assert!(matches!(ended, NetworkDone::Delivered(_)), "{ended:?}: {:?}", network.failure());
            log.push((now, ended));
            if sent < messages {
                network.submit(now, next(&mut sent));
            }
        }
    }
    assert_eq!(log.len() as u64, sent, "every message arrives");
    let report = network.report(now);
    assert_eq!(report.violations(), Vec::<&str>::new());
    assert!(count(&report, "network.packet_hops") > 0);
    format!("{log:?} {report:?}")
}

fn same(machine: &Arc<Topology>, options: &str) {
    let one = seen(options, 1, machine, 400, 100_000);
    for threads in [2, 3, 5] {
        assert!(seen(options, threads, machine, 400, 100_000) == one, "{options} on {threads} threads");
    }
}

#[test]
fn every_congestion_control_gives_the_same_on_any_number_of_threads() {
    let machine = fat_tree(4);
    for kind in CongestionSpec::KINDS {
        same(&machine, &format!(r#""congestion": {{"kind": "{kind}"}}, "queue": {{"kind": "trimming"}}"#));
    }
}

/// Receivers that have turns left when their senders are done listen for as long, whoever knows of it first.
#[test]
fn credit_gives_the_same_on_any_number_of_threads_whatever_is_sent_again() {
    let machine = fat_tree(4);
    for congestion in ["eqds", "rccc", "ndp"] {
        for queue in ["trimming", "drop-tail"] {
            same(
                &machine,
                &format!(
                    r#""congestion": {{"kind": "{congestion}"}}, "recovery": {{"kind": "go-back-n"}},
                       "queue": {{"kind": "{queue}"}}, "buffer": "20 kB""#
                ),
            );
        }
    }
}

/// A message may be complete when a packet of the next one goes onto its last wire.
#[test]
fn short_messages_of_kept_connections_give_the_same_on_any_number_of_threads() {
    for machine in [fat_tree(4), topology(SLOW)] {
        for recovery in ["irn", "rltp"] {
            let options = format!(
                r#""congestion": {{"kind": "mprdma"}}, "recovery": {{"kind": "{recovery}"}},
                   "queue": {{"kind": "trimming"}}, "connections": "per-pair""#
            );
            let of = |threads| seen(&options, threads, &machine, 3000, 9000);
            let one = of(1);
            for threads in [2, 3] {
                assert!(of(threads) == one, "{recovery} on {threads} threads");
            }
        }
    }
}

const SLOW: &str = r#"{"kind": "fat-tree", "k": 4, "bandwidth": "25 Gbps", "latency": "5 us"}"#;

#[test]
fn every_recovery_and_balancing_gives_the_same_on_any_number_of_threads() {
    let machine = fat_tree(4);
    for recovery in ["rltp", "irn", "go-back-n"] {
        let options = format!(
            r#""congestion": {{"kind": "dctcp"}}, "recovery": {{"kind": "{recovery}"}}, "buffer": "20 kB",
               "queue": {{"kind": "drop-tail"}}"#
        );
        same(&machine, &options);
    }
    for balancing in ["per-flow", "round-robin", "random", "least-queue", "flowlets", "source"] {
        same(&machine, &format!(r#""balancing": {{"kind": "{balancing}"}}"#));
    }
}

#[test]
fn completion_at_the_sender_kept_connections_classes_and_shared_buffers_give_the_same_on_any_number_of_threads()
 {
    let machine = fat_tree(4);
    for options in [
        r#""completion": "sender""#,
        r#""completion": "sender", "congestion": {"kind": "ndp"}"#,
        r#""connections": "per-pair""#,
        r#""connections": "per-pair", "completion": "sender""#,
        r#""classes": [{"up-to": "10 kB"}, {}]"#,
        r#""buffer-sharing": {"alpha": 1.0}, "queue": {"kind": "drop-tail"}, "congestion": {"kind": "dctcp"}"#,
    ] {
        same(&machine, options);
    }
}

/// Hosts that forward have several links, on which packets overtake each other.
#[test]
fn hosts_with_several_links_give_the_same_on_any_number_of_threads() {
    for machine in [
        r#"{"kind": "ring", "nodes": 9, "bandwidth": "100 Gbps", "latency": "500 ns"}"#,
        r#"{"kind": "torus", "dimensions": [4, 3], "bandwidth": "100 Gbps", "latency": "200 ns"}"#,
    ] {
        let machine = topology(machine);
        same(&machine, r#""congestion": {"kind": "nscc"}"#);
        let random =
            r#""congestion": {"kind": "dctcp"}, "completion": "sender", "balancing": {"kind": "random"}"#;
        same(&machine, random);
    }
}

/// What cannot be cut runs all the same.
#[test]
fn pauses_faults_and_cut_through_run_with_threads_too() {
    let machine = fat_tree(4);
    for options in [
        r#""congestion": {"kind": "dcqcn"}, "queue": {"kind": "lossless"}"#,
        r#""loss": {"probability": 0.01}"#,
        r#""switching": "cut-through""#,
    ] {
        same(&machine, options);
    }
}
