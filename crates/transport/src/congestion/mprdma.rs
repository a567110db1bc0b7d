//! MPRDMA: every acknowledgement moves the window, half a packet down when it is marked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration, Time};

use super::{Acked, CongestionControl, CongestionKind, Control, LossCause, Lost, check_range};
use crate::entropy::{EntropySpec, round_robin::RoundRobin};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, trimming::Trimming};

/// Multi-path RDMA's window: an acknowledgement without mark adds a packet per window, a marked one takes half a packet.
///
/// Source: Lu et al., "Multi-path transport for RDMA in datacenters", NSDI 2018, section 3.2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Mprdma {
    /// Which rule.
    pub preset: Preset,
    /// Window at the start in rate x round trip.
    pub initial_factor: f64,
    /// Largest window in rate x round trip.
    pub max_factor: f64,
}

/// Variants of windows moved by every acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// As published: the window has no limit but `max-factor`.
    #[default]
    Published,
    /// As the packet simulator of ATLAHS has it: starts at half of rate x round trip; the limit is rate x the shortest
    /// round trip measured so far, in whole packets, which leaves out the first link; a trimmed packet
    /// halves the window.
    Htsim,
    /// The same limits; a round trip below 1.5 times the shortest adds a packet per window, one above takes its
    /// share, at most a quarter, at every acknowledgement ("swift_like").
    HtsimSwiftLike,
    /// The same limits; the window is always at the limit. What ATLAHS's scripts run.
    HtsimConstant,
}

impl Default for Mprdma {
    fn default() -> Self {
        Self { preset: Preset::Published, initial_factor: 1.0, max_factor: 4.0 }
    }
}

/// State of a connection; amounts in bytes.
#[derive(Debug, Clone)]
pub struct State {
    preset: Preset,
    packet: f64,
    window: f64,
    most: f64,
    bytes_per_ps: f64,
    /// Shortest round trip so far, picoseconds.
    base_rtt: f64,
    /// The round trip of packets handed over at the instant zero leaves so much out, picoseconds.
    first_link: f64,
    /// Whether the connection began at that instant, and packets below this number were handed over then.
    from_zero: bool,
    first_packets: u64,
}

impl State {
    fn clamp(&mut self) {
        self.window = self.window.min(self.most).max(self.packet);
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        match self.preset {
            Preset::Published => self.window as u64,
            // whole packets, payload only
            _ => ((self.window / self.packet) as u64) * self.packet as u64,
        }
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        let packets = (acked.bytes as f64 / self.packet).max(f64::from(u8::from(acked.ecn)));
        let more = self.packet * self.packet / self.window * packets;
        if self.preset == Preset::Published {
            self.window += if acked.ecn { -self.packet / 2.0 * packets } else { more };
            return self.clamp();
        }
        let rtt = acked.rtt.map(|rtt| rtt.as_ps() as f64);
        // what is handed over at the instant zero is stamped where the first link ends: zero stands for no stamp
        self.from_zero |= acked.rtt.is_some_and(|rtt| acked.now == Time::ZERO + rtt);
        let unstamped = self.from_zero && acked.sequence < self.first_packets;
        let measured = rtt.map(|rtt| if unstamped { (rtt - self.first_link).max(1.0) } else { rtt });
        if let Some(rtt) = measured.filter(|&rtt| rtt < self.base_rtt) {
            self.base_rtt = rtt;
            self.most = (rtt * self.bytes_per_ps).floor();
        }
        match (self.preset, rtt) {
            (Preset::Htsim, _) => self.window += if acked.ecn { -self.packet / 2.0 } else { more },
            (Preset::HtsimSwiftLike, Some(rtt)) => {
                // compared with the whole round trip: inferred from runs, which trim half as much otherwise
                let target = 1.5 * self.base_rtt;
                if rtt < target {
                    self.window += more;
                } else {
                    self.window *= (1.0 - (rtt - target) / rtt).max(0.75);
                }
            }
            (Preset::HtsimConstant, _) => self.window = self.most,
            _ => {}
        }
        self.clamp();
    }

    fn on_loss(&mut self, lost: &Lost) {
        match (self.preset, lost.cause) {
            (Preset::HtsimConstant, _) => {}
            // the paper keeps the window on isolated losses and restarts after a time-out
            (Preset::Published, LossCause::Timeout) => self.window = self.packet,
            (Preset::Published, _) => self.window -= lost.bytes as f64 / 2.0,
            _ => self.window /= 2.0,
        }
        self.clamp();
    }
}

/// The round trip that ATLAHS assumes: four hops of 1 us each way, whole nanoseconds.
fn assumed_rtt(path: &Path, sizes: &PacketSizes) -> Duration {
    let per_hop = |bytes: u32| 1000 + (f64::from(bytes) * 1e9 / path.rate.bytes_per_s()) as u64;
    Duration::from_ns(4 * per_hop(sizes.payload_bytes) + 4 * per_hop(sizes.control_bytes))
}

impl CongestionKind for Mprdma {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        check_range("initial-factor", self.initial_factor, 0.001, 100.0)?;
        check_range("max-factor", self.max_factor, 0.01, 1000.0)?;
        let packet = sizes.packet_bytes() as f64;
        let bytes_per_ps = path.rate.bytes_per_s() * 1e-12;
        let published = self.preset == Preset::Published;
        let base = if published { path.base_rtt } else { assumed_rtt(path, sizes) };
        let filled = base.as_ps() as f64 * bytes_per_ps;
        let (window, most) = match self.preset {
            Preset::Published => (filled * self.initial_factor, filled * self.max_factor),
            Preset::Htsim => (filled.floor() / 2.0, filled.floor()),
            _ => (filled.floor(), filled.floor()),
        };
        // what one link takes of a round trip over equal links: a packet, an acknowledgement and two delays
        let (full, back) = (path.time_of(sizes.wire_bytes()), path.time_of(u64::from(sizes.control_bytes)));
        let both = (path.base_rtt.as_ps() / u64::from(path.hops.max(1))) as f64;
        let delay = (both - (full + back).as_ps() as f64).max(0.0) / 2.0;
        Ok(Control::Mprdma(State {
            preset: self.preset,
            packet,
            window: window.max(packet),
            most: most.max(packet),
            bytes_per_ps,
            base_rtt: base.as_ps() as f64,
            first_link: full.as_ps() as f64 + delay,
            from_zero: false,
            first_packets: (window / packet).max(1.0) as u64,
        }))
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::Trimming(Trimming {
            without_timeout: self.preset != Preset::Published,
            ..Trimming::default()
        })
    }

    fn commits_packets(&self) -> bool {
        self.preset != Preset::Published
    }

    fn entropy(&self) -> EntropySpec {
        EntropySpec::RoundRobin(RoundRobin { paths: 128 })
    }
}
