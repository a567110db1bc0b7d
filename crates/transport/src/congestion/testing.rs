//! What the tests of controls tell them: each says what matters to it, and the rest is here.

use stratasim_core::{Duration, Time};

use super::{Acked, LossCause, Lost};

/// Bytes of a packet on the wire.
pub(super) const PACKET: u64 = 1000;

/// The acknowledgement of packet 0, behind which nothing is under way.
pub(super) const ACKED: Acked<'static> = Acked {
    now: Time::ZERO,
    bytes: PACKET,
    ecn: false,
    rtt: None,
    age: Duration::ZERO,
    endpoint_delay: Duration::ZERO,
    in_flight: 0,
    sequence: 0,
    cumulative: 1,
    next: 1,
    telemetry: None,
};

/// A packet that a gap shows lost, in a window that was whole until then.
pub(super) const LOST: Lost = Lost {
    now: Time::ZERO,
    bytes: PACKET,
    cause: LossCause::Gap,
    first_of_window: true,
    again: false,
    cumulative: 0,
    next: 0,
    in_flight: 0,
    age: Duration::ZERO,
};

/// The acknowledgement of packet `sequence`, with so many packets still under way.
pub(super) fn acked(sequence: u64, in_flight: u64, ecn: bool) -> Acked<'static> {
    let next = sequence + 1 + in_flight;
    Acked { ecn, in_flight: in_flight * PACKET, sequence, cumulative: sequence + 1, next, ..ACKED }
}
