//! k-ary n-trees.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::cables::Duplex;
use super::tree::{self, Level};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, Topology};

/// A k-ary n-tree: `k^n` hosts under `n` levels of `k^(n-1)` switches with `k` ports down and,
/// below the top, `k` ports up.
///
/// The butterfly-shaped fat tree of many HPC machines. Destinations are spread over the ways up by
/// their number (D-mod-K, see `fat-tree`).
///
/// Source: Petrini, Vanneschi (1997), "k-ary n-trees: high performance networks for massively parallel
/// architectures".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KAryNTree {
    /// Children of every switch.
    pub k: u32,
    /// Levels of switches.
    pub n: u32,
    /// Rate of each cable, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each cable.
    pub latency: Duration,
    /// Type of the hosts: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
    /// Whether the two directions of a cable have a capacity each.
    #[serde(default)]
    pub duplex: Duplex,
}

impl Generator for KAryNTree {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        if self.k == 0 {
            return Err(BuildError::new("k", "must be at least 1"));
        }
        if !(1..=tree::MOST_LEVELS as u32).contains(&self.n) {
            return Err(BuildError::new(
                "n",
                format!("a tree has 1 to {} levels, not {}", tree::MOST_LEVELS, self.n),
            ));
        }
        let link = LinkType::new(self.bandwidth, self.latency);
        let mut levels =
            vec![Level { children: self.k, parents: self.k, parallel: 1, link }; self.n as usize];
        levels[0].parents = 1;
        tree::build("k", &levels, &self.compute, self.duplex)
    }
}
