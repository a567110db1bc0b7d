//! Packets that vanish, alone and in bursts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Draws;

use super::{Fault, Wires, scaled, share};

/// Packets of any kind vanish on links.
///
/// ```toml
/// [network]
/// kind = "packet"
/// congestion = { kind = "nscc" }
/// loss = { probability = 0.01, burst = 5.0 }
/// ```
/// Source: Gilbert, "Capacity of a burst-noise channel" (1960); with `states` Elliott, "Estimates of error rates for codes on
/// burst-noise channels" (1963).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Loss {
    /// Share of packets that vanish on each link, from 0 to below 1. Required where there are no `states`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Mean number of packets that vanish in a row; at least 1. Absent: each packet by a draw of its own. A burst goes on with
    /// packets, however far apart: a link on which nobody sends stays in it. At the start, links are in one as often as later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
    /// Links that are good and bad in turn, in place of the two above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<States>,
    /// Names of links; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,
}

impl Loss {
    /// Whether it loses anything.
    pub(in super::super) fn loses(&self) -> bool {
        self.states.is_some() || self.probability != Some(0.0)
    }
}

/// A link is good or bad, and may change with each packet (Gilbert-Elliott). At the start it is bad as often as later.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct States {
    /// Probability that it is bad for the next packet, where it was good for the last one; above 0 and below 1.
    pub to_bad: f64,
    /// Probability that it is good again; above 0, at most 1.
    pub to_good: f64,
    /// Share of packets that vanish while it is bad, from 0 to 1.
    #[serde(default = "all")]
    pub loss_bad: f64,
    /// Share of packets that vanish while it is good, from 0 to below 1.
    #[serde(default)]
    pub loss_good: f64,
}

const fn all() -> f64 {
    1.0
}

/// A link that loses packets or does not; probabilities are shares of 2^64, and all bits what is certain.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Lossy {
    /// That it is bad for the next packet: where it was good for the last one, and where it was bad.
    becomes_bad: [u64; 2],
    /// That a packet vanishes: where it is good, and where it is bad.
    vanishes: [u64; 2],
    /// It was bad for the last packet.
    bad: bool,
    draws: Draws,
}

impl States {
    /// Never bad.
    const NONE: Self = Self { to_bad: 0.0, to_good: 1.0, loss_bad: 1.0, loss_good: 0.0 };

    /// Where so many packets vanish, by draws of their own or in bursts.
    fn of(probability: f64, burst: Option<f64>) -> Self {
        let (to_bad, to_good) = match burst {
            None => (probability, 1.0 - probability),
            Some(burst) => (probability / (burst * (1.0 - probability)), 1.0 / burst),
        };
        Self { to_bad, to_good, ..Self::NONE }
    }

    /// Share of packets for which it is bad.
    fn bad(self) -> f64 {
        self.to_bad / (self.to_bad + self.to_good)
    }

    fn check(self) -> Result<(), BuildError> {
        let Self { to_bad, to_good, loss_bad, loss_good } = self;
        let checks = [
            ("to-bad", to_bad, to_bad > 0.0 && to_bad < 1.0, "above 0 and below 1"),
            ("to-good", to_good, to_good > 0.0 && to_good <= 1.0, "above 0 and at most 1"),
            ("loss-bad", loss_bad, (0.0..=1.0).contains(&loss_bad), "from 0 to 1"),
            ("loss-good", loss_good, (0.0..1.0).contains(&loss_good), "at least 0 and below 1"),
        ];
        match checks.into_iter().find(|&(_, _, is_right, _)| !is_right) {
            Some((key, value, _, range)) => Err(BuildError::new(key, format!("{value}; it must be {range}"))),
            None => Ok(()),
        }
    }
}

impl Lossy {
    /// A link that has been at work for long.
    fn new(states: States, key: u64) -> Self {
        let mut draws = Draws::new(key);
        let bad = draws.bits() < scaled(states.bad());
        let States { to_bad, to_good, loss_bad, loss_good } = states;
        Self {
            becomes_bad: [to_bad, 1.0 - to_good].map(scaled),
            vanishes: [loss_good, loss_bad].map(scaled),
            bad,
            draws,
        }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub(in super::super) const fn loses(&mut self) -> bool {
        if self.becomes_bad[0] == 0 && self.vanishes[0] == 0 {
            return false;
        }
        self.bad = self.draws.bits() < self.becomes_bad[self.bad as usize];
        let share = self.vanishes[self.bad as usize];
        // what is certain takes no draw
        share == u64::MAX || share > 0 && self.draws.bits() < share
    }

    /// Share of packets that vanish, and how many do in a row on average.
    pub(in super::super) fn share_and_burst(&self) -> (f64, f64) {
        let share = |share: u64| share as f64 / 2_f64.powi(64);
        let [[enters, stays], [good, bad]] = [self.becomes_bad, self.vanishes].map(|it| it.map(share));
        let is_bad = enters / (1.0 - stays + enters);
        (is_bad * bad + (1.0 - is_bad) * good, (1.0 / (1.0 - stays)).max(1.0 / (1.0 - good)))
    }
}

impl Default for Lossy {
    fn default() -> Self {
        Self::new(States::NONE, 0)
    }
}

impl Fault for Loss {
    fn apply(&self, wires: &mut Wires<'_>) -> Result<(), BuildError> {
        let states = match (self.probability, self.states) {
            (Some(_), Some(_)) => {
                let reason = "it says how much vanishes, and so do `states`; one of the two is enough";
                return Err(BuildError::new("probability", reason));
            }
            (None, None) => {
                let reason = "`probability`, the share of packets that vanish, or `states` is expected";
                return Err(BuildError::new("", reason));
            }
            (None, Some(states)) => {
                if self.burst.is_some() {
                    let reason =
                        "it goes with `probability`; with `states` a burst has 1 / `to-good` packets";
                    return Err(BuildError::new("burst", reason));
                }
                states.check().map_err(|error| error.within("states"))?;
                states
            }
            (Some(probability), None) => {
                share(probability)?;
                let states = States::of(probability, self.burst);
                if let Some(burst) = self.burst
                    && !(burst >= 1.0 && burst.is_finite() && states.to_bad < 1.0)
                {
                    // more packets vanish in a row, the more of all do; without the last digits of a division
                    let odds = (probability / (1.0 - probability) * 1e6).round() / 1e6;
                    let least = if odds >= 1.0 {
                        format!("more than {odds} are needed where {probability} of all vanish")
                    } else {
                        "at least 1 are needed".to_owned()
                    };
                    let reason = format!("{burst} packets in a row; {least}");
                    return Err(BuildError::new("burst", reason));
                }
                states
            }
        };
        wires.each(self.links.as_deref(), |faults, key| faults.lossy = Lossy::new(states, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_as_many_and_as_long_as_asked() {
        for (probability, burst) in [(0.01, None), (0.1, None), (0.02, Some(5.0)), (0.3, Some(3.0))] {
            let mut lossy = Lossy::new(States::of(probability, burst), 3);
            let (mut lost, mut bursts, mut before) = (0_u32, 0_u32, false);
            for _ in 0..1_000_000 {
                let now = lossy.loses();
                lost += u32::from(now);
                bursts += u32::from(now && !before);
                before = now;
            }
            let length = burst.unwrap_or(1.0 / (1.0 - probability));
            let found = (f64::from(lost) * 1e-6, f64::from(lost) / f64::from(bursts));
            assert!((found.0 / probability - 1.0).abs() < 0.06, "{found:?} for {probability}");
            assert!((found.1 / length - 1.0).abs() < 0.06, "{found:?} for {length}");
        }
    }

    /// The first packet of each link vanishes as often as any other.
    #[test]
    fn bursts_are_under_way_at_the_start() {
        let states = States::of(0.1, Some(5.0));
        let firsts = (0..20_000).filter(|&link| Lossy::new(states, link).loses());
        let share = firsts.count() as f64 / 20_000.0;
        assert!((share - 0.1).abs() < 0.01, "{share}");
    }

    /// Links that never become bad lose what good ones do.
    #[test]
    fn a_bad_state_that_never_comes_hides_no_loss() {
        let states = States { to_bad: 1e-30, to_good: 0.5, loss_bad: 1.0, loss_good: 0.3 };
        let mut lossy = Lossy::new(states, 1);
        let lost = (0..10_000).filter(|_| lossy.loses()).count();
        assert!((2_700..3_300).contains(&lost), "{lost}");
    }

    /// Of a good packet and of a bad one the next is lost as often as the states say (a hidden Markov chain, in closed form).
    #[test]
    fn states_lose_what_they_say() {
        let states = States { to_bad: 0.02, to_good: 0.1, loss_bad: 0.6, loss_good: 0.05 };
        let mut lossy = Lossy::new(states, 5);
        let share = states.bad() * 0.6 + (1.0 - states.bad()) * 0.05;
        assert!((lossy.share_and_burst().0 - share).abs() < 1e-12);
        // both of two in a row: from each state, by the state that follows
        let both = states.bad() * 0.6 * (0.9 * 0.6 + 0.1 * 0.05)
            + (1.0 - states.bad()) * 0.05 * (0.02 * 0.6 + 0.98 * 0.05);
        let (mut lost, mut twice, mut before) = (0_u32, 0_u32, false);
        for _ in 0..1_000_000 {
            let now = lossy.loses();
            lost += u32::from(now);
            twice += u32::from(now && before);
            before = now;
        }
        let found = [lost, twice].map(|count| f64::from(count) * 1e-6);
        assert!((found[0] / share - 1.0).abs() < 0.03, "{found:?}, {share}");
        assert!((found[1] / both - 1.0).abs() < 0.05, "{found:?}, {both}");
    }
}
