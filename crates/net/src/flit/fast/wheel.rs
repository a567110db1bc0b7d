//! What arrives in the cycles to come: flits and credits, by cycle and block.

use std::ops::Range;

use super::flit::Flit;
use super::link::{Links, Short};

/// Routers that are served together: their state stays in the nearest caches while their lists are gone
/// through, and the lists are long enough that loops over them cost nothing.
pub(super) const BLOCK: usize = 64;

/// A calendar of as many cycles as anything can be on its way. Channels have numbers in their block: router x N + channel.
/// Terminals are the ports of blocks of their own, so that whoever sends does not look what is at the other end.
#[derive(Debug)]
pub(super) struct Wheel {
    /// The number of cycles less one.
    mask: usize,
    /// Blocks of routers, and those of terminals behind them.
    blocks: usize,
    /// log2 of the lists of a cycle.
    bits: u32,
    /// Flits and the input channels that get them, by cycle and block.
    pub(super) flits: Lists<Coming>,
    /// Output channels that get a credit, the same way.
    pub(super) credits: Lists<u16>,
}

/// A flit that comes to an input channel, in twelve bytes.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(4))]
pub(super) struct Coming {
    pub(super) flit: Flit,
    /// In four bytes, so that no bytes are copied that nobody has written: those would have to wait for the others.
    pub(super) number: u32,
}

/// The lists of some cycle, by class of delay from the present one on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slots([usize; Short::CLASSES]);

impl Slots {
    /// Where there is no list.
    const NOWHERE: usize = usize::MAX >> 1;

    /// The lists to which links of a class lead.
    #[inline(always)]
    pub(super) fn of(&self, class: usize) -> usize {
        self.0[class % Short::CLASSES]
    }
}

impl Wheel {
    /// A calendar for so many blocks of so many `ports` and at least `cycles` cycles ahead.
    pub(super) fn new(blocks: usize, ports: usize, cycles: u64) -> Self {
        let slots = (cycles + 1).next_power_of_two() as usize;
        let bits = blocks.next_power_of_two().trailing_zeros();
        let (lists, page) = (slots << bits, ports.next_power_of_two().trailing_zeros());
        Self {
            mask: slots - 1,
            blocks,
            bits,
            flits: Lists::new(lists, bits, page),
            credits: Lists::new(lists, bits, page),
        }
    }

    /// The lists of cycle `at`: that of a block is so many further.
    #[inline(always)]
    pub(super) fn slot(&self, at: u64) -> usize {
        (at as usize & self.mask) << self.bits
    }

    /// The lists to which `links` lead from cycle `now`.
    pub(super) fn slots(&self, links: &Links, now: u64) -> Slots {
        let mut slots = [Slots::NOWHERE; Short::CLASSES];
        for (slot, &delay) in slots.iter_mut().zip(links.delays()) {
            *slot = self.slot(now + u64::from(delay));
        }
        Slots(slots)
    }

    /// A flit for input channel `number` of a block in cycle `at`.
    #[inline(always)]
    pub(super) fn flit(&mut self, at: u64, block: usize, number: usize, flit: Flit) {
        let list = self.slot(at) + block;
        let known = self.flits.push(list, Coming { flit, number: number as u32 });
        debug_assert!(known, "a link leads to a block");
    }

    /// A credit for output channel `number` of a block in cycle `at`.
    #[inline(always)]
    pub(super) fn credit(&mut self, at: u64, block: usize, number: usize) {
        let list = self.slot(at) + block;
        let known = self.credits.push(list, number as u16);
        debug_assert!(known, "a link leads to a block");
    }

    /// The blocks from `64 * word` on at which something arrives in the cycle of `slot`.
    #[inline]
    pub(super) fn arrivals(&self, slot: usize, word: usize) -> u64 {
        self.flits.held(slot, word) | self.credits.held(slot, word)
    }

    /// Whether nothing arrives at a block in the cycle of `slot`.
    #[inline(always)]
    pub(super) fn is_quiet(&self, block: usize, slot: usize) -> bool {
        self.flits.is_empty(slot + block) && self.credits.is_empty(slot + block)
    }

    /// Blocks of routers and of terminals.
    #[inline(always)]
    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// The first cycle in `from ..` in which anything arrives; `None` when nothing is on its way.
    pub(super) fn next(&self, from: u64) -> Option<u64> {
        if self.flits.are_empty() && self.credits.are_empty() {
            return None;
        }
        let slots = self.mask as u64 + 1;
        (from..from + slots).find(|&at| {
            let cycle = at as usize & self.mask;
            self.flits.counts[cycle] != 0 || self.credits.counts[cycle] != 0
        })
    }
}

/// Puts those numbers of a range into an empty list of which `held` has a bit, word by word.
#[inline(always)]
pub(super) fn members(range: Range<usize>, held: impl Fn(usize) -> u64, out: &mut Vec<u32>) {
    for word in range.start / 64..range.end.div_ceil(64) {
        let mut left = held(word);
        while left != 0 {
            let number = word * 64 + left.trailing_zeros() as usize;
            left &= left - 1;
            if range.contains(&number) {
                out.push(number as u32);
            }
        }
    }
}

/// Lists in pages, one each, and most lists hold nothing, not even a page. Each port gets one item in a cycle at most, and where
/// links are long, few of them do: pages grow when one is full.
#[derive(Debug)]
pub(super) struct Lists<T> {
    /// log2 of the places of a page, and of those that are ever needed.
    bits: u32,
    most_bits: u32,
    /// The places of a page less one.
    mask: usize,
    /// The places of all pages.
    items: Vec<T>,
    /// Where the next item of each list goes; `NOTHING` of an empty one.
    ends: Vec<u32>,
    /// The lists that hold something, as a set, and how many they are by cycle: one has so many lists, as log2.
    held: Vec<u64>,
    counts: Vec<u32>,
    cycle_bits: u32,
    /// Beginnings of pages that have been gone through: the last one, which is still in the caches, is filled next.
    spare: Vec<u32>,
    /// Pages that have been in use.
    pages: usize,
}

/// The end of a list without a page.
const NOTHING: u32 = u32::MAX;

impl<T: Copy + Default> Lists<T> {
    /// log2 of the places that pages begin with, one for each router, where all lists would take more than so many bytes.
    const FIRST_BITS: u32 = BLOCK.trailing_zeros();
    const SMALL_BYTES: usize = 4 << 20;

    /// So many empty lists, 2^`cycle_bits` for each cycle, whose pages grow up to 2^`most_bits` places.
    fn new(lists: usize, cycle_bits: u32, most_bits: u32) -> Self {
        let is_small = lists.saturating_mul(size_of::<T>()) <= Self::SMALL_BYTES >> most_bits;
        let bits = if is_small { most_bits } else { most_bits.min(Self::FIRST_BITS) };
        Self {
            bits,
            most_bits,
            mask: (1 << bits) - 1,
            items: Vec::new(),
            ends: vec![NOTHING; lists],
            held: vec![0; lists.div_ceil(64)],
            counts: vec![0; lists.div_ceil(1 << cycle_bits)],
            cycle_bits,
            spare: Vec::new(),
            pages: 0,
        }
    }

    /// Appends to a list; false where there is none.
    #[inline(always)]
    #[must_use]
    pub(super) fn push(&mut self, list: usize, item: T) -> bool {
        let Some(end) = self.ends.get_mut(list) else { return false };
        let at = *end as usize;
        // the end of a full page is the beginning of another one
        if at & self.mask != 0
            && let Some(place) = self.items.get_mut(at)
        {
            *place = item;
            *end += 1;
        } else {
            // the item is not handed over: it would have to be in memory for that, each time
            *self.begin_page(list) = item;
        }
        true
    }

    /// The place of the first item of a list, or of the first one that has none on its page.
    #[cold]
    #[inline(never)]
    fn begin_page(&mut self, list: usize) -> &mut T {
        let at = match self.ends[list] {
            NOTHING => {
                self.held[list / 64] |= 1 << (list % 64);
                self.counts[list >> self.cycle_bits] += 1;
                self.spare.pop().map_or_else(|| self.new_page(), |start| start as usize)
            }
            _ => {
                self.double_pages();
                self.ends[list] as usize
            }
        };
        self.ends[list] = at as u32 + 1;
        &mut self.items[at]
    }

    /// Makes all pages twice as long.
    fn double_pages(&mut self) {
        assert!(self.bits < self.most_bits, "a port got two items in one cycle");
        let places = 1 << self.bits;
        let mut items = vec![T::default(); 2 * self.items.len()];
        for (page, held) in self.items.chunks_exact(places).take(self.pages).enumerate() {
            items[2 * places * page..][..places].copy_from_slice(held);
        }
        self.items = items;
        for end in self.ends.iter_mut().filter(|end| **end != NOTHING) {
            *end += (*end - 1) >> self.bits << self.bits;
        }
        for start in &mut self.spare {
            *start *= 2;
        }
        self.bits += 1;
        self.mask = (1 << self.bits) - 1;
    }

    /// A page that has not been in use.
    fn new_page(&mut self) -> usize {
        let start = self.pages << self.bits;
        self.pages += 1;
        if start == self.items.len() {
            // memory that is nothing but zero is there only from its first use on
            let mut items = vec![T::default(); (self.pages + self.pages / 2 + 8) << self.bits];
            items[..start].copy_from_slice(&self.items);
            self.items = items;
        }
        start
    }

    /// Which of the lists of a cycle, whose first is `slot`, hold something, from the `64 * word`th on.
    #[inline]
    pub(super) fn held(&self, slot: usize, word: usize) -> u64 {
        // a short cycle shares its word with others
        let own = u64::MAX >> (64 - (1_u32 << self.cycle_bits.min(6)));
        self.held.get(slot / 64 + word).map_or(0, |held| held >> (slot % 64) & own)
    }

    #[inline(always)]
    fn is_empty(&self, list: usize) -> bool {
        self.ends[list] == NOTHING
    }

    /// Whether all lists are.
    #[inline]
    fn are_empty(&self) -> bool {
        self.spare.len() == self.pages
    }

    /// Where the items of a list are.
    #[inline(always)]
    fn range(&self, list: usize) -> Range<usize> {
        match self.ends[list] {
            NOTHING => 0..0,
            end => (end as usize - 1) >> self.bits << self.bits..end as usize,
        }
    }

    /// The number of items of a list.
    #[inline(always)]
    pub(super) fn len(&self, list: usize) -> usize {
        self.range(list).len()
    }

    /// The number of lists.
    pub(super) fn lists(&self) -> usize {
        self.ends.len()
    }

    /// The number of items of all lists.
    pub(super) fn items(&self) -> usize {
        (0..self.lists()).map(|list| self.len(list)).sum()
    }

    /// Empties a list: all items, and which of them it had. They are to be [given back](Lists::give_back) before another one
    /// is pushed.
    #[inline(always)]
    pub(super) fn take(&mut self, list: usize) -> (Vec<T>, Range<usize>) {
        let range = self.range(list);
        if !range.is_empty() {
            self.spare.push(range.start as u32);
            self.ends[list] = NOTHING;
            self.held[list / 64] &= !(1 << (list % 64));
            self.counts[list >> self.cycle_bits] -= 1;
        }
        (std::mem::take(&mut self.items), range)
    }

    #[inline(always)]
    pub(super) fn give_back(&mut self, items: Vec<T>) {
        self.items = items;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lists_hold_what_was_pushed_whoever_had_their_pages() {
        let mut lists = Lists::<u64>::new(3, 0, 2);
        for round in 0..5 {
            for (list, item) in [(2, 1), (0, 2), (2, 3), (2, 4), (0, 5), (2, 6)] {
                assert!(lists.push(list, item + 10 * round));
            }
            assert!(lists.is_empty(1) && lists.len(0) == 2 && lists.len(2) == 4);
            for (list, wanted) in [(1, &[][..]), (2, &[1, 3, 4, 6]), (0, &[2, 5])] {
                let (items, range) = lists.take(list);
                assert!(items[range].iter().map(|item| item - 10 * round).eq(wanted.iter().copied()));
                lists.give_back(items);
                assert!(lists.is_empty(list) && lists.len(list) == 0);
            }
        }
        assert_eq!(lists.pages, 2, "pages are used again");
    }

    #[test]
    fn pages_grow_with_what_is_on_them() {
        let mut lists = Lists::<u16>::new(1 << 13, 3, 9);
        assert_eq!(lists.bits, 6);
        for round in 0..3 {
            let counts = [0, 30 << round, 1, 512];
            for number in 0..512 {
                for list in (0..4).filter(|&list| number < counts[list]) {
                    assert!(lists.push(list, number as u16 + list as u16));
                }
            }
            for (list, count) in counts.into_iter().enumerate() {
                let (items, range) = lists.take(list);
                assert!(items[range].iter().copied().eq((0..count).map(|number| (number + list) as u16)));
                lists.give_back(items);
            }
        }
        assert_eq!((lists.bits, lists.pages), (9, 3));
        assert!(lists.are_empty());
    }

    #[test]
    fn a_cycle_knows_its_blocks_with_arrivals() {
        for blocks in [1, 3, 64, 200] {
            let mut wheel = Wheel::new(blocks, 64, 5);
            assert_eq!(wheel.next(0), None);
            let last = blocks - 1;
            wheel.credit(9, last, 7);
            wheel.flit(13, last / 2, 3, Flit::default());
            wheel.flit(13, last, 3, Flit::default());
            assert_eq!((wheel.next(8), wheel.next(10)), (Some(9), Some(13)));
            let at = |wheel: &Wheel, cycle| -> Vec<usize> {
                let slot = wheel.slot(cycle);
                (0..blocks)
                    .filter(|block| wheel.arrivals(slot, block / 64) >> (block % 64) & 1 != 0)
                    .collect()
            };
            assert_eq!((at(&wheel, 9), at(&wheel, 12)), (vec![last], vec![]));
            assert!(at(&wheel, 13).into_iter().eq(BTreeSet::from([last / 2, last])));
            let list = wheel.slot(9) + last;
            let (items, _) = wheel.credits.take(list);
            wheel.credits.give_back(items);
            assert_eq!((at(&wheel, 9), wheel.next(8)), (vec![], Some(13)));
        }
    }

    #[test]
    fn what_is_there_stays_when_pages_are_added() {
        let mut lists = Lists::<u64>::new(100, 2, 1);
        assert!(!lists.push(100, 0));
        for list in 0..100 {
            assert!(lists.push(list, 7 * list as u64));
        }
        for list in 0..100 {
            let (items, range) = lists.take(list);
            assert_eq!(items[range], [7 * list as u64]);
            lists.give_back(items);
        }
    }
}
