//! Recycled paths first, then the walk.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::memory::prefetch;
use stratasim_core::{BuildError, Time};

use super::bitmap::{self, Bitmap};
use super::{Entropy, EntropyKind, PathFeedback, SenderEntropy};

/// Paths of which good news has come are used again, oldest news first; where there are none, all paths in turn without
/// those with a penalty. The default of Ultra Ethernet's simulator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Mixed {
    /// How many, a power of two.
    pub paths: u32,
    /// Penalty of the path of the packet that is under way longest when a time-out comes, 0 to 15; `go-back-n` does not know it.
    pub timeout_penalty: u8,
}

impl Default for Mixed {
    fn default() -> Self {
        Self { paths: 64, timeout_penalty: Bitmap::default().timeout_penalty }
    }
}

/// The good ones, and the walk.
#[derive(Debug, Clone)]
pub struct State {
    good: VecDeque<u16>,
    rest: bitmap::State,
}

impl SenderEntropy for State {
    #[inline]
    fn choose(&mut self, now: Time) -> u16 {
        match self.good.pop_front() {
            Some(entropy) => entropy,
            None => self.rest.choose(now),
        }
    }

    #[inline]
    fn prefetch(&self) {
        self.good.front().into_iter().chain(self.good.back()).for_each(prefetch);
        self.rest.prefetch();
    }

    #[inline]
    fn on_feedback(&mut self, now: Time, entropy: u16, feedback: PathFeedback) {
        match feedback {
            PathFeedback::Good => {
                // more news than paths is old news
                if self.good.len() == self.rest.paths() {
                    self.good.pop_front();
                }
                self.good.push_back(entropy);
            }
            _ => self.rest.on_feedback(now, entropy, feedback),
        }
    }

    fn on_timeout(&mut self, now: Time, entropy: Option<u16>) {
        self.rest.on_timeout(now, entropy);
    }

    fn started(&self, key: u64) -> Self {
        Self { good: self.good.clone(), rest: self.rest.started(key) }
    }
}

impl EntropyKind for Mixed {
    fn build(&self) -> Result<Entropy, BuildError> {
        let Self { paths, timeout_penalty } = *self;
        let rest = bitmap::State::new(&Bitmap { paths, timeout_penalty, ..Bitmap::default() })?;
        Ok(Entropy::Mixed(State { good: VecDeque::new(), rest }))
    }
}
