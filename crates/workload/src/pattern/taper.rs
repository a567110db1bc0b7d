//! Tapered traffic: half of it local.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Destinations, Layout, Pattern, Rule, at_least_two};

/// The ranks are a square, row by row. Half of the messages goes to the 3 x 3 ranks around the sender
/// (whose numbers are `-1`, `0` or `1` rows and ranks away, cyclic over the ranks; the sender among them),
/// the other half anywhere. With 64 ranks this is BookSim2's `taper64`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Taper {}

impl Pattern for Taper {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        let (ranks, side) = (u64::from(layout.ranks), u64::from(layout.ranks.isqrt()));
        if side * side != ranks {
            return Err(BuildError::new("", format!("taper needs a square as number of ranks, got {ranks}")));
        }
        let draw = move |source: u32, draws: &mut Draws| {
            if draws.below(2) == 0 {
                return draws.below(ranks as u32);
            }
            let away = side * u64::from(draws.below(3)) + u64::from(draws.below(3));
            // one row and one rank too far, which is taken back
            ((u64::from(source) + ranks + away - side - 1) % ranks) as u32
        };
        Ok(Box::new(Rule("taper", draw)))
    }
}
