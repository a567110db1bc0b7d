//! REPS: recycled entropies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Draws;
use stratasim_core::{BuildError, Duration, Time};

use super::{Entropy, EntropyKind, PathFeedback, SenderEntropy, check_paths};

/// A ring of numbers of which good news has come: each is used once more, the oldest first; without one, a number is drawn
/// at random. A time-out freezes the ring: for a while its numbers are used in turn, news or not; where full queues drop packets
/// and links do not, a time-out says nothing of a failure, and freezes nothing.
///
/// Source: Bonato et al., "REPS: recycled entropy packet spraying for adaptive load balancing and failure mitigation",
/// 2024.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Reps {
    /// Numbers that are drawn from, a power of two.
    pub paths: u32,
    /// How long a time-out freezes the ring; when absent 10 ms, and not at all where full queues drop packets and no link loses any or
    /// fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<Duration>,
    /// Random packets after that.
    pub explore_packets: u32,
}

impl Default for Reps {
    fn default() -> Self {
        Self { paths: 64, freeze: None, explore_packets: 16 }
    }
}

const RING: usize = 8;
const FREEZE: Duration = Duration::from_ns(10_000_000);

/// The ring.
#[derive(Debug, Clone)]
pub struct State {
    paths: u32,
    freeze: Duration,
    explore_packets: u32,
    draws: Draws,
    ring: [u16; RING],
    /// Bit per place: the number there was not used since its news came.
    valid: u8,
    filled: u8,
    head: u8,
    explore: u32,
    frozen_until: Option<Time>,
    turn: u8,
}

impl State {
    fn thaw(&mut self, now: Time) {
        if self.frozen_until.is_some_and(|until| now >= until) {
            self.frozen_until = None;
            (self.valid, self.filled, self.head) = (0, 0, 0);
            self.explore = self.explore_packets;
        }
    }
}

impl SenderEntropy for State {
    fn choose(&mut self, now: Time) -> u16 {
        self.thaw(now);
        if self.explore > 0 {
            self.explore -= 1;
        } else if self.frozen_until.is_some() && self.filled > 0 {
            self.turn = (self.turn + 1) % self.filled;
            return self.ring[self.turn as usize];
        } else if self.valid != 0 {
            // from the place that will be written next on, the oldest come first
            let from = u32::from(self.head);
            let place = (from + self.valid.rotate_right(from).trailing_zeros()) % RING as u32;
            self.valid &= !(1 << place);
            return self.ring[place as usize];
        }
        self.draws.below(self.paths) as u16
    }

    fn on_feedback(&mut self, _: Time, entropy: u16, feedback: PathFeedback) {
        if feedback == PathFeedback::Good && self.frozen_until.is_none() {
            self.ring[self.head as usize] = entropy;
            self.valid |= 1 << self.head;
            self.head = (self.head + 1) % RING as u8;
            self.filled = (self.filled + 1).min(RING as u8);
        }
    }

    fn on_timeout(&mut self, now: Time, _: Option<u16>) {
        self.thaw(now);
        if self.frozen_until.is_none() && self.freeze > Duration::ZERO {
            self.frozen_until = Some(now + self.freeze);
        }
    }

    fn started(&self, key: u64) -> Self {
        Self { draws: Draws::new(key), ..self.clone() }
    }
}

impl EntropyKind for Reps {
    fn build(&self) -> Result<Entropy, BuildError> {
        Ok(Entropy::Reps(State {
            paths: check_paths(self.paths)?,
            freeze: self.freeze.unwrap_or(FREEZE),
            explore_packets: self.explore_packets,
            draws: Draws::new(0),
            ring: [0; RING],
            valid: 0,
            filled: 0,
            head: 0,
            explore: 0,
            frozen_until: None,
            turn: 0,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        match Reps::default().build() {
            Ok(Entropy::Reps(state)) => state.started(9),
            _ => unreachable!(),
        }
    }

    #[test]
    fn good_numbers_are_used_once_more_oldest_first() {
        let mut state = state();
        for entropy in 100..112 {
            state.on_feedback(Time::ZERO, entropy, PathFeedback::Good);
        }
        let used: Vec<u16> = (0..8).map(|_| state.choose(Time::ZERO)).collect();
        assert_eq!(used, (104..112).collect::<Vec<u16>>(), "eight fit, the oldest were overwritten");
        assert!(state.choose(Time::ZERO) < 64, "then numbers are drawn");
    }

    #[test]
    fn a_time_out_freezes_the_ring_for_a_while() {
        let mut state = state();
        for entropy in [200, 201] {
            state.on_feedback(Time::ZERO, entropy, PathFeedback::Good);
        }
        state.on_timeout(Time::ZERO, None);
        let used: Vec<u16> = (0..4).map(|_| state.choose(Time::ZERO)).collect();
        assert_eq!(used, [201, 200, 201, 200]);
        // another one does not begin anew
        state.on_timeout(Time::ZERO + Duration::from_ns(5_000_000), None);
        let later = Time::ZERO + Duration::from_ns(10_000_000);
        assert!((0..20).all(|_| state.choose(later) < 64));
    }
}
