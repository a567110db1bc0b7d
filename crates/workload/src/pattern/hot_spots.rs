//! Several hot spots.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Destinations, Layout, Pattern, PatternSpec, at_least_two, hot_spot, known_rank, share};

/// Traffic of which a fraction, or all, goes to the ranks of a list, each in proportion to its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HotSpots {
    /// The ranks that are hot.
    #[serde(default = "first")]
    pub targets: Vec<u32>,
    /// Weight of each of them, whole numbers; all the same when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<u32>,
    /// Share of the messages that goes to them, from 0 to 1. Where nobody sends to itself, a hot rank sends
    /// as the background does when its own turn comes.
    #[serde(default = "one")]
    pub fraction: f64,
    /// The pattern of all other messages; `uniform-random` when absent. Of a rank that is silent in it only the fraction
    /// is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Box<PatternSpec>>,
}

fn first() -> Vec<u32> {
    vec![0, 1]
}

fn one() -> f64 {
    1.0
}

impl Default for HotSpots {
    fn default() -> Self {
        Self { targets: first(), weights: Vec::new(), fraction: one(), background: None }
    }
}

impl Pattern for HotSpots {
    fn destinations(
        &self,
        layout: &Layout,
        random: &mut Stream,
    ) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        share("fraction", self.fraction)?;
        if self.targets.is_empty() {
            return Err(BuildError::new("targets", "there are none; at least one is expected"));
        }
        for &target in &self.targets {
            known_rank("targets", target, layout.ranks)?;
        }
        if !self.weights.is_empty() && self.weights.len() != self.targets.len() {
            let reason = format!("{} weights for {} targets", self.weights.len(), self.targets.len());
            return Err(BuildError::new("weights", reason));
        }
        let weight = |at: usize| u64::from(self.weights.get(at).copied().unwrap_or(1));
        let mut sum = 0_u64;
        let limits = (0..self.targets.len()).map(|at| {
            sum += weight(at);
            sum
        });
        let limits: Vec<u32> = limits.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)).collect();
        if sum == 0 || sum >= u64::from(u32::MAX) {
            let reason = format!("the weights sum to {sum}; 1 to {} are possible", u32::MAX - 1);
            return Err(BuildError::new("weights", reason));
        }
        let background = hot_spot::background(self.background.as_deref(), layout, random)?;
        Ok(Box::new(Hot { targets: self.targets.clone(), limits, fraction: self.fraction, background }))
    }
}

#[derive(Debug)]
struct Hot {
    targets: Vec<u32>,
    /// Sums of the weights up to each target.
    limits: Vec<u32>,
    fraction: f64,
    background: Box<dyn Destinations>,
}

impl Destinations for Hot {
    fn destination(&self, source: u32, to_self: bool, draws: &mut Draws) -> Option<u32> {
        if self.fraction >= 1.0 || draws.happens(self.fraction) {
            let drawn = draws.below(*self.limits.last()?);
            let target = self.targets[self.limits.partition_point(|&limit| limit <= drawn)];
            if to_self || target != source {
                return Some(target);
            }
        }
        // a hot rank that draws itself sends as the background does
        self.background.destination(source, to_self, draws)
    }

    fn share(&self, source: u32, to_self: bool) -> f64 {
        let starts = [0].into_iter().chain(self.limits.iter().copied());
        let own = self.targets.iter().zip(starts.zip(&self.limits)).filter(|&(&target, _)| target == source);
        let own: u32 = own.map(|(_, (start, &end))| end - start).sum();
        let all = self.limits.last().copied().unwrap_or(1);
        let others = if to_self { 1.0 } else { 1.0 - f64::from(own) / f64::from(all) };
        hot_spot::share_on(self.fraction * others, &*self.background, source, to_self)
    }
}
