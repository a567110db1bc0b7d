//! What every queue and every choice of ways of the packet level must do, one line per kind.

use crate::packets::{count, fat_tree, run};
use crate::support::{network, topology};
use stratasim_core::Time;
use stratasim_core::model::NetworkReport;
use stratasim_net::packet::{BalancingSpec, QueueSpec};

/// Messages `(from, to, bytes)` on a fat tree of 16 hosts: when they were complete, and the report, which finds nothing wrong.
fn on_a_fat_tree(parts: &str, messages: &[(usize, usize, u64)]) -> (Vec<Time>, NetworkReport) {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes().to_vec();
    let mut network = network(&format!(r#"{{"kind": "packet", {parts}}}"#), machine);
    let (ends, report) = run(network.as_mut(), &hosts, messages);
    assert_eq!(report.violations(), Vec::<&str>::new(), "{parts}");
    (ends, report)
}

/// Controls by windows, by marks and by delays.
const CONTROLS: [&str; 3] = [
    r#""congestion": {"kind": "fixed-window", "factor": 2.0}"#,
    r#""congestion": {"kind": "dctcp"}"#,
    r#""congestion": {"kind": "nscc"}"#,
];

/// What is lost comes again soon, told by a header or by silence.
const RECOVERY: &str = r#""recovery": {"kind": "trimming", "timeout": "100 us"}"#;

const MESSAGE_BYTES: u64 = 300_000;

/// All other hosts send to one, over buffers of ten packets where the queue has no rooms of its own.
fn an_incast(queue: &str, loses: bool, control: &str) -> (Vec<Time>, NetworkReport) {
    let messages: Vec<(usize, usize, u64)> = (1..16).map(|from| (from, 0, MESSAGE_BYTES)).collect();
    let buffer = if loses { r#", "buffer": "42 kB""# } else { "" };
    on_a_fat_tree(&format!(r#"{control}, {RECOVERY}, "queue": {queue}{buffer}"#), &messages)
}

fn delivers_an_incast(queue: &str, loses: bool) {
    for control in CONTROLS {
        let (ends, report) = an_incast(queue, loses, control);
        let last = ends.iter().max().unwrap().as_secs_f64();
        // the bytes of all messages at 100 Gb/s, and no more than a few times that with all that is sent again
        let least = 15.0 * MESSAGE_BYTES as f64 / 12.5e9;
        assert!((least..20.0 * least).contains(&last), "{queue}, {control}: {last} s, {least} s at least");
        let lost = count(&report, "network.drops") + count(&report, "network.trims");
        let of_queues: u64 = report.queues.iter().map(|queue| queue.drops + queue.trims).sum();
        assert_eq!(lost, of_queues, "{queue}, {control}: queues and network count the same");
        let pauses: u64 = report.queues.iter().map(|queue| queue.pauses).sum();
        assert_eq!(count(&report, "network.pauses"), pauses, "{queue}, {control}");
        if !loses {
            assert_eq!(lost, 0, "{queue}, {control}");
        }
    }
}

fn is_out_of_the_way_of_a_message_alone(queue: &str) {
    let alone = |queue: &str| {
        let spec = format!(r#""congestion": {{"kind": "fixed-window"}}, "queue": {queue}"#);
        on_a_fat_tree(&spec, &[(0, 15, 1_000_000)]).0
    };
    assert_eq!(alone(queue), alone(r#"{"kind": "drop-tail"}"#));
}

/// Links that carry a good part of one message from host 0 to host 15: six of each way.
fn links_of_one_message(balancing: &str) -> usize {
    let bytes = 2_000_000;
    let spec = format!(r#""congestion": {{"kind": "fixed-window"}}, "balancing": {balancing}"#);
    let (_, report) = on_a_fat_tree(&spec, &[(0, 15, bytes)]);
    report.link_bytes.iter().filter(|&&carried| carried > bytes as f64 / 16.0).count()
}

/// Everybody sends far away, at once.
fn a_permutation(balancing: &str, rest: &str) -> (Vec<Time>, NetworkReport) {
    let messages: Vec<(usize, usize, u64)> =
        (0..16).map(|from| (from, (from + 5) % 16, MESSAGE_BYTES)).collect();
    on_a_fat_tree(&format!(r#""balancing": {balancing}{rest}"#), &messages)
}

fn delivers_a_permutation(balancing: &str) {
    for control in CONTROLS {
        let (ends, _) = a_permutation(balancing, &format!(", {control}, {RECOVERY}"));
        let last = ends.iter().max().unwrap().as_secs_f64();
        // four messages on one link of the tree is the worst that a choice of ways can do
        let least = MESSAGE_BYTES as f64 / 12.5e9;
        assert!((least..10.0 * least).contains(&last), "{balancing}, {control}: {last} s");
    }
}

fn does_not_matter_where_there_is_one_way(balancing: &str) {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 5, "bandwidth": "100 Gbps", "latency": "1 us"}"#);
    let hosts = machine.compute_nodes().to_vec();
    let ends = |balancing: &str| {
        let spec = format!(r#"{{"kind": "packet", "balancing": {balancing}}}"#);
        let mut network = network(&spec, machine.clone());
        run(network.as_mut(), &hosts, &[(0, 4, 100_000), (1, 4, 50_000), (2, 3, 70_000)]).0
    };
    assert_eq!(ends(balancing), ends(r#"{"kind": "per-flow"}"#));
}

macro_rules! queue_contract {
    ($($name:ident: $spec:literal, loses $loses:literal;)+) => {
        mod queue {
            $(mod $name {
                use super::super::*;

                #[test]
                fn an_incast_arrives_and_everything_adds_up() {
                    delivers_an_incast($spec, $loses);
                }

                #[test]
                fn a_message_alone_does_not_notice_it() {
                    is_out_of_the_way_of_a_message_alone($spec);
                }

                #[test]
                fn a_run_is_repeated_exactly() {
                    let once = || an_incast($spec, $loses, CONTROLS[1]).0;
                    assert_eq!(once(), once());
                }
            })+
        }

        stratasim_testkit::every_kind_has_a_line!(every_queue_has_a_contract, QueueSpec, "queue_contract!", [$($spec),+]);
    };
}

macro_rules! balancing_contract {
    ($($name:ident: $spec:literal, spreads $spreads:literal;)+) => {
        mod balancing {
            $(mod $name {
                use super::super::*;

                #[test]
                fn a_permutation_arrives_and_everything_adds_up() {
                    delivers_a_permutation($spec);
                }

                #[test]
                fn one_message_takes_one_way_or_several() {
                    let links = links_of_one_message($spec);
                    assert!(if $spreads { links > 6 } else { links == 6 }, "{links} links");
                }

                #[test]
                fn packets_on_one_way_stay_in_order() {
                    let recovery = r#", "congestion": {"kind": "fixed-window"},
                        "recovery": {"kind": "go-back-n", "timeout": "5 ms"}, "queue": {"kind": "lossless"}"#;
                    let again = count(&a_permutation($spec, recovery).1, "network.retransmissions");
                    assert!($spreads || again == 0, "{again} packets were sent again");
                }

                #[test]
                fn with_one_way_there_is_nothing_to_choose() {
                    does_not_matter_where_there_is_one_way($spec);
                }

                #[test]
                fn a_run_is_repeated_exactly() {
                    assert_eq!(a_permutation($spec, "").0, a_permutation($spec, "").0);
                }
            })+
        }

        stratasim_testkit::every_kind_has_a_line!(every_choice_of_ways_has_a_contract, BalancingSpec, "balancing_contract!", [$($spec),+]);
    };
}

queue_contract! {
    trimming: r#"{"kind": "trimming"}"#, loses true;
    trimming_with_turns: r#"{"kind": "trimming", "headers-in-a-row": 10}"#, loses true;
    drop_tail: r#"{"kind": "drop-tail"}"#, loses true;
    drop_tail_in_one_line: r#"{"kind": "drop-tail", "control-first": false, "spares-newcomers": true}"#, loses true;
    lossless: r#"{"kind": "lossless"}"#, loses false;
    credit: r#"{"kind": "credit"}"#, loses false;
}

balancing_contract! {
    ecmp: r#"{"kind": "ecmp"}"#, spreads false;
    per_flow: r#"{"kind": "per-flow"}"#, spreads false;
    round_robin: r#"{"kind": "round-robin"}"#, spreads true;
    random: r#"{"kind": "random"}"#, spreads true;
    least_queue: r#"{"kind": "least-queue"}"#, spreads true;
    // a pause longer than any queue takes to empty: shorter ones may change the order
    flowlets: r#"{"kind": "flowlets", "gap": "1 ms"}"#, spreads false;
    source: r#"{"kind": "source"}"#, spreads false;
    routing: r#"{"kind": "routing"}"#, spreads false;
}
