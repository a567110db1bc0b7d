//! A random permutation.

use rand::seq::SliceRandom as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Destinations, Layout, Map, Pattern, at_least_two};

/// Every rank sends to one other rank and receives from one: a permutation without fixed points,
/// drawn once per run, each one as likely.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Permutation {}

impl Pattern for Permutation {
    fn destinations(
        &self,
        layout: &Layout,
        random: &mut Stream,
    ) -> Result<Box<dyn Destinations>, BuildError> {
        let ranks = layout.ranks;
        at_least_two(ranks)?;
        let mut to: Vec<u32> = (0..ranks).collect();
        // one shuffle in e has no fixed point, whatever the size; shuffling again keeps all of
        // those as likely, which repairing the fixed points would not
        while to.iter().zip(0..).any(|(&to, from)| to == from) {
            to.shuffle(random);
        }
        Ok(Map::of(ranks, |from| to[from as usize]))
    }
}
