//! Packet spraying that looks at nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Time};

use super::walk::Walk;
use super::{Entropy, EntropyKind, SenderEntropy, check_paths};

/// All paths in turn, each cycle in another order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Oblivious {
    /// How many, a power of two.
    pub paths: u32,
}

impl Default for Oblivious {
    fn default() -> Self {
        Self { paths: 64 }
    }
}

/// The walk.
#[derive(Debug, Clone)]
pub struct State {
    walk: Walk,
}

impl SenderEntropy for State {
    #[inline]
    fn choose(&mut self, _: Time) -> u16 {
        let path = self.walk.next();
        self.walk.entropy(path)
    }

    fn started(&self, key: u64) -> Self {
        Self { walk: Walk::new(self.walk.paths(), key) }
    }
}

impl EntropyKind for Oblivious {
    fn build(&self) -> Result<Entropy, BuildError> {
        Ok(Entropy::Oblivious(State { walk: Walk::new(check_paths(self.paths)?, 0) }))
    }
}
