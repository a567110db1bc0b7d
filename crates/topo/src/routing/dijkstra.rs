//! Shortest paths by hops or latency, searched on demand, with a fixed tie-break.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration, LinkId, NodeId};

use super::search::{Inner, PathCost, Scratch, Store, Tree};
use super::steps::{Direction, Steps};
use super::{RouteError, Routing, RoutingAlgorithm};
use crate::Topology;

/// What a path costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// The sum of link latencies, then the number of links.
    #[default]
    Latency,
    /// The number of links, then the sum of latencies.
    Hops,
}

/// Dijkstra's shortest paths, searched when a pair asks.
///
/// Of equal paths the one is taken that a search settles first: nodes of equal cost are settled in
/// the order of their ids, ports are tried in order, and only a strictly better path replaces one
/// found before. Compute nodes forward (a torus of accelerators needs it), memory nodes do not.
///
/// A source that asks again gets a tree of all its shortest paths (Dijkstra 1959); trees are kept
/// within a fixed amount of memory, never for all pairs of a large machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Dijkstra {
    /// What a path costs: `latency` or `hops`.
    pub by: Cost,
}

/// Memory that shortest-path trees may take together.
const TREE_BYTES: usize = 128 << 20;

impl RoutingAlgorithm for Dijkstra {
    fn build(&self, topology: &Arc<Topology>) -> Result<Box<dyn Routing>, BuildError> {
        Ok(Box::new(Search::new(topology.clone(), self.by, TREE_BYTES)))
    }
}

/// Searches, and keeps the trees of roots that ask a second time.
struct Search {
    topology: Arc<Topology>,
    by: Cost,
    inner: Inner,
    steps: Steps,
    scratch: Scratch,
    asked: Vec<bool>,
    trees: Store<Tree>,
}

fn link_cost(topology: &Topology, by: Cost, link: LinkId) -> PathCost {
    let latency = topology.link(link).latency.as_ps();
    match by {
        Cost::Latency => (latency, 1),
        Cost::Hops => (1, latency),
    }
}

impl Search {
    fn new(topology: Arc<Topology>, by: Cost, tree_bytes: usize) -> Self {
        let (nodes, inner) = (topology.node_count(), Inner::new(&topology));
        let steps = Steps::new(&topology, &inner, Direction::Along, |link| link_cost(&topology, by, link));
        Self {
            scratch: Scratch::new(inner.count(), &steps),
            steps,
            asked: vec![false; nodes],
            trees: Store::new(nodes, tree_bytes, inner.count() * size_of::<u32>()),
            inner,
            topology,
            by,
        }
    }

    fn search(&mut self, root: NodeId, goal: Option<NodeId>) {
        let cost = |link| link_cost(&self.topology, self.by, link);
        let (root, goal) = (self.inner.place(root), goal.map(|goal| self.inner.place(goal)));
        self.scratch.search(&self.steps, cost, root, goal);
    }

    /// Appends the links between two inner nodes; false when there is no way.
    fn path(&mut self, src: NodeId, dst: NodeId, out: &mut Vec<LinkId>) -> bool {
        let slot = match self.trees.slot(src) {
            Some(slot) => slot,
            None if !std::mem::replace(&mut self.asked[src.index()], true) => {
                self.search(src, Some(dst));
                return self.scratch.tree().path(&self.topology, &self.inner, src, dst, out);
            }
            None => {
                self.search(src, None);
                self.trees.keep(src, self.scratch.tree().clone())
            }
        };
        self.trees.get(slot).path(&self.topology, &self.inner, src, dst, out)
    }
}

impl Routing for Search {
    fn route(
        &mut self,
        src: NodeId,
        dst: NodeId,
        _key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        if src == dst {
            return Ok(Duration::ZERO);
        }
        let start = out.len();
        let ends = self.inner.ends(src, dst);
        out.extend(ends.first);
        if ends.src != ends.dst && !self.path(ends.src, ends.dst, out) {
            out.truncate(start);
            return Err(RouteError::new(&self.topology, src, dst, "no links connect them"));
        }
        out.extend(ends.last);
        Ok(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::Bandwidth;

    use super::*;
    use crate::graph::LinkType;
    use crate::{NodeKind, TopologyBuilder};

    fn link(ns: u64) -> LinkType {
        LinkType::new(Bandwidth(1e9), Duration::from_ns(ns))
    }

    /// A square 0-1-3, 0-2-3 with a slow direct cable 0-3 and a memory between 0 and 3.
    fn square() -> Arc<Topology> {
        let mut builder = TopologyBuilder::new();
        let nodes: Vec<_> = (0..4).map(|i| builder.node(NodeKind::Switch, format_args!("s{i}"))).collect();
        for (a, b, ns) in [(0, 2, 10), (0, 1, 10), (1, 3, 10), (2, 3, 10), (0, 3, 50)] {
            builder.duplex(nodes[a], nodes[b], link(ns));
        }
        let memory = builder.memory_type(crate::MemoryType { capacity_bytes: None, bandwidth: None });
        let short_cut = builder.node(NodeKind::Memory(memory), format_args!("m"));
        builder.duplex(nodes[0], short_cut, link(1));
        builder.duplex(short_cut, nodes[3], link(1));
        Arc::new(builder.build().unwrap())
    }

    fn names(routing: &mut dyn Routing, topology: &Topology, src: u32, dst: u32) -> Vec<String> {
        let mut out = Vec::new();
        routing.route(NodeId(src), NodeId(dst), 0, &mut out).unwrap();
        out.into_iter().map(|link| topology.link_name(link)).collect()
    }

    #[test]
    fn latency_and_hops_differ_and_ties_go_to_the_lower_id() {
        let topology = square();
        let mut latency = Dijkstra { by: Cost::Latency }.build(&topology).unwrap();
        let mut hops = Dijkstra { by: Cost::Hops }.build(&topology).unwrap();
        // searched twice, then from the tree
        for _ in 0..3 {
            // s1 and s2 are equally far; s1 is settled first although its cable came second
            assert_eq!(names(&mut *latency, &topology, 0, 3), ["s0->s1", "s1->s3"]);
            assert_eq!(names(&mut *hops, &topology, 0, 3), ["s0->s3"]);
        }
    }

    #[test]
    fn a_memory_is_reached_but_never_crossed() {
        let topology = square();
        let mut routing = Dijkstra::default().build(&topology).unwrap();
        assert_eq!(names(&mut *routing, &topology, 4, 3), ["m->s3"]);
        assert_eq!(names(&mut *routing, &topology, 0, 4), ["s0->m"]);
    }

    #[test]
    fn evicted_trees_give_the_same_routes() {
        let topology = square();
        let mut roomy = Search::new(topology.clone(), Cost::Latency, TREE_BYTES);
        let mut tight = Search::new(topology.clone(), Cost::Latency, 0);
        for round in 0..4 {
            for pair in 0..25 {
                let (src, dst) = ((pair + round) % 5, pair / 5);
                assert_eq!(
                    names(&mut roomy, &topology, src, dst),
                    names(&mut tight, &topology, src, dst),
                    "{src} to {dst}"
                );
            }
        }
    }

    #[test]
    fn no_way_is_an_error_that_names_both_ends() {
        let mut builder = TopologyBuilder::new();
        let a = builder.node(NodeKind::Switch, format_args!("a"));
        let b = builder.node(NodeKind::Switch, format_args!("b"));
        builder.simplex(a, b, link(1));
        let topology = Arc::new(builder.build().unwrap());
        let mut routing = Dijkstra::default().build(&topology).unwrap();
        let mut out = vec![LinkId(9)];
        for _ in 0..3 {
            let error = routing.route(b, a, 0, &mut out).unwrap_err();
            assert_eq!(error.to_string(), "no route from b to a: no links connect them");
        }
        assert_eq!(out, [LinkId(9)]);
    }
}
