//! DCTCP: the window shrinks by the share of packets that were marked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Acked, CongestionControl, CongestionKind, Control, LossCause, Lost, check_alone, check_range};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, sack::Sack};

/// Data center TCP: slow start and one packet per round trip like TCP, but the window is cut by half of the share of
/// bytes that were marked, once per window.
///
/// Sources: Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010; RFC 8257.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Dctcp {
    /// Which rule.
    pub preset: Preset,
    /// Weight of the last window in the share of marks, 0 to 1.
    pub gain: f64,
    /// Window at the start, packets; with the other preset 1.5 x rate x round trip.
    pub initial_packets: u32,
}

/// Variants of DCTCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// As published.
    #[default]
    Published,
    /// uet-htsim's: each marked acknowledgement takes a third of its bytes from the window, each other one adds a
    /// packet per window, each trimmed packet takes its size.
    Htsim,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self { preset: Preset::Published, gain: 1.0 / 16.0, initial_packets: 10 }
    }
}

/// State of a connection; amounts in bytes.
#[derive(Debug, Clone)]
pub struct State {
    packet: f64,
    most: f64,
    window: f64,
    slow_start_to: f64,
    /// Share of marked bytes, averaged.
    alpha: f64,
    gain: f64,
    acked: f64,
    marked: f64,
    /// The window of data ends where this packet is acknowledged; 0 before the first.
    window_end: u64,
    /// Something of this window of data was lost, which has cut the window (once is enough: RFC 3168, section 6.1.2).
    was_cut: bool,
    published: bool,
}

impl State {
    fn clamp(&mut self) {
        self.window = self.window.min(self.most).max(self.packet);
    }

    fn end_window(&mut self, next: u64) {
        self.alpha += self.gain * (self.marked / self.acked - self.alpha);
        if self.marked > 0.0 && !self.was_cut {
            self.window *= 1.0 - self.alpha / 2.0;
            self.slow_start_to = self.window;
        }
        (self.acked, self.marked, self.was_cut) = (0.0, 0.0, false);
        self.window_end = next;
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        self.window as u64
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        let bytes = acked.bytes as f64;
        if !self.published {
            self.window += if acked.ecn { -bytes / 3.0 } else { bytes * self.packet / self.window };
            return self.clamp();
        }
        self.acked += bytes;
        // a mark is told at once (RFC 8257, section 3.2): what was not worth an acknowledgement before has none
        let marked = if acked.ecn { bytes.min(self.packet) } else { 0.0 };
        if acked.ecn {
            self.marked += marked;
            // the first mark ends slow start
            self.slow_start_to = self.slow_start_to.min(self.window);
        }
        let is_slow_start = self.window < self.slow_start_to;
        if acked.uses(self.window, self.packet, is_slow_start) {
            let unmarked = bytes - marked;
            self.window += if is_slow_start { unmarked } else { unmarked * self.packet / self.window };
        }
        if self.window_end == 0 {
            // what was sent at the start is the first window
            self.window_end = acked.next;
        } else if acked.cumulative >= self.window_end && self.acked > 0.0 {
            self.end_window(acked.next);
        }
        self.clamp();
    }

    fn on_loss(&mut self, lost: &Lost) {
        if !self.published {
            self.window -= lost.bytes as f64;
            return self.clamp();
        }
        if !lost.first_of_window {
            // known already (RFC 5681, section 3.1)
            return;
        }
        self.was_cut = true;
        // what else was under way then belongs to the same window of data
        self.window_end = self.window_end.max(lost.next);
        if lost.cause == LossCause::Timeout {
            // who times out again and again keeps what the first time-out found
            if self.window > self.packet {
                self.slow_start_to = (self.window / 2.0).max(2.0 * self.packet);
            }
            self.window = self.packet;
        } else {
            self.window /= 2.0;
            self.slow_start_to = self.window;
        }
        self.clamp();
    }
}

impl CongestionKind for Dctcp {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        check_range("gain", self.gain, 0.0, 1.0)?;
        check_range("initial-packets", f64::from(self.initial_packets), 1.0, 1e6)?;
        let (usual, is_preset) = (Self::default(), self.preset != Preset::Published);
        for (field, differs) in [
            ("gain", self.gain != usual.gain),
            ("initial-packets", self.initial_packets != usual.initial_packets),
        ] {
            check_alone(field, is_preset && differs, "`preset` has its own rule")?;
        }
        let packet = sizes.packet_bytes() as f64;
        let filled = path.bytes_in(path.network_rtt) * 1.5;
        let published = self.preset == Preset::Published;
        let (window, most) = match self.preset {
            Preset::Published => (packet * f64::from(self.initial_packets), f64::INFINITY),
            Preset::Htsim => (filled.max(packet), filled.max(packet)),
        };
        Ok(Control::Dctcp(State {
            packet,
            most,
            window,
            slow_start_to: f64::INFINITY,
            alpha: 1.0,
            gain: self.gain,
            acked: 0.0,
            marked: 0.0,
            window_end: 0,
            was_cut: false,
            published,
        }))
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::Sack(Sack::default())
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::{Bandwidth, Duration};

    use super::super::testing::{ACKED, LOST, PACKET, acked};
    use super::*;

    fn state() -> State {
        let path = Path::of_equal_links(Duration::from_ns(10_000), Bandwidth(1e9), 2, 100_000);
        let sizes = PacketSizes { payload_bytes: 936, ..PacketSizes::default() };
        let Control::Dctcp(state) = Dctcp::default().build(&path, &sizes).unwrap() else { unreachable!() };
        assert_eq!(sizes.packet_bytes(), PACKET);
        state
    }

    fn ack(state: &mut State, sequence: u64, in_flight: u64, ecn: bool) {
        state.on_ack(&acked(sequence, in_flight, ecn));
    }

    /// The first window is what was sent at the start, and one mark in it no full window of marks.
    #[test]
    fn the_first_window_ends_when_all_of_it_has_arrived() {
        let mut state = state();
        let (before, alpha) = (state.window, state.alpha);
        ack(&mut state, 0, 9, true);
        assert!((state.alpha - alpha).abs() < 1e-12 && state.window >= before, "no window is over");
        let before = state.window;
        (1..10).for_each(|at| ack(&mut state, at, 9 - at, false));
        assert!(state.window < before + 9.0 * PACKET as f64, "slow start is over");
        (10..=10).for_each(|at| ack(&mut state, at, 9, false));
        assert_eq!(state.window_end, 20);
    }

    /// An acknowledgement of several packets with a mark is of one that was marked and others that were not.
    #[test]
    fn a_mark_is_of_one_packet() {
        let mut state = state();
        let acked = Acked {
            bytes: 8 * PACKET,
            ecn: true,
            in_flight: 8 * PACKET,
            sequence: 7,
            cumulative: 8,
            next: 16,
            ..ACKED
        };
        state.on_ack(&acked);
        assert!((state.marked / state.acked - 0.125).abs() < 1e-12, "{state:?}");
    }

    /// What was lost and what was marked in one window of data are one sign of congestion.
    #[test]
    fn a_window_is_cut_once_by_loss_and_marks() {
        let mut state = state();
        state.slow_start_to = 0.0;
        ack(&mut state, 0, 9, false);
        let before = state.window;
        ack(&mut state, 1, 9, true);
        state.on_loss(&Lost { cumulative: 0, next: 10, in_flight: 9 * PACKET, ..LOST });
        let cut = state.window;
        assert!((cut / before - 0.5).abs() < 0.02, "{before} to {cut}");
        (2..10).for_each(|at| ack(&mut state, at, 9, true));
        assert!(state.window >= cut, "cut once more: {}", state.window);
        assert!(state.alpha > 0.0);
    }

    /// Packets that were under way when one was lost belong to its window, though an observation ends among them.
    #[test]
    fn marks_behind_a_loss_cut_nothing_more() {
        let mut state = state();
        state.slow_start_to = 0.0;
        ack(&mut state, 0, 9, false);
        state.on_loss(&Lost { cumulative: 1, next: 18, in_flight: 9 * PACKET, ..LOST });
        let cut = state.window;
        (1..18).for_each(|at| ack(&mut state, at, 9, true));
        assert!(state.window >= cut, "cut once more: {cut} to {}", state.window);
        // the next window is cut by its own marks
        (18..40).for_each(|at| ack(&mut state, at, 9, true));
        assert!(state.window < cut, "{cut} to {}", state.window);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        for slow_start_to in [0.0, f64::INFINITY] {
            let mut state = state();
            state.slow_start_to = slow_start_to;
            let before = state.window;
            (0..100).for_each(|at| ack(&mut state, at, 0, false));
            assert!((state.window - before).abs() < 1e-9, "{before} to {}", state.window);
        }
    }
}
