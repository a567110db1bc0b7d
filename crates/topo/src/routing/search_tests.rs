//! The search by the number of steps against Dijkstra's, on random graphs.

use proptest::prelude::*;
use stratasim_core::{Bandwidth, Duration, LinkId, NodeId};

use super::search::{FAR, Inner, PathCost, Scratch, UNREACHED};
use super::steps::{Direction, Steps};
use crate::graph::{LinkType, MemoryType};
use crate::{NodeKind, Topology, TopologyBuilder};

/// Nodes, of which each third from the second on may be a memory, and links of one latency between them.
fn graph(nodes: u32, memories: bool, cables: &[(u32, u32, bool)]) -> Topology {
    let mut builder = TopologyBuilder::new();
    let memory = builder.memory_type(MemoryType { capacity_bytes: None, bandwidth: None });
    let link = LinkType::new(Bandwidth(1e9), Duration::from_ns(7));
    for node in 0..nodes {
        let kind = if memories && node % 3 == 1 { NodeKind::Memory(memory) } else { NodeKind::Switch };
        builder.node(kind, format_args!("n{node}"));
    }
    for &(a, b, one_way) in cables {
        let (a, b) = (NodeId(a % nodes), NodeId(b % nodes));
        if a == b {
            continue;
        }
        if one_way {
            builder.simplex(a, b, link);
        } else {
            builder.duplex(a, b, link);
        }
    }
    builder.build().unwrap()
}

fn ways(topology: &Topology, inner: &Inner, steps: &Steps, early: bool) -> Vec<Option<Vec<LinkId>>> {
    let mut scratch = Scratch::new(inner.count(), steps);
    let mut all = Vec::new();
    for &root in inner.nodes() {
        if !early {
            scratch.search(steps, |_| (7000, 1), inner.place(root), None);
        }
        for &dst in inner.nodes() {
            if early {
                scratch.search(steps, |_| (7000, 1), inner.place(root), Some(inner.place(dst)));
            }
            let mut way = Vec::new();
            all.push(scratch.tree().path(topology, inner, root, dst, &mut way).then_some(way));
        }
    }
    all
}

proptest! {
    /// The search by the number of steps against Dijkstra's, which knows nothing of equal costs, way by way.
    #[test]
    fn where_all_steps_cost_the_same_the_ways_are_those_of_dijkstras_search(
        nodes in 2..24_u32,
        memories in any::<bool>(),
        cables in prop::collection::vec((0..24_u32, 0..24_u32, any::<bool>()), 1..80),
    ) {
        let topology = graph(nodes, memories, &cables);
        let inner = Inner::new(&topology);
        let steps = || Steps::new(&topology, &inner, Direction::Along, |_| (7000, 1));
        prop_assert_eq!(steps().each().is_some(), inner.nodes().iter().any(|node| {
            topology.ports(*node).iter().any(|port| !inner.is_leaf(port.to))
        }));
        let found = ways(&topology, &inner, &steps(), false);
        prop_assert_eq!(&found, &ways(&topology, &inner, &steps().told_apart(), false));
        prop_assert_eq!(&found, &ways(&topology, &inner, &steps(), true));
        // and backwards the distances
        let back = || Steps::new(&topology, &inner, Direction::Against, |_| (7000, 1));
        let mut by_steps = Scratch::new(inner.count(), &back());
        let mut by_cost = Scratch::new(inner.count(), &back().told_apart());
        for root in 0..inner.count() {
            by_cost.search(&back().told_apart(), |_| (7000, 1), root, None);
            let costs = by_cost.costs().iter();
            let far: Vec<u32> = costs.map(|cost| if *cost == UNREACHED { FAR } else { cost.1 as u32 }).collect();
            by_steps.search(&back(), |_| (7000, 1), root, None);
            if back().each().is_some() {
                prop_assert_eq!(by_steps.far(), &far[..]);
            }
        }
    }
}

#[test]
fn steps_of_which_one_costs_more_are_told_apart() {
    let topology = graph(4, false, &[(0, 1, false), (1, 2, false), (2, 3, false), (3, 0, false)]);
    let inner = Inner::new(&topology);
    let each =
        |cost: &dyn Fn(LinkId) -> PathCost| Steps::new(&topology, &inner, Direction::Along, cost).each();
    assert_eq!(each(&|_| (3, 1)), Some((3, 1)));
    assert_eq!(each(&|link| (u64::from(3 + link.0 / 7), 1)), None);
    // sums that do not fit would be cut off, and ways of other lengths then be equal
    assert_eq!(each(&|_| (u64::MAX / 3, 1)), None);
}
