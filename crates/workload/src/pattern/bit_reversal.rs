//! Bit reversal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Destinations, Layout, Map, Pattern, power_of_two};

/// Rank `i` sends to the rank whose number has the bits of `i` in reverse order. The number of ranks must
/// be a power of two (Dally and Towles, 2004, table 3.1).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BitReversal {}

impl Pattern for BitReversal {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        power_of_two("bit-reversal", layout.ranks)?;
        let unused = layout.ranks.leading_zeros() + 1;
        Ok(Map::of(layout.ranks, |from| from.reverse_bits() >> unused))
    }
}
