//! What a port does at the moment, and what waits there first.

use super::port::{Beyond, NOTHING, Waiting};

/// A packet in service whose marks are made, and which may be anywhere by now.
pub(super) const MARKED: u32 = NOTHING - 1;

/// The service of a port: all that a hop needs to know of it, where it is neither asked to wait nor shares its buffer.
///
/// Large machines have more ports than a core's cache holds, and each hop looks at another one: so it is one cache line.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Service {
    /// When the link is free.
    pub(super) busy_until: u64,
    /// Bytes that have gone onto the link.
    pub(super) sent_bytes: u64,
    /// Packets without payload.
    pub(super) high: Waiting,
    /// Packets with payload, of the first class.
    pub(super) line: Waiting,
    /// The packet in service, or the last one that was; [`NOTHING`], [`MARKED`]. Where it has arrived, its number may be that of
    /// another packet by now.
    pub(super) current: u32,
    /// Bytes of the packet in service where it is data, and its class above them.
    in_service: u32,
    /// Most bytes of data of a class, that in service included, as far as the word goes.
    pub(super) most_bytes: u32,
    /// Which kind of port it is, and signs above that.
    kind: u32,
}

/// Bits of a word below those that say something else.
const BITS: u32 = 24;
const LOWER: u32 = (1 << BITS) - 1;

impl Service {
    /// Kinds of ports, and bytes of packets, are below this.
    pub(super) const MOST: u32 = 1 << BITS;

    /// Something waits for the moment at which it is free: an event, or with [`Self::CHAINED`] what is here.
    const NOTED: u32 = 1 << BITS;
    /// The end of its services needs no event (see `chain`).
    const CHAINED: u32 = 2 << BITS;
    /// It belongs to a network interface of a host.
    const HOST: u32 = 4 << BITS;
    /// What is at the other end.
    const BEYOND: u32 = BITS + 3;

    /// Of a port at which nothing has happened.
    pub(super) const fn new(kind: u32, beyond: Beyond, is_host: bool) -> Self {
        let host = if is_host { Self::HOST } else { 0 };
        Self {
            busy_until: 0,
            sent_bytes: 0,
            high: Waiting::EMPTY,
            line: Waiting::EMPTY,
            current: NOTHING,
            in_service: 0,
            most_bytes: 0,
            kind: kind & LOWER | host | (beyond as u32) << Self::BEYOND,
        }
    }

    /// The number of its kind.
    #[inline]
    pub(super) const fn kind(&self) -> usize {
        (self.kind & LOWER) as usize
    }

    /// What is at the other end.
    #[inline]
    pub(super) const fn beyond(&self) -> Beyond {
        match self.kind >> Self::BEYOND & 3 {
            0 => Beyond::Node,
            1 => Beyond::Header,
            2 => Beyond::Part,
            _ => Beyond::Host,
        }
    }

    /// Whether something waits for the moment at which it is free.
    #[inline]
    pub(super) const fn is_noted(&self) -> bool {
        self.kind & Self::NOTED != 0
    }

    #[inline]
    pub(super) const fn set_noted(&mut self, noted: bool) {
        self.kind = self.kind & !Self::NOTED | if noted { Self::NOTED } else { 0 };
    }

    /// Whether the end of its services needs no event.
    #[inline]
    pub(super) const fn is_chained(&self) -> bool {
        self.kind & Self::CHAINED != 0
    }

    /// Whether the end of its services needs no event, and nothing else is to be done for what is at the other end.
    #[inline]
    pub(super) const fn is_plain(&self) -> bool {
        const ALL: u32 = Service::CHAINED | 3 << Service::BEYOND;
        self.kind & ALL == Self::CHAINED | (Beyond::Node as u32) << Self::BEYOND
    }

    pub(super) const fn set_chained(&mut self, chained: bool) {
        self.kind = self.kind & !Self::CHAINED | if chained { Self::CHAINED } else { 0 };
    }

    /// Whether it belongs to a network interface of a host.
    #[inline]
    pub(super) const fn is_of_host(&self) -> bool {
        self.kind & Self::HOST != 0
    }

    /// A packet of `bytes`, so many of them data, goes onto the link until `end`.
    #[inline]
    pub(super) fn begin(&mut self, packet: u32, end: u64, (bytes, data_bytes): (u32, u32), class: u8) {
        debug_assert!(data_bytes < Self::MOST, "packets are checked before");
        self.busy_until = end;
        self.sent_bytes += u64::from(bytes);
        self.current = packet;
        self.in_service = data_bytes | u32::from(class) << BITS;
    }

    /// Bytes of the packet in service where it is data; they count until it has left.
    #[inline]
    pub(super) const fn data_bytes(&self) -> u32 {
        self.in_service & LOWER
    }

    /// Its class.
    #[inline]
    pub(super) const fn class(&self) -> u8 {
        (self.in_service >> BITS) as u8
    }

    /// Bytes of data in service at `now`.
    #[inline]
    pub(super) const fn busy_with(&self, now: u64) -> u64 {
        if now < self.busy_until { self.data_bytes() as u64 } else { 0 }
    }

    /// The same, where it is of `class`.
    #[inline]
    pub(super) const fn busy_with_class(&self, class: u8, now: u64) -> u64 {
        if self.class() == class { self.busy_with(now) } else { 0 }
    }

    /// Whether something waits that goes onto the link before `until`, and needs no event for it.
    #[inline]
    pub(super) const fn goes_on_before(&self, until: u64) -> bool {
        const BOTH: u32 = Service::CHAINED | Service::NOTED;
        self.kind & BOTH == BOTH && self.busy_until < until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_hop_needs_is_one_line_and_words_keep_what_they_are_told() {
        assert_eq!(size_of::<Service>(), 64);
        for beyond in [Beyond::Node, Beyond::Header, Beyond::Part, Beyond::Host] {
            for is_host in [false, true] {
                let mut service = Service::new(Service::MOST - 1, beyond, is_host);
                for (noted, chained) in [(false, true), (true, true), (true, false), (false, false)] {
                    service.set_noted(noted);
                    service.set_chained(chained);
                    assert_eq!((service.is_noted(), service.is_chained()), (noted, chained));
                    assert_eq!(service.goes_on_before(1), noted && chained);
                    assert_eq!(service.is_plain(), chained && beyond == Beyond::Node);
                    let same = (service.kind(), service.beyond(), service.is_of_host());
                    assert_eq!(same, (Service::MOST as usize - 1, beyond, is_host));
                }
                service.begin(7, 10, (9, Service::MOST - 1), 7);
                assert_eq!((service.data_bytes(), service.class()), (Service::MOST - 1, 7));
                assert_eq!((service.busy_with(9), service.busy_with(10)), (u64::from(Service::MOST) - 1, 0));
                assert_eq!([6, 7].map(|class| service.busy_with_class(class, 9)), [0, service.busy_with(9)]);
            }
        }
    }
}
