//! `auto`: the usual routing function of each structure.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_topo::geometry::Geometry;

use super::destination_tag::DestinationTagSpec;
use super::dimension_order::DimensionOrderSpec;
use super::minimal::MinimalSpec;
use super::nearest_common_ancestor::NearestCommonAncestorSpec;
use super::shortest_path::ShortestPathSpec;
use super::up_down::UpDownSpec;
use super::{FlitRouting, FlitRoutingAlgorithm};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// The usual routing function of each structure: dimension order on meshes, tori, hypercubes, HyperX and
/// composed machines, nearest common ancestor on fat trees, minimal on dragonflies, destination tag on k-ary n-flies; on any other graph shortest paths, or up*/down* where
/// there are too few virtual channels for those.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Auto {}

impl FlitRoutingAlgorithm for Auto {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        match &wiring.geometry {
            Some(Geometry::Grid(_)) => DimensionOrderSpec::default().build(wiring, router),
            Some(Geometry::Tree(_)) => NearestCommonAncestorSpec::default().build(wiring, router),
            Some(Geometry::Dragonfly(_)) => MinimalSpec::default().build(wiring, router),
            Some(Geometry::Butterfly(_)) => DestinationTagSpec::default().build(wiring, router),
            _ => {
                let shortest = ShortestPathSpec::default().build(wiring, router);
                // what keeps both from it is told by the first
                shortest.or_else(|reason| UpDownSpec::default().build(wiring, router).map_err(|_| reason))
            }
        }
    }
}
