//! Swift: the window follows the round trip towards a target that grows with hops and shrinks with the window.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration, Time};

use super::{Acked, CongestionControl, CongestionKind, Control, LossCause, Lost, check_range};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, sack::Sack};

/// Swift: additive increase while the delay is below a target, multiplicative decrease by the excess above it, at
/// most once per round trip; windows below a packet are paced.
///
/// Source: Kumar et al., "Swift: delay is simple and effective for congestion control in the datacenter", SIGCOMM 2020.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Swift {
    /// Which rule.
    pub preset: Preset,
    /// Part of the target that is the same for all. Absent: 25 us, or the round trip of the connection on an idle network where
    /// that is longer, as a target below it would take the window of a flow alone to its smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_target: Option<Duration>,
    /// Part of the target per hop: per switch on the longest way of the connection.
    pub hop_delay: Duration,
    /// Largest part of the target that depends on the window.
    pub flow_scaling_range: Duration,
    /// Windows at which that part is largest and zero, packets.
    pub flow_scaling_windows: [f64; 2],
    /// Packets added per round trip.
    pub additive_increase: f64,
    /// Strength of the decrease, 0 to 1.
    pub beta: f64,
    /// Largest share that one decrease takes, 0 to 1.
    pub max_decrease: f64,
    /// Smallest and largest window, packets.
    pub window_limits: [f64; 2],
    /// Window at the start, packets. The paper names none; from ten, one packet more per round trip takes a flow alone long to fill
    /// long ways: the packets that fill the way of the connection let it start at full rate, and meet in incasts.
    pub initial_packets: f64,
    /// Time-outs in a row after which the window falls to the smallest.
    pub retransmit_reset: u32,
}

/// Variants of Swift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// As published.
    #[default]
    Published,
    /// As htsim: the window that scales the target is cut to whole packets, so that all windows below a packet get
    /// the largest target.
    Htsim,
}

impl Default for Swift {
    fn default() -> Self {
        Self {
            preset: Preset::Published,
            base_target: None,
            hop_delay: Duration::from_ns(1_000),
            flow_scaling_range: Duration::from_ns(50_000),
            flow_scaling_windows: [0.1, 100.0],
            additive_increase: 1.0,
            beta: 0.8,
            max_decrease: 0.5,
            window_limits: [0.01, 1000.0],
            initial_packets: 10.0,
            retransmit_reset: 5,
        }
    }
}

/// Base target of connections with shorter round trips.
const USUAL_TARGET: Duration = Duration::from_ns(25_000);

/// What connections share; times in picoseconds, windows in packets.
#[derive(Debug)]
struct Parameters {
    packet: f64,
    fixed_target: f64,
    alpha: f64,
    beta_scaling: f64,
    range: f64,
    whole_packets: bool,
    increase: f64,
    beta: f64,
    max_decrease: f64,
    limits: [f64; 2],
    reset_after: u32,
}

/// State of a connection.
#[derive(Debug, Clone)]
pub struct State {
    parameters: Arc<Parameters>,
    /// Packets.
    window: f64,
    rtt: Duration,
    decreased_at: Option<Time>,
    timeouts: u32,
}

impl Parameters {
    /// Target delay for a window, picoseconds (equation 2 of the paper).
    fn target(&self, window: f64) -> f64 {
        let window = if self.whole_packets { window.floor() } else { window };
        let scaling = self.alpha / window.sqrt() + self.beta_scaling;
        self.fixed_target + scaling.clamp(0.0, self.range)
    }
}

impl State {
    fn clamp(&mut self) {
        let [least, most] = self.parameters.limits;
        self.window = self.window.clamp(least, most);
    }

    fn may_decrease(&self, now: Time) -> bool {
        self.decreased_at.is_none_or(|at| now.saturating_since(at) >= self.rtt)
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        ((self.window * self.parameters.packet) as u64).max(1)
    }

    fn gap(&self, bytes: u64) -> Duration {
        if self.window >= 1.0 {
            return Duration::ZERO;
        }
        let packets = bytes as f64 / self.parameters.packet;
        Duration::from_ps((self.rtt.as_ps() as f64 * packets / self.window) as u64)
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        self.timeouts = 0;
        let Some(rtt) = acked.rtt else { return };
        self.rtt = rtt;
        let p = &self.parameters;
        let (delay, target) = (rtt.as_ps() as f64, p.target(self.window));
        if delay < target {
            let packets = acked.bytes as f64 / p.packet;
            self.window += p.increase * packets / self.window.max(1.0);
        } else if self.may_decrease(acked.now) {
            self.window *= (1.0 - p.beta * (delay - target) / delay).max(1.0 - p.max_decrease);
            self.decreased_at = Some(acked.now);
        }
        self.clamp();
    }

    fn on_loss(&mut self, lost: &Lost) {
        let p = &self.parameters;
        if lost.cause == LossCause::Timeout {
            // packets that time out together are one time-out
            self.timeouts += u32::from(self.may_decrease(lost.now));
            if self.timeouts >= p.reset_after {
                self.window = p.limits[0];
                self.decreased_at = Some(lost.now);
                return;
            }
        }
        if self.may_decrease(lost.now) {
            self.window *= 1.0 - p.max_decrease;
            self.decreased_at = Some(lost.now);
        }
        self.clamp();
    }
}

impl Swift {
    /// The part of the target that does not depend on the window.
    fn fixed_target(&self, rtt: Duration, links: u32) -> Duration {
        let base = self.base_target.unwrap_or_else(|| USUAL_TARGET.max(rtt));
        // the paper's hops are those that count the time to live of a packet down: switches
        base + self.hop_delay * u64::from(links.saturating_sub(1))
    }
}

impl CongestionKind for Swift {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        check_range("additive-increase", self.additive_increase, 1e-6, 1e6)?;
        check_range("beta", self.beta, 0.0, 1.0)?;
        check_range("max-decrease", self.max_decrease, 0.0, 0.99)?;
        let [least, most] = self.window_limits;
        check_range("window-limits", least, 1e-6, 1e6)?;
        check_range("window-limits", most, least.max(1.0), 1e6)?;
        let [small, large] = self.flow_scaling_windows;
        check_range("flow-scaling-windows", small, 1e-6, 1e6)?;
        check_range("flow-scaling-windows", large, small * (1.0 + 1e-9), 1e9)?;
        check_range("initial-packets", self.initial_packets, least, most)?;
        let range = self.flow_scaling_range.as_ps() as f64;
        let alpha = range / (1.0 / small.sqrt() - 1.0 / large.sqrt());
        let parameters = Arc::new(Parameters {
            packet: sizes.packet_bytes() as f64,
            fixed_target: self.fixed_target(path.base_rtt, path.hops).as_ps() as f64,
            alpha,
            beta_scaling: -alpha / large.sqrt(),
            range,
            whole_packets: self.preset == Preset::Htsim,
            increase: self.additive_increase,
            beta: self.beta,
            max_decrease: self.max_decrease,
            limits: self.window_limits,
            reset_after: self.retransmit_reset,
        });
        Ok(Control::Swift(State {
            parameters,
            window: self.initial_packets,
            rtt: path.base_rtt,
            decreased_at: None,
            timeouts: 0,
        }))
    }

    fn standing_wait(&self, rtt: Duration, links: u32) -> Duration {
        self.fixed_target(rtt, links) + self.flow_scaling_range
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::Sack(Sack::default())
    }
}
