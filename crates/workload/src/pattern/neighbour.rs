//! Local traffic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Destinations, Layout, Pairs, Pattern, Rule, at_least_two};

/// Every rank sends to the ranks next to it on both sides, cyclic over the ranks: halo exchange,
/// local traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Neighbour {
    /// Ranks served on each side.
    #[serde(default = "one")]
    pub reach: u32,
}

fn one() -> u32 {
    1
}

impl Default for Neighbour {
    fn default() -> Self {
        Self { reach: one() }
    }
}

impl Pattern for Neighbour {
    fn destinations(
        &self,
        layout: &Layout,
        random: &mut Stream,
    ) -> Result<Box<dyn Destinations>, BuildError> {
        self.over(layout, random)?;
        let (ranks, reach) = (u64::from(layout.ranks), u64::from(self.reach));
        let draw = move |source: u32, draws: &mut Draws| {
            let side = u64::from(draws.below(2 * reach as u32));
            let offset = if side < reach { side + 1 } else { ranks - (side - reach + 1) };
            ((u64::from(source) + offset) % ranks) as u32
        };
        Ok(Box::new(Rule("neighbour", draw)))
    }

    fn over(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Pairs>, BuildError> {
        let ranks = layout.ranks;
        at_least_two(ranks)?;
        if ranks == 2 {
            return Err(BuildError::new(
                "",
                "two ranks have one neighbour each: use `shift`, which sends to it",
            ));
        }
        if self.reach == 0 || self.reach > (ranks - 1) / 2 {
            return Err(BuildError::new(
                "reach",
                format!(
                    "{} ranks on each side of {ranks} on a ring; give 1 to {}",
                    self.reach,
                    (ranks - 1) / 2
                ),
            ));
        }
        Ok(Box::new(Sides { ranks, reach: self.reach }))
    }
}

#[derive(Debug)]
struct Sides {
    ranks: u32,
    reach: u32,
}

impl Pairs for Sides {
    fn turns(&self) -> u64 {
        u64::from(self.ranks) * 2 * u64::from(self.reach)
    }

    fn pair(&self, turn: u64, _: &mut Stream) -> (u32, u32) {
        // all ranks to the next one, all to the one before, all to the second next one, ...
        let (round, from) = (turn / u64::from(self.ranks), turn % u64::from(self.ranks));
        let distance = round / 2 + 1;
        let offset = if round.is_multiple_of(2) { distance } else { u64::from(self.ranks) - distance };
        (from as u32, ((from + offset) % u64::from(self.ranks)) as u32)
    }

    fn senders(&self) -> u32 {
        self.ranks
    }
}
