//! Which of several ways a routing function takes, and by what: queues as a table gives them, draws as a list does.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Dice, distances, machine, prepare, topology, walk};
use stratasim_net::flit::Prepared;
use stratasim_net::flit::fabric::{End, Fabric};
use stratasim_net::flit::routing::{Candidate, Head, Place, Surroundings};

/// Draws from a list, round and round, and queues by output; others are empty.
struct Told {
    draws: Vec<u32>,
    at: usize,
    used: BTreeMap<u16, u32>,
}

impl Told {
    fn new(draws: &[u32], used: &[(u16, u32)]) -> Self {
        Self { draws: draws.to_vec(), at: 0, used: used.iter().copied().collect() }
    }
}

impl Surroundings for Told {
    fn draw(&mut self, bound: u32) -> u32 {
        self.at += 1;
        self.draws[(self.at - 1) % self.draws.len()] % bound
    }

    fn used(&self, output: u16) -> u32 {
        self.used.get(&output).copied().unwrap_or(0)
    }
}

fn with(spec: &str, routing: &str) -> Prepared {
    prepare(&machine(spec), &format!(r#"{{"routing": {routing}}}"#))
        .unwrap_or_else(|error| panic!("{spec}, {routing}: {error}"))
}

/// What a packet that enters at `router` is offered there.
fn first(prepared: &Prepared, router: u32, dest: u32, told: &mut Told) -> Vec<Candidate> {
    let mut head = Head { source: 0, dest, range: (0, 3), memory: 0 };
    let mut out = Vec::new();
    prepared.routing.route(Place { router, input: 0, vc: 0 }, &mut head, told, &mut out);
    out
}

/// Outputs of a router and the routers that they lead to.
fn neighbours(fabric: &Fabric, router: u32) -> Vec<(u16, u32)> {
    let to = |output| match fabric.channel(router, output).end {
        End::Router { router, .. } => Some((output, router)),
        _ => None,
    };
    (0..fabric.output_count(router)).filter_map(to).collect()
}

/// Outputs on the ways of a router to a group by one cable between groups.
fn toward_group(fabric: &Fabric, router: u32, group: u32, per_group: u32) -> BTreeSet<u16> {
    let leads = |router: u32| neighbours(fabric, router).into_iter().filter(|to| to.1 / per_group == group);
    let own: BTreeSet<u16> = leads(router).map(|to| to.0).collect();
    if !own.is_empty() {
        return own;
    }
    let inside = neighbours(fabric, router).into_iter().filter(|to| to.1 / per_group == router / per_group);
    inside.filter(|to| leads(to.1).next().is_some()).map(|to| to.0).collect()
}

/// Singh's rule, to the flit: hops times flits at the first output. Hops are those of a way with a local cable in every group that it
/// comes to, and in its own where the router has no cable out.
#[test]
fn ugal_on_a_dragonfly_weighs_hops_times_flits() {
    for (spec, per_group) in [
        (r#"{"kind": "dragonfly", "p": 1, "a": 2, "h": 1}"#, 2),
        (r#"{"kind": "dragonfly", "p": 1, "a": 3, "h": 1}"#, 3),
    ] {
        let groups = per_group + 1;
        for threshold in [0, 2, 7] {
            let prepared = with(spec, &format!(r#"{{"kind": "ugal", "threshold": {threshold}}}"#));
            let fabric = &prepared.fabric;
            let target = per_group;
            let dest = (0..fabric.terminals().len() as u32).find(|&it| fabric.terminal(it).router == target);
            for router in 0..per_group {
                for draw in 0..groups - 2 {
                    // one cable between two groups: a group has one way
                    let [direct, by] = [1, 2 + draw].map(|group| {
                        let outputs = toward_group(fabric, router, group, per_group);
                        let output = *outputs.first().expect("a way");
                        let is_local =
                            neighbours(fabric, router).iter().any(|to| to.0 == output && to.1 < per_group);
                        (output, 1 + u32::from(is_local))
                    });
                    // by one output to both, there is nothing to choose
                    if direct.0 == by.0 {
                        continue;
                    }
                    for flits in 0..400 {
                        let used = [(direct.0, flits % 20), (by.0, flits / 20)];
                        let mut told = Told::new(&[draw], &used);
                        let taken = first(&prepared, router, dest.expect("a terminal"), &mut told)[0].output;
                        let detours = used[0].1 * (direct.1 + 1) > used[1].1 * (by.1 + 3) + threshold;
                        let expected = if detours { by.0 } else { direct.0 };
                        assert_eq!(taken, expected, "{spec}, {threshold}, router {router}: {used:?}");
                    }
                }
            }
        }
    }
}

/// The same where all routers are neighbours: one hop, or two by way of another.
#[test]
fn ugal_on_a_hyperx_weighs_hops_times_flits() {
    for threshold in [0, 2, 7] {
        let prepared = with(
            r#"{"kind": "hyperx", "dimensions": [5], "hosts-per-switch": 1}"#,
            &format!(r#"{{"kind": "ugal", "threshold": {threshold}}}"#),
        );
        let output =
            |to: u32| neighbours(&prepared.fabric, 0).iter().find(|it| it.1 == to).expect("a cable").0;
        for (flits, between) in (0..400).flat_map(|flits| [2, 3, 4].map(|between| (flits, between))) {
            let (direct, by) = (flits % 20, flits / 20);
            let mut told = Told::new(&[between], &[(output(1), direct), (output(between), by)]);
            let expected = if direct > 2 * by + threshold { output(between) } else { output(1) };
            assert_eq!(first(&prepared, 0, 1, &mut told)[0].output, expected, "{direct}, {by} by {between}");
        }
    }
}

/// Where groups have several cables, any of them is drawn.
#[test]
fn of_several_cables_between_groups_each_is_drawn() {
    for kind in ["minimal", "ugal"] {
        let prepared = with(
            r#"{"kind": "dragonfly", "p": 1, "a": 3, "h": 2, "g": 4}"#,
            &format!(r#"{{"kind": "{kind}"}}"#),
        );
        let fabric = &prepared.fabric;
        let mut several = 0;
        for (router, dest) in (0..12).flat_map(|router| (0..12).map(move |dest| (router, dest))) {
            let group = fabric.terminal(dest).router / 3;
            if group == router / 3 {
                continue;
            }
            let draw = |draw| first(&prepared, router, dest, &mut Told::new(&[draw], &[]))[0].output;
            let expected = toward_group(fabric, router, group, 3);
            several += u32::from(expected.len() > 1);
            assert_eq!((0..2).map(draw).collect::<BTreeSet<_>>(), expected, "{kind}: {router} to {group}");
        }
        assert!(several > 10, "{several}");
    }
}

/// On a dragonfly, Valiant's packets go by any group that is neither theirs nor the destination's, each for one number that is
/// drawn, whatever waits there; within a group they take the only cable.
#[test]
fn valiant_on_a_dragonfly_goes_by_every_third_group() {
    let (per_group, groups) = (3, 4);
    let prepared = with(r#"{"kind": "dragonfly", "p": 1, "a": 3, "h": 1}"#, r#"{"kind": "valiant"}"#);
    let fabric = &prepared.fabric;
    for (router, dest) in (0..12).flat_map(|router| (0..12).map(move |dest| (router, dest))) {
        let (own, group) = (router / per_group, fabric.terminal(dest).router / per_group);
        let full: Vec<(u16, u32)> = neighbours(fabric, router).iter().map(|to| (to.0, 8)).collect();
        let draw = |draw| first(&prepared, router, dest, &mut Told::new(&[draw], &full))[0].output;
        if own == group {
            let to = |output| neighbours(fabric, router).iter().find(|it| it.0 == output).map(|it| it.1);
            let expected = (router != fabric.terminal(dest).router).then_some(fabric.terminal(dest).router);
            assert_eq!(to(draw(0)), expected);
            continue;
        }
        let others = (0..groups).filter(|&other| other != own && other != group);
        let expected: Vec<u16> = others
            .map(|other| *toward_group(fabric, router, other, per_group).first().expect("a way"))
            .collect();
        assert_eq!((0..groups - 2).map(draw).collect::<Vec<_>>(), expected, "{router} to {dest}");
    }
}

/// Valiant's turning point is any router, each for one number that is drawn.
#[test]
fn valiant_turns_at_every_router() {
    let prepared =
        with(r#"{"kind": "hyperx", "dimensions": [5], "hosts-per-switch": 1}"#, r#"{"kind": "valiant"}"#);
    let mut to: Vec<u32> = (0..5)
        .map(|draw| {
            let taken = first(&prepared, 0, 1, &mut Told::new(&[draw], &[]))[0].output;
            neighbours(&prepared.fabric, 0).iter().find(|it| it.0 == taken).expect("a cable").1
        })
        .collect();
    to.sort_unstable();
    // to the turning point, and straight on where that is the packet's own router
    assert_eq!(to, [1, 1, 2, 3, 4]);
}

/// The routers of every shortest way.
fn shortest_ways(fabric: &Fabric, from: u32, target: u32) -> BTreeSet<Vec<u32>> {
    let distance = distances(fabric, target);
    let mut ways = BTreeSet::from([vec![from]]);
    for left in (0..distance[from as usize]).rev() {
        let on = |way: Vec<u32>| {
            let next = neighbours(fabric, way[way.len() - 1]).into_iter().map(|to| to.1);
            let nearer = next.filter(|&to| distance[to as usize] == left);
            nearer.map(|to| [&way[..], &[to]].concat()).collect::<Vec<_>>()
        };
        ways = ways.into_iter().flat_map(on).collect();
    }
    ways
}

/// Two steps, or half way round, along one dimension and one along the other: by all of the shortest ways.
#[test]
fn functions_that_draw_their_way_take_every_one() {
    let mesh = r#"{"kind": "mesh", "dimensions": [3, 2]}"#;
    let torus = r#"{"kind": "torus", "dimensions": [4, 3]}"#;
    let hyperx = r#"{"kind": "hyperx", "dimensions": [3, 3], "hosts-per-switch": 1}"#;
    for (spec, to, functions) in [
        (mesh, 5, &["romm", "minimal-adaptive"][..]),
        (torus, 6, &["romm", "minimal-adaptive"]),
        (hyperx, 4, &["romm", "minimal-adaptive", "xy-yx", "minimal"]),
    ] {
        for routing in functions {
            let prepared = with(spec, &format!(r#"{{"kind": "{routing}"}}"#));
            let fabric = &prepared.fabric;
            let way = |salt| walk(fabric, prepared.routing.as_ref(), 0, to, 4, &mut Dice(salt));
            let expected = shortest_ways(fabric, 0, fabric.terminal(to).router);
            assert!(expected.len() > 1);
            assert_eq!((0..300).map(way).collect::<BTreeSet<_>>(), expected, "{routing} on {spec}");
        }
    }
}

/// Heads prefer the shorter queue, and of those with fewest flits one that is drawn; the escape comes last, whatever waits there.
#[test]
fn adaptive_heads_prefer_shorter_queues() {
    for (spec, routing) in [
        (r#"{"kind": "mesh", "dimensions": [2, 2, 2]}"#, "minimal-adaptive"),
        (r#"{"kind": "hyperx", "dimensions": [3, 3], "hosts-per-switch": 1, "parallel": [2, 1]}"#, "minimal"),
    ] {
        let prepared = with(spec, &format!(r#"{{"kind": "{routing}"}}"#));
        let dest = prepared.fabric.terminals().len() as u32 - 1;
        let outputs: Vec<u16> = neighbours(&prepared.fabric, 0).iter().map(|to| to.0).collect();
        let offered = |draw: u32, used: &[(u16, u32)]| {
            let mut out = first(&prepared, 0, dest, &mut Told::new(&[draw], used));
            if routing == "minimal-adaptive" {
                assert_eq!(out.pop().map(|escape| escape.priority), Some(0));
            }
            out.iter().map(|candidate| candidate.output).collect::<Vec<_>>()
        };
        let mut ways = offered(0, &[]);
        assert_eq!(ways.len(), 3, "{routing}");
        ways.sort_unstable();
        let by_draw: BTreeSet<u16> = (0..3).map(|draw| offered(draw, &[])[0]).collect();
        assert_eq!(by_draw.into_iter().collect::<Vec<_>>(), ways, "{routing}: of equal ones any");
        for case in 0..64 {
            let flits = |output: u16| case / [1, 4, 16][usize::from(output) % 3] % 4;
            let used: Vec<_> = outputs.iter().map(|&output| (output, flits(output))).collect();
            let queues: Vec<u32> = offered(case, &used).into_iter().map(flits).collect();
            assert!(queues.is_sorted(), "{routing}: {queues:?}");
        }
    }
}

/// O1TURN by queues: the order whose first channel has fewer flits, of parallel cables their mean; of equal ones any.
#[test]
fn the_order_of_dimensions_follows_the_shorter_queue() {
    let prepared = with(
        r#"{"kind": "hyperx", "dimensions": [3, 3], "hosts-per-switch": 1, "parallel": [2, 1]}"#,
        r#"{"kind": "xy-yx", "adaptive": true}"#,
    );
    let toward = |to: u32| neighbours(&prepared.fabric, 0).into_iter().filter(move |it| it.1 == to);
    let (low, high): (Vec<_>, Vec<_>) = (toward(1).collect(), toward(3).collect());
    assert_eq!((low.len(), high.len()), (2, 1));
    for (forwards, backwards) in (0..36).map(|case| (case % 6, case / 6)) {
        let used = [(low[0].0, forwards), (low[1].0, forwards), (high[0].0, backwards)];
        for draw in 0..2 {
            let taken = first(&prepared, 0, 4, &mut Told::new(&[draw], &used))[0].output;
            let expected = if forwards == backwards { draw == 1 } else { backwards < forwards };
            assert_eq!(taken == high[0].0, expected, "{forwards} and {backwards} flits");
        }
    }
}

/// Mitzenmacher's two choices: the one with fewer flits, of equal ones the first.
#[test]
fn of_two_ways_up_that_are_drawn_the_shorter_queue_is_taken() {
    let prepared = with(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts-per-leaf": 1}"#,
        r#"{"kind": "nearest-common-ancestor", "adaptive": true}"#,
    );
    let leaf = prepared.fabric.terminal(0).entry().0;
    let up = neighbours(&prepared.fabric, leaf);
    let used: Vec<_> = up.iter().map(|to| to.0).zip([3, 1, 3, 2]).collect();
    for (one, other) in (0..16).map(|pair| (pair % 4, pair / 4)) {
        let taken = first(&prepared, leaf, 1, &mut Told::new(&[one, other], &used))[0].output;
        let (one, other) = (used[one as usize], used[other as usize]);
        assert_eq!(taken, if other.1 < one.1 { other.0 } else { one.0 }, "{one:?} or {other:?}");
    }
}

#[test]
fn parallel_cables_are_drawn() {
    let prepared =
        with(r#"{"kind": "fully-connected", "nodes": 5, "parallel": 2}"#, r#"{"kind": "dimension-order"}"#);
    let cables = neighbours(&prepared.fabric, 0).into_iter().filter(|to| to.1 == 1).map(|to| to.0);
    let taken = (0..2).map(|draw| first(&prepared, 0, 1, &mut Told::new(&[draw], &[]))[0].output);
    assert_eq!(taken.collect::<BTreeSet<_>>(), cables.collect());
}

/// Packets over the dateline are of class 1, those over the middle of class 0, and all others of either; half way round, the
/// escape leads as many one way as the other.
#[test]
fn classes_of_a_ring_are_shared_as_evenly_as_deadlock_lets() {
    let ring = r#"{"kind": "ring", "nodes": 8}"#;
    let balanced = with(ring, r#"{"kind": "dimension-order", "balanced": true}"#);
    for (from, to, channels) in [(0, 2, vec![0, 2]), (6, 5, vec![0, 2]), (3, 4, vec![0]), (7, 0, vec![2])] {
        let class = |draw| first(&balanced, from, to, &mut Told::new(&[draw], &[]))[0].first_vc;
        assert_eq!(
            (0..2).map(class).collect::<BTreeSet<_>>(),
            channels.into_iter().collect(),
            "{from} to {to}"
        );
    }
    let adaptive = with(ring, r#"{"kind": "minimal-adaptive"}"#);
    let goes_up = |router: u32| {
        let escape = first(&adaptive, router, (router + 4) % 8, &mut Told::new(&[0], &[])).pop();
        let to = neighbours(&adaptive.fabric, router)
            .into_iter()
            .find(|to| Some(to.0) == escape.map(|it| it.output));
        to.expect("a cable").1 == (router + 1) % 8
    };
    assert_eq!((0..8).filter(|&router| goes_up(router)).count(), 4);
}

/// Hosts of two switches, joined by two more, of which one has cables of half the rate: that carries a third.
#[test]
fn slow_channels_carry_less() {
    let link = |from: &str, to: &str, rate: u32| {
        format!(r#"{{"from": "{from}", "to": "{to}", "bandwidth": "{rate} GB/s", "latency": "1 us"}}"#)
    };
    let (mut nodes, mut links) = (Vec::new(), Vec::new());
    for leaf in ["l", "m"] {
        for host in 0..6 {
            nodes.push(format!(r#"{{"name": "{leaf}{host}"}}"#));
            links.push(link(&format!("{leaf}{host}"), leaf, 2));
        }
        links.extend([link(leaf, "fast", 2), link(leaf, "slow", 1)]);
    }
    nodes.extend(["l", "m", "fast", "slow"].map(|name| format!(r#"{{"name": "{name}", "kind": "switch"}}"#)));
    let machine = topology(&format!(
        r#"{{"kind": "graph", "nodes": [{}], "links": [{}]}}"#,
        nodes.join(","),
        links.join(",")
    ));
    let prepared = prepare(&machine, r#"{"routing": {"kind": "shortest-path"}}"#).expect("a network");
    let slow = machine.find_node("slow").expect("a switch");
    let passes = |from, to| {
        let way = walk(&prepared.fabric, prepared.routing.as_ref(), from, to, 4, &mut Dice(0));
        way.iter().any(|&router| prepared.wiring.nodes[router as usize] == slow)
    };
    let pairs = (0..6).flat_map(|from| (6..12).map(move |to| (from, to)));
    assert_eq!(pairs.clone().filter(|&(from, to)| passes(from, to)).count(), 12);
    assert_eq!(pairs.filter(|&(from, to)| passes(to, from)).count(), 12);
}
