//! Topologies made from topologies: scaled, degraded, cut, with other compute nodes.

use std::collections::BTreeSet;

use crate::support::{Router, build, refusal};
use stratasim_core::random::Streams;
use stratasim_core::registry::Entry;
use stratasim_core::{Bandwidth, LinkId, NodeId};
use stratasim_topo::generators::scaled::Scaled;
use stratasim_topo::routing::RoutingSpec;
use stratasim_topo::{BuildContext, Structure, Topology, TopologySpec};

const TREE: &str = r#"{"kind": "fat-tree", "k": 4, "bandwidth": "1 GB/s", "latency": "1 us"}"#;
const MACHINE: &str = r#"{"kind": "hcsim-cxl", "xpus": 256}"#;

fn combine(kind: &str, rest: &str, of: &str) -> String {
    format!(r#"{{"kind": "{kind}", {rest}, "of": {of}}}"#)
}

fn slowed(topology: &Topology, full: f64) -> BTreeSet<LinkId> {
    (0..topology.link_count())
        .map(LinkId::from_index)
        .filter(|&link| topology.link(link).bandwidth != Bandwidth(full))
        .collect()
}

#[test]
fn scaling_touches_the_chosen_links_only() {
    let mut machine = Router::new(&combine(
        "scaled",
        r#""bandwidth": 0.5, "latency": 10, "links": ["cx-*", "cr-1-up"]"#,
        MACHINE,
    ));
    let plain = build(MACHINE).unwrap();
    let mut changed = 0;
    for id in (0..plain.link_count()).map(LinkId::from_index) {
        let (old, new, name) = (plain.link(id), machine.topology.link(id), plain.link_name(id));
        let factor = if name.starts_with("cx-") || name == "cr-1-up" { (0.5, 10) } else { (1.0, 1) };
        changed += usize::from(factor.1 == 10);
        assert_eq!(new.bandwidth.bytes_per_s(), old.bandwidth.bytes_per_s() * factor.0, "{name}");
        assert_eq!(new.latency.as_ps(), old.latency.as_ps() * factor.1, "{name}");
    }
    assert_eq!(changed, 2 * 256 + 1);
    // the machine's rule stays
    assert_eq!(machine.names("xpu-0", "xpu-200"), ["cx-0-up", "cr-0-up", "cr-1-down", "cx-200-down"]);
    assert_eq!(machine.topology.dimensions(), [8, 16, 2]);
}

#[test]
fn scaling_may_choose_by_what_the_links_join() {
    let tree = build(&combine("scaled", r#""bandwidth": 4, "between": ["switch", "switch"]"#, TREE)).unwrap();
    for link in tree.links() {
        let hosts = link.ends.unwrap().iter().any(|&node| tree.compute_type(node).is_some());
        assert_eq!(link.bandwidth, Bandwidth(if hosts { 1e9 } else { 4e9 }));
    }
}

#[test]
fn a_fraction_of_the_cables_is_degraded_as_the_seed_says() {
    let degrade = |seed: u64, of: &str| {
        let spec = combine("degraded", &format!(r#""factor": 0.25, "fraction": 0.1, "seed": {seed}"#), of);
        slowed(&build(&spec).unwrap(), 1e9)
    };
    let first = degrade(1, TREE);
    // 48 cables, 4.8 rounded, both directions of each
    assert_eq!(first.len(), 2 * 5);
    let tree = build(TREE).unwrap();
    assert!(first.iter().all(|&link| first.contains(&tree.link(link).reverse.unwrap())));
    assert_eq!(first, degrade(1, TREE));
    assert_ne!(first, degrade(2, TREE));
    // a second draw around the first is a draw of its own
    let twice = degrade(1, &combine("degraded", r#""factor": 0.25, "fraction": 0.1, "seed": 1"#, TREE));
    assert!(twice.len() > 10, "{twice:?}");
}

#[test]
fn without_a_seed_of_its_own_a_draw_follows_the_run() {
    let spec: TopologySpec =
        serde_json::from_str(&combine("degraded", r#""factor": 0.5, "fraction": 0.2"#, TREE)).unwrap();
    let draw = |seed| {
        let context = BuildContext { streams: Streams::new(seed), ..BuildContext::default() };
        slowed(&spec.plugin().build(&context).unwrap(), 1e9)
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn one_direction_may_be_degraded_by_name() {
    let tree =
        build(&combine("degraded", r#""factor": 0.5, "links": ["edge-0->aggregation-?"]"#, TREE)).unwrap();
    let names: Vec<String> = slowed(&tree, 1e9).into_iter().map(|link| tree.link_name(link)).collect();
    assert_eq!(names, ["edge-0->aggregation-0", "edge-0->aggregation-1"]);
    assert!(matches!(tree.structure(), Structure::Ruled(_)));
}

#[test]
fn what_is_removed_is_gone_and_the_rest_keeps_its_place() {
    let rest = r#""nodes": ["xpu-3", "nic-1", "cxl-switch-0"], "links": ["cx-20*-up"]"#;
    let mut cut = Router::new(&combine("without", rest, MACHINE));
    let (plain, topology) = (build(MACHINE).unwrap(), cut.topology.clone());
    assert_eq!(topology.node_count(), plain.node_count() - 3);
    // xpu-3 has three cables, nic-1 two; cxl-switch-0 joins 128 memories, 127 other accelerators and
    // the core; cx-20 is one of those, cx-200 to cx-209 lose one direction
    let gone = 2 * (3 + 2 + 128 + 127 + 1) + 10;
    assert_eq!(topology.link_count(), plain.link_count() - gone);
    let node = |name: &str| topology.find_node(name).unwrap();
    assert_eq!(topology.find_node("xpu-3"), None);
    assert_eq!(topology.compute_nodes().len(), 255);
    assert_eq!(topology.home_memory(node("xpu-4")), Some(node("memory-4")));
    assert_eq!(topology.grouping("rack").unwrap()[node("xpu-130").index()], 1);
    assert_eq!(topology.grouping("server").unwrap()[node("xpu-9").index()], 1);
    assert!(topology.structure().geometry().is_none());
    assert!(topology.dimensions().is_empty());
    assert_eq!(topology.find_link("cx-203-up"), None);
    let back = topology.link(topology.find_link("cx-203-down").unwrap());
    assert_eq!((back.reverse, back.ends), (None, Some([node("cxl-switch-1"), node("xpu-203")])));
    // without its CXL switch, rack 0 still has its accelerator switches
    assert_eq!(cut.names("xpu-2", "xpu-4"), ["xl-2-up", "xl-4-down"]);
    assert_eq!(cut.names("xpu-130", "xpu-140"), ["cx-130-up", "cx-140-down"]);
    for link in topology.links() {
        if let Some(reverse) = link.reverse {
            assert_eq!(topology.link(reverse).ends, link.ends.map(|[a, b]| [b, a]));
        }
    }
}

#[test]
fn a_fraction_of_links_and_switches_is_removed_and_routes_go_round() {
    let spec = combine(
        "without",
        r#""fraction-of-links": 0.1, "fraction-of-switches": 0.1, "seed": 5"#,
        r#"{"kind": "torus", "dimensions": [6, 6], "hosts-per-switch": 1, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
    );
    let mut torus = Router::new(&spec);
    // 36 + 72 cables and 36 routers; at most 5 cables per lost router go too
    assert_eq!(torus.topology.node_count(), 72 - 4);
    assert!((2 * (108 - 11 - 20)..=2 * (108 - 11)).contains(&torus.topology.link_count()));
    assert_eq!(torus.topology.dimensions(), [6, 6]);
    let again = build(&spec).unwrap();
    assert_eq!(torus.topology.links(), again.links());
    let hosts: Vec<NodeId> = torus
        .topology
        .compute_nodes()
        .iter()
        .copied()
        .filter(|&h| !torus.topology.ports(h).is_empty())
        .collect();
    for &src in &hosts {
        for &dst in &hosts {
            torus.route(src, dst, 0);
        }
    }
}

#[test]
fn ways_that_are_whole_stay_and_the_others_are_spread() {
    let tree = r#"{"kind": "fat-tree", "k": 8, "bandwidth": "1 GB/s", "latency": "1 us"}"#;
    let lost = r#""nodes": ["host-5", "core-3"], "links": ["aggregation-0->core-0"]"#;
    let (mut whole, mut cut) = (Router::new(tree), Router::new(&combine("without", lost, tree)));
    let names = |topology: &Topology| -> Vec<String> {
        topology.compute_nodes().iter().map(|&node| topology.node_name(node).to_owned()).collect()
    };
    let hosts = names(&cut.topology);
    assert_eq!(hosts.len(), 127);
    let (mut stayed, mut moved) = (0, 0);
    let mut load: std::collections::BTreeMap<String, u32> = Default::default();
    for src in &hosts {
        for dst in hosts.iter().filter(|dst| *dst != src) {
            let (before, after) = (whole.names(src, dst), cut.names(src, dst));
            if before.iter().all(|link| cut.topology.find_link(link).is_some()) {
                assert_eq!(before, after);
                stayed += 1;
            } else {
                assert_eq!(after.len(), 6, "over another core switch: {after:?}");
                moved += 1;
                for link in after {
                    *load.entry(link).or_default() += 1;
                }
            }
        }
    }
    // a core switch of 16 carries its sixteenth, the link that of the ways out of a pod to its hosts
    assert!(stayed > 14_000 && moved > 900, "{stayed} {moved}");
    let most = load.iter().filter(|(link, _)| link.contains("core")).map(|(_, load)| *load).max().unwrap();
    assert!(most < 30, "ways out of the lost ones meet: {most} of {moved} over one link");
}

#[test]
fn nothing_removed_changes_nothing() {
    let tree = build(&combine("without", r#""fraction-of-links": 0"#, TREE)).unwrap();
    assert_eq!(tree.links(), build(TREE).unwrap().links());
    assert!(matches!(tree.structure(), Structure::Ruled(_)));
}

#[test]
fn a_rack_gets_other_accelerators() {
    let mixed = build(&combine(
        "with-compute",
        r#""compute": "A100", "grouping": "rack", "groups": [1], "nodes": ["xpu-7"]"#,
        MACHINE,
    ))
    .unwrap();
    let names: Vec<&str> =
        mixed.compute_nodes().iter().map(|&n| mixed.compute_type(n).unwrap().name.as_str()).collect();
    for (g, name) in names.into_iter().enumerate() {
        assert_eq!(name, if g == 7 || g >= 128 { "A100" } else { "H100" }, "xpu-{g}");
    }
    // switches and memories of the rack stay what they are
    assert_eq!(mixed.compute_nodes().len(), 256);
    assert_eq!(mixed.links(), build(MACHINE).unwrap().links());
}

#[test]
fn a_core_group_with_other_rates_keeps_what_its_card_costs() {
    let switch = r#"{"kind": "single-switch", "nodes": 1, "bandwidth": "1 GB/s", "latency": "1 us"}"#;
    let card = combine("cards", r#""card": "sw-ai""#, switch);
    let own = combine("cards", r#""card": "sw-ai", "compute": "A100""#, switch);
    let groups = combine("with-compute", r#""compute": "A100", "nodes": ["host-0.cg-*"]"#, &card);
    let [card, own, groups] = [card, own, groups].map(|spec| build(&spec).unwrap());
    let types = |machine: &Topology| {
        machine
            .compute_nodes()
            .iter()
            .map(|&node| machine.compute_type(node).unwrap().clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(types(&groups), types(&own));
    assert_ne!(types(&groups), types(&card));
}

#[test]
fn combinators_nest() {
    let spec = combine(
        "with-compute",
        r#""compute": "V100", "nodes": ["host-1"]"#,
        &combine("scaled", r#""latency": 2"#, &combine("without", r#""nodes": ["core-0"]"#, TREE)),
    );
    let mut tree = Router::new(&spec);
    assert_eq!(tree.topology.find_node("core-0"), None);
    assert!((tree.seconds("host-0", "host-15") - 12e-6).abs() < 1e-15);
    let types = [0, 1].map(|host| tree.topology.compute_type(NodeId(host)).unwrap().name.clone());
    assert_eq!(types, ["H100", "V100"]);
}

#[test]
fn impossible_changes_are_refused_with_the_place() {
    for (kind, rest, of, expected) in [
        ("scaled", r#""bandwidth": 0"#, TREE, "bandwidth: a factor of the rate is more than zero, got 0"),
        ("scaled", r#""latency": -1"#, TREE, "latency: a factor of the latency is not negative, got -1"),
        ("scaled", r#""latency": 1e300"#, TREE, "latency: a link gets a latency of more than 213 days"),
        ("scaled", r#""links": ["edge-*", "egde-0->*"]"#, TREE, "links.1: no link matches `egde-0->*`"),
        (
            "scaled",
            r#""between": ["memory", "switch"]"#,
            TREE,
            "between: no chosen link joins a memory node with a switch node",
        ),
        (
            "scaled",
            r#""latency": 1"#,
            r#"{"kind": "ring", "nodes": 1, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
            "of.nodes: a ring needs two, got 1",
        ),
        (
            "degraded",
            r#""factor": 0"#,
            TREE,
            "factor: is above 0 and at most 1, got 0; kind `without` removes links",
        ),
        ("degraded", r#""factor": 0.5"#, TREE, "links: say which links"),
        (
            "degraded",
            r#""factor": 0.5, "fraction": 1.5"#,
            TREE,
            "fraction: a fraction is from 0 to 1, got 1.5",
        ),
        ("degraded", r#""factor": 0.5, "fraction": 0.5, "links": ["*"]"#, TREE, "fraction: give either"),
        ("without", r#""nodes": ["spine-0"]"#, TREE, "nodes.0: no node matches `spine-0`"),
        ("without", r#""nodes": ["host-*"]"#, TREE, "nodes: no compute node is left"),
        (
            "without",
            r#""fraction-of-switches": -0.1"#,
            TREE,
            "fraction-of-switches: a fraction is from 0 to 1",
        ),
        ("with-compute", r#""compute": "A100""#, TREE, "nodes: say which nodes"),
        (
            "with-compute",
            r#""compute": "A1000", "nodes": ["*"]"#,
            TREE,
            "compute: unknown compute type `A1000`",
        ),
        (
            "with-compute",
            r#""compute": "A100", "grouping": "row", "groups": [0]"#,
            TREE,
            "grouping: this topology has no grouping `row` (it has: pod, rack)",
        ),
        ("with-compute", r#""compute": "A100", "grouping": "rack""#, TREE, "groups: say which groups"),
        ("with-compute", r#""compute": "A100", "groups": [0]"#, TREE, "grouping: say what the groups are"),
        (
            "with-compute",
            r#""compute": "A100", "grouping": "rack", "groups": [0, 99]"#,
            TREE,
            "groups.1: there is no rack 99",
        ),
        (
            "with-compute",
            r#""compute": "A100", "nodes": ["core-*"]"#,
            TREE,
            "none of the chosen nodes computes",
        ),
    ] {
        let message = refusal(&combine(kind, rest, of));
        assert!(message.starts_with(expected), "{kind} {rest}: {message}");
    }
}

#[test]
fn nesting_is_bounded() {
    let nest = |levels: usize| {
        (0..levels).fold(serde_json::from_str::<TopologySpec>(TREE).unwrap(), |of, _| {
            TopologySpec::Scaled(Scaled {
                of: Box::new(of),
                bandwidth: 1.0,
                latency: 1.0,
                links: Vec::new(),
                between: None,
            })
        })
    };
    assert!(nest(64).plugin().build(&BuildContext::default()).is_ok());
    let error = nest(65).plugin().build(&BuildContext::default()).unwrap_err();
    assert_eq!(error.to_string(), "of: topologies are nested deeper than 64");
    // from text the reader stops first, long before the stack does
    let text = format!("{}{TREE}{}", r#"{"kind": "scaled", "of": "#.repeat(100_000), "}".repeat(100_000));
    assert!(serde_json::from_str::<TopologySpec>(&text).is_err());
}

fn check_schema(schema: schemars::Schema, kinds: &[&str], entries: &[Entry]) {
    let schema = schema.to_value();
    let listed = schema["oneOf"].as_array().unwrap();
    let tables: Vec<_> = listed.iter().filter(|schema| schema["type"] != "string").collect();
    assert_eq!(tables.len(), kinds.len());
    for (schema, kind) in tables.iter().zip(kinds) {
        assert!(schema.to_string().contains(&format!(r#""const":"{kind}""#)), "{kind}");
    }
    for entry in entries {
        let schema = (entry.schema)(&mut schemars::SchemaGenerator::default()).to_value();
        let help = schema["description"].as_str().unwrap_or_default();
        assert!(help.len() > 40, "{} has no help", entry.kind);
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            assert!(schema["description"].is_string(), "{}.{field} has no help", entry.kind);
        }
    }
}

#[test]
fn the_schemas_are_finite_and_explain_every_field() {
    check_schema(schemars::schema_for!(TopologySpec), TopologySpec::KINDS, TopologySpec::ENTRIES);
    check_schema(schemars::schema_for!(RoutingSpec), RoutingSpec::KINDS, RoutingSpec::ENTRIES);
}
