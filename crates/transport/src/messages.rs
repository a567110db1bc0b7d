//! Messages of a connection, cut into packets.

use std::collections::VecDeque;
use std::ops::Range;

use crate::profile::PacketSizes;

/// Consecutive packets of one message; all but the last are full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Message {
    first: u64,
    end: u64,
    /// Payload of the last packet.
    last_bytes: u16,
}

/// The packets that an application has posted, and how large each is. Its fields stand in this order: the last is seldom
/// needed.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Messages {
    sizes: PacketSizes,
    /// The newest message: the only one for most connections.
    newest: Message,
    /// Older ones that are not acknowledged, in order.
    older: VecDeque<Message>,
}

impl Messages {
    /// No messages.
    pub(crate) const fn new(sizes: PacketSizes) -> Self {
        Self { sizes, newest: Message { first: 0, end: 0, last_bytes: 0 }, older: VecDeque::new() }
    }

    /// Cuts a message of `bytes` into packets; a message of no bytes is one packet of one byte.
    pub(crate) fn post(&mut self, bytes: u64) -> Range<u64> {
        let full = u64::from(self.sizes.payload_bytes);
        let packets = bytes.div_ceil(full).max(1);
        if self.newest.end > self.newest.first {
            self.older.push_back(self.newest);
        }
        let first = self.newest.end;
        let last = if self.sizes.full_packets { full } else { bytes.max(1) - (packets - 1) * full };
        let end = first.saturating_add(packets);
        self.newest = Message { first, end, last_bytes: last as u16 };
        first..end
    }

    /// Past the last packet posted.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.newest.end
    }

    /// Sizes of packets.
    #[inline]
    pub const fn sizes(&self) -> &PacketSizes {
        &self.sizes
    }

    #[inline]
    fn of(&self, packet: u64) -> &Message {
        if packet >= self.newest.first || self.older.is_empty() {
            return &self.newest;
        }
        let index = self.older.partition_point(|message| message.end <= packet);
        self.older.get(index).unwrap_or(&self.newest)
    }

    /// Payload of a posted packet, bytes.
    #[inline]
    pub fn payload_bytes(&self, packet: u64) -> u16 {
        let message = self.of(packet);
        if packet + 1 == message.end { message.last_bytes } else { self.sizes.payload_bytes as u16 }
    }

    /// Whether a posted packet is the last of its message.
    #[inline]
    pub fn is_last(&self, packet: u64) -> bool {
        packet + 1 == self.of(packet).end
    }

    /// A posted packet as windows count it, bytes.
    #[inline]
    pub fn accounted_bytes(&self, packet: u64) -> u64 {
        self.sizes.accounted(u64::from(self.payload_bytes(packet)))
    }

    /// Packets of a range as windows count them, bytes.
    pub fn accounted_range(&self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let full = self.sizes.packet_bytes();
        let mut bytes = (range.end - range.start) * full;
        for message in self.older.iter().chain([&self.newest]) {
            if message.end > range.start && message.end <= range.end {
                bytes -= full - self.sizes.accounted(u64::from(message.last_bytes));
            }
        }
        bytes
    }

    /// Forgets messages of which every packet is below `cumulative`.
    #[inline]
    pub(crate) fn forget(&mut self, cumulative: u64) {
        // older ones end where the newest begins; the list is not looked at where there is only one
        while self.newest.first > 0 && self.older.front().is_some_and(|it| it.end <= cumulative) {
            self.older.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packets_of_messages_add_up(posts in prop::collection::vec(0_u64..20_000, 1..20), full in any::<bool>()) {
            let sizes = PacketSizes { payload_bytes: 1000, full_packets: full, ..PacketSizes::default() };
            let mut messages = Messages::new(sizes);
            let mut expected = Vec::new();
            for &bytes in &posts {
                let range = messages.post(bytes);
                prop_assert_eq!(range.start, expected.len() as u64);
                let mut rest = bytes.max(1);
                while rest > 0 {
                    let size = rest.min(1000);
                    rest -= size;
                    expected.push((if full { 1000 } else { size }, rest == 0));
                }
                prop_assert_eq!(range.end, expected.len() as u64);
            }
            for (packet, &(size, last)) in expected.iter().enumerate() {
                prop_assert_eq!(u64::from(messages.payload_bytes(packet as u64)), size);
                prop_assert_eq!(messages.is_last(packet as u64), last);
            }
            let half = expected.len() / 2;
            let sum: u64 = expected[half..].iter().map(|(size, _)| size + 64).sum();
            prop_assert_eq!(messages.accounted_range(half as u64..expected.len() as u64), sum);
            messages.forget(half as u64);
            prop_assert_eq!(messages.accounted_range(half as u64..expected.len() as u64), sum);
        }
    }
}
