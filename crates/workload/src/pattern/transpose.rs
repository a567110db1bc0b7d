//! Matrix transpose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Fixed, Pairs, Pattern, at_least_two};

/// The ranks are a square matrix, row by row; the rank in row `r` and column `c` sends to the one in
/// row `c` and column `r`. Ranks on the diagonal send nothing. The number of ranks must be a square
/// (Dally and Towles, "Principles and practices of interconnection networks", 2004, table 3.1).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Transpose {}

impl Pattern for Transpose {
    fn over(&self, ranks: u32, _: &mut Stream) -> Result<Box<dyn Pairs>, BuildError> {
        at_least_two(ranks)?;
        let side = ranks.isqrt();
        if side * side != ranks {
            let reason =
                format!("transpose needs a square as number of ranks, such as {}; got {ranks}", side * side);
            return Err(BuildError::new("", reason));
        }
        let pairs = (0..ranks).map(|from| (from, from % side * side + from / side));
        Ok(Box::new(Fixed { pairs: pairs.filter(|(from, to)| from != to).collect() }))
    }
}
