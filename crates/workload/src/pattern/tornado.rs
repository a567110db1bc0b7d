//! Tornado.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Destinations, Layout, Map, Pattern, at_least_two, change_digits, digits};

/// Every rank sends almost half-way round in every dimension: coordinate `x` to
/// `x + ceil(k / 2) - 1` mod `k`, the worst case of minimal routing on rings (Dally and Towles, 2004,
/// table 3.1).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Tornado {
    /// Extents of the dimensions, innermost first; those of the machine when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<u32>,
}

impl Pattern for Tornado {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        let digits = digits("tornado", &self.dimensions, layout)?;
        if digits.iter().all(|&extent| extent < 3) {
            let reason = format!("with extents {digits:?} tornado sends everything to its sender");
            return Err(BuildError::new("dimensions", reason));
        }
        let turn = |digit: u32, extent: u32| (digit + extent.div_ceil(2) - 1) % extent;
        Ok(Map::of(layout.ranks, |from| change_digits(from, &digits, turn)))
    }
}
