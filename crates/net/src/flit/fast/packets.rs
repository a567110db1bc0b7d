//! The packets under way: what is read at the ends, and what routing remembers.

use rustc_hash::FxHashMap;
use stratasim_core::memory::{prefer_huge_pages, prefetch_at};

use super::flit::Flit;
use crate::flit::keys;
use crate::flit::terminals::{MOST_WAIT, Offer};

/// What is read and written at the ends, four to a cache line. Cycles are modulo 2^32.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(16))]
pub(super) struct Cold {
    created: u32,
    /// When its head had entered.
    pub(super) entered: u32,
    /// Of a place without a packet: the next one.
    pub(super) tag: u32,
    /// The source, the range of virtual channels and whether it is measured.
    origin: u32,
}

/// Room for so many packets of each terminal is there from the start, up to a number of them all. What is not touched takes no
/// memory, and a network that carries its load never moves its packets to a larger place, where they would lie twice for a while.
const PER_TERMINAL: usize = 40;
const MOST_AT_FIRST: usize = 1 << 20;

const RANGE: u32 = Flit::TERMINALS.trailing_zeros();
const MEASURED: u32 = 31;

impl Cold {
    /// A packet of `source` that comes to its front in cycle `now`.
    #[inline(always)]
    pub(super) fn new(source: u32, offer: &Offer, now: u64) -> Self {
        let origin = source | u32::from(offer.range) << RANGE | u32::from(offer.measured) << MEASURED;
        let created = offer.created.max(now.saturating_sub(MOST_WAIT));
        Self { created: created as u32, entered: now as u32, tag: offer.tag, origin }
    }

    /// A place without a packet, before another one.
    #[inline(always)]
    fn free(next: u32) -> Self {
        Self { tag: next, ..Self::default() }
    }

    pub(super) fn source(&self) -> u32 {
        self.origin & (Flit::TERMINALS as u32 - 1)
    }

    /// The cycle in which it came into being, where it is in the network in cycle `now`.
    #[inline(always)]
    pub(super) fn created(&self, now: u64) -> u64 {
        cycle_of(self.created, now)
    }

    #[inline(always)]
    pub(super) fn range(&self) -> usize {
        (self.origin >> RANGE & u32::from(u8::MAX)) as usize
    }

    #[inline(always)]
    pub(super) fn is_measured(&self) -> bool {
        self.origin >> MEASURED != 0
    }
}

/// What is known of a packet beside, and kept where it is needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    /// What routing remembers.
    pub(super) memory: u64,
    /// What its draws begin with; 0 where routing draws nothing under way.
    pub(super) salt: u64,
    pub(super) dest: u32,
    pub(super) flits: u16,
    /// How often the count of its routers has begun anew.
    pub(super) rounds: u16,
}

/// How much of a packet of several flits has arrived. Cycles are modulo 2^32.
#[derive(Debug, Clone, Copy)]
pub(super) struct Long {
    dest: u32,
    pub(super) flits: u16,
    /// Routers that its head went through.
    pub(super) hops: u16,
    pub(super) head_arrived: u32,
}

impl Long {
    /// A packet of so many flits, none of which has arrived.
    fn new(flits: u16, dest: u32) -> Self {
        Self { dest, flits, hops: 0, head_arrived: 0 }
    }
}

/// The last cycle until `now` that `low` is modulo 2^32. Nothing is under way for longer than that: a network
/// in which nothing moves is given up much sooner.
#[inline(always)]
pub(super) fn cycle_of(low: u32, now: u64) -> u64 {
    now - u64::from((now as u32).wrapping_sub(low))
}

/// Columns over packets; places are used again, the last one first.
#[derive(Debug)]
pub(super) struct Packets {
    /// Larger memory of routing functions; only of those that have one.
    pub(super) memory: Vec<u64>,
    remembers: bool,
    pub(super) cold: Vec<Cold>,
    /// What draws begin with; only where routing draws.
    salts: Vec<u64>,
    draws: bool,
    /// Empty while all packets have one flit.
    pub(super) long: Vec<Long>,
    /// How often the count of routers in a head has begun anew, of those few that go so far.
    rounds: FxHashMap<u32, u16>,
    /// A place without a packet; [`NOWHERE`] when there is none.
    free: u32,
}

/// No place.
const NOWHERE: u32 = u32::MAX;

impl Packets {
    /// No packets yet of so many terminals; whether routing `remembers` anything in them, and whether it draws.
    pub(super) fn new(remembers: bool, draws: bool, terminals: usize) -> Self {
        let room = (PER_TERMINAL * terminals).min(MOST_AT_FIRST);
        Self {
            memory: Vec::new(),
            remembers,
            cold: Vec::with_capacity(room),
            salts: Vec::with_capacity(if draws { room } else { 0 }),
            draws,
            long: Vec::new(),
            rounds: FxHashMap::default(),
            free: NOWHERE,
        }
    }

    /// Puts a packet in; its number.
    #[inline]
    pub(super) fn insert(&mut self, cold: Cold, rest: Rest) -> u32 {
        if self.free == NOWHERE {
            self.grow();
        }
        let id = self.free;
        self.free = self.cold[id as usize].tag;
        self.put(id, cold, rest);
        id
    }

    /// Puts a packet in at a place that another one has left.
    #[inline(always)]
    pub(super) fn put(&mut self, id: u32, cold: Cold, rest: Rest) {
        self.cold[id as usize] = cold;
        if self.draws {
            self.salts[id as usize] = rest.salt;
        }
        if self.remembers {
            self.memory[id as usize] = rest.memory;
        }
        if rest.flits > 1 || !self.long.is_empty() {
            self.insert_long(id, rest);
        }
        if rest.rounds > 0 {
            self.rounds.insert(id, rest.rounds);
        }
    }

    /// A head has gone through so many routers that their count begins anew.
    #[cold]
    pub(super) fn go_round(&mut self, id: usize) {
        *self.rounds.entry(id as u32).or_insert(0) += 1;
    }

    /// Whether all packets have one flit, which knows all that is asked of it.
    #[inline(always)]
    pub(super) fn are_plain(&self) -> bool {
        self.long.is_empty() && self.rounds.is_empty()
    }

    /// Routers that a head went through.
    #[inline(always)]
    pub(super) fn hops(&self, flit: Flit) -> u16 {
        flit.hops() + Flit::ROUND * self.rounds_of(flit.packet())
    }

    #[inline(always)]
    fn rounds_of(&self, id: usize) -> u16 {
        if self.rounds.is_empty() { 0 } else { self.rounds.get(&(id as u32)).copied().unwrap_or(0) }
    }

    /// Packets of several flits are there.
    fn insert_long(&mut self, id: u32, rest: Rest) {
        if self.long.len() < self.cold.len() {
            // those before had one flit each, which knows its destination
            self.long.resize(self.cold.len(), Long::new(1, 0));
        }
        self.long[id as usize] = Long::new(rest.flits, rest.dest);
    }

    /// What is known beside of packet `id`, whose first flit is `head`.
    pub(super) fn rest(&self, head: Flit) -> Rest {
        let id = head.packet();
        Rest {
            memory: self.memory.get(id).copied().unwrap_or(0),
            salt: self.salt(id),
            dest: head.dest(),
            flits: self.flits(head),
            rounds: self.rounds_of(id),
        }
    }

    /// What the draws of packet `number` of `source` begin with, where there are any.
    #[inline(always)]
    pub(super) fn salt_of(&self, seed: u64, source: u32, number: u32) -> u64 {
        if self.draws { keys::salt(seed, source, number.into()) } else { 0 }
    }

    /// What the draws of a packet begin with, where there are any.
    #[inline(always)]
    pub(super) fn salt(&self, id: usize) -> u64 {
        self.salts.get(id).copied().unwrap_or(0)
    }

    /// Asks for what draws of a packet begin with.
    #[inline(always)]
    pub(super) fn ask_for_salt(&self, id: usize) {
        if self.draws {
            prefetch_at(&self.salts, id);
        }
    }

    /// Asks for what is read at the ends.
    #[inline(always)]
    pub(super) fn ask_for(&self, id: usize) {
        prefetch_at(&self.cold, id);
    }

    /// Flits of the packet of a flit.
    pub(super) fn flits(&self, flit: Flit) -> u16 {
        self.long.get(flit.packet()).map_or(1, |long| long.flits)
    }

    /// Where the packet of a flit goes.
    pub(super) fn dest(&self, flit: Flit) -> u32 {
        if flit.is_head() { flit.dest() } else { self.long[flit.packet()].dest }
    }

    /// A new place. Memory grows by a quarter: all of it counts, and that of a large network is large.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let id = self.cold.len();
        if id == self.cold.capacity() {
            let more = (id / 4).max(1024);
            self.cold.reserve_exact(more);
            prefer_huge_pages(&self.cold);
        }
        self.cold.push(Cold::free(self.free));
        self.free = id as u32;
        if self.draws {
            self.salts.push(0);
        }
        if self.remembers {
            self.memory.push(0);
        }
    }

    /// Forgets a packet.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        self.give_back(id);
        self.leave(id);
    }

    /// A packet leaves its place, which is to be [given back](Packets::give_back) or [taken](Packets::put).
    #[inline]
    pub(super) fn leave(&mut self, id: u32) {
        if !self.rounds.is_empty() {
            self.rounds.remove(&id);
        }
    }

    /// Takes a packet of one flit out, for which nothing else is known; what is read at the ends.
    #[inline(always)]
    pub(super) fn take_plain(&mut self, id: u32) -> Cold {
        let cold = std::mem::replace(&mut self.cold[id as usize], Cold::free(self.free));
        self.free = id;
        cold
    }

    /// Nobody is at a place.
    #[inline]
    pub(super) fn give_back(&mut self, id: u32) {
        self.cold[id as usize].tag = self.free;
        self.free = id;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: Offer =
        Offer { dest: 1, flits: 1, range: 0, priority: 0, created: 0, waited: true, tag: 0, measured: false };

    #[test]
    fn a_packet_keeps_what_the_ends_need() {
        for source in [0, 5, Flit::TERMINALS as u32 - 1] {
            for range in [0, 3, u8::MAX] {
                for measured in [false, true] {
                    let offer = Offer { range, created: 1 << 40, tag: u32::MAX, measured, ..OFFER };
                    let cold = Cold::new(source, &offer, (1 << 40) + 7);
                    assert_eq!((cold.source(), cold.range()), (source, range.into()));
                    assert_eq!((cold.is_measured(), cold.tag), (measured, u32::MAX));
                    assert_eq!(cold.created((1 << 40) + 1000), 1 << 40);
                }
            }
        }
        let cold = Cold::new(0, &OFFER, MOST_WAIT + 500);
        assert_eq!(cold.created(MOST_WAIT + 600), 500, "it waited for longer than can be told");
        assert_eq!(size_of::<Cold>(), 16);
    }

    #[test]
    fn a_cycle_is_known_from_its_lower_half() {
        for now in [0, 17, u64::from(u32::MAX), 1 << 32, (7 << 32) + 3] {
            for ago in [0, 1, 1000, u64::from(u32::MAX)] {
                if let Some(cycle) = now.checked_sub(ago) {
                    assert_eq!(cycle_of(cycle as u32, now), cycle);
                }
            }
        }
    }

    #[test]
    fn packets_of_one_flit_need_no_more_until_a_longer_one_comes() {
        let mut packets = Packets::new(true, true, 7);
        let cold = Cold::new(0, &OFFER, 0);
        let rest = |memory, flits| Rest { memory, salt: 2 * memory, dest: 5, flits, rounds: 0 };
        let ids: Vec<u32> = (0..3000).map(|memory| packets.insert(cold, rest(memory, 1))).collect();
        assert!(packets.long.is_empty() && ids.iter().copied().eq(0..3000));
        let long = packets.insert(cold, rest(3000, 9));
        packets.remove(17);
        packets.remove(18);
        assert_eq!(packets.insert(cold, rest(4000, 2)), 18, "the last place that was left");
        assert_eq!(packets.insert(cold, rest(5000, 1)), 17);
        let flits = |id| packets.rest(Flit::head(id, 5, 0)).flits;
        assert_eq!((flits(16), flits(17), flits(18), flits(long)), (1, 1, 2, 9));
        assert_eq!((packets.memory[16], packets.memory[18], packets.memory[3000]), (16, 4000, 3000));
        assert_eq!((packets.salt(16), packets.salt(18), packets.salt(3000)), (32, 8000, 6000));
        assert_eq!(packets.dest(Flit::body(18, 0)), 5);
    }
}
