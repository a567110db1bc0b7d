//! DCQCN: rates fall with congestion notifications and recover by timer and bytes.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Bytes, Duration, Time};

use super::{CongestionControl, CongestionKind, Control, MOST_TIME, check_range};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, go_back_n::GoBackN};

/// DCQCN: the receiver turns marks into congestion notifications, each of which cuts the rate by half of `alpha`; the rate
/// comes back in three stages, each step after a time or a number of bytes. `alpha` is 1 until the first notification.
///
/// Source: Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015, sections 3 and 5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Dcqcn {
    /// Least time between two notifications of a receiver.
    pub notification_interval: Duration,
    /// Time of a step, and of the decay of alpha.
    pub timer: Duration,
    /// Bytes of a step.
    pub bytes: Bytes,
    /// Weight of a notification in alpha, 0 to 1.
    pub gain: f64,
    /// Steps of fast recovery.
    pub fast_steps: u32,
    /// Step of the additive increase.
    pub additive: Bandwidth,
    /// Step of the hyper increase.
    pub hyper: Bandwidth,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Self {
            notification_interval: Duration::from_ns(50_000),
            timer: Duration::from_ns(55_000),
            bytes: Bytes(10_000_000),
            gain: 1.0 / 256.0,
            fast_steps: 5,
            additive: Bandwidth(40e6 / 8.0),
            hyper: Bandwidth(400e6 / 8.0),
        }
    }
}

/// State of a connection; rates in bytes per second.
#[derive(Debug, Clone)]
pub struct State {
    spec: Arc<Dcqcn>,
    line: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    /// Steps since the last notification, by time and by bytes.
    steps: [u32; 2],
    bytes: u64,
    /// When the last period ended; [`Time::MAX`] until the first notification, from which on alpha decays.
    period_at: Time,
}

/// No rate is below this share of the line's.
const LEAST_SHARE: f64 = 1e-3;

impl State {
    /// A step of the increase (section 5.1 of the paper).
    fn step(&mut self, by: usize) {
        self.steps[by] += 1;
        let (fast, [time, bytes]) = (self.spec.fast_steps, self.steps);
        if time.min(bytes) > fast {
            self.target += f64::from(time.min(bytes) - fast) * self.spec.hyper.bytes_per_s();
        } else if time.max(bytes) > fast {
            self.target += self.spec.additive.bytes_per_s();
        }
        self.target = self.target.min(self.line);
        self.rate = f64::midpoint(self.target, self.rate).min(self.line);
        // the mean never quite arrives
        if self.rate > self.line * (1.0 - 1e-6) {
            self.rate = self.line;
        }
    }

    /// Lets alpha decay over the whole periods up to now, of which nothing else had to be known.
    fn decay(&mut self, now: Time) {
        let periods = now.saturating_since(self.period_at).as_ps() / self.spec.timer.as_ps();
        self.alpha *= (1.0 - self.spec.gain).powi(i32::try_from(periods).unwrap_or(i32::MAX));
        self.period_at += self.spec.timer * periods;
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        u64::MAX
    }

    #[inline]
    fn gap(&self, bytes: u64) -> Duration {
        Duration::from_ps((bytes as f64 * 1e12 / self.rate) as u64)
    }

    fn on_sent(&mut self, _: Time, bytes: u64) {
        if self.rate >= self.line {
            return;
        }
        self.bytes += bytes;
        if self.bytes >= self.spec.bytes.count() {
            self.bytes = 0;
            self.step(1);
        }
    }

    fn on_notification(&mut self, now: Time) {
        self.decay(now);
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(self.line * LEAST_SHARE);
        self.alpha = (1.0 - self.spec.gain) * self.alpha + self.spec.gain;
        self.steps = [0, 0];
        self.bytes = 0;
        self.period_at = now;
    }

    #[inline]
    fn deadline(&self) -> Time {
        // at the line's rate only alpha changes, and that can be caught up
        if self.rate >= self.line { Time::MAX } else { self.period_at + self.spec.timer }
    }

    fn on_timer(&mut self, now: Time) {
        self.decay(now);
        self.step(0);
    }
}

impl CongestionKind for Dcqcn {
    fn build(&self, path: &Path, _: &PacketSizes) -> Result<Control, BuildError> {
        check_range("gain", self.gain, 0.0, 1.0)?;
        check_range("timer", self.timer, Duration::from_ns(1), MOST_TIME)?;
        check_range("bytes", self.bytes, Bytes(1), Bytes(1_000_000_000_000_000))?;
        let rates = (Bandwidth(1.0), Bandwidth(1e15));
        check_range("additive", self.additive, rates.0, rates.1)?;
        check_range("hyper", self.hyper, rates.0, rates.1)?;
        let line = path.rate.bytes_per_s();
        Ok(Control::Dcqcn(State {
            spec: Arc::new(self.clone()),
            line,
            rate: line,
            target: line,
            alpha: 1.0,
            steps: [0, 0],
            bytes: 0,
            period_at: Time::MAX,
        }))
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::GoBackN(GoBackN::default())
    }

    fn notification_interval(&self) -> Option<Duration> {
        Some(self.notification_interval)
    }
}
