//! Bursts: sources that are on and off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream, Trials};

use super::{Clock, Injection, Lane, Process, check_rate};

/// A source is on or off; while it is on it makes a packet per cycle with probability `r1`. In each cycle
/// one that is off turns on with probability `alpha`, one that is on turns off with `beta`. Two of the three
/// are given, the third follows from the load, `r1 * alpha / (alpha + beta)` packets per cycle. Sources start
/// in the steady state.
///
/// Source: the Markov modulated process of Dally, Towles (2004), section 24.2.2.
///
/// ```toml
/// [traffic.injection]
/// kind = "on-off"
/// # bursts of 20 cycles in the mean, a packet in every second of their cycles
/// beta = 0.05
/// r1 = 0.5
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OnOff {
    /// Probability per cycle to turn on; derived from the load when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Probability per cycle to turn off (a burst lasts `1 / beta` cycles); derived from the load when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Packets per cycle while on; derived from the load when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r1: Option<f64>,
}

impl Injection for OnOff {
    fn lanes(&self, rate: f64, _: u32, _: &mut Stream) -> Result<Vec<Lane>, BuildError> {
        check_rate("on-off", rate, 1.0)?;
        for (field, given) in [("alpha", self.alpha), ("beta", self.beta), ("r1", self.r1)] {
            if given.is_some_and(|value| !(value > 0.0 && value <= 1.0)) {
                let reason =
                    format!("a probability above 0 and up to 1 is expected, got {}", given.unwrap_or(0.0));
                return Err(BuildError::new(field, reason));
            }
        }
        let (field, derived, switch) = match (self.alpha, self.beta, self.r1) {
            (None, Some(beta), Some(r1)) => {
                let alpha = within_rounding(beta * rate / (r1 - rate));
                ("alpha", alpha, Switch { alpha, beta, r1 })
            }
            (Some(alpha), None, Some(r1)) => {
                let beta = within_rounding(alpha * (r1 - rate) / rate);
                // at rate 0 sources are never on
                ("beta", beta, Switch { alpha, beta, r1 })
            }
            (Some(alpha), Some(beta), None) => {
                let r1 = within_rounding(rate * (alpha + beta) / alpha);
                ("r1", r1, Switch { alpha, beta, r1 })
            }
            _ => {
                let reason = "two of `alpha`, `beta` and `r1` are expected; the third follows from the load";
                return Err(BuildError::new("", reason));
            }
        };
        if rate == 0.0 {
            return Ok(vec![Lane::of(Bursts::of(Switch { alpha: 0.0, beta: 1.0, r1: 0.0 }))]);
        }
        if let Some(r1) = self.r1
            && rate >= r1
            && field == "alpha"
        {
            let reason = format!(
                "{rate} packets per cycle are expected of sources that make {r1} while they are on, which is no more: a larger r1 or a smaller load is expected"
            );
            return Err(BuildError::new("r1", reason));
        }
        if !(0.0..=1.0).contains(&derived) {
            let reason = format!(
                "{rate} packets per cycle ask for {field} = {derived}, and a probability lies between 0 and 1; change the two that are given, or the load"
            );
            return Err(BuildError::new(field, reason));
        }
        Ok(vec![Lane::of(Bursts::of(switch))])
    }
}

/// A probability that misses 0 or 1 by rounding only is that.
fn within_rounding(derived: f64) -> f64 {
    let nearest = derived.clamp(0.0, 1.0);
    if (derived - nearest).abs() < 1e-9 { nearest } else { derived }
}

#[derive(Debug)]
struct Switch {
    alpha: f64,
    beta: f64,
    r1: f64,
}

/// The process, with how long each of its probabilities is waited for.
#[derive(Debug)]
struct Bursts {
    switch: Switch,
    until_on: Trials,
    until_off: Trials,
    until_packet: Trials,
}

impl Bursts {
    fn of(switch: Switch) -> Self {
        let [until_on, until_off, until_packet] = [switch.alpha, switch.beta, switch.r1].map(Trials::of);
        Self { switch, until_on, until_off, until_packet }
    }

    /// From a cycle in which the source is on, in front of its trial: cycles to the next packet.
    fn until_packet(&self, draws: &mut Draws) -> u64 {
        let mut passed = 0_u64;
        loop {
            // the trial of this cycle comes first, then the switch of the next one
            let packet = self.until_packet.count(draws) - 1;
            let off = self.until_off.count(draws);
            if packet < off || packet == u64::MAX - 1 {
                return passed.saturating_add(packet);
            }
            passed = passed.saturating_add(off).saturating_add(self.until_on.count(draws));
            if passed == u64::MAX {
                return passed;
            }
        }
    }
}

impl Process for Bursts {
    fn start(&self, draws: &mut Draws) -> Clock {
        let Switch { alpha, beta, r1 } = self.switch;
        if r1 <= 0.0 || alpha <= 0.0 {
            return Clock::at(Clock::NEVER);
        }
        let mut clock = Clock::at(0);
        if !draws.happens(alpha / (alpha + beta)) {
            clock.skip(self.until_on.count(draws));
        }
        clock.skip(self.until_packet(draws));
        clock
    }

    fn next(&self, clock: &mut Clock, draws: &mut Draws) {
        // it was on with the last packet: switch, then trial
        clock.skip(1);
        if draws.happens(self.switch.beta) {
            clock.skip(self.until_on.count(draws));
        }
        clock.skip(self.until_packet(draws));
    }
}
