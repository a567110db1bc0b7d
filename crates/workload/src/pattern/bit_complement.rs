//! Bit complement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Fixed, Pairs, Pattern, at_least_two};

/// Rank `i` sends to the rank whose number has every bit of `i` inverted, so that everything crosses
/// the middle of the machine. The number of ranks must be a power of two (Dally and Towles,
/// "Principles and practices of interconnection networks", 2004, table 3.1).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BitComplement {}

impl Pattern for BitComplement {
    fn over(&self, ranks: u32, _: &mut Stream) -> Result<Box<dyn Pairs>, BuildError> {
        at_least_two(ranks)?;
        if !ranks.is_power_of_two() {
            let reason = format!("bit-complement needs a power of two as number of ranks, got {ranks}");
            return Err(BuildError::new("", reason));
        }
        Ok(Box::new(Fixed { pairs: (0..ranks).map(|from| (from, !from & (ranks - 1))).collect() }))
    }
}
