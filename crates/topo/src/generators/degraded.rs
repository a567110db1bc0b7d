//! A topology with some slow cables.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Streams;
use stratasim_core::{Bandwidth, BuildError, LinkId};

use super::{BuildContext, Generator, TopologySpec, select};
use crate::graph::Topology;

/// Another topology in which some links run at a part of their rate.
///
/// ```toml
/// [topology]
/// kind = "degraded"
/// factor = 0.5
/// fraction = 0.01
/// of = { kind = "fat-tree", k = 16, bandwidth = "100 Gbps", latency = "1 us" }
/// ```
/// The links are given by name, or are a fraction of all cables drawn by seed: as many as the fraction
/// says, rounded, with both directions. Routes stay as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Degraded {
    /// The topology.
    pub of: Box<TopologySpec>,
    /// What is left of the rate, above 0 and at most 1.
    pub factor: f64,
    /// Names of links; `*` stands for any text, `?` for one character.
    #[serde(default)]
    pub links: Vec<String>,
    /// Part of all cables, from 0 to 1, drawn at random; not together with `links`.
    #[serde(default)]
    pub fraction: Option<f64>,
    /// Seed of the draw; the seed of the run when absent.
    #[serde(default)]
    pub seed: Option<u64>,
}

impl Generator for Degraded {
    fn of(&self) -> Option<&TopologySpec> {
        Some(&self.of)
    }

    fn build(&self, context: &BuildContext) -> Result<Topology, BuildError> {
        let depth = select::depth(self)?;
        if !(self.factor > 0.0 && self.factor <= 1.0) {
            let what = format!(
                "is above 0 and at most 1, got {}; kind `without` removes links, `scaled` makes them faster",
                self.factor
            );
            return Err(BuildError::new("factor", what));
        }
        let topology = select::inner(&self.of, context)?;
        let chosen: Vec<LinkId> = match (self.fraction, self.links.is_empty()) {
            (Some(_), false) => {
                return Err(BuildError::new("fraction", "give either `links` or `fraction`, not both"));
            }
            (None, true) => {
                return Err(BuildError::new("links", "say which links: by `links` or by `fraction`"));
            }
            (None, false) => {
                let chosen = select::links_by_name(&topology, "links", &self.links)?;
                (0..chosen.len()).filter(|&link| chosen[link]).map(LinkId::from_index).collect()
            }
            (Some(fraction), true) => {
                let streams = self.seed.map_or(context.streams, Streams::new);
                let mut random = streams.indexed("topology.degraded", depth as u64);
                let cables = select::sample("fraction", &select::cables(&topology), fraction, &mut random)?;
                let both = |link: LinkId| std::iter::once(link).chain(topology.link(link).reverse);
                cables.into_iter().flat_map(both).collect()
            }
        };
        let mut builder = topology.into_builder();
        for id in chosen {
            let link = &mut builder.links_mut()[id.index()];
            link.bandwidth = Bandwidth(link.bandwidth.bytes_per_s() * self.factor);
            let profile = builder.profiles_mut().links.get_mut(&id).and_then(|p| p.bandwidth.as_mut());
            for (_, value) in profile.into_iter().flat_map(|profile| &mut profile.points) {
                *value *= self.factor;
            }
        }
        builder.build()
    }
}
