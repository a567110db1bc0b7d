//! One switch with every compute node on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::cables::Duplex;
use super::tree::{self, Level};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, Topology};

/// Compute nodes around a single switch, each on a cable of its own.
///
/// ```text
///            switch
///         /  |    |  \
///   host-0  ...     host-n
/// ```
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
    /// Whether the two directions of a cable have a capacity each.
    #[serde(default)]
    pub duplex: Duplex,
}

impl Generator for SingleSwitch {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        if self.nodes == 0 {
            return Err(BuildError::new("nodes", "a switch needs at least one node, found 0"));
        }
        let link = LinkType::new(self.bandwidth, self.latency);
        let levels = [Level { children: self.nodes, parents: 1, parallel: 1, link }];
        tree::build("nodes", &levels, &self.compute, self.duplex)
    }
}
