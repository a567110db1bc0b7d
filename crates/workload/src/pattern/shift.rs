//! A cyclic shift.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Destinations, Layout, Map, Pattern, at_least_two};

/// Rank `i` sends to rank `i + offset`, cyclic over the ranks. Half of the ranks as offset is the
/// tornado of ring networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shift {
    /// Ranks from the sender to the receiver; negative is backwards.
    #[serde(default = "one")]
    pub offset: i32,
}

fn one() -> i32 {
    1
}

impl Default for Shift {
    fn default() -> Self {
        Self { offset: one() }
    }
}

impl Pattern for Shift {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        let ranks = layout.ranks;
        at_least_two(ranks)?;
        let offset = i64::from(self.offset).rem_euclid(i64::from(ranks)) as u32;
        if offset == 0 {
            let reason =
                format!("an offset of {} among {ranks} ranks sends everything to its sender", self.offset);
            return Err(BuildError::new("offset", reason));
        }
        Ok(Map::of(ranks, |from| ((u64::from(from) + u64::from(offset)) % u64::from(ranks)) as u32))
    }
}
