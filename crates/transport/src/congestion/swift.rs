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
/// Two windows, of which the smaller counts: one follows the delay of the network, the other, with a target of its own, what packets
/// wait in the receiving host until it acknowledges them. Hosts of the packet level acknowledge at once, so the first one counts there.
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
    /// Target of the delay in the receiving host; the same whatever the window. The default is ours.
    pub endpoint_target: Duration,
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
            endpoint_target: USUAL_TARGET,
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

/// Base target of connections with shorter round trips, and target of hosts.
const USUAL_TARGET: Duration = Duration::from_ns(25_000);

/// What connections share; times in picoseconds, windows in packets.
#[derive(Debug)]
struct Parameters {
    packet: f64,
    fixed_target: f64,
    endpoint_target: f64,
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

/// A window that follows a delay.
#[derive(Debug, Clone, Copy)]
struct Window {
    packets: f64,
    decreased_at: Option<Time>,
}

/// State of a connection.
#[derive(Debug, Clone)]
pub struct State {
    parameters: Arc<Parameters>,
    /// Follows the delay of the network.
    fabric: Window,
    /// Follows the delay in the receiving host, from the first one on.
    endpoint: Option<Window>,
    rtt: Duration,
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

impl Window {
    fn may_decrease(&self, now: Time, rtt: Duration) -> bool {
        self.decreased_at.is_none_or(|at| now.saturating_since(at) >= rtt)
    }

    /// Moves towards a delay of `target` picoseconds (algorithm 1 of the paper).
    fn follow(&mut self, p: &Parameters, acked: &Acked<'_>, rtt: Duration, delay: f64, target: f64) {
        if delay < target {
            let packets = acked.bytes as f64 / p.packet;
            self.packets += p.increase * packets / self.packets.max(1.0);
        } else if self.may_decrease(acked.now, rtt) {
            self.decrease(acked.now, (1.0 - p.beta * (delay - target) / delay).max(1.0 - p.max_decrease));
        }
        self.clamp(p);
    }

    fn decrease(&mut self, now: Time, kept: f64) {
        self.packets *= kept;
        self.decreased_at = Some(now);
    }

    fn clamp(&mut self, p: &Parameters) {
        let [least, most] = p.limits;
        self.packets = self.packets.clamp(least, most);
    }
}

impl State {
    /// Packets that may be under way.
    #[inline]
    fn window(&self) -> f64 {
        self.endpoint.map_or(self.fabric.packets, |endpoint| self.fabric.packets.min(endpoint.packets))
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        ((self.window() * self.parameters.packet) as u64).max(1)
    }

    fn gap(&self, bytes: u64) -> Duration {
        let window = self.window();
        if window >= 1.0 {
            return Duration::ZERO;
        }
        let packets = bytes as f64 / self.parameters.packet;
        Duration::from_ps((self.rtt.as_ps() as f64 * packets / window) as u64)
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        self.timeouts = 0;
        let Some(rtt) = acked.rtt else { return };
        self.rtt = rtt;
        let p = &self.parameters;
        let endpoint = acked.endpoint_delay.min(rtt);
        if endpoint > Duration::ZERO && self.endpoint.is_none() {
            self.endpoint = Some(self.fabric);
        }
        if let Some(window) = &mut self.endpoint {
            window.follow(p, acked, rtt, endpoint.as_ps() as f64, p.endpoint_target);
        }
        let (delay, target) = ((rtt - endpoint).as_ps() as f64, p.target(self.fabric.packets));
        self.fabric.follow(p, acked, rtt, delay, target);
    }

    /// Losses are the network's: its window alone falls.
    fn on_loss(&mut self, lost: &Lost) {
        let p = &self.parameters;
        let may_decrease = self.fabric.may_decrease(lost.now, self.rtt);
        if lost.cause == LossCause::Timeout {
            // packets that time out together are one time-out
            self.timeouts += u32::from(may_decrease);
            if self.timeouts >= p.reset_after {
                self.fabric = Window { packets: p.limits[0], decreased_at: Some(lost.now) };
                return;
            }
        }
        if may_decrease {
            self.fabric.decrease(lost.now, 1.0 - p.max_decrease);
        }
        self.fabric.clamp(p);
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
        check_range("flow-scaling-windows", large, small, 1e9)?;
        if large == small {
            let reason = format!("[{small}, {large}]; the second window has to be larger than the first");
            return Err(BuildError::new("flow-scaling-windows", reason));
        }
        check_range("initial-packets", self.initial_packets, least, most)?;
        let range = self.flow_scaling_range.as_ps() as f64;
        let alpha = range / (1.0 / small.sqrt() - 1.0 / large.sqrt());
        let parameters = Arc::new(Parameters {
            packet: sizes.packet_bytes() as f64,
            fixed_target: self.fixed_target(path.base_rtt, path.hops).as_ps() as f64,
            endpoint_target: self.endpoint_target.as_ps() as f64,
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
            fabric: Window { packets: self.initial_packets, decreased_at: None },
            endpoint: None,
            rtt: path.base_rtt,
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

#[cfg(test)]
mod tests {
    use super::*;
    use stratasim_core::Bandwidth;

    const PACKET: u64 = 4160;

    fn state(swift: &Swift) -> State {
        let sizes = PacketSizes::default();
        assert_eq!(sizes.packet_bytes(), PACKET);
        let path = Path::of_equal_links(Duration::from_ns(10_000), Bandwidth(12.5e9), 4, 1_000_000);
        let Control::Swift(state) = swift.build(&path, &sizes).unwrap() else { unreachable!() };
        state
    }

    fn acked(now_ns: u64, fabric_ns: u64, endpoint_ns: u64) -> Acked<'static> {
        let rtt = Duration::from_ns(fabric_ns + endpoint_ns);
        Acked {
            now: Time::ZERO + Duration::from_ns(now_ns),
            bytes: PACKET,
            ecn: false,
            rtt: Some(rtt),
            age: rtt,
            endpoint_delay: Duration::from_ns(endpoint_ns),
            in_flight: PACKET,
            sequence: 0,
            cumulative: 1,
            next: 2,
            telemetry: None,
        }
    }

    /// What the host delays is none of the network's delay, and the other way round: two copies of a window each follow one of both, and
    /// the smaller one counts.
    #[test]
    fn each_window_follows_its_own_delay() {
        let mut both = state(&Swift::default());
        let p = Arc::clone(&both.parameters);
        let [mut fabric, mut endpoint] = [both.fabric; 2];
        let mut smaller = [0; 2];
        for step in 0..3000_u64 {
            // walks through both sides of both targets, slow enough for windows to move
            let fabric_ns = 20_000 + step / 100 * 7919 % 70_000;
            let endpoint_ns = 1 + step / 70 * 104_729 % 60_000;
            let acked = acked(step * 700, fabric_ns, endpoint_ns);
            let rtt = acked.age;
            both.on_ack(&acked);
            fabric.follow(&p, &acked, rtt, fabric_ns as f64 * 1e3, p.target(fabric.packets));
            endpoint.follow(&p, &acked, rtt, endpoint_ns as f64 * 1e3, 25e6);
            smaller[usize::from(endpoint.packets < fabric.packets)] += 1;
            let least = fabric.packets.min(endpoint.packets);
            assert_eq!(both.window_bytes(), ((least * PACKET as f64) as u64).max(1), "{step}");
        }
        assert!(smaller.iter().all(|steps| *steps > 300), "{smaller:?}");
    }

    #[test]
    fn hosts_that_take_no_time_limit_nothing() {
        let mut state = state(&Swift { endpoint_target: Duration::ZERO, ..Swift::default() });
        (0..50).for_each(|step| state.on_ack(&acked(step * 700, 10_000, 0)));
        assert!(state.endpoint.is_none() && state.window() == state.fabric.packets && state.window() > 10.0);
    }
}
