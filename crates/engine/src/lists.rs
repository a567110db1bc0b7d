//! Many short lists in one column.

use stratasim_core::memory::{prefer_huge_pages, prefetch};

/// No item.
pub(crate) const NONE: u32 = u32::MAX;

/// A list: its first and last item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

/// The items of all lists; places are used again.
#[derive(Debug)]
pub(crate) struct Lists<T> {
    /// An item, and the one behind it.
    items: Vec<(T, u32)>,
    /// First of the places that hold nothing; they are linked.
    free: u32,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: NONE }
    }
}

impl<T: Copy> Lists<T> {
    /// An item and the one behind it.
    #[inline]
    pub(crate) fn get(&self, at: u32) -> (T, u32) {
        self.items[at as usize]
    }

    /// Asks for an item.
    #[inline]
    pub(crate) fn ask_for(&self, at: u32) {
        prefetch(&self.items[at as usize]);
    }

    #[inline]
    fn place(&mut self, item: T, next: u32) -> u32 {
        match self.free {
            NONE => {
                assert!(self.items.len() < 1 << 31, "less than 2^31 things wait");
                if self.items.len() == self.items.capacity() {
                    self.items.reserve(self.items.len().max(64));
                    prefer_huge_pages(&self.items);
                }
                self.items.push((item, next));
                self.items.len() as u32 - 1
            }
            at => {
                self.free = std::mem::replace(&mut self.items[at as usize], (item, next)).1;
                at
            }
        }
    }

    /// Appends an item.
    #[inline]
    pub(crate) fn push_back(&mut self, list: &mut List, item: T) {
        let at = self.place(item, NONE);
        match std::mem::replace(&mut list.last, at) {
            NONE => list.first = at,
            last => self.items[last as usize].1 = at,
        }
    }

    /// Puts an item in front.
    pub(crate) fn push_front(&mut self, list: &mut List, item: T) {
        let at = self.place(item, list.first);
        if list.first == NONE {
            list.last = at;
        }
        list.first = at;
    }

    /// Takes out the item behind `before`, or the first one where `before` is [`NONE`].
    #[inline]
    pub(crate) fn remove_after(&mut self, list: &mut List, before: u32) -> Option<T> {
        let at = if before == NONE { list.first } else { self.items[before as usize].1 };
        if at == NONE {
            return None;
        }
        let (item, next) = self.items[at as usize];
        match before {
            NONE => list.first = next,
            before => self.items[before as usize].1 = next,
        }
        if next == NONE {
            list.last = before;
        }
        self.items[at as usize].1 = self.free;
        self.free = at;
        Some(item)
    }

    /// The items of a list in order.
    pub(crate) fn iter(&self, list: List) -> impl Iterator<Item = T> {
        let mut at = list.first;
        std::iter::from_fn(move || {
            let (item, next) = *self.items.get(at as usize).filter(|_| at != NONE)?;
            at = next;
            Some(item)
        })
    }
}
