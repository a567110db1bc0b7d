//! Dimension order, and an error where there are no dimensions.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::auto::Ruled;
use super::{Routing, RoutingAlgorithm};
use crate::Topology;

/// One dimension after the other, innermost first, as `auto` does on meshes, tori, hypercubes, HyperX
/// and composed machines. On other topologies it is an error, where `auto` would search.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DimensionOrder {}

impl RoutingAlgorithm for DimensionOrder {
    fn build(&self, topology: &Arc<Topology>) -> Result<Box<dyn Routing>, BuildError> {
        Ruled::require(
            topology,
            "dimension-order",
            "a ring, mesh, torus, hypercube, HyperX or composed machine",
        )
    }
}
