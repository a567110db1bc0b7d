//! Bit complement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Destinations, Layout, Map, Pattern, power_of_two};

/// Rank `i` sends to the rank whose number has every bit of `i` inverted, so that everything crosses
/// the middle of the machine. The number of ranks must be a power of two (Dally and Towles,
/// "Principles and practices of interconnection networks", 2004, table 3.1).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BitComplement {}

impl Pattern for BitComplement {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        let ranks = layout.ranks;
        power_of_two("bit-complement", ranks)?;
        Ok(Map::of(ranks, |from| !from & (ranks - 1)))
    }
}
