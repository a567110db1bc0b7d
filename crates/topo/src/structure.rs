//! Regular structure of a graph, which lets routing follow a rule instead of a table.

use std::sync::Arc;

use stratasim_core::{Duration, LinkId, NodeId};

use crate::Topology;
use crate::geometry::Geometry;
use crate::routing::RouteError;

/// What a generator knows about the graph that it made.
#[derive(Debug, Clone, Default)]
pub enum Structure {
    /// Nothing: routes are searched.
    #[default]
    Irregular,
    /// A rule of the generator's own.
    Ruled(Arc<dyn RouteRule>),
}

impl Structure {
    /// Where the nodes are, for routing hop by hop; `None` where that is not known.
    pub fn geometry(&self) -> Option<Geometry> {
        match self {
            Self::Irregular => None,
            Self::Ruled(rule) => rule.geometry(),
        }
    }
}

/// A rule that gives routes without search and without tables.
pub trait RouteRule: Send + Sync + std::fmt::Debug {
    /// Name of the rule, such as `up-down` or `dimension-order`.
    fn name(&self) -> &'static str;

    /// Whether the user gave the ways of the pairs that it covers one by one, with the topology.
    fn is_given(&self) -> bool {
        false
    }

    /// Whether the rule also knows the way from a node to itself (a loopback link, as platform
    /// files define them). Where it does not, a message to oneself takes no link.
    fn routes_to_self(&self) -> bool {
        false
    }

    /// Where the nodes are, for routing hop by hop; `None` where the rule has no coordinates.
    fn geometry(&self) -> Option<Geometry> {
        None
    }

    /// Whether the rule knows the way from `src` to `dst`; other pairs are searched (one of the ways of
    /// least latency), so that a rule may leave out what no workload uses.
    fn covers(&self, src: NodeId, dst: NodeId) -> bool {
        let _ = (src, dst);
        true
    }

    /// Appends the links from `src` to `dst` and returns the latency that no link accounts for
    /// (zero but for coordinate-based zones). `key` chooses among equal paths.
    ///
    /// # Errors
    /// When there is no way, or the rule does not [cover](Self::covers) the pair.
    fn route(
        &self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError>;
}
