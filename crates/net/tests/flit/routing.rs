//! Routing functions of the flit level: packets walk through small machines.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::support::{Dice, distances, machine, prepare, topology, walk};
use stratasim_core::BuildError;
use stratasim_net::flit::Prepared;
use stratasim_net::flit::dependency::{Question, Verdict};
use stratasim_net::flit::fabric::End;
use stratasim_net::flit::router::RouterSpec;
use stratasim_net::flit::routing::shortest_path::ShortestPath;
use stratasim_net::flit::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use stratasim_topo::Topology;

/// Machines, and the functions that fit them beside `auto`. All take shortest paths.
const MINIMAL: &[(&str, &[&str])] = &[
    (
        r#"{"kind": "mesh", "dimensions": [4, 1, 3, 2]}"#,
        &["dimension-order", "shortest-path", "romm", "xy-yx", "minimal-adaptive", "table"],
    ),
    (
        r#"{"kind": "mesh", "dimensions": [3, 3], "hosts-per-switch": 3}"#,
        &["dimension-order", "shortest-path"],
    ),
    (
        r#"{"kind": "torus", "dimensions": [5, 4]}"#,
        &["dimension-order", "romm", "xy-yx", "minimal-adaptive", "table"],
    ),
    (r#"{"kind": "torus", "dimensions": [4, 3, 2], "hosts-per-switch": 2}"#, &["dimension-order"]),
    (r#"{"kind": "ring", "nodes": 6}"#, &["dimension-order", "shortest-path"]),
    (
        r#"{"kind": "hypercube", "dimensions": 4}"#,
        &["dimension-order", "shortest-path", "romm", "xy-yx", "minimal-adaptive"],
    ),
    (
        r#"{"kind": "hyperx", "dimensions": [3, 4], "parallel": [2, 1], "hosts-per-switch": 2}"#,
        &["dimension-order", "shortest-path", "minimal", "minimal-adaptive", "xy-yx"],
    ),
    (r#"{"kind": "fully-connected", "nodes": 5, "parallel": 2}"#, &["dimension-order", "shortest-path"]),
    (r#"{"kind": "k-ary-n-tree", "k": 3, "n": 3}"#, &["nearest-common-ancestor", "shortest-path", "table"]),
    (r#"{"kind": "fat-tree", "k": 4}"#, &["nearest-common-ancestor", "shortest-path", "table"]),
    (
        r#"{"kind": "fat-tree", "down": [4, 3, 2], "up": [1, 2, 3], "parallel": [1, 2, 1]}"#,
        &["nearest-common-ancestor", "shortest-path", "table"],
    ),
    (
        r#"{"kind": "leaf-spine", "leaves": 4, "spines": 3, "hosts-per-leaf": 2}"#,
        &["nearest-common-ancestor"],
    ),
    (r#"{"kind": "k-ary-n-fly", "k": 3, "n": 3}"#, &["destination-tag", "shortest-path"]),
    (r#"{"kind": "k-ary-n-fly", "k": 4, "n": 1}"#, &["destination-tag", "shortest-path"]),
    (r#"{"kind": "single-switch", "nodes": 6}"#, &["up-down", "shortest-path", "nearest-common-ancestor"]),
];

fn check_walks(machine: &Arc<Topology>, spec: &str, routing: &str) {
    let prepared = prepare(machine, &format!(r#"{{"routing": {{"kind": "{routing}"}}}}"#))
        .unwrap_or_else(|error| panic!("{spec}, {routing}: {error}"));
    let fabric = &prepared.fabric;
    for to in 0..fabric.terminals().len() as u32 {
        let distance = distances(fabric, fabric.terminal(to).router);
        for from in 0..fabric.terminals().len() as u32 {
            for salt in 0..3 {
                let mut dice = Dice(salt + 1000 * u64::from(from));
                let walk = walk(fabric, prepared.routing.as_ref(), from, to, 4, &mut dice);
                let shortest = distance[fabric.terminal(from).entry().0 as usize];
                assert_eq!(walk.len() - 1, shortest, "{spec}, {routing}, {from} to {to}: {walk:?}");
            }
        }
    }
}

#[test]
fn minimal_functions_take_shortest_paths() {
    for (spec, functions) in MINIMAL {
        for routing in functions.iter().copied().chain(["auto"]) {
            // `prepare` has also found no circle of waiting packets
            check_walks(&machine(spec), spec, routing);
        }
    }
}

/// Machines, and functions that take detours or need other options, with the most channels of a way.
const OTHERS: &[(&str, &str, usize)] = &[
    (r#"{"kind": "mesh", "dimensions": [4, 3]}"#, r#"{"kind": "valiant"}"#, 2 * 5),
    (r#"{"kind": "torus", "dimensions": [4, 3]}"#, r#"{"kind": "valiant"}"#, 2 * 3),
    (r#"{"kind": "torus", "dimensions": [5, 4]}"#, r#"{"kind": "dimension-order", "balanced": true}"#, 4),
    (r#"{"kind": "torus", "dimensions": [6, 3]}"#, r#"{"kind": "dimension-order", "balanced": true}"#, 4),
    (r#"{"kind": "mesh", "dimensions": [4, 4]}"#, r#"{"kind": "xy-yx", "adaptive": true}"#, 6),
    (r#"{"kind": "torus", "dimensions": [4, 5]}"#, r#"{"kind": "xy-yx", "adaptive": true}"#, 4),
    (r#"{"kind": "hyperx", "dimensions": [3, 3], "hosts-per-switch": 2}"#, r#"{"kind": "valiant"}"#, 4),
    (r#"{"kind": "hyperx", "dimensions": [3, 3], "hosts-per-switch": 2}"#, r#"{"kind": "ugal"}"#, 4),
    // one cable between groups, though two of them can be shorter than a cable with local ones at both ends
    (r#"{"kind": "dragonfly", "p": 2, "a": 4, "h": 2}"#, r#"{"kind": "minimal"}"#, 3),
    (r#"{"kind": "dragonfly", "p": 1, "a": 3, "h": 1}"#, r#"{"kind": "ugal"}"#, 5),
    (r#"{"kind": "dragonfly", "p": 1, "a": 3, "h": 2, "g": 4}"#, r#"{"kind": "ugal", "threshold": 0}"#, 5),
    (r#"{"kind": "dragonfly", "p": 1, "a": 3, "h": 3, "g": 5}"#, r#"{"kind": "minimal"}"#, 3),
    (r#"{"kind": "dragonfly", "p": 2, "a": 3, "h": 1}"#, r#"{"kind": "valiant"}"#, 5),
    (r#"{"kind": "dragonfly", "p": 1, "a": 3, "h": 2, "g": 4}"#, r#"{"kind": "valiant"}"#, 5),
    (
        r#"{"kind": "k-ary-n-tree", "k": 3, "n": 3}"#,
        r#"{"kind": "nearest-common-ancestor", "adaptive": true}"#,
        4,
    ),
];

#[test]
fn functions_on_grids_fit_composed_machines_whatever_dimensions_have_a_switch() {
    let shapes = [("ring", 4), ("switch", 3), ("switch", 2), ("fully-connected", 3)];
    for picked in [[0, 1, 3], [1, 0, 2], [1, 2, 0], [2, 3, 1], [3, 0, 1]] {
        let dimensions = picked.map(|at| {
            let (shape, nodes) = shapes[at];
            format!(r#"{{"shape": "{shape}", "nodes": {nodes}, "bandwidth": "1 GB/s", "latency": "32 ns"}}"#)
        });
        let spec = format!(r#"{{"kind": "multi-dimensional", "dimensions": [{}]}}"#, dimensions.join(", "));
        for routing in ["minimal-adaptive", "dimension-order", "romm", "xy-yx"] {
            check_walks(&topology(&spec), &spec, routing);
        }
    }
}

#[test]
fn functions_with_detours_arrive_within_their_bound_and_are_free_of_deadlock() {
    for &(spec, routing, most) in OTHERS {
        let machine = machine(spec);
        let prepared = prepare(&machine, &format!(r#"{{"routing": {routing}}}"#))
            .unwrap_or_else(|error| panic!("{spec}, {routing}: {error}"));
        assert!(matches!(prepared.deadlock, Verdict::Free { .. }), "{spec}, {routing}");
        let terminals = prepared.fabric.terminals().len() as u32;
        let mut longest = 0;
        for pair in 0..terminals * terminals {
            for salt in 0..5 {
                let mut dice = Dice(u64::from(pair) * 100 + salt);
                let (from, to) = (pair / terminals, pair % terminals);
                let walk = walk(&prepared.fabric, prepared.routing.as_ref(), from, to, 4, &mut dice);
                longest = longest.max(walk.len() - 1);
            }
        }
        // every function takes its longest way now and then
        assert_eq!(longest, most, "{spec}, {routing}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn every_function_on_grids_of_any_extents_is_free_of_deadlock(
        extents in prop::collection::vec(1_u32..6, 1..4),
        torus: bool,
        hosts in 0_u32..3,
        vcs in 2_u8..9,
    ) {
        prop_assume!(extents.iter().product::<u32>() <= 40);
        let kind = if torus { "torus" } else { "mesh" };
        let hosts = if hosts > 0 { format!(r#", "hosts-per-switch": {hosts}"#) } else { String::new() };
        let machine = machine(&format!(r#"{{"kind": "{kind}", "dimensions": {extents:?}{hosts}}}"#));
        prop_assume!(machine.compute_nodes().len() > 1);
        for routing in [
            r#"{"kind": "dimension-order"}"#,
            r#"{"kind": "dimension-order", "balanced": true}"#,
            r#"{"kind": "xy-yx"}"#,
            r#"{"kind": "romm"}"#,
            r#"{"kind": "minimal-adaptive"}"#,
            r#"{"kind": "up-down"}"#,
        ] {
            let spec = format!(r#"{{"routing": {routing}, "router": {{"virtual-channels": {vcs}}}}}"#);
            match prepare(&machine, &spec) {
                Ok(prepared) => {
                    let terminals = prepared.fabric.terminals().len() as u32;
                    for pair in 0..terminals * terminals {
                        let (from, to) = (pair / terminals, pair % terminals);
                        let mut dice = Dice(u64::from(pair));
                        walk(&prepared.fabric, prepared.routing.as_ref(), from, to, vcs, &mut dice);
                    }
                }
                // too few channels, or a number that does not divide: never a circle
                Err(error) => prop_assert!(error.field.contains("virtual-channels"), "{spec}: {error}"),
            }
        }
    }
}

#[test]
fn up_down_reaches_every_terminal_of_any_graph() {
    let specs = MINIMAL.iter().map(|(spec, _)| machine(spec));
    let others = [
        r#"{"kind": "hcsim-cxl", "xpus": 20}"#,
        r#"{"kind": "hcsim-ethernet", "xpus": 20}"#,
        r#"{"kind": "without", "links": ["host-8->host-0", "host-0->host-8"], "of": {"kind": "ring", "nodes": 9, "bandwidth": "1 GB/s", "latency": "1 us"}}"#,
    ];
    for machine in specs.chain(others.map(topology)) {
        for routing in ["up-down", "shortest-path", "auto"] {
            let spec = format!(r#"{{"routing": {{"kind": "{routing}"}}}}"#);
            let prepared = match prepare(&machine, &spec) {
                Ok(prepared) => prepared,
                Err(error) => {
                    let reason =
                        if routing == "up-down" { "both ways" } else { "layers of virtual channels" };
                    assert!(error.reason.contains(reason), "{routing}: {error}");
                    assert_ne!(routing, "auto");
                    continue;
                }
            };
            let terminals = prepared.fabric.terminals().len() as u32;
            for pair in 0..terminals * terminals {
                let (from, to) = (pair / terminals, pair % terminals);
                if !prepared.wiring.joined(from, to) {
                    // networks side by side, each with a NIC of its own
                    assert!(machine.find_node("xpu-0").is_some());
                    continue;
                }
                walk(&prepared.fabric, prepared.routing.as_ref(), from, to, 4, &mut Dice(u64::from(pair)));
            }
        }
    }
}

/// Pairs of terminals whose way leads over each channel between routers, by the kinds of their ends: those of names
/// that differ in the last number only.
fn loads(machine: &Topology, prepared: &Prepared) -> BTreeMap<String, Vec<u32>> {
    let fabric = &prepared.fabric;
    let mut load = BTreeMap::new();
    let kind = |router: u32| {
        let name = machine.node_name(prepared.wiring.nodes[router as usize]);
        name.rsplit_once('-').map_or(name, |(kind, _)| kind)
    };
    for router in 0..fabric.router_count() as u32 {
        for output in 0..fabric.output_count(router) {
            if let End::Router { router: to, .. } = fabric.channel(router, output).end {
                load.insert((router, to), (format!("{} to {}", kind(router), kind(to)), 0));
            }
        }
    }
    let terminals = fabric.terminals().len() as u32;
    for (from, to) in (0..terminals * terminals).map(|pair| (pair / terminals, pair % terminals)) {
        let walk = walk(fabric, prepared.routing.as_ref(), from, to, 4, &mut Dice(0));
        for pair in walk.windows(2) {
            load.get_mut(&(pair[0], pair[1])).expect("a channel").1 += 1;
        }
    }
    let mut by_kind = BTreeMap::<String, Vec<u32>>::new();
    for (kind, load) in load.into_values() {
        by_kind.entry(kind).or_default().push(load);
    }
    by_kind
}

#[test]
fn channels_carry_evenly_when_all_send_to_all() {
    // the most that a channel carries, over the mean of its kind; on a mesh those in the middle carry more
    let both: &[&str] = &["shortest-path", "up-down"];
    let shortest = &both[..1];
    for (spec, functions, most) in [
        (r#"{"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts-per-leaf": 4}"#, both, 1.0),
        (r#"{"kind": "leaf-spine", "leaves": 5, "spines": 3, "hosts-per-leaf": 4}"#, shortest, 1.13),
        (r#"{"kind": "leaf-spine", "leaves": 8, "spines": 8, "hosts-per-leaf": 2}"#, shortest, 1.75),
        (r#"{"kind": "fat-tree", "k": 4}"#, shortest, 1.0),
        (r#"{"kind": "fat-tree", "k": 8}"#, shortest, 1.0),
        (r#"{"kind": "k-ary-n-tree", "k": 3, "n": 3}"#, shortest, 1.0),
        (r#"{"kind": "fat-tree", "down": [4, 3, 2], "up": [1, 2, 3]}"#, shortest, 1.0),
        (r#"{"kind": "torus", "dimensions": [4, 4]}"#, shortest, 1.26),
        (r#"{"kind": "mesh", "dimensions": [4, 4], "hosts-per-switch": 3}"#, shortest, 1.3),
        (r#"{"kind": "hypercube", "dimensions": 4}"#, shortest, 1.26),
        (r#"{"kind": "dragonfly", "p": 2, "a": 4, "h": 2}"#, shortest, 1.15),
        (r#"{"kind": "hyperx", "dimensions": [3, 4], "hosts-per-switch": 2}"#, shortest, 1.35),
    ] {
        let machine = machine(spec);
        for routing in functions {
            let network = format!(r#"{{"routing": {{"kind": "{routing}"}}}}"#);
            let prepared = prepare(&machine, &network).unwrap_or_else(|error| panic!("{spec}: {error}"));
            for (kind, loads) in loads(&machine, &prepared) {
                let mean = f64::from(loads.iter().sum::<u32>()) / loads.len() as f64;
                let largest = f64::from(*loads.iter().max().unwrap());
                assert!(largest <= most * mean, "{spec}, {routing}, {kind}: {loads:?}");
            }
        }
    }
}

#[test]
fn where_even_ways_need_too_many_layers_those_by_the_lowest_outputs_are_taken() {
    for (spec, layers) in [
        (r#"{"kind": "mesh", "dimensions": [8, 8]}"#, 1),
        (r#"{"kind": "torus", "dimensions": [8, 8]}"#, 3),
        (r#"{"kind": "hypercube", "dimensions": 6}"#, 1),
        (r#"{"kind": "hyperx", "dimensions": [4, 4, 4], "hosts-per-switch": 4}"#, 1),
    ] {
        let machine = machine(spec);
        check_walks(&machine, spec, "shortest-path");
        let wiring = prepare(&machine, "{}").unwrap().wiring;
        let router = RouterSpec { virtual_channels: 4, ..RouterSpec::default() };
        assert_eq!(ShortestPath::new(&wiring, &router, None).unwrap().layers(), layers, "{spec}");
    }
}

#[test]
fn pairs_that_have_a_way_are_joined_and_no_others() {
    let graph = |nodes: &[&str], links: &[[&str; 2]]| {
        let kind = |name: &str| if name.starts_with('s') { "switch" } else { "compute" };
        let node = |name: &&str| format!(r#"{{"name": "{name}", "kind": "{}"}}"#, kind(name));
        let link = |[from, to]: &[&str; 2]| {
            format!(r#"{{"from": "{from}", "to": "{to}", "bandwidth": "1 GB/s", "latency": "1 us"}}"#)
        };
        let (nodes, links) = (nodes.iter().map(node), links.iter().map(link));
        let (nodes, links) = (nodes.collect::<Vec<_>>().join(","), links.collect::<Vec<_>>().join(","));
        format!(r#"{{"kind": "graph", "nodes": [{nodes}], "links": [{links}]}}"#)
    };
    let planes = graph(
        &["a", "b", "c", "s0", "s1"],
        &[["a", "s0"], ["a", "s1"], ["b", "s0"], ["b", "s1"], ["c", "s1"]],
    );
    let cables = r#""bandwidth": "1 GB/s", "latency": "1 us""#;
    let tree = |up| format!(r#"{{"kind": "fat-tree", "down": [2, 3], "up": [{up}, 2], {cables}}}"#);
    let cut = format!(
        r#"{{"kind": "without", "links": ["host-1->host-2", "host-2->host-1"],
             "of": {{"kind": "mesh", "dimensions": [4], {cables}}}}}"#
    );
    let servers = r#"{"kind": "hcsim-cxl", "xpus": 16}"#.to_owned();
    let fly = format!(r#"{{"kind": "k-ary-n-fly", "k": 2, "n": 3, {cables}}}"#);
    for (spec, all, functions) in [
        (tree(1), true, ["nearest-common-ancestor", "auto", "shortest-path", "up-down"]),
        (tree(2), false, ["nearest-common-ancestor", "auto", "shortest-path", "up-down"]),
        (planes, false, ["auto", "shortest-path", "up-down", "table"]),
        (cut, false, ["auto", "shortest-path", "up-down", "table"]),
        (servers, false, ["auto", "up-down", "up-down", "up-down"]),
        (fly, true, ["destination-tag", "auto", "shortest-path", "table"]),
    ] {
        let machine = topology(&spec);
        for routing in functions {
            let network = format!(r#"{{"routing": {{"kind": "{routing}"}}}}"#);
            let prepared =
                prepare(&machine, &network).unwrap_or_else(|error| panic!("{spec}, {routing}: {error}"));
            let (fabric, function) = (&prepared.fabric, prepared.routing.as_ref());
            let terminals = fabric.terminals().len() as u32;
            let mut pairs = 0;
            for to in 0..terminals {
                let distance = distances(fabric, fabric.terminal(to).router);
                for from in 0..terminals {
                    let joined = function.joins(from, to);
                    pairs += u32::from(joined);
                    if joined {
                        // it also looks whether the packet leaves at its destination
                        walk(fabric, function, from, to, 4, &mut Dice(from.into()));
                    }
                    let reached = distance[fabric.terminal(from).entry().0 as usize] != usize::MAX;
                    // routes of nodes are those of their first NICs, and none leads from a node to itself
                    assert!(
                        joined == reached || routing == "table" && !joined,
                        "{spec}, {routing}: {from} to {to}"
                    );
                }
            }
            let others = terminals * (terminals - 1);
            assert!(
                if all { pairs >= others } else { (terminals..others).contains(&pairs) },
                "{spec}, {routing}"
            );
            assert_eq!(function.joins_all(terminals), pairs == terminals * terminals, "{spec}, {routing}");
        }
    }
}

/// Whatever of two parallel cables a route takes, the first NICs have it.
#[test]
fn a_table_takes_routes_by_either_of_two_nics_on_one_switch() {
    let cable = |[from, to]: [&str; 2]| {
        format!(r#"{{"from": "{from}", "to": "{to}", "bandwidth": "1 GB/s", "latency": "1 us"}}"#)
    };
    let cables =
        [["a", "s"], ["a", "s"], ["s", "t"], ["b", "t"], ["b", "t"], ["c", "t"]].map(cable).join(",");
    let machine = topology(&format!(
        r#"{{"kind": "graph", "links": [{cables}], "nodes": [{{"name": "a"}}, {{"name": "b"}}, {{"name": "c"}},
            {{"name": "s", "kind": "switch"}}, {{"name": "t", "kind": "switch"}}]}}"#
    ));
    for routes in
        [r#""auto""#, r#""ecmp""#, r#"{"kind": "ecmp", "salt": 1}"#, r#"{"kind": "ecmp", "salt": 2}"#]
    {
        let network = format!(r#"{{"routing": {{"kind": "table", "routes": {routes}}}}}"#);
        let prepared = prepare(&machine, &network).unwrap_or_else(|error| panic!("{routes}: {error}"));
        let (fabric, function) = (&prepared.fabric, prepared.routing.as_ref());
        let first = ["a", "b", "c"]
            .map(|name| prepared.wiring.terminals(machine.find_node(name).expect("is there"))[0]);
        for (from, to) in
            first.iter().flat_map(|&from| first.map(|to| (from, to))).filter(|(from, to)| from != to)
        {
            assert!(function.joins(from, to), "{routes}: {from} to {to}");
            walk(fabric, function, from, to, 3, &mut Dice(1));
        }
    }
}

#[test]
fn a_graph_whose_link_leads_one_way_is_refused_with_the_nodes_that_it_cuts_off() {
    let oneway = topology(
        r#"{"kind": "graph",
            "nodes": [{"name": "a"}, {"name": "b"}, {"name": "s", "kind": "switch"}, {"name": "t", "kind": "switch"}],
            "links": [{"from": "a", "to": "s", "bandwidth": "1 GB/s", "latency": "1 us"},
                      {"from": "b", "to": "t", "bandwidth": "1 GB/s", "latency": "1 us"},
                      {"from": "s", "to": "t", "bandwidth": "1 GB/s", "latency": "1 us", "duplex": "simplex"}]}"#,
    );
    let error = prepare(&oneway, "{}").err().unwrap();
    assert!(
        error.reason.contains("b cannot reach a: links on the way are missing or lead one way only"),
        "{error}"
    );
}

/// The same answer to every question.
struct Always(u32);

impl Surroundings for Always {
    fn draw(&mut self, bound: u32) -> u32 {
        self.0 % bound
    }

    fn used(&self, _: u16) -> u32 {
        0
    }
}

#[test]
fn decisions_in_words_are_those_of_the_function() {
    for (spec, routing, packs) in [
        (r#"{"kind": "k-ary-n-tree", "k": 3, "n": 3}"#, "nearest-common-ancestor", true),
        (r#"{"kind": "k-ary-n-tree", "k": 2, "n": 4}"#, "nearest-common-ancestor", true),
        (r#"{"kind": "fat-tree", "k": 4}"#, "nearest-common-ancestor", true),
        (
            r#"{"kind": "fat-tree", "down": [4, 3, 2], "up": [1, 2, 3], "parallel": [1, 1, 1]}"#,
            "nearest-common-ancestor",
            true,
        ),
        (
            r#"{"kind": "leaf-spine", "leaves": 4, "spines": 3, "hosts-per-leaf": 2}"#,
            "nearest-common-ancestor",
            true,
        ),
        (r#"{"kind": "single-switch", "nodes": 6}"#, "nearest-common-ancestor", true),
        // five levels, and parallel cables
        (r#"{"kind": "k-ary-n-tree", "k": 2, "n": 5}"#, "nearest-common-ancestor", false),
        (
            r#"{"kind": "fat-tree", "down": [4, 3, 2], "up": [1, 2, 3], "parallel": [1, 2, 1]}"#,
            "nearest-common-ancestor",
            false,
        ),
    ] {
        let prepared = prepare(&machine(spec), &format!(r#"{{"routing": {{"kind": "{routing}"}}}}"#))
            .unwrap_or_else(|error| panic!("{spec}: {error}"));
        let (fabric, function) = (&prepared.fabric, prepared.routing.as_ref());
        assert_eq!(function.packed().is_some(), packs, "{spec}");
        let Some(packed) = function.packed() else { continue };
        for router in 0..fabric.router_count() as u32 {
            for dest in 0..fabric.terminals().len() as u32 {
                for answer in 0..4 {
                    let place = Place { router, input: 0, vc: 0 };
                    let mut head = Head { source: 0, dest, range: (0, 3), memory: 0 };
                    let candidate = function.only(place, &mut head, &mut Always(answer));
                    let step = packed.step(router, dest, 0, |bound| answer % bound);
                    assert_eq!(u16::from(step.output), candidate.output, "{spec}, {router} to {dest}");
                }
            }
        }
    }
}

#[test]
fn half_way_round_a_ring_both_directions_are_drawn() {
    let prepared = prepare(&machine(r#"{"kind": "ring", "nodes": 6}"#), "{}").unwrap();
    let mut ways = [0; 2];
    for salt in 0..1000 {
        let walk = walk(&prepared.fabric, prepared.routing.as_ref(), 1, 4, 4, &mut Dice(salt));
        ways[usize::from(walk[1] == 2)] += 1;
    }
    // binomial: 500 with a deviation of 16
    assert!(ways.iter().all(|&count| (420..=580).contains(&count)), "{ways:?}");
}

#[test]
fn queues_by_the_next_output_are_checked_for_deadlock() {
    let torus = machine(r#"{"kind": "torus", "dimensions": [4, 4]}"#);
    let with = |channels: u32, aside: bool| {
        prepare(
            &torus,
            &format!(
                r#"{{"router": {{"virtual-channels": {channels}, "routing-delay": 0,
                "requests": {{"next-output-queues": {aside}}}}}}}"#
            ),
        )
    };
    let dependencies = |aside| match with(10, aside).unwrap().deadlock {
        Verdict::Free { dependencies } => dependencies,
        other => panic!("{other:?}"),
    };
    // a channel is divided by where packets go from its end
    assert!(dependencies(true) > dependencies(false));
    // all on one layer of virtual channels, they can wait in a circle either way
    for aside in [false, true] {
        let ring = machine(r#"{"kind": "ring", "nodes": 8}"#);
        let spec = format!(
            r#"{{"routing": {{"kind": "shortest-path", "layers": 1}}, "router": {{"virtual-channels": 6,
            "routing-delay": 0, "requests": {{"next-output-queues": {aside}}}}}}}"#
        );
        let refused = prepare(&ring, &spec).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("in a circle of"), "{aside}: {refused}");
    }
}

#[test]
fn heads_that_hear_no_answer_are_refused() {
    let mesh = machine(r#"{"kind": "mesh", "dimensions": [3, 3]}"#);
    let with = |stages: &str, routing: &str| {
        let router = format!(
            r#"{{"stages": "{stages}", "speculation": "separate", "requests": {{"combined-allocation": true}}}}"#
        );
        let spec = format!(r#"{{"router": {router}, "routing": {{"kind": "{routing}"}}}}"#);
        prepare(&mesh, &spec).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(with("batches", "minimal-adaptive").contains("never reach the escape channels"));
    assert_eq!(with("pipelined", "minimal-adaptive"), "");
    assert_eq!(with("batches", "dimension-order"), "");
}

#[test]
fn virtual_channels_without_a_place_of_their_own_are_refused() {
    let mesh = machine(r#"{"kind": "mesh", "dimensions": [3, 3]}"#);
    let with = |parts: &str, check: bool| {
        let shared = format!(r#"{{"buffers": "shared", "shared-buffer": {{"parts": {parts}}}}}"#);
        let spec = format!(r#"{{"router": {shared}, "deadlock-check": {check}}}"#);
        prepare(&mesh, &spec).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let one = r#"[{"channels": [0, 3], "flits": 4}]"#;
    assert!(
        with(one, true).contains("router.shared-buffer.parts: some virtual channel has no place of its own")
    );
    assert_eq!(with(one, false), "");
    let all: Vec<_> = (0..4).map(|vc| format!(r#"{{"channels": [{vc}, {vc}], "flits": 3}}"#)).collect();
    assert_eq!(with(&format!("[{}]", all.join(",")), true), "");
}

#[test]
fn odd_or_too_few_virtual_channels_of_a_ring_are_refused_with_the_reason() {
    let torus = machine(r#"{"kind": "torus", "dimensions": [4, 4]}"#);
    for (channels, expected) in [(3, "no multiple of 2"), (1, "needs 2")] {
        let error =
            prepare(&torus, &format!(r#"{{"router": {{"virtual-channels": {channels}}}}}"#)).err().unwrap();
        assert_eq!(error.field, "router.virtual-channels");
        assert!(error.reason.contains(expected), "{error}");
    }
    // a mesh needs no classes
    prepare(&machine(r#"{"kind": "mesh", "dimensions": [4, 4]}"#), r#"{"router": {"virtual-channels": 1}}"#)
        .unwrap();
}

#[test]
fn a_function_that_does_not_fit_the_structure_is_refused() {
    let tree = machine(r#"{"kind": "fat-tree", "k": 4}"#);
    let kinds = [
        "dimension-order",
        "xy-yx",
        "valiant",
        "romm",
        "minimal-adaptive",
        "minimal",
        "ugal",
        "destination-tag",
    ];
    for kind in kinds {
        let error = prepare(&tree, &format!(r#"{{"routing": {{"kind": "{kind}"}}}}"#)).err().unwrap();
        assert!(error.reason.contains("auto"), "{error}");
    }
}

#[test]
fn hosts_on_switches_are_terminals_and_nodes_that_forward_are_routers() {
    for (spec, routers, terminals) in [
        (r#"{"kind": "fat-tree", "k": 4}"#, 20, 16),
        (r#"{"kind": "torus", "dimensions": [4, 3]}"#, 12, 12),
        (r#"{"kind": "mesh", "dimensions": [3, 3], "hosts-per-switch": 4}"#, 9, 36),
        (r#"{"kind": "fat-tree", "down": [2, 2], "up": [2, 2]}"#, 8, 8),
        (r#"{"kind": "k-ary-n-fly", "k": 2, "n": 3}"#, 12, 8),
        (r#"{"kind": "dragonfly", "p": 2, "a": 4, "h": 2}"#, 36, 72),
    ] {
        let prepared = prepare(&machine(spec), "{}").unwrap();
        let fabric = &prepared.fabric;
        assert_eq!((fabric.router_count(), fabric.terminals().len()), (routers, terminals), "{spec}");
        // every link is the channel of one output or injection
        let links = fabric.channels().iter().filter(|channel| channel.end != End::Nothing);
        let injections = fabric.terminals().iter().map(|terminal| &terminal.injection);
        let mut links: Vec<_> = links.chain(injections).filter_map(|channel| channel.link).collect();
        links.sort();
        assert!(links.windows(2).all(|pair| pair[0] != pair[1]), "{spec}");
        assert_eq!(links.len(), machine(spec).link_count(), "{spec}");
    }
}

/// Dimension order as it must not be: rings without classes.
struct Careless {
    inner: Arc<dyn FlitRouting>,
    /// Overlapping halves, as an odd number of virtual channels gives them when it is rounded.
    overlap: bool,
}

impl FlitRouting for Careless {
    fn route(&self, place: Place, head: &mut Head, draws: &mut dyn Surroundings, out: &mut Vec<Candidate>) {
        let range = head.range;
        head.range = (0, 1);
        self.inner.route(place, head, draws, out);
        head.range = range;
        for candidate in out {
            let (first, last) = (candidate.first_vc, candidate.last_vc);
            (candidate.first_vc, candidate.last_vc) = match (self.overlap, first, last) {
                (true, 0, 0) => (0, range.1 - 1),
                (true, 1, 1) => (1, range.1),
                _ => range,
            };
        }
    }

    fn looks_at_vc(&self) -> bool {
        false
    }
}

fn circle(spec: &str, vcs: u8, overlap: bool) -> BuildError {
    let machine = machine(spec);
    let prepared = prepare(&machine, "{}").unwrap();
    let router = RouterSpec { virtual_channels: vcs, ..RouterSpec::default() };
    let careless = Careless { inner: prepared.routing.clone(), overlap };
    Question {
        fabric: &prepared.fabric,
        routing: &careless,
        router: &router,
        joined: &|_, _| true,
        name: &|router| format!("r{router}"),
    }
    .check()
    .expect_err("a circle")
}

#[test]
fn a_ring_without_classes_is_refused_with_the_circle() {
    let error = circle(r#"{"kind": "ring", "nodes": 5}"#, 1, false);
    assert!(error.reason.contains("circle of 5 channels"), "{error}");
    assert!(error.reason.contains("router r1 -> router r0, virtual channel 0"), "{error}");
    assert!(error.reason.contains("router r0 -> router r4, virtual channel 0"), "{error}");
}

#[test]
fn classes_that_share_a_virtual_channel_are_refused() {
    let error = circle(r#"{"kind": "torus", "dimensions": [5, 4]}"#, 3, true);
    assert!(error.reason.contains("virtual channel 1"), "the shared one: {error}");
    // and with two, which do not overlap, all is well: see minimal_functions_take_shortest_paths
}

/// Valiant's with one range for both phases.
struct OnePhase(Arc<dyn FlitRouting>);

impl FlitRouting for OnePhase {
    fn route(&self, place: Place, head: &mut Head, draws: &mut dyn Surroundings, out: &mut Vec<Candidate>) {
        self.0.route(place, head, draws, out);
        for candidate in out {
            (candidate.first_vc, candidate.last_vc) = head.range;
        }
    }
}

/// Minimal adaptive without its escape.
struct NoEscape(Arc<dyn FlitRouting>);

impl FlitRouting for NoEscape {
    fn route(&self, place: Place, head: &mut Head, draws: &mut dyn Surroundings, out: &mut Vec<Candidate>) {
        self.0.route(place, head, draws, out);
        if out.len() > 1 {
            out.pop();
        }
    }

    fn single(&self) -> bool {
        false
    }

    fn has_escape(&self) -> bool {
        true
    }
}

fn verdict(
    spec: &str,
    network: &str,
    change: impl Fn(Arc<dyn FlitRouting>) -> Box<dyn FlitRouting>,
) -> Result<Verdict, BuildError> {
    let prepared = prepare(&machine(spec), network).unwrap();
    let changed = change(prepared.routing.clone());
    Question {
        fabric: &prepared.fabric,
        routing: changed.as_ref(),
        router: &prepared.router,
        joined: &|_, _| true,
        name: &|router| format!("r{router}"),
    }
    .check()
}

#[test]
fn valiant_with_one_range_for_both_phases_is_refused() {
    let mesh = r#"{"kind": "mesh", "dimensions": [3, 3]}"#;
    let valiant = r#"{"routing": {"kind": "valiant"}}"#;
    let error = verdict(mesh, valiant, |inner| Box::new(OnePhase(inner))).unwrap_err();
    assert!(error.reason.contains("circle"), "{error}");
}

#[test]
fn adaptive_routing_without_an_escape_is_refused() {
    let mesh = r#"{"kind": "mesh", "dimensions": [3, 3]}"#;
    let adaptive = r#"{"routing": {"kind": "minimal-adaptive"}}"#;
    let error = verdict(mesh, adaptive, |inner| Box::new(NoEscape(inner))).unwrap_err();
    assert!(error.reason.contains("no escape channel"), "{error}");
}

#[test]
fn of_a_machine_that_is_too_large_a_sample_is_checked() {
    let large = machine(r#"{"kind": "mesh", "dimensions": [50, 50]}"#);
    let Verdict::Sampled { destinations } = prepare(&large, "{}").unwrap().deadlock else {
        panic!("2,500 destinations of 2,500 routers each are too many");
    };
    assert!((10..2000).contains(&destinations), "{destinations}");
    // what a sample shows is enough to refuse it
    let error = circle(r#"{"kind": "torus", "dimensions": [48, 48]}"#, 1, false);
    assert!(error.reason.contains("circle of"), "{error}");
    let small = machine(r#"{"kind": "mesh", "dimensions": [3]}"#);
    // two channels follow each other, in both directions
    assert_eq!(prepare(&small, "{}").unwrap().deadlock, Verdict::Free { dependencies: 2 });
}

#[test]
fn a_table_follows_the_routes_of_the_topology_link_by_link() {
    let given = topology(
        r#"{"kind": "graph",
            "nodes": [{"name": "a"}, {"name": "b"}, {"name": "s", "kind": "switch"}, {"name": "t", "kind": "switch"},
                      {"name": "u", "kind": "switch"}],
            "links": [{"from": "a", "to": "s", "bandwidth": "1 GB/s", "latency": "1 us"},
                      {"from": "b", "to": "u", "bandwidth": "1 GB/s", "latency": "1 us"},
                      {"from": "s", "to": "u", "bandwidth": "1 GB/s", "latency": "1 us"},
                      {"from": "s", "to": "t", "bandwidth": "1 GB/s", "latency": "1 us"},
                      {"from": "t", "to": "u", "bandwidth": "1 GB/s", "latency": "1 us"}],
            "routes": [{"from": "a", "to": "b", "via": ["s", "t", "u"]}]}"#,
    );
    let prepared = prepare(&given, r#"{"routing": {"kind": "table"}}"#).unwrap();
    let names = |from, to| -> Vec<&str> {
        let walk = walk(&prepared.fabric, prepared.routing.as_ref(), from, to, 4, &mut Dice(0));
        walk.into_iter().map(|router| given.node_name(prepared.wiring.nodes[router as usize])).collect()
    };
    assert_eq!(names(0, 1), ["s", "t", "u"], "the detour that the file wants");
    assert!(!names(1, 0).is_empty());
    // searched by hops, it is direct
    let direct =
        prepare(&given, r#"{"routing": {"kind": "table", "routes": {"kind": "dijkstra", "by": "hops"}}}"#)
            .unwrap();
    assert_eq!(walk(&direct.fabric, direct.routing.as_ref(), 0, 1, 4, &mut Dice(0)).len(), 2);
}

#[test]
fn routes_that_lead_through_a_terminal_are_refused() {
    // the only way from a to c is through b, which sits on two switches and does not forward
    let through = topology(
        r#"{"kind": "graph",
            "nodes": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "s", "kind": "switch"}, {"name": "t", "kind": "switch"}],
            "links": [{"from": "a", "to": "s", "bandwidth": "1 GB/s", "latency": "1 us"},
                      {"from": "b", "to": "s", "bandwidth": "1 GB/s", "latency": "1 us"},
                      {"from": "b", "to": "t", "bandwidth": "1 GB/s", "latency": "1 us"},
                      {"from": "c", "to": "t", "bandwidth": "1 GB/s", "latency": "1 us"}]}"#,
    );
    let prepared = prepare(&through, r#"{"routing": {"kind": "table"}}"#).unwrap();
    assert!(prepared.joined(0, 1) && !prepared.joined(0, 2));
}
