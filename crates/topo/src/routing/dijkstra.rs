//! Shortest paths by hops or latency, searched on demand, with a fixed tie-break.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration, LinkId, NodeId};

use super::{RouteError, Routing, RoutingAlgorithm};
use crate::{NodeKind, Topology};

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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Dijkstra {
    /// What a path costs: `latency` or `hops`.
    pub by: Cost,
}

impl RoutingAlgorithm for Dijkstra {
    fn build(&self, topology: &Arc<Topology>) -> Result<Box<dyn Routing>, BuildError> {
        Ok(Box::new(Search {
            topology: topology.clone(),
            by: self.by,
            best: vec![(u64::MAX, u64::MAX); topology.node_count()],
            from: vec![None; topology.node_count()],
            heap: BinaryHeap::new(),
            touched: Vec::new(),
        }))
    }
}

struct Search {
    topology: Arc<Topology>,
    by: Cost,
    best: Vec<(u64, u64)>,
    from: Vec<Option<(NodeId, LinkId)>>,
    heap: BinaryHeap<Reverse<((u64, u64), NodeId)>>,
    touched: Vec<NodeId>,
}

impl Search {
    fn cost(&self, link: LinkId) -> (u64, u64) {
        let latency = self.topology.link(link).latency.as_ps();
        match self.by {
            Cost::Latency => (latency, 1),
            Cost::Hops => (1, latency),
        }
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
        for node in self.touched.drain(..) {
            self.best[node.index()] = (u64::MAX, u64::MAX);
            self.from[node.index()] = None;
        }
        self.heap.clear();
        self.best[src.index()] = (0, 0);
        self.touched.push(src);
        self.heap.push(Reverse(((0, 0), src)));
        while let Some(Reverse((cost, node))) = self.heap.pop() {
            if node == dst {
                break;
            }
            if cost > self.best[node.index()] {
                continue;
            }
            // memories do not forward
            if node != src && matches!(self.topology.kind(node), NodeKind::Memory(_)) {
                continue;
            }
            for port in self.topology.ports(node) {
                let step = self.cost(port.link);
                let new = (cost.0 + step.0, cost.1 + step.1);
                if new < self.best[port.to.index()] {
                    self.best[port.to.index()] = new;
                    self.from[port.to.index()] = Some((node, port.link));
                    self.touched.push(port.to);
                    self.heap.push(Reverse((new, port.to)));
                }
            }
        }
        if self.from[dst.index()].is_none() {
            return Err(RouteError::new(&self.topology, src, dst, "no links connect them"));
        }
        let start = out.len();
        let mut at = dst;
        while let Some((before, link)) = self.from[at.index()] {
            out.push(link);
            at = before;
        }
        out[start..].reverse();
        Ok(Duration::ZERO)
    }
}
