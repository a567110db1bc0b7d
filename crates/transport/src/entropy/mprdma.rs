//! MPRDMA's paths: a packet goes where the acknowledgement came from that made room for it.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Draws;
use stratasim_core::{BuildError, Time};

use super::{Entropy, EntropyKind, PathFeedback, SenderEntropy, check_paths};
use crate::congestion::check_range;

/// Every acknowledgement hands its number to the next packet, the oldest first; without one, as in the first window, and now and then a number
/// is drawn at random. Of two marked acknowledgements one makes room for a packet, as each takes half a packet from the window of `mprdma`, so the
/// number of the other is dropped; that of a trimmed packet is, too. What marks packets loses half of its packets in a round trip.
///
/// Source: Lu et al., "Multi-path transport for RDMA in datacenters", NSDI 2018, section 3.2. It acknowledges every packet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Mprdma {
    /// Numbers that are drawn from, a power of two.
    pub paths: u32,
    /// Share of packets that look for another path, 0 to 1.
    pub probe_probability: f64,
}

impl Default for Mprdma {
    fn default() -> Self {
        Self { paths: 128, probe_probability: 0.01 }
    }
}

/// Numbers that are kept for a sender that has nothing to send; the oldest are forgotten.
const MOST_KEPT: usize = 64;

/// Numbers that wait for a packet.
#[derive(Debug, Clone)]
pub struct State {
    paths: u32,
    probe_probability: f64,
    draws: Draws,
    clocked: VecDeque<u16>,
    /// A marked acknowledgement came whose number was dropped, and none after it.
    dropped: bool,
}

impl State {
    #[inline]
    fn keep(&mut self, entropy: u16) {
        if self.clocked.len() == MOST_KEPT {
            self.clocked.pop_front();
        }
        self.clocked.push_back(entropy);
    }
}

impl SenderEntropy for State {
    #[inline]
    fn choose(&mut self, _: Time) -> u16 {
        match self.clocked.pop_front() {
            Some(entropy) if !self.draws.happens(self.probe_probability) => entropy,
            _ => self.draws.below(self.paths) as u16,
        }
    }

    #[inline]
    fn on_feedback(&mut self, _: Time, entropy: u16, feedback: PathFeedback) {
        match feedback {
            PathFeedback::Good => self.keep(entropy),
            PathFeedback::Marked => {
                self.dropped = !self.dropped;
                if !self.dropped {
                    self.keep(entropy);
                }
            }
            PathFeedback::Trimmed => {}
        }
    }

    fn started(&self, key: u64) -> Self {
        Self { draws: Draws::new(key), ..self.clone() }
    }
}

impl EntropyKind for Mprdma {
    fn build(&self) -> Result<Entropy, BuildError> {
        check_range("probe-probability", self.probe_probability, 0.0, 1.0)?;
        Ok(Entropy::Mprdma(State {
            paths: check_paths(self.paths)?,
            probe_probability: self.probe_probability,
            draws: Draws::new(0),
            clocked: VecDeque::new(),
            dropped: false,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(spec: &Mprdma) -> State {
        let Ok(Entropy::Mprdma(state)) = spec.build() else { unreachable!() };
        state.started(9)
    }

    #[test]
    fn packets_follow_acknowledgements_and_every_second_mark_is_dropped() {
        let mut state = state(&Mprdma { probe_probability: 0.0, ..Mprdma::default() });
        for (entropy, feedback) in [
            (200, PathFeedback::Good),
            (201, PathFeedback::Marked),
            (202, PathFeedback::Trimmed),
            (203, PathFeedback::Marked),
            (204, PathFeedback::Marked),
            (205, PathFeedback::Good),
        ] {
            state.on_feedback(Time::ZERO, entropy, feedback);
        }
        let used: Vec<u16> = (0..3).map(|_| state.choose(Time::ZERO)).collect();
        assert_eq!(used, [200, 203, 205]);
        assert!((0..20).all(|_| state.choose(Time::ZERO) < 128), "then numbers are drawn");
        (0..100).for_each(|entropy| state.on_feedback(Time::ZERO, 1000 + entropy, PathFeedback::Good));
        assert_eq!(state.choose(Time::ZERO), 1036, "64 are kept");
    }

    /// A window as the paper moves it, and packets that are marked where their number is even: all but the probes leave these paths.
    #[test]
    fn paths_that_mark_are_left() {
        for (probe_probability, least, most) in [(0.01, 0.003, 0.03), (1.0, 0.45, 0.55)] {
            let mut state = state(&Mprdma { probe_probability, ..Mprdma::default() });
            let (mut window, mut under_way) = (32.0_f64, VecDeque::new());
            let (mut sent, mut even) = (0, 0);
            for step in 0..40_000 {
                while (under_way.len() as f64) < window.floor() {
                    let entropy = state.choose(Time::ZERO);
                    if step > 2000 {
                        sent += 1;
                        even += u32::from(entropy.is_multiple_of(2));
                    }
                    under_way.push_back(entropy);
                }
                let entropy = under_way.pop_front().unwrap();
                let marked = entropy.is_multiple_of(2);
                window = (window + if marked { -0.5 } else { 1.0 / window }).clamp(1.0, 64.0);
                let feedback = if marked { PathFeedback::Marked } else { PathFeedback::Good };
                state.on_feedback(Time::ZERO, entropy, feedback);
            }
            let share = f64::from(even) / f64::from(sent);
            assert!((least..most).contains(&share), "{share} with {probe_probability}");
        }
    }
}
