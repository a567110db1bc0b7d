//! Routing: which links a message takes. One algorithm per file, one line in the list.
//!
//! Routes are computed on demand or by rule; an all-pairs table is never built.

pub mod auto;
pub mod dijkstra;
pub mod dimension_order;
pub mod ecmp;
pub mod explicit;
mod search;
#[cfg(test)]
mod search_tests;
mod steps;
pub mod up_down;

use std::sync::Arc;

use stratasim_core::{BuildError, Duration, LinkId, NodeId, registry};

use crate::Topology;

/// A routing algorithm as the user chose it.
pub trait RoutingAlgorithm {
    /// Prepares it for `topology`.
    ///
    /// # Errors
    /// When the algorithm does not fit the topology.
    fn build(&self, topology: &Arc<Topology>) -> Result<Box<dyn Routing>, BuildError>;
}

/// For which pairs of nodes the user asked for a way of their own, and did not leave it to what suits a network best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// For none: `auto`.
    NoPair,
    /// For those that [`Routing::chooses`] names.
    SomePairs,
    /// For all.
    AllPairs,
}

/// Routes on one topology. May cache what it finds.
pub trait Routing: Send {
    /// For which pairs the user asked for these routes. Networks that spread packets over several ways do so for the others.
    fn chosen(&self) -> Chosen {
        Chosen::AllPairs
    }

    /// Whether the user asked for the route of a pair.
    fn chooses(&self, src: NodeId, dst: NodeId) -> bool {
        let _ = (src, dst);
        self.chosen() == Chosen::AllPairs
    }

    /// Whether the route of a pair depends on `key`. Routes that do not are asked once and kept.
    fn per_flow(&self) -> bool {
        false
    }

    /// Appends the links from `src` to `dst` in order and returns the latency that no link
    /// accounts for (zero but for coordinate-based zones). `src == dst` has no links, unless
    /// the topology's own rule defines a loopback (see `RouteRule::routes_to_self`).
    ///
    /// `key` names the flow: algorithms that spread traffic hash it, others ignore it.
    ///
    /// # Errors
    /// When there is no way.
    fn route(
        &mut self,
        src: NodeId,
        dst: NodeId,
        key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError>;
}

/// There is no route.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no route from {src} to {dst}: {reason}")]
pub struct RouteError {
    /// Name of the source node.
    pub src: String,
    /// Name of the destination node.
    pub dst: String,
    /// Why, and what to do.
    pub reason: String,
}

impl RouteError {
    /// An error between two nodes of `topology`.
    pub fn new(topology: &Topology, src: NodeId, dst: NodeId, reason: impl Into<String>) -> Self {
        Self {
            src: topology.node_name(src).to_owned(),
            dst: topology.node_name(dst).to_owned(),
            reason: reason.into(),
        }
    }
}

registry! {
    /// Every routing algorithm, by its `kind`.
    pub enum RoutingSpec: dyn RoutingAlgorithm {
        "auto" => Auto(auto::Auto),
        "dijkstra" | "shortest-path" => Dijkstra(dijkstra::Dijkstra),
        "ecmp" => Ecmp(ecmp::Ecmp),
        "dimension-order" | "dor" | "xy" | "e-cube" => DimensionOrder(dimension_order::DimensionOrder),
        "up-down" | "d-mod-k" | "nca" => UpDown(up_down::UpDown),
        "explicit" => Explicit(explicit::Explicit),
    }
}

impl Default for RoutingSpec {
    fn default() -> Self {
        Self::Auto(auto::Auto::default())
    }
}
