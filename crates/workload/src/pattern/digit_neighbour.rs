//! The neighbour in every dimension.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Destinations, Layout, Map, Pattern, at_least_two, change_digits, digits};

/// Every rank sends to the one that is one further in every dimension: coordinate `x` to `x + 1` mod `k`
/// (pattern `neighbor` of Dally and Towles, 2004, table 3.1).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DigitNeighbour {
    /// Extents of the dimensions, innermost first; those of the machine when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<u32>,
}

impl Pattern for DigitNeighbour {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        let digits = digits("digit-neighbour", &self.dimensions, layout)?;
        Ok(Map::of(layout.ranks, |from| change_digits(from, &digits, |digit, extent| (digit + 1) % extent)))
    }
}
