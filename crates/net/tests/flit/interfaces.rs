//! By which NICs messages of the flit level go, and by the routes that a topology gives.

use std::sync::Arc;

use crate::support::{network, network_of_nics, prepare, topology};
use stratasim_core::model::{Network, NetworkDone, Transfer};
use stratasim_core::{LinkId, Time, Token};
use stratasim_testkit::drive::drive_messages;
use stratasim_topo::Topology;

const SPEC: &str = r#"{"kind": "flit", "clock": "1 GHz"}"#;

/// A graph of hosts, whose names begin with `h`, and switches; links as `from to GB/s`, 10 ns long.
fn graph(nodes: &str, links: &[&str], rest: &str) -> Arc<Topology> {
    let node = |name: &str| {
        let kind = if name.starts_with('h') { "" } else { r#", "kind": "switch""# };
        format!(r#"{{"name": "{name}"{kind}}}"#)
    };
    let link = |link: &&str| {
        let [from, to, rate] = link.split(' ').collect::<Vec<_>>()[..] else { panic!("{link}") };
        format!(r#"{{"from": "{from}", "to": "{to}", "bandwidth": "{rate} GB/s", "latency": "10 ns"}}"#)
    };
    let nodes: Vec<String> = nodes.split(' ').map(node).collect();
    let links: Vec<String> = links.iter().map(link).collect();
    topology(&format!(
        r#"{{"kind": "graph", "nodes": [{}], "links": [{}]{rest}}}"#,
        nodes.join(","),
        links.join(",")
    ))
}

/// 320,000 B per message, all at once: nanoseconds until the last is there, and what links carried.
fn run(network: &mut dyn Network, machine: &Topology, messages: &[(usize, usize, u16)]) -> (u64, Vec<f64>) {
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (0..)
        .zip(messages)
        .map(|(token, &(from, to, nic))| {
            (Time::ZERO, Transfer { nic, ..Transfer::new(Token(token), hosts[from], hosts[to], 320_000) })
        })
        .collect();
    let log = drive_messages(network, &messages, None);
    assert!(log.iter().all(|(_, done)| matches!(done, NetworkDone::Delivered(_))), "{log:?}");
    let end = log.last().expect("messages").0;
    (end.as_ps() / 1000, network.report(end).link_bytes)
}

/// Bytes over the cables out of a node, by the nodes at their other ends.
fn sent(machine: &Topology, bytes: &[f64], from: &str) -> Vec<(String, f64)> {
    (0..machine.link_count())
        .filter_map(|link| {
            let [start, end] = machine.link(LinkId::from_index(link)).ends?;
            (machine.node_name(start) == from).then(|| (machine.node_name(end).to_owned(), bytes[link]))
        })
        .collect()
}

#[test]
fn messages_that_name_no_nic_take_those_on_shortest_ways_in_turn() {
    let links = ["h0 a 32", "h0 b 32", "h1 a 32", "h1 b 32"];
    let machine = graph("h0 h1 a b", &links, "");
    let messages: Vec<_> = (0..8).map(|_| (0, 1, 0)).collect();
    let (took, bytes) = run(network(SPEC, machine.clone()).as_mut(), &machine, &messages);
    let half = 4.0 * 320_000.0;
    assert_eq!(sent(&machine, &bytes, "h0"), [("a".to_owned(), half), ("b".to_owned(), half)]);
    assert!((40_000..42_500).contains(&took), "{took} ns for 80,000 flits over two cables");
    // where the workload names NICs, all of them leave by the one they name
    let (took, bytes) = run(network_of_nics(SPEC, machine.clone(), 2, 1).as_mut(), &machine, &messages);
    assert_eq!(sent(&machine, &bytes, "h0"), [("a".to_owned(), 2.0 * half), ("b".to_owned(), 0.0)]);
    assert!(took >= 80_000, "{took}");
}

#[test]
fn a_first_nic_with_a_long_way_is_left_alone() {
    // by a there are three routers on the way to h1, by b one; a receiver has one NIC
    let machine = graph("h0 h1 a b c", &["h0 a 32", "h0 b 32", "a c 32", "c b 32", "h1 b 32"], "");
    let messages: Vec<_> = (0..3).map(|_| (0, 1, 0)).collect();
    let (_, bytes) = run(network(SPEC, machine.clone()).as_mut(), &machine, &messages);
    assert_eq!(sent(&machine, &bytes, "h0"), [("a".to_owned(), 0.0), ("b".to_owned(), 960_000.0)]);
}

#[test]
fn routes_of_the_topology_are_taken() {
    let links = ["h0 a 32", "h1 b 32", "h2 c 32", "a b 1", "a c 32", "c b 32"];
    let routes = r#", "routes": [{"from": "h0", "to": "h1", "via": ["a", "c", "b"]}]"#;
    for (routes, least, most) in [(routes, 10_000, 11_000), ("", 320_000, 340_000)] {
        let machine = graph("h0 h1 h2 a b c", &links, routes);
        assert!(prepare(&machine, "{}").unwrap().notes.is_empty());
        let (took, bytes) = run(network(SPEC, machine.clone()).as_mut(), &machine, &[(0, 1, 0)]);
        assert!((least..most).contains(&took), "{took}");
        let by_c = if routes.is_empty() { 0.0 } else { 320_000.0 };
        assert!(sent(&machine, &bytes, "a").contains(&("c".to_owned(), by_c)));
    }
}

#[test]
fn routes_that_cannot_be_taken_are_told() {
    // h3 is a terminal with two NICs, and its route leaves by the second
    let links = ["h0 a 32", "h1 b 32", "a b 32", "h3 a 32", "h3 b 32"];
    let routes = r#", "routes": [{"from": "h3", "to": "h0", "via": ["b", "a"]}]"#;
    let machine = graph("h0 h1 h3 a b", &links, routes);
    let prepared = prepare(&machine, "{}").unwrap();
    let [note] = &prepared.notes[..] else { panic!("{:?}", prepared.notes) };
    assert!(
        note.starts_with("The routes of the topology do not count here") && note.contains("h3"),
        "{note}"
    );
    let mut network = network(SPEC, machine.clone());
    run(network.as_mut(), &machine, &[(0, 1, 0)]);
    assert_eq!(network.report(Time::ZERO).notes, prepared.notes);
}
