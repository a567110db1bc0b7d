//! What is written is read back: node-link JSON, GraphML and SimGrid XML on random machines.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use stratasim_core::{Bandwidth, Duration, LinkId, NodeId, Precision};
use stratasim_topo::graph::{KernelCosts, LinkType};
use stratasim_topo::io::simgrid::export::ExportOptions;
use stratasim_topo::io::{self, graphml, networkx, simgrid};
use stratasim_topo::routing::dijkstra::{Cost, Dijkstra};
use stratasim_topo::{
    ComputeType, MemoryType, NodeKind, Routing, RoutingAlgorithm, RoutingSpec, Sharing, Topology,
    TopologyBuilder,
};

/// Names that need care: markup, blanks, other alphabets, what looks like a number or a direction.
const NAMES: [&str; 8] = ["host", "a<b>&\"c'", "two words", "µ-節点", "17", "x_UP", "tab\there", "(0, 1)"];

#[derive(Debug, Clone)]
struct Node {
    name: usize,
    kind: usize,
    rate: f64,
    cores: u32,
    memory: Option<u64>,
    bandwidth: Option<f64>,
    rack: Option<u32>,
}

#[derive(Debug, Clone)]
struct Cable {
    ends: [usize; 2],
    bandwidth: f64,
    latency_ps: u64,
    shape: usize,
    fat_pipe: bool,
    named: bool,
}

fn node() -> impl Strategy<Value = Node> {
    let memory = proptest::option::of(0..1_u64 << 52);
    let bandwidth = proptest::option::of(1e3..1e13_f64);
    (0..NAMES.len(), 0..4_usize, 1e6..1e16_f64, 1..200_u32, memory, bandwidth, proptest::option::of(0..9_u32))
        .prop_map(|(name, kind, rate, cores, memory, bandwidth, rack)| Node {
            name,
            kind,
            rate,
            cores,
            memory,
            bandwidth,
            rack,
        })
}

fn cable() -> impl Strategy<Value = Cable> {
    let ends = [0..1000_usize, 0..1000_usize];
    (ends, 1.0..1e13_f64, 0..10_000_000_000_000_u64, 0..4_usize, any::<bool>(), any::<bool>()).prop_map(
        |(ends, bandwidth, latency_ps, shape, fat_pipe, named)| Cable {
            ends,
            bandwidth,
            latency_ps,
            shape,
            fat_pipe,
            named,
        },
    )
}

/// A machine of `nodes` and `cables`; `shapes` limits what a cable may be.
fn machine(nodes: &[Node], cables: &[Cable]) -> Topology {
    let mut builder = TopologyBuilder::new();
    for (index, node) in nodes.iter().enumerate() {
        let kind = match node.kind {
            0 => NodeKind::Switch,
            1 => NodeKind::Memory(builder.memory_type(MemoryType {
                capacity_bytes: node.memory,
                bandwidth: node.bandwidth.map(Bandwidth),
            })),
            2 => NodeKind::Compute(builder.compute_type(stratasim_topo::catalogue::named("H100").unwrap())),
            _ => NodeKind::Compute(builder.compute_type(ComputeType {
                name: "mine".to_owned(),
                rate_flop_per_s: Precision::ALL.map(|p| if p == Precision::Fp64 { 0.0 } else { node.rate }),
                cores: node.cores,
                memory_bytes: node.memory,
                memory_bandwidth: node.bandwidth.map(Bandwidth),
                kernels: KernelCosts {
                    launch: Duration::from_ns(node.cores.into()),
                    ring_add: node.bandwidth.map(Bandwidth),
                    ..KernelCosts::default()
                },
                forwards: node.cores % 3 > 0,
            })),
        };
        let id = builder.node(kind, format_args!("{} {index}", NAMES[node.name]));
        if let Some(rack) = node.rack {
            builder.set_group("rack", id, rack);
        }
    }
    let memory = nodes.iter().position(|node| node.kind == 1).map(NodeId::from_index);
    for (index, node) in nodes.iter().enumerate() {
        if let (Some(memory), 2..) = (memory, node.kind) {
            builder.set_home_memory(NodeId::from_index(index), memory);
        }
    }
    for (index, cable) in cables.iter().enumerate() {
        let [from, to] = cable.ends.map(|end| end % nodes.len());
        if from == to {
            continue;
        }
        let [from, to] = [from, to].map(NodeId::from_index);
        let link = LinkType {
            bandwidth: Bandwidth(cable.bandwidth),
            latency: Duration::from_ps(cable.latency_ps),
            sharing: if cable.fat_pipe { Sharing::FatPipe } else { Sharing::Shared },
        };
        let name = |end: &str| format!("{} {index}{end}", NAMES[index % NAMES.len()]);
        match cable.shape {
            0 => {
                let one_way = builder.simplex(from, to, link);
                if cable.named {
                    builder.name_link(one_way, name(""));
                }
            }
            1 => {
                let half = builder.half_duplex(from, to, link);
                if cable.named {
                    builder.name_link(half, name(""));
                }
            }
            _ => {
                let (there, back) = builder.duplex(from, to, link);
                if cable.named {
                    builder.name_link(there, name("-up"));
                    // every other pair has names that do not belong together
                    builder.name_link(back, name(if index % 2 == 0 { "-down" } else { " back" }));
                }
            }
        }
    }
    builder.build().unwrap()
}

/// Everything that a graph format holds is the same.
fn assert_same(a: &Topology, b: &Topology) {
    assert_eq!(a.node_count(), b.node_count());
    for node in (0..a.node_count()).map(NodeId::from_index) {
        assert_eq!(a.node_name(node), b.node_name(node));
        assert_eq!(a.compute_type(node), b.compute_type(node));
        assert_eq!(a.memory_type(node), b.memory_type(node));
        assert_eq!(a.home_memory(node), b.home_memory(node));
    }
    assert_eq!(a.links(), b.links());
    for link in (0..a.link_count()).map(LinkId::from_index) {
        assert_eq!(a.link_name(link), b.link_name(link));
    }
    let groups = |t: &Topology| -> BTreeMap<String, Vec<u32>> {
        let column = |grouping: &str| (grouping.to_owned(), t.grouping(grouping).unwrap().to_vec());
        let used =
            |(_, groups): &(String, Vec<u32>)| groups.iter().any(|&g| g != stratasim_topo::graph::NO_GROUP);
        t.groupings().map(column).filter(used).collect()
    };
    assert_eq!(groups(a), groups(b));
    assert_eq!(a.dimensions(), b.dimensions());
}

fn routing(topology: &Arc<Topology>) -> Box<dyn Routing> {
    RoutingSpec::default().plugin().build(topology).unwrap()
}

/// Hosts of an exported platform: everything but switches.
fn hosts(topology: &Topology) -> Vec<NodeId> {
    let host = |&node: &NodeId| topology.kind(node) != NodeKind::Switch;
    (0..topology.node_count()).map(NodeId::from_index).filter(host).collect()
}

/// Every pair of hosts has the same route in both, link by link; gives which link became which.
fn assert_same_routes(a: &Arc<Topology>, b: &Arc<Topology>) -> BTreeMap<LinkId, LinkId> {
    let (mut route_a, mut route_b) = (routing(a), routing(b));
    let (mut became, mut was) = (BTreeMap::new(), BTreeMap::new());
    for &src in &hosts(a) {
        for &dst in &hosts(a) {
            let find = |name: &str| b.find_node(name).unwrap();
            let (mut out_a, mut out_b) = (Vec::new(), Vec::new());
            let one = route_a.route(src, dst, 0, &mut out_a);
            let other = route_b.route(find(a.node_name(src)), find(a.node_name(dst)), 0, &mut out_b);
            assert_eq!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
            if src == dst {
                continue;
            }
            assert_eq!(one.ok(), other.ok());
            assert_eq!(out_a.len(), out_b.len());
            for (&link_a, &link_b) in out_a.iter().zip(&out_b) {
                assert_eq!(*became.entry(link_a).or_insert(link_b), link_b);
                assert_eq!(*was.entry(link_b).or_insert(link_a), link_a);
                let (info_a, info_b) = (a.link(link_a), b.link(link_b));
                assert_eq!(
                    (info_a.bandwidth, info_a.latency, info_a.sharing),
                    (info_b.bandwidth, info_b.latency, info_b.sharing)
                );
            }
        }
    }
    became
}

fn platform(text: &str) -> simgrid::Platform {
    simgrid::import(text, "exported", Path::new(".")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn node_link_json_is_read_back_exactly(
        nodes in proptest::collection::vec(node(), 1..10),
        cables in proptest::collection::vec(cable(), 0..16),
    ) {
        let topology = machine(&nodes, &cables);
        let text = networkx::export(&topology).unwrap();
        let again = networkx::import(&text).unwrap();
        assert_same(&topology, &again);
        prop_assert_eq!(networkx::export(&again).unwrap(), text);
    }

    #[test]
    fn graphml_is_read_back_exactly(
        nodes in proptest::collection::vec(node(), 1..10),
        cables in proptest::collection::vec(cable(), 0..16),
    ) {
        let topology = machine(&nodes, &cables);
        let text = graphml::export(&topology).unwrap();
        let again = graphml::import(&text, "exported").unwrap();
        assert_same(&topology, &again);
        prop_assert_eq!(graphml::export(&again).unwrap(), text);
    }

    #[test]
    fn an_exported_platform_has_the_same_hosts_and_routes(
        nodes in proptest::collection::vec(node(), 1..10),
        cables in proptest::collection::vec(cable(), 0..24),
    ) {
        let topology = Arc::new(machine(&nodes, &cables));
        let text = io::write("simgrid-xml", &topology, &mut *routing(&topology)).unwrap();
        let again = platform(&text).topology;
        for &host in &hosts(&topology) {
            let same = again.find_node(topology.node_name(host)).unwrap();
            prop_assert_eq!(topology.memory_type(host), again.memory_type(same));
            let rate = |t: &Topology, node| {
                t.compute_type(node).map(|c| (c.rate_flop_per_s[Precision::Fp32.index()], c.cores))
            };
            prop_assert_eq!(rate(&topology, host), rate(&again, same));
            let home = |t: &Topology, node| t.home_memory(node).map(|home| t.node_name(home).to_owned());
            prop_assert_eq!(home(&topology, host), home(&again, same));
        }
        let again = Arc::new(again);
        assert_same_routes(&topology, &again);
        // and once more from what was read
        let twice = platform(&io::write("simgrid-xml", &again, &mut *routing(&again)).unwrap()).topology;
        assert_same_routes(&again, &Arc::new(twice));
    }

    #[test]
    fn a_large_machine_becomes_a_dijkstra_zone_of_its_cables(
        nodes in proptest::collection::vec(node(), 2..10),
        cables in proptest::collection::vec(cable(), 0..24),
    ) {
        // in SimGrid all nodes forward
        let of = |node: Node| Node {
            kind: if node.kind == 1 { 0 } else { node.kind },
            cores: node.cores + u32::from(node.cores.is_multiple_of(3)),
            ..node
        };
        let nodes: Vec<Node> = nodes.into_iter().map(of).collect();
        let topology = Arc::new(machine(&nodes, &cables));
        let options = ExportOptions { explicit_pairs: 0, ..ExportOptions::default() };
        prop_assume!(hosts(&topology).len() > 1);
        let text = simgrid::export::export(&topology, &mut *routing(&topology), &options).unwrap();
        prop_assert!(text.contains("routing=\"Dijkstra\""));
        let again = Arc::new(platform(&text).topology);
        let mut fewest = Dijkstra { by: Cost::Hops }.build(&topology).unwrap();
        let mut zone = routing(&again);
        for &src in &hosts(&topology) {
            for &dst in hosts(&topology).iter().filter(|&&dst| dst != src) {
                let (mut ours, mut theirs) = (Vec::new(), Vec::new());
                let find = |node| again.find_node(topology.node_name(node)).unwrap();
                let there = fewest.route(src, dst, 0, &mut ours).is_ok();
                prop_assert_eq!(zone.route(find(src), find(dst), 0, &mut theirs).is_ok(), there);
                prop_assert_eq!(ours.len(), theirs.len());
            }
        }
    }
}

#[test]
fn the_extra_latency_of_coordinates_becomes_a_link_of_its_own() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/simgrid-xml");
    let text = std::fs::read_to_string(folder.join("vivaldi.xml")).unwrap();
    let topology = Arc::new(platform(&text).topology);
    let again =
        Arc::new(platform(&io::write("simgrid-xml", &topology, &mut *routing(&topology)).unwrap()).topology);
    let (mut ours, mut theirs) = (routing(&topology), routing(&again));
    let total = |t: &Topology, routing: &mut dyn Routing, src: &str, dst: &str| {
        let mut links = Vec::new();
        let extra =
            routing.route(t.find_node(src).unwrap(), t.find_node(dst).unwrap(), 0, &mut links).unwrap();
        (extra + links.iter().map(|&link| t.link(link).latency).sum(), extra)
    };
    for (src, dst) in [("p1", "p2"), ("p2", "p3"), ("p3", "p3")] {
        let (before, extra) = total(&topology, &mut *ours, src, dst);
        assert!(extra > Duration::ZERO);
        assert_eq!(total(&again, &mut *theirs, src, dst), (before, Duration::ZERO));
    }
}

#[test]
fn profiles_and_settings_survive_a_platform_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/simgrid-xml");
    for name in ["profile.xml", "units.xml"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let before = platform(&text);
        let topology = Arc::new(before.topology);
        let after = platform(&io::write("simgrid-xml", &topology, &mut *routing(&topology)).unwrap());
        assert_eq!(after.topology.link(after.loopback), topology.link(before.loopback));
        let named = |t: &Topology| -> Vec<String> {
            let links = t.profiles().links.iter().map(|(&link, p)| format!("{} {p:?}", t.link_name(link)));
            links
                .chain(t.profiles().nodes.iter().map(|(&node, p)| format!("{} {p:?}", t.node_name(node))))
                .collect()
        };
        assert_eq!(named(&after.topology), named(&topology));
        assert_eq!(named(&topology).is_empty(), name == "units.xml");
    }
}

#[test]
fn dimensions_and_class_names_survive_the_graph_formats() {
    let spec: stratasim_topo::TopologySpec =
        serde_json::from_str(r#"{"kind": "hcsim-cxl", "xpus": 256}"#).unwrap();
    let context =
        stratasim_topo::BuildContext { base: ".".into(), ..stratasim_topo::BuildContext::default() };
    let topology = Arc::new(spec.plugin().build(&context).unwrap());
    assert!(!topology.dimensions().is_empty());
    for format in ["networkx-json", "graphml"] {
        let text = io::write(format, &topology, &mut *routing(&topology)).unwrap();
        let again =
            if format == "graphml" { graphml::import(&text, "x") } else { networkx::import(&text) }.unwrap();
        assert_same(&topology, &again);
    }
}

/// Processors that compute are no part of the extents of the accelerators, which no file can say.
#[test]
fn a_machine_with_computing_processors_is_read_back() {
    let spec = r#"{"kind": "hcsim-cxl", "xpus": 8, "xpus-per-server": 2, "servers-per-rack": 2, "cpu": {}}"#;
    let spec: stratasim_topo::TopologySpec = serde_json::from_str(spec).unwrap();
    let context =
        stratasim_topo::BuildContext { base: ".".into(), ..stratasim_topo::BuildContext::default() };
    let topology = Arc::new(spec.plugin().build(&context).unwrap());
    for format in ["networkx-json", "graphml"] {
        let text = io::write(format, &topology, &mut *routing(&topology)).unwrap();
        let again =
            if format == "graphml" { graphml::import(&text, "x") } else { networkx::import(&text) }.unwrap();
        assert_eq!(again.compute_nodes(), topology.compute_nodes());
        assert!(again.dimensions().is_empty());
    }
}

#[test]
fn cables_that_a_large_platform_does_not_use_are_told() {
    let machine = |leaves, parallel| {
        let spec = format!(
            r#"{{"kind": "leaf-spine", "leaves": {leaves}, "spines": 1, "hosts-per-leaf": 10, "parallel": {parallel}, "bandwidth": "1 GB/s", "latency": "1 us"}}"#
        );
        let spec: stratasim_topo::TopologySpec = serde_json::from_str(&spec).unwrap();
        spec.plugin().build(&stratasim_topo::BuildContext::default()).unwrap()
    };
    let note = io::unused("simgrid-xml", &machine(46, 4)).unwrap();
    assert!(note.contains("276 links beside others"), "{note}");
    assert_eq!(io::unused("graphml", &machine(46, 4)), None);
    assert_eq!(io::unused("simgrid-xml", &machine(46, 1)), None);
    assert_eq!(io::unused("simgrid-xml", &machine(40, 4)), None);
}

#[test]
fn a_graph_format_refuses_what_it_cannot_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/simgrid-xml");
    for (name, part) in [("profile.xml", "change over time"), ("dijkstra.xml", "has no ends")] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let topology = Arc::new(platform(&text).topology);
        for format in ["networkx-json", "graphml"] {
            let error = io::write(format, &topology, &mut *routing(&topology)).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("simgrid-xml"), "{error}");
        }
    }
    let topology = Arc::new(machine(&[], &[]));
    let error = io::write("graphxml", &topology, &mut *routing(&topology)).unwrap_err().to_string();
    assert!(error.contains("did you mean `graphml`?"), "{error}");
}
