//! One switch with every compute node on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::{BuildContext, Generator, check_size};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, NodeKind, Topology, TopologyBuilder};

/// Compute nodes around a single switch, each on a full-duplex cable of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SingleSwitch {
    /// Number of compute nodes.
    pub nodes: u32,
    /// Rate of each cable, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each cable.
    pub latency: Duration,
    /// Type of the compute nodes: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
}

impl Generator for SingleSwitch {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        check_size("nodes", "nodes", Some(u64::from(self.nodes)))?;
        let mut builder = TopologyBuilder::new();
        let compute = builder.compute_type(self.compute.resolve().map_err(|e| e.within("compute"))?);
        let hosts: Vec<_> = (0..self.nodes)
            .map(|i| builder.node(NodeKind::Compute(compute), format_args!("host-{i}")))
            .collect();
        let switch = builder.node(NodeKind::Switch, format_args!("switch"));
        for host in hosts {
            builder.duplex(host, switch, LinkType::new(self.bandwidth, self.latency));
        }
        builder.build()
    }
}
