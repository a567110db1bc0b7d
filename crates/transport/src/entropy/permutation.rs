//! Packet spraying in an order of the connection's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Draws;
use stratasim_core::{BuildError, Time};

use super::{Entropy, EntropyKind, SenderEntropy, check_paths};

/// All paths in turn, in one random order per connection, as ATLAHS' senders of NDP do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Permutation {
    /// How many, a power of two.
    pub paths: u32,
}

impl Default for Permutation {
    fn default() -> Self {
        Self { paths: 128 }
    }
}

/// A counter and a bijection that is worked out, not stored.
#[derive(Debug, Clone)]
pub struct State {
    mask: u32,
    bits: u32,
    index: u32,
    key: u64,
}

impl State {
    /// A bijection of the numbers up to `mask`: three rounds of odd multiplication, shift and addition, each of which
    /// can be undone.
    #[inline]
    fn shuffled(&self, index: u32) -> u32 {
        let half = self.bits.div_ceil(2).max(1);
        let mut x = index;
        for round in 0..3 {
            let key = (self.key >> (round * 20)) as u32;
            x = x.wrapping_add(key) & self.mask;
            x = x.wrapping_mul(key | 1) & self.mask;
            x ^= x >> half;
        }
        x
    }
}

impl SenderEntropy for State {
    #[inline]
    fn choose(&mut self, _: Time) -> u16 {
        let entropy = self.shuffled(self.index) as u16;
        self.index = (self.index + 1) & self.mask;
        entropy
    }

    fn started(&self, key: u64) -> Self {
        Self { key: Draws::new(key).bits(), ..self.clone() }
    }
}

impl EntropyKind for Permutation {
    fn build(&self) -> Result<Entropy, BuildError> {
        let paths = check_paths(self.paths)?;
        Ok(Entropy::Permutation(State { mask: paths - 1, bits: paths.ilog2(), index: 0, key: 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_every_path_once() {
        for paths in [1, 2, 128, 256] {
            for key in 0..50 {
                let Ok(Entropy::Permutation(state)) = Permutation { paths }.build() else { unreachable!() };
                let mut state = state.started(key);
                let mut seen: Vec<u16> = (0..paths).map(|_| state.choose(Time::ZERO)).collect();
                seen.sort_unstable();
                assert!(seen.iter().enumerate().all(|(at, &path)| at == path as usize), "{paths} {key}");
            }
        }
    }
}
