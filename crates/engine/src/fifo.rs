//! Posted receives and unexpected messages: who came first among those that fit.
//!
//! A queue belongs to a rank. It is a list in order of arrival that is searched from its front, which
//! is all that most programs ever need. A queue whose searches become long is given an index by
//! (source, tag): from then on an exact search costs one look-up, whatever waits in front.

use rustc_hash::FxHashMap;
use stratasim_core::Slots;
use stratasim_workload::goal::ANY;

use crate::lists::{List, Lists, NONE};

/// Entries that a search may pass before the queue gets an index.
const PATIENCE: u32 = 12;
/// Marks the head of a queue with an index; the rest of the head is the index.
const INDEXED: u32 = 1 << 31;

/// A queue of one rank: a list, or an index in the place of its first entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fifo(List);

impl Fifo {
    /// The number of its index, if it has one.
    #[inline]
    fn index(self) -> Option<usize> {
        let Self(List { first, .. }) = self;
        (first != NONE && first & INDEXED != 0).then_some((first & !INDEXED) as usize)
    }

    /// The place of its first entry, if it has one and no index.
    #[inline]
    fn front(self) -> Option<u32> {
        let Self(List { first, .. }) = self;
        (first & INDEXED == 0).then_some(first)
    }
}

/// An entry: what it accepts or is, and what the owner wants back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Source, or [`ANY`].
    pub(crate) source: u32,
    /// Tag, or [`ANY`].
    pub(crate) tag: u32,
    /// What it stands for.
    pub(crate) item: u32,
}

impl Entry {
    fn fits(&self, source: u32, tag: u32) -> bool {
        (self.source == source || self.source == ANY || source == ANY)
            && (self.tag == tag || self.tag == ANY || tag == ANY)
    }

    fn is_exact(&self) -> bool {
        self.source != ANY && self.tag != ANY
    }
}

/// The entries of all queues.
#[derive(Debug, Default)]
pub(crate) struct Fifos {
    lists: Lists<Entry>,
    indices: Vec<Index>,
    len: u64,
}

impl Fifos {
    /// Entries of all queues.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// What the first entry of a queue without an index stands for.
    #[inline]
    pub(crate) fn first(&self, fifo: Fifo) -> Option<u32> {
        fifo.front().map(|at| self.lists.get(at).0.item)
    }

    /// Asks for that entry.
    #[inline]
    pub(crate) fn ask_for_first(&self, fifo: Fifo) {
        if let Some(at) = fifo.front() {
            self.lists.ask_for(at);
        }
    }

    /// Appends an entry.
    #[inline]
    pub(crate) fn push(&mut self, fifo: &mut Fifo, entry: Entry) {
        self.len += 1;
        match fifo.index() {
            Some(index) => self.indices[index].push(entry),
            None => self.lists.push_back(&mut fifo.0, entry),
        }
    }

    /// Takes out the first entry that fits.
    #[inline]
    pub(crate) fn take(&mut self, fifo: &mut Fifo, source: u32, tag: u32) -> Option<Entry> {
        let found = match fifo.index() {
            Some(index) => self.indices[index].take(source, tag),
            None => self.search(fifo, source, tag),
        };
        self.len -= u64::from(found.is_some());
        found
    }

    #[inline]
    fn search(&mut self, fifo: &mut Fifo, source: u32, tag: u32) -> Option<Entry> {
        let (mut before, mut at) = (NONE, fifo.0.first);
        let mut passed = 0;
        while at != NONE {
            let (entry, next) = self.lists.get(at);
            if entry.fits(source, tag) {
                return self.lists.remove_after(&mut fifo.0, before);
            }
            passed += 1;
            if passed > PATIENCE {
                let index = self.give_index(fifo);
                return self.indices[index].take(source, tag);
            }
            (before, at) = (at, next);
        }
        None
    }

    /// Puts an entry back in front of all others.
    pub(crate) fn put_back(&mut self, fifo: &mut Fifo, entry: Entry) {
        self.len += 1;
        match fifo.index() {
            Some(index) => self.indices[index].put_back(entry),
            None => self.lists.push_front(&mut fifo.0, entry),
        }
    }

    /// Moves the entries of a queue into an index.
    fn give_index(&mut self, fifo: &mut Fifo) -> usize {
        let mut index = Index::default();
        while let Some(entry) = self.lists.remove_after(&mut fifo.0, NONE) {
            index.push(entry);
        }
        fifo.0.first = INDEXED | self.indices.len() as u32;
        self.indices.push(index);
        self.indices.len() - 1
    }

    /// The entries of a queue in order.
    pub(crate) fn entries(&self, fifo: Fifo) -> Vec<Entry> {
        match fifo.index() {
            Some(index) => self.indices[index].entries(),
            None => self.lists.iter(fifo.0).collect(),
        }
    }
}

/// The entries of a queue by source and tag; those with wildcards apart.
#[derive(Debug, Default)]
struct Index {
    slots: Slots<Slot>,
    /// In order of their numbers, linked both ways.
    exact: List,
    wild: List,
    /// First and last exact entry by (source, tag).
    keys: FxHashMap<(u32, u32), (u32, u32)>,
    /// Orders entries of both lists: those put back count down, the others up.
    next_number: i64,
    front_number: i64,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    entry: Entry,
    number: i64,
    before: u32,
    after: u32,
    /// Next entry with the same source and tag.
    same: u32,
}

impl Index {
    fn slot(&mut self, entry: Entry, number: i64) -> u32 {
        self.slots.insert(Slot { entry, number, before: NONE, after: NONE, same: NONE })
    }

    fn push(&mut self, entry: Entry) {
        let at = self.slot(entry, self.next_number);
        self.next_number += 1;
        let exact = entry.is_exact();
        let list = if exact { &mut self.exact } else { &mut self.wild };
        self.slots[at].before = list.last;
        match std::mem::replace(&mut list.last, at) {
            NONE => list.first = at,
            last => self.slots[last].after = at,
        }
        if exact {
            let ends = self.keys.entry((entry.source, entry.tag)).or_insert((at, at));
            if ends.1 != at {
                self.slots[ends.1].same = at;
                ends.1 = at;
            }
        }
    }

    fn put_back(&mut self, entry: Entry) {
        self.front_number -= 1;
        let at = self.slot(entry, self.front_number);
        let exact = entry.is_exact();
        let list = if exact { &mut self.exact } else { &mut self.wild };
        self.slots[at].after = list.first;
        match std::mem::replace(&mut list.first, at) {
            NONE => list.last = at,
            first => self.slots[first].before = at,
        }
        if exact {
            let ends = self.keys.entry((entry.source, entry.tag)).or_insert((at, at));
            if ends.0 != at {
                self.slots[at].same = ends.0;
                ends.0 = at;
            }
        }
    }

    fn take(&mut self, source: u32, tag: u32) -> Option<Entry> {
        let exact = if source != ANY && tag != ANY {
            self.keys.get(&(source, tag)).map_or(NONE, |ends| ends.0)
        } else {
            self.search(self.exact.first, source, tag)
        };
        let wild = self.search(self.wild.first, source, tag);
        let number = |at: u32| if at == NONE { i64::MAX } else { self.slots[at].number };
        let at = if number(exact) < number(wild) { exact } else { wild };
        if at == NONE {
            return None;
        }
        let Slot { entry, before, after, same, .. } = self.slots[at];
        let is_exact = entry.is_exact();
        let list = if is_exact { &mut self.exact } else { &mut self.wild };
        match before {
            NONE => list.first = after,
            before => self.slots[before].after = after,
        }
        match after {
            NONE => list.last = before,
            after => self.slots[after].before = before,
        }
        if is_exact {
            // the first that fits is the first of its source and tag
            let key = (entry.source, entry.tag);
            match same {
                NONE => _ = self.keys.remove(&key),
                same => self.keys.get_mut(&key).expect("every exact entry has a key").0 = same,
            }
        }
        self.slots.release(at);
        Some(entry)
    }

    fn search(&self, mut at: u32, source: u32, tag: u32) -> u32 {
        while at != NONE && !self.slots[at].entry.fits(source, tag) {
            at = self.slots[at].after;
        }
        at
    }

    fn entries(&self) -> Vec<Entry> {
        let mut found = Vec::new();
        for list in [self.exact, self.wild] {
            let mut at = list.first;
            while at != NONE {
                let slot = &self.slots[at];
                found.push((slot.number, slot.entry));
                at = slot.after;
            }
        }
        found.sort_unstable_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, entry)| entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = u32> {
        prop_oneof![4 => 0..6_u32, 1 => Just(ANY)]
    }

    proptest! {
        /// Lists and indices give what a plain search from the front gives.
        #[test]
        fn it_agrees_with_a_search_from_the_front(
            ops in prop::collection::vec((0..9_u8, value(), value(), 0..2_usize), 0..400)
        ) {
            let mut fifos = Fifos::default();
            let mut queues = [Fifo::default(); 2];
            let mut model: [Vec<Entry>; 2] = [Vec::new(), Vec::new()];
            for (item, (op, source, tag, queue)) in ops.into_iter().enumerate() {
                let entry = Entry { source, tag, item: item as u32 };
                match op {
                    0..=4 => {
                        fifos.push(&mut queues[queue], entry);
                        model[queue].push(entry);
                    }
                    5 => {
                        fifos.put_back(&mut queues[queue], entry);
                        model[queue].insert(0, entry);
                    }
                    _ => {
                        let at = model[queue].iter().position(|entry| entry.fits(source, tag));
                        let expected = at.map(|at| model[queue].remove(at));
                        prop_assert_eq!(fifos.take(&mut queues[queue], source, tag), expected);
                    }
                }
                prop_assert_eq!(&fifos.entries(queues[queue]), &model[queue]);
            }
            prop_assert_eq!(fifos.len() as usize, model[0].len() + model[1].len());
        }
    }
}
