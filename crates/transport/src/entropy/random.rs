//! Packet spraying at random.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Draws;
use stratasim_core::{BuildError, Time};

use super::{Entropy, EntropyKind, SenderEntropy, check_paths};

/// Each packet on a path drawn at random.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Random {
    /// Numbers that are drawn from, a power of two.
    pub paths: u32,
}

impl Default for Random {
    fn default() -> Self {
        Self { paths: 65_536 }
    }
}

/// The draws.
#[derive(Debug, Clone)]
pub struct State {
    paths: u32,
    draws: Draws,
}

impl SenderEntropy for State {
    #[inline]
    fn choose(&mut self, _: Time) -> u16 {
        self.draws.below(self.paths) as u16
    }

    fn started(&self, key: u64) -> Self {
        Self { paths: self.paths, draws: Draws::new(key) }
    }
}

impl EntropyKind for Random {
    fn build(&self) -> Result<Entropy, BuildError> {
        Ok(Entropy::Random(State { paths: check_paths(self.paths)?, draws: Draws::new(0) }))
    }
}
