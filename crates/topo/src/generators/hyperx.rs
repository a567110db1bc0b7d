//! HyperX.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::cables::Duplex;
use super::product::{Concentration, Dimension, Product, Shape};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, Topology};

/// HyperX: switches in a grid, every pair along each dimension joined; hosts on every switch.
///
/// ```text
///   router-0 ── router-1 ── router-2      dimensions = [3, 2]
///      │  └────────│─────────┘ │          (all pairs along a row, all along a column)
///   router-3 ── router-4 ── router-5      and hosts-per-switch hosts on each router
/// ```
/// The first dimension is the innermost. A message takes at most one cable per dimension, in that
/// order; of parallel cables each pair of hosts has one. One dimension is a fully connected set of
/// switches, two are a flattened butterfly. Group: `router`.
///
/// Source: Ahn, Binkert, Davis, McLaren, Schreiber (2009), "HyperX: topology, routing, and packaging of
/// efficient large-scale networks"; there S are the extents, K the cables and T the hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HyperX {
    /// Switches along each dimension, innermost first (S).
    pub dimensions: Vec<u32>,
    /// Cables between each pair of switches along each dimension (K); all 1 when absent.
    #[serde(default)]
    pub parallel: Vec<u32>,
    /// Hosts on every switch (T).
    pub hosts_per_switch: u32,
    /// Rate of each cable, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each cable.
    pub latency: Duration,
    /// Rate of each host's cable; `bandwidth` when absent.
    #[serde(default)]
    pub host_bandwidth: Option<Bandwidth>,
    /// Propagation delay of each host's cable; `latency` when absent.
    #[serde(default)]
    pub host_latency: Option<Duration>,
    /// Type of the compute nodes: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
    /// Whether the two directions of a cable have a capacity each.
    #[serde(default)]
    pub duplex: Duplex,
}

impl Generator for HyperX {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        let link = LinkType::new(self.bandwidth, self.latency);
        if !self.parallel.is_empty() && self.parallel.len() != self.dimensions.len() {
            let (extents, cables) = (self.dimensions.len(), self.parallel.len());
            let what = format!("there are {extents} dimensions, this list has {cables} entries");
            return Err(BuildError::new("parallel", what));
        }
        if let Some(index) = self.parallel.iter().position(|&cables| cables == 0) {
            let what = format!("dimension {index} (from 0) needs at least one cable");
            return Err(BuildError::new("parallel", what));
        }
        let dimensions: Vec<Dimension> = self
            .dimensions
            .iter()
            .enumerate()
            .map(|(index, &extent)| {
                let parallel = self.parallel.get(index).copied().unwrap_or(1);
                Dimension { extent, shape: Shape::Clique, parallel, link }
            })
            .collect();
        Product {
            field: "dimensions",
            dimensions: &dimensions,
            concentration: Concentration::of(
                Some(self.hosts_per_switch),
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
