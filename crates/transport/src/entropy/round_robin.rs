//! Packet spraying in turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Time};

use super::{Entropy, EntropyKind, SenderEntropy, check_paths};

/// Numbers 1, 2, 3, ... and around, the same for every connection: switches that hash them with the connection
/// spread them differently for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RoundRobin {
    /// Numbers in use, a power of two.
    pub paths: u32,
}

impl Default for RoundRobin {
    fn default() -> Self {
        Self { paths: 128 }
    }
}

/// The last number.
#[derive(Debug, Clone)]
pub struct State {
    mask: u16,
    last: u16,
}

impl SenderEntropy for State {
    #[inline]
    fn choose(&mut self, _: Time) -> u16 {
        self.last = self.last.wrapping_add(1) & self.mask;
        self.last
    }

    fn started(&self, _: u64) -> Self {
        self.clone()
    }
}

impl EntropyKind for RoundRobin {
    fn build(&self) -> Result<Entropy, BuildError> {
        Ok(Entropy::RoundRobin(State { mask: (check_paths(self.paths)? - 1) as u16, last: 0 }))
    }
}
