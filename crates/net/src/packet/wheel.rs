//! The queue of events: a wheel of short slots for what is near, and longer ones for what is far.

mod far;
mod order;

use stratasim_core::memory::prefetch_all;

use self::far::Far;
use self::order::{Present, distribute, insert};

/// Slots of the wheel; a power of two.
const SLOTS: usize = 4096;

/// A long slot is 2 to this many slots, and the wheel has so many of them.
const LONG: u32 = 10;
const LONG_SLOTS: u64 = SLOTS as u64 >> LONG;

/// After so many slots it is looked at how many events they had: so many at least,
const WATCHED: u32 = 512;
const LEAST: u32 = 6;
/// so many at most, and mostly so many.
const MOST: u32 = 96;
const USUAL: u32 = 16;

/// They are at most 2 to this many times as long as the shortest: events that come while their slot is the present one are
/// put in order one by one,
const LONGER: u32 = 6;
/// and when more of them wait than this, slots are too long.
const CROWDED: usize = 512;

/// A slot is at most 2 to this many picoseconds.
const MOST_SHIFT: u32 = 32;

const NOTHING: u32 = u32::MAX;

/// Some events of a slot, in the order in which they came: two cache lines, which is all that most slots have.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(128))]
struct Block {
    /// Events that came before these, or the next free block.
    next: u32,
    /// Picoseconds since the slot began, and the item.
    events: [(u32, u32); Self::MOST],
}

impl Block {
    const MOST: usize = 15;
}

/// The first block of a slot, and how many events are in it; all others are full. Where there is none, it is as good as full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tip(u32);

impl Tip {
    const BITS: u32 = 4;
    const NOTHING: Self = Self(NOTHING);

    /// Of a block without events.
    const fn new(block: u32) -> Self {
        Self(block << Self::BITS)
    }

    /// The block; of [`Self::NOTHING`], none that there is.
    const fn block(self) -> usize {
        (self.0 >> Self::BITS) as usize
    }

    /// Events in it.
    const fn count(self) -> usize {
        (self.0 % (1 << Self::BITS)) as usize
    }

    /// The same with an event more; there is room for it.
    const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Events by date, those of one date by a rank that they have when their slot comes, and those of one rank in the order in
/// which they came.
///
/// A slot is a list of blocks in one arena, so that the live events are all the memory that is touched, and few lines of it;
/// it is put in order when its time comes. Nothing depends on how often the queue is asked: it moves on only when an event leaves.
#[derive(Debug, Clone)]
pub(super) struct Wheel {
    /// A slot is 2 to this many picoseconds, and at least 2 to so many.
    shift: u32,
    least_shift: u32,
    /// Slots and events since the length of slots was last thought over.
    watched: (u32, u32),
    /// Where each slot goes on.
    tips: Box<[Tip; SLOTS]>,
    /// Bit `s % 64` of word `s / 64`: slot `s` holds something; and bit `w`: word `w` is not zero.
    occupied: [u64; SLOTS / 64],
    words: u64,
    blocks: Vec<Block>,
    free: u32,
    /// What is in the fourth long slot behind that of the present slot, or later.
    far: Far,
    /// What has just become near; empty between calls, but for its memory.
    nearer: Vec<(u64, u32)>,
    /// Events of the present slot, in order, from `head` on.
    present: Vec<Present>,
    head: usize,
    /// Those of the slot that was loaded last; of no meaning between calls, but for its memory.
    loaded: Vec<Present>,
    /// The slot of the event that left last, counted from the beginning of time, and when it begins.
    slot: u64,
    begins: u64,
}

/// The first long slot that is far when `slot` is the present one.
#[inline]
const fn first_far(slot: u64) -> u64 {
    (slot >> LONG) + LONG_SLOTS
}

impl Wheel {
    /// A queue for events that are mostly less than `reach_ps` ahead.
    pub(super) fn new(reach_ps: u64) -> Self {
        // the reach takes up at most half of the slots
        // so much is near, wherever in its long slot the present one is
        let shift = (reach_ps.saturating_mul(4) / 3 / SLOTS as u64).max(1).ilog2() + 1;
        // what is left of a date within a slot fits in 32 bits
        let shift = shift.min(MOST_SHIFT);
        Self {
            shift,
            least_shift: shift,
            watched: (0, 0),
            tips: Box::new([Tip::NOTHING; SLOTS]),
            occupied: [0; SLOTS / 64],
            words: 0,
            blocks: Vec::new(),
            free: NOTHING,
            far: Far::new(first_far(0), shift + LONG),
            nearer: Vec::new(),
            present: Vec::new(),
            head: 0,
            loaded: Vec::new(),
            slot: 0,
            begins: 0,
        }
    }

    /// Adds an event; never before the one that left last. Its rank matters where its slot is the present one.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is called in the loop, and elsewhere where speed does not matter"
    )]
    pub(super) fn push(&mut self, date: u64, item: u32, rank: impl FnOnce() -> u32) {
        let slot = date >> self.shift;
        debug_assert!(slot >= self.slot, "dates never go back");
        let place = slot as usize & (SLOTS - 1);
        let tip = self.tips[place];
        if slot == self.slot || slot >> LONG >= self.far.first() || tip.count() == Block::MOST {
            return self.push_rarely(date, item, rank());
        }
        self.add(place, tip, date, item);
    }

    /// Adds an event to the present slot, to what is far, or where a block is full.
    #[inline(never)]
    fn push_rarely(&mut self, date: u64, item: u32, rank: u32) {
        if date >> self.shift == self.slot && self.head < self.present.len() {
            self.insert(date, rank, item);
        } else if self.far.has(date) {
            self.far.push(date, item);
        } else {
            self.push_near(date, item);
        }
    }

    /// Adds an event that is not far.
    fn push_near(&mut self, date: u64, item: u32) {
        let place = (date >> self.shift) as usize & (SLOTS - 1);
        let mut tip = self.tips[place];
        if tip.count() == Block::MOST {
            tip = self.begin_block(place);
        }
        self.add(place, tip, date, item);
    }

    /// Adds an event to a block that has room for it.
    #[inline]
    fn add(&mut self, place: usize, tip: Tip, date: u64, item: u32) {
        let offset = (date & self.within()) as u32;
        self.blocks[tip.block()].events[tip.count()] = (offset, item);
        self.tips[place] = tip.next();
    }

    /// The bits of a date that say where in its slot it is.
    #[inline]
    const fn within(&self) -> u64 {
        (1 << self.shift) - 1
    }

    /// The date of an event of the present slot.
    #[inline]
    const fn date_of(&self, event: Present) -> u64 {
        self.begins | event.offset()
    }

    /// An empty block in front of those of a slot.
    #[inline]
    fn begin_block(&mut self, place: usize) -> Tip {
        let tip = self.tips[place];
        let next = if tip == Tip::NOTHING {
            self.occupied[place / 64] |= 1 << (place % 64);
            self.words |= 1 << (place / 64);
            NOTHING
        } else {
            tip.block() as u32
        };
        let block = self.free;
        if block == NOTHING {
            self.blocks.push(Block { next, events: [(0, 0); Block::MOST] });
            return Tip::new(self.blocks.len() as u32 - 1);
        }
        self.free = std::mem::replace(&mut self.blocks[block as usize].next, next);
        Tip::new(block)
    }

    /// Adds an event to the present slot, behind all that are not later.
    #[inline]
    fn insert(&mut self, date: u64, rank: u32, item: u32) {
        if self.present.len() - self.head > CROWDED {
            // many more have come than slots of this length are for: the next are as short as can be
            self.watched = (WATCHED, u32::MAX);
        }
        let event = Present::new((date & self.within()) as u32, rank, item);
        insert(&mut self.present, self.head, event);
    }

    /// Goes on to a slot, before which nothing is left: what is no longer far comes in, before anything else of its date can.
    #[inline]
    fn go_to(&mut self, slot: u64) {
        (self.slot, self.begins) = (slot, slot << self.shift);
        let first = first_far(slot);
        if first > self.far.first() {
            self.fetch(first);
        }
    }

    /// What is before long slot `first` is no longer far.
    #[cold]
    fn fetch(&mut self, first: u64) {
        let mut nearer = std::mem::take(&mut self.nearer);
        self.far.advance(first, &mut nearer);
        for (date, item) in nearer.drain(..) {
            self.push_near(date, item);
        }
        self.nearer = nearer;
    }

    /// All events before `now` have left: time goes on to it, so that what is far is so from there.
    pub(super) fn reach(&mut self, now: u64) {
        let slot = now >> self.shift;
        if self.head == self.present.len()
            && slot > self.slot
            && self.find().is_none_or(|(_, next)| next >= slot)
        {
            self.go_to(slot);
        }
    }

    /// The first slot that holds something near, counted from the beginning of time.
    #[inline]
    fn next_slot(&self) -> Option<u64> {
        if self.words == 0 { None } else { Some(self.slot_from(self.slot)) }
    }

    /// The first slot at or behind `slot` that holds something near, or one of the round before; something is there.
    #[inline]
    fn slot_from(&self, slot: u64) -> u64 {
        let from = slot as usize & (SLOTS - 1);
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
        slot + ahead as u64
    }

    /// The earliest date and its slot.
    #[inline]
    fn find(&self) -> Option<(u64, u64)> {
        // what is far comes behind all that is near
        let Some(slot) = self.next_slot() else {
            return self.far.earliest().map(|date| (date, date >> self.shift));
        };
        let mut least = u64::MAX;
        self.walk(slot, |offset, _| least = least.min(slot << self.shift | u64::from(offset)));
        Some((least, slot))
    }

    /// Shows the offsets and items of a slot, in no order.
    #[inline]
    pub(super) fn walk(&self, slot: u64, mut see: impl FnMut(u32, u32)) {
        let place = slot as usize & (SLOTS - 1);
        let tip = self.tips[place];
        let (mut at, mut count) = (tip.block(), tip.count());
        while let Some(block) = self.blocks.get(at) {
            block.events.iter().take(count).for_each(|&(offset, item)| see(offset, item));
            (at, count) = (block.next as usize, Block::MOST);
        }
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
        let event = match self.present.get(self.head) {
            Some(&event) => event,
            None => self.first_of_next(until, rank)?,
        };
        let date = self.date_of(event);
        if date > until {
            return None;
        }
        self.head += 1;
        Some((date, event.item))
    }

    /// Goes on to the next slot that holds something, and its first event; stays where that is after `until` for sure.
    fn first_of_next(&mut self, until: u64, rank: impl Fn(u32) -> u32) -> Option<Present> {
        if self.watched.0 >= WATCHED {
            self.think_over();
        }
        let far = || self.far.earliest().map(|date| date >> self.shift);
        let slot = self.next_slot().or_else(far)?;
        // the whole slot lies before the limit, or its earliest event is looked for
        if slot >= until >> self.shift && self.find()?.0 > until {
            return None;
        }
        self.load(slot, rank);
        self.present.first().copied()
    }

    /// Whether the event that left last is the first one of its slot.
    #[inline]
    pub(super) const fn has_begun(&self) -> bool {
        self.head == 1
    }

    /// The next three slots that hold something near.
    #[inline]
    pub(super) fn following(&self) -> [Option<u64>; 3] {
        // a round is over where no other slot holds anything
        let behind = |slot| Some(self.slot_from(slot + 1)).filter(|slot| slot - self.slot < SLOTS as u64);
        let next = self.next_slot();
        let then = next.and_then(behind);
        [next, then, then.and_then(behind)]
    }

    /// Asks for the events of a slot that came last, mostly all of them.
    #[inline]
    pub(super) fn prefetch(&self, slot: u64) {
        if let Some(block) = self.blocks.get(self.tips[slot as usize & (SLOTS - 1)].block()) {
            prefetch_all(block);
        }
    }

    /// Makes a slot the present one: puts its events in order.
    fn load(&mut self, slot: u64, rank: impl Fn(u32) -> u32) {
        self.present.clear();
        self.head = 0;
        self.go_to(slot);
        self.watched.0 += 1;
        self.take(slot, rank);
        distribute(&mut self.present, &mut self.loaded, self.shift);
    }

    /// Takes the events of a slot out of the wheel, the newest first.
    #[inline]
    fn take(&mut self, slot: u64, rank: impl Fn(u32) -> u32) {
        self.loaded.clear();
        let place = slot as usize & (SLOTS - 1);
        let first = std::mem::replace(&mut self.tips[place], Tip::NOTHING);
        if first == Tip::NOTHING {
            return;
        }
        self.occupied[place / 64] &= !(1 << (place % 64));
        if self.occupied[place / 64] == 0 {
            self.words &= !(1 << (place / 64));
        }
        let (mut at, mut count) = (first.block(), first.count());
        loop {
            let block = &mut self.blocks[at];
            let events = block.events[..count.min(Block::MOST)].iter().rev();
            self.loaded.extend(events.map(|&(offset, item)| Present::new(offset, rank(item), item)));
            if block.next == NOTHING {
                block.next = self.free;
                self.free = first.block() as u32;
                break;
            }
            (at, count) = (block.next as usize, Block::MOST);
        }
        self.watched.1 += self.loaded.len() as u32;
    }

    /// Makes slots longer where they have few events, and shorter where they have many: a slot costs something, whatever is
    /// in it, and so does order. What leaves when does not depend on it.
    #[cold]
    fn think_over(&mut self) {
        let (slots, events) = std::mem::take(&mut self.watched);
        let each = events / slots.max(1);
        if (LEAST..=MOST).contains(&each) {
            return;
        }
        let usual = self.shift + USUAL.ilog2();
        let most = (self.least_shift + LONGER).min(MOST_SHIFT);
        let shift = usual.saturating_sub(each.max(1).ilog2()).clamp(self.least_shift, most);
        if shift != self.shift {
            self.set_shift(shift);
        }
    }

    /// Changes the length of slots; the present one is over.
    fn set_shift(&mut self, shift: u32) {
        debug_assert!(self.head == self.present.len(), "its events have left");
        let mut events = Vec::new();
        while let Some(slot) = self.next_slot() {
            self.take(slot, |_| 0);
            events.extend(
                self.loaded.drain(..).rev().map(|event| (slot << self.shift | event.offset(), event.item)),
            );
        }
        // events of one date are in the order in which they came
        self.slot = self.begins >> shift;
        self.begins = self.slot << shift;
        self.shift = shift;
        let far = std::mem::replace(&mut self.far, Far::new(first_far(self.slot), shift + LONG));
        events.extend(far.into_events());
        self.present.clear();
        self.head = 0;
        for (date, item) in events {
            self.push(date, item, || 0);
        }
        self.watched = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Takes the first of a map, if its date is not after `until`.
    fn first(literal: &mut BTreeMap<(u64, u32, u32), u32>, until: u64) -> Option<(u64, u32)> {
        let entry = literal.first_entry().filter(|entry| entry.key().0 <= until)?;
        let (key, item) = entry.remove_entry();
        Some((key.0, item))
    }

    #[test]
    fn slots_are_longer_where_events_are_few_and_short_again_when_many_come_at_once() {
        let mut wheel = Wheel::new(2000);
        let least = wheel.shift;
        let mut now = 0;
        for item in 0..3 * WATCHED {
            wheel.push(now + 1000, item, || 0);
            now = wheel.pop_until(u64::MAX, |_| 0).expect("an event").0;
        }
        assert_eq!(wheel.shift, least + LONGER, "one event in every slot");
        // all within the slot that is present
        (0..2).for_each(|item| wheel.push(now, item, || 0));
        assert!(wheel.pop_until(now, |_| 0).is_some());
        (0..3 * CROWDED as u32).for_each(|item| wheel.push(now, item, || 0));
        while wheel.pop_until(now, |_| 0).is_some() {}
        wheel.push(now + 100_000, 0, || 0);
        assert!(wheel.pop_until(u64::MAX, |_| 0).is_some());
        assert_eq!(wheel.shift, least);
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
            for (number, (scale, ahead, pops, reaches)) in steps.into_iter().enumerate() {
                if number % 7 == 3 && wheel.head == wheel.present.len() {
                    wheel.set_shift((number % 5 + 8) as u32);
                }
                let date = match scale {
                    // in the ring of what is far, and behind it
                    7 => (now + 20_000 + ahead * 7) & !0xff,
                    8 => (now + 40_000_000 + ahead * 1000) & !0xfff,
                    _ => now + ahead / (scale + 1),
                };
                wheel.push(date, made, || rank(made));
                literal.insert((date, rank(made), made), made);
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
