//! The packets under way: what is read at the ends, and what routing remembers.

use stratasim_core::memory::prefer_huge_pages;

use super::flit::Flit;
use crate::flit::keys;
use crate::flit::terminals::Offer;

/// What is read and written at the ends, two to a cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Cold {
    pub(super) created: u64,
    pub(super) tag: u64,
    pub(super) source: u32,
    /// The destination, the range of virtual channels and whether it is measured.
    aim: u32,
    /// Its number among those of its source, modulo 2^32: draws depend on it.
    pub(super) number: u32,
    /// When its head had entered, modulo 2^32.
    pub(super) entered: u32,
}

/// Room for so many packets of each terminal is there from the start, up to a number of them all. What is not touched takes no
/// memory, and a network that carries its load never moves its packets to a larger place, where they would lie twice for a while.
const PER_TERMINAL: usize = 64;
const MOST_AT_FIRST: usize = 1 << 20;

const RANGE: u32 = Flit::TERMINALS.trailing_zeros();
const MEASURED: u32 = 31;

impl Cold {
    /// Packet `number` of `source`, which has not entered.
    #[inline(always)]
    pub(super) fn new(source: u32, number: u32, offer: &Offer) -> Self {
        let aim = offer.dest | u32::from(offer.range) << RANGE | u32::from(offer.measured) << MEASURED;
        Self { created: offer.created, tag: offer.tag, source, aim, number, entered: 0 }
    }

    /// The same, entering in cycle `now`.
    #[inline(always)]
    pub(super) fn entering(self, now: u64) -> Self {
        Self { entered: now as u32, ..self }
    }

    pub(super) fn dest(&self) -> u32 {
        self.aim & (Flit::TERMINALS as u32 - 1)
    }

    #[inline(always)]
    pub(super) fn range(&self) -> usize {
        (self.aim >> RANGE & u32::from(u8::MAX)) as usize
    }

    #[inline(always)]
    pub(super) fn is_measured(&self) -> bool {
        self.aim >> MEASURED != 0
    }

    /// What its draws depend on.
    #[inline(always)]
    pub(super) fn salt(&self, seed: u64) -> u64 {
        keys::salt(seed, self.source, self.number.into())
    }
}

/// How much of a packet of several flits has arrived. Cycles are modulo 2^32.
#[derive(Debug, Clone, Copy)]
pub(super) struct Long {
    pub(super) flits: u16,
    /// Routers that its head went through.
    pub(super) hops: u16,
    pub(super) head_arrived: u32,
}

impl Long {
    /// A packet of so many flits, none of which has arrived.
    pub(super) fn new(flits: u16) -> Self {
        Self { flits, hops: 0, head_arrived: 0 }
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
    /// Empty while all packets have one flit.
    pub(super) long: Vec<Long>,
    free: Vec<u32>,
}

impl Packets {
    /// No packets yet of so many terminals; whether routing `remembers` anything in them.
    pub(super) fn new(remembers: bool, terminals: usize) -> Self {
        let cold = Vec::with_capacity((PER_TERMINAL * terminals).min(MOST_AT_FIRST));
        Self { memory: Vec::new(), remembers, cold, long: Vec::new(), free: Vec::new() }
    }

    /// Puts a packet in; its number.
    #[inline]
    pub(super) fn insert(&mut self, memory: u64, flits: u16, cold: Cold) -> u32 {
        let id = match self.free.pop() {
            Some(id) => id,
            None => self.grow(),
        };
        self.cold[id as usize] = cold;
        if self.remembers {
            self.memory[id as usize] = memory;
        }
        if flits > 1 || !self.long.is_empty() {
            self.insert_long(id, flits);
        }
        id
    }

    /// Packets of several flits are there.
    fn insert_long(&mut self, id: u32, flits: u16) {
        if self.long.len() < self.cold.len() {
            // those before had one flit each
            self.long.resize(self.cold.len(), Long::new(1));
        }
        self.long[id as usize] = Long::new(flits);
    }

    /// Flits of a packet.
    #[inline(always)]
    pub(super) fn flits(&self, id: usize) -> u16 {
        self.long.get(id).map_or(1, |long| long.flits)
    }

    /// A new place. Memory grows by a quarter: all of it counts, and that of a large network is large.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        let id = self.cold.len();
        if id == self.cold.capacity() {
            let more = (id / 4).max(1024);
            self.cold.reserve_exact(more);
            prefer_huge_pages(&self.cold);
        }
        self.cold.push(Cold::default());
        if self.remembers {
            self.memory.push(0);
        }
        id as u32
    }

    /// Forgets a packet.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        self.free.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_keeps_all_of_its_offer() {
        for dest in [0, 5, Flit::TERMINALS as u32 - 1] {
            for range in [0, 3, u8::MAX] {
                for measured in [false, true] {
                    let offer = Offer {
                        dest,
                        flits: 1,
                        range,
                        priority: 0,
                        created: 1 << 40,
                        waited: true,
                        tag: u64::MAX,
                        measured,
                    };
                    let cold = Cold::new(7, 8, &offer);
                    assert_eq!((cold.dest(), cold.range()), (dest, range.into()));
                    assert_eq!((cold.is_measured(), cold.created, cold.tag), (measured, 1 << 40, u64::MAX));
                    assert_eq!((cold.source, cold.number), (7, 8));
                }
            }
        }
        assert_eq!(size_of::<Cold>(), 32);
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
        let offer = Offer {
            dest: 1,
            flits: 1,
            range: 0,
            priority: 0,
            created: 0,
            waited: true,
            tag: 0,
            measured: false,
        };
        let mut packets = Packets::new(true, 7);
        let cold = Cold::new(0, 0, &offer);
        let ids: Vec<u32> = (0..3000).map(|memory| packets.insert(memory, 1, cold)).collect();
        assert!(packets.long.is_empty() && ids.iter().copied().eq(0..3000));
        let long = packets.insert(3000, 9, cold);
        packets.remove(17);
        assert_eq!(packets.insert(4000, 2, cold), 17);
        let flits = |id| packets.flits(id as usize);
        assert_eq!((flits(16), flits(17), flits(long)), (1, 2, 9));
        assert_eq!((packets.memory[16], packets.memory[17], packets.memory[3000]), (16, 4000, 3000));
    }
}
