//! Topologies written by hand, and explicit routes.

use crate::support::{Router, build, refusal};
use stratasim_core::{Bandwidth, Precision};
use stratasim_topo::graph::Sharing;
use stratasim_topo::routing::RoutingSpec;

/// Two accelerators on a switch, a pool of memory, a slow side way between the accelerators.
const SMALL: &str = r#"{"kind": "graph",
    "nodes": [
        {"name": "gpu-0", "compute": "H100", "home-memory": "pool", "groups": {"rack": 0}},
        {"name": "gpu-1", "compute": {"base": "A100", "name": "half"}, "groups": {"rack": 1}},
        {"name": "pool", "kind": "memory", "capacity": "1 TiB", "bandwidth": "100 GB/s"},
        {"name": "switch", "kind": "switch"}],
    "links": [
        {"from": "gpu-0", "to": "switch", "bandwidth": "50 GB/s", "latency": "500 ns"},
        {"from": "gpu-1", "to": "switch", "bandwidth": "50 GB/s", "latency": "500 ns", "name": "wide", "parallel": 2},
        {"from": "pool", "to": "switch", "bandwidth": "64 GB/s", "latency": "200 ns", "duplex": "half", "name": "cxl"},
        {"from": "gpu-0", "to": "gpu-1", "bandwidth": "1 GB/s", "latency": "9 us", "duplex": "simplex", "sharing": "fat-pipe"}]
    ROUTES}"#;

fn small(routes: &str) -> String {
    let routes = if routes.is_empty() { String::new() } else { format!(r#", "routes": {routes}"#) };
    SMALL.replace("ROUTES", &routes)
}

#[test]
fn a_graph_by_hand_has_what_was_written() {
    let mut graph = Router::new(&small(""));
    // a hash of both ends chooses among cables side by side
    assert_eq!(graph.names("gpu-0", "gpu-1"), ["gpu-0->switch", "wide-1-down"]);
    assert_eq!(graph.names("gpu-1", "gpu-0"), ["wide-0-up", "switch->gpu-0"]);
    assert_eq!(graph.names("pool", "gpu-1"), ["cxl", "wide-0-down"]);
    let topology = &graph.topology;
    let node = |name: &str| topology.find_node(name).unwrap();
    assert_eq!(topology.home_memory(node("gpu-0")), Some(node("pool")));
    assert_eq!(topology.home_memory(node("gpu-1")), None);
    let memory = topology.memory_type(node("pool")).unwrap();
    assert_eq!((memory.capacity_bytes, memory.bandwidth), (Some(1 << 40), Some(Bandwidth(100e9))));
    let half = topology.compute_type(node("gpu-1")).unwrap();
    assert_eq!((half.name.as_str(), half.rate_flop_per_s[Precision::Fp32.index()]), ("half", 19.5e12));
    assert_eq!(topology.grouping("rack").unwrap()[..2], [0, 1]);
    let side = topology.link(topology.find_link("gpu-0->gpu-1").unwrap());
    assert_eq!((side.sharing, side.reverse), (Sharing::FatPipe, None));
    assert_eq!(topology.link_count(), 2 + 4 + 1 + 1);
}

#[test]
fn given_routes_win_and_their_way_back_follows() {
    let mut graph = Router::new(&small(
        r#"[{"from": "gpu-0", "to": "gpu-1", "symmetric": false},
            {"from": "pool", "to": "gpu-1", "links": ["cxl", "wide-1-down"]}]"#,
    ));
    assert_eq!(graph.names("gpu-0", "gpu-1"), ["gpu-0->gpu-1"]);
    assert_eq!(graph.names("gpu-1", "gpu-0"), ["wide-0-up", "switch->gpu-0"]);
    assert_eq!(graph.names("pool", "gpu-1"), ["cxl", "wide-1-down"]);
    assert_eq!(graph.names("gpu-1", "pool"), ["wide-1-up", "cxl"]);
    assert_eq!(graph.names("gpu-0", "pool"), ["gpu-0->switch", "cxl"]);
}

#[test]
fn explicit_routing_overrides_any_topology() {
    let mut ring = Router::with(
        r#"{"kind": "ring", "nodes": 5, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        r#"{"kind": "explicit", "routes": [{"from": "host-0", "to": "host-1", "via": ["host-4", "host-3", "host-2"]},
                                           {"from": "host-1", "to": "host-0", "via": []}]}"#,
    );
    assert_eq!(ring.names("host-0", "host-1").len(), 4);
    assert_eq!(ring.names("host-1", "host-0"), ["host-1->host-0"]);
    // a pair without a route follows the ring's own rule
    assert_eq!(ring.names("host-0", "host-3"), ["host-0->host-4", "host-4->host-3"]);
}

#[test]
fn impossible_graphs_are_refused_where_they_are_wrong() {
    let edit = |from: &str, to: &str| {
        let text = small("");
        assert!(text.contains(from), "{from}");
        refusal(&text.replacen(from, to, 1))
    };
    for (from, to, expected) in [
        (r#""name": "gpu-1""#, r#""name": "gpu-0""#, "nodes.1.name: `gpu-0` is the name of node 0 too"),
        (r#""name": "gpu-1""#, r#""name": """#, "nodes.1.name: a node needs a name"),
        (
            r#""home-memory": "pool""#,
            r#""home-memory": "pol""#,
            "nodes.0.home-memory: there is no node called `pol`, did you mean `pool`?",
        ),
        (
            r#""home-memory": "pool""#,
            r#""home-memory": "switch""#,
            "nodes.0.home-memory: `switch` is not a memory",
        ),
        (r#""compute": "H100""#, r#""compute": "H1000""#, "nodes.0.compute: unknown compute type `H1000`"),
        (
            r#""kind": "switch""#,
            r#""kind": "switch", "compute": "H100""#,
            "nodes.3.compute: `switch` is a switch and cannot have this",
        ),
        (r#""from": "gpu-1""#, r#""from": "gpu-9""#, "links.1.from: there is no node called `gpu-9`"),
        (r#""to": "gpu-1""#, r#""to": "gpu-0""#, "links.3.to: `gpu-0` is joined to itself"),
        (r#""parallel": 2"#, r#""parallel": 0"#, "links.1.parallel: must be at least 1"),
        (r#""parallel": 2"#, r#""parallel": 4000000000"#, "links: this asks for 8000000006 links"),
        (
            r#""bandwidth": "1 GB/s""#,
            r#""bandwidth": "0 GB/s""#,
            "links.3.bandwidth: a link needs more than zero",
        ),
        (r#""name": "cxl""#, r#""name": "wide""#, "links.2.name: `wide` is the name of another link too"),
    ] {
        let message = edit(from, to);
        assert!(message.starts_with(expected), "{message}");
    }
    assert_eq!(refusal(r#"{"kind": "graph", "nodes": []}"#), "nodes: a graph needs at least one node");
}

#[test]
fn a_rate_of_zero_is_refused_at_its_key() {
    for (spec, field) in [
        (r#"{"kind": "ring", "nodes": 4, "bandwidth": "0 Gbps", "latency": "1 us"}"#, "bandwidth"),
        (
            r#"{"kind": "scaled", "of": {"kind": "ring", "nodes": 4, "bandwidth": "0 B/s", "latency": "1 us"}}"#,
            "of.bandwidth",
        ),
        (
            r#"{"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts-per-leaf": 2, "bandwidth": "1 GB/s",
                "uplink-bandwidth": "0 GB/s", "latency": "1 us"}"#,
            "uplink-bandwidth",
        ),
    ] {
        let spec: stratasim_topo::TopologySpec = serde_json::from_str(spec).unwrap();
        let error = stratasim_topo::build(&spec, &stratasim_topo::BuildContext::default()).unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(error.reason.ends_with("has bandwidth 0 bps, a link needs more than zero"), "{error}");
    }
    let scaled = r#"{"kind": "scaled", "bandwidth": 0, "of":
        {"kind": "ring", "nodes": 4, "bandwidth": "1 GB/s", "latency": "1 us"}}"#;
    let spec: stratasim_topo::TopologySpec = serde_json::from_str(scaled).unwrap();
    let error = stratasim_topo::build(&spec, &stratasim_topo::BuildContext::default()).unwrap_err();
    assert_eq!(error.to_string(), "bandwidth: a factor of the rate is more than zero, got 0");
}

#[test]
fn impossible_routes_are_refused_where_they_are_wrong() {
    for (route, expected) in [
        (r#""from": "gpu-0", "to": "gpu-7""#, "routes.0.to: there is no node called `gpu-7`"),
        (r#""from": "gpu-0", "to": "gpu-0""#, "routes.0.to: gpu-0 is where the route starts"),
        (r#""from": "gpu-0", "to": "gpu-1", "via": ["pool"]"#, "routes.0.via.0: pool is a memory"),
        (r#""from": "pool", "to": "gpu-1""#, "routes.0.to: no link leads from pool to gpu-1"),
        (
            r#""from": "gpu-0", "to": "gpu-1", "via": ["switch"], "links": ["cxl"]"#,
            "routes.0.via: give either",
        ),
        (
            r#""from": "gpu-0", "to": "gpu-1", "links": ["nothing"]"#,
            "routes.0.links.0: there is no link called `nothing`",
        ),
        (
            r#""from": "gpu-0", "to": "gpu-1", "links": ["gpu-0->switch", "wide-0-up"]"#,
            "routes.0.links.1: `wide-0-up` starts at gpu-1, but the route has come to switch",
        ),
        (
            r#""from": "gpu-0", "to": "gpu-1", "links": ["gpu-0->switch", "cxl"]"#,
            "routes.0.links: the links lead to pool, not to gpu-1",
        ),
        (
            r#""from": "gpu-0", "to": "gpu-1""#,
            "routes.0.symmetric: a link of this route has one direction only",
        ),
    ] {
        let message = refusal(&small(&format!("[{{{route}}}]")));
        assert!(message.starts_with(expected), "{route}: {message}");
    }
    let twice = r#"[{"from": "gpu-0", "to": "pool", "via": ["switch"]}, {"from": "gpu-0", "to": "pool", "via": ["switch"]}]"#;
    assert!(refusal(&small(twice)).starts_with("routes.1: the route from gpu-0 to pool is given twice"));
    // the routing of a run gives the same messages
    let topology = build(&small("")).unwrap();
    let routing: RoutingSpec =
        serde_json::from_str(r#"{"kind": "explicit", "routes": [{"from": "pool", "to": "gpu-1"}]}"#).unwrap();
    let error = routing.plugin().build(&topology).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "routes.0.to: no link leads from pool to gpu-1");
}
