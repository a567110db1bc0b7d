//! Between headers of the state machines and frames of the wire: numbers are cut to 32 bits and restored.

use stratasim_core::Time;

use super::{Acknowledgement, Body, Frame, WireFlags};
use crate::packet::{Flags, Header, Kind};

/// Who talks to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// Index of the other node.
    pub destination: u16,
    /// Index of this node.
    pub source: u16,
    /// Queue pair at the other node, 24 bits.
    pub queue_pair: u32,
    /// Epoch of the connection.
    pub epoch: u8,
    /// Frames carry a checksum.
    pub checksum: bool,
}

impl Ends {
    /// The frame of a header of the sender or the receiver, around a body.
    pub fn frame<'a>(&self, header: &Header, now: Time, credit: u16, body: Body<'a>) -> Frame<'a> {
        let flags = WireFlags::when(header.flags.has(Flags::LAST), WireFlags::LAST)
            | WireFlags::when(header.flags.has(Flags::ACK_REQUEST), WireFlags::ACK_REQUEST)
            | WireFlags::when(header.flags.has(Flags::RETRANSMISSION), WireFlags::RETRANSMISSION)
            | WireFlags::when(header.flags.has(Flags::ECN_ECHO), WireFlags::ECN_ECHO)
            | WireFlags::when(header.flags.has(Flags::PROBE), WireFlags::PROBE)
            | WireFlags::when(header.kind == Kind::Nack, WireFlags::NAK)
            | WireFlags::when(self.checksum, WireFlags::CHECKSUM);
        Frame {
            flags,
            destination: self.destination,
            source: self.source,
            queue_pair: self.queue_pair,
            epoch: self.epoch,
            sequence: header.sequence as u32,
            serial: header.serial as u32,
            timestamp_us: microseconds(now),
            credit,
            body,
        }
    }
}

/// Microseconds since the start, modulo 2^32.
fn microseconds(time: Time) -> u32 {
    (time.as_ps() / 1_000_000) as u32
}

/// The number nearest to `near` whose low 32 bits are `low` (RFC 1982's arithmetic of serial numbers). `near` may be off by
/// less than 2^31.
pub const fn expand(low: u32, near: u64) -> u64 {
    let ahead = low.wrapping_sub(near as u32) as i32 as i64;
    // below zero there is nothing: the number is one turn up
    match near.checked_add_signed(ahead) {
        Some(number) => number,
        None => near + (low.wrapping_sub(near as u32)) as u64,
    }
}

/// The header of a data frame, for a receiver that has everything below `delivered_to`. None where the frame carries no
/// data. The serial keeps its 32 bits, which is all that is echoed.
pub fn data_header(frame: &Frame<'_>, delivered_to: u64) -> Option<Header> {
    let payload_bytes = match frame.body {
        Body::Send { payload, .. }
        | Body::Write { payload, .. }
        | Body::WriteImmediate { payload, .. }
        | Body::ReadResponse { payload, .. } => payload.len(),
        Body::ReadRequest { .. } | Body::AtomicRequest { .. } | Body::AtomicResponse { .. } => 0,
        Body::Probe => return Some(Header { kind: Kind::Probe, ..common(frame, delivered_to) }),
        _ => return None,
    };
    Some(Header { kind: Kind::Data, payload_bytes: payload_bytes as u16, ..common(frame, delivered_to) })
}

fn common(frame: &Frame<'_>, delivered_to: u64) -> Header {
    let has = |wire| frame.flags.has(wire);
    Header {
        flags: Flags::when(has(WireFlags::LAST), Flags::LAST)
            | Flags::when(has(WireFlags::ACK_REQUEST), Flags::ACK_REQUEST)
            | Flags::when(has(WireFlags::RETRANSMISSION), Flags::RETRANSMISSION),
        sequence: expand(frame.sequence, delivered_to),
        serial: u64::from(frame.serial),
        // the receiver echoes these microseconds; it has no use for the time itself
        sent_at: Time::from_ps(u64::from(frame.timestamp_us) * 1_000_000),
        ..Header::default()
    }
}

/// The extension of an acknowledgement that a receiver emitted; `bitmap` holds its words, big-endian
/// ([`Receiver::sack_words`](crate::Receiver::sack_words)).
///
/// # Errors
/// A bitmap that is too long.
pub fn acknowledgement<'a>(
    header: &Header,
    credit: u16,
    bitmap: &'a [u8],
) -> Result<Acknowledgement<'a>, super::WireError> {
    let mut ack =
        Acknowledgement::new(header.cumulative as u32, header.serial as u32, microseconds(header.sent_at));
    ack.credit = credit;
    ack.with_bitmap(bitmap)
}

/// The header of an acknowledgement, for a sender whose packets below `acknowledged_to` have arrived and whose next
/// transmission is `next_serial`. None where the frame acknowledges nothing.
pub fn acknowledgement_header(
    frame: &Frame<'_>,
    now: Time,
    acknowledged_to: u64,
    next_serial: u64,
) -> Option<Header> {
    let (kind, ack) = match frame.body {
        Body::Ack(ack) => (Kind::Ack, ack),
        Body::Nack(ack) => (Kind::Nack, ack),
        Body::CongestionNotification => {
            return Some(Header { kind: Kind::CongestionNotification, ..Header::default() });
        }
        _ => return None,
    };
    let age = microseconds(now).wrapping_sub(ack.echo_timestamp_us);
    let first = ack.words().next().unwrap_or(0);
    let flag = |wire, flag| Flags::when(frame.flags.has(wire), flag);
    Some(Header {
        kind,
        flags: flag(WireFlags::ECN_ECHO, Flags::ECN_ECHO)
            | flag(WireFlags::PROBE, Flags::PROBE)
            | flag(WireFlags::RETRANSMISSION, Flags::RETRANSMISSION),
        sequence: expand(frame.sequence, acknowledged_to),
        cumulative: expand(ack.cumulative, acknowledged_to),
        serial: expand(ack.echo_serial, next_serial),
        sack_offset: 1,
        sack: first,
        sent_at: Time::from_ps((now.as_ps() / 1_000_000).saturating_sub(u64::from(age)) * 1_000_000),
        ..Header::default()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cut_numbers_are_restored(number in any::<u64>(), off in -0x7fff_ffff_i64..0x7fff_ffff) {
            let number = number >> 1;
            let near = number.saturating_add_signed(off);
            prop_assert_eq!(expand(number as u32, near), number);
        }
    }
}
