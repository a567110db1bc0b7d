//! Packets at equal distances.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Clock, Injection, Lane, Process, check_rate};

/// A packet of every source after equal times.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Periodic {
    /// All sources at once, instead of each at a phase of its own, drawn once.
    pub aligned: bool,
}

impl Injection for Periodic {
    fn lanes(&self, rate: f64, _: u32, _: &mut Stream) -> Result<Vec<Lane>, BuildError> {
        check_rate("periodic", rate, 1.0)?;
        Ok(vec![Lane::of(Beat { period: 1.0 / rate, aligned: self.aligned })])
    }
}

#[derive(Debug)]
struct Beat {
    /// Cycles; infinite at rate 0.
    period: f64,
    aligned: bool,
}

impl Process for Beat {
    fn start(&self, draws: &mut Draws) -> Clock {
        let mut clock = Clock::at(0);
        let phase =
            if self.aligned && self.period.is_finite() { 0.0 } else { (1.0 - draws.unit()) * self.period };
        clock.wait(phase);
        clock
    }

    fn next(&self, clock: &mut Clock, _: &mut Draws) {
        clock.wait(self.period);
    }
}

/// A packet in each stretch of `interval` cycles, in a cycle of it that is drawn anew: two sources that meet once need not
/// meet again.
pub fn scattered(interval: u32) -> Box<dyn Process> {
    Box::new(Scattered { interval: interval.max(1) })
}

#[derive(Debug)]
struct Scattered {
    interval: u32,
}

impl Process for Scattered {
    fn start(&self, draws: &mut Draws) -> Clock {
        Clock::at(draws.below(self.interval).into())
    }

    fn next(&self, clock: &mut Clock, draws: &mut Draws) {
        let interval = u64::from(self.interval);
        let begins = (clock.cycle / interval + 1).saturating_mul(interval);
        *clock = Clock::at(begins.saturating_add(draws.below(self.interval).into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stretch_has_one_packet_at_a_place_of_its_own() {
        let process = scattered(10);
        let mut draws = Draws::new(7);
        let mut clock = process.start(&mut draws);
        let mut places = [0; 10];
        for stretch in 0..2000 {
            assert_eq!(clock.cycle / 10, stretch);
            places[clock.cycle as usize % 10] += 1;
            process.next(&mut clock, &mut draws);
        }
        assert!(places.iter().all(|count| (150..250).contains(count)), "{places:?}");
    }
}
