//! The Bernoulli process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream, Trials};

use super::{Clock, Injection, Lane, Process, check_rate};

/// Every cycle a source makes a packet with a probability that gives the load, whatever happened before; at
/// most one packet per cycle.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bernoulli {}

impl Injection for Bernoulli {
    fn lanes(&self, rate: f64, _: u32, _: &mut Stream) -> Result<Vec<Lane>, BuildError> {
        check_rate("bernoulli", rate, 1.0)?;
        Ok(vec![Lane::of(Trials::of(rate))])
    }
}

impl Process for Trials {
    fn start(&self, draws: &mut Draws) -> Clock {
        let trials = self.count(draws);
        Clock::at(if trials == u64::MAX { Clock::NEVER } else { trials - 1 })
    }

    #[inline]
    fn next(&self, clock: &mut Clock, draws: &mut Draws) {
        clock.skip(self.count(draws));
    }

    fn trials(&self) -> Option<&Trials> {
        Some(self)
    }
}
