//! The contract of every generator: one line each.
//!
//! A line gives the spec, the closed forms of its size (compute nodes, all nodes, links), the
//! longest route in links, whether routes are shortest in links, and `ONE_WAY` where cables have one direction.

use std::collections::BTreeSet;

use crate::support::{Router, build, context, distances};
use stratasim_core::NodeId;
use stratasim_topo::{BuildContext, Topology, TopologySpec};

struct Contract {
    spec: &'static str,
    hosts: usize,
    nodes: usize,
    links: usize,
    hops: usize,
    shortest: bool,
    one_way: bool,
}

macro_rules! contracts {
    ($($name:ident: $spec:literal, hosts $hosts:expr, nodes $nodes:expr, links $links:expr, hops $hops:expr, $shortest:ident $(, $one_way:ident)?;)+) => {
        const CONTRACTS: &[Contract] = &[$(Contract {
            spec: $spec, hosts: $hosts, nodes: $nodes, links: $links, hops: $hops, shortest: $shortest, one_way: $($one_way |)? false,
        }),+];
        $(
            #[test]
            fn $name() {
                let contract = CONTRACTS.iter().find(|contract| contract.spec == $spec).expect("listed");
                contract.check();
            }
        )+
    };
}

const SHORTEST: bool = true;
const LONGER: bool = false;
const ONE_WAY: bool = true;

contracts! {
    single_switch: r#"{"kind": "single-switch", "nodes": 7, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 7, nodes 8, links 14, hops 2, SHORTEST;
    star: r#"{"kind": "star", "nodes": 9, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 9, nodes 9, links 2 * 8, hops 2, SHORTEST;
    fat_tree_k4: r#"{"kind": "fat-tree", "k": 4, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 16, nodes 16 + 20, links 2 * 3 * 16, hops 6, SHORTEST;
    fat_tree_oversubscribed: r#"{"kind": "fat-tree", "k": 8, "oversubscription": 2, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 128, nodes 128 + 8 * (4 + 2) + 8, links 2 * (128 + 64 + 64), hops 6, SHORTEST;
    fat_tree_half_duplex: r#"{"kind": "fat-tree", "k": 4, "bandwidth": "1 GB/s", "latency": "1 us", "duplex": "half"}"#,
        hosts 16, nodes 16 + 20, links 3 * 16, hops 6, SHORTEST;
    fat_tree_two_levels: r#"{"kind": "fat-tree", "k": 6, "levels": 2, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 18, nodes 18 + 6 + 3, links 2 * (18 + 18), hops 4, SHORTEST;
    fat_tree_by_lists: r#"{"kind": "fat-tree", "down": [4, 3, 2, 5], "up": [2, 1, 3, 2], "parallel": [1, 2, 1, 3], "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 120, nodes 120 + 60 + 20 + 30 + 12, links 2 * (240 + 120 + 60 + 180), hops 8, SHORTEST;
    leaf_spine: r#"{"kind": "leaf-spine", "leaves": 5, "spines": 3, "hosts-per-leaf": 4, "bandwidth": "1 GB/s", "latency": "1 us", "oversubscription": 2}"#,
        hosts 20, nodes 28, links 2 * (20 + 15), hops 4, SHORTEST;
    k_ary_n_tree: r#"{"kind": "k-ary-n-tree", "k": 3, "n": 4, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 81, nodes 81 + 4 * 27, links 2 * 4 * 81, hops 8, SHORTEST;
    k_ary_n_fly: r#"{"kind": "k-ary-n-fly", "k": 3, "n": 3, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 27, nodes 27 + 3 * 9, links 4 * 27, hops 4, SHORTEST, ONE_WAY;
    ring: r#"{"kind": "ring", "nodes": 9, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 9, nodes 9, links 2 * 9, hops 4, SHORTEST;
    ring_of_two: r#"{"kind": "ring", "nodes": 2, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 2, nodes 2, links 2, hops 1, SHORTEST;
    ring_half_duplex: r#"{"kind": "ring", "nodes": 8, "bandwidth": "1 GB/s", "latency": "1 us", "duplex": "half"}"#,
        hosts 8, nodes 8, links 8, hops 4, SHORTEST;
    fully_connected: r#"{"kind": "fully-connected", "nodes": 7, "parallel": 2, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 7, nodes 7, links 2 * 2 * 21, hops 1, SHORTEST;
    mesh: r#"{"kind": "mesh", "dimensions": [4, 1, 3, 2], "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 24, nodes 24, links 2 * (6 * 3 + 8 * 2 + 12), hops 3 + 2 + 1, SHORTEST;
    mesh_of_switches: r#"{"kind": "mesh", "dimensions": [3, 3], "hosts-per-switch": 4, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 36, nodes 45, links 2 * (36 + 12), hops 2 + 4, SHORTEST;
    torus: r#"{"kind": "torus", "dimensions": [4, 3, 2, 5], "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 120, nodes 120, links 2 * (120 * 3 + 60), hops 2 + 1 + 1 + 2, SHORTEST;
    torus_of_switches: r#"{"kind": "torus", "dimensions": [4, 4], "hosts-per-switch": 2, "bandwidth": "1 GB/s", "latency": "1 us", "duplex": "half"}"#,
        hosts 32, nodes 48, links 32 + 32, hops 2 + 4, SHORTEST;
    hypercube: r#"{"kind": "hypercube", "dimensions": 6, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 64, nodes 64, links 64 * 6, hops 6, SHORTEST;
    hyperx: r#"{"kind": "hyperx", "dimensions": [3, 4], "parallel": [2, 1], "hosts-per-switch": 2, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 24, nodes 36, links 2 * (24 + 4 * 3 * 2 + 3 * 6), hops 4, SHORTEST;
    multi_dimensional: r#"{"kind": "multi-dimensional", "dimensions": [
            {"shape": "ring", "nodes": 4, "bandwidth": "3 GB/s", "latency": "1 us"},
            {"shape": "fully-connected", "nodes": 3, "bandwidth": "2 GB/s", "latency": "1 us"},
            {"shape": "line", "nodes": 2, "bandwidth": "2 GB/s", "latency": "1 us"},
            {"shape": "switch", "nodes": 5, "parallel": 2, "bandwidth": "1 GB/s", "latency": "1 us"}]}"#,
        hosts 120, nodes 120 + 24, links 2 * (120 + 120 + 60 + 240), hops 2 + 1 + 1 + 2, SHORTEST;
    dragonfly: r#"{"kind": "dragonfly", "p": 2, "a": 4, "h": 2, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 72, nodes 72 + 36, links 2 * (72 + 9 * 6 + 36), hops 5, LONGER;
    dragonfly_with_few_groups: r#"{"kind": "dragonfly", "hosts-per-router": 1, "routers-per-group": 5, "global-links-per-router": 3, "groups": 4, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 20, nodes 40, links 2 * (20 + 4 * 10 + 6 * 5), hops 4, LONGER;
    dragonfly_with_ports_left: r#"{"kind": "dragonfly", "p": 1, "a": 3, "h": 3, "g": 5, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 15, nodes 30, links 2 * (15 + 5 * 3 + 10 * 2), hops 5, LONGER;
    dragonfly_of_one_group: r#"{"kind": "dragonfly", "p": 2, "a": 4, "h": 0, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
        hosts 8, nodes 12, links 2 * (8 + 6), hops 3, SHORTEST;
    graph: r#"{"kind": "graph",
            "nodes": [{"name": "a"}, {"name": "b", "home-memory": "m"}, {"name": "s", "kind": "switch"}, {"name": "m", "kind": "memory"}],
            "links": [{"from": "a", "to": "s", "bandwidth": "1 GB/s", "latency": "1 us", "name": "left"},
                      {"from": "b", "to": "s", "bandwidth": "1 GB/s", "latency": "1 us", "parallel": 3},
                      {"from": "b", "to": "m", "bandwidth": "1 GB/s", "latency": "1 us", "duplex": "half"}],
            "routes": [{"from": "a", "to": "b", "via": ["s"]}]}"#,
        hosts 2, nodes 4, links 2 + 6 + 1, hops 2, SHORTEST;
    cards: r#"{"kind": "cards", "card": "four", "of": {"kind": "single-switch", "nodes": 3, "bandwidth": "1 GB/s", "latency": "1 us"}}"#,
        hosts 12, nodes 3 + 1 + 3 * 9, links 2 * (3 + 3 * 9), hops 6, SHORTEST;
    cards_on_a_searched_graph: r#"{"kind": "cards", "card": "four", "of": {"kind": "without", "links": ["host-8->host-0", "host-0->host-8"], "of": {"kind": "ring", "nodes": 9, "bandwidth": "1 GB/s", "latency": "1 us"}}}"#,
        hosts 36, nodes 9 + 9 * 9, links 2 * (8 + 9 * 9), hops 12, SHORTEST;
    scaled: r#"{"kind": "scaled", "bandwidth": 2, "of": {"kind": "mesh", "dimensions": [3, 3], "bandwidth": "1 GB/s", "latency": "1 us"}}"#,
        hosts 9, nodes 9, links 2 * 12, hops 4, SHORTEST;
    degraded: r#"{"kind": "degraded", "factor": 0.5, "fraction": 0.2, "of": {"kind": "mesh", "dimensions": [3, 3], "bandwidth": "1 GB/s", "latency": "1 us", "duplex": "half"}}"#,
        hosts 9, nodes 9, links 12, hops 4, SHORTEST;
    without: r#"{"kind": "without", "links": ["host-8->host-0", "host-0->host-8"], "of": {"kind": "ring", "nodes": 9, "bandwidth": "1 GB/s", "latency": "1 us"}}"#,
        hosts 9, nodes 9, links 2 * 8, hops 8, SHORTEST;
    with_compute: r#"{"kind": "with-compute", "compute": "A100", "nodes": ["host-2"], "of": {"kind": "ring", "nodes": 4, "bandwidth": "1 GB/s", "latency": "1 us"}}"#,
        hosts 4, nodes 4, links 2 * 4, hops 2, SHORTEST;
    hcsim_cxl: r#"{"kind": "hcsim-cxl", "xpus": 300}"#,
        hosts 300, nodes 2 * 300 + 6 * 38 + 2 * 3 + 2, links 2 * (4 * 300 + 11 * 38 + 2 * 3), hops 4, LONGER;
    hcsim_cxl_computing_cpus: r#"{"kind": "hcsim-cxl", "xpus": 8, "xpus-per-server": 2, "servers-per-rack": 2, "compute": "H100", "cpu": {}}"#,
        hosts 8 + 2 * 4, nodes 2 * 8 + 6 * 4 + 2 * 2 + 2, links 2 * (4 * 8 + 5 * 4 + 2 * 2), hops 8, LONGER;
    hcsim_cxl_half_duplex: r#"{"kind": "hcsim-cxl", "xpus": 20, "xpus-per-server": 3, "servers-per-rack": 2, "duplex": "half"}"#,
        hosts 20, nodes 2 * 20 + 6 * 7 + 2 * 4 + 2, links 4 * 20 + 7 * 7 + 2 * 4, hops 4, LONGER;
    hcsim_ethernet_half_duplex: r#"{"kind": "hcsim-ethernet", "xpus": 20, "xpus-per-server": 3, "servers-per-rack": 2, "duplex": "half"}"#,
        hosts 20, nodes 2 * 20 + 6 * 7 + 4 + 1, links 3 * 20 + 7 * 7 + 4, hops 12, LONGER;
    hcsim_ethernet: r#"{"kind": "hcsim-ethernet", "xpus": 300}"#,
        hosts 300, nodes 2 * 300 + 6 * 38 + 3 + 1, links 2 * (3 * 300 + 11 * 38 + 3), hops 12, LONGER;
}

/// Kinds that read a file; their contract is the round trip, beside their code.
const READ_FILES: &[&str] = &["simgrid-xml", "networkx-json", "graphml"];

#[test]
fn every_kind_has_a_contract() {
    let covered: BTreeSet<&str> = CONTRACTS
        .iter()
        .map(|contract| serde_json::from_str::<TopologySpec>(contract.spec).unwrap().kind())
        .chain(READ_FILES.iter().copied())
        .collect();
    for kind in TopologySpec::KINDS {
        assert!(
            covered.contains(kind),
            "add a line for `{kind}` to `contracts!` in crates/topo/tests/topo/contract.rs"
        );
    }
}

impl Contract {
    fn check(&self) {
        self.the_spec_reads_what_it_writes();
        let topology = build(self.spec).unwrap();
        assert_eq!(topology.compute_nodes().len(), self.hosts, "compute nodes");
        assert_eq!(topology.node_count(), self.nodes, "nodes");
        assert_eq!(topology.link_count(), self.links, "links");
        check_same(&topology, &build(self.spec).unwrap());
        check_links(&topology, self.one_way);
        check_names(&topology);
        check_connected(&topology);
        check_dimensions(&topology);
        self.check_routes();
    }

    fn the_spec_reads_what_it_writes(&self) {
        let spec: TopologySpec = serde_json::from_str(self.spec).unwrap();
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<TopologySpec>(&text).unwrap(), spec, "{text}");
        let unknown = format!("{}, \"no-such-key\": 1}}", &self.spec[..self.spec.len() - 1]);
        assert!(
            serde_json::from_str::<TopologySpec>(&unknown).unwrap_err().to_string().contains("no-such-key")
        );
    }

    fn check_routes(&self) {
        let mut router = Router::new(self.spec);
        let topology = router.topology.clone();
        let hosts = topology.compute_nodes();
        // every pair of a small machine, a spread of pairs of a larger one
        let stride = (hosts.len() * hosts.len()).div_ceil(4096);
        let mut longest = 0;
        let mut last = None;
        for pair in (0..hosts.len() * hosts.len()).step_by(stride) {
            let (src, dst) = (hosts[pair / hosts.len()], hosts[pair % hosts.len()]);
            let links = router.route(src, dst, pair as u64);
            assert_eq!(links, router.route(src, dst, pair as u64), "the same question twice");
            assert!(links.len() <= self.hops, "{} links, at most {}", links.len(), self.hops);
            longest = longest.max(links.len());
            if self.shortest {
                if last.as_ref().is_none_or(|&(from, _)| from != src) {
                    last = Some((src, distances(&topology, src)));
                }
                let (_, distance) = last.as_ref().expect("just filled");
                assert_eq!(links.len(), distance[dst.index()].unwrap(), "a detour");
            }
        }
        assert_eq!(longest, self.hops, "the longest route");
        for &host in hosts {
            assert!(router.route(host, host, 0).is_empty());
            if let Some(memory) = topology.home_memory(host) {
                router.route(host, memory, 0);
                router.route(memory, host, 0);
            }
        }
    }
}

/// A check finds its line by the spec.
#[test]
fn no_spec_stands_twice() {
    let mut seen = BTreeSet::new();
    for contract in CONTRACTS {
        assert!(seen.insert(contract.spec), "two lines have the spec {}", contract.spec);
    }
}

fn check_same(a: &Topology, b: &Topology) {
    assert_eq!(a.links(), b.links());
    for node in (0..a.node_count()).map(NodeId::from_index) {
        assert_eq!((a.kind(node), a.node_name(node)), (b.kind(node), b.node_name(node)));
        assert_eq!(a.ports(node), b.ports(node));
    }
}

/// Directions of a cable mirror each other, unless all links lead one way; ports and links tell the same story.
fn check_links(topology: &Topology, one_way: bool) {
    let mut used = vec![0; topology.link_count()];
    for node in (0..topology.node_count()).map(NodeId::from_index) {
        for port in topology.ports(node) {
            let link = topology.link(port.link);
            let [from, to] = link.ends.unwrap();
            assert!([from, to] == [node, port.to] || (link.half_duplex && [to, from] == [node, port.to]));
            assert_ne!(from, to, "a cable to itself");
            used[port.link.index()] += 1;
        }
    }
    for (link, used) in topology.links().iter().zip(used) {
        assert_eq!(used, if link.half_duplex { 2 } else { 1 });
        assert_eq!(
            link.reverse.is_none(),
            link.half_duplex || one_way,
            "cables carry both directions, unless the line says ONE_WAY"
        );
        if let Some(reverse) = link.reverse {
            let back = topology.link(reverse);
            let [from, to] = link.ends.unwrap();
            assert_eq!(back.ends, Some([to, from]));
            assert_eq!((back.bandwidth, back.latency), (link.bandwidth, link.latency));
            assert_eq!(back.reverse.map(|id| *topology.link(id)), Some(*link));
        }
    }
}

fn check_names(topology: &Topology) {
    let mut names = BTreeSet::new();
    for link in (0..topology.link_count()).map(stratasim_core::LinkId::from_index) {
        let name = topology.link_name(link);
        assert_eq!(topology.find_link(&name), Some(link), "{name}");
        assert!(names.insert(name));
    }
    for node in (0..topology.node_count()).map(NodeId::from_index) {
        let name = topology.node_name(node);
        assert_eq!(topology.find_node(name), Some(node), "{name}");
    }
}

fn check_connected(topology: &Topology) {
    let reached = distances(topology, NodeId(0));
    assert!(reached.iter().all(Option::is_some), "not connected");
}

fn check_dimensions(topology: &Topology) {
    let dimensions = topology.dimensions();
    assert!(dimensions.iter().all(|&extent| extent > 1));
    let product: usize = dimensions.iter().map(|&extent| extent as usize).product();
    // they are those of all compute nodes, or of accelerators that processors of another type follow
    let nodes = topology.compute_nodes();
    let first =
        nodes.iter().take_while(|&&node| topology.compute_type(node) == topology.compute_type(nodes[0]));
    assert!(dimensions.is_empty() || product == nodes.len() || product == first.count());
}

#[test]
fn a_seed_changes_nothing_where_nothing_is_random() {
    for contract in CONTRACTS.iter().filter(|contract| !contract.spec.contains("fraction")) {
        let spec: TopologySpec = serde_json::from_str(contract.spec).unwrap();
        let seeded = BuildContext { streams: stratasim_core::random::Streams::new(7), ..context() };
        check_same(&spec.plugin().build(&context()).unwrap(), &spec.plugin().build(&seeded).unwrap());
    }
}
