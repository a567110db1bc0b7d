//! MPRDMA: every acknowledgement moves the window, half a packet down when it is marked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::{Acked, CongestionControl, CongestionKind, Control, LossCause, Lost, check_alone, check_range};
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
    /// As the packet simulator of ATLAHS has it: starts at half of rate x round trip of an assumed network; the limit is rate x
    /// the shortest round trip measured so far, in whole packets; a trimmed packet halves the window.
    ///
    /// What the window lets go waits in the host's queue, and its round trip begins there, except for what is handed over at
    /// the instant zero, which is stamped where its first link ends. A trimmed packet is sent again as soon as any of the
    /// window is free.
    Htsim,
    /// The same limits; a round trip below 1.5 times the shortest adds a packet per window, one above takes its
    /// share, at most a quarter, at every acknowledgement ("swift_like"). As the wait in the host's own queue counts, a
    /// message that starts with a full window loses most of it in the first round trip.
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
    bytes_per_ns: f64,
    /// Shortest round trip so far, whole nanoseconds.
    base_rtt_ns: u64,
}

impl State {
    fn clamp(&mut self) {
        self.window = self.window.min(self.most).max(self.packet);
    }

    /// The rules of ATLAHS, in its units: every acknowledgement counts as one packet, windows are whole bytes, and round trips
    /// whole nanoseconds.
    fn on_htsim_ack(&mut self, acked: &Acked<'_>) {
        let rtt_ns = acked.age.as_ps() / 1000;
        if rtt_ns < self.base_rtt_ns {
            self.base_rtt_ns = rtt_ns;
            self.most = (rtt_ns as f64 * self.bytes_per_ns).floor();
            self.window = self.window.min(self.most);
        }
        let more = self.packet * self.packet / self.window.max(1.0);
        self.window = match self.preset {
            Preset::Htsim if acked.ecn => self.window - self.packet / 2.0,
            Preset::Htsim => self.window + more,
            Preset::HtsimSwiftLike => {
                let (rtt, target) = (rtt_ns as f64, 1.5 * self.base_rtt_ns as f64);
                let kept = (1.0 - (rtt - target) / rtt).max(0.75);
                if rtt < target { self.window + more } else { self.window * kept }
            }
            _ => self.most,
        }
        .floor();
        self.clamp();
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        self.window as u64
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        if self.preset != Preset::Published {
            return self.on_htsim_ack(acked);
        }
        let packets = (acked.bytes as f64 / self.packet).max(f64::from(u8::from(acked.ecn)));
        let more = self.packet * self.packet / self.window * packets;
        self.window += if acked.ecn { -self.packet / 2.0 * packets } else { more };
        self.clamp();
    }

    fn on_loss(&mut self, lost: &Lost) {
        match (self.preset, lost.cause) {
            (Preset::HtsimConstant, _) => {}
            // the paper keeps the window on isolated losses and restarts after a time-out
            (Preset::Published, LossCause::Timeout) if !lost.first_of_window => {}
            (Preset::Published, LossCause::Timeout) => self.window = self.packet,
            (Preset::Published, _) => self.window -= lost.bytes as f64 / 2.0,
            _ => self.window /= 2.0,
        }
        self.clamp();
    }
}

/// The round trip that ATLAHS assumes: four hops of 1 us each way, whole nanoseconds.
fn assumed_rtt(rate: Bandwidth, sizes: &PacketSizes) -> Duration {
    let per_hop = |bytes: u32| 1000 + (f64::from(bytes) * 1e9 / rate.bytes_per_s()) as u64;
    Duration::from_ns(4 * per_hop(sizes.payload_bytes) + 4 * per_hop(sizes.control_bytes))
}

/// Whole bytes in flight on links of `rate` in the round trip that ATLAHS assumes: its windows and its queues hold so many.
pub fn assumed_in_flight(rate: Bandwidth, sizes: &PacketSizes) -> u64 {
    (assumed_rtt(rate, sizes).as_ps() as f64 / 1e3 * (rate.bytes_per_s() / 1e9)) as u64
}

impl CongestionKind for Mprdma {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        check_range("initial-factor", self.initial_factor, 0.001, 100.0)?;
        check_range("max-factor", self.max_factor, 0.01, 1000.0)?;
        let (usual, is_preset) = (Self::default(), self.preset != Preset::Published);
        for (field, differs) in [
            ("initial-factor", self.initial_factor != usual.initial_factor),
            ("max-factor", self.max_factor != usual.max_factor),
        ] {
            check_alone(field, is_preset && differs, "`preset` says what windows are possible")?;
        }
        let packet = sizes.packet_bytes() as f64;
        let bytes_per_ns = path.rate.bytes_per_s() / 1e9;
        let published = self.preset == Preset::Published;
        let base = if published { path.base_rtt } else { assumed_rtt(path.rate, sizes) };
        let assumed = assumed_in_flight(path.rate, sizes) as f64;
        let (window, most) = match self.preset {
            Preset::Published => {
                let filled = base.as_ps() as f64 / 1e3 * bytes_per_ns;
                (filled * self.initial_factor, filled * self.max_factor)
            }
            Preset::Htsim => (assumed / 2.0, assumed),
            _ => (assumed, assumed),
        };
        Ok(Control::Mprdma(State {
            preset: self.preset,
            packet,
            window: window.max(packet),
            most: most.max(packet),
            bytes_per_ns,
            base_rtt_ns: base.as_ps() / 1000,
        }))
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::Trimming(Trimming {
            without_timeout: self.preset != Preset::Published,
            ..Trimming::default()
        })
    }

    fn hands_over(&self) -> bool {
        self.preset != Preset::Published
    }

    fn entropy(&self) -> EntropySpec {
        EntropySpec::RoundRobin(RoundRobin { paths: 128 })
    }
}
