//! Hot-spot traffic.

use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Pairs, Pattern, at_least_two, known_rank, other_than};

/// Uniform random traffic of which a fraction goes to one rank instead (Pfister and Norton, "Hot spot
/// contention and combining in multistage interconnection networks", 1985).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HotSpot {
    /// The rank that is hot.
    #[serde(default)]
    pub target: u32,
    /// Probability that a message goes to it whatever else, from 0 to 1. The rank itself sends
    /// uniformly.
    #[serde(default = "one_in_ten")]
    pub fraction: f64,
}

fn one_in_ten() -> f64 {
    0.1
}

impl Default for HotSpot {
    fn default() -> Self {
        Self { target: 0, fraction: one_in_ten() }
    }
}

impl Pattern for HotSpot {
    fn over(&self, ranks: u32, _: &mut Stream) -> Result<Box<dyn Pairs>, BuildError> {
        at_least_two(ranks)?;
        known_rank("target", self.target, ranks)?;
        if !(0.0..=1.0).contains(&self.fraction) {
            let reason = format!("a fraction lies between 0 and 1, got {}", self.fraction);
            return Err(BuildError::new("fraction", reason));
        }
        Ok(Box::new(Hot { ranks, target: self.target, fraction: self.fraction }))
    }
}

#[derive(Debug)]
struct Hot {
    ranks: u32,
    target: u32,
    fraction: f64,
}

impl Pairs for Hot {
    fn turns(&self) -> u64 {
        1
    }

    fn pair(&self, _: u64, random: &mut Stream) -> (u32, u32) {
        let from = random.random_range(0..self.ranks);
        let hot = random.random_bool(self.fraction);
        let to = if hot && from != self.target { self.target } else { other_than(from, self.ranks, random) };
        (from, to)
    }

    fn senders(&self) -> u32 {
        self.ranks
    }
}
