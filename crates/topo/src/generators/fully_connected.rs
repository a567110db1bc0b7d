//! Every pair joined.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::cables::Duplex;
use super::product::{Dimension, Product, Shape};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, Topology};

/// Compute nodes of which every pair has a cable (or several) of its own.
///
/// ```text
///   host-0 ──── host-1
///      │  \  /  │
///      │  /  \  │         n (n - 1) / 2 cables
///   host-2 ──── host-3
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FullyConnected {
    /// Number of compute nodes.
    pub nodes: u32,
    /// Cables between each pair, of which messages in one direction use one; 1 when absent.
    #[serde(default = "super::one")]
    pub parallel: u32,
    /// Rate of each cable, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each cable.
    pub latency: Duration,
    /// Type of the compute nodes: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
    /// Whether the two directions of a cable have a capacity each.
    #[serde(default)]
    pub duplex: Duplex,
}

impl Generator for FullyConnected {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        if self.parallel == 0 {
            return Err(BuildError::new("parallel", "at least one cable is expected, found 0"));
        }
        let link = LinkType::new(self.bandwidth, self.latency);
        let dimensions =
            [Dimension { extent: self.nodes, shape: Shape::Clique, parallel: self.parallel, link }];
        Product {
            field: "nodes",
            dimensions: &dimensions,
            concentration: None,
            compute: &self.compute,
            duplex: self.duplex,
        }
        .build()
    }
}
