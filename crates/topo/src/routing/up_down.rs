//! Up and down, and an error where there is no tree.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::auto::Ruled;
use super::{Routing, RoutingAlgorithm};
use crate::Topology;

/// Up to the lowest common switch and down again, the way up chosen by the destination (D-mod-K), as
/// `auto` does on trees. On other topologies it is an error, where `auto` would search.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UpDown {}

impl RoutingAlgorithm for UpDown {
    fn build(&self, topology: &Arc<Topology>) -> Result<Box<dyn Routing>, BuildError> {
        Ruled::require(topology, "up-down", "a fat tree, leaf-spine, k-ary n-tree or single switch")
    }
}
