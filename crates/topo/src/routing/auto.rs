//! `auto`: the rule of the topology's structure, or shortest paths where it has none.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration, LinkId, NodeId};

use super::{Chosen, RouteError, Routing, RoutingAlgorithm, dijkstra};
use crate::Topology;
use crate::structure::{RouteRule, Structure};

/// The topology's own rule (up/down on trees, dimension order on meshes and tori, minimal on a
/// dragonfly, the routes of a file), or Dijkstra by latency where it has none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Auto {}

impl RoutingAlgorithm for Auto {
    fn build(&self, topology: &Arc<Topology>) -> Result<Box<dyn Routing>, BuildError> {
        match topology.structure() {
            Structure::Ruled(rule) => Ok(Box::new(Unasked {
                given: rule.is_given().then(|| rule.clone()),
                routes: Ruled::new(topology.clone(), rule.clone()),
            })),
            Structure::Irregular => {
                Ok(Box::new(Unasked { given: None, routes: dijkstra::Dijkstra::default().search(topology) }))
            }
        }
    }
}

/// Routes that nobody asked for, but those that stand in the topology.
struct Unasked<R> {
    given: Option<Arc<dyn RouteRule>>,
    routes: R,
}

impl<R: Routing> Routing for Unasked<R> {
    fn chosen(&self) -> Chosen {
        if self.given.is_some() { Chosen::SomePairs } else { Chosen::NoPair }
    }

    fn chooses(&self, src: NodeId, dst: NodeId) -> bool {
        self.given.as_ref().is_some_and(|rule| rule.covers(src, dst))
    }

    fn per_flow(&self) -> bool {
        self.routes.per_flow()
    }

    fn route(
        &mut self,
        src: NodeId,
        dst: NodeId,
        key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        self.routes.route(src, dst, key, out)
    }
}

/// Routes by a rule, and searches for pairs that the rule does not cover.
pub(crate) struct Ruled {
    topology: Arc<Topology>,
    rule: Arc<dyn RouteRule>,
    search: Option<Box<dyn Routing>>,
}

impl Ruled {
    pub(crate) fn new(topology: Arc<Topology>, rule: Arc<dyn RouteRule>) -> Self {
        Self { topology, rule, search: None }
    }

    /// Routes by the topology's rule, which must be called `name`; `fits` says where it is known.
    ///
    /// # Errors
    /// Another rule, or none.
    pub(crate) fn require(
        topology: &Arc<Topology>,
        name: &str,
        fits: &str,
    ) -> Result<Box<dyn Routing>, BuildError> {
        let found = match topology.structure() {
            Structure::Ruled(rule) if rule.name() == name => {
                return Ok(Box::new(Self::new(topology.clone(), rule.clone())));
            }
            Structure::Ruled(rule) => format!("this topology routes by the rule `{}`", rule.name()),
            Structure::Irregular => "this topology has no regular structure".to_owned(),
        };
        Err(BuildError::new("kind", format!("`{name}` needs {fits}; {found}; use `auto` or `dijkstra`")))
    }

    #[cold]
    fn search(
        &mut self,
        src: NodeId,
        dst: NodeId,
        key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        let search = self.search.get_or_insert_with(|| {
            dijkstra::Dijkstra::default().build(&self.topology).expect("a search fits every topology")
        });
        search.route(src, dst, key, out)
    }
}

impl Routing for Ruled {
    fn route(
        &mut self,
        src: NodeId,
        dst: NodeId,
        key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        if src == dst && !self.rule.routes_to_self() {
            return Ok(Duration::ZERO);
        }
        if !self.rule.covers(src, dst) {
            return self.search(src, dst, key, out);
        }
        self.rule.route(&self.topology, src, dst, key, out)
    }
}
