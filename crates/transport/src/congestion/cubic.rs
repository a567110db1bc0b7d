//! Cubic: the window of most of the Internet's senders, a cubic of the time since the last loss.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Time};

use super::{Acked, CongestionControl, CongestionKind, Control, LossCause, Lost, check_range};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, sack::Sack};

/// Cubic: after a loss the window grows as a cubic of time, flat near where the loss was, and never slower than Reno.
///
/// Source: RFC 9438.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Cubic {
    /// Steepness, packets per second cubed.
    pub c: f64,
    /// What is left of the window after a loss, 0 to 1.
    pub beta: f64,
    /// Window at the start, packets.
    pub initial_packets: f64,
    /// Marks count as losses (RFC 3168).
    pub ecn: bool,
}

impl Default for Cubic {
    fn default() -> Self {
        Self { c: 0.4, beta: 0.7, initial_packets: 10.0, ecn: true }
    }
}

/// State of a connection; windows in packets.
#[derive(Debug, Clone)]
pub struct State {
    c: f64,
    beta: f64,
    ecn: bool,
    packet: f64,
    window: f64,
    slow_start_to: f64,
    /// Window before the last loss (`W_max`).
    plateau: f64,
    /// Window before the last cut.
    prior: f64,
    /// What Reno would have.
    reno: f64,
    /// Start of congestion avoidance after the last loss, later by all that passed while the window was not used.
    epoch: Option<Time>,
    /// When the window last grew along the cubic, and whether it was not used since.
    grown_at: Time,
    rested: bool,
    /// Seconds until the plateau is reached again (`K`).
    back_after: f64,
    /// The last cut was by a time-out.
    timed_out: bool,
    /// Marks and losses of packets below belong to a window of data that was cut (once is enough: RFC 3168, section 6.1.2).
    window_end: u64,
}

impl State {
    /// Cuts the window to `least` packets at least.
    fn cut(&mut self, least: f64) {
        // fast convergence: give way when the plateau sinks (section 4.7)
        self.plateau = if self.window < self.plateau {
            self.window * f64::midpoint(1.0, self.beta)
        } else {
            self.window
        };
        self.prior = self.window;
        self.window = (self.window * self.beta).max(least);
        self.slow_start_to = self.window.max(2.0);
        self.epoch = None;
        self.timed_out = false;
    }

    fn avoid(&mut self, now: Time, packets: f64, rtt: f64) {
        let epoch = *self.epoch.get_or_insert_with(|| {
            // after a time-out the old window is no plateau any more (section 4.8)
            self.plateau = if self.timed_out { self.window } else { self.plateau.max(self.window) };
            self.back_after = ((self.plateau - self.window) / self.c).cbrt();
            self.reno = self.window;
            now
        });
        // time without use is none of the cubic's (section 5.8)
        let epoch = if std::mem::take(&mut self.rested) && epoch < now {
            let later = epoch + now.saturating_since(self.grown_at.max(epoch));
            *self.epoch.insert(later)
        } else {
            epoch
        };
        self.grown_at = now;
        let elapsed = now.saturating_since(epoch).as_secs_f64();
        let cubic = |seconds: f64| self.c * (seconds - self.back_after).powi(3) + self.plateau;
        // Reno with the same average (equation 4), and Reno itself above the window before the cut (section 4.3)
        let alpha = if self.reno < self.prior { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) } else { 1.0 };
        self.reno += alpha * packets / self.window;
        if cubic(elapsed) < self.reno {
            self.window = self.reno;
        } else {
            let aim = cubic(elapsed + rtt).clamp(self.window, 1.5 * self.window);
            self.window += (aim - self.window) / self.window * packets;
        }
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        (self.window * self.packet) as u64
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        if acked.ecn && self.ecn && acked.sequence >= self.window_end {
            self.window_end = acked.next;
            return self.cut(1.0);
        }
        if acked.ecn && self.ecn {
            return;
        }
        // a window that is not used does not grow (RFC 9438, section 5.8)
        let packets = acked.bytes as f64 / self.packet;
        let is_slow_start = self.window < self.slow_start_to;
        if !acked.uses(self.window * self.packet, self.packet, is_slow_start) {
            self.rested = true;
            return;
        }
        if is_slow_start {
            self.window += packets;
        } else if let Some(rtt) = acked.rtt {
            self.avoid(acked.now, packets, rtt.as_secs_f64());
        }
    }

    fn on_loss(&mut self, lost: &Lost) {
        let timed_out = lost.cause == LossCause::Timeout;
        let is_known = lost.cumulative < self.window_end && !timed_out && !lost.again;
        if !lost.first_of_window || is_known {
            return;
        }
        self.window_end = lost.next;
        // who times out again and again keeps what the first time-out found (RFC 5681, section 3.1)
        if !timed_out || self.window > 1.0 {
            // section 4.6
            self.cut(2.0);
        }
        if timed_out {
            self.window = 1.0;
            self.timed_out = true;
        }
    }
}

impl CongestionKind for Cubic {
    fn build(&self, _: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        check_range("c", self.c, 1e-6, 1e12)?;
        check_range("beta", self.beta, 0.1, 0.99)?;
        check_range("initial-packets", self.initial_packets, 1.0, 1e6)?;
        Ok(Control::Cubic(State {
            c: self.c,
            beta: self.beta,
            ecn: self.ecn,
            packet: sizes.packet_bytes() as f64,
            window: self.initial_packets,
            slow_start_to: f64::INFINITY,
            plateau: 0.0,
            prior: 0.0,
            reno: 0.0,
            epoch: None,
            grown_at: Time::ZERO,
            rested: false,
            back_after: 0.0,
            timed_out: false,
            window_end: 0,
        }))
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::Sack(Sack::default())
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::{Bandwidth, Duration};

    use super::super::testing::{ACKED, LOST};
    use super::*;

    /// Above the window before the cut it grows as Reno does, by a packet in each round trip (RFC 9438, section 4.3).
    #[test]
    fn it_is_reno_above_its_old_window() {
        let path = Path::of_equal_links(Duration::from_ns(100_000), Bandwidth(1e9), 2, 100_000);
        let spec = Cubic { c: 1e-6, ..Cubic::default() };
        let Control::Cubic(mut state) = spec.build(&path, &PacketSizes::default()).unwrap() else {
            unreachable!()
        };
        state.window = 100.0;
        state.slow_start_to = 1.0;
        state.cut(1.0);
        let rtt = 1e-4;
        let (mut now, mut above) = (0.0, Vec::new());
        while above.len() < 50 {
            let before = state.window;
            for _ in 0..before as usize {
                state.avoid(Time::from_ps((now * 1e12) as u64), 1.0, rtt);
            }
            now += rtt;
            if before > 101.0 {
                above.push(state.window - before);
            }
        }
        let mean = above.iter().sum::<f64>() / above.len() as f64;
        assert!((mean - 1.0).abs() < 0.05, "{mean} packets per round trip");
    }

    /// After a time-out the window is its own plateau, and no way back to the old one (RFC 9438, section 4.8).
    #[test]
    fn a_time_out_forgets_the_plateau() {
        let path = Path::of_equal_links(Duration::from_ns(100_000), Bandwidth(1e9), 2, 100_000);
        let Control::Cubic(mut state) = Cubic::default().build(&path, &PacketSizes::default()).unwrap()
        else {
            unreachable!()
        };
        state.window = 1000.0;
        let lost = |cause| Lost { cause, cumulative: 0, next: 0, in_flight: 0, ..LOST };
        state.on_loss(&lost(LossCause::Timeout));
        assert!((state.window - 1.0).abs() < 1e-9);
        state.window = state.slow_start_to;
        state.avoid(Time::from_ps(1), 1.0, 1e-4);
        assert!(state.plateau <= state.slow_start_to && state.back_after.abs() < 1e-9, "{state:?}");
        // two packets are left after a loss, one after a time-out (section 4.6)
        let mut small = State { window: 2.5, ..state.clone() };
        small.on_loss(&lost(LossCause::Gap));
        assert!((small.window - 2.0).abs() < 1e-9, "{small:?}");
        // and after a loss, there is
        state.on_loss(&lost(LossCause::Gap));
        state.avoid(Time::from_ps(2), 1.0, 1e-4);
        assert!(state.back_after > 0.1, "{state:?}");
    }

    /// A mark and a loss in one window of data are one sign of congestion, whichever comes first (RFC 3168, section 6.1.2).
    #[test]
    fn a_window_is_cut_once_by_marks_and_losses() {
        let path = Path::of_equal_links(Duration::from_ns(100_000), Bandwidth(1e9), 2, 100_000);
        for mark_first in [true, false] {
            let Control::Cubic(mut state) = Cubic::default().build(&path, &PacketSizes::default()).unwrap()
            else {
                unreachable!()
            };
            state.window = 100.0;
            // packets 10 to 109 are under way
            for is_mark in [mark_first, !mark_first] {
                if is_mark {
                    state.on_ack(&Acked {
                        ecn: true,
                        in_flight: 100_000,
                        sequence: 40,
                        cumulative: 10,
                        next: 110,
                        ..ACKED
                    });
                } else {
                    state.on_loss(&Lost { cumulative: 10, next: 110, in_flight: 100_000, ..LOST });
                }
            }
            assert!((state.window - 70.0).abs() < 1e-9, "{}", state.window);
        }
    }
}
