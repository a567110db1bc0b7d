//! Runs in which packets are sent for ever and nothing gets any further end, and say so; runs that are merely slow go on.

use std::sync::Arc;

use crate::packets::{count, fat_tree};
use crate::support::{network_of_nics, topology};
use stratasim_core::model::{Cx, NetworkDone, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::{Time, Token};
use stratasim_topo::Topology;

/// What a run came to by `until`.
#[derive(Debug, PartialEq)]
struct Ended {
    delivered: usize,
    failed: usize,
    at: Time,
    /// Why the first message failed, where one has.
    reason: String,
    data_packets: u64,
}

/// Runs messages `(from, to, bytes, at)` until nothing is left or `until`.
fn ended(machine: &Arc<Topology>, options: &str, messages: &[(usize, usize, u64, u64)], until: u64) -> Ended {
    ended_by(1, machine, options, messages, until)
}

/// The same with the draws of a seed.
fn ended_by(
    seed: u64,
    machine: &Arc<Topology>,
    options: &str,
    messages: &[(usize, usize, u64, u64)],
    until: u64,
) -> Ended {
    let spec = format!(r#"{{"kind": "packet", {options}}}"#);
    let mut network = network_of_nics(&spec, machine.clone(), 1, seed);
    let (hosts, until) = (machine.compute_nodes(), Time::from_ps(until));
    let (mut done, mut at) = (Vec::new(), Time::ZERO);
    let mut token = 0;
    let mut waiting = messages.iter().peekable();
    while at < until && (waiting.peek().is_some() || network.next_event().is_some()) {
        while let Some(&&(from, to, bytes, _)) =
            waiting.peek().filter(|message| Time::from_ps(message.3) <= at)
        {
            let transfer = Transfer::new(Token(token), hosts[from], hosts[to], bytes);
            network.submit(at, NetworkRequest::Transfer(transfer));
            token += 1;
            waiting.next();
        }
        let next = waiting.peek().map_or(until, |message| Time::from_ps(message.3));
        at = network.advance(next, &mut Cx { done: &mut done, observer: &mut Blind });
    }
    let failed = done.iter().filter(|done| matches!(done, NetworkDone::Failed(_))).count();
    let reason = network.failure().map(|(_, reason)| reason).unwrap_or_default();
    let report = network.report(at);
    assert_eq!(report.violations(), Vec::<&str>::new());
    Ended {
        delivered: done.len() - failed,
        failed,
        at,
        reason,
        data_packets: count(&report, "network.data_packets"),
    }
}

fn assert_says(reason: &str, words: &[&str]) {
    for word in words {
        assert!(reason.contains(word), "`{word}` is missing: {reason}");
    }
}

const S: u64 = stratasim_core::time::PS_PER_S;

/// Headers of a hundred senders that do not slow down are one and a half times what the last link carries. Whoever sent elsewhere
/// is done.
#[test]
fn a_link_full_of_headers_ends_the_run_the_same_on_any_number_of_threads() {
    let machine = fat_tree(8);
    let mut messages: Vec<_> = (1..=100).map(|from| (from, 0, 250_000, 0)).collect();
    messages.push((101, 102, 250_000, 0));
    let of = |threads: u32| {
        let options = format!(
            r#""threads": {threads}, "congestion": {{"kind": "timely"}}, "recovery": {{"kind": "trimming"}},
               "queue": {{"kind": "trimming"}}, "buffer": "204800 B""#
        );
        ended(&machine, &options, &messages, S)
    };
    let one = of(1);
    assert_eq!((one.delivered, one.failed), (1, 100), "{one:?}");
    // a hundred links of 100 Gb/s send a million packets of 4160 B in 3.3 ms
    assert!(one.at > Time::from_ps(S / 300) && one.at < Time::from_ps(S / 50), "{one:?}");
    assert_says(
        &one.reason,
        &[
            "nothing new has come to any receiver since",
            "packets of data were sent in vain",
            "100 messages have not arrived",
            "host-1 to host-0: ",
            " of 250 kB left",
            "and 95 more",
            "the fullest queue: edge-0->host-0, 100 % of the time busy",
            "headers-in-a-row = 10",
        ],
    );
    for threads in [2, 4] {
        assert_eq!(of(threads), one, "on {threads} threads");
    }
}

/// Everything that the senders of one host say vanishes, and those of others arrive.
#[test]
fn a_link_that_is_down_for_good_ends_the_run_and_is_named() {
    let machine = topology(r#"{"kind": "ring", "nodes": 4, "bandwidth": "10 Gbps", "latency": "1 us"}"#);
    let name = machine.link_name(machine.ports(machine.compute_nodes()[0])[0].link);
    let to = machine.ports(machine.compute_nodes()[0])[0].to;
    let to = machine.compute_nodes().iter().position(|&host| host == to).expect("a host");
    let options = format!(
        r#""congestion": {{"kind": "dctcp"}}, "recovery": {{"kind": "go-back-n"}}, "queue": {{"kind": "drop-tail"}},
           "faults": {{"down": [{{"link": "{name}", "from": "10 us"}}]}}"#
    );
    let of = ended(&machine, &options, &[(0, to, 100_000, 0), (2, 3, 100_000, 0)], u64::MAX);
    assert_eq!((of.delivered, of.failed), (1, 1), "{of:?}");
    assert_says(&of.reason, &["1 message has not arrived", "down for good", &name]);
}

/// The senders of a circle of pauses have time-outs, so that there is always something to do.
#[test]
fn a_circle_of_pauses_is_named_although_time_outs_go_on() {
    let machine = topology(r#"{"kind": "ring", "nodes": 5, "bandwidth": "10 Gbps", "latency": "1 us"}"#);
    let messages: Vec<_> = (0..5).map(|host| (host, (host + 2) % 5, 10_000_000, 0)).collect();
    let options = r#""congestion": {"kind": "fixed-window", "factor": 100.0}, "recovery": {"kind": "irn"},
                     "queue": {"kind": "lossless", "pause-above": "9 kB"}"#;
    let of = ended(&machine, options, &messages, u64::MAX);
    assert_eq!((of.delivered, of.failed), (0, 5), "{of:?}");
    assert_says(&of.reason, &["time-outs alone go on", "5 links stop each other in a circle", "host-0"]);
}

/// Everybody sends to everybody on a torus of hosts that forward, by any shortest way: links stop each other in a circle, and senders
/// whose packets do not pass it repeat them for ever. With smaller messages there is no circle.
#[test]
fn a_circle_is_named_although_packets_go_round_it() {
    let torus = r#"{"kind": "torus", "dimensions": [4, 4], "bandwidth": "100 Gbps", "latency": "500 ns"}"#;
    let machine = topology(torus);
    let of = |options: &str, bytes: u64| {
        let pairs = (0..16).flat_map(|from| (0..16).map(move |to| (from, to)));
        let messages: Vec<_> =
            pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, bytes, 0)).collect();
        let options = format!(r#""congestion": {{"kind": "fixed-window"}}, {options}"#);
        ended(&machine, &options, &messages, 10_000 * S)
    };
    let small = of(r#""queue": {"kind": "credit"}"#, 50_000);
    assert_eq!((small.delivered, small.failed), (240, 0), "{small:?}");
    for options in [
        r#""queue": {"kind": "credit"}"#,
        r#""queue": {"kind": "lossless"}"#,
        r#""queue": {"kind": "credit"}, "classes": [{"up-to": "64 KiB"}, {}]"#,
        r#""queue": {"kind": "lossless"}, "classes": [{"up-to": "64 KiB"}, {}]"#,
        r#""queue": {"kind": "credit"}, "switching": "cut-through""#,
        r#""queue": {"kind": "credit"}, "loss": {"probability": 0.001}"#,
    ] {
        let large = of(options, 500_000);
        assert!(large.failed > 100 && large.delivered + large.failed == 240, "{options}: {large:?}");
        assert_says(&large.reason, &["links stop each other in a circle", "host-"]);
    }
}

/// The same where data moves by credit that comes through the circle, so that senders repeat nothing but their requests.
#[test]
fn a_circle_is_named_although_only_requests_go_on() {
    let machine = topology(r#"{"kind": "ring", "nodes": 6, "bandwidth": "100 Gbps", "latency": "500 ns"}"#);
    let pairs = (0..6).flat_map(|from| (0..6).map(move |to| (from, to)));
    let messages: Vec<_> =
        pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, 166_667, 0)).collect();
    for congestion in ["eqds", "rccc"] {
        let options = format!(
            r#""congestion": {{"kind": "{congestion}"}}, "queue": {{"kind": "credit"}}, "packets": {{"payload-bytes": 256}}"#
        );
        let of = ended(&machine, &options, &messages, 10_000 * S);
        assert!(of.failed > 0 && of.delivered + of.failed == 30, "{congestion}: {of:?}");
        assert_says(&of.reason, &["links stop each other in a circle", "host-"]);
    }
}

/// Credit for what was lost has to be asked for by those that go back, and by those whose question was lost.
#[test]
fn what_is_lost_gets_credit_whatever_the_recovery() {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 4, "bandwidth": "10 Gbps", "latency": "500 ns"}"#);
    // packets one by one, and many at a time
    let single: Vec<_> =
        (0..300).map(|at| (at as usize % 2, 1 - at as usize % 2, 500, at / 2 * 3_000_000_000)).collect();
    let many = vec![(0, 1, 300_000, 0), (1, 2, 300_000, 0), (2, 3, 300_000, 0)];
    let queues = [r#"{"kind": "trimming"}"#, r#"{"kind": "drop-tail"}"#];
    for congestion in ["ndp", "eqds", "rccc"] {
        for (recovery, queue) in ["go-back-n", "irn", "rltp", "sack", "trimming"]
            .into_iter()
            .flat_map(|recovery| queues.map(|queue| (recovery, queue)))
        {
            let timeout = if recovery == "go-back-n" { r#", "timeout": "1 ms""# } else { "" };
            let options = format!(
                r#""congestion": {{"kind": "{congestion}"}}, "recovery": {{"kind": "{recovery}"{timeout}}},
                   "connections": "per-pair", "packets": {{"payload-bytes": 1024}}, "queue": {queue},
                   "loss": {{"probability": 0.05}}"#
            );
            for (seed, messages) in (0..8).flat_map(|seed| [(seed, &single), (seed, &many)]) {
                let of = ended_by(seed, &machine, &options, messages, 2 * S);
                let all = messages.len();
                assert_eq!((of.delivered, of.failed), (all, 0), "{options}, {seed}: {of:?}");
            }
        }
    }
}

/// The clock of a rate that comes back runs out a thousand times before a time-out does, and hides none of them.
#[test]
fn a_congestion_control_with_a_clock_waits_for_the_time_outs_of_its_recovery() {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 3, "bandwidth": "400 Gbps", "latency": "0 ns"}"#);
    // rates that marks have cut, and that come back in seconds only
    let options = r#""congestion": {"kind": "dcqcn", "timer": "25 us", "additive": "1 kbps", "hyper": "1 kbps"},
                     "recovery": {"kind": "go-back-n", "timeout": "67 ms"}, "queue": {"kind": "drop-tail"},
                     "ecn": {"min": "4 kB", "max": "4 kB"}, "packets": {"payload-bytes": 1000},
                     "loss": {"probability": 0.003}"#;
    for seed in 0..4 {
        let of = ended_by(seed, &machine, options, &[(1, 0, 3_000_000, 0), (2, 0, 3_000_000, 0)], 10 * S);
        assert_eq!((of.delivered, of.failed), (2, 0), "{seed}: {of:?}");
    }
}

/// Links that are longer than any queue takes to drain, and hosts that forward: what is merely under way is not sent again.
#[test]
fn nothing_is_repeated_because_links_are_long() {
    for machine in [
        r#"{"kind": "mesh", "dimensions": [4, 2], "bandwidth": "100 Gbps", "latency": "20 us"}"#,
        r#"{"kind": "fully-connected", "nodes": 3, "bandwidth": "100 Gbps", "latency": "1 ms"}"#,
    ] {
        let machine = topology(machine);
        for options in [r#""congestion": {"kind": "nscc"}"#, r#""congestion": {"kind": "ndp"}"#] {
            let of = ended(&machine, options, &[(0, 1, 400_000, 0), (2, 0, 400_000, 0)], S);
            // packets of 4096 B of payload, each once
            assert_eq!(
                (of.delivered, of.data_packets),
                (2, 2 * 400_000_u64.div_ceil(4096)),
                "{options}: {of:?}"
            );
        }
    }
}

/// A sender that never slows down; what is lost it sends again after at most 64 times its time-out.
const STUBBORN: &str = r#""congestion": {"kind": "constant-rate"}, "recovery": {"kind": "go-back-n", "timeout": "20 us"},
                          "queue": {"kind": "drop-tail"}"#;

/// More packets are sent in vain than a collapse takes, and the link is repaired.
#[test]
fn a_link_that_is_repaired_is_waited_for() {
    let machine = topology(r#"{"kind": "ring", "nodes": 4, "bandwidth": "100 Gbps", "latency": "1 us"}"#);
    let name = machine.link_name(machine.ports(machine.compute_nodes()[0])[0].link);
    let to = machine.ports(machine.compute_nodes()[0])[0].to;
    let to = machine.compute_nodes().iter().position(|&host| host == to).expect("a host");
    // 12,000 packets take 4 ms, longer than any time-out: the link is always busy
    let messages = [(0, to, 12_000 * 4096, 0)];
    let down = |to: &str| {
        format!(r#"{STUBBORN}, "faults": {{"down": [{{"link": "{name}", "from": "10 us"{to}}}]}}"#)
    };
    let of = ended(&machine, &down(r#", "to": "600 ms""#), &messages, S);
    assert_eq!((of.delivered, of.failed), (1, 0), "{of:?}");
    assert!(of.data_packets > 1_500_000, "{of:?}");
    let of = ended(&machine, &down(""), &messages, S);
    assert_eq!((of.delivered, of.failed), (0, 1), "{of:?}");
    assert!(of.data_packets > 1_000_000 && of.data_packets < 1_500_000, "{of:?}");
}

/// A host sends to a dead link without a pause, and more in vain than a collapse takes before a slow queue that it has filled
/// lets a message of another host through.
#[test]
fn a_queue_that_is_merely_slow_is_waited_for() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 2, "bandwidth": "100 Gbps",
            "uplink-bandwidth": "1 Gbps", "latency": "1 us"}"#,
    );
    let options = format!(
        r#"{STUBBORN}, "buffer": "100 MB", "faults": {{"down": [{{"link": "leaf-1->host-2", "from": "1 ns"}}]}}"#
    );
    // the queue holds 87 MB after 7 ms
    let messages = [(0, 2, 12_000 * 4096, 0), (1, 3, 4096, 7 * S / 1000)];
    let of = ended(&machine, &options, &messages, 9 * S / 10);
    assert_eq!((of.delivered, of.failed), (1, 0), "{of:?}");
    assert!(of.data_packets > 2_000_000, "{of:?}");
}

/// A host sends to a dead link without a pause, and more in vain than a collapse takes before the time-out of a message whose
/// only packet vanished.
#[test]
fn a_long_time_out_is_waited_for() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 2, "bandwidth": "100 Gbps", "latency": "1 us"}"#,
    );
    let options = r#""congestion": {"kind": "constant-rate"}, "queue": {"kind": "drop-tail"},
        "recovery": {"kind": "go-back-n", "timeout": "700 ms"},
        "faults": {"down": [{"link": "leaf-1->host-2", "from": "1 ns"},
                            {"link": "host-1->leaf-0", "from": "1 ns", "to": "10 us"}]}"#;
    // 333 ns a packet
    let messages = [(0, 2, 2_000_000 * 4096, 0), (1, 3, 4096, 0)];
    let of = ended(&machine, options, &messages, 8 * S / 10);
    assert_eq!((of.delivered, of.failed), (1, 0), "{of:?}");
    assert!(of.data_packets > 1_900_000, "{of:?}");
}

/// Where four packets of five vanish on each of four links, one of 390,000 gets there and word of it back.
#[test]
fn heavy_loss_is_no_collapse() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 2, "bandwidth": "100 Gbps", "latency": "1 us"}"#,
    );
    for loss in
        [r#"{"probability": 0.5}"#, r#"{"probability": 0.8}"#, r#"{"probability": 0.5, "burst": 50.0}"#]
    {
        let options = format!(
            r#""congestion": {{"kind": "dctcp"}}, "recovery": {{"kind": "irn"}}, "queue": {{"kind": "drop-tail"}},
               "loss": {loss}"#
        );
        let of = ended(&machine, &options, &[(0, 2, 12_000, 0), (3, 1, 12_000, 0)], u64::MAX);
        assert_eq!((of.delivered, of.failed), (2, 0), "{loss}: {of:?}");
    }
}

/// Hosts that compute for seconds between short messages, and links as slow as a telephone's.
#[test]
fn long_silence_and_tiny_rates_are_no_collapse() {
    let slow = topology(r#"{"kind": "ring", "nodes": 4, "bandwidth": "9600 bps", "latency": "300 ms"}"#);
    let messages: Vec<_> = (0..40).map(|i| (i % 4, (i + 1) % 4, 5000, i as u64 * 1000 * S)).collect();
    for congestion in ["nscc", "ndp", "dctcp", "timely", "dcqcn", "rccc"] {
        let of = ended(&slow, &format!(r#""congestion": {{"kind": "{congestion}"}}"#), &messages, u64::MAX);
        assert_eq!((of.delivered, of.failed), (40, 0), "{congestion}: {of:?}");
    }
}

/// A sender that asks a number of times only says what was in its way, where that is known.
#[test]
fn a_transport_that_gives_up_says_what_was_in_its_way() {
    let ring = topology(r#"{"kind": "ring", "nodes": 6, "bandwidth": "100 Gbps", "latency": "500 ns"}"#);
    let rltp = r#""congestion": {"kind": "fixed-window"}, "recovery": {"kind": "rltp"}"#;
    let lossless = r#""queue": {"kind": "lossless", "pause-above": "41600 B", "resume-below": "4160 B"}"#;
    let far: Vec<_> = (0..24).map(|number| (number % 6, (number + 3) % 6, 2_000_000, 0)).collect();
    let of = ended(&ring, &format!("{rltp}, {lossless}"), &far, S);
    assert_says(&of.reason, &["gave up", "deadlock: 6 links stop each other in a circle"]);
    let name = ring.link_name(ring.ports(ring.compute_nodes()[0])[0].link);
    let down = |until: &str| {
        let outage = format!(r#""faults": {{"down": [{{"link": "{name}", "from": "20 us"{until}}}]}}"#);
        let routed = r#""queue": {"kind": "drop-tail"}, "balancing": {"kind": "routing"}"#;
        ended(&ring, &format!("{rltp}, {routed}, {outage}"), &[(0, 1, 1_000_000, 0)], S).reason
    };
    assert_says(&down(""), &["gave up", &format!("lost on links that are down for good ({name})")]);
    assert_says(&down(r#", "to": "2 s""#), &["lost on links that were down, and with more `max-probes`"]);
}
