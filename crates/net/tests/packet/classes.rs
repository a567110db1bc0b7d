//! Classes of messages, shared buffers and credits, against closed forms.

use std::sync::Arc;

use crate::packets::{count, fat_tree, run, stalled_ring};
use crate::support::{network, topology, try_network};
use stratasim_core::model::{Cx, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::{Time, Token};
use stratasim_testkit::network_contract;
use stratasim_topo::Topology;

network_contract!(in_turn credits, |topology| network(
    r#"{"kind": "packet", "congestion": {"kind": "constant-rate"}, "recovery": {"kind": "go-back-n"},
        "queue": {"kind": "credit", "receive-buffer": "1 MB", "control-first": true}}"#,
    topology
));
network_contract!(in_turn classes_and_shared_buffers, |topology| network(
    r#"{"kind": "packet", "buffer": "40 kB", "buffer-sharing": {"alpha": 0.5},
        "classes": [{"up-to": "1 kB"}, {"up-to": "50 kB"}, {}]}"#,
    topology
));
network_contract!(in_turn classes_with_pauses_cut_through, |topology| network(
    r#"{"kind": "packet", "congestion": {"kind": "dcqcn"}, "queue": {"kind": "lossless", "pause-above": "1 MB"},
        "switching": "cut-through", "classes": [{"up-to": "10 kB"}, {}]}"#,
    topology
));

fn star(hosts: u32) -> Arc<Topology> {
    topology(&format!(
        r#"{{"kind": "single-switch", "nodes": {hosts}, "bandwidth": "100 Gbps", "latency": "1 us"}}"#
    ))
}

const UNLIMITED: &str =
    r#""congestion": {"kind": "fixed-window", "factor": 1000.0}, "recovery": {"kind": "rltp"}"#;

/// Each of three senders fills the link to one host. What is urgent is held up by the packet on the link, and by nobody else.
#[test]
fn urgent_messages_wait_for_one_packet_only() {
    let machine = star(4);
    let hosts = machine.compute_nodes();
    let spec = |classes: &str| {
        format!(
            r#"{{"kind": "packet", {UNLIMITED}, "buffer": "100 MB", "queue": {{"kind": "drop-tail"}}, "classes": [{classes}]}}"#
        )
    };
    let messages = [(1, 0, 2_000_000), (2, 0, 2_000_000), (3, 0, 81_920)];
    let alone = 20 * 4160 * 80 + 4160 * 80 + 2_000_000;
    let (ends, report) =
        run(network(&spec(r#"{"up-to": "100 kB"}, {}"#), machine.clone()).as_mut(), hosts, &messages);
    assert!(
        ends[2].as_ps() >= alone && ends[2].as_ps() <= alone + 4160 * 80,
        "{} alone {alone}",
        ends[2].as_ps()
    );
    assert!(report.violations().is_empty(), "{:?}", report.violations());
    // the link is never idle: the order changes who waits, and not for how long all together
    let (one, _) = run(network(&spec(""), machine.clone()).as_mut(), hosts, &messages);
    let last = |ends: &[Time]| *ends.iter().max().expect("messages");
    assert_eq!(last(&one), last(&ends));
    assert!(one[2].as_ps() > 2 * alone, "{} alone {alone}", one[2].as_ps());
}

/// Choudhury and Hahne: n queues that are always full hold alpha / (1 + n alpha) of the buffer each.
#[test]
fn full_queues_share_the_buffer_as_the_dynamic_threshold_says() {
    let machine = star(16);
    let hosts = machine.compute_nodes();
    for (alpha, congested) in [(0.5, 1), (1.0, 1), (1.0, 2), (2.0, 3), (8.0, 2)] {
        let messages: Vec<_> =
            (0..congested).flat_map(|to| (4..16).map(move |from| (from, to, 10_000_000))).collect();
        let spec = format!(
            r#"{{"kind": "packet", {UNLIMITED}, "buffer": "100 kB", "queue": {{"kind": "drop-tail"}},
                "buffer-sharing": {{"alpha": {alpha}}}}}"#
        );
        let mut network = network(&spec, machine.clone());
        for (token, &(from, to, bytes)) in (0..).zip(&messages) {
            let transfer = Transfer::new(Token(token), hosts[from], hosts[to], bytes);
            network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
        }
        // none of them can be done by then: 10 MB take 800 us
        let (middle, mut done) = (Time::from_ps(400_000_000), Vec::new());
        network.advance(middle, &mut Cx { done: &mut done, observer: &mut Blind });
        assert!(done.is_empty(), "{done:?}");
        let report = network.report(middle);
        assert!(report.violations().is_empty(), "{:?}", report.violations());
        assert!(count(&report, "network.drops") > 0);
        // what is free is looked at before the packet that comes is counted
        let total = 16.0 * 100_000.0 + 4160.0;
        let share = alpha / (1.0 + congested as f64 * alpha) * total;
        let held = count(&report, "network.longest_queue_bytes") as f64;
        // where there are several, one may hold more while another is not full; alone it would hold half as much again or more
        let most = if congested == 1 { share } else { 1.25 * share };
        assert!(held > share - 3.0 * 4160.0 && held <= most, "alpha {alpha}, {congested}: {held} of {share}");
    }
}

/// A pause of large messages does not stop small ones that come by the same links.
#[test]
fn a_pause_stops_one_class_only() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    // everybody but the neighbour fills the link of host 0; host 15 has a word for host 1, over the same links
    let mut messages: Vec<_> = (2..16).map(|from| (from, 0, 2_000_000)).collect();
    messages.push((15, 1, 4096));
    let time = |queue: &str, classes: &str| {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "constant-rate"}}, "recovery": {{"kind": "go-back-n"}},
                "queue": {{"kind": "{queue}"}}, "balancing": {{"kind": "per-flow"}}, "classes": [{classes}]}}"#
        );
        let (ends, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
        assert!(report.violations().is_empty(), "{:?}", report.violations());
        assert_eq!(count(&report, "network.drops"), 0);
        if queue == "lossless" {
            assert!(count(&report, "network.pauses") > 10);
        }
        ends[14].as_ps()
    };
    let alone = 6 * 4160 * 80 + 6_000_000;
    for queue in ["lossless", "credit"] {
        // at each of six ports a packet may just have begun, and requests in one line with data follow
        let urgent = time(queue, r#"{"up-to": "10 kB"}, {}"#);
        assert!(urgent >= alone && urgent <= alone + 6 * 4160 * 80, "{queue}: {urgent}, alone {alone}");
    }
}

/// With room for one packet, a host sends the next when the switch has sent the last one on and said so: every
/// 2 S p + 2 d. With more room it is never held up.
#[test]
fn a_link_is_as_fast_as_its_credits_come_back() {
    let machine = star(2);
    let hosts = machine.compute_nodes();
    let (packet, delay) = (4160 * 80, 1_000_000_u64);
    for (room, cycle) in [("4160 B", 2 * packet + 2 * delay), ("1 MB", packet)] {
        let spec = format!(
            r#"{{"kind": "packet", {UNLIMITED}, "queue": {{"kind": "credit", "receive-buffer": "{room}", "control-first": true}}}}"#
        );
        let (ends, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &[(0, 1, 50 * 4096)]);
        assert_eq!(ends[0].as_ps(), 49 * cycle + 2 * (packet + delay), "{room}");
        assert!(report.violations().is_empty(), "{:?}", report.violations());
    }
    let usual = format!(r#"{{"kind": "packet", {UNLIMITED}, "queue": {{"kind": "credit"}}}}"#);
    let (ends, _) = run(network(&usual, machine.clone()).as_mut(), hosts, &[(0, 1, 50 * 4096)]);
    assert_eq!(ends[0].as_ps(), 49 * packet + 2 * (packet + delay));
}

/// An incast under credits: nothing is dropped, no more than the room is ever used, the bottleneck is always busy.
#[test]
fn credits_drop_nothing_and_come_back_whatever_vanishes() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..16).map(|from| (from, 0, 300_000)).collect();
    for (rest, perfect) in [
        ("", true),
        (r#", "switching": "cut-through""#, true),
        (
            r#", "loss": {"probability": 0.02}, "faults": {"corruption": {"probability": 0.01},
            "reordering": {"probability": 0.05, "delay": "10 us"}}"#,
            false,
        ),
    ] {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "constant-rate"}}, "recovery": {{"kind": "rltp"}},
                "queue": {{"kind": "credit", "receive-buffer": "60 kB"}}{rest}}}"#
        );
        let (ends, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
        assert!(report.violations().is_empty(), "{rest}: {:?}", report.violations());
        assert_eq!(count(&report, "network.drops"), 0);
        let last = ends.iter().max().expect("messages").as_ps() as f64;
        let ideal = 15.0 * f64::from(300_000 + 74 * 64) * 80.0;
        assert!(last > ideal && (!perfect || last < 1.05 * ideal), "{rest}: {last} of {ideal}");
        assert_eq!(count(&report, "network.lost_on_links") > 0, !perfect);
    }
}

/// Everybody on a ring sends half-way round; with little room, each waits for the next one's.
#[test]
fn a_circle_of_credits_is_named() {
    let reason = stalled_ring(r#"{"kind": "credit", "receive-buffer": "9 kB"}"#);
    assert!(reason.contains("5 links stop each other in a circle") && reason.contains("host-0"), "{reason}");
}

/// A share that lets just one packet in is enough, and so is a threshold that every packet passes.
#[test]
fn the_smallest_shares_and_thresholds_that_make_sense_are_taken() {
    let machine = star(2);
    for spec in [
        r#""buffer": "8320 B", "buffer-sharing": {"alpha": 0.25}, "congestion": {"kind": "fixed-window"}, "recovery": {"kind": "rltp"}"#,
        r#""queue": {"kind": "lossless", "pause-above": "1 B"}, "congestion": {"kind": "dcqcn"}"#,
    ] {
        let mut network = network(&format!(r#"{{"kind": "packet", {spec}}}"#), machine.clone());
        run(network.as_mut(), machine.compute_nodes(), &[(0, 1, 100_000), (1, 0, 100_000)]);
    }
}

#[test]
fn classes_credits_and_shares_that_make_no_sense_are_refused_with_their_place() {
    let machine = star(2);
    for (spec, words) in [
        (r#""classes": [{}, {}]"#, ["classes.0.up-to", "only the last"]),
        (r#""classes": [{"up-to": "1 kB"}]"#, ["classes.0.up-to", "last class"]),
        (
            r#""classes": [{"up-to": "2 kB"}, {"up-to": "1 kB"}, {}]"#,
            ["classes.1.up-to", "more than the one before"],
        ),
        (r#""classes": [{}, {}, {}, {}, {}, {}, {}, {}, {}]"#, ["classes", "at most 8"]),
        (r#""buffer-sharing": {"alpha": 0.0}"#, ["buffer-sharing.alpha", "above 0"]),
        (
            r#""buffer-sharing": {"alpha": 1e-9}"#,
            ["buffer-sharing.alpha: 0.000000001", "no packet of 4160 B ever gets in"],
        ),
        (
            r#""buffer": "10 kB", "buffer-sharing": {"alpha": 0.125}"#,
            ["a queue may then hold 2500 B", "above 0.209 is needed"],
        ),
        (r#""queue": {"kind": "lossless", "pause-above": "0 B"}"#, ["queue.pause-above", "positive"]),
        (
            r#""queue": {"kind": "lossless", "pause-above": "1 B", "resume-below": "2 B"}"#,
            ["queue.resume-below", "at most `pause-above`, 1 B"],
        ),
        (r#""buffer-sharing": {}, "queue": {"kind": "lossless"}"#, ["buffer-sharing", "drop nothing"]),
        (r#""queue": {"kind": "credit", "receive-buffer": "1 kB"}"#, ["queue.receive-buffer", "one packet"]),
        // acknowledgements may be larger than packets with payload, and wait where these do
        (
            r#""queue": {"kind": "credit", "receive-buffer": "60 B"}, "packets": {"payload-bytes": 10, "header-bytes": 40}"#,
            ["queue.receive-buffer", "one packet (64 B)"],
        ),
        (
            r#""queue": {"kind": "drop-tail", "control-first": false}, "buffer": "60 B", "packets": {"payload-bytes": 10, "header-bytes": 40}"#,
            ["buffer: 60 B", "one packet (64 B)"],
        ),
        (
            r#""queue": {"kind": "credit"}, "faults": {"duplication": {"probability": 0.1}}"#,
            ["faults.duplication", "credits"],
        ),
    ] {
        let error =
            try_network(&format!(r#"{{"kind": "packet", {spec}}}"#), machine.clone()).err().expect(spec);
        let said = format!("{}: {}", error.field, error.reason);
        assert!(words.iter().all(|word| said.contains(word)), "{spec}: {said}");
    }
}
