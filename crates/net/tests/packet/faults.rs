//! Faults of links: what vanishes, is changed, doubled, held up, and what happens while a link is down.

use crate::packets::{count, fat_tree, run};
use crate::support::{network, topology};
use stratasim_core::model::{Cx, NetworkDone, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::{Time, Token};

/// A transport of each recovery and kind of congestion control, on queues that fit. Time-outs of 67 ms would add up to seconds.
const TRANSPORTS: [&str; 11] = [
    r#""congestion": {"kind": "nscc"}"#,
    r#""congestion": {"kind": "ndp"}"#,
    r#""congestion": {"kind": "eqds"}"#,
    r#""congestion": {"kind": "rccc"}"#,
    r#""congestion": {"kind": "mprdma"}"#,
    r#""congestion": {"kind": "swift"}, "queue": {"kind": "drop-tail"}"#,
    r#""congestion": {"kind": "dctcp"}"#,
    r#""congestion": {"kind": "dcqcn"}, "recovery": {"kind": "go-back-n", "timeout": "1 ms"}"#,
    r#""congestion": {"kind": "hpcc"}, "recovery": {"kind": "go-back-n", "timeout": "1 ms"}"#,
    r#""congestion": {"kind": "fixed-window"}, "recovery": {"kind": "irn"}"#,
    r#""congestion": {"kind": "fixed-window"}, "recovery": {"kind": "rltp"}"#,
];

/// `run` checks that each message comes once; the report that packets add up.
#[test]
fn every_message_arrives_whatever_is_lost_changed_doubled_held_up_or_down() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (0..16).map(|from| (from, (from + 5) % 16, 100_000)).collect();
    let out = machine.ports(hosts[0])[0];
    let back = machine.ports(out.to).iter().find(|port| port.to == hosts[0]).expect("a way back");
    let [out, back] = [out.link, back.link].map(|link| machine.link_name(link));
    let all = format!(
        r#""loss": {{"probability": 0.01, "burst": 3.0}},
        "faults": {{"corruption": {{"probability": 0.01}}, "duplication": {{"probability": 0.02}},
            "reordering": {{"probability": 0.05, "delay": "20 us"}},
            "down": [{{"link": ["{out}", "{back}"], "from": "15 us", "to": "40 us"}}]}}"#
    );
    for transport in TRANSPORTS {
        let spec = format!(r#"{{"kind": "packet", {transport}, {all}}}"#);
        let (ends, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
        assert!(report.violations().is_empty(), "{transport}: {:?}", report.violations());
        let names = ["lost_on_links", "lost_on_down_links", "corrupted", "duplicated", "reordered"];
        for name in names {
            assert!(count(&report, &format!("network.{name}")) > 0, "{transport}: nothing {name}");
        }
        // each that was changed is thrown away at most once, and so is each copy
        let [discarded, corrupted, copies] =
            ["discarded", "corrupted", "duplicated"].map(|name| count(&report, &format!("network.{name}")));
        assert!(discarded > 0 && discarded <= corrupted + copies, "{report:?}");
        let (again, _) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
        assert_eq!(ends, again, "{transport}");
    }
}

/// Links have losses of their own, with good and bad times in which both lose some.
#[test]
fn links_lose_what_their_states_say_and_others_what_all_do() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let out = machine.link_name(machine.ports(hosts[0])[0].link);
    let states = r#"{"to-bad": 0.02, "to-good": 0.1, "loss-bad": 0.6, "loss-good": 0.05}"#;
    let share = (0.02 * 0.6 + 0.1 * 0.05) / 0.12;
    let lost = |faults: &str| {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "fixed-window"}}, "recovery": {{"kind": "rltp"}},
                 "queue": {{"kind": "drop-tail"}}, {faults}}}"#
        );
        let (_, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &[(0, 5, 30_000_000)]);
        assert!(report.violations().is_empty(), "{:?}", report.violations());
        let [lost, sent] =
            ["lost_on_links", "data_packets"].map(|name| count(&report, &format!("network.{name}")));
        lost as f64 / sent as f64
    };
    let own = format!(
        r#""faults": {{"loss": [{{"probability": 0.5, "links": ["{out}"]}}, {{"states": {states}, "links": ["{out}"]}}]}}"#
    );
    let found = lost(&own);
    assert!((found / share - 1.0).abs() < 0.12, "{found} of {share}");
    // five links more there, and six for each acknowledgement
    let both = lost(&format!(r#""loss": {{"probability": 0.001}}, {own}"#));
    assert!(both > found && both < found + 0.02, "{both}, {found}");
    assert!(lost(r#""loss": {"probability": 0.0}"#) == 0.0);
}

/// Of all hops, as many as asked, within five standard errors; and only on the links that are named.
#[test]
fn faults_are_as_frequent_as_asked_and_where_they_were_asked_for() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (0..16).map(|from| (from, (from + 9) % 16, 400_000)).collect();
    let name = machine.link_name(machine.ports(hosts[3])[0].link);
    for (fault, counter, extra) in [
        ("corruption", "network.corrupted", ""),
        ("duplication", "network.duplicated", ""),
        ("reordering", "network.reordered", r#", "delay": "3 us""#),
    ] {
        let of = |links: &str| {
            let spec = format!(
                r#"{{"kind": "packet", "faults": {{"{fault}": {{"probability": 0.02{extra}{links}}}}}}}"#
            );
            let (_, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
            assert!(report.violations().is_empty(), "{fault}: {:?}", report.violations());
            let bytes = report.link_bytes[machine.ports(hosts[3])[0].link.index()];
            (count(&report, counter) as f64, count(&report, "network.packet_hops") as f64, bytes)
        };
        let (happened, hops, _) = of("");
        // what has been changed is not changed again: a packet makes up to six hops
        let least = if fault == "corruption" { 0.94 } else { 1.0 };
        let noise = 5.0 * (0.02 * hops).sqrt();
        assert!(
            happened > least * 0.02 * hops - noise && happened < 0.02 * hops + noise,
            "{fault}: {happened}"
        );
        let (happened, _, bytes) = of(&format!(r#", "links": ["{name}"]"#));
        // about a hundred packets of data, and no more acknowledgements than would fit
        assert!(happened > 0.0 && happened < 0.1 * bytes / 64.0, "{fault}: {happened} of {bytes} B");
    }
}

/// A host sends without a pause; its link fails. Every packet that was on it at any time of the outage is gone, and no other.
#[test]
fn what_is_on_a_link_that_fails_vanishes_and_nothing_else() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let name = machine.link_name(machine.ports(hosts[0])[0].link);
    for (from, to) in [(10_000, 20_000), (0, 1_000), (33_280, 33_281)] {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "fixed-window", "factor": 100.0}},
                "recovery": {{"kind": "rltp"}}, "buffer": "10 MB",
                "faults": {{"down": [{{"link": "{name}", "from": "{from} ns", "to": "{to} ns"}}]}}}}"#
        );
        let (_, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &[(0, 1, 4096 * 250)]);
        // packet i is on the link from 332.8 i to 332.8 (i + 1) + 1000 ns; what is sent again takes the next place
        let lost = (0..250_u64).filter(|i| 3328 * i < 10 * to && 3328 * (i + 1) + 10_000 > 10 * from).count();
        assert_eq!(count(&report, "network.lost_on_down_links"), lost as u64, "{from} to {to}");
        assert_eq!(count(&report, "network.data_packets"), 250 + lost as u64);
        assert!(report.violations().is_empty(), "{:?}", report.violations());
    }
}

/// Two leaves, four spines; the first spine's cable to one of them is down from the beginning.
#[test]
fn ways_over_a_dead_link_are_left_once_it_is_known_and_used_again_after_repair() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts-per-leaf": 4, "bandwidth": "100 Gbps", "latency": "500 ns"}"#,
    );
    let hosts = machine.compute_nodes();
    let leaves = [0, 4].map(|host| machine.ports(hosts[host])[0].to);
    let up = *machine.ports(leaves[0]).iter().find(|port| !hosts.contains(&port.to)).expect("a spine");
    let down = *machine.ports(up.to).iter().find(|port| port.to == leaves[1]).expect("the other leaf");
    // the leaf's own link, and one behind it that only the spine sees fail
    for link in [up.link, down.link] {
        let name = machine.link_name(link);
        for balancing in ["ecmp", "per-flow", "round-robin", "random", "least-queue", "flowlets"] {
            let faults = |rest: &str| {
                let spec = format!(
                    r#"{{"kind": "packet", "balancing": {{"kind": "{balancing}"}},
                        "faults": {{"down": [{{"link": "{name}", "from": "0 s"{rest}}}}}"#
                );
                network(&spec, machine.clone())
            };
            let messages: Vec<_> = (0..4).map(|from| (from, 4 + from, 300_000)).collect();
            let mut known = faults(r#"}], "detection": "0 s""#);
            let (_, report) = run(known.as_mut(), hosts, &messages);
            assert_eq!(count(&report, "network.lost_on_down_links"), 0, "{balancing}, {name}");
            assert_eq!(report.link_bytes[link.index()], 0.0);
            assert!(report.violations().is_empty(), "{:?}", report.violations());
            // these stay where they are
            if ["per-flow", "flowlets"].contains(&balancing) {
                continue;
            }
            let mut unknown = faults(r#", "to": "30 us"}], "detection": "30 us""#);
            let (_, report) = run(unknown.as_mut(), hosts, &messages);
            assert!(count(&report, "network.lost_on_down_links") > 0, "{balancing}, {name}");
            assert!(report.violations().is_empty(), "{:?}", report.violations());
            let mut repaired = faults(r#", "to": "5 us"}], "detection": "0 s""#);
            let (_, report) = run(repaired.as_mut(), hosts, &messages);
            assert_eq!(count(&report, "network.lost_on_down_links"), 0, "{balancing}, {name}");
            assert!(report.link_bytes[link.index()] > 20_000.0, "{balancing}, {name}");
        }
    }
}

#[test]
fn a_message_whose_only_link_is_never_repaired_fails_with_a_reason() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let name = machine.link_name(machine.ports(hosts[0])[0].link);
    let spec = format!(
        r#"{{"kind": "packet", "congestion": {{"kind": "fixed-window"}}, "recovery": {{"kind": "none"}},
            "queue": {{"kind": "drop-tail"}}, "faults": {{"down": [{{"link": "{name}", "from": "1 us"}}]}}}}"#
    );
    let mut network = network(&spec, machine.clone());
    network
        .submit(Time::ZERO, NetworkRequest::Transfer(Transfer::new(Token(0), hosts[0], hosts[9], 100_000)));
    let mut done = Vec::new();
    while network.next_event().is_some() {
        network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut Blind });
    }
    assert_eq!(done, [NetworkDone::Failed(Token(0))]);
    let (_, reason) = network.failure().expect("a reason");
    assert!(reason.contains("does not recover"), "{reason}");
}

/// A burst ends with packets and not with time: probes, each alone on a silent link, are lost one after the other.
#[test]
fn a_transport_that_gives_up_names_what_may_help() {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 2, "bandwidth": "100 Gbps", "latency": "1 us"}"#);
    let hosts = machine.compute_nodes();
    let failure = |probes: u32| {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "fixed-window"}},
                "recovery": {{"kind": "rltp", "max-probes": {probes}}}, "loss": {{"probability": 0.05, "burst": 5.0}}}}"#
        );
        let mut network = network(&spec, machine.clone());
        let transfer = Transfer::new(Token(0), hosts[0], hosts[1], 10_000_000);
        network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
        let mut done = Vec::new();
        while network.next_event().is_some() {
            network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut Blind });
        }
        network.failure().map(|(_, reason)| reason)
    };
    let reason = failure(2).expect("two probes are few");
    assert!(reason.contains("gave up") && reason.contains("`max-probes`"), "{reason}");
    assert_eq!(failure(64), None, "and that helps");
}

#[test]
fn faults_that_make_no_sense_are_refused_with_their_place() {
    let machine = fat_tree(4);
    let name = machine.link_name(machine.ports(machine.compute_nodes()[0])[0].link);
    for (faults, words) in [
        (r#""corruption": {"probability": 1.0}"#, ["faults.corruption.probability", "below 1"]),
        (r#""duplication": {"probability": -0.5}"#, ["faults.duplication.probability", "at least 0"]),
        (r#""reordering": {"probability": 0.5, "delay": "0 s"}"#, ["faults.reordering.delay", "overtaken"]),
        (
            r#""corruption": {"probability": 0.5, "links": ["nowhere"]}"#,
            ["faults.corruption.links.0", "`nowhere`"],
        ),
        (
            r#""corruption": {"probability": 0.1, "links": []}"#,
            ["faults.corruption.links", "leave `links` out"],
        ),
        (
            r#""duplication": {"probability": 0.1, "links": []}"#,
            ["faults.duplication.links", "leave `links` out"],
        ),
        (
            r#""reordering": {"probability": 0.1, "delay": "1 us", "links": []}"#,
            ["faults.reordering.links", "leave `links` out"],
        ),
        (
            r#""loss": [{"probability": 0.1, "states": {"to-bad": 0.1, "to-good": 0.1}}]"#,
            ["faults.loss.0.probability", "one of the two"],
        ),
        (r#""loss": [{"links": ["nowhere"]}]"#, ["faults.loss.0", "`states` is expected"]),
        (
            r#""loss": [{"states": {"to-bad": 0.0, "to-good": 0.1}}]"#,
            ["faults.loss.0.states.to-bad", "above 0"],
        ),
        (
            r#""loss": [{"states": {"to-bad": 0.1, "to-good": 0.1, "loss-good": 1.0}}]"#,
            ["states.loss-good", "below 1"],
        ),
        (
            r#""loss": [{"burst": 2.0, "states": {"to-bad": 0.1, "to-good": 0.1}}]"#,
            ["faults.loss.0.burst", "`probability`"],
        ),
        (
            r#""loss": [{"burst": 2.0, "probability": 0.9}]"#,
            ["faults.loss.0.burst: 2 packets", "more than 9 are needed where 0.9"],
        ),
        (
            r#""loss": [{"burst": 0.5, "probability": 0.1}]"#,
            ["faults.loss.0.burst: 0.5 packets", "at least 1 are needed"],
        ),
        (r#"}, "loss": {"probability": 0.1, "links": []"#, ["loss.links", "leave `links` out"]),
        (r#""down": [{"link": [], "from": "1 us"}]"#, ["faults.down.0.link", "no link is named"]),
        (
            r#""down": [{"link": "NAME", "from": "3 us", "to": "2 us"}]"#,
            ["faults.down.0.to", "fails at 3 us"],
        ),
    ] {
        let spec = format!(r#"{{"kind": "packet", "faults": {{{}}}}}"#, faults.replace("NAME", &name));
        let error = crate::support::try_network(&spec, machine.clone()).err().expect("it must be refused");
        let said = format!("{}: {}", error.field, error.reason);
        assert!(words.iter().all(|word| said.contains(word)), "{faults}: {said}");
    }
}
