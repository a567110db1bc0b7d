//! The Poisson process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Clock, Injection, Lane, Process, check_rate};

/// Exponential times between the packets of a source, in continuous time: several packets may come into being
/// in one cycle, and wait for each other.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Poisson {}

impl Injection for Poisson {
    fn lanes(&self, rate: f64, _: u32, _: &mut Stream) -> Result<Vec<Lane>, BuildError> {
        check_rate("poisson", rate, 1.0)?;
        Ok(vec![Lane::of(Gaps { mean: 1.0 / rate })])
    }
}

#[derive(Debug)]
struct Gaps {
    /// Cycles; infinite at rate 0.
    mean: f64,
}

impl Process for Gaps {
    fn start(&self, draws: &mut Draws) -> Clock {
        let mut clock = Clock::at(0);
        self.next(&mut clock, draws);
        clock
    }

    fn next(&self, clock: &mut Clock, draws: &mut Draws) {
        clock.wait(draws.exponential() * self.mean);
    }
}
