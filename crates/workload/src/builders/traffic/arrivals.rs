//! When messages are sent.

use rand_distr::{Distribution as _, Exp1};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Stream;
use stratasim_core::{Bandwidth, BuildError, Duration, registry};

/// A process of arrival times.
pub trait Arrivals: std::fmt::Debug {
    /// The clock of a run in which `senders` ranks send messages of `mean_bytes` bytes on average.
    ///
    /// # Errors
    /// Parameters that make no process.
    fn clock(&self, senders: u32, mean_bytes: f64) -> Result<ArrivalClock, BuildError>;
}

/// Gives arrival times in ascending order.
#[derive(Debug)]
pub struct ArrivalClock {
    /// Mean time between two messages of the whole machine, in seconds; 0 when all come at once.
    mean_gap_s: f64,
    now_s: f64,
}

impl ArrivalClock {
    /// Whether all messages come at the beginning.
    pub fn is_burst(&self) -> bool {
        self.mean_gap_s == 0.0
    }

    /// Arrival of the next message; [`Duration::MAX`] beyond 213 days.
    pub fn next(&mut self, random: &mut Stream) -> Duration {
        if self.is_burst() {
            return Duration::ZERO;
        }
        let gaps: f64 = Exp1.sample(random);
        self.now_s += gaps * self.mean_gap_s;
        Duration::from_secs_f64(self.now_s)
    }
}

registry! {
    /// Every arrival process, by its `kind`.
    pub enum ArrivalSpec: dyn Arrivals {
        "burst" => Burst(Burst),
        "poisson" => Poisson(Poisson),
    }
}

impl Default for ArrivalSpec {
    fn default() -> Self {
        Self::Burst(Burst::default())
    }
}

/// All messages at the beginning.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Burst {}

impl Arrivals for Burst {
    fn clock(&self, _: u32, _: f64) -> Result<ArrivalClock, BuildError> {
        Ok(ArrivalClock { mean_gap_s: 0.0, now_s: 0.0 })
    }
}

/// A Poisson process: times between messages are exponentially distributed and independent.
///
/// Every rank that sends offers `load * rate` bytes per second on average, so that the machine sends
/// a message every `mean size / (senders * load * rate)` seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Poisson {
    /// Rate of a host's link, or simply the rate that each sender offers when `load` is left at 1.
    pub rate: Bandwidth,
    /// Part of that rate that each sender offers. Above 1 the network can never catch up.
    #[serde(default = "one")]
    pub load: f64,
}

fn one() -> f64 {
    1.0
}

impl Arrivals for Poisson {
    fn clock(&self, senders: u32, mean_bytes: f64) -> Result<ArrivalClock, BuildError> {
        if !(self.load > 0.0 && self.load.is_finite()) {
            return Err(BuildError::new(
                "load",
                format!("a load is above 0, such as 0.3; got {}", self.load),
            ));
        }
        if self.rate.bytes_per_s() <= 0.0 {
            return Err(BuildError::new("rate", "a rate of 0 never sends anything"));
        }
        if mean_bytes <= 0.0 {
            return Err(BuildError::new("", "messages of 0 bytes make no load; use larger ones or `burst`"));
        }
        let bytes_per_s = f64::from(senders) * self.load * self.rate.bytes_per_s();
        Ok(ArrivalClock { mean_gap_s: mean_bytes / bytes_per_s, now_s: 0.0 })
    }
}
