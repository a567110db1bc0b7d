//! Asymmetric traffic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Destinations, Layout, Pattern, Rule, at_least_two};

/// Rank `i` sends to rank `i mod n/2` and to the one half of the machine behind it, each as often: one of
/// the two is `i` itself. The number of ranks `n` must be even. Workloads with a
/// number of messages send nothing to the rank itself, and all to the other.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Asymmetric {}

impl Pattern for Asymmetric {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        let half = layout.ranks / 2;
        if !layout.ranks.is_multiple_of(2) {
            let reason = format!("asymmetric needs an even number of ranks, got {}", layout.ranks);
            return Err(BuildError::new("", reason));
        }
        let draw = move |source: u32, draws: &mut Draws| source % half + draws.below(2) * half;
        Ok(Box::new(Rule("asymmetric", draw)))
    }
}
