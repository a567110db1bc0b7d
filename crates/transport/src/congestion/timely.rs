//! TIMELY: the rate follows the slope of the round trip.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Bytes, Duration};

use super::{Acked, CongestionControl, CongestionKind, Control, LossCause, Lost, check_range};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, go_back_n::GoBackN};

/// TIMELY: below `low` the rate grows, above `high` it falls with the delay, and between them it follows the gradient of
/// the round trip, once per segment. A gradient above 1 counts as 1, so that one step leaves at least 1 - `beta`: the paper says
/// nothing of the negative factors that it would give.
///
/// Source: Mittal et al., "TIMELY: RTT-based congestion control for the datacenter", SIGCOMM 2015, algorithm 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Timely {
    /// Below, the rate grows whatever the gradient is.
    pub low: Duration,
    /// Above, the rate falls whatever the gradient is; when absent 500 us, or two round trips of the longest way where that is
    /// more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<Duration>,
    /// Step of the increase.
    pub step: Bandwidth,
    /// Strength of the decrease, 0 to 1.
    pub beta: f64,
    /// Weight of the last difference in the gradient, 0 to 1.
    pub weight: f64,
    /// Increases in a row after which five steps are taken at once.
    pub hyperactive_after: u32,
    /// Bytes per decision.
    pub segment: Bytes,
}

impl Default for Timely {
    fn default() -> Self {
        Self {
            low: Duration::from_ns(50_000),
            high: None,
            step: Bandwidth(10e6 / 8.0),
            beta: 0.8,
            weight: 0.875,
            hyperactive_after: 5,
            segment: Bytes(16_000),
        }
    }
}

/// What connections share; times in picoseconds, rates in bytes per second.
#[derive(Debug)]
struct Parameters {
    spec: Timely,
    base_rtt: f64,
    high: f64,
    line: f64,
}

/// State of a connection.
#[derive(Debug, Clone)]
pub struct State {
    parameters: Arc<Parameters>,
    rate: f64,
    last_rtt: f64,
    difference: f64,
    bytes: u64,
    falling: u32,
}

/// No rate is below this share of the line's.
const LEAST_SHARE: f64 = 1e-4;

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        u64::MAX
    }

    #[inline]
    fn gap(&self, bytes: u64) -> Duration {
        Duration::from_ps((bytes as f64 * 1e12 / self.rate) as u64)
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        self.bytes += acked.bytes;
        let p = &self.parameters;
        let Some(rtt) = acked.rtt.filter(|_| self.bytes >= p.spec.segment.count()) else { return };
        self.bytes = 0;
        let rtt = rtt.as_ps() as f64;
        if self.last_rtt == 0.0 {
            self.last_rtt = rtt;
        }
        self.difference += p.spec.weight * (rtt - self.last_rtt - self.difference);
        self.last_rtt = rtt;
        let gradient = self.difference / p.base_rtt;
        let (low, high) = (p.spec.low.as_ps() as f64, p.high);
        let step = p.spec.step.bytes_per_s();
        if rtt < low {
            self.falling = 0;
            self.rate += step;
        } else if rtt > high {
            self.falling = 0;
            self.rate *= 1.0 - p.spec.beta * (1.0 - high / rtt);
        } else if gradient <= 0.0 {
            self.falling += 1;
            self.rate += if self.falling >= p.spec.hyperactive_after { 5.0 * step } else { step };
        } else {
            self.falling = 0;
            // the paper says nothing of gradients above 1, whose factor may be negative
            self.rate *= 1.0 - p.spec.beta * gradient.min(1.0);
        }
        self.rate = self.rate.clamp(p.line * LEAST_SHARE, p.line);
    }

    fn on_loss(&mut self, lost: &Lost) {
        // the paper runs on lossless fabrics; a time-out says that the rate is far off
        if lost.cause == LossCause::Timeout && lost.first_of_window {
            self.rate = (self.rate / 2.0).max(self.parameters.line * LEAST_SHARE);
        }
    }
}

impl CongestionKind for Timely {
    fn build(&self, path: &Path, _: &PacketSizes) -> Result<Control, BuildError> {
        check_range("beta", self.beta, 0.0, 1.0)?;
        check_range("weight", self.weight, 0.0, 1.0)?;
        check_range("step", self.step, Bandwidth(1.0), Bandwidth(1e15))?;
        // where the way itself takes longer, the rate would fall for ever
        let high = self.high.unwrap_or_else(|| path.patient(Duration::from_ns(500_000)));
        if self.low > high {
            return Err(BuildError::new("low", format!("{}, above `high`, {high}", self.low)));
        }
        let line = path.rate.bytes_per_s();
        let [base_rtt, high] = [path.base_rtt, high].map(|time| time.as_ps() as f64);
        let parameters = Parameters { spec: self.clone(), base_rtt, high, line };
        Ok(Control::Timely(State {
            parameters: Arc::new(parameters),
            rate: line,
            last_rtt: 0.0,
            difference: 0.0,
            bytes: 0,
            falling: 0,
        }))
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::GoBackN(GoBackN::default())
    }
}
