//! Equal-cost multi-path: a hash of the flow chooses among shortest paths.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::mix;
use stratasim_core::{BuildError, Duration, LinkId, NodeId};

use super::dijkstra::Cost;
use super::search::{PathCost, Scratch, UNREACHED, add};
use super::{RouteError, Routing, RoutingAlgorithm};
use crate::graph::Port;
use crate::{NodeKind, Topology};

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

/// Memory that distances may take together.
const DISTANCE_BYTES: usize = 128 << 20;

impl RoutingAlgorithm for Ecmp {
    fn build(&self, topology: &Arc<Topology>) -> Result<Box<dyn Routing>, BuildError> {
        Ok(Box::new(Paths::new(topology.clone(), self.clone(), DISTANCE_BYTES)))
    }
}

/// Distances to destinations that were asked for.
struct Paths {
    topology: Arc<Topology>,
    spec: Ecmp,
    /// Ways to come to a node, as `Topology::ports` has the ways to leave it.
    incoming: Incoming,
    scratch: Scratch,
    /// By node: 0, or one more than the slot of its distances.
    slot: Vec<u32>,
    distances: Vec<(NodeId, Vec<PathCost>)>,
    most: usize,
    oldest: usize,
}

/// For every node the links that lead to it; a port's `to` is where the link comes from.
struct Incoming {
    start: Vec<u32>,
    ports: Vec<Port>,
}

impl Incoming {
    fn new(topology: &Topology) -> Self {
        let nodes = || (0..topology.node_count()).map(NodeId::from_index);
        let mut start = vec![0_u32; topology.node_count() + 1];
        for port in nodes().flat_map(|node| topology.ports(node)) {
            start[port.to.index() + 1] += 1;
        }
        for node in 0..topology.node_count() {
            start[node + 1] += start[node];
        }
        let mut next = start.clone();
        let mut ports = vec![Port { link: LinkId(0), to: NodeId(0) }; start[topology.node_count()] as usize];
        for node in nodes() {
            for port in topology.ports(node) {
                let place = &mut next[port.to.index()];
                ports[*place as usize] = Port { link: port.link, to: node };
                *place += 1;
            }
        }
        Self { start, ports }
    }

    fn of(&self, node: NodeId) -> &[Port] {
        &self.ports[self.start[node.index()] as usize..self.start[node.index() + 1] as usize]
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
        let nodes = topology.node_count();
        Self {
            incoming: Incoming::new(&topology),
            scratch: Scratch::new(nodes),
            slot: vec![0; nodes],
            distances: Vec::new(),
            most: (bytes / (nodes.max(1) * size_of::<PathCost>())).max(1),
            oldest: 0,
            topology,
            spec,
        }
    }

    /// The slot of the distances to `root`.
    fn distances(&mut self, root: NodeId) -> usize {
        if let Some(slot) = self.slot[root.index()].checked_sub(1) {
            return slot as usize;
        }
        let Self { topology, spec, incoming, scratch, .. } = self;
        let cost = |link| link_cost(topology, spec.by, link);
        scratch.search(topology, |node| incoming.of(node), cost, root, None);
        let found = (root, self.scratch.costs().to_vec());
        let slot = if self.distances.len() < self.most {
            self.distances.push(found);
            self.distances.len() - 1
        } else {
            let slot = self.oldest;
            self.oldest = (slot + 1) % self.most;
            let (evicted, _) = std::mem::replace(&mut self.distances[slot], found);
            self.slot[evicted.index()] = 0;
            slot
        };
        self.slot[root.index()] = slot as u32 + 1;
        slot
    }
}

impl Routing for Paths {
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
        // a host with a single cable is as far as its switch and one link more
        let (root, last) = match *self.incoming.of(dst) {
            [only] if only.to == src || !matches!(self.topology.kind(only.to), NodeKind::Memory(_)) => {
                (only.to, Some(only.link))
            }
            _ => (dst, None),
        };
        let slot = self.distances(root);
        let (topology, distance) = (&self.topology, &self.distances[slot].1);
        if distance[src.index()] == UNREACHED {
            return Err(RouteError::new(topology, src, dst, "no links connect them"));
        }
        let flow =
            mix(key ^ mix(u64::from(src.0) << 32 | u64::from(dst.0)) ^ mix(self.spec.salt).rotate_left(32));
        let mut at = src;
        while at != root {
            let left = distance[at.index()];
            let on_path = |port: &&Port| {
                let cost = link_cost(topology, self.spec.by, port.link);
                // a memory at the end of a path is fine, on the way it has a distance but does not forward
                let passes = port.to == root || !matches!(topology.kind(port.to), NodeKind::Memory(_));
                passes && add(distance[port.to.index()], cost) == left
            };
            let ports = topology.ports(at);
            let count = ports.iter().filter(on_path).count();
            let hash = mix(flow ^ mix(u64::from(at.0)));
            // multiply and shift: unbiased enough, and no division
            let choice = ((u128::from(hash) * count as u128) >> 64) as usize;
            let port = ports.iter().filter(on_path).nth(choice).expect("a shortest path goes on");
            out.push(port.link);
            at = port.to;
        }
        out.extend(last);
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
        assert_eq!(tight.most, 1);
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
