//! Latency and gap between two nodes.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use stratasim_core::{Bandwidth, BuildError, LinkId, NodeId};
use stratasim_topo::graph::NO_GROUP;
use stratasim_topo::{Routing, Topology};

use super::Message;
use crate::cables;

/// Parameters between two nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    /// L, in picoseconds.
    pub(super) latency_ps: u64,
    /// g, in picoseconds.
    pub(super) gap_ps: u64,
    /// G, in picoseconds per byte.
    pub(super) ps_per_byte: f64,
    /// Whether the message stays in its node and passes no NIC.
    pub(super) own_lane: bool,
}

/// Parameters of every pair, worked out when they are asked for.
pub(super) struct Pairs {
    /// Where nothing else applies.
    far: Pair,
    /// Parameters within a node.
    own: Option<Pair>,
    /// Group of each node and parameters within a group, in order of preference.
    groups: Vec<(Vec<u32>, Pair)>,
    routes: Option<Routes>,
}

struct Routes {
    topology: Arc<Topology>,
    routing: Box<dyn Routing>,
    /// (latency in ps, least rate in bytes per second) by pair.
    known: FxHashMap<(NodeId, NodeId), (u64, f64)>,
    links: Vec<LinkId>,
}

impl Pairs {
    /// The same parameters for all pairs but those within a node.
    pub(super) fn same(spec: &Message) -> Self {
        let far = Pair {
            latency_ps: spec.latency.as_ps(),
            gap_ps: spec.gap.as_ps(),
            ps_per_byte: spec.gap_per_byte.ps_per_byte(),
            own_lane: false,
        };
        let near = |near: &super::Near| Pair {
            latency_ps: near.latency.as_ps(),
            gap_ps: near.gap.as_ps(),
            ps_per_byte: near.gap_per_byte.ps_per_byte(),
            own_lane: near.within_node(),
        };
        let own = spec.near.iter().find(|near| near.within_node()).map(near);
        Self { far, own, groups: Vec::new(), routes: None }
    }

    pub(super) fn new(
        spec: &Message,
        topology: &Arc<Topology>,
        routing: Box<dyn Routing>,
    ) -> Result<Self, BuildError> {
        let mut pairs = Self::same(spec);
        for (place, near) in spec.near.iter().enumerate().filter(|(_, near)| !near.within_node()) {
            let Some(groups) = topology.grouping(&near.within) else {
                let known: Vec<_> = std::iter::once("node").chain(topology.groupings()).collect();
                let reason =
                    format!("this topology has no grouping `{}` (it has: {})", near.within, known.join(", "));
                return Err(BuildError::new(format!("near.{place}.within"), reason));
            };
            let pair = Pair {
                latency_ps: near.latency.as_ps(),
                gap_ps: near.gap.as_ps(),
                ps_per_byte: near.gap_per_byte.ps_per_byte(),
                own_lane: false,
            };
            pairs.groups.push((groups.to_vec(), pair));
        }
        if spec.from_routes {
            cables::refuse_changes(topology, "message").map_err(|error| error.within("from-routes"))?;
            pairs.routes = Some(Routes {
                topology: topology.clone(),
                routing,
                known: FxHashMap::default(),
                links: Vec::new(),
            });
        }
        Ok(pairs)
    }

    /// Whether messages within a node have parameters of their own.
    pub(super) fn within_nodes(&self) -> bool {
        self.own.is_some()
    }

    /// The parameters between `src` and `dst`.
    ///
    /// # Errors
    /// No route, where routes count.
    #[inline]
    pub(super) fn get(&mut self, src: NodeId, dst: NodeId) -> Result<Pair, BuildError> {
        if self.own.is_none() && self.groups.is_empty() && self.routes.is_none() {
            return Ok(self.far);
        }
        self.look_up(src, dst)
    }

    fn look_up(&mut self, src: NodeId, dst: NodeId) -> Result<Pair, BuildError> {
        if src == dst
            && let Some(own) = self.own
        {
            return Ok(own);
        }
        for (groups, pair) in &self.groups {
            let group = |node: NodeId| groups.get(node.index()).copied().unwrap_or(NO_GROUP);
            if group(src) != NO_GROUP && group(src) == group(dst) {
                return Ok(*pair);
            }
        }
        let Some(routes) = &mut self.routes else { return Ok(self.far) };
        let (latency_ps, rate) = routes.get(src, dst)?;
        Ok(Pair {
            latency_ps: self.far.latency_ps.saturating_add(latency_ps),
            ps_per_byte: self.far.ps_per_byte.max(1e12 / rate),
            ..self.far
        })
    }
}

impl Routes {
    fn get(&mut self, src: NodeId, dst: NodeId) -> Result<(u64, f64), BuildError> {
        if let Some(&known) = self.known.get(&(src, dst)) {
            return Ok(known);
        }
        self.links.clear();
        let extra = self
            .routing
            .route(src, dst, 0, &mut self.links)
            .map_err(|error| BuildError::new("", error.to_string()))?;
        let links = || self.links.iter().map(|&link| self.topology.link(link));
        let latency_ps = links().fold(extra.as_ps(), |sum, link| sum.saturating_add(link.latency.as_ps()));
        let link_rates = links().map(|link| link.bandwidth.bytes_per_s());
        let memories = [src, dst].into_iter().filter_map(|end| self.topology.memory_type(end)?.bandwidth);
        let rate = link_rates.chain(memories.map(Bandwidth::bytes_per_s)).fold(f64::INFINITY, f64::min);
        self.known.insert((src, dst), (latency_ps, rate));
        Ok((latency_ps, rate))
    }
}
