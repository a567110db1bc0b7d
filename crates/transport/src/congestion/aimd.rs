//! AIMD: additive increase, multiplicative decrease.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Acked, CongestionControl, CongestionKind, Control, Lost, check_range};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, sack::Sack};

/// A window that grows by a packet per round trip, and falls to a part of itself, once per round trip, where a packet was
/// marked or lost.
///
/// Source: Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion avoidance", 1989.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Aimd {
    /// The part of the window that is left, 0.1 to 0.9.
    pub keeps: f64,
}

impl Default for Aimd {
    fn default() -> Self {
        Self { keeps: 0.5 }
    }
}

/// State of a connection, in bytes.
#[derive(Debug, Clone)]
pub struct State {
    keeps: f64,
    packet: f64,
    window: f64,
    /// The first packet that had not been sent when the window fell.
    fell_before: u64,
}

impl State {
    fn fall(&mut self, next: u64) {
        self.window = (self.keeps * self.window).max(self.packet);
        self.fell_before = next;
    }
}

impl CongestionControl for State {
    fn window_bytes(&self) -> u64 {
        self.window as u64
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        if acked.ecn && acked.sequence >= self.fell_before {
            self.fall(acked.next);
        } else if !acked.ecn && acked.uses(self.window, self.packet, false) {
            self.window += self.packet * acked.bytes as f64 / self.window;
        }
    }

    fn on_loss(&mut self, lost: &Lost) {
        if lost.first_of_window && (lost.again || lost.cumulative >= self.fell_before) {
            self.fall(lost.next);
        }
    }
}

impl CongestionKind for Aimd {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        check_range("keeps", self.keeps, 0.1, 0.9)?;
        let packet = sizes.packet_bytes() as f64;
        let window = (path.bytes_in(path.network_rtt) / packet).ceil().max(1.0) * packet;
        Ok(Control::Aimd(State { keeps: self.keeps, packet, window, fell_before: 0 }))
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

    /// A window of twelve packets: what two links of 1 GB/s hold in a round trip of 12 us.
    fn state() -> State {
        let path = Path::of_equal_links(Duration::from_ns(12_000), Bandwidth(1e9), 2, 12_000);
        let sizes = PacketSizes { payload_bytes: 936, ..PacketSizes::default() };
        let Control::Aimd(state) = Aimd::default().build(&path, &sizes).unwrap() else { unreachable!() };
        assert_eq!((sizes.packet_bytes(), state.window_bytes()), (PACKET, 12 * PACKET));
        state
    }

    /// The acknowledgement of packet `sequence`, behind which a full window is under way.
    fn ack(state: &mut State, sequence: u64, ecn: bool) {
        let in_flight = state.window_bytes() / PACKET - 1;
        state.on_ack(&acked(sequence, in_flight, ecn));
    }

    fn lose(state: &mut State, cumulative: u64, next: u64, again: bool) {
        let in_flight = state.window_bytes();
        state.on_loss(&Lost { again, cumulative, next, in_flight, ..LOST });
    }

    /// `1 / w` of a packet for each of the `w` acknowledgements, or of one less where part of a packet is left, while it grows.
    #[test]
    fn a_round_trip_adds_a_packet() {
        let mut state = state();
        for trip in 1..=20_u64 {
            let before = state.window;
            (0..before as u64 / PACKET).for_each(|at| ack(&mut state, 100 * trip + at, false));
            let (packets, more) = (before / PACKET as f64, (state.window - before) / PACKET as f64);
            let least = (packets - 1.0) / (packets + 1.0);
            assert!((least..=1.0).contains(&more), "{more} packets in round trip {trip}, {least} at least");
        }
    }

    #[test]
    fn marks_and_losses_of_a_round_trip_are_one_event() {
        let mut state = state();
        ack(&mut state, 0, true);
        assert_eq!(state.window_bytes(), 6 * PACKET);
        // packets 1 to 11 were on their way
        (1..12).for_each(|at| ack(&mut state, at, true));
        lose(&mut state, 5, 12, false);
        assert_eq!(state.window_bytes(), 6 * PACKET);
        ack(&mut state, 12, true);
        assert_eq!(state.window_bytes(), 3 * PACKET);
        lose(&mut state, 20, 23, false);
        assert_eq!(state.window_bytes(), 3 * PACKET / 2);
        // what was sent again is lost again
        lose(&mut state, 20, 23, true);
        assert_eq!(state.window_bytes(), PACKET, "a packet may always be under way");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut state = state();
        state.on_ack(&Acked { in_flight: 4 * PACKET, ..ACKED });
        assert_eq!(state.window_bytes(), 12 * PACKET);
        state.on_ack(&Acked { in_flight: 11 * PACKET, ..ACKED });
        assert!(state.window_bytes() > 12 * PACKET);
    }
}
