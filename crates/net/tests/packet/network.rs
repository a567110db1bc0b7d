//! The packet level against closed forms, and against what must hold whatever happens.

use crate::packets::{count, fat_tree, run, stalled_ring};
use crate::support::{network, topology, try_network};
use stratasim_core::model::{Cx, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::{Time, Token};

/// W p + (n - 1) S p + n d, and the way of an acknowledgement back where the sender counts.
#[test]
fn a_message_alone_takes_what_the_closed_form_says() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    for completion in ["receiver", "sender"] {
        for (to, links) in [(1, 2), (2, 4), (15, 6)] {
            for bytes in [1_u64, 100, 4096, 4097, 65_536, 1_000_000] {
                let spec = format!(
                    r#"{{"kind": "packet", "completion": "{completion}", "congestion": {{"kind": "fixed-window", "factor": 4.0}},
                        "recovery": {{"kind": "trimming"}}, "buffer": "10 MB"}}"#
                );
                let mut network = network(&spec, machine.clone());
                let (ends, report) = run(network.as_mut(), hosts, &[(0, to, bytes)]);
                let packets = bytes.div_ceil(4096);
                let wire = bytes + 64 * packets;
                let last = bytes - (packets - 1) * 4096 + 64;
                // a shorter last packet catches up with the one before it on every link
                let behind = if packets > 1 { 4160 } else { last };
                let forward = wire * 80 + (links - 1) * behind * 80 + links * 1_000_000;
                let back = if completion == "sender" { links * (64 * 80 + 1_000_000) } else { 0 };
                assert_eq!(ends[0].as_ps(), forward + back, "{bytes} B over {links} links, {completion}");
                if completion == "sender" {
                    assert_eq!(count(&report, "network.packet_hops"), 2 * packets * links);
                }
                assert!(report.violations().is_empty(), "{:?}", report.violations());
            }
        }
    }
}

/// Thirty-one hosts to one: its link is the only limit. No transport loses a byte, and none is faster than it.
#[test]
fn an_incast_takes_its_bottleneck_and_little_more() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts-per-leaf": 8, "bandwidth": "100 Gbps", "latency": "500 ns"}"#,
    );
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..32).map(|from| (from, 0, 200_000)).collect();
    let ideal = 31.0 * f64::from(200_000 + 49 * 64) * 80.0;
    for (transport, most) in [
        (r#""congestion": {"kind": "nscc"}"#, 1.1),
        (r#""congestion": {"kind": "ndp"}"#, 1.1),
        (r#""congestion": {"kind": "eqds"}"#, 1.1),
        (r#""congestion": {"kind": "rccc"}"#, 1.1),
        (r#""congestion": {"kind": "mprdma"}"#, 1.2),
        // drops at the end of a message are noticed by time-outs only
        (r#""congestion": {"kind": "dctcp"}"#, 4.0),
        (
            r#""congestion": {"kind": "constant-rate"}, "recovery": {"kind": "go-back-n"}, "queue": {"kind": "lossless"}"#,
            1.05,
        ),
        (r#""congestion": {"kind": "hpcc"}"#, 1.3),
    ] {
        let mut network = network(&format!(r#"{{"kind": "packet", {transport}}}"#), machine.clone());
        let (ends, report) = run(network.as_mut(), hosts, &messages);
        let last = ends.iter().max().expect("messages").as_ps() as f64;
        assert!(report.violations().is_empty(), "{transport}: {:?}", report.violations());
        assert!(last >= ideal && last <= most * ideal, "{transport}: {} of the ideal", last / ideal);
    }
}

#[test]
fn headroom_for_what_a_link_still_carries_is_enough_and_less_of_it_loses_packets_that_come_again() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..9).map(|from| (from, 0, 400_000)).collect();
    let of = |headroom: &str| {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "constant-rate"}}, "recovery": {{"kind": "go-back-n", "timeout": "1 ms"}},
                "queue": {{"kind": "lossless"{headroom}}}}}"#
        );
        let (ends, report) = run(&mut *network(&spec, machine.clone()), hosts, &messages);
        assert_eq!(report.violations(), Vec::<&str>::new());
        (ends, count(&report, "network.drops"), count(&report, "network.pauses"))
    };
    let (ends, drops, pauses) = of("");
    assert!(drops == 0 && pauses > 0, "{drops} drops, {pauses} pauses");
    // two delays of 1 us at 100 Gb/s and two packets of 4160 bytes
    assert_eq!(of(r#", "headroom": "33320 B""#), (ends, 0, pauses));
    assert!(of(r#", "headroom": "8 kB""#).1 > 0);
}

#[test]
fn a_lossless_network_pauses_and_drops_nothing() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..16).map(|from| (from, 0, 500_000)).collect();
    let spec = r#"{"kind": "packet", "congestion": {"kind": "constant-rate"}, "recovery": {"kind": "go-back-n"},
                   "queue": {"kind": "lossless"}}"#;
    let (_, report) = run(network(spec, machine.clone()).as_mut(), hosts, &messages);
    assert!(count(&report, "network.pauses") > 10);
    assert_eq!((count(&report, "network.drops"), count(&report, "network.retransmissions")), (0, 0));
    // a port holds for each of its inputs what may come until the other end has stopped: 15 packets, two link
    // delays (25 kB), and the packets that were just beginning
    let most = 4 * (15 * 4160 + 25_000 + 3 * 4160);
    assert!(count(&report, "network.longest_queue_bytes") < most, "{report:?}");
    assert!(report.violations().is_empty(), "{:?}", report.violations());
}

/// Everybody on a ring sends half-way round without ever leaving room: each waits for the next.
#[test]
fn a_circle_of_pauses_is_named() {
    let reason = stalled_ring(r#"{"kind": "lossless", "pause-above": "9 kB"}"#);
    assert!(reason.contains("5 links stop each other in a circle") && reason.contains("host-0"), "{reason}");
}

/// Sixteen hosts send to sixteen others over four spines: with one way per flow, some spines get several flows;
/// whoever looks at every packet does better.
#[test]
fn spraying_beats_one_way_per_flow() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 16, "hosts-per-leaf": 16, "bandwidth": "100 Gbps", "latency": "500 ns"}"#,
    );
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (0..16).map(|from| (from, 16 + from, 1_000_000)).collect();
    let ideal = (1_000_000 + 245 * 64) as f64 * 80.0;
    let slowest = |balancing: &str| {
        let spec = format!(r#"{{"kind": "packet", "balancing": {{"kind": "{balancing}"}}}}"#);
        let (ends, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
        assert!(report.violations().is_empty(), "{balancing}: {:?}", report.violations());
        ends.iter().max().expect("messages").as_ps() as f64 / ideal
    };
    let per_flow = slowest("per-flow");
    // sixteen flows miss each other on sixteen spines once in 10^6 draws
    assert!(per_flow > 1.9, "{per_flow}");
    for balancing in ["ecmp", "round-robin", "random", "least-queue", "flowlets"] {
        let took = slowest(balancing);
        let limit = if balancing == "flowlets" { 0.95 * per_flow } else { 1.35 };
        assert!(took < limit, "{balancing}: {took} of the ideal, {per_flow} per flow");
    }
}

/// Whatever vanishes is sent again, by every recovery that has a time-out; `run` checks that each message
/// comes once.
#[test]
fn messages_survive_links_that_lose_packets() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (0..16).map(|from| (from, (from + 5) % 16, 300_000)).collect();
    for transport in [
        r#""congestion": {"kind": "nscc"}"#,
        r#""congestion": {"kind": "swift"}"#,
        r#""congestion": {"kind": "ndp"}"#,
        r#""congestion": {"kind": "eqds"}"#,
        r#""congestion": {"kind": "dcqcn"}"#,
        r#""congestion": {"kind": "fixed-window"}, "recovery": {"kind": "irn"}"#,
        // a window of one packet, and that one is lost
        r#""congestion": {"kind": "dctcp"}, "recovery": {"kind": "irn"}"#,
        r#""congestion": {"kind": "fixed-window"}, "recovery": {"kind": "rltp", "max-probes": 64}"#,
    ] {
        for loss in [r#"{"probability": 0.01}"#, r#"{"probability": 0.02, "burst": 4.0}"#] {
            let spec = format!(
                r#"{{"kind": "packet", "queue": {{"kind": "drop-tail"}}, {transport}, "loss": {loss}}}"#
            );
            let (_, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
            assert!(report.violations().is_empty(), "{transport}: {:?}", report.violations());
            let (lost, hops) =
                (count(&report, "network.lost_on_links"), count(&report, "network.packet_hops"));
            assert!(lost > hops / 200 && lost < hops / 25, "{transport}: {lost} of {hops}");
            assert!(count(&report, "network.retransmissions") > 0, "{transport}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let machine = fat_tree(4);
    let refused = |spec: &str| {
        let error = try_network(spec, machine.clone()).err().expect("it must be refused");
        format!("{}: {}", error.field, error.reason)
    };
    for (spec, words) in [
        (r#"{"kind": "packet", "buffer": "1 kB"}"#, ["buffer", "one packet"]),
        (r#"{"kind": "packet", "ecn": {"min": "9 kB", "max": "8 kB"}}"#, ["ecn.max", "9"]),
        (r#"{"kind": "packet", "packets": {"payload-bytes": 0}}"#, ["packets.payload-bytes", "65535"]),
        (
            r#"{"kind": "packet", "packets": {"payload-bytes": 100, "header-bytes": 20, "control-bytes": 1024}}"#,
            ["packets.control-bytes: 1024 B", "a full packet has 120 B"],
        ),
        (
            r#"{"kind": "packet", "recovery": {"kind": "none"}, "loss": {"probability": 1e-9}}"#,
            ["recovery: `none` sends nothing again", "`loss` takes packets away"],
        ),
        (
            r#"{"kind": "packet", "recovery": {"kind": "none"}, "faults": {"loss": [{"states": {"to-bad": 0.1, "to-good": 0.1}}]}}"#,
            ["(`go-back-n`, ", "leave `faults.loss` out"],
        ),
        (
            r#"{"kind": "packet", "recovery": {"kind": "none"}, "faults": {"corruption": {"probability": 0.1}}}"#,
            ["recovery", "`faults.corruption` takes packets away"],
        ),
        (
            r#"{"kind": "packet", "preset": "htsim",
                "packets": {"payload-bytes": 1, "header-bytes": 0, "control-bytes": 1}}"#,
            ["packets.control-bytes: 1 B", "a full packet has 1 B"],
        ),
        (
            r#"{"kind": "packet", "queue": {"kind": "lossless", "pause-above": "9 kB", "resume-below": "1 MB"}}"#,
            ["queue.resume-below", "pause-above"],
        ),
        (
            r#"{"kind": "packet", "balancing": {"kind": "least-queue", "step": "0 B"}}"#,
            ["balancing.step", "1 B"],
        ),
    ] {
        let said = refused(spec);
        assert!(words.iter().all(|word| said.contains(word)), "{spec}: {said}");
    }
    let nothing_lost = r#"{"kind": "packet", "recovery": {"kind": "none"}, "loss": {"probability": 0.0},
        "faults": {"corruption": {"probability": 0.0}}}"#;
    assert!(try_network(nothing_lost, machine.clone()).is_ok());
}

/// Where packets are dropped, the probes of SLEEK wait in the queues of data: while these are full nobody sends again what may
/// yet come.
#[test]
fn an_incast_with_sleek_is_no_storm_of_retransmissions() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts-per-leaf": 16, "bandwidth": "100 Gbps", "latency": "1 us"}"#,
    );
    let messages: Vec<_> = (1..64).map(|from| (from, 0, 120_000)).collect();
    let mut network = network(
        r#"{"kind": "packet", "congestion": {"kind": "nscc", "target-factor": 1.0}, "queue": {"kind": "drop-tail"},
            "recovery": {"kind": "trimming", "sleek": true}}"#,
        machine.clone(),
    );
    let (ends, report) = run(network.as_mut(), machine.compute_nodes(), &messages);
    let needed = 63 * 250_000_u64.div_ceil(4096);
    assert!(count(&report, "network.data_packets") < 3 * needed, "{:?}", report.counters);
    let last = ends.iter().max().unwrap().as_ps() as f64;
    assert!(last < 1.5 * 63.0 * 253_968.0 * 80.0, "{last}");
}

/// The first windows of sixteen senders wait for many round trips, and answers to probes come later than the next probe: they say so,
/// though no average does where the receiver's credit is what senders live on.
#[test]
fn late_answers_to_probes_tell_of_no_losses() {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 17, "bandwidth": "100 Gbps", "latency": "500 ns"}"#);
    let messages: Vec<_> = (1..17).map(|from| (from, 0, 400_000)).collect();
    for congestion in [r#""rccc""#, r#"{"kind": "rccc", "sender": {}}"#, r#""eqds""#, r#""ndp""#, r#""nscc""#]
    {
        for queue in ["lossless", "credit"] {
            let spec = format!(
                r#"{{"kind": "packet", "congestion": {congestion}, "queue": "{queue}",
                    "recovery": {{"kind": "trimming", "acknowledge-every": "8 KiB", "sleek": true}}}}"#
            );
            let (ends, report) =
                run(network(&spec, machine.clone()).as_mut(), machine.compute_nodes(), &messages);
            assert_eq!(count(&report, "network.retransmissions"), 0, "{spec}");
            // 98 packets of each, at 99 % of the rate
            let last = ends.iter().max().unwrap().as_ps() as f64;
            assert!(last < 1.02 * 16.0 * (400_000.0 + 98.0 * 64.0) * 80.0, "{spec}: {last}");
        }
    }
}

#[test]
fn headers_leave_data_its_turns_where_so_many_meet_that_they_would_fill_the_link() {
    // the headers of 127 senders that do not slow down are one and a half times what the last link carries
    let machine = fat_tree(8);
    let hosts = machine.compute_nodes().to_vec();
    let messages: Vec<_> = (1..hosts.len()).map(|from| (from, 0, 120_000)).collect();
    let least_s = 127.0 * 120_000.0 / 12.5e9;
    let last = |queue: &str| {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "constant-rate"}}, "recovery": {{"kind": "trimming"}},
                "queue": {{"kind": "trimming"{queue}}}}}"#
        );
        let mut network = network(&spec, machine.clone());
        for (token, &(from, to, bytes)) in (0..).zip(&messages) {
            let transfer = Transfer::new(Token(token), hosts[from], hosts[to], bytes);
            network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
        }
        let until = Time::from_ps((2e12 * least_s) as u64);
        let (mut done, mut now) = (Vec::new(), Time::ZERO);
        while now < until && done.len() < messages.len() {
            now = network.advance(until, &mut Cx { done: &mut done, observer: &mut Blind });
        }
        (done.len(), now.as_secs_f64() / least_s)
    };
    let (arrived, times) = last(r#", "headers-in-a-row": 10"#);
    assert!(arrived == messages.len() && times < 1.5, "{arrived} within {times} times the least");
    let (arrived, _) = last("");
    assert!(arrived < messages.len() / 2, "{arrived} of {} although headers go first", messages.len());
}

/// The preset takes htsim's variant, recovery, paths and sizes, and counts at the sender; what is given stays.
#[test]
fn the_preset_of_htsim_is_what_its_reference_cases_run() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts-per-leaf": 4, "bandwidth": "100 Gbps", "latency": "1 us"}"#,
    );
    let messages: Vec<_> = (0..6).map(|at| (at, 7, 250_000 + at as u64)).collect();
    let ends = |spec: &str| {
        let mut network = network(spec, machine.clone());
        run(network.as_mut(), machine.compute_nodes(), &messages).0
    };
    for (congestion, given) in [
        (
            "ndp",
            r#""congestion": {"kind": "ndp", "initial-packets": 50}, "entropy": {"kind": "permutation", "paths": 128},
               "packets": {"full-packets": true}"#,
        ),
        (
            "nscc",
            r#""congestion": {"kind": "nscc"}, "entropy": {"kind": "mixed"},
               "recovery": {"kind": "trimming", "acknowledge-every": "16 KiB"},
               "packets": {"payload-bytes": 4086, "header-bytes": 64, "control-bytes": 64, "count-headers": true}"#,
        ),
    ] {
        let by_hand = ends(&format!(r#"{{"kind": "packet", {given}, "completion": "sender"}}"#));
        let preset = ends(&format!(
            r#"{{"kind": "packet", "preset": "htsim", "congestion": {{"kind": "{congestion}"}}}}"#
        ));
        let published = ends(&format!(r#"{{"kind": "packet", "congestion": {{"kind": "{congestion}"}}}}"#));
        assert_eq!(preset, by_hand, "{congestion}");
        assert_ne!(preset, published, "{congestion}");
    }
    let kept = r#""congestion": {"kind": "ndp", "initial-packets": 7}"#;
    assert_ne!(
        ends(&format!(r#"{{"kind": "packet", "preset": "htsim", {kept}}}"#)),
        ends(r#"{"kind": "packet", "preset": "htsim", "congestion": {"kind": "ndp"}}"#)
    );
    let unknown = try_network(
        r#"{"kind": "packet", "preset": "htsim", "congestion": {"kind": "timely"}}"#,
        machine.clone(),
    );
    assert!(unknown.err().unwrap().to_string().contains("htsim has no `timely`; it has nscc, rccc"));
}
