//! Equal-cost multi-path: a hash of the flow chooses among shortest paths.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::mix;
use stratasim_core::{BuildError, Duration, LinkId, NodeId};

use super::dijkstra::Cost;
use super::search::{Inner, PathCost, Scratch, Store, UNREACHED, add};
use super::steps::{Direction, Step, Steps};
use super::{RouteError, Routing, RoutingAlgorithm};
use crate::Topology;

/// Equal-cost multi-path routing as switches do it: at every node a hash of the flow chooses among
/// the ports that lie on a shortest path to the destination; parallel cables count one by one.
///
/// The hash is of the flow's key, both ends, the node and `salt`; a flow keeps its path. Distances are
/// found per destination when it is first asked for and kept within a fixed amount of memory. Source:
/// Hopps (2000), RFC 2992, "Analysis of an equal-cost multi-path algorithm".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Ecmp {
    /// What is equal: `hops` (the number of links) or `latency` (its sum, then the number of links).
    pub by: Cost,
    /// Another value gives another choice of paths.
    pub salt: u64,
}

impl Default for Ecmp {
    fn default() -> Self {
        Self { by: Cost::Hops, salt: 0 }
    }
}

/// Memory that distances may take together: enough for all of 4,096 nodes that forward, by latency.
const DISTANCE_BYTES: usize = 256 << 20;

impl RoutingAlgorithm for Ecmp {
    fn build(&self, topology: &Arc<Topology>) -> Result<Box<dyn Routing>, BuildError> {
        Ok(Box::new(Paths::new(topology.clone(), self.clone(), DISTANCE_BYTES)))
    }
}

/// Distances to destinations that were asked for.
struct Paths {
    topology: Arc<Topology>,
    spec: Ecmp,
    inner: Inner,
    /// Ways to come to an inner node from others, and to leave it.
    incoming: Steps,
    outgoing: Steps,
    scratch: Scratch,
    distances: Store<Distances>,
    /// Steps that begin a shortest way, and how far it is from there; working memory.
    choices: Vec<(Step, PathCost)>,
}

/// Distances of all inner nodes to one, by place.
enum Distances {
    /// In links, where all cost the same; `u32::MAX` where there is no way.
    Hops(Vec<u32>),
    /// In picoseconds, then links.
    Latency(Vec<PathCost>),
}

impl Distances {
    fn of(&self, place: usize) -> PathCost {
        match self {
            Self::Hops(hops) if hops[place] == u32::MAX => UNREACHED,
            Self::Hops(hops) => (u64::from(hops[place]), 0),
            Self::Latency(costs) => costs[place],
        }
    }

    /// What a link adds to them.
    fn link_cost(&self, topology: &Topology, link: LinkId) -> PathCost {
        match self {
            Self::Hops(_) => (1, 0),
            Self::Latency(_) => link_cost(topology, Cost::Latency, link),
        }
    }
}

fn link_cost(topology: &Topology, by: Cost, link: LinkId) -> PathCost {
    match by {
        // hops alone: paths of other latency are still equal
        Cost::Hops => (1, 0),
        Cost::Latency => (topology.link(link).latency.as_ps(), 1),
    }
}

impl Paths {
    fn new(topology: Arc<Topology>, spec: Ecmp, bytes: usize) -> Self {
        let (nodes, inner) = (topology.node_count(), Inner::new(&topology));
        let cost = |link| link_cost(&topology, spec.by, link);
        let incoming = Steps::new(&topology, &inner, Direction::Against, cost);
        let each = match incoming.each() {
            Some(_) => size_of::<u32>(),
            None => size_of::<PathCost>(),
        };
        Self {
            scratch: Scratch::new(inner.count(), &incoming),
            incoming,
            outgoing: Steps::new(&topology, &inner, Direction::Along, cost),
            distances: Store::new(nodes, bytes, inner.count() * each),
            choices: Vec::new(),
            inner,
            topology,
            spec,
        }
    }

    /// The slot of the distances to the inner node `root`.
    fn distances(&mut self, root: NodeId) -> usize {
        if let Some(slot) = self.distances.slot(root) {
            return slot;
        }
        let Self { topology, spec, inner, incoming, scratch, .. } = self;
        scratch.search(incoming, |link| link_cost(topology, spec.by, link), inner.place(root), None);
        let found = match incoming.each() {
            Some(_) => Distances::Hops(scratch.far().to_vec()),
            None => Distances::Latency(scratch.costs().to_vec()),
        };
        self.distances.keep(root, found)
    }

    /// Appends the links between two inner nodes; false when there is no way.
    fn path(&mut self, src: NodeId, dst: NodeId, flow: u64, out: &mut Vec<LinkId>) -> bool {
        let slot = self.distances(dst);
        let (inner, outgoing, distances) = (&self.inner, &self.outgoing, self.distances.get(slot));
        let [mut at, dst] = [src, dst].map(|node| inner.place(node) as u32);
        let mut left = distances.of(at as usize);
        if left == UNREACHED {
            return false;
        }
        let choices = &mut self.choices;
        while at != dst {
            choices.clear();
            for &step in outgoing.of(at) {
                let rest = distances.of(step.to as usize);
                // what does not forward has a distance, but is no way through
                let passes = step.to == dst || outgoing.forwards(step.to);
                if passes && add(rest, distances.link_cost(&self.topology, step.link)) == left {
                    choices.push((step, rest));
                }
            }
            let hash = mix(flow ^ mix(u64::from(inner.nodes()[at as usize].0)));
            // multiply and shift: unbiased enough, and no division
            let choice = ((u128::from(hash) * choices.len() as u128) >> 64) as usize;
            let (step, rest) = choices[choice];
            out.push(step.link);
            (at, left) = (step.to, rest);
        }
        true
    }
}

impl Routing for Paths {
    fn per_flow(&self) -> bool {
        true
    }

    fn route(
        &mut self,
        src: NodeId,
        dst: NodeId,
        key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        if src == dst {
            return Ok(Duration::ZERO);
        }
        let pair = u64::from(src.0) << 32 | u64::from(dst.0);
        let flow = mix(key ^ mix(pair) ^ mix(self.spec.salt).rotate_left(32));
        let start = out.len();
        let ends = self.inner.ends(src, dst);
        out.extend(ends.first);
        if ends.src != ends.dst && !self.path(ends.src, ends.dst, flow, out) {
            out.truncate(start);
            return Err(RouteError::new(&self.topology, src, dst, "no links connect them"));
        }
        out.extend(ends.last);
        Ok(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BuildContext, TopologySpec};

    #[test]
    fn forgotten_distances_give_the_same_routes() {
        let spec = r#"{"kind": "torus", "dimensions": [4, 4], "bandwidth": "1 GB/s", "latency": "1 us"}"#;
        let spec: TopologySpec = serde_json::from_str(spec).unwrap();
        let topology = Arc::new(spec.plugin().build(&BuildContext::default()).unwrap());
        let mut roomy = Paths::new(topology.clone(), Ecmp::default(), DISTANCE_BYTES);
        let mut tight = Paths::new(topology, Ecmp::default(), 0);
        for (key, pair) in (0..3_u64).flat_map(|key| (0..256_u32).map(move |pair| (key, pair))) {
            let routes = [&mut roomy, &mut tight].map(|paths| {
                let mut out = Vec::new();
                paths.route(NodeId(pair / 16), NodeId(pair % 16), key, &mut out).unwrap();
                out
            });
            assert_eq!(routes[0], routes[1]);
        }
    }
}
