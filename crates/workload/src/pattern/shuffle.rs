//! The perfect shuffle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Destinations, Layout, Map, Pattern, power_of_two};

/// Rank `i` sends to the rank whose number has the bits of `i` rotated to the left by one. The number of
/// ranks must be a power of two (Dally and Towles, 2004, table 3.1).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shuffle {}

impl Pattern for Shuffle {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        let ranks = layout.ranks;
        power_of_two("shuffle", ranks)?;
        let bits = ranks.trailing_zeros();
        Ok(Map::of(ranks, |from| ((from << 1) | (from >> (bits - 1))) & (ranks - 1)))
    }
}
