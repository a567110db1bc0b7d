//! `auto`: the rule of the topology's structure, or shortest paths where it has none.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration, LinkId, NodeId};

use super::dijkstra::Cost;
use super::ecmp::Ecmp;
use super::{Chosen, RouteError, Routing, RoutingAlgorithm};
use crate::Topology;
use crate::structure::{RouteRule, Structure};

/// The topology's own rule (up/down on trees, dimension order on meshes and tori, minimal on a
/// dragonfly, the routes of a file). Pairs for which it has none take a way of least latency, of equal ones that with fewest
/// links; where several are equal, a hash of both ends chooses. `dijkstra` takes the lowest ids in place of that.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Auto {}

impl RoutingAlgorithm for Auto {
    fn build(&self, topology: &Arc<Topology>) -> Result<Box<dyn Routing>, BuildError> {
        let rule = match topology.structure() {
            Structure::Ruled(rule) => Some(rule.clone()),
            Structure::Irregular => None,
        };
        Ok(Box::new(Ruled { topology: topology.clone(), rule, asked: false, search: None }))
    }
}

/// Routes by a rule, and searches for pairs that the rule does not cover; for all where there is none.
pub(crate) struct Ruled {
    topology: Arc<Topology>,
    rule: Option<Arc<dyn RouteRule>>,
    /// The user asked for this rule, and not just for whatever there is.
    asked: bool,
    search: Option<Box<dyn Routing>>,
}

impl Ruled {
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
                let rule = Some(rule.clone());
                return Ok(Box::new(Self { topology: topology.clone(), rule, asked: true, search: None }));
            }
            Structure::Ruled(rule) => format!("this topology routes by the rule `{}`", rule.name()),
            Structure::Irregular => "this topology has no regular structure".to_owned(),
        };
        Err(BuildError::new("kind", format!("`{name}` needs {fits}; {found}; use `auto` or `dijkstra`")))
    }

    #[cold]
    fn search(&mut self, src: NodeId, dst: NodeId, out: &mut Vec<LinkId>) -> Result<Duration, RouteError> {
        let search = self.search.get_or_insert_with(|| {
            let equal = Ecmp { by: Cost::Latency, salt: 0 };
            equal.build(&self.topology).expect("a search fits every topology")
        });
        // the way is that of the pair, whatever else is sent
        search.route(src, dst, 0, out)
    }
}

impl Routing for Ruled {
    fn chosen(&self) -> Chosen {
        match &self.rule {
            _ if self.asked => Chosen::AllPairs,
            Some(rule) if rule.is_given() => Chosen::SomePairs,
            _ => Chosen::NoPair,
        }
    }

    fn chooses(&self, src: NodeId, dst: NodeId) -> bool {
        self.asked || self.rule.as_ref().is_some_and(|rule| rule.is_given() && rule.covers(src, dst))
    }

    fn route(
        &mut self,
        src: NodeId,
        dst: NodeId,
        key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        match &self.rule {
            Some(rule) if src == dst && !rule.routes_to_self() => Ok(Duration::ZERO),
            Some(rule) if rule.covers(src, dst) => rule.route(&self.topology, src, dst, key, out),
            _ => self.search(src, dst, out),
        }
    }
}
