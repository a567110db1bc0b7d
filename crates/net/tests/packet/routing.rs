//! Packets on the ways that `[routing]` gives.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::packets::{fat_tree, run};
use crate::support::{DEFAULT, routes, topology, try_routed};
use stratasim_core::model::{Cx, Network, NetworkDone, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::{LinkId, NodeId, Time, Token};
use stratasim_topo::Topology;

/// A network of packets and its routing; `options` of the one, and the other.
fn routed(options: &str, machine: &Arc<Topology>, routing: &str) -> Box<dyn Network> {
    let spec = format!(r#"{{"kind": "packet"{options}}}"#);
    try_routed(&spec, machine.clone(), routing).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

/// Why a network is refused.
fn refused(options: &str, machine: &Arc<Topology>, routing: &str) -> String {
    let spec = format!(r#"{{"kind": "packet"{options}}}"#);
    try_routed(&spec, machine.clone(), routing).err().expect("it does not fit").to_string()
}

/// Every third host sends to every fifth.
fn messages(hosts: usize) -> Vec<(usize, usize, u64)> {
    let pairs = (0..hosts).step_by(3).flat_map(|from| (0..hosts).step_by(5).map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, 20_000)).collect()
}

/// The links that a routing gives a flow.
fn way(routing: &str, machine: &Arc<Topology>, from: NodeId, to: NodeId, key: u64) -> Vec<LinkId> {
    let mut links = Vec::new();
    routes(routing, machine).route(from, to, key, &mut links).expect("a way");
    links
}

/// Data and acknowledgements take the ways of the routing, and no other link carries anything.
fn follows(machine: &Arc<Topology>, options: &str, routing: &str) {
    let hosts = machine.compute_nodes();
    let messages = messages(hosts.len());
    let (_, report) = run(&mut *routed(options, machine, routing), hosts, &messages);
    assert_eq!(report.violations(), Vec::<&str>::new());
    let mut carried = vec![0.0; machine.link_count()];
    let mut used = BTreeSet::new();
    for (key, &(from, to, bytes)) in (0..).zip(&messages) {
        let [from, to] = [hosts[from], hosts[to]];
        let there = way(routing, machine, from, to, key);
        there.iter().for_each(|link| carried[link.index()] += bytes as f64);
        let flows = report.flows.iter().filter(|flow| (flow.src, flow.dst) == (from, to));
        let paths: Vec<_> = flows.map(|flow| flow.path.to_vec()).collect();
        assert_eq!(paths, vec![there.clone()], "{routing}");
        used.extend(there);
        used.extend(way(routing, machine, to, from, key));
    }
    for (link, (&bytes, least)) in report.link_bytes.iter().zip(carried).enumerate() {
        assert!(bytes >= least, "{routing}: link {link} carried {bytes}");
        // what comes back for the last messages is still under way
        assert!(bytes == 0.0 || used.contains(&LinkId::from_index(link)), "{routing}: link {link}");
    }
    for flow in &report.flows {
        assert!(flow.end - flow.start >= flow.least, "{routing}: {flow:?}");
    }
}

fn torus() -> Arc<Topology> {
    topology(r#"{"kind": "torus", "dimensions": [4, 3, 2], "bandwidth": "100 Gbps", "latency": "1 us"}"#)
}

#[test]
fn packets_take_the_ways_of_the_routing() {
    let dragonfly = topology(
        r#"{"kind": "dragonfly", "g": 5, "a": 4, "p": 2, "h": 2,
            "bandwidth": "100 Gbps", "latency": "1 us"}"#,
    );
    for machine in [&torus(), &fat_tree(4), &dragonfly] {
        for routing in [
            r#"{"kind": "dijkstra"}"#,
            r#"{"kind": "dijkstra", "by": "hops"}"#,
            r#"{"kind": "ecmp"}"#,
            r#"{"kind": "ecmp", "by": "latency", "salt": 7}"#,
        ] {
            follows(machine, "", routing);
        }
        follows(machine, r#", "balancing": {"kind": "routing"}"#, DEFAULT);
    }
    follows(&torus(), "", r#"{"kind": "dimension-order"}"#);
    follows(&fat_tree(4), "", r#"{"kind": "up-down"}"#);
    let cut_through = r#", "switching": "cut-through", "congestion": {"kind": "swift"}"#;
    follows(&fat_tree(4), cut_through, r#"{"kind": "up-down"}"#);
    let lossless = r#", "congestion": {"kind": "dcqcn"}, "recovery": {"kind": "go-back-n"}"#;
    follows(&fat_tree(4), lossless, r#"{"kind": "ecmp"}"#);
}

/// Four switches in a square with a host each, and a cable across; routes of the topology.
fn square(routes: &str) -> Arc<Topology> {
    let cable = |from: &str, to: &str| {
        format!(r#"{{"from": "{from}", "to": "{to}", "bandwidth": "100 Gbps", "latency": "1 us"}}"#)
    };
    let cables = [("h0", "a"), ("h1", "b"), ("h2", "c"), ("h3", "d"), ("a", "b"), ("b", "c"), ("c", "d")];
    let mut cables: Vec<String> = cables.iter().map(|(from, to)| cable(from, to)).collect();
    cables.push(cable("d", "a"));
    let node = |name: &str, kind: &str| format!(r#"{{"name": "{name}"{kind}}}"#);
    let hosts = ["h0", "h1", "h2", "h3"].map(|name| node(name, ""));
    let switches = ["a", "b", "c", "d"].map(|name| node(name, r#", "kind": "switch""#));
    topology(&format!(
        r#"{{"kind": "graph", "nodes": [{}, {}], "links": [{}], "routes": [{routes}]}}"#,
        hosts.join(","),
        switches.join(","),
        cables.join(",")
    ))
}

/// The long way from the first host to the second.
const LONG: &str = r#"{"from": "h0", "to": "h1", "via": ["a", "d", "c", "b"]}"#;

#[test]
fn a_message_alone_on_a_long_way_takes_the_time_of_that_way() {
    let given = (square(""), format!(r#"{{"kind": "explicit", "routes": [{LONG}]}}"#));
    let of_the_machine = (square(LONG), DEFAULT.to_owned());
    for (machine, routing) in [given, of_the_machine] {
        let open = r#", "congestion": {"kind": "fixed-window", "factor": 8.0}"#;
        let (ends, report) =
            run(&mut *routed(open, &machine, &routing), machine.compute_nodes(), &[(0, 1, 409_600)]);
        // a hundred packets of 4160 bytes over five links of 100 Gbps and 1 us
        let closed_form = Time::from_ps((100 + 4) * 4160 * 80 + 5_000_000);
        assert_eq!(ends, [closed_form]);
        assert_eq!(report.flows[0].least, closed_form - Time::ZERO);
        assert_eq!(report.flows[0].path.len(), 5);
    }
}

#[test]
fn other_pairs_are_spread_as_before() {
    let options = r#", "balancing": {"kind": "random"}"#;
    let machine = square("");
    let messages = [(0, 1, 400_000), (0, 2, 400_000), (1, 3, 400_000)];
    let report =
        |routing: &str| run(&mut *routed(options, &machine, routing), machine.compute_nodes(), &messages).1;
    let given = format!(r#"{{"kind": "explicit", "routes": [{LONG}]}}"#);
    let carried = |report: &NetworkReport, name: &str| {
        report.link_bytes[machine.find_link(name).expect("a link").index()]
    };
    for (routing, straight) in [(given.as_str(), false), (DEFAULT, true)] {
        let report = report(routing);
        let lengths: Vec<usize> = report.flows.iter().map(|flow| flow.path.len()).collect();
        // as far as all packets go one way: the two others part at their first switches
        assert_eq!(lengths.iter().filter(|&&links| links == 1).count(), 2, "{lengths:?}");
        assert_eq!(lengths.contains(&3), straight, "{lengths:?}");
        // half of what goes to the opposite corner goes over b, and half over d
        assert!(carried(&report, "a->b") > 150_000.0 && carried(&report, "b->c") > 150_000.0);
    }
}

#[test]
fn a_given_way_is_not_left_and_waits_for_its_repair() {
    let down =
        r#", "faults": {"down": [{"link": ["a->d"], "from": "0 us", "to": "3 ms"}], "detection": "1 us"}"#;
    let machine = square("");
    let ends = |routing: &str| {
        let messages = [(0, 3, 40_000), (0, 2, 40_000)];
        run(&mut *routed(down, &machine, routing), machine.compute_nodes(), &messages).0[1]
    };
    let given = r#"{"kind": "explicit", "routes": [{"from": "h0", "to": "h2", "via": ["a", "d", "c"]}]}"#;
    let repaired = Time::from_ps(3_000_000_000);
    assert!(ends(DEFAULT) < repaired);
    assert!(ends(given) > repaired);
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let machine = fat_tree(8);
    for routing in [r#"{"kind": "up-down"}"#, r#"{"kind": "ecmp"}"#] {
        let seen = |threads: u32| {
            let options = format!(r#", "threads": {threads}"#);
            let mut network = routed(&options, &machine, routing);
            let (ends, report) = run(&mut *network, machine.compute_nodes(), &messages(128));
            format!("{ends:?} {report:?}")
        };
        let one = seen(1);
        for threads in [2, 4] {
            assert!(seen(threads) == one, "{routing} on {threads} threads");
        }
    }
}

#[test]
fn connections_of_pairs_keep_their_way() {
    let machine = fat_tree(4);
    let mut network = routed(r#", "connections": "per-pair""#, &machine, r#"{"kind": "ecmp"}"#);
    let messages = vec![(0, 15, 50_000); 8];
    let (_, report) = run(&mut *network, machine.compute_nodes(), &messages);
    let paths: BTreeSet<_> = report.flows.iter().map(|flow| flow.path.clone()).collect();
    assert_eq!(paths.len(), 1);
    let mut network = routed("", &machine, r#"{"kind": "ecmp"}"#);
    let (_, report) = run(&mut *network, machine.compute_nodes(), &messages);
    let paths: BTreeSet<_> = report.flows.iter().map(|flow| flow.path.clone()).collect();
    assert!(paths.len() > 1, "messages of their own are hashed one by one");
}

#[test]
fn what_does_not_fit_is_refused() {
    let reason =
        refused(r#", "balancing": {"kind": "least-queue"}"#, &torus(), r#"{"kind": "dimension-order"}"#);
    assert!(reason.contains("`least-queue` has nothing to choose from"), "{reason}");
    let round = r#"{"from": "h0", "to": "h1", "via": ["a", "b", "c", "d", "a", "b"]}"#;
    let machine = square("");
    let mut network = routed("", &machine, &format!(r#"{{"kind": "explicit", "routes": [{round}]}}"#));
    let hosts = machine.compute_nodes();
    let reason = network.check_route(hosts[0], hosts[1]).unwrap_err().to_string();
    assert!(reason.contains("the route from h0 to h1 comes to a twice"), "{reason}");
    let transfer = Transfer::new(Token(1), hosts[0], hosts[1], 10);
    network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
    let mut done = Vec::new();
    network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut Blind });
    assert!(matches!(done[..], [NetworkDone::Failed(_)]), "{done:?}");
}
