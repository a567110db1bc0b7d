//! A star around a compute node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::{BuildContext, Generator, check_size};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, NodeKind, Topology, TopologyBuilder};

/// Compute nodes around one in the middle, `host-0`, each on a full-duplex cable of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Star {
    /// Number of compute nodes, the one in the middle included.
    pub nodes: u32,
    /// Rate of each cable, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each cable.
    pub latency: Duration,
    /// Type of the compute nodes: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
}

impl Generator for Star {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        if self.nodes < 2 {
            return Err(BuildError::new("nodes", format!("a star needs two, got {}", self.nodes)));
        }
        check_size("nodes", "nodes", Some(self.nodes.into()))?;
        let mut builder = TopologyBuilder::new();
        let compute = self.compute.resolve().map_err(|error| error.within("compute"))?;
        let kind = NodeKind::Compute(builder.compute_type(compute));
        let link = LinkType::new(self.bandwidth, self.latency);
        let middle = builder.node(kind, format_args!("host-0"));
        for index in 1..self.nodes {
            let leaf = builder.node(kind, format_args!("host-{index}"));
            builder.duplex(leaf, middle, link);
        }
        builder.build()
    }
}
