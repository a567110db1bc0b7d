//! Cards in place of compute nodes: ways within a card and between cards.

use crate::support::{Router, build, refusal};
use stratasim_core::NodeId;
use stratasim_topo::{NodeKind, Topology};

fn cards(card: &str) -> String {
    format!(
        r#"{{"kind": "cards", "card": "{card}", "of": {{"kind": "fat-tree", "k": 4, "bandwidth": "50 GB/s", "latency": "1 us"}}}}"#
    )
}

fn names(router: &mut Router, from: &str, to: &str) -> Vec<String> {
    let topology = router.topology.clone();
    let node = |name: &str| topology.find_node(name).unwrap_or_else(|| panic!("no {name}"));
    let links = router.route(node(from), node(to), 0);
    links.into_iter().map(|link| topology.link_name(link)).collect()
}

#[test]
fn what_stays_on_a_card_never_leaves_it() {
    let mut router = Router::new(&cards("four"));
    let way = names(&mut router, "host-3.cg-0", "host-3.cg-2");
    assert_eq!(way, ["host-3.cg-0->host-3.ring", "host-3.ring->host-3.cg-2"]);
    assert_eq!(names(&mut router, "host-3.cg-0", "host-3.global-0"), ["host-3.cg-0->host-3.global-0"]);
    assert_eq!(names(&mut router, "host-3.global-0", "host-3.cg-0"), ["host-3.global-0->host-3.cg-0"]);
    // on a bus everything crosses the one link that all share
    let mut router = Router::new(&cards("bus"));
    let way = names(&mut router, "host-3.cg-0", "host-3.cg-2");
    assert_eq!(
        way,
        ["host-3.cg-0->host-3.ring", "host-3.ring->host-3.ring-out", "host-3.ring-out->host-3.cg-2"]
    );
}

#[test]
fn between_cards_the_inner_rule_leads_and_a_search_finds_nothing_shorter() {
    for card in ["four", "bus"] {
        let mut ruled = Router::new(&cards(card));
        let mut searched = Router::with(&cards(card), r#"{"kind": "dijkstra"}"#);
        let topology = ruled.topology.clone();
        let latency =
            |links: &[_]| -> u64 { links.iter().map(|&link| topology.link(link).latency.as_ps()).sum() };
        for &src in &topology.compute_nodes()[..4] {
            for &dst in topology.compute_nodes().iter().step_by(7) {
                let (rule, search) = (ruled.route(src, dst, 1), searched.route(src, dst, 1));
                assert_eq!((rule.len(), latency(&rule)), (search.len(), latency(&search)));
                connected(&topology, src, dst, &rule);
            }
        }
        let way = names(&mut ruled, "host-0.cg-1", "host-1.cg-0");
        assert!(way[way.len() - 2..].iter().all(|link| link.starts_with("host-1.")) || card == "four");
        assert!(
            way.iter().any(|link| link.contains("->host-0"))
                && way.iter().any(|link| link.contains("host-1->"))
        );
    }
}

fn connected(topology: &Topology, src: NodeId, dst: NodeId, links: &[stratasim_core::LinkId]) {
    let mut at = src;
    for &link in links {
        let [from, to] = topology.link(link).ends.unwrap();
        assert_eq!(from, at);
        at = to;
    }
    assert_eq!(at, dst);
}

#[test]
fn a_card_brings_groups_memory_and_dimensions() {
    let topology = build(&cards("four")).unwrap();
    assert_eq!(topology.compute_nodes().len(), 64);
    assert_eq!(topology.dimensions()[0], 4);
    assert_eq!(topology.dimensions().iter().product::<u32>(), 64);
    let host = topology.find_node("host-5").unwrap();
    assert_eq!(topology.kind(host), NodeKind::Switch);
    let card = topology.grouping("card").unwrap();
    for (at, &group) in topology.compute_nodes().iter().enumerate() {
        let memory = topology.home_memory(group).unwrap();
        assert_eq!(card[group.index()], at as u32 / 4);
        assert_eq!(card[memory.index()], at as u32 / 4);
        assert_eq!(topology.memory_type(memory).unwrap().capacity_bytes, Some(1 << 32));
        assert_eq!(topology.compute_type(group).unwrap().kernels.launch.as_ps(), 25_000_000);
    }
}

#[test]
fn only_the_named_nodes_become_cards() {
    let spec = cards("four").replace("\"of\"", "\"nodes\": [\"host-1\", \"host-?5\"], \"of\"");
    let topology = build(&spec).unwrap();
    // 16 hosts, two of which are four groups each; those that stay come first
    assert_eq!(topology.compute_nodes().len(), 14 + 2 * 4);
    assert_eq!(topology.node_name(topology.compute_nodes()[1]), "host-2");
    assert_eq!(topology.node_name(topology.compute_nodes()[14]), "host-1.cg-0");
    assert!(topology.dimensions().is_empty());
    let kind = |name: &str| topology.kind(topology.find_node(name).unwrap());
    assert_eq!(kind("host-15"), NodeKind::Switch);
    assert!(matches!(kind("host-14"), NodeKind::Compute(_)));
    let mut router = Router::new(&spec);
    let way = names(&mut router, "host-0", "host-1.cg-2");
    assert_eq!(way[way.len() - 2..], ["host-1->host-1.ring", "host-1.ring->host-1.cg-2"]);
    let mut searched = Router::with(&spec, r#"{"kind": "dijkstra"}"#);
    for &src in topology.compute_nodes() {
        for &dst in topology.compute_nodes() {
            assert_eq!(router.route(src, dst, 0).len(), searched.route(src, dst, 0).len());
        }
    }
    let error = refusal(&spec.replace("host-?5", "host-55"));
    assert!(error.starts_with("nodes.1: no node matches `host-55`, did you mean"), "{error}");
    let error = refusal(&spec.replace("\"host-1\", \"host-?5\"", "\"edge-*\""));
    assert!(error.starts_with("nodes"), "{error}");
}

#[test]
fn cards_are_not_put_where_memory_nodes_are() {
    let error = refusal(r#"{"kind": "cards", "card": "four", "of": {"kind": "hcsim-cxl", "xpus": 16}}"#);
    assert!(error.starts_with("of: its compute nodes have memory nodes"), "{error}");
    let spec: stratasim_topo::TopologySpec = serde_json::from_str(&cards("four")).unwrap();
    let error = spec.plugin().build(&stratasim_topo::BuildContext::default()).unwrap_err().to_string();
    assert!(error.starts_with("card: no cards are known here"), "{error}");
}
