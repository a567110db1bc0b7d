//! Posted receives and unexpected messages: who came first among those that fit.
//!
//! A queue belongs to a rank. It is a list in order of arrival that is searched from its front, which
//! is all that most programs ever need. A queue whose searches become long is given an index by
//! (source, tag): from then on an exact search costs one look-up, whatever waits in front.

use rustc_hash::FxHashMap;
use stratasim_workload::goal::ANY;

/// Entries that a search may pass before the queue gets an index.
const PATIENCE: u32 = 12;
const NONE: u32 = u32::MAX;
/// Marks the head of a queue with an index; the rest of the head is the index.
const INDEXED: u32 = 1 << 31;

/// A queue of one rank: its first and last entry, or its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fifo {
    first: u32,
    last: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
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

#[derive(Debug, Clone, Copy)]
struct Node {
    entry: Entry,
    next: u32,
}

/// The entries of all queues.
#[derive(Debug)]
pub(crate) struct Fifos {
    nodes: Vec<Node>,
    /// First of the nodes that hold nothing; they are linked.
    free: u32,
    indices: Vec<Index>,
    len: u64,
}

impl Default for Fifos {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: NONE, indices: Vec::new(), len: 0 }
    }
}

impl Fifos {
    /// Entries of all queues.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    fn node(&mut self, node: Node) -> u32 {
        match self.free {
            NONE => {
                assert!(self.nodes.len() < INDEXED as usize, "less than 2^31 messages and receives wait");
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
            at => {
                self.free = std::mem::replace(&mut self.nodes[at as usize], node).next;
                at
            }
        }
    }

    #[inline]
    fn release(&mut self, at: u32) {
        self.nodes[at as usize].next = self.free;
        self.free = at;
    }

    /// Appends an entry.
    #[inline]
    pub(crate) fn push(&mut self, fifo: &mut Fifo, entry: Entry) {
        self.len += 1;
        if fifo.first != NONE && fifo.first & INDEXED != 0 {
            return self.indices[(fifo.first & !INDEXED) as usize].push(entry);
        }
        let node = Node { entry, next: NONE };
        let at = self.node(node);
        match fifo.last {
            NONE => fifo.first = at,
            last => self.nodes[last as usize].next = at,
        }
        fifo.last = at;
    }

    /// Takes out the first entry that fits.
    #[inline]
    pub(crate) fn take(&mut self, fifo: &mut Fifo, source: u32, tag: u32) -> Option<Entry> {
        let mut at = fifo.first;
        if at == NONE {
            return None;
        }
        if at & INDEXED != 0 {
            let found = self.indices[(at & !INDEXED) as usize].take(source, tag);
            self.len -= u64::from(found.is_some());
            return found;
        }
        let mut before = NONE;
        let mut passed = 0;
        loop {
            let Node { entry, next } = self.nodes[at as usize];
            if entry.fits(source, tag) {
                match before {
                    NONE => fifo.first = next,
                    before => self.nodes[before as usize].next = next,
                }
                if next == NONE {
                    fifo.last = before;
                }
                self.release(at);
                self.len -= 1;
                return Some(entry);
            }
            passed += 1;
            if passed > PATIENCE {
                self.index(fifo);
                return self.take(fifo, source, tag);
            }
            if next == NONE {
                return None;
            }
            (before, at) = (at, next);
        }
    }

    /// Puts an entry back in front of all others.
    pub(crate) fn put_back(&mut self, fifo: &mut Fifo, entry: Entry) {
        self.len += 1;
        if fifo.first != NONE && fifo.first & INDEXED != 0 {
            return self.indices[(fifo.first & !INDEXED) as usize].put_back(entry);
        }
        let node = Node { entry, next: fifo.first };
        let at = self.node(node);
        if fifo.first == NONE {
            fifo.last = at;
        }
        fifo.first = at;
    }

    /// Gives a queue an index.
    fn index(&mut self, fifo: &mut Fifo) {
        let mut index = Index::default();
        let mut at = fifo.first;
        while at != NONE {
            let Node { entry, next } = self.nodes[at as usize];
            index.push(entry);
            self.release(at);
            at = next;
        }
        *fifo = Fifo { first: INDEXED | self.indices.len() as u32, last: NONE };
        self.indices.push(index);
    }

    /// The entries of a queue in order.
    pub(crate) fn entries(&self, fifo: Fifo) -> Vec<Entry> {
        if fifo.first != NONE && fifo.first & INDEXED != 0 {
            return self.indices[(fifo.first & !INDEXED) as usize].entries();
        }
        let mut at = fifo.first;
        let mut entries = Vec::new();
        while at != NONE {
            entries.push(self.nodes[at as usize].entry);
            at = self.nodes[at as usize].next;
        }
        entries
    }
}

/// The entries of a queue by source and tag; those with wildcards apart.
#[derive(Debug, Default)]
struct Index {
    slots: Vec<Slot>,
    free: Vec<u32>,
    exact: List,
    wild: List,
    /// First and last exact entry by (source, tag).
    keys: FxHashMap<(u32, u32), (u32, u32)>,
    /// Orders entries of both lists: those put back count down, the others up.
    next_number: i64,
    front_number: i64,
}

/// A list of slots in order of their numbers.
#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
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
        let slot = Slot { entry, number, before: NONE, after: NONE, same: NONE };
        match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        }
    }

    fn push(&mut self, entry: Entry) {
        let at = self.slot(entry, self.next_number);
        self.next_number += 1;
        let exact = entry.is_exact();
        let list = if exact { &mut self.exact } else { &mut self.wild };
        self.slots[at as usize].before = list.last;
        match std::mem::replace(&mut list.last, at) {
            NONE => list.first = at,
            last => self.slots[last as usize].after = at,
        }
        if exact {
            let ends = self.keys.entry((entry.source, entry.tag)).or_insert((at, at));
            if ends.1 != at {
                self.slots[ends.1 as usize].same = at;
                ends.1 = at;
            }
        }
    }

    fn put_back(&mut self, entry: Entry) {
        self.front_number -= 1;
        let at = self.slot(entry, self.front_number);
        let exact = entry.is_exact();
        let list = if exact { &mut self.exact } else { &mut self.wild };
        self.slots[at as usize].after = list.first;
        match std::mem::replace(&mut list.first, at) {
            NONE => list.last = at,
            first => self.slots[first as usize].before = at,
        }
        if exact {
            let ends = self.keys.entry((entry.source, entry.tag)).or_insert((at, at));
            if ends.0 != at {
                self.slots[at as usize].same = ends.0;
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
        let number = |at: u32| if at == NONE { i64::MAX } else { self.slots[at as usize].number };
        let at = if number(exact) < number(wild) { exact } else { wild };
        if at == NONE {
            return None;
        }
        let Slot { entry, before, after, same, .. } = self.slots[at as usize];
        let is_exact = entry.is_exact();
        let list = if is_exact { &mut self.exact } else { &mut self.wild };
        match before {
            NONE => list.first = after,
            before => self.slots[before as usize].after = after,
        }
        match after {
            NONE => list.last = before,
            after => self.slots[after as usize].before = before,
        }
        if is_exact {
            // the first that fits is the first of its source and tag
            let key = (entry.source, entry.tag);
            match same {
                NONE => _ = self.keys.remove(&key),
                same => self.keys.get_mut(&key).expect("every exact entry has a key").0 = same,
            }
        }
        self.free.push(at);
        Some(entry)
    }

    fn search(&self, mut at: u32, source: u32, tag: u32) -> u32 {
        while at != NONE && !self.slots[at as usize].entry.fits(source, tag) {
            at = self.slots[at as usize].after;
        }
        at
    }

    fn entries(&self) -> Vec<Entry> {
        let mut found = Vec::new();
        for list in [self.exact, self.wild] {
            let mut at = list.first;
            while at != NONE {
                let slot = &self.slots[at as usize];
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
