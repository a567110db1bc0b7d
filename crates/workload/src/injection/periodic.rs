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
