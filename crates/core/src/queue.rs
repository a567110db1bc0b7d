//! Event queues: ordered by (time, key), without allocation once warm.

use crate::Time;

/// A priority queue of dense keys, each with at most one date; the date of a key can be moved.
///
/// A 4-ary heap with positions: `set`, `remove` and `pop` cost O(log n) and touch one cache line
/// per level. Equal dates leave in the order of their keys, so the order never depends on history.
#[derive(Debug, Default, Clone)]
pub struct IndexedQueue {
    heap: Vec<(Time, u32)>,
    /// Place of each key in `heap`, `ABSENT` when it has no date.
    place: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

impl IndexedQueue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of keys with a date.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no key has a date.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The earliest date and its key.
    #[inline]
    pub fn peek(&self) -> Option<(Time, u32)> {
        self.heap.first().copied()
    }

    /// The date of `key`.
    #[inline]
    pub fn date(&self, key: u32) -> Option<Time> {
        match self.place.get(key as usize) {
            Some(&at) if at != ABSENT => Some(self.heap[at as usize].0),
            _ => None,
        }
    }

    /// Gives `key` the date `at`, moving it if it had one.
    #[inline]
    pub fn set(&mut self, key: u32, at: Time) {
        if key as usize >= self.place.len() {
            self.place.resize(key as usize + 1, ABSENT);
        }
        let place = self.place[key as usize];
        if place == ABSENT {
            self.heap.push((at, key));
            self.up(self.heap.len() - 1, (at, key));
        } else {
            let entry = (at, key);
            if entry < self.heap[place as usize] {
                self.up(place as usize, entry);
            } else {
                self.down(place as usize, entry);
            }
        }
    }

    /// Takes the date of `key` away.
    pub fn remove(&mut self, key: u32) {
        let Some(&place) = self.place.get(key as usize) else { return };
        if place == ABSENT {
            return;
        }
        self.place[key as usize] = ABSENT;
        let last = self.heap.pop().expect("a key with a place is in the heap");
        let place = place as usize;
        if place < self.heap.len() {
            if place > 0 && last < self.heap[(place - 1) / ARITY] {
                self.up(place, last);
            } else {
                self.down(place, last);
            }
        }
    }

    /// Takes the earliest date and its key out.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, u32)> {
        let top = *self.heap.first()?;
        self.place[top.1 as usize] = ABSENT;
        let last = self.heap.pop().expect("not empty");
        if !self.heap.is_empty() {
            self.down(0, last);
        }
        Some(top)
    }

    /// Moves the hole at `at` towards the root until `entry` fits.
    #[inline]
    fn up(&mut self, mut at: usize, entry: (Time, u32)) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    /// Moves the hole at `at` towards the leaves until `entry` fits.
    #[inline]
    fn down(&mut self, mut at: usize, entry: (Time, u32)) {
        loop {
            let first = at * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let last = (first + ARITY).min(self.heap.len());
            let mut least = first;
            for child in first + 1..last {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if entry <= self.heap[least] {
                break;
            }
            self.put(at, self.heap[least]);
            at = least;
        }
        self.put(at, entry);
    }

    #[inline]
    fn put(&mut self, at: usize, entry: (Time, u32)) {
        self.heap[at] = entry;
        self.place[entry.1 as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is set, moved and removed, the queue leaves in the order of a sorted set.
        #[test]
        fn it_agrees_with_a_sorted_set(ops in prop::collection::vec((0..4_u8, 0..20_u32, 0..50_u64), 0..400)) {
            let mut queue = IndexedQueue::new();
            let mut model: BTreeSet<(Time, u32)> = BTreeSet::new();
            for (op, key, at) in ops {
                let at = Time::from_ps(at);
                match op {
                    0 | 1 => {
                        model.retain(|&(_, k)| k != key);
                        model.insert((at, key));
                        queue.set(key, at);
                    }
                    2 => {
                        model.retain(|&(_, k)| k != key);
                        queue.remove(key);
                    }
                    _ => prop_assert_eq!(queue.pop(), model.pop_first()),
                }
                prop_assert_eq!(queue.peek(), model.first().copied());
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
