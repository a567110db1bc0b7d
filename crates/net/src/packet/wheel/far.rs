//! Events that are far ahead: a ring of long slots, and a heap for what is farther still.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Long slots of the ring; a power of two.
const SLOTS: usize = 512;

/// Events that do not come soon, most of which are time-outs. A long slot is a list in the order in which they came, and
/// leaves as a whole.
#[derive(Debug, Clone)]
pub(super) struct Far {
    /// The first long slot of the ring, counted from the beginning of time, and their length: 2 to this many picoseconds.
    first: u64,
    shift: u32,
    /// Dates and items. Most hold nothing, not even memory.
    slots: Vec<Vec<(u64, u32)>>,
    /// Lists that have left.
    spare: Vec<Vec<(u64, u32)>>,
    count: usize,
    beyond: BinaryHeap<Reverse<(u64, u64, u32)>>,
    made: u64,
    /// The earliest date; the last of all where there is none.
    least: u64,
}

impl Far {
    /// No events; those from long slot `first` on, of 2 to `shift` picoseconds, belong here.
    pub(super) fn new(first: u64, shift: u32) -> Self {
        Self {
            first,
            shift,
            slots: vec![Vec::new(); SLOTS],
            spare: Vec::new(),
            count: 0,
            beyond: BinaryHeap::new(),
            made: 0,
            least: u64::MAX,
        }
    }

    /// Whether an event of this date belongs here.
    #[inline]
    pub(super) const fn has(&self, date: u64) -> bool {
        date >> self.shift >= self.first
    }

    /// The first long slot that belongs here.
    #[inline]
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    /// The earliest date.
    #[inline]
    pub(super) const fn earliest(&self) -> Option<u64> {
        if self.least == u64::MAX { None } else { Some(self.least) }
    }

    /// Adds an event.
    #[inline]
    pub(super) fn push(&mut self, date: u64, item: u32) {
        debug_assert!(self.has(date));
        self.least = self.least.min(date);
        if date >> self.shift >= self.first + SLOTS as u64 {
            self.made += 1;
            return self.beyond.push(Reverse((date, self.made, item)));
        }
        let list = &mut self.slots[(date >> self.shift) as usize % SLOTS];
        if list.capacity() == 0 {
            *list = self.spare.pop().unwrap_or_default();
        }
        list.push((date, item));
        self.count += 1;
    }

    /// The ring begins at long slot `first` from now on: what is before it is added to `out`, events of one date in the order
    /// in which they came.
    pub(super) fn advance(&mut self, first: u64, out: &mut Vec<(u64, u32)>) {
        let old = std::mem::replace(&mut self.first, first);
        for slot in old..first.min(old + SLOTS as u64) {
            let list = &mut self.slots[slot as usize % SLOTS];
            if !list.is_empty() {
                self.count -= list.len();
                out.append(list);
                self.spare.push(std::mem::take(list));
            }
        }
        while let Some(&Reverse((date, _, item))) = self.beyond.peek()
            && date >> self.shift < first + SLOTS as u64
        {
            self.beyond.pop();
            if self.has(date) {
                self.push(date, item);
            } else {
                out.push((date, item));
            }
        }
        if !self.has(self.least) {
            self.least = self.find();
        }
    }

    /// The earliest date, looked for.
    fn find(&self) -> u64 {
        if self.count == 0 {
            return self.beyond.peek().map_or(u64::MAX, |&Reverse((date, ..))| date);
        }
        let mut lists =
            (self.first..self.first + SLOTS as u64).map(|slot| &self.slots[slot as usize % SLOTS]);
        let dates = lists.find(|list| !list.is_empty()).into_iter().flatten();
        dates.map(|&(date, _)| date).min().unwrap_or(u64::MAX)
    }

    /// All events, those of one date in the order in which they came.
    pub(super) fn into_events(mut self) -> Vec<(u64, u32)> {
        let mut events = Vec::with_capacity(self.count + self.beyond.len());
        let end = self.first + SLOTS as u64;
        self.advance(end, &mut events);
        events.extend(self.slots.iter().flatten());
        let beyond = self.beyond.into_sorted_vec();
        events.extend(beyond.into_iter().rev().map(|Reverse((date, _, item))| (date, item)));
        events
    }
}
