//! When switches begin to send: the closed form of cut-through switches, and what they share with others.

use crate::packets::{count, fat_tree, run};
use crate::support::{network, topology};
use stratasim_testkit::network_contract;

network_contract!(in_turn cut_through, |topology| network(
    r#"{"kind": "packet", "switching": "cut-through"}"#,
    topology
));
const ALONE: &str = r#""congestion": {"kind": "fixed-window", "factor": 20.0}, "recovery": {"kind": "trimming"},
    "buffer": "10 MB""#;

/// W p + (n - 1) H p + n d: behind the first link, only the header is waited for. Shorter packets do not catch up.
#[test]
fn a_message_alone_waits_for_headers_only() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    for (header, completion) in [(64, "receiver"), (64, "sender"), (200, "receiver")] {
        for (to, links) in [(1, 2), (2, 4), (15, 6)] {
            for bytes in [1_u64, 4096, 4097, 65_536, 1_000_000] {
                let spec = format!(
                    r#"{{"kind": "packet", "switching": "cut-through", "completion": "{completion}", {ALONE},
                        "packets": {{"header-bytes": {header}}}}}"#
                );
                let mut network = network(&spec, machine.clone());
                let least = network.least_duration(hosts[0], hosts[to], bytes);
                let (ends, report) = run(network.as_mut(), hosts, &[(0, to, bytes)]);
                let wire = bytes + header * bytes.div_ceil(4096);
                let forward = wire * 80 + (links - 1) * header * 80 + links * 1_000_000;
                // the acknowledgement is a header, and so as long as stored
                let back = if completion == "sender" { links * (64 * 80 + 1_000_000) } else { 0 };
                assert_eq!(ends[0].as_ps(), forward + back, "{bytes} B over {links} links");
                assert_eq!(least.as_ps(), forward + back);
                assert!(report.violations().is_empty(), "{:?}", report.violations());
            }
        }
    }
}

/// Stored and forwarded over links of unlike rates: the slowest sets the pace, and a short last packet waits for the one
/// before it.
#[test]
fn the_least_time_of_a_message_is_that_of_the_message_alone() {
    let machines =
        [(1, 100, 25), (1, 25, 100), (1, 40, 25), (2, 100, 25), (2, 100, 100), (2, 100, 400), (1, 100, 60)];
    let both = ["store-and-forward", "cut-through"].map(|switching| machines.map(|it| (it, switching)));
    for ((spines, hosts, uplinks), switching) in both.into_iter().flatten() {
        let machine = topology(&format!(
            r#"{{"kind": "leaf-spine", "leaves": 2, "spines": {spines}, "hosts-per-leaf": 2, "latency": "100 ns",
                "bandwidth": "{hosts} Gbps", "uplink-bandwidth": "{uplinks} Gbps"}}"#
        ));
        let nodes = machine.compute_nodes();
        for (balancing, exact) in [("per-flow", true), ("ecmp", true), ("round-robin", spines == 1)] {
            for (to, completion) in [(1, "receiver"), (3, "receiver"), (3, "sender")] {
                for bytes in [1_u64, 4096, 4097, 7758, 8193, 65_536, 100_001] {
                    let spec = format!(
                        r#"{{"kind": "packet", "completion": "{completion}", {ALONE},
                            "switching": "{switching}", "balancing": {{"kind": "{balancing}"}}}}"#
                    );
                    let mut network = network(&spec, machine.clone());
                    let least = network.least_duration(nodes[0], nodes[to], bytes).as_ps();
                    let (ends, _) = run(network.as_mut(), nodes, &[(0, to, bytes)]);
                    let (took, what) =
                        (ends[0].as_ps(), format!("{spec} {hosts} {uplinks} {spines}: {bytes} B"));
                    if exact {
                        // the last acknowledgement may wait for the one before it
                        let waits =
                            if completion == "sender" { 64 * 8 * 1000 / hosts.min(uplinks) } else { 0 };
                        assert!((least..=least + waits).contains(&took), "{least} {took} {what}");
                    } else {
                        assert!((least..least * 2).contains(&took), "{least} {took} {what}");
                    }
                }
            }
        }
    }
}

/// Hosts at 100 Gbps, four times as much between switches: the first of them stores, the others do not.
#[test]
fn a_packet_is_stored_before_a_faster_link_and_cut_through_before_a_slower_one() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts-per-leaf": 2, "bandwidth": "100 Gbps",
            "uplink-bandwidth": "400 Gbps", "latency": "1 us"}"#,
    );
    let spec = format!(r#"{{"kind": "packet", "switching": "cut-through", {ALONE}}}"#);
    let mut network = network(&spec, machine.clone());
    let hosts = machine.compute_nodes();
    let least = network.least_duration(hosts[0], hosts[3], 4096);
    let (ends, _) = run(network.as_mut(), hosts, &[(0, 3, 4096)]);
    // all of it on the first link and on the last, a header on those between
    assert_eq!(ends[0].as_ps(), 4160 * 80 + 64 * 20 + 64 * 20 + 4160 * 80 + 4_000_000);
    assert_eq!(least.as_ps(), ends[0].as_ps());
}

/// A short last packet is stored where its header comes while the one before it still leaves. Another message that holds it up before
/// lets its header come when the link is free, and the message is 4.93 ns faster than alone: what nothing beats is less than that.
#[test]
fn a_message_that_is_held_up_may_beat_itself_alone() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 2, "bandwidth": "400 Gbps",
            "uplink-bandwidth": "800 Gbps", "latency": "1 us"}"#,
    );
    let hosts = machine.compute_nodes();
    let spec = format!(
        r#"{{"kind": "packet", "switching": "cut-through", "balancing": {{"kind": "per-flow"}}, {ALONE}}}"#
    );
    let took = |messages: &[(usize, usize, u64)]| {
        let (ends, report) = run(network(&spec, machine.clone()).as_mut(), hosts, messages);
        assert_eq!(report.violations(), Vec::<&str>::new());
        ends[0].as_ps()
    };
    let alone = took(&[(0, 2, 4096 + 2895)]);
    // the first packet, then the last one: on the first link, from bit to bit on the second, and on the last
    assert_eq!(alone, 4160 * 20 + 2959 * 20 + 2959 * 10 + 64 * 10 + 2959 * 20 + 4_000_000);
    let beside = took(&[(0, 2, 4096 + 2895), (1, 3, 4096 + 2895)]);
    // two first packets share the second link, which sends a header on at once; the last packet follows the first of its own
    assert_eq!(beside, 4160 * 20 + 2 * 64 * 10 + 4160 * 20 + 2959 * 20 + 4_000_000);
    assert_eq!(alone - beside, 4930);
}

/// Sixteen ways between two pods; a sender that counts uses each as often, to the packet.
#[test]
fn a_sender_that_numbers_its_ways_uses_each_as_often() {
    let machine = fat_tree(8);
    let hosts = machine.compute_nodes();
    let spec = r#"{"kind": "packet", "balancing": {"kind": "source"}, "entropy": {"kind": "round-robin", "paths": 16},
        "congestion": {"kind": "fixed-window", "factor": 20.0}, "recovery": {"kind": "rltp"}, "buffer": "10 MB"}"#;
    let (_, report) = run(network(spec, machine.clone()).as_mut(), hosts, &[(0, 127, 4096 * 160)]);
    let of_packets = |packets: f64| {
        let bytes = packets * 4160.0;
        report.link_bytes.iter().filter(|&&carried| (carried - bytes).abs() < 1.0).count()
    };
    // up from the edge and down to it, four links with a quarter each; between pods, sixteen up and sixteen down
    assert_eq!((of_packets(160.0), of_packets(40.0), of_packets(10.0)), (2, 8, 32));
    assert!(report.violations().is_empty(), "{:?}", report.violations());
}

/// An incast: whatever waits is stored, so that the bottleneck is as busy as ever, and nobody is later than with stores.
#[test]
fn contention_costs_cut_through_no_more_than_storing() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..16).map(|from| (from, 0, 200_000)).collect();
    let ideal = 15.0 * f64::from(200_000 + 49 * 64) * 80.0;
    for queue in [
        r#"{"kind": "trimming"}"#,
        r#"{"kind": "drop-tail"}"#,
        r#"{"kind": "lossless"}"#,
        r#"{"kind": "trimming"}, "buffer-sharing": {"alpha": 1.0}"#,
    ] {
        let last = |switching: &str| {
            let spec = format!(r#"{{"kind": "packet", "switching": "{switching}", "queue": {queue}}}"#);
            let (ends, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
            assert!(report.violations().is_empty(), "{:?}", report.violations());
            assert_eq!(count(&report, "network.messages"), 15);
            ends.iter().max().expect("messages").as_ps() as f64
        };
        let (stored, cut) = (last("store-and-forward"), last("cut-through"));
        assert!(cut >= ideal && cut <= 1.1 * stored, "{queue}: {cut}, stored {stored}");
    }
}

/// What goes wrong on links does so for packets that are cut through, too.
#[test]
fn cut_through_packets_are_lost_doubled_and_held_up_as_others() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (0..16).map(|from| (from, (from + 5) % 16, 200_000)).collect();
    let name = machine.link_name(machine.ports(hosts[0])[0].link);
    let spec = format!(
        r#"{{"kind": "packet", "switching": "cut-through", "loss": {{"probability": 0.01}},
            "faults": {{"corruption": {{"probability": 0.01}}, "duplication": {{"probability": 0.02}},
                "reordering": {{"probability": 0.05, "delay": "20 us"}},
                "down": [{{"link": "{name}", "from": "3 us", "to": "10 us"}}]}}}}"#
    );
    let (ends, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
    assert!(report.violations().is_empty(), "{:?}", report.violations());
    for name in ["lost_on_links", "lost_on_down_links", "discarded", "duplicated", "reordered"] {
        assert!(count(&report, &format!("network.{name}")) > 0, "nothing {name}");
    }
    assert_eq!(ends, run(network(&spec, machine.clone()).as_mut(), hosts, &messages).0);
}

/// Two cables from every host to the switch: a message goes by one of them at each end, and its last packet overtakes nobody.
#[test]
fn the_least_time_knows_that_a_message_lands_at_one_nic() {
    let cable = |host: &str| {
        format!(
            r#"{{"from": "{host}", "to": "s", "bandwidth": "100 Gbps", "latency": "1 us", "parallel": 2}}"#
        )
    };
    let machine = topology(&format!(
        r#"{{"kind": "graph", "nodes": [{{"name": "a"}}, {{"name": "b"}}, {{"name": "s", "kind": "switch"}}],
            "links": [{}, {}]}}"#,
        cable("a"),
        cable("b")
    ));
    let hosts = machine.compute_nodes();
    for (balancing, bytes) in [("ecmp", 5661), ("random", 5661), ("round-robin", 100_001)] {
        let spec = format!(r#"{{"kind": "packet", {ALONE}, "balancing": {{"kind": "{balancing}"}}}}"#);
        let mut network = network(&spec, machine.clone());
        let least = network.least_duration(hosts[0], hosts[1], bytes);
        let (ends, _) = run(network.as_mut(), hosts, &[(0, 1, bytes)]);
        assert_eq!(ends[0].as_ps(), least.as_ps(), "{balancing}, {bytes} B");
    }
}

/// Without headers, a packet can go on in the instant in which the last bit of the one before it comes.
#[test]
fn packets_without_headers_stay_in_order() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 2, "bandwidth": "50 Gbps",
            "uplink-bandwidth": "25 Gbps", "latency": "10 ns"}"#,
    );
    let spec = r#"{"kind": "packet", "switching": "cut-through", "congestion": {"kind": "fixed-window", "factor": 20.0},
                   "recovery": {"kind": "go-back-n"}, "packets": {"header-bytes": 0, "payload-bytes": 511}}"#;
    let mut network = network(spec, machine.clone());
    let (_, report) = run(network.as_mut(), machine.compute_nodes(), &[(0, 3, 9 * 511)]);
    assert_eq!(count(&report, "network.retransmissions"), 0);
}
