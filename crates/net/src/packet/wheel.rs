//! The queue of events: a wheel of short slots for what is near, a heap for what is far.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots of the wheel; a power of two.
const SLOTS: usize = 4096;

const NOTHING: u32 = u32::MAX;

/// Some events of a slot, in the order in which they came: a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Block {
    /// Events that came before these, or the next free block.
    next: u32,
    count: u32,
    /// Picoseconds since the slot began, and the item.
    events: [(u32, u32); Self::MOST],
}

impl Block {
    const MOST: usize = 7;
}

/// An event of the present slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Present {
    /// Picoseconds since the slot began, and the rank in the lower half: what the order is by, in one word.
    key: u64,
    item: u32,
}

impl Present {
    #[inline]
    const fn new(offset: u32, rank: u32, item: u32) -> Self {
        Self { key: (offset as u64) << 32 | rank as u64, item }
    }

    /// Its rank and its item.
    #[inline]
    pub(super) const fn rank_and_item(self) -> (u32, u32) {
        (self.key as u32, self.item)
    }
}

/// Events by date, those of one date by a rank that they have when their slot comes, and those of one rank in the order in
/// which they came; of these, those that came when their date was far before all others of it.
///
/// A slot is a list of blocks in one arena, so that the live events are all the memory that is touched, and few lines of it;
/// it is put in order when its time comes. Nothing depends on how often the queue is asked: it moves on only when an event leaves.
#[derive(Debug, Clone)]
pub(super) struct Wheel {
    /// A slot is 2 to this many picoseconds.
    shift: u32,
    heads: Vec<u32>,
    /// Bit `s % 64` of word `s / 64`: slot `s` holds something; and bit `w`: word `w` is not zero.
    occupied: [u64; SLOTS / 64],
    words: u64,
    blocks: Vec<Block>,
    free: u32,
    near: usize,
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    made: u64,
    /// Events of the present slot, in order, from `head` on.
    present: Vec<Present>,
    head: usize,
    /// The slot of the event that left last, counted from the beginning of time.
    slot: u64,
}

impl Wheel {
    /// A queue for events that are mostly less than `reach_ps` ahead.
    pub(super) fn new(reach_ps: u64) -> Self {
        // the reach takes up at most half of the slots
        let shift = (reach_ps.saturating_mul(2) / SLOTS as u64).max(1).ilog2() + 1;
        Self {
            // what is left of a date within a slot fits in 32 bits
            shift: shift.min(32),
            heads: vec![NOTHING; SLOTS],
            occupied: [0; SLOTS / 64],
            words: 0,
            blocks: Vec::new(),
            free: NOTHING,
            near: 0,
            far: BinaryHeap::new(),
            made: 0,
            present: Vec::new(),
            head: 0,
            slot: 0,
        }
    }

    /// Adds an event; never before the one that left last. Its rank is asked for where its slot is the present one.
    #[inline]
    pub(super) fn push(&mut self, date: u64, item: u32, rank: impl FnOnce() -> u32) {
        let slot = date >> self.shift;
        let ahead = slot.wrapping_sub(self.slot);
        debug_assert!(slot >= self.slot, "dates never go back");
        if ahead == 0 && self.head < self.present.len() {
            return self.insert(date, rank(), item);
        }
        if ahead >= SLOTS as u64 {
            self.made += 1;
            self.far.push(Reverse((date, self.made, item)));
            return;
        }
        let place = slot as usize & (SLOTS - 1);
        let mut head = self.heads[place];
        if head == NOTHING {
            self.occupied[place / 64] |= 1 << (place % 64);
            self.words |= 1 << (place / 64);
        }
        if head == NOTHING || self.blocks[head as usize].count as usize == Block::MOST {
            head = self.block(head);
            self.heads[place] = head;
        }
        let offset = (date & self.within()) as u32;
        let block = &mut self.blocks[head as usize];
        block.events[block.count as usize] = (offset, item);
        block.count += 1;
        self.near += 1;
    }

    /// The bits of a date that say where in its slot it is.
    #[inline]
    const fn within(&self) -> u64 {
        (1 << self.shift) - 1
    }

    /// The date of an event of the present slot.
    #[inline]
    const fn date_of(&self, event: Present) -> u64 {
        self.slot << self.shift | event.key >> 32
    }

    /// An empty block before `next`.
    #[inline]
    fn block(&mut self, next: u32) -> u32 {
        if self.free == NOTHING {
            self.blocks.push(Block { next, count: 0, events: [(0, 0); Block::MOST] });
            return self.blocks.len() as u32 - 1;
        }
        let at = self.free;
        let block = &mut self.blocks[at as usize];
        self.free = std::mem::replace(&mut block.next, next);
        block.count = 0;
        at
    }

    /// Adds an event to the present slot, behind all that are not later.
    #[inline]
    fn insert(&mut self, date: u64, rank: u32, item: u32) {
        self.present.push(Present::new((date & self.within()) as u32, rank, item));
        sift(&mut self.present[self.head..]);
    }

    /// All events before `now` have left: time goes on to it, so that what is far is so from there.
    pub(super) fn reach(&mut self, now: u64) {
        let slot = now >> self.shift;
        if self.head == self.present.len()
            && slot > self.slot
            && self.find().is_none_or(|(_, next)| next >= slot)
        {
            self.slot = slot;
        }
    }

    /// The first slot that holds something near, counted from the beginning of time.
    #[inline]
    fn next_slot(&self) -> Option<u64> {
        if self.near == 0 {
            return None;
        }
        let from = self.slot as usize & (SLOTS - 1);
        let (word, bit) = (from / 64, from % 64);
        let here = self.occupied[word] >> bit;
        let ahead = if here != 0 {
            here.trailing_zeros() as usize
        } else {
            // the words behind this one, and round to its lower bits
            let round = self.words.rotate_right(word as u32 + 1);
            let behind = round.trailing_zeros() as usize;
            let found = (word + 1 + behind) % (SLOTS / 64);
            let place = found * 64 + self.occupied[found].trailing_zeros() as usize;
            (place + SLOTS - from) & (SLOTS - 1)
        };
        Some(self.slot + ahead as u64)
    }

    /// The earliest date and its slot.
    #[inline]
    fn find(&self) -> Option<(u64, u64)> {
        let far = self.far.peek().map(|&Reverse((date, ..))| date);
        let Some(slot) = self.next_slot() else { return far.map(|date| (date, date >> self.shift)) };
        if let Some(date) = far.filter(|date| date >> self.shift < slot) {
            return Some((date, date >> self.shift));
        }
        let mut at = self.heads[slot as usize & (SLOTS - 1)];
        let mut least = far.unwrap_or(u64::MAX);
        while at != NOTHING {
            let block = &self.blocks[at as usize];
            for &(offset, _) in &block.events[..block.count as usize] {
                least = least.min(slot << self.shift | u64::from(offset));
            }
            at = block.next;
        }
        Some((least, slot))
    }

    /// The earliest date.
    #[inline]
    pub(super) fn earliest(&self) -> Option<u64> {
        if self.head < self.present.len() {
            return Some(self.date_of(self.present[self.head]));
        }
        self.find().map(|(date, _)| date)
    }

    /// Takes out the earliest event, if it is not after `until`. `rank` is that of an event whose slot comes.
    #[inline]
    pub(super) fn pop_until(&mut self, until: u64, rank: impl Fn(u32) -> u32) -> Option<(u64, u32)> {
        if self.head == self.present.len() {
            let far = self.far.peek().map_or(u64::MAX, |&Reverse((date, ..))| date >> self.shift);
            let slot = self.next_slot().unwrap_or(u64::MAX).min(far);
            // the whole slot lies before the limit, or its earliest event is looked for
            if slot >= until >> self.shift && self.find()?.0 > until {
                return None;
            }
            self.load(slot, rank);
        }
        let event = self.present[self.head];
        let date = self.date_of(event);
        if date > until {
            return None;
        }
        self.head += 1;
        Some((date, event.item))
    }

    /// The events of a slot that has just become the present one; none when another has left since.
    #[inline]
    pub(super) fn begun(&self) -> &[Present] {
        if self.head == 1 { &self.present } else { &[] }
    }

    /// Makes a slot the present one: puts its events in order.
    fn load(&mut self, slot: u64, rank: impl Fn(u32) -> u32) {
        self.present.clear();
        self.head = 0;
        self.slot = slot;
        while let Some(&Reverse((date, _, item))) = self.far.peek()
            && date >> self.shift == slot
        {
            self.far.pop();
            self.present.push(Present::new((date & self.within()) as u32, rank(item), item));
        }
        let place = slot as usize & (SLOTS - 1);
        let first = self.present.len();
        let mut at = std::mem::replace(&mut self.heads[place], NOTHING);
        while at != NOTHING {
            let block = &mut self.blocks[at as usize];
            for &(offset, item) in block.events[..block.count as usize].iter().rev() {
                self.present.push(Present::new(offset, rank(item), item));
            }
            let next = std::mem::replace(&mut block.next, self.free);
            self.free = at;
            at = next;
        }
        self.near -= self.present.len() - first;
        self.occupied[place / 64] &= !(1 << (place % 64));
        if self.occupied[place / 64] == 0 {
            self.words &= !(1 << (place / 64));
        }
        // the list has the newest first
        self.present[first..].reverse();
        if self.present.len() <= 24 {
            for end in 1..=self.present.len() {
                sift(&mut self.present[..end]);
            }
        } else {
            self.present.sort_by_key(|event| event.key);
        }
    }
}

/// Moves the last event before those that come after it; the others are in order.
#[inline]
fn sift(events: &mut [Present]) {
    let Some(mut at) = events.len().checked_sub(1) else { return };
    let entry = events[at];
    while at > 0 && events[at - 1].key > entry.key {
        events[at] = events[at - 1];
        at -= 1;
    }
    events[at] = entry;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Takes the first of a map, if its date is not after `until`.
    fn first(literal: &mut BTreeMap<(u64, u32, bool, u32), u32>, until: u64) -> Option<(u64, u32)> {
        let entry = literal.first_entry().filter(|entry| entry.key().0 <= until)?;
        let (key, item) = entry.remove_entry();
        Some((key.0, item))
    }

    proptest! {
        /// The literal queue is an ordered map.
        #[test]
        fn events_leave_by_date_and_rank_and_then_in_the_order_of_coming(
            steps in prop::collection::vec((0_u64..9, 0_u64..6000, 0_u32..4, any::<bool>()), 1..400),
        ) {
            let rank = |item: u32| item.wrapping_mul(0x9e37_79b9) % 3;
            let mut wheel = Wheel::new(2000);
            let mut literal = BTreeMap::new();
            let (mut now, mut made) = (0, 0);
            for (scale, ahead, pops, reaches) in steps {
                // odd dates are near and even ones far, so that no date is both
                let far = scale == 8;
                let date = if far { (now + 40_000_000 + ahead * 1000) & !1 } else { (now + ahead / (scale + 1)) | 1 };
                wheel.push(date, made, || rank(made));
                literal.insert((date, rank(made), !far, made), made);
                made += 1;
                for _ in 0..pops {
                    prop_assert_eq!(wheel.earliest(), literal.keys().next().map(|key| key.0));
                    let until = now + 3000;
                    let popped = wheel.pop_until(until, rank);
                    prop_assert_eq!(popped, first(&mut literal, until));
                    now = match popped {
                        Some((date, _)) => date,
                        None if reaches => {
                            wheel.reach(until);
                            until
                        }
                        None => now,
                    };
                }
            }
            while let Some(popped) = first(&mut literal, u64::MAX) {
                prop_assert_eq!(wheel.pop_until(u64::MAX, rank), Some(popped));
            }
            prop_assert_eq!(wheel.pop_until(u64::MAX, rank), None);
        }
    }
}
