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
    /// Queue pair at this node, 24 bits.
    pub own_queue_pair: u32,
    /// Epoch of the connection.
    pub epoch: u8,
    /// Frames carry a checksum.
    pub checksum: bool,
}

impl Ends {
    /// Whether a frame is of this connection: from the other node to this one, for this queue pair, and of no connection that was here
    /// before. Ask before anything in it is used.
    pub const fn accepts(&self, frame: &Frame<'_>) -> bool {
        frame.destination == self.source
            && frame.source == self.destination
            && frame.queue_pair == self.own_queue_pair
            && frame.epoch == self.epoch
    }

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

/// Credit in words of 16 packets that says: as much as there is.
pub const NO_LIMIT: u16 = u16::MAX;

/// The credit of a receiver with room for so many packets from the first that it has not on.
pub const fn credit(room_packets: u64) -> u16 {
    let words = room_packets / 16;
    if words < NO_LIMIT as u64 { words as u16 } else { NO_LIMIT }
}

/// What a frame says of the receiver's room, for [`Sender::on_room`](crate::Sender::on_room) of a sender whose packets below
/// `acknowledged_to` have arrived: the first packet for which there is none. The number in the header of a credit frame is that of
/// the first packet that the receiver has not. None where the frame says nothing of it.
pub fn room(frame: &Frame<'_>, acknowledged_to: u64) -> Option<u64> {
    let (cumulative, credit) = match frame.body {
        Body::Ack(ack) | Body::Nack(ack) => (ack.cumulative, ack.credit),
        Body::Credit => (frame.sequence, frame.credit),
        _ => return None,
    };
    let from = expand(cumulative, acknowledged_to);
    Some(if credit == NO_LIMIT { u64::MAX } else { from + 16 * u64::from(credit) })
}

/// Why a receiver did not take a packet, for all that it arrived; for [`Sender::on_refusal`](crate::Sender::on_refusal).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No receive was posted for it yet.
    NotReady {
        /// The packet.
        sequence: u64,
    },
    /// The memory that it names is not the sender's to use.
    NoAccess,
    /// It means nothing.
    Invalid,
}

/// What a frame refuses, for a sender whose packets below `acknowledged_to` have arrived. None where it refuses nothing: then it is to
/// be read by [`acknowledgement_header`].
pub fn refusal(frame: &Frame<'_>, acknowledged_to: u64) -> Option<Refusal> {
    let Body::Nack(ack) = frame.body else { return None };
    match ack.syndrome {
        0 => None,
        1 => Some(Refusal::NotReady { sequence: expand(frame.sequence, acknowledged_to) }),
        2 => Some(Refusal::NoAccess),
        _ => Some(Refusal::Invalid),
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
        Body::Nack(ack) if ack.syndrome == 0 => (Kind::Nack, ack),
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
