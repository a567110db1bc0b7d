//! Matrix transpose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Destinations, Layout, Map, Pattern, at_least_two};

/// The ranks are a square matrix, row by row; the rank in row `r` and column `c` sends to the one in
/// row `c` and column `r`. Ranks on the diagonal send to themselves, or nothing. The number of ranks must be a square
/// (Dally and Towles, "Principles and practices of interconnection networks", 2004, table 3.1).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Transpose {}

impl Pattern for Transpose {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        let ranks = layout.ranks;
        at_least_two(ranks)?;
        let side = ranks.isqrt();
        if side * side != ranks {
            let reason = format!(
                "transpose needs a square as number of ranks, such as {}; got {ranks}",
                side.max(2).pow(2)
            );
            return Err(BuildError::new("", reason));
        }
        Ok(Map::of(ranks, |from| from % side * side + from / side))
    }
}
