//! Uniform random traffic.

use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Anywhere, Destinations, Layout, Pairs, Pattern, at_least_two, other_than};

/// Sender and receiver of every message are drawn anew, each pair of different ranks as likely.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UniformRandom {}

impl Pattern for UniformRandom {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        Ok(Box::new(Anywhere { ranks: layout.ranks }))
    }

    fn over(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Pairs>, BuildError> {
        let ranks = layout.ranks;
        at_least_two(ranks)?;
        Ok(Box::new(Uniform { ranks }))
    }
}

#[derive(Debug)]
struct Uniform {
    ranks: u32,
}

impl Pairs for Uniform {
    fn turns(&self) -> u64 {
        1
    }

    fn pair(&self, _: u64, random: &mut Stream) -> (u32, u32) {
        let from = random.random_range(0..self.ranks);
        (from, other_than(from, self.ranks, random))
    }

    fn senders(&self) -> u32 {
        self.ranks
    }
}
