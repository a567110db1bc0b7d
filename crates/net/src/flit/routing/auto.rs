//! `auto`: the usual routing function of each structure.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_topo::geometry::Geometry;
use stratasim_topo::{Chosen, RoutingSpec};

use super::destination_tag::DestinationTagSpec;
use super::dimension_order::DimensionOrderSpec;
use super::minimal::MinimalSpec;
use super::nearest_common_ancestor::NearestCommonAncestorSpec;
use super::shortest_path::ShortestPathSpec;
use super::table::TableSpec;
use super::up_down::UpDownSpec;
use super::{FlitRouting, FlitRoutingAlgorithm};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// The routes that stand in the topology, where there are such and they lead over its routers (as `table` takes them);
/// otherwise the usual routing function of each structure: dimension order on meshes, tori, hypercubes, HyperX and composed
/// machines, nearest common ancestor on fat trees, minimal on dragonflies, destination tag on k-ary n-flies; on any other
/// graph shortest paths, or up*/down* where there are too few virtual channels for those.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Auto {}

impl FlitRoutingAlgorithm for Auto {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        self.build_noting(wiring, router, &mut Vec::new())
    }

    fn build_noting(
        &self,
        wiring: &Wiring,
        router: &RouterSpec,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn FlitRouting>, BuildError> {
        if RoutingSpec::default().plugin().build(&wiring.topology)?.chosen() != Chosen::NoPair {
            match TableSpec::default().build(wiring, router) {
                Ok(table) => return Ok(table),
                Err(error) => notes.push(format!(
                    "The routes of the topology do not count here: the flit level cannot take them as a table ({}).",
                    error.reason
                )),
            }
        }
        match &wiring.geometry {
            Some(Geometry::Grid(_)) => DimensionOrderSpec::default().build(wiring, router),
            Some(Geometry::Tree(_)) => NearestCommonAncestorSpec::default().build(wiring, router),
            Some(Geometry::Dragonfly(_)) => MinimalSpec::default().build(wiring, router),
            Some(Geometry::Butterfly(_)) => DestinationTagSpec::default().build(wiring, router),
            _ => {
                let shortest = ShortestPathSpec::default().build_noting(wiring, router, notes);
                // what keeps both from it is told by the first
                shortest.or_else(|reason| UpDownSpec::default().build(wiring, router).map_err(|_| reason))
            }
        }
    }
}
