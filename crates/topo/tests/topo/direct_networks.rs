//! Grids, HyperX and dragonflies: routes by hand, even loads, refusals.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Router, build, refusal};
use stratasim_core::{Bandwidth, NodeId};

const LINK: &str = r#""bandwidth": "1 GB/s", "latency": "1 us""#;

fn spec(kind: &str, rest: &str) -> String {
    format!(r#"{{"kind": "{kind}", {rest}, {LINK}}}"#)
}

#[test]
fn a_torus_goes_the_shorter_way_round_one_dimension_after_the_other() {
    let mut torus = Router::new(&spec("torus", r#""dimensions": [5, 3, 2]"#));
    // 23 = (3, 1, 1): two back along the first ring, one up along the second, across the third
    assert_eq!(
        torus.names("host-0", "host-23"),
        ["host-0->host-4", "host-4->host-3", "host-3->host-8", "host-8->host-23"]
    );
    assert_eq!(torus.names("host-29", "host-14"), ["host-29->host-14"]);
    let mut mesh = Router::new(&spec("mesh", r#""dimensions": [5, 3]"#));
    assert_eq!(mesh.names("host-4", "host-0").len(), 4);
    assert_eq!(
        mesh.names("host-11", "host-3"),
        ["host-11->host-12", "host-12->host-13", "host-13->host-8", "host-8->host-3"]
    );
}

#[test]
fn a_hypercube_corrects_the_lowest_bit_first() {
    let mut cube = Router::new(&spec("hypercube", r#""dimensions": 4"#));
    assert_eq!(
        cube.names("host-5", "host-10"),
        ["host-5->host-4", "host-4->host-6", "host-6->host-2", "host-2->host-10"]
    );
}

/// All pairs of a ring of n = 4 k: distances 1 to n/2 - 1 both ways, and n/2 split between the
/// directions, which is n^2 / 8 per link; in a torus times the nodes off the ring.
#[test]
fn all_pairs_load_a_torus_evenly() {
    for (extents, nodes) in [(vec![8], 8), (vec![4, 8], 32), (vec![4, 4, 4], 64)] {
        let dimensions = format!(r#""dimensions": {extents:?}"#);
        let mut torus = Router::new(&spec("torus", &dimensions));
        let load = torus.load();
        for (dimension, extent) in extents.iter().enumerate() {
            let expected = extent * extent / 8 * (nodes / extent);
            let links = &load[dimension * 2 * nodes as usize..(dimension + 1) * 2 * nodes as usize];
            assert!(links.iter().all(|&count| count == expected), "{extents:?} {dimension}: {links:?}");
        }
    }
}

/// How many of `pairs` each cable carries, one list for all cables from one node to another.
fn loads_of_parallel_cables(router: &mut Router, pairs: &[(u32, u32)]) -> Vec<Vec<u64>> {
    let mut count = vec![0; router.topology.links().len()];
    for &(from, to) in pairs {
        router.route(NodeId(from), NodeId(to), 0).iter().for_each(|link| count[link.index()] += 1);
    }
    let mut by_ends = BTreeMap::<_, Vec<u64>>::new();
    for (link, &count) in router.topology.links().iter().zip(&count) {
        by_ends.entry(link.ends.unwrap()).or_default().push(count);
    }
    by_ends.into_values().collect()
}

/// A ring or line with nothing beside it: where everybody sends as far, and between all pairs, parallel cables carry as much.
#[test]
fn symmetric_traffic_loads_parallel_cables_of_one_ring_or_line_alike() {
    let machines = (2..=20).flat_map(|nodes| (2..=6).map(move |cables| (nodes, cables)));
    for (nodes, cables) in machines {
        for shape in ["ring", "line"] {
            let dimension =
                format!(r#"{{"shape": "{shape}", "nodes": {nodes}, "parallel": {cables}, {LINK}}}"#);
            let mut router =
                Router::new(&format!(r#"{{"kind": "multi-dimensional", "dimensions": [{dimension}]}}"#));
            let mut all = Vec::new();
            for far in 1..nodes {
                let pairs: Vec<_> = (0..nodes).map(|from| (from, (from + far) % nodes)).collect();
                // numbers of cables follow one another all round
                let closes = shape == "ring" && nodes % (2 * cables) == 0;
                for loads in loads_of_parallel_cables(&mut router, &pairs) {
                    let even = loads.iter().sum::<u64>().div_ceil(u64::from(cables));
                    let most = even + u64::from(!closes);
                    assert!(loads.iter().all(|&load| load <= most), "{shape} {nodes}, {far} far: {loads:?}");
                }
                all.extend(pairs);
            }
            // where the nodes are no multiple of the cables, the row of cables breaks between the last node and the first
            let more = match shape {
                _ if nodes % cables == 0 => 1,
                "line" => 2,
                _ => 5,
            };
            for loads in loads_of_parallel_cables(&mut router, &all) {
                let even = loads.iter().sum::<u64>().div_ceil(u64::from(cables));
                assert!(
                    loads.iter().all(|&load| load <= even + more),
                    "{shape} {nodes}, all pairs: {loads:?}"
                );
            }
        }
    }
}

/// Between all pairs, where everybody sends as far, and from all to one: no cable stands idle beside one that several share.
#[test]
fn pairs_spread_over_parallel_cables() {
    let dimension = |shape: &str, nodes: u32, parallel: u32| {
        format!(r#"{{"shape": "{shape}", "nodes": {nodes}, "parallel": {parallel}, {LINK}}}"#)
    };
    let composed = |dimensions: &[String]| {
        format!(r#"{{"kind": "multi-dimensional", "dimensions": [{}]}}"#, dimensions.join(", "))
    };
    let inner = dimension("ring", 4, 2);
    for (text, hosts) in [
        (composed(&[inner.clone(), dimension("ring", 8, 2)]), 32),
        (composed(&[inner.clone(), dimension("switch", 8, 2)]), 32),
        (composed(&[inner.clone(), dimension("fully-connected", 6, 2)]), 24),
        (composed(&[dimension("switch", 8, 4), dimension("ring", 1, 2), dimension("switch", 8, 2)]), 64),
        (spec("hyperx", r#""dimensions": [4, 6], "parallel": [2, 2], "hosts-per-switch": 4"#), 96),
    ] {
        let mut router = Router::new(&text);
        let pair = |from, to| (from != to).then_some((from, to));
        let all: Vec<_> =
            (0..hosts).flat_map(|from| (0..hosts).filter_map(move |to| pair(from, to))).collect();
        for loads in loads_of_parallel_cables(&mut router, &all) {
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            assert!(most - least <= 1 + most / 8, "{text}: {loads:?}");
        }
        let shifts = (1..hosts).map(|far| (0..hosts).map(|from| (from, (from + far) % hosts)).collect());
        for pairs in shifts.collect::<Vec<Vec<_>>>() {
            for loads in loads_of_parallel_cables(&mut router, &pairs) {
                let even = loads.iter().sum::<u64>().div_ceil(loads.len() as u64);
                assert!(loads.iter().all(|&load| load <= even + 1), "{text}: {loads:?}");
            }
        }
        let incasts = (0..hosts).map(|to| (0..hosts).filter_map(|from| pair(from, to)).collect());
        for pairs in incasts.collect::<Vec<Vec<_>>>() {
            for loads in loads_of_parallel_cables(&mut router, &pairs) {
                let all: u64 = loads.iter().sum();
                let enough = all >= 8 * loads.len() as u64;
                assert!(
                    !enough || loads.iter().all(|&load| 4 * load * loads.len() as u64 >= all),
                    "{text}: {loads:?}"
                );
            }
        }
    }
}

/// Each global cable carries the traffic of its two groups: (a p)^2 routes each way.
#[test]
fn all_pairs_load_the_global_cables_of_a_full_dragonfly_evenly() {
    let mut dragonfly = Router::new(&spec("dragonfly", r#""p": 2, "a": 4, "h": 2"#));
    let groups = dragonfly.topology.grouping("group").unwrap().to_vec();
    let load = dragonfly.load();
    let mut global = 0;
    for (link, &count) in dragonfly.topology.links().iter().zip(&load) {
        let [from, to] = link.ends.unwrap().map(|node| groups[node.index()]);
        if from != to {
            assert_eq!(count, 64);
            global += 1;
        }
    }
    assert_eq!(global, 9 * 8);
}

/// Of the cables between two groups the rule takes one with the fewest local hops; found here by
/// trying all of them.
#[test]
fn a_dragonfly_route_has_one_global_cable_and_the_fewest_local_ones() {
    for sizes in [
        r#""p": 1, "a": 3, "h": 3, "g": 5"#,
        r#""p": 2, "a": 4, "h": 4, "g": 3"#,
        r#""p": 1, "a": 5, "h": 2, "g": 7"#,
    ] {
        let mut dragonfly = Router::new(&spec("dragonfly", sizes));
        let topology = dragonfly.topology.clone();
        let (groups, hosts) = (topology.grouping("group").unwrap(), topology.compute_nodes());
        let router = |host: NodeId| topology.ports(host)[0].to;
        let globals: Vec<[NodeId; 2]> = topology
            .links()
            .iter()
            .map(|link| link.ends.unwrap())
            .filter(|ends| groups[ends[0].index()] != groups[ends[1].index()])
            .collect();
        for &src in hosts {
            for &dst in hosts {
                let route = dragonfly.route(src, dst, 0);
                let crossed = route
                    .iter()
                    .filter(|&&link| globals.contains(&topology.link(link).ends.unwrap()))
                    .count();
                let [from, to] = [src, dst].map(|host| groups[host.index()]);
                assert_eq!(crossed, usize::from(from != to), "global cables");
                if from != to {
                    let fewest = globals
                        .iter()
                        .filter(|ends| [groups[ends[0].index()], groups[ends[1].index()]] == [from, to])
                        .map(|&[out, back]| {
                            3 + usize::from(out != router(src)) + usize::from(back != router(dst))
                        })
                        .min();
                    assert_eq!(Some(route.len()), fewest);
                }
            }
        }
    }
}

/// Every router of a full dragonfly has p + (a - 1) + h ports, every pair of groups the same number
/// of cables.
#[test]
fn dragonfly_ports_are_used_as_the_paper_counts_them() {
    for (p, a, h) in [(1, 2, 1), (2, 4, 2), (3, 5, 4)] {
        let dragonfly = build(&spec("dragonfly", &format!(r#""p": {p}, "a": {a}, "h": {h}"#))).unwrap();
        assert_eq!(
            dragonfly.dimensions(),
            [p, a, a * h + 1].into_iter().filter(|&e| e > 1).collect::<Vec<u32>>()
        );
        let first = dragonfly.compute_nodes().len();
        for router in first..dragonfly.node_count() {
            assert_eq!(dragonfly.ports(NodeId::from_index(router)).len() as u32, p + a - 1 + h);
        }
    }
}

/// Whether the links that follow each other on any route form a cycle: a wormhole network without
/// further virtual channels could lock up (Dally, Seitz 1987).
fn may_deadlock(router: &mut Router) -> bool {
    let links = router.topology.link_count();
    let hosts = router.topology.compute_nodes().to_vec();
    let mut after = vec![BTreeSet::new(); links];
    for &src in &hosts {
        for &dst in &hosts {
            for pair in router.route(src, dst, 0).windows(2) {
                after[pair[0].index()].insert(pair[1].index());
            }
        }
    }
    // peel off links that wait for nothing until none is left, or only cycles
    let mut waiting: Vec<usize> = (0..links).collect();
    loop {
        let left: Vec<usize> = waiting.iter().copied().filter(|&link| !after[link].is_empty()).collect();
        if left.len() == waiting.len() {
            return !left.is_empty();
        }
        let gone: BTreeSet<usize> = waiting.iter().copied().filter(|link| !left.contains(link)).collect();
        for &link in &left {
            after[link].retain(|next| !gone.contains(next));
        }
        waiting = left;
    }
}

#[test]
fn routes_wait_in_a_cycle_only_where_rings_are() {
    for (kind, rest, expected) in [
        ("mesh", r#""dimensions": [4, 3, 2]"#, false),
        ("hypercube", r#""dimensions": 5"#, false),
        ("hyperx", r#""dimensions": [3, 4], "hosts-per-switch": 2"#, false),
        ("fully-connected", r#""nodes": 6"#, false),
        ("fat-tree", r#""k": 4"#, false),
        ("ring", r#""nodes": 6"#, true),
        ("torus", r#""dimensions": [5, 3]"#, true),
        // local, global, local: the two local hops share channels, hence the paper's second channel
        ("dragonfly", r#""p": 1, "a": 3, "h": 1"#, true),
    ] {
        assert_eq!(may_deadlock(&mut Router::new(&spec(kind, rest))), expected, "{kind} {rest}");
    }
}

#[test]
fn dimensions_of_a_composed_machine_keep_their_own_links() {
    let mut machine = Router::new(
        r#"{"kind": "multi-dimensional", "dimensions": [
            {"shape": "fully-connected", "nodes": 4, "bandwidth": "900 GB/s", "latency": "100 ns"},
            {"shape": "switch", "nodes": 2, "bandwidth": "50 GB/s", "latency": "2 us"}]}"#,
    );
    assert_eq!(machine.topology.dimensions(), [4, 2]);
    assert_eq!(
        machine.names("host-1", "host-6"),
        ["host-1->host-2", "host-2->switch-1-2", "switch-1-2->host-6"]
    );
    let rates: Vec<Bandwidth> =
        machine.links("host-1", "host-6").iter().map(|&link| machine.topology.link(link).bandwidth).collect();
    assert_eq!(rates, [900e9, 50e9, 50e9].map(Bandwidth));
}

#[test]
fn hosts_on_switches_have_cables_of_their_own_kind() {
    let rest =
        r#""dimensions": [3, 3], "hosts-per-switch": 2, "host-bandwidth": "5 GB/s", "host-latency": "7 ns""#;
    let mut torus = Router::new(&spec("torus", rest));
    assert_eq!(
        torus.names("host-0", "host-3"),
        ["host-0->router-0", "router-0->router-1", "router-1->host-3"]
    );
    assert_eq!(torus.names("host-0", "host-1"), ["host-0->router-0", "router-0->host-1"]);
    assert!((torus.seconds("host-0", "host-3") - 1.014e-6).abs() < 1e-15);
    assert_eq!(torus.topology.dimensions(), [2, 3, 3]);
    assert_eq!(torus.topology.grouping("router").unwrap()[17], 8);
}

#[test]
fn impossible_networks_are_refused_with_a_remedy() {
    for (kind, rest, expected) in [
        ("ring", r#""nodes": 1"#, "nodes: a ring needs two, got 1"),
        ("ring", r#""nodes": 4000000000"#, "nodes: this asks for 4000000000 nodes, at most"),
        ("fully-connected", r#""nodes": 1000000"#, "nodes: this asks for 999999000000 links"),
        ("mesh", r#""dimensions": []"#, "dimensions: give 1 to 32 dimensions, not 0"),
        ("mesh", r#""dimensions": [4, 0]"#, "dimensions: dimension 1 (from 0) needs at least one node"),
        ("torus", r#""dimensions": [1000000, 1000000]"#, "dimensions: this asks for 1000000000000 nodes"),
        (
            "torus",
            r#""dimensions": [4000000000, 4000000000, 4000000000]"#,
            "dimensions: this asks for more than 2^64 nodes",
        ),
        ("torus", r#""dimensions": [4], "host-latency": "1 us""#, "host-latency: there are no host cables"),
        ("torus", r#""dimensions": [4], "hosts-per-switch": 0"#, "hosts-per-switch: must be at least 1"),
        (
            "torus",
            r#""dimensions": [4], "hosts-per-switch": 4000000000"#,
            "dimensions: this asks for 16000000004 nodes",
        ),
        ("hypercube", r#""dimensions": 40"#, "dimensions: a hypercube has 1 to 32"),
        ("hypercube", r#""dimensions": 30"#, "dimensions: this asks for 1073741824 nodes"),
        (
            "hyperx",
            r#""dimensions": [4, 4], "parallel": [1], "hosts-per-switch": 1"#,
            "parallel: there are 2 dimensions",
        ),
        (
            "dragonfly",
            r#""p": 1, "a": 2, "h": 2, "g": 6"#,
            "groups: 2 routers with 2 global links each join at most 5 groups, not 6",
        ),
        ("dragonfly", r#""p": 1, "a": 2, "h": 2, "g": 0"#, "groups: "),
        ("dragonfly", r#""p": 0, "a": 2, "h": 2"#, "hosts-per-router: must be at least 1"),
        (
            "dragonfly",
            r#""p": 1, "a": 4000000000, "h": 4000000000"#,
            "groups: this asks for more than 2^64 routers",
        ),
    ] {
        let message = refusal(&spec(kind, rest));
        assert!(message.starts_with(expected), "{kind} {rest}: {message}");
    }
}
