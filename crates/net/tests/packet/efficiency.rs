//! Transports that take what the links need and not much more, whatever the rates and the delays: of machines on which what
//! one end knows of the way would not do for the other, and on which ways are as short as they can be.

use crate::packets::{count, run};
use crate::support::{network, topology};

/// When the last of these messages is complete, microseconds, and how many packets timed out.
fn takes(machine: &str, options: &str, messages: &[(usize, usize, u64)]) -> (f64, u64) {
    let machine = topology(machine);
    let mut network = network(&format!(r#"{{"kind": "packet", {options}}}"#), machine.clone());
    let (ends, report) = run(&mut *network, machine.compute_nodes(), messages);
    assert_eq!(report.violations(), Vec::<&str>::new());
    let last = ends.into_iter().max().expect("messages");
    (last.as_secs_f64() * 1e6, count(&report, "network.timeouts"))
}

/// Hosts at one switch with links of these rates.
fn star(gbps: &[u32], latency: &str) -> String {
    let nodes = (0..gbps.len()).map(|host| format!(r#"{{"name": "h{host}"}}"#));
    let links = gbps.iter().enumerate().map(|(host, gbps)| {
        format!(r#"{{"from": "h{host}", "to": "s", "bandwidth": "{gbps} Gbps", "latency": "{latency}"}}"#)
    });
    let [nodes, links] = [nodes.collect::<Vec<_>>(), links.collect()].map(|all| all.join(", "));
    format!(
        r#"{{"kind": "graph", "nodes": [{nodes}, {{"name": "s", "kind": "switch"}}], "links": [{links}]}}"#
    )
}

#[test]
fn credit_comes_at_the_pace_of_the_receivers_link() {
    let machine = star(&[100, 10, 10, 10, 10, 10, 10, 10, 10], "1 us");
    let messages: Vec<_> = (1..9).map(|from| (from, 0, 1_000_000)).collect();
    for kind in ["ndp", "eqds", "rccc"] {
        let options = format!(r#""congestion": {{"kind": "{kind}"}}"#);
        let (us, _) = takes(&machine, &options, &messages);
        // each sender's link is full for 813 us
        assert!(us < 830.0, "{kind}: {us} us");
    }
}

#[test]
fn senders_are_not_faster_than_slow_receivers_let_them_be() {
    for (rates, latency, bytes, kinds) in [
        ([800, 10], "10 ns", 50_000, &["ndp", "eqds"][..]),
        ([800, 1], "1 us", 3_000_000, &["ndp", "eqds", "nscc"]),
        ([400, 25], "500 ns", 10_000_000, &["ndp", "eqds", "nscc"]),
    ] {
        let machine = star(&rates, latency);
        let ideal_us = bytes as f64 * 8.0 / f64::from(rates[1]) / 1e3 * (4160.0 / 4096.0);
        for kind in kinds {
            let options = format!(r#""congestion": {{"kind": "{kind}"}}"#);
            let (us, timeouts) = takes(&machine, &options, &[(0, 1, bytes)]);
            assert!(
                us < 1.15 * ideal_us,
                "{kind} at {rates:?} Gbps: {us} us for {ideal_us}, {timeouts} time-outs"
            );
        }
    }
}

#[test]
fn a_connection_that_is_kept_has_credit_for_all_of_its_messages() {
    let machine = star(&[100, 100], "1 us");
    for kind in ["ndp", "eqds", "rccc", "nscc"] {
        let options = format!(r#""connections": "per-pair", "congestion": {{"kind": "{kind}"}}"#);
        let (us, _) = takes(&machine, &options, &[(0, 1, 1), (0, 1, 10_000_000)]);
        assert!(us < 830.0, "{kind}: {us} us");
    }
}

#[test]
fn who_is_alone_fills_short_links() {
    let apart = |gbps: u32, latency: &str| {
        format!(
            r#"{{"kind": "fully-connected", "nodes": 2, "bandwidth": "{gbps} Gbps", "latency": "{latency}"}}"#
        )
    };
    for (machine, gbps) in [
        (star(&[100, 100], "200 ns"), 100.0),
        (star(&[100, 100], "0 ns"), 100.0),
        (star(&[10, 10], "100 ns"), 10.0),
        (apart(100, "50 ns"), 100.0),
        (apart(400, "150 ns"), 400.0),
        // acknowledgements wait for as long as 16 KiB take
        (apart(1, "200 us"), 1.0),
    ] {
        let bytes = 10_000_000;
        let ideal_us = bytes as f64 * 8.0 / gbps / 1e3 * (4160.0 / 4096.0);
        let (us, timeouts) = takes(&machine, r#""congestion": {"kind": "nscc"}"#, &[(0, 1, bytes)]);
        assert!(us < 1.03 * ideal_us + 5.0, "{machine}: {us} us for {ideal_us}");
        assert_eq!(timeouts, 0, "{machine}");
    }
}

#[test]
fn a_short_neighbour_does_not_slow_a_long_message_down_for_good() {
    let machine = star(&[100, 100, 100], "10 ns");
    let (us, _) =
        takes(&machine, r#""congestion": {"kind": "nscc"}"#, &[(0, 1, 10_000_000), (2, 1, 100_000)]);
    // both share the link for 821 us
    assert!(us < 1.1 * 821.0, "{us} us");
}

#[test]
fn nobody_waits_for_a_time_out_at_the_end() {
    let machine = r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 2, "bandwidth": "800 Gbps", "latency": "10 ns"}"#;
    let messages: Vec<_> = (0..4)
        .flat_map(|from| (0..4).filter(move |to| *to != from).map(move |to| (from, to, 49_152)))
        .collect();
    let (us, timeouts) = takes(machine, r#""congestion": {"kind": "nscc"}"#, &messages);
    assert!(us < 5.0 && timeouts == 0, "{us} us, {timeouts} time-outs");
}

#[test]
fn planes_are_not_joined_by_their_hosts() {
    let hosts = [0, 1, 2];
    let nodes = hosts.map(|host| format!(r#"{{"name": "h{host}"}}"#)).join(", ");
    let links = hosts.iter().flat_map(|host| {
        [0, 1].map(|plane| {
            format!(r#"{{"from": "h{host}", "to": "s{plane}", "bandwidth": "100 Gbps", "latency": "5 us"}}"#)
        })
    });
    let links: Vec<_> = links.collect();
    let machine = format!(
        r#"{{"kind": "graph", "nodes": [{nodes}, {{"name": "s0", "kind": "switch"}}, {{"name": "s1", "kind": "switch"}}],
            "links": [{}]}}"#,
        links.join(", ")
    );
    for kind in ["fixed-window", "nscc", "ndp"] {
        let options = format!(r#""congestion": {{"kind": "{kind}"}}"#);
        let messages: Vec<_> =
            (0..3).flat_map(|from| [(from, (from + 1) % 3, 100), (from, (from + 2) % 3, 100)]).collect();
        let (us, _) = takes(&machine, &options, &messages);
        assert!(us < 10.1, "{kind}: {us} us, two links take 10");
    }
}

/// The middle one of three hosts takes from the first, and sends to the last as fast as its link goes: where all wait in one
/// line, acknowledgements and credit do not wait for a packet of its own each.
#[test]
fn who_sends_answers_what_it_is_sent_in_time() {
    const BYTES: u64 = 4_000_000;
    let machine = star(&[400, 400, 400], "100 ns");
    // 977 packets with headers, and an acknowledgement and a pull for each
    let ideal_us = 977.0 * (4160.0 + 2.0 * 64.0) * 8.0 / 400e3;
    for kind in ["eqds", "rccc", "ndp", "nscc"] {
        for queue in ["lossless", "credit", "drop-tail"] {
            let options = format!(
                r#""congestion": {{"kind": "{kind}"}}, "queue": {{"kind": "{queue}", "control-first": false}}"#
            );
            let (us, timeouts) = takes(&machine, &options, &[(0, 1, BYTES), (1, 2, BYTES)]);
            assert_eq!(timeouts, 0, "{kind}, {queue}");
            assert!(us < 1.05 * ideal_us, "{kind}, {queue}: {us} us for {ideal_us}");
        }
    }
}
