//! Destinations by list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Destinations, Layout, Pattern, at_least_two, known_rank};

/// Pairs of a sender and a receiver. A sender of several pairs takes one of its receivers at random for each
/// message; ranks that send in no pair are silent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct List {
    /// Sender and receiver of each pair.
    #[serde(default = "one_pair")]
    pub pairs: Vec<[u32; 2]>,
}

fn one_pair() -> Vec<[u32; 2]> {
    vec![[0, 1]]
}

impl Pattern for List {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        at_least_two(layout.ranks)?;
        if self.pairs.is_empty() {
            return Err(BuildError::new("pairs", "the list is empty: nobody would send"));
        }
        let mut pairs = self.pairs.clone();
        for (number, pair) in pairs.iter().enumerate() {
            for &rank in pair {
                known_rank(&format!("pairs.{number}"), rank, layout.ranks)?;
            }
            if pair[0] == pair[1] {
                let reason = format!("rank {} with itself is no pair", pair[0]);
                return Err(BuildError::new(format!("pairs.{number}"), reason));
            }
        }
        pairs.sort_by_key(|pair| pair[0]);
        let start = |rank: u32| pairs.partition_point(|pair| pair[0] < rank) as u32;
        let starts: Vec<u32> = (0..=layout.ranks).map(start).collect();
        Ok(Box::new(Listed { starts, receivers: pairs.into_iter().map(|pair| pair[1]).collect() }))
    }
}

#[derive(Debug)]
struct Listed {
    /// Where the receivers of each rank start.
    starts: Vec<u32>,
    receivers: Vec<u32>,
}

impl Destinations for Listed {
    fn destination(&self, source: u32, _: bool, draws: &mut Draws) -> Option<u32> {
        let (start, end) = (self.starts[source as usize], self.starts[source as usize + 1]);
        match end - start {
            0 => None,
            1 => Some(self.receivers[start as usize]),
            count => Some(self.receivers[(start + draws.below(count)) as usize]),
        }
    }

    fn listed(&self, source: u32) -> &[u32] {
        let [start, end] = [0, 1].map(|next| self.starts[source as usize + next] as usize);
        &self.receivers[start..end]
    }

    fn is_fixed(&self) -> bool {
        self.starts.windows(2).all(|pair| pair[1] - pair[0] <= 1)
    }
}
