//! The flight of a sender that repairs selectively: which packets are under way, which have arrived, which are lost,
//! and in which order they were sent.

use std::collections::VecDeque;

use smallvec::{SmallVec, smallvec};
use stratasim_core::Time;
use stratasim_core::memory::{prefetch, prefetch_all};

use super::{Account, Cx, Next};
use crate::bits::BitRing;
use crate::messages::Messages;
use crate::packet::Header;

/// One transmission.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    at: Time,
    /// Its packet, and in the low 16 bits the number that chose its path: both in a word, as there are many of these.
    packet: u64,
}

impl Sent {
    fn new(at: Time, sequence: u64, entropy: u16) -> Self {
        Self { at, packet: sequence << 16 | u64::from(entropy) }
    }

    #[inline]
    const fn sequence(&self) -> u64 {
        self.packet >> 16
    }
}

/// A packet that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnderWay {
    pub(crate) sequence: u64,
    pub(crate) at: Time,
    pub(crate) serial: u64,
    pub(crate) entropy: u16,
}

/// How far `one` of two counts modulo 2^32 is ahead of the `other`; 0 where it is behind.
#[inline]
fn ahead(one: u32, other: u32) -> u32 {
    let ahead = one.wrapping_sub(other);
    if ahead > u32::MAX / 2 { 0 } else { ahead }
}

/// Packets from the first that is not known to have arrived up to the first that was never sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flight {
    base: u64,
    next: u64,
    arrived: BitRing,
    /// From the first loss or repetition on.
    repairs: Option<Box<Repairs>>,
    lost_packets: u32,
    lost_bytes: u64,
    in_flight_packets: u32,
    in_flight_bytes: u64,
    /// Bytes of all packets that are known to have arrived, and how many have by the receiver's own count, both modulo 2^32.
    arrived_bytes: u32,
    heard_bytes: u32,
    /// Past the highest packet that has arrived.
    highest_arrived: u64,
    /// Transmissions in order; serials count on from `first_serial`. Those that no longer matter are taken away when
    /// they come to the front.
    sent: VecDeque<Sent>,
    first_serial: u64,
    /// The first of them, beside the rest: it is looked at with every packet, and the list lies elsewhere.
    front: Sent,
}

/// What only those need who lose packets or send them more than once.
#[derive(Debug, Clone)]
struct Repairs {
    lost: BitRing,
    /// Whose header came without payload: whatever overtakes them later says nothing of their repetition.
    trimmed: BitRing,
    /// Low bits of the serial of each packet's last transmission; a ring, empty while each was sent once.
    last_serials: SmallVec<[u32; HERE]>,
    /// What chose the paths of transmissions that were lost, until somebody takes them.
    lost_paths: Vec<u16>,
}

/// So many serials lie beside the rest: more only windows of more packets need.
const HERE: usize = 16;

impl Flight {
    #[inline]
    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    #[inline]
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }
    #[inline]
    pub(crate) const fn in_flight_packets(&self) -> u32 {
        self.in_flight_packets
    }

    /// The account of the recovery that it belongs to.
    #[inline]
    pub(crate) fn account(&self) -> Account {
        // of what has arrived, some may not be known by name yet
        let unnamed_bytes = ahead(self.heard_bytes, self.arrived_bytes);
        Account {
            in_flight_bytes: self.in_flight_bytes.saturating_sub(unnamed_bytes.into()),
            cumulative: self.base,
            next_new: self.next,
            lost_bytes: self.lost_bytes,
            transmissions: self.next_serial(),
        }
    }

    /// Past the highest packet that is known to have arrived.
    #[inline]
    pub(crate) const fn highest_arrived(&self) -> u64 {
        self.highest_arrived
    }

    /// Asks for what of it lies elsewhere, without waiting.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.sent.front().into_iter().chain(self.sent.back()).for_each(prefetch);
        self.repairs.as_deref().into_iter().for_each(prefetch_all);
    }

    /// The serial number of the next transmission.
    #[inline]
    pub(crate) fn next_serial(&self) -> u64 {
        self.first_serial + self.sent.len() as u64
    }

    /// The lowest lost packet, else the first new one.
    #[inline]
    pub(crate) fn candidate(&self, messages: &Messages) -> Option<Next> {
        if let Some(sequence) = self.first_lost() {
            return Some(Next { sequence, retransmission: true, beyond_window: false });
        }
        self.new_packet(messages)
    }

    /// The first new packet.
    #[inline]
    pub(crate) fn new_packet(&self, messages: &Messages) -> Option<Next> {
        let new = Next { sequence: self.next, retransmission: false, beyond_window: false };
        (self.next < messages.end()).then_some(new)
    }

    /// The lowest lost packet.
    #[inline]
    pub(crate) fn first_lost(&self) -> Option<u64> {
        if self.lost_packets == 0 { None } else { self.repairs.as_ref()?.lost.next_set(self.base, self.next) }
    }

    /// A packet was sent; the serial number of its transmission.
    #[inline]
    pub(crate) fn on_sent(&mut self, cx: &Cx<'_>, sequence: u64) -> u64 {
        let bytes = cx.messages.accounted_bytes(sequence);
        let serial = self.next_serial();
        if sequence >= self.next {
            if self.has_repeated() {
                self.set_last(sequence, serial);
            }
            self.next = sequence + 1;
        } else {
            if !self.has_repeated() {
                self.remember();
            }
            if self.clear_lost(sequence) {
                self.lost_packets -= 1;
                self.lost_bytes -= bytes;
            } else {
                // sent again while still under way, as probes are: it counts once
                self.in_flight_packets -= 1;
                self.in_flight_bytes -= bytes;
            }
            self.set_last(sequence, serial);
        }
        self.in_flight_packets += 1;
        self.in_flight_bytes += bytes;
        let sent = Sent::new(cx.now, sequence, cx.entropy);
        if self.sent.is_empty() {
            self.front = sent;
        }
        self.sent.push_back(sent);
        serial
    }

    /// Whether a packet was sent more than once.
    #[inline]
    fn has_repeated(&self) -> bool {
        self.repairs.as_ref().is_some_and(|repairs| !repairs.last_serials.is_empty())
    }

    fn repairs(&mut self) -> &mut Repairs {
        let base = self.base;
        self.repairs.get_or_insert_with(|| {
            let [lost, trimmed] = [BitRing::new(base), BitRing::new(base)];
            Box::new(Repairs { lost, trimmed, last_serials: SmallVec::new(), lost_paths: Vec::new() })
        })
    }

    /// From now on packets are sent more than once; so far each was sent once, and in order.
    #[cold]
    fn remember(&mut self) {
        debug_assert_eq!(self.next_serial(), self.next);
        (self.base..self.next).for_each(|sequence| self.set_last(sequence, sequence));
    }

    /// Notes the last transmission of a packet.
    fn set_last(&mut self, sequence: u64, serial: u64) {
        let (base, next) = (self.base, self.next);
        let serials = &mut self.repairs().last_serials;
        let needed = sequence.max(base) - base + 1;
        if needed > serials.len() as u64 {
            let len = (needed as usize).next_power_of_two().max(HERE);
            let mut longer: SmallVec<[u32; HERE]> = smallvec![0; len];
            if let Some(mask) = serials.len().checked_sub(1) {
                for at in base..next.min(base + serials.len() as u64) {
                    longer[at as usize & (len - 1)] = serials[at as usize & mask];
                }
            }
            *serials = longer;
        }
        let mask = serials.len() - 1;
        serials[sequence as usize & mask] = serial as u32;
    }

    /// Takes a packet for lost no longer; says whether it was.
    #[inline]
    fn clear_lost(&mut self, sequence: u64) -> bool {
        self.lost_packets > 0 && self.repairs.as_mut().is_some_and(|repairs| repairs.lost.clear(sequence))
    }

    /// Whether a packet was sent and is not known to have arrived.
    #[inline]
    pub(crate) fn is_open(&self, sequence: u64) -> bool {
        sequence >= self.base && sequence < self.next && !self.arrived.get(sequence)
    }

    /// Whether an open packet is taken for lost.
    #[inline]
    pub(crate) fn is_lost(&self, sequence: u64) -> bool {
        self.lost_packets > 0 && self.repairs.as_ref().is_some_and(|repairs| repairs.lost.get(sequence))
    }

    /// Low bits of the serial of the last transmission of a packet that was sent.
    #[inline]
    fn last_serial(&self, sequence: u64) -> u32 {
        let serials = self.repairs.as_ref().map_or(&[][..], |repairs| &repairs.last_serials);
        // while each was sent once, numbers and serials are the same
        serials.len().checked_sub(1).map_or(sequence as u32, |mask| serials[sequence as usize & mask])
    }

    /// Whether `serial` is the last transmission of a packet that was sent.
    #[inline]
    pub(crate) fn is_last_transmission(&self, sequence: u64, serial: u64) -> bool {
        self.last_serial(sequence) == serial as u32
    }

    /// An open packet has arrived; its bytes.
    #[inline]
    fn close(&mut self, sequence: u64, messages: &Messages) -> u64 {
        let bytes = messages.accounted_bytes(sequence);
        if self.clear_lost(sequence) {
            self.lost_packets -= 1;
            self.lost_bytes -= bytes;
        } else {
            self.in_flight_packets -= 1;
            self.in_flight_bytes -= bytes;
        }
        self.arrived_bytes = self.arrived_bytes.wrapping_add(bytes as u32);
        // never far apart, so that it is known which is ahead
        self.heard_bytes = self.heard_bytes.wrapping_add(ahead(self.arrived_bytes, self.heard_bytes));
        bytes
    }

    /// The receiver has counted so many bytes of packets, each once, whether or not it names them; 0 where it does not tell.
    #[inline]
    pub(crate) fn hear(&mut self, received_bytes: u64) {
        if received_bytes == 0 {
            return;
        }
        self.heard_bytes = self.heard_bytes.wrapping_add(ahead(received_bytes as u32, self.heard_bytes));
    }

    /// A single packet has arrived; its bytes, 0 where that was known.
    #[inline]
    pub(crate) fn arrive(&mut self, sequence: u64, messages: &Messages) -> u64 {
        if !self.is_open(sequence) {
            return 0;
        }
        self.highest_arrived = self.highest_arrived.max(sequence + 1);
        let bytes = self.close(sequence, messages);
        if sequence == self.base {
            self.advance(sequence + 1);
        } else {
            self.arrived.set(sequence);
        }
        bytes
    }

    /// Moves the base to the first packet at or above `to` that is not known to have arrived.
    #[inline]
    fn advance(&mut self, to: u64) {
        self.base = self.arrived.next_clear(to).min(self.next).max(to);
        self.arrived.advance(self.base);
        if let Some(repairs) = &mut self.repairs {
            repairs.lost.advance(self.base);
            repairs.trimmed.advance(self.base);
        }
        self.prune();
    }

    /// Takes everything that an acknowledgement says; bytes that are new.
    #[inline]
    pub(crate) fn take(&mut self, header: &Header, sack: &[u64], messages: &Messages) -> u64 {
        let mut bytes = 0;
        let cumulative = header.cumulative.min(self.next);
        if cumulative > self.base {
            let mut at = self.base;
            while at < cumulative {
                if !self.arrived.get(at) {
                    bytes += self.close(at, messages);
                }
                at += 1;
            }
            self.highest_arrived = self.highest_arrived.max(cumulative);
            self.advance(cumulative);
        }
        if header.sack != 0 {
            let base = header.cumulative.saturating_add(u64::from(header.sack_offset));
            bytes += self.take_word(base, header.sack, messages);
        }
        for (index, &word) in sack.iter().enumerate() {
            let base = header.cumulative.saturating_add(1 + 64 * index as u64);
            bytes += self.take_word(base, word, messages);
        }
        bytes
    }

    #[inline]
    fn take_word(&mut self, base: u64, word: u64, messages: &Messages) -> u64 {
        let (mut fresh, mut bytes) = (word & !self.arrived.word(base), 0);
        while fresh != 0 {
            bytes += self.arrive(base.saturating_add(u64::from(fresh.trailing_zeros())), messages);
            fresh &= fresh - 1;
        }
        bytes
    }

    /// An open packet is taken for lost; its bytes, 0 where it was already or is not open.
    #[inline]
    pub(crate) fn lose(&mut self, sequence: u64, messages: &Messages) -> u64 {
        if !self.is_open(sequence) || !self.repairs().lost.set(sequence) {
            return 0;
        }
        let at = self.last_serial(sequence).wrapping_sub(self.first_serial as u32);
        if let Some(sent) = self.sent.get(at as usize) {
            let path = sent.packet as u16;
            self.repairs().lost_paths.push(path);
        }
        let bytes = messages.accounted_bytes(sequence);
        self.lost_packets += 1;
        self.lost_bytes += bytes;
        self.in_flight_packets -= 1;
        self.in_flight_bytes -= bytes;
        bytes
    }

    /// Takes the packet for lost whose header came without payload, where that was its last transmission; its bytes.
    pub(crate) fn lose_trimmed(&mut self, header: &Header, messages: &Messages) -> u64 {
        if !self.is_open(header.sequence) || !self.is_last_transmission(header.sequence, header.serial) {
            return 0;
        }
        self.repairs().trimmed.set(header.sequence);
        self.lose(header.sequence, messages)
    }

    /// Repetitions of trimmed packets are lost for all that is known.
    pub(crate) fn forget_trims(&mut self) {
        let base = self.base;
        if let Some(repairs) = &mut self.repairs {
            repairs.trimmed = BitRing::new(base);
        }
    }

    /// Whether a transmission is the last one of a packet that is under way.
    #[inline]
    fn matters(&self, serial: u64, sent: &Sent) -> bool {
        let sequence = sent.sequence();
        self.is_open(sequence) && !self.is_lost(sequence) && self.is_last_transmission(sequence, serial)
    }

    /// Takes transmissions that no longer matter from the front.
    #[inline]
    pub(crate) fn prune(&mut self) {
        while !self.sent.is_empty() && !self.matters(self.first_serial, &self.front) {
            self.pop();
        }
    }

    /// Takes the first transmission away.
    #[inline]
    fn pop(&mut self) {
        self.sent.pop_front();
        self.first_serial += 1;
        if let Some(&front) = self.sent.front() {
            self.front = front;
        }
    }

    /// The packet under way that was sent first. Exact after [`Flight::prune`], else one that no longer matters.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<UnderWay> {
        let front = self.front;
        let under_way = UnderWay {
            sequence: front.sequence(),
            at: front.at,
            serial: self.first_serial,
            entropy: front.packet as u16,
        };
        (!self.sent.is_empty()).then_some(under_way)
    }

    /// The numbers that chose the paths of transmissions that were lost since they were last taken.
    pub(crate) fn lost_paths(&mut self) -> Option<&mut Vec<u16>> {
        self.repairs.as_mut().map(|repairs| &mut repairs.lost_paths)
    }

    /// The number that chose the path of the packet under way that was sent first.
    pub(crate) fn oldest_entropy(&mut self) -> Option<u16> {
        self.prune();
        self.oldest().map(|oldest| oldest.entropy)
    }

    /// The oldest transmission matters no more: whatever becomes of its packet, no time-out tells.
    pub(crate) fn forget_oldest(&mut self) {
        if !self.sent.is_empty() {
            self.pop();
        }
        self.prune();
    }

    /// Takes every packet for lost whose last transmission has a serial below `limit`; packets and bytes.
    pub(crate) fn lose_before(&mut self, limit: u64, messages: &Messages) -> (u32, u64) {
        let (mut packets, mut bytes) = (0, 0);
        while self.first_serial < limit && !self.sent.is_empty() {
            let front = self.front;
            if self.matters(self.first_serial, &front) {
                packets += 1;
                bytes += self.lose(front.sequence(), messages);
            }
            self.pop();
        }
        self.prune();
        (packets, bytes)
    }

    /// The lowest open packet from `from` on that is not taken for lost.
    pub(crate) fn next_open(&self, from: u64) -> Option<u64> {
        let mut at = from.max(self.base);
        while at < self.next {
            at = self.arrived.next_clear(at);
            if at >= self.next {
                return None;
            }
            if !self.is_lost(at) {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// The same of those of which nothing was heard: trimmed ones were sent again when their headers came.
    pub(crate) fn next_silent(&self, from: u64) -> Option<u64> {
        let is_trimmed = |at: u64| self.repairs.as_ref().is_some_and(|repairs| repairs.trimmed.get(at));
        let mut open = self.next_open(from)?;
        while is_trimmed(open) {
            open = self.next_open(open + 1)?;
        }
        Some(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_arrived_without_a_name_is_not_under_way_beyond_any_count() {
        let count = u32::MAX - 99;
        let mut flight =
            Flight { in_flight_bytes: 1000, arrived_bytes: count, heard_bytes: count, ..Flight::default() };
        let mut after = |received_bytes| {
            flight.hear(received_bytes);
            flight.account().in_flight_bytes
        };
        assert_eq!(after(0), 1000, "nothing is told");
        assert_eq!(after((1 << 32) + 400), 500);
        assert_eq!(after((1 << 32) - 50), 500, "an older one came later");
        assert_eq!(after((1 << 32) + 5000), 0);
    }
}
