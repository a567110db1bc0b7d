//! A ring.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::cables::Duplex;
use super::product::{Dimension, Product, Shape};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, Topology};

/// Compute nodes in a ring, each joined to the next and the last to the first.
///
/// ```text
///   host-0 ── host-1 ── host-2 ── ... ── host-n
///      └─────────────────────────────────┘
/// ```
/// Messages take the shorter way round; half way round, even hosts go up and odd ones down. Two
/// nodes have one cable. A torus of one dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ring {
    /// Number of compute nodes.
    pub nodes: u32,
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

impl Generator for Ring {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        if self.nodes < 2 {
            return Err(BuildError::new("nodes", format!("a ring needs two, got {}", self.nodes)));
        }
        let link = LinkType::new(self.bandwidth, self.latency);
        let dimensions = [Dimension { extent: self.nodes, shape: Shape::Ring, parallel: 1, link }];
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
