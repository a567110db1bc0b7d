//! A bad permutation of folded Clos networks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Destinations, Layout, Pattern, Rule, at_least_two};

/// The ranks are a square, row by row. A rank of row `r` sends to the ranks of column `r`, each as often:
/// a row of sources shares a column of destinations (BookSim2's `badperm_yarc`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BadYarc {}

impl Pattern for BadYarc {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        let side = layout.ranks.isqrt();
        if side * side != layout.ranks {
            let reason = format!("bad-yarc needs a square as number of ranks, got {}", layout.ranks);
            return Err(BuildError::new("", reason));
        }
        let draw = move |source: u32, draws: &mut Draws| draws.below(side) * side + source / side;
        Ok(Box::new(Rule("bad-yarc", draw)))
    }
}
