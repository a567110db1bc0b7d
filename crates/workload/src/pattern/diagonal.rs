//! The diagonal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Destinations, Layout, Pattern, Rule, at_least_two};

/// A third of the messages of rank `i` goes to rank `i + 1`, cyclic over the ranks, and two thirds to rank
/// `i` itself (the load of a switch's diagonal; Giaccone, Prabhakar, Shah, 2003). Workloads with a
/// number of messages send nothing to the rank itself, and all to the other.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Diagonal {}

impl Pattern for Diagonal {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        let ranks = layout.ranks;
        at_least_two(ranks)?;
        let draw = move |source: u32, draws: &mut Draws| {
            if draws.below(3) == 0 { (source + 1) % ranks } else { source }
        };
        Ok(Box::new(Rule("diagonal", draw)))
    }
}
