//! n-dimensional meshes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::cables::Duplex;
use super::product::{Concentration, Dimension, Product, Shape};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, Topology};

/// An n-dimensional mesh of any extent per dimension: each node is joined to its neighbours.
///
/// ```text
///   host-0 ─ host-1 ─ host-2      dimensions = [3, 2]
///      │        │        │
///   host-3 ─ host-4 ─ host-5
/// ```
/// The first dimension is the innermost. Messages go along one dimension after the other, in that
/// order (Dally, Seitz 1987). With `hosts-per-switch` the nodes of the mesh are switches that carry
/// hosts; otherwise they compute and forward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mesh {
    /// Nodes along each dimension, innermost first.
    pub dimensions: Vec<u32>,
    /// Rate of each cable, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each cable.
    pub latency: Duration,
    /// Hosts on every node, which is then a switch; absent: the nodes compute.
    #[serde(default)]
    pub hosts_per_switch: Option<u32>,
    /// Rate of each host's cable, with `hosts-per-switch`; `bandwidth` when absent.
    #[serde(default)]
    pub host_bandwidth: Option<Bandwidth>,
    /// Propagation delay of each host's cable, with `hosts-per-switch`; `latency` when absent.
    #[serde(default)]
    pub host_latency: Option<Duration>,
    /// Type of the compute nodes: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
    /// Whether the two directions of a cable have a capacity each.
    #[serde(default)]
    pub duplex: Duplex,
}

impl Generator for Mesh {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        let link = LinkType::new(self.bandwidth, self.latency);
        let dimension = |&extent: &u32| Dimension { extent, shape: Shape::Line, parallel: 1, link };
        let dimensions: Vec<Dimension> = self.dimensions.iter().map(dimension).collect();
        Product {
            field: "dimensions",
            dimensions: &dimensions,
            concentration: Concentration::of(
                self.hosts_per_switch,
                self.host_bandwidth,
                self.host_latency,
                link,
            )?,
            compute: &self.compute,
            duplex: self.duplex,
        }
        .build()
    }
}
