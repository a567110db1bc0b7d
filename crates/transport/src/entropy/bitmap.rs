//! Packet spraying that leaves out paths with bad news.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::memory::prefetch;
use stratasim_core::{BuildError, Time};

use super::walk::Walk;
use super::{Entropy, EntropyKind, PathFeedback, SenderEntropy, check_paths};
use crate::congestion::check_range;

/// All paths in turn, each cycle in another order; a mark, a trimmed packet or a time-out gives its path a penalty, and paths with
/// a penalty are passed over until it is used up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Bitmap {
    /// How many, a power of two.
    pub paths: u32,
    /// Penalty of a trimmed packet, 0 to 15; a mark is 1.
    pub trim_penalty: u8,
    /// Penalty of the path of the packet that is under way longest when a time-out comes, 0 to 15; `go-back-n` does not know it.
    pub timeout_penalty: u8,
    /// Every path that is passed over uses up one; otherwise only the first per packet.
    pub skip_all: bool,
}

impl Default for Bitmap {
    fn default() -> Self {
        Self { paths: 64, trim_penalty: 4, timeout_penalty: MOST, skip_all: false }
    }
}

/// The walk and the penalties.
#[derive(Debug, Clone)]
pub struct State {
    walk: Walk,
    penalties: Box<[u8]>,
    /// Paths with a penalty.
    penalised: u32,
    trim_penalty: u8,
    timeout_penalty: u8,
    skip_all: bool,
}

/// The largest penalty.
const MOST: u8 = 15;

impl State {
    pub(crate) fn new(spec: &Bitmap) -> Result<Self, BuildError> {
        let paths = check_paths(spec.paths)?;
        check_range("trim-penalty", f64::from(spec.trim_penalty), 0.0, f64::from(MOST))?;
        check_range("timeout-penalty", f64::from(spec.timeout_penalty), 0.0, f64::from(MOST))?;
        Ok(Self {
            walk: Walk::new(paths, 0),
            penalties: vec![0; paths as usize].into(),
            penalised: 0,
            trim_penalty: spec.trim_penalty,
            timeout_penalty: spec.timeout_penalty,
            skip_all: spec.skip_all,
        })
    }

    /// How many paths there are.
    #[inline]
    pub(crate) fn paths(&self) -> usize {
        self.penalties.len()
    }

    #[inline]
    fn blame(&mut self, entropy: u16, more: u8) {
        if more > 0 {
            let penalty = &mut self.penalties[self.walk.path(entropy) as usize];
            self.penalised += u32::from(*penalty == 0);
            *penalty = penalty.saturating_add(more).min(MOST);
        }
    }

    fn forgive(&mut self, path: u16) {
        let penalty = &mut self.penalties[path as usize];
        *penalty -= 1;
        self.penalised -= u32::from(*penalty == 0);
    }
}

impl SenderEntropy for State {
    #[inline]
    fn choose(&mut self, _: Time) -> u16 {
        let mut path = self.walk.next();
        if self.penalised > 0 && self.penalties[path as usize] > 0 {
            self.forgive(path);
            // after a whole cycle the path is taken as it is
            for _ in 0..self.walk.paths() {
                path = self.walk.next();
                if self.penalties[path as usize] == 0 {
                    break;
                }
                if self.skip_all {
                    self.forgive(path);
                }
            }
        }
        self.walk.entropy(path)
    }

    #[inline]
    fn prefetch(&self) {
        self.penalties.first().into_iter().for_each(prefetch);
    }

    #[inline]
    fn on_feedback(&mut self, _: Time, entropy: u16, feedback: PathFeedback) {
        let more = match feedback {
            PathFeedback::Marked => 1,
            PathFeedback::Trimmed => self.trim_penalty,
            PathFeedback::Good => 0,
        };
        self.blame(entropy, more);
    }

    fn on_timeout(&mut self, _: Time, entropy: Option<u16>) {
        if let Some(entropy) = entropy {
            self.blame(entropy, self.timeout_penalty);
        }
    }

    fn started(&self, key: u64) -> Self {
        Self { walk: Walk::new(self.walk.paths(), key), ..self.clone() }
    }
}

impl EntropyKind for Bitmap {
    fn build(&self) -> Result<Entropy, BuildError> {
        Ok(Entropy::Bitmap(State::new(self)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_bad_news_is_passed_over_as_often_as_its_penalty() {
        let mut state = State::new(&Bitmap { paths: 8, ..Bitmap::default() }).unwrap().started(3);
        let bad = state.choose(Time::ZERO);
        state.on_feedback(Time::ZERO, bad, PathFeedback::Trimmed);
        let mut uses = Vec::new();
        for packet in 0..64 {
            if state.choose(Time::ZERO) == bad {
                uses.push(packet);
            }
        }
        // four cycles of seven other paths, then one in each cycle of eight
        assert!(uses[0] >= 27, "{uses:?}");
        assert!(uses.windows(2).all(|pair| pair[1] - pair[0] < 16), "{uses:?}");
    }
}
