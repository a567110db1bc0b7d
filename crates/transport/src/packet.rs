//! What travels between the two ends of a connection: headers, marks of the network, telemetry.

use stratasim_core::{Duration, Time};

/// What a packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Kind {
    /// Payload; goes from sender to receiver, as do requests to send and probes.
    #[default]
    Data,
    /// What has arrived; goes from receiver to sender, as do the following three.
    Ack,
    /// What has not arrived: a gap, or a packet whose payload was trimmed.
    Nack,
    /// Credit to send more.
    Pull,
    /// A mark was seen (DCQCN's congestion notification packet).
    CongestionNotification,
    /// The sender has data and may not send it, for want of credit or because what was lost fills its window; uses no sequence
    /// number. Credit answers it, or an acknowledgement of whatever has arrived where nobody gives credit.
    RequestToSend,
    /// Asks for an acknowledgement of whatever has arrived; uses no sequence number.
    Probe,
    /// Data that a switch had no room for, not even for its header: what is left of it comes back from there.
    Returned,
}

impl Kind {
    /// Whether it goes from sender to receiver.
    #[inline]
    pub const fn is_forward(self) -> bool {
        matches!(self, Self::Data | Self::RequestToSend | Self::Probe)
    }
}

/// Bits of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// Data: acknowledge at once.
    pub const ACK_REQUEST: Self = Self(1);
    /// Data: sent before. Acknowledgement: the packet that caused it was.
    pub const RETRANSMISSION: Self = Self(2);
    /// Acknowledgement: the packet that caused it was marked.
    pub const ECN_ECHO: Self = Self(4);
    /// Data: the last packet of a message; where credit is given, of all that come for now.
    pub const LAST: Self = Self(8);
    /// Negative acknowledgement, what comes back: the payload was trimmed at the last switch, so another path would not help.
    pub const LAST_HOP: Self = Self(16);
    /// Acknowledgement: [`Header::pull`] holds credit.
    pub const PULL: Self = Self(32);
    /// Acknowledgement: answers a probe, or a request where nobody gives credit.
    pub const PROBE: Self = Self(64);
    /// Negative acknowledgement: the payload was trimmed on the way; without it, a gap was seen.
    pub const TRIMMED: Self = Self(128);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// `other` where `condition` holds, else nothing.
    #[inline]
    pub const fn when(condition: bool, other: Self) -> Self {
        if condition { other } else { Self(0) }
    }
}

impl std::ops::BitAnd for Flags {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The transport's header of any packet: 64 bytes, copied, never referred to. The network looks at nothing
/// in it but `entropy`, and carries it from one end to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(align(64))]
pub struct Header {
    /// What it is for.
    pub kind: Kind,
    /// Bits.
    pub flags: Flags,
    /// Chooses the path where the network sprays. An acknowledgement has that of the packet that caused it.
    pub entropy: u16,
    /// Data: payload in bytes. Acknowledgement: [`Header::endpoint_delay`]. 0 for everything else.
    pub payload_bytes: u16,
    /// Acknowledgement: packets beyond the first gap that the receiver holds (saturating).
    pub out_of_order: u16,
    /// Data: its number in the connection, from 0. Acknowledgement: the number of the packet that caused it.
    pub sequence: u64,
    /// Acknowledgement: every packet below has arrived.
    pub cumulative: u64,
    /// Data: number of this transmission, fresh also when a packet is sent again. Acknowledgement: that of
    /// the packet that caused it.
    pub serial: u64,
    /// Data, request: credit that the sender would like. Pull, acknowledgement: credit given so far.
    pub pull: u32,
    /// Acknowledgement: bit 0 of [`Header::sack`] is packet `cumulative + sack_offset`.
    pub sack_offset: u32,
    /// Acknowledgement: packets that have arrived beyond the first gap.
    pub sack: u64,
    /// Data: when it was sent. Acknowledgement: when the packet that caused it was sent.
    pub sent_at: Time,
    /// Acknowledgement that may not name all that has arrived (`acknowledge-every` in bytes): accounted bytes of all packets that
    /// have, each once; 0 of others.
    pub received_bytes: u64,
}

impl Header {
    /// Unit of the delay in a host: up to 4 ms fit.
    const ENDPOINT_UNIT_PS: u64 = 64_000;

    /// Acknowledgement: how long the packet that caused it waited in the receiver's host, in steps of 64 ns.
    #[inline]
    pub fn endpoint_delay(&self) -> Duration {
        match self.kind {
            Kind::Ack | Kind::Nack => {
                Duration::from_ps(u64::from(self.payload_bytes) * Self::ENDPOINT_UNIT_PS)
            }
            _ => Duration::ZERO,
        }
    }

    /// A delay as acknowledgements carry it.
    #[inline]
    pub(crate) fn endpoint_steps(delay: Duration) -> u16 {
        u16::try_from(delay.as_ps() / Self::ENDPOINT_UNIT_PS).unwrap_or(u16::MAX)
    }
}

/// What the network did to a packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// A queue was long (explicit congestion notification).
    pub ecn: bool,
    /// The payload was cut off; only the header arrived.
    pub trimmed: bool,
    /// It was cut off in the last switch.
    pub last_hop: bool,
}

/// One hop's record of in-band telemetry (HPCC, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HopRecord {
    /// Bytes in the queue when the packet left it.
    pub queue_bytes: u32,
    /// Rate of the link, bytes per second.
    pub bytes_per_s: f64,
    /// When the packet left.
    pub at: Time,
    /// Bytes that the port had sent by then.
    pub sent_bytes: u64,
    /// The port: a number of its own in the network.
    pub port: u32,
}

/// In-band telemetry of a path. The network fills it on the way of a data packet; the driver hands what
/// arrived back to the sender, together with the acknowledgement that the packet caused.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Telemetry {
    /// Records in order of the path.
    pub hops: [HopRecord; Self::HOPS],
    /// How many of them are filled.
    pub count: u8,
    /// Stands for the ports of the way: another one has another number, but for chance (HPCC, section 4.1, `pathID`).
    pub way: u16,
}

impl Telemetry {
    /// Records that fit: 15 of switches, as the count in the header has four bits (HPCC, format of the packet), and one of the sender's own
    /// port where it forwards packets of others, too.
    pub const HOPS: usize = 16;

    /// The most links of a way whose every queue has a record.
    pub const MOST_LINKS: u32 = Self::HOPS as u32;

    /// Forgets the records: a packet sets out.
    #[inline]
    pub const fn clear(&mut self) {
        (self.count, self.way) = (0, 0);
    }

    /// Appends a record where there is room.
    #[inline]
    pub fn push(&mut self, record: HopRecord) {
        if let Some(slot) = self.hops.get_mut(self.count as usize) {
            *slot = record;
            self.count += 1;
            self.way = self.way.rotate_left(3) ^ (record.port.wrapping_mul(0x9e37_79b1) >> 16) as u16;
        }
    }

    /// The filled records.
    #[inline]
    pub fn records(&self) -> &[HopRecord] {
        &self.hops[..self.count as usize]
    }

    /// What each port of the way has recorded beside its record in `earlier`, and the picoseconds from that to this one, in order of the path:
    /// the records that tell a rate. None on another way, which begins with records of its own (HPCC, section 4.1), and none of ports where no
    /// time has passed.
    pub(crate) fn since<'a>(
        &'a self,
        earlier: &'a Self,
    ) -> impl Iterator<Item = (&'a HopRecord, &'a HopRecord, f64)> {
        let same = earlier.way == self.way && earlier.count == self.count;
        let records = if same { self.records() } else { &[] };
        records.iter().zip(earlier.records()).filter_map(|(now, then)| {
            let ps = now.at.saturating_since(then.at).as_ps();
            (ps > 0).then_some((now, then, ps as f64))
        })
    }

    /// Takes over the filled records of `other`, and does not touch the room behind them: most ways are short.
    #[inline]
    pub fn follow(&mut self, other: &Self) {
        self.hops[..other.count as usize].copy_from_slice(other.records());
        (self.count, self.way) = (other.count, other.way);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_one_cache_line() {
        assert_eq!((size_of::<Header>(), align_of::<Header>()), (64, 64));
    }
}
