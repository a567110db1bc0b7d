//! Hypercubes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::cables::Duplex;
use super::product::{Dimension, MOST_DIMENSIONS, Product, Shape};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, Topology};

/// A hypercube of `2^n` compute nodes: nodes whose numbers differ in one bit are joined.
///
/// ```text
///     6 ──── 7
///    /│     /│        dimensions = 3
///   4 ──── 5 │
///   │ 2 ───│ 3
///   │/     │/
///   0 ──── 1
/// ```
/// Messages correct one bit after the other, lowest first (e-cube routing). Source: Sullivan,
/// Bashkow (1977), "A large scale, homogeneous, fully distributed parallel machine".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hypercube {
    /// Number of dimensions `n`.
    pub dimensions: u32,
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

impl Generator for Hypercube {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        let link = LinkType::new(self.bandwidth, self.latency);
        let most = MOST_DIMENSIONS as u32;
        if !(1..=most).contains(&self.dimensions) {
            let what = format!("a hypercube has 1 to {most} dimensions, not {}", self.dimensions);
            return Err(BuildError::new("dimensions", what));
        }
        let dimension = Dimension { extent: 2, shape: Shape::Line, parallel: 1, link };
        Product {
            field: "dimensions",
            dimensions: &vec![dimension; self.dimensions as usize],
            concentration: None,
            compute: &self.compute,
            duplex: self.duplex,
        }
        .build()
    }
}
