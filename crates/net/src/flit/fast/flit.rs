//! A flit in one word.

/// A flit: number of the packet, whether it is the first or the last of its packet; of first ones what
/// routing needs, of the others when they had entered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flit(pub(super) u64);

/// Bits of the packet's number.
const PACKET_BITS: u32 = 26;
const HEAD: u64 = 1 << 26;
const TAIL: u64 = 1 << 27;
/// Of heads: eight bits of routing's memory, eight of routers so far, and the destination.
const MEMORY: u32 = 28;
const HOPS: u32 = 36;
const DEST: u32 = 44;
/// Of the others: the cycle in which they had entered, modulo 2^32.
const ENTERED: u32 = 28;

impl Flit {
    /// Packets that can be under way.
    pub(super) const PACKETS: usize = 1 << PACKET_BITS;
    /// Terminals that it can name.
    pub(super) const TERMINALS: usize = 1 << (64 - DEST);
    /// Routers after which their count begins anew.
    pub(super) const ROUND: u16 = 1 << 8;
    /// Bits of routing's memory.
    pub(super) const MEMORY_BITS: u32 = 8;

    /// The first flit of packet `id`.
    pub(super) fn head(id: u32, dest: u32, memory: u64) -> Self {
        Self(u64::from(id) | HEAD | (memory & 0xff) << MEMORY | u64::from(dest) << DEST)
    }

    /// Another flit of packet `id`, which enters in cycle `now`.
    pub(super) fn body(id: u32, now: u32) -> Self {
        Self(u64::from(id) | u64::from(now) << ENTERED)
    }

    /// The same, as the last one of its packet.
    pub(super) fn last(self, last: bool) -> Self {
        Self(if last { self.0 | TAIL } else { self.0 })
    }

    /// The packet.
    #[inline(always)]
    pub(super) fn packet(self) -> usize {
        (self.0 & ((1 << PACKET_BITS) - 1)) as usize
    }

    /// The same flit of a packet with another number.
    pub(super) fn with_packet(self, id: u32) -> Self {
        Self(self.0 & !((1 << PACKET_BITS) - 1) | u64::from(id))
    }

    #[inline(always)]
    pub(super) fn is_head(self) -> bool {
        self.0 & HEAD != 0
    }

    #[inline(always)]
    pub(super) fn is_tail(self) -> bool {
        self.0 & TAIL != 0
    }

    /// Where the packet goes.
    #[inline(always)]
    pub(super) fn dest(self) -> u32 {
        (self.0 >> DEST) as u32
    }

    /// Routers that it went through, modulo [`Flit::ROUND`].
    pub(super) fn hops(self) -> u16 {
        (self.0 >> HOPS) as u16 & 0xff
    }

    /// Routing's memory.
    #[inline(always)]
    pub(super) fn memory(self) -> u8 {
        (self.0 >> MEMORY) as u8
    }

    /// The same flit one router further, with `memory`.
    #[inline(always)]
    pub(super) fn hop(self, memory: u64) -> Self {
        let hops = u64::from(self.hops() + 1) % u64::from(Self::ROUND);
        Self(self.0 & !(0xff << MEMORY | 0xff << HOPS) | (memory & 0xff) << MEMORY | hops << HOPS)
    }

    /// The same where ways have at most 255 routers.
    #[inline(always)]
    pub(super) fn short_hop(self, memory: u8) -> Self {
        Self((self.0 & !(0xff << MEMORY)) + (u64::from(memory) << MEMORY | 1 << HOPS))
    }

    /// When it had entered, modulo 2^32; not of heads.
    #[inline(always)]
    pub(super) fn entered(self) -> u32 {
        (self.0 >> ENTERED) as u32
    }
}
