//! Many to one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Destinations, Fixed, Layout, Map, Pairs, Pattern, at_least_two, known_rank};

/// Several ranks send to one: `fan-in` ranks after the target, cyclic over the ranks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Incast {
    /// The rank that receives.
    #[serde(default)]
    pub target: u32,
    /// Ranks that send; all others when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan_in: Option<u32>,
}

impl Pattern for Incast {
    fn destinations(
        &self,
        layout: &Layout,
        random: &mut Stream,
    ) -> Result<Box<dyn Destinations>, BuildError> {
        let pairs = self.over(layout, random)?;
        Ok(Map::of_pairs(layout.ranks, (0..pairs.turns()).map(|turn| pairs.pair(turn, random))))
    }

    fn over(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Pairs>, BuildError> {
        let ranks = layout.ranks;
        at_least_two(ranks)?;
        known_rank("target", self.target, ranks)?;
        let senders = self.fan_in.unwrap_or(ranks - 1);
        if !(1..ranks).contains(&senders) {
            let reason = format!("{senders} senders to one of {ranks} ranks; give 1 to {}", ranks - 1);
            return Err(BuildError::new("fan-in", reason));
        }
        let sender = |distance| ((u64::from(self.target) + distance) % u64::from(ranks)) as u32;
        let pairs = (1..=u64::from(senders)).map(|distance| (sender(distance), self.target)).collect();
        Ok(Box::new(Fixed { pairs }))
    }
}
