//! A topology with faster or slower links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration, LinkId};

use super::inline_graph::NodeRole;
use super::{BuildContext, Generator, TopologySpec, select};
use crate::graph::Topology;

/// Another topology with the rate or latency of its links scaled.
///
/// ```toml
/// [topology]
/// kind = "scaled"
/// latency = 10
/// links = ["cx-*", "cr-*"]
/// of = { kind = "hcsim-cxl", xpus = 256 }
/// ```
/// All links are scaled, or those whose name matches a pattern in `links` and that join the two kinds
/// of nodes in `between`. Routes by rule stay as they are; searched routes follow the new latencies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scaled {
    /// The topology.
    pub of: Box<TopologySpec>,
    /// Factor of the rate; 1 when absent.
    #[serde(default = "unchanged")]
    pub bandwidth: f64,
    /// Factor of the propagation delay; 1 when absent.
    #[serde(default = "unchanged")]
    pub latency: f64,
    /// Names of links; `*` stands for any text, `?` for one character. All when absent.
    #[serde(default)]
    pub links: Vec<String>,
    /// Kinds of nodes at the two ends, such as `["compute", "switch"]`. Any when absent.
    #[serde(default)]
    pub between: Option<[NodeRole; 2]>,
}

fn unchanged() -> f64 {
    1.0
}

impl Generator for Scaled {
    fn of(&self) -> Option<&TopologySpec> {
        Some(&self.of)
    }

    fn build(&self, context: &BuildContext) -> Result<Topology, BuildError> {
        select::depth(self)?;
        if !(self.bandwidth > 0.0 && self.bandwidth.is_finite()) {
            let what = format!("a factor of the rate is more than zero, got {}", self.bandwidth);
            return Err(BuildError::new("bandwidth", what));
        }
        if !(self.latency >= 0.0 && self.latency.is_finite()) {
            let what = format!("a factor of the latency is not negative, got {}", self.latency);
            return Err(BuildError::new("latency", what));
        }
        let topology = select::inner(&self.of, context)?;
        let chosen = self.choose(&topology)?;
        let mut builder = topology.into_builder();
        for (link, _) in builder.links_mut().iter_mut().zip(&chosen).filter(|&(_, &chosen)| chosen) {
            link.bandwidth = Bandwidth(link.bandwidth.bytes_per_s() * self.bandwidth);
            let latency = link.latency.as_ps() as f64 * self.latency;
            if latency >= Duration::MAX.as_ps() as f64 {
                return Err(BuildError::new("latency", "a link gets a latency of more than 213 days"));
            }
            // small latencies are exact, long ones are rounded to the nearest picosecond
            link.latency = Duration::from_ps(latency.round() as u64);
        }
        let scaled = builder.profiles_mut().links.iter_mut().filter(|(id, _)| chosen[id.index()]);
        for (_, profiles) in scaled {
            for (profile, factor) in
                [(&mut profiles.bandwidth, self.bandwidth), (&mut profiles.latency, self.latency)]
            {
                for (_, value) in profile.iter_mut().flat_map(|profile| &mut profile.points) {
                    *value *= factor;
                }
            }
        }
        builder.build()
    }
}

impl Scaled {
    fn choose(&self, topology: &Topology) -> Result<Vec<bool>, BuildError> {
        let mut chosen = if self.links.is_empty() {
            vec![true; topology.link_count()]
        } else {
            select::links_by_name(topology, "links", &self.links)?
        };
        if let Some(between) = self.between {
            for (index, chosen) in chosen.iter_mut().enumerate() {
                *chosen &= select::joins(topology, LinkId::from_index(index), between);
            }
            if !chosen.contains(&true) {
                let [a, b] = between.map(NodeRole::name);
                let what = format!("no chosen link joins a {a} node with a {b} node");
                return Err(BuildError::new("between", what));
            }
        }
        Ok(chosen)
    }
}
