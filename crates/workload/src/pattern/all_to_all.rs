//! Everybody to everybody.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Anywhere, Destinations, Layout, Pairs, Pattern, at_least_two};

/// Every rank sends to every other one, first all to the next rank, then all to the second next,
/// and so on; `ranks * (ranks - 1)` messages are one exchange. Open-loop traffic is uniform.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AllToAll {}

impl Pattern for AllToAll {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        Ok(Box::new(Anywhere { ranks: layout.ranks }))
    }

    fn over(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Pairs>, BuildError> {
        let ranks = layout.ranks;
        at_least_two(ranks)?;
        Ok(Box::new(Exchange { ranks }))
    }
}

#[derive(Debug)]
struct Exchange {
    ranks: u32,
}

impl Pairs for Exchange {
    fn turns(&self) -> u64 {
        u64::from(self.ranks) * u64::from(self.ranks - 1)
    }

    fn pair(&self, turn: u64, _: &mut Stream) -> (u32, u32) {
        let n = u64::from(self.ranks);
        let from = turn % n;
        (from as u32, ((from + turn / n + 1) % n) as u32)
    }

    fn senders(&self) -> u32 {
        self.ranks
    }
}
