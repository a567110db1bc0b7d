//! Routing algorithms against all-pairs shortest paths, ECMP's spread, errors where one does not fit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::support::{Router, build};
use proptest::prelude::*;
use stratasim_core::{Bandwidth, Duration, LinkId, NodeId};
use stratasim_topo::graph::LinkType;
use stratasim_topo::routing::{Routing, RoutingSpec};
use stratasim_topo::{MemoryType, NodeKind, Topology, TopologyBuilder};

const TREE: &str = r#"{"kind": "fat-tree", "k": 4, "bandwidth": "1 GB/s", "latency": "1 us"}"#;

fn routing(text: &str) -> RoutingSpec {
    serde_json::from_str(text).unwrap()
}

#[test]
fn ecmp_uses_every_shortest_path_alike_and_keeps_a_flow_on_one() {
    let mut router = Router::with(TREE, r#"{"kind": "ecmp"}"#);
    let [src, dst] = ["host-0", "host-15"].map(|name| router.topology.find_node(name).unwrap());
    let mut seen: BTreeMap<Vec<LinkId>, u32> = BTreeMap::new();
    for key in 0..4000 {
        let path = router.route(src, dst, key);
        assert_eq!(path.len(), 6);
        assert_eq!(path, router.route(src, dst, key));
        *seen.entry(path).or_default() += 1;
    }
    // two aggregations times two cores; 1000 each, with a standard deviation of 27
    assert_eq!(seen.len(), 4);
    assert!(seen.values().all(|count| (850..1150).contains(count)), "{seen:?}");
}

#[test]
fn ecmp_spreads_over_parallel_cables_and_sources_that_share_a_key() {
    let spec = r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "parallel": 4, "hosts-per-leaf": 64, "bandwidth": "1 GB/s", "latency": "1 us"}"#;
    let mut router = Router::with(spec, r#"{"kind": "ecmp", "salt": 3}"#);
    let mut used = BTreeMap::new();
    for src in 0..64 {
        let path = router.route(NodeId(src), NodeId(100), 0);
        *used.entry(path[1]).or_insert(0) += 1;
    }
    assert_eq!(used.len(), 4, "{used:?}");
    let mut other = Router::with(spec, r#"{"kind": "ecmp", "salt": 4}"#);
    assert!(
        (0..64)
            .any(|src| other.route(NodeId(src), NodeId(100), 0) != router.route(NodeId(src), NodeId(100), 0))
    );
}

/// Networks ask once per pair where a routing says that the flow does not matter.
#[test]
fn a_routing_says_whether_it_looks_at_the_flow() {
    let topology = build(TREE).unwrap();
    for (text, expected) in [
        (r#"{"kind": "auto"}"#, false),
        (r#"{"kind": "dijkstra"}"#, false),
        (r#"{"kind": "up-down"}"#, false),
        (r#"{"kind": "explicit"}"#, false),
        (r#"{"kind": "ecmp"}"#, true),
        (r#"{"kind": "explicit", "otherwise": {"kind": "ecmp"}}"#, true),
    ] {
        let mut router = routing(text).plugin().build(&topology).unwrap();
        assert_eq!(router.per_flow(), expected, "{text}");
        let mut seen = BTreeSet::new();
        for key in 0..50 {
            let mut out = Vec::new();
            router.route(NodeId(0), NodeId(15), key, &mut out).unwrap();
            seen.insert(out);
        }
        assert_eq!(seen.len() > 1, expected, "{text}");
    }
}

#[test]
fn ecmp_on_one_path_agrees_with_dijkstra() {
    let torus = r#"{"kind": "torus", "dimensions": [5, 5], "hosts-per-switch": 2, "bandwidth": "1 GB/s", "latency": "1 us"}"#;
    let mut ecmp = Router::with(torus, r#"{"kind": "ecmp", "by": "latency"}"#);
    let mut dijkstra = Router::with(torus, r#"{"kind": "dijkstra"}"#);
    for (src, dst) in [(0, 1), (0, 3), (0, 4), (7, 9), (12, 13), (0, 11)] {
        let one = [ecmp.route(NodeId(src), NodeId(dst), 5), dijkstra.route(NodeId(src), NodeId(dst), 5)];
        assert_eq!(one[0], one[1], "{src} to {dst}");
    }
}

#[test]
fn named_rules_fit_their_topologies_only() {
    let torus = r#"{"kind": "torus", "dimensions": [4, 3], "bandwidth": "1 GB/s", "latency": "1 us"}"#;
    for (topology, rule) in [(TREE, "up-down"), (torus, "dimension-order")] {
        let mut auto = Router::new(topology);
        let mut named = Router::with(topology, &format!(r#"{{"kind": "{rule}"}}"#));
        for (src, dst) in [(0, 11), (3, 7), (10, 2)] {
            assert_eq!(auto.route(NodeId(src), NodeId(dst), 0), named.route(NodeId(src), NodeId(dst), 0));
        }
    }
    let message = |topology: &str, rule: &str| {
        let topology = build(topology).unwrap();
        routing(&format!(r#"{{"kind": "{rule}"}}"#))
            .plugin()
            .build(&topology)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message(TREE, "dimension-order"),
        "kind: `dimension-order` needs a ring, mesh, torus, hypercube, HyperX or composed machine; \
         this topology routes by the rule `up-down`; use `auto` or `dijkstra`"
    );
    assert!(message(torus, "up-down").contains("routes by the rule `dimension-order`"));
    let graph = r#"{"kind": "graph", "nodes": [{"name": "a"}]}"#;
    assert!(message(graph, "up-down").contains("no regular structure"));
}

/// A link of a random graph: ends, latency, and whether it is simplex, full or half duplex.
type RandomLink = (u32, u32, u64, u8);

fn random_graph(nodes: u32, memories: u32, links: &[RandomLink]) -> Arc<Topology> {
    let mut builder = TopologyBuilder::new();
    let memory = builder.memory_type(MemoryType { capacity_bytes: None, bandwidth: None });
    for node in 0..nodes {
        let kind = if node < memories { NodeKind::Memory(memory) } else { NodeKind::Switch };
        builder.node(kind, format_args!("n{node}"));
    }
    for &(a, b, latency, duplex) in links {
        let (a, b) = (NodeId(a % nodes), NodeId(b % nodes));
        let link = LinkType::new(Bandwidth(1.0), Duration::from_ps(latency));
        match duplex {
            _ if a == b => {}
            0 => drop(builder.simplex(a, b, link)),
            1 => drop(builder.half_duplex(a, b, link)),
            _ => drop(builder.duplex(a, b, link)),
        }
    }
    Arc::new(builder.build().unwrap())
}

/// Floyd and Warshall's all-pairs costs `(first, second)`, memories at the ends only.
fn all_pairs(topology: &Topology, cost: impl Fn(LinkId) -> (u64, u64)) -> Vec<Vec<Option<(u64, u64)>>> {
    let n = topology.node_count();
    let mut best: Vec<Vec<Option<(u64, u64)>>> = vec![vec![None; n]; n];
    for (from, row) in best.iter_mut().enumerate() {
        row[from] = Some((0, 0));
        for port in topology.ports(NodeId::from_index(from)) {
            let entry = &mut row[port.to.index()];
            let new = cost(port.link);
            *entry = Some(entry.map_or(new, |old| old.min(new)));
        }
    }
    for middle in
        (0..n).filter(|&middle| !matches!(topology.kind(NodeId::from_index(middle)), NodeKind::Memory(_)))
    {
        for from in 0..n {
            for to in 0..n {
                let (Some(a), Some(b)) = (best[from][middle], best[middle][to]) else { continue };
                let new = (a.0 + b.0, a.1 + b.1);
                best[from][to] = Some(best[from][to].map_or(new, |old| old.min(new)));
            }
        }
    }
    best
}

#[test]
fn two_nodes_that_have_only_each_other_are_joined_and_cut_off() {
    let topology = random_graph(4, 0, &[(0, 1, 1, 2), (2, 3, 1, 2)]);
    for text in [r#"{"kind": "dijkstra"}"#, r#"{"kind": "ecmp"}"#] {
        let mut router = routing(text).plugin().build(&topology).unwrap();
        for _ in 0..3 {
            for (src, dst) in (0..4).flat_map(|src| (0..4).map(move |dst| (src, dst))) {
                let links = walk(&mut *router, &topology, NodeId(src), NodeId(dst)).map(|links| links.len());
                let expected = (src / 2 == dst / 2).then_some(usize::from(src != dst));
                assert_eq!(links, expected, "{text} {src} {dst}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Whatever the graph: routes are contiguous, cost what the optimum costs, and exist exactly when
    /// there is a way; asked again (from a tree) they are the same.
    #[test]
    fn searches_are_optimal_on_any_graph(
        nodes in 1..9_u32,
        memories in 0..3_u32,
        links in prop::collection::vec((0..9_u32, 0..9_u32, 0..4_u64, 0..3_u8), 0..24),
    ) {
        let topology = random_graph(nodes, memories, &links);
        let latency = |link| topology.link(link).latency.as_ps();
        type PathCost<'a> = &'a dyn Fn(LinkId) -> (u64, u64);
        let cases: [(&str, PathCost<'_>); 4] = [
            (r#"{"kind": "dijkstra", "by": "latency"}"#, &|link| (latency(link), 1)),
            (r#"{"kind": "dijkstra", "by": "hops"}"#, &|link| (1, latency(link))),
            (r#"{"kind": "ecmp", "by": "hops"}"#, &|_| (1, 0)),
            (r#"{"kind": "ecmp", "by": "latency"}"#, &|link| (latency(link), 1)),
        ];
        for (text, cost) in cases {
            let mut router = routing(text).plugin().build(&topology).unwrap();
            let optimum = all_pairs(&topology, cost);
            let mut first = BTreeMap::new();
            for round in 0..3 {
                for from in 0..nodes {
                    for to in 0..nodes {
                        let expected = optimum[from as usize][to as usize];
                        let found = walk(&mut *router, &topology, NodeId(from), NodeId(to));
                        let total = found.as_ref().map(|links| {
                            links.iter().map(|&link| cost(link)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
                        });
                        prop_assert_eq!(total, expected, "{} {} {}", text, from, to);
                        if round == 0 {
                            first.insert((from, to), found);
                        } else {
                            prop_assert_eq!(&first[&(from, to)], &found);
                        }
                    }
                }
            }
        }
    }
}

/// The route after checking that its links follow each other and cross no memory; `None` without one.
fn walk(routing: &mut dyn Routing, topology: &Topology, src: NodeId, dst: NodeId) -> Option<Vec<LinkId>> {
    let mut out = Vec::new();
    if routing.route(src, dst, 1, &mut out).is_err() {
        assert!(out.is_empty(), "an error leaves links behind");
        return None;
    }
    let mut at = src;
    for &link in &out {
        assert!(at == src || !matches!(topology.kind(at), NodeKind::Memory(_)));
        at = topology.ports(at).iter().find(|port| port.link == link).expect("contiguous").to;
    }
    assert_eq!(at, dst);
    Some(out)
}
