//! Background traffic around ranks that are left alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Destinations, Layout, Pattern, Rule, at_least_two, known_rank};

/// Uniform random traffic that spares some ranks as destinations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Background {
    /// Ranks that nobody sends to. They send as all others do.
    pub excluded: Vec<u32>,
}

impl Pattern for Background {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        let mut excluded = vec![false; layout.ranks as usize];
        for &rank in &self.excluded {
            known_rank("excluded", rank, layout.ranks)?;
            excluded[rank as usize] = true;
        }
        let open: Vec<u32> = (0..layout.ranks).filter(|&rank| !excluded[rank as usize]).collect();
        if open.len() < 2 {
            let reason =
                format!("{} of {} ranks are left as destinations; two are needed", open.len(), layout.ranks);
            return Err(BuildError::new("excluded", reason));
        }
        let draw = move |_, draws: &mut Draws| open[draws.below(open.len() as u32) as usize];
        Ok(Box::new(Rule("background", draw)))
    }
}
