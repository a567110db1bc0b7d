//! Hot-spot traffic.

use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{
    Destinations, Layout, Pairs, Pattern, PatternSpec, at_least_two, destinations, known_rank, other_than,
    share,
};

/// Traffic of which a fraction goes to one rank instead (Pfister and Norton, "Hot spot contention and
/// combining in multistage interconnection networks", 1985).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HotSpot {
    /// The rank that is hot.
    #[serde(default)]
    pub target: u32,
    /// Probability that a message goes to it whatever else, from 0 to 1. Where nobody sends to itself,
    /// the rank itself sends as the background does.
    #[serde(default = "one_in_ten")]
    pub fraction: f64,
    /// The pattern of all other messages; `uniform-random` when absent. Of a rank that is silent in it only the fraction
    /// is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Box<PatternSpec>>,
}

fn one_in_ten() -> f64 {
    0.1
}

impl Default for HotSpot {
    fn default() -> Self {
        Self { target: 0, fraction: one_in_ten(), background: None }
    }
}

impl Pattern for HotSpot {
    fn destinations(
        &self,
        layout: &Layout,
        random: &mut Stream,
    ) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        known_rank("target", self.target, layout.ranks)?;
        share("fraction", self.fraction)?;
        let background = background(self.background.as_deref(), layout, random)?;
        Ok(Box::new(Hot { target: self.target, fraction: self.fraction, background }))
    }

    fn over(&self, layout: &Layout, random: &mut Stream) -> Result<Box<dyn Pairs>, BuildError> {
        let destinations = self.destinations(layout, random)?;
        if self.background.is_some() {
            return destinations::pairs(layout.ranks, destinations);
        }
        Ok(Box::new(Uniform { ranks: layout.ranks, target: self.target, fraction: self.fraction }))
    }
}

/// The pattern behind the hot spots.
pub(super) fn background(
    spec: Option<&PatternSpec>,
    layout: &Layout,
    random: &mut Stream,
) -> Result<Box<dyn Destinations>, BuildError> {
    let default = PatternSpec::default();
    let pattern = spec.unwrap_or(&default).plugin();
    pattern.destinations(layout, random).map_err(|error| error.within("background"))
}

/// The share of the packets of `source` that go somewhere: a `part` in any case, the others by the background.
pub(super) fn share_on(part: f64, background: &dyn Destinations, source: u32, to_self: bool) -> f64 {
    part + (1.0 - part) * background.share(source, to_self)
}

#[derive(Debug)]
struct Hot {
    target: u32,
    fraction: f64,
    background: Box<dyn Destinations>,
}

impl Destinations for Hot {
    fn destination(&self, source: u32, to_self: bool, draws: &mut Draws) -> Option<u32> {
        let hot = draws.happens(self.fraction) && (to_self || source != self.target);
        if hot { Some(self.target) } else { self.background.destination(source, to_self, draws) }
    }

    fn share(&self, source: u32, to_self: bool) -> f64 {
        let hot = if to_self || source != self.target { self.fraction } else { 0.0 };
        share_on(hot, &*self.background, source, to_self)
    }
}

/// The pairs over a uniform background.
#[derive(Debug)]
struct Uniform {
    ranks: u32,
    target: u32,
    fraction: f64,
}

impl Pairs for Uniform {
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
