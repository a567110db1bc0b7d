//! Trees: D-mod-K against SimGrid's fat tree, even spreading, sizes, refusals.

use crate::support::{Router, build, refusal};
use stratasim_core::{Bandwidth, LinkId};

/// SimGrid's own routes for `FAT_TREE "2;4,4;1,2;1,2"`: parent and cable of the way up by the
/// destination, cable of the way down by the source (reference platform `fattree`).
#[test]
fn ports_are_chosen_as_simgrid_chooses_them() {
    let mut tree = Router::new(
        r#"{"kind": "fat-tree", "down": [4, 4], "up": [1, 2], "parallel": [1, 2], "bandwidth": "125 MB/s", "latency": "50 us"}"#,
    );
    let rows = [
        (0, 10, ["host-0->leaf-0", "leaf-0->spine-0#1", "spine-0->leaf-2#0", "leaf-2->host-10"]),
        (0, 11, ["host-0->leaf-0", "leaf-0->spine-1#1", "spine-1->leaf-2#0", "leaf-2->host-11"]),
        (0, 4, ["host-0->leaf-0", "leaf-0->spine-0#0", "spine-0->leaf-1#0", "leaf-1->host-4"]),
        (0, 5, ["host-0->leaf-0", "leaf-0->spine-1#0", "spine-1->leaf-1#0", "leaf-1->host-5"]),
        (5, 0, ["host-5->leaf-1", "leaf-1->spine-0#0", "spine-0->leaf-0#1", "leaf-0->host-0"]),
        (5, 3, ["host-5->leaf-1", "leaf-1->spine-1#1", "spine-1->leaf-0#1", "leaf-0->host-3"]),
        (5, 14, ["host-5->leaf-1", "leaf-1->spine-0#1", "spine-0->leaf-3#1", "leaf-3->host-14"]),
    ];
    for (src, dst, expected) in rows {
        assert_eq!(tree.names(&format!("host-{src}"), &format!("host-{dst}")), expected);
    }
    assert_eq!(tree.names("host-4", "host-7"), ["host-4->leaf-1", "leaf-1->host-7"]);
    // a pair that up/down does not cover is searched
    assert_eq!(tree.names("spine-1", "host-7").len(), 2);
}

/// In a full k-ary tree the `N (N - c)` routes that climb through a level (c hosts per subtree below
/// it) spread evenly: each of its N up-links carries N - c.
#[test]
fn all_pairs_load_every_link_of_a_level_alike() {
    for (spec, subtrees) in [
        (r#"{"kind": "fat-tree", "k": 6, "bandwidth": "1 GB/s", "latency": "1 us"}"#, vec![1, 3, 9]),
        (
            r#"{"kind": "k-ary-n-tree", "k": 2, "n": 4, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
            vec![1, 2, 4, 8],
        ),
    ] {
        let mut tree = Router::new(spec);
        let hosts = tree.topology.compute_nodes().len();
        let load = tree.load();
        for (level, below) in subtrees.into_iter().enumerate() {
            for cable in level * hosts..(level + 1) * hosts {
                assert_eq!(load[2 * cable], (hosts - below) as u32, "up, level {level}");
                assert_eq!(load[2 * cable + 1], (hosts - below) as u32, "down, level {level}");
            }
        }
    }
}

#[test]
fn oversubscription_is_a_ratio_of_rates_at_the_leaf() {
    let ratio = |spec: &str, leaf: &str| {
        let topology = build(spec).unwrap();
        let leaf = topology.find_node(leaf).unwrap();
        let (mut down, mut up) = (0.0, 0.0);
        for port in topology.ports(leaf) {
            let rate = topology.link(port.link).bandwidth.bytes_per_s();
            *(if topology.compute_type(port.to).is_some() { &mut down } else { &mut up }) += rate;
        }
        down / up
    };
    let spine = r#"{"kind": "leaf-spine", "leaves": 4, "spines": 3, "parallel": 2, "hosts-per-leaf": 16, "bandwidth": "10 Gbps", "latency": "1 us", "oversubscription": 4}"#;
    assert!((ratio(spine, "leaf-0") - 4.0).abs() < 1e-12);
    let tree = r#"{"kind": "fat-tree", "k": 48, "oversubscription": 1.5, "bandwidth": "10 Gbps", "latency": "1 us"}"#;
    assert_eq!(ratio(tree, "edge-7"), 1.5);
    let flat = r#"{"kind": "fat-tree", "k": 8, "levels": 1, "oversubscription": 2, "bandwidth": "1 GB/s", "latency": "1 us"}"#;
    assert!(refusal(flat).contains("no uplinks"), "{}", refusal(flat));
}

#[test]
fn levels_may_have_rates_of_their_own() {
    let mut tree = Router::new(
        r#"{"kind": "fat-tree", "k": 4, "bandwidth": "1 GB/s", "latency": "1 us", "level-bandwidth": ["1 GB/s", "2 GB/s", "4 GB/s"]}"#,
    );
    let rates: Vec<Bandwidth> =
        tree.links("host-0", "host-15").iter().map(|&l: &LinkId| tree.topology.link(l).bandwidth).collect();
    assert_eq!(rates, [1e9, 2e9, 4e9, 4e9, 2e9, 1e9].map(Bandwidth));
}

#[test]
fn racks_and_pods_follow_the_wiring() {
    let topology =
        build(r#"{"kind": "fat-tree", "k": 4, "bandwidth": "1 GB/s", "latency": "1 us"}"#).unwrap();
    let group = |grouping: &str, node: &str| {
        topology.grouping(grouping).unwrap()[topology.find_node(node).unwrap().index()]
    };
    assert_eq!([group("rack", "host-5"), group("rack", "edge-2")], [2, 2]);
    assert_eq!([group("pod", "host-5"), group("pod", "edge-2"), group("pod", "aggregation-3")], [1, 1, 1]);
    assert_eq!(group("pod", "core-0"), stratasim_topo::graph::NO_GROUP);
    assert_eq!(topology.dimensions(), [2, 2, 4]);
    // every cable between hosts, edges and aggregations stays inside its pod
    let pods = topology.grouping("pod").unwrap();
    for link in topology.links() {
        let [a, b] = link.ends.unwrap().map(|node| pods[node.index()]);
        assert!(a == b || a == stratasim_topo::graph::NO_GROUP || b == stratasim_topo::graph::NO_GROUP);
    }
}

#[test]
fn impossible_trees_are_refused_with_a_remedy() {
    let tree = |rest: &str| {
        refusal(&format!(r#"{{"kind": "fat-tree", "bandwidth": "1 GB/s", "latency": "1 us"{rest}}}"#))
    };
    for (rest, expected) in [
        ("", "k: a fat tree needs its size"),
        (r#", "k": 5"#, "k: switches need an even number of ports, got 5"),
        (r#", "k": 4, "down": [2]"#, "k: give either `k` or the lists"),
        (r#", "k": 4, "levels": 99"#, "levels: a tree has 1 to 16 levels, not 99"),
        (r#", "k": 8, "oversubscription": 3"#, "oversubscription: 3 leaves 1.33"),
        (r#", "k": 8, "oversubscription": 0"#, "oversubscription: 0 leaves inf"),
        (r#", "k": 40000"#, "k: this asks for 16000000000000 hosts, at most"),
        (r#", "k": 4000000000, "levels": 16"#, "k: this asks for more than 2^64 hosts"),
        (r#", "down": [4, 4], "up": [1]"#, "up: `down` has 2 levels, `up` has 1"),
        (r#", "down": [4, 0], "up": [1, 1]"#, "down: level 2 needs at least one child"),
        (
            r#", "down": [4, 4], "up": [1, 1], "parallel": [1]"#,
            "parallel: the tree has 2 levels, this list 1",
        ),
        (r#", "down": [4, 4], "up": [1, 4000000000], "parallel": [1, 4000000000]"#, "up: "),
        (r#", "down": [0], "up": [2]"#, "down: level 1 needs at least one child"),
        (r#", "down": [4, 4000000000], "up": [1, 40000]"#, "down: "),
        (r#", "k": 4, "level-latency": ["1 us"]"#, "level-latency: the tree has 3 levels"),
        (r#", "down": [4], "up": [1], "oversubscription": 2"#, "oversubscription: goes with `k`"),
    ] {
        assert!(tree(rest).starts_with(expected), "{rest}: {}", tree(rest));
    }
    assert!(
        refusal(r#"{"kind": "k-ary-n-tree", "k": 4, "n": 0, "bandwidth": "1 GB/s", "latency": "1 us"}"#)
            .starts_with("n: ")
    );
    assert!(
        refusal(r#"{"kind": "single-switch", "nodes": 0, "bandwidth": "1 GB/s", "latency": "1 us"}"#)
            .starts_with("nodes: ")
    );
    let both = r#"{"kind": "leaf-spine", "leaves": 1, "spines": 1, "hosts-per-leaf": 1, "bandwidth": "1 GB/s", "latency": "1 us", "uplink-bandwidth": "1 GB/s", "oversubscription": 1}"#;
    assert!(refusal(both).starts_with("oversubscription: "));
    for (key, value) in [("leaves", "4000000000"), ("spines", "4000000000"), ("hosts-per-leaf", "4000000000")]
    {
        let spec = both.replace(", \"oversubscription\": 1", "");
        let refused = refusal(&spec.replace(&format!("\"{key}\": 1"), &format!("\"{key}\": {value}")));
        assert!(refused.starts_with(&format!("{key}: ")), "{refused}");
    }
}
