//! Machines composed dimension by dimension.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::cables::Duplex;
use super::product::{Dimension, Product, Shape};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, Topology};

/// A machine composed of one network per dimension, as users of ASTRA-sim write it.
///
/// ```toml
/// [topology]
/// kind = "multi-dimensional"
/// dimensions = [
///   { shape = "fully-connected", nodes = 8, bandwidth = "900 GB/s", latency = "100 ns" },
///   { shape = "switch", nodes = 32, bandwidth = "50 GB/s", latency = "2 us" },
/// ]
/// ```
/// Dimensions are listed innermost first: here 32 groups of 8 compute nodes, joined in the group all
/// to all, and through one switch per position with their peers of the other groups. Every compute
/// node has cables in every dimension. Messages go along one dimension after the other.
///
/// `bandwidth` is the rate of each cable in each direction: a node of a ring has two such cables, a
/// node of a fully connected dimension `nodes - 1`, a node on a switch one. Source of the notation: Won
/// et al. (2023), "ASTRA-sim2.0: modeling hierarchical networks and disaggregated systems for
/// large-model training at scale".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MultiDimensional {
    /// The dimensions, innermost first.
    pub dimensions: Vec<DimensionSpec>,
    /// Type of the compute nodes: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
    /// Whether the two directions of a cable have a capacity each.
    #[serde(default)]
    pub duplex: Duplex,
}

/// One dimension of a composed machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DimensionSpec {
    /// How the nodes along this dimension are joined.
    pub shape: DimensionShape,
    /// Nodes along this dimension.
    pub nodes: u32,
    /// Rate of each cable, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each cable.
    pub latency: Duration,
    /// Cables in place of each single one, of which each pair of hosts uses one; 1 when absent.
    #[serde(default = "super::one")]
    pub parallel: u32,
}

/// How the nodes along a dimension are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DimensionShape {
    /// In a ring, both ways.
    Ring,
    /// In a line.
    Line,
    /// All to all.
    FullyConnected,
    /// Through a switch.
    Switch,
}

impl Generator for MultiDimensional {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        let dimensions: Vec<Dimension> = self
            .dimensions
            .iter()
            .map(|dimension| Dimension {
                extent: dimension.nodes,
                shape: match dimension.shape {
                    DimensionShape::Ring => Shape::Ring,
                    DimensionShape::Line => Shape::Line,
                    DimensionShape::FullyConnected => Shape::Clique,
                    DimensionShape::Switch => Shape::Switch,
                },
                parallel: dimension.parallel,
                link: LinkType::new(dimension.bandwidth, dimension.latency),
            })
            .collect();
        Product {
            field: "dimensions",
            dimensions: &dimensions,
            concentration: None,
            compute: &self.compute,
            duplex: self.duplex,
        }
        .build()
    }
}
