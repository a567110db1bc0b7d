//! One path per connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Time};

use super::{Entropy, EntropyKind, SenderEntropy};

/// One random number per connection: classic ECMP, all packets of a flow on one path.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Fixed {}

/// The number.
#[derive(Debug, Clone)]
pub struct State {
    entropy: u16,
}

impl SenderEntropy for State {
    #[inline]
    fn choose(&mut self, _: Time) -> u16 {
        self.entropy
    }

    fn only(&self) -> Option<u16> {
        Some(self.entropy)
    }

    fn started(&self, key: u64) -> Self {
        Self { entropy: stratasim_core::random::Draws::new(key).bits() as u16 }
    }
}

impl EntropyKind for Fixed {
    fn build(&self) -> Result<Entropy, BuildError> {
        Ok(Entropy::Fixed(State { entropy: 0 }))
    }
}
