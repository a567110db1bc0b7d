//! Hosts with several NICs: which of them messages leave by, and which they arrive at.

use crate::packets::{fat_tree, run};
use crate::support::{network, network_of_nics, topology};
use stratasim_core::model::{Cx, Network, NetworkDone, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::{Time, Token};
use stratasim_topo::Topology;

/// Four hosts at a switch, with so many cables each.
fn star(cables: u32) -> std::sync::Arc<Topology> {
    let link = |host| {
        format!(
            r#"{{"from": "h{host}", "to": "s", "bandwidth": "100 Gbps", "latency": "1 us", "parallel": {cables}}}"#
        )
    };
    let links: Vec<String> = (0..4).map(link).collect();
    topology(&format!(
        r#"{{"kind": "graph", "nodes": [{{"name": "h0"}}, {{"name": "h1"}}, {{"name": "h2"}}, {{"name": "h3"}},
            {{"name": "s", "kind": "switch"}}], "links": [{}]}}"#,
        links.join(",")
    ))
}

/// Hosts with a cable to each of two switches, which are joined by a third, by the names of their cables.
fn rails(spine: bool) -> std::sync::Arc<Topology> {
    let mut links: Vec<String> = (0..4)
        .flat_map(|host| ["a", "b"].map(|switch| (format!("h{host}"), switch.to_owned())))
        .map(|(from, to)| {
            format!(r#"{{"from": "{from}", "to": "{to}", "bandwidth": "100 Gbps", "latency": "1 us"}}"#)
        })
        .collect();
    let mut nodes: Vec<String> = (0..4).map(|host| format!(r#"{{"name": "h{host}"}}"#)).collect();
    nodes.extend(["a", "b", "c"].map(|name| format!(r#"{{"name": "{name}", "kind": "switch"}}"#)));
    if spine {
        // a pair of hosts at a and b, and another pair at d and e
        nodes.extend(["d", "e"].map(|name| format!(r#"{{"name": "{name}", "kind": "switch"}}"#)));
        for link in &mut links[4..] {
            *link = link.replace("\"to\": \"a\"", "\"to\": \"d\"").replace("\"to\": \"b\"", "\"to\": \"e\"");
        }
    }
    for switch in if spine { &["a", "b", "d", "e"][..] } else { &["a", "b"] } {
        links.push(format!(
            r#"{{"from": "{switch}", "to": "c", "bandwidth": "400 Gbps", "latency": "1 us"}}"#
        ));
    }
    topology(&format!(
        r#"{{"kind": "graph", "nodes": [{}], "links": [{}]}}"#,
        nodes.join(","),
        links.join(",")
    ))
}

/// Messages of 409,600 B by named NICs, all at once: when the last is complete, and the report.
fn named(
    network: &mut dyn Network,
    machine: &Topology,
    messages: &[(usize, usize, u16)],
) -> (Time, NetworkReport) {
    let hosts = machine.compute_nodes();
    for (token, &(from, to, nic)) in (0..).zip(messages) {
        let transfer = Transfer { nic, ..Transfer::new(Token(token), hosts[from], hosts[to], 409_600) };
        network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
    }
    let (mut done, mut now) = (Vec::new(), Time::ZERO);
    while network.next_event().is_some() {
        now = network.advance(crate::packets::LIMIT, &mut Cx { done: &mut done, observer: &mut Blind });
    }
    assert!(done.iter().all(|done| matches!(done, NetworkDone::Delivered(_))), "{:?}", network.failure());
    assert_eq!(done.len(), messages.len());
    (now, network.report(now))
}

/// 409,600 B in a hundred packets over two links of 100 Gbps and 1 us.
const ALONE_PS: u64 = 101 * 4160 * 80 + 2_000_000;

/// Windows that never close, on queues that hold all.
const PLAIN: &str = r#"{"kind": "packet", "congestion": {"kind": "fixed-window", "factor": 4.0},
    "recovery": {"kind": "trimming"}, "buffer": "10 MB", "balancing": {"kind": "per-flow"}}"#;

#[test]
fn named_nics_are_those_of_both_ends_whatever_the_seed() {
    for seed in 0..8 {
        let machine = star(2);
        let mut network = network_of_nics(PLAIN, machine.clone(), 2, seed);
        let (end, report) = named(network.as_mut(), &machine, &[(0, 1, 0), (0, 1, 1)]);
        assert_eq!(end.as_ps(), ALONE_PS, "seed {seed}");
        for (number, flow) in report.flows.iter().enumerate() {
            assert_eq!(flow.path.len(), 2, "{number}: the whole way is known, as one NIC is: {flow:?}");
        }
    }
}

#[test]
fn a_named_nic_is_found_behind_other_switches() {
    let machine = rails(true);
    let hosts = machine.compute_nodes();
    for nic in [0, 1] {
        let mut network = network_of_nics(PLAIN, machine.clone(), 2, 1);
        let messages: Vec<_> = (0..6).map(|_| (0, 3, nic)).collect();
        let (_, report) = named(network.as_mut(), &machine, &messages);
        let last = if nic == 0 { "d" } else { "e" };
        for flow in &report.flows {
            let link = machine.link(*flow.path.last().expect("a way"));
            let from = link.ends.expect("a cable")[0];
            assert_eq!((flow.dst, machine.node_name(from)), (hosts[3], last), "NIC {nic}: {flow:?}");
        }
    }
}

#[test]
fn hosts_take_their_nics_in_turn_where_none_is_named() {
    let messages: Vec<_> = (0..8).flat_map(|_| (0..4).map(|host| (host, (host + 1) % 4, 409_600))).collect();
    let last = |machine: &std::sync::Arc<Topology>| {
        let mut network = network(PLAIN, machine.clone());
        let (ends, _) = run(network.as_mut(), machine.compute_nodes(), &messages);
        ends.into_iter().max().expect("messages").as_ps()
    };
    let (one, two) = (last(&star(1)), last(&star(2)));
    // eight messages one after the other by one cable, and four by each of two
    let ideal = |messages: u64| (messages * 100 + 1) * 4160 * 80 + 2_000_000;
    assert!((ideal(8)..ideal(8) * 11 / 10).contains(&one), "{one} {}", ideal(8));
    assert!((ideal(4)..ideal(4) * 11 / 10).contains(&two), "{two} {}", ideal(4));
    // two switches that are far from each other: by each the NICs that are there
    let rails = last(&rails(false));
    assert!((ideal(4)..ideal(4) * 11 / 10).contains(&rails), "{rails} {}", ideal(4));
}

/// All of them have sent nothing before, and would otherwise all begin at the first NIC of the receiver.
#[test]
fn the_nics_of_a_receiver_take_turns_too() {
    let machine = star(2);
    let mut network = network(PLAIN, machine.clone());
    let (ends, _) = run(network.as_mut(), machine.compute_nodes(), &[(1, 0, 409_600), (2, 0, 409_600)]);
    assert_eq!(ends, [Time::from_ps(ALONE_PS); 2]);
}

#[test]
fn a_kept_connection_has_a_nic_for_good() {
    let machine = star(2);
    let spec = PLAIN.replace(r#""balancing""#, r#""connections": "per-pair", "balancing""#);
    let mut network = network(&spec, machine.clone());
    let messages = [(0, 1, 409_600), (0, 1, 409_600), (0, 2, 409_600), (0, 1, 409_600)];
    let (_, mut report) = run(network.as_mut(), machine.compute_nodes(), &messages);
    report.flows.sort_by_key(|flow| flow.dst);
    let ways: Vec<_> = report.flows.iter().map(|flow| &flow.path).collect();
    assert!(ways[0] == ways[1] && ways[1] == ways[2], "{ways:?}");
    assert_ne!(ways[0][0], ways[3][0], "another pair takes the other");
}

/// The cable that leads to a NIC is cut: its packets take the other one.
#[test]
fn a_dead_nic_is_gone_round() {
    for (machine, dead) in [(star(2), "s->h1"), (rails(true), "d->h2")] {
        let name = (0..machine.link_count())
            .map(|link| machine.link_name(stratasim_core::LinkId::from_index(link)))
            .find(|name| name.starts_with(dead))
            .expect("a cable");
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "dctcp"}}, "faults":
                {{"down": [{{"link": "{name}", "from": "5 us", "to": "100 ms"}}], "detection": "5 us"}}}}"#
        );
        let to = if dead.ends_with("h1") { 1 } else { 2 };
        let mut network = network_of_nics(&spec, machine.clone(), 2, 1);
        let (end, _) = named(network.as_mut(), &machine, &[(0, to, 0), (0, to, 1), (1 - to % 2, to, 0)]);
        assert!(end.as_ps() < 50_000_000_000, "{dead}: {end}");
    }
}

#[test]
fn several_nics_give_the_same_on_any_number_of_threads() {
    for machine in [star(3), rails(true), rails(false)] {
        for options in ["", r#", "connections": "per-pair""#, r#", "balancing": {"kind": "round-robin"}"#] {
            let messages: Vec<_> = (0..200)
                .map(|at| (at % 4, (at % 4 + 1 + at / 4 % 3) % 4, 10_000 + at as u64 * 997))
                .collect();
            let seen = |threads| {
                let spec = format!(r#"{{"kind": "packet", "threads": {threads}{options}}}"#);
                let mut network = network(&spec, machine.clone());
                format!("{:?}", run(network.as_mut(), machine.compute_nodes(), &messages))
            };
            let one = seen(1);
            for threads in [2, 3] {
                assert!(seen(threads) == one, "{options} on {threads} threads");
            }
        }
    }
}

/// Whoever names NICs changes nothing where hosts have one.
#[test]
fn hosts_with_one_nic_have_nothing_to_choose() {
    let machine = fat_tree(4);
    let messages: Vec<_> = (0..16).map(|from| (from, (from + 5) % 16, (from % 3) as u16)).collect();
    let seen = |nics| {
        let mut network = network_of_nics(r#"{"kind": "packet"}"#, machine.clone(), nics, 1);
        format!("{:?}", named(network.as_mut(), &machine, &messages))
    };
    assert_eq!(seen(1), seen(3));
}
