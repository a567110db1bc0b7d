//! Event queues: ordered by time, without allocation once warm.

mod radix;

pub use radix::RadixQueue;

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

/// A priority queue of dense keys in which many keys may share a date cheaply.
///
/// Keys that get the same date one after the other form a group; the heap holds groups. A thousand
/// ranks in step cost one heap operation, not a thousand. Keys of one date leave in the order in which
/// they got it, group by group.
#[derive(Debug, Default, Clone)]
pub struct GroupedQueue {
    groups: IndexedQueue,
    heads: Vec<Group>,
    free: Vec<u32>,
    keys: Vec<Key>,
    /// The group that last got a key, and its date.
    recent: Option<(Time, u32)>,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    first: u32,
    last: u32,
}

/// Neighbours in the group's list.
#[derive(Debug, Clone, Copy)]
struct Key {
    group: u32,
    previous: u32,
    next: u32,
}

impl GroupedQueue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of keys with a date.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no key has a date.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The earliest date and the key that leaves next.
    #[inline]
    pub fn peek(&self) -> Option<(Time, u32)> {
        let (at, group) = self.groups.peek()?;
        Some((at, self.heads[group as usize].first))
    }

    /// Gives `key` the date `at`, moving it if it had one.
    #[inline]
    pub fn set(&mut self, key: u32, at: Time) {
        if key as usize >= self.keys.len() {
            self.keys.resize(key as usize + 1, Key { group: ABSENT, previous: ABSENT, next: ABSENT });
        }
        let Key { group, previous, next } = self.keys[key as usize];
        if group != ABSENT {
            let alone = previous == ABSENT && next == ABSENT;
            if alone && self.recent.is_none_or(|(recent, _)| recent != at) {
                self.groups.set(group, at);
                self.recent = Some((at, group));
                return;
            }
            self.remove(key);
        }
        self.len += 1;
        match self.recent {
            Some((recent, group)) if recent == at => {
                let last = std::mem::replace(&mut self.heads[group as usize].last, key);
                self.keys[last as usize].next = key;
                self.keys[key as usize] = Key { group, previous: last, next: ABSENT };
            }
            _ => {
                let new = Group { first: key, last: key };
                let group = match self.free.pop() {
                    Some(group) => {
                        self.heads[group as usize] = new;
                        group
                    }
                    None => {
                        self.heads.push(new);
                        self.heads.len() as u32 - 1
                    }
                };
                self.groups.set(group, at);
                self.keys[key as usize] = Key { group, previous: ABSENT, next: ABSENT };
                self.recent = Some((at, group));
            }
        }
    }

    /// Takes the date of `key` away.
    #[inline]
    pub fn remove(&mut self, key: u32) {
        let Some(&Key { group, previous, next }) = self.keys.get(key as usize) else { return };
        if group == ABSENT {
            return;
        }
        self.len -= 1;
        self.keys[key as usize].group = ABSENT;
        match (previous, next) {
            (ABSENT, ABSENT) => {
                self.groups.remove(group);
                self.free.push(group);
                if self.recent.is_some_and(|(_, recent)| recent == group) {
                    self.recent = None;
                }
                return;
            }
            (ABSENT, _) => self.heads[group as usize].first = next,
            (_, ABSENT) => self.heads[group as usize].last = previous,
            _ => {}
        }
        if previous != ABSENT {
            self.keys[previous as usize].next = next;
        }
        if next != ABSENT {
            self.keys[next as usize].previous = previous;
        }
    }

    /// Takes the earliest date and its next key out.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, u32)> {
        let (at, key) = self.peek()?;
        self.remove(key);
        Some((at, key))
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

        /// The grouped queue holds the same dates, and leaves by date.
        #[test]
        fn grouped_keys_leave_by_date(ops in prop::collection::vec((0..4_u8, 0..20_u32, 0..9_u64), 0..400)) {
            let mut queue = GroupedQueue::new();
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
                    _ => {
                        let popped = queue.pop();
                        prop_assert_eq!(popped.map(|(at, _)| at), model.first().map(|(at, _)| *at));
                        model.retain(|entry| Some(*entry) != popped);
                    }
                }
                prop_assert_eq!(queue.peek().map(|(at, _)| at), model.first().map(|(at, _)| *at));
                prop_assert_eq!(queue.len(), model.len());
            }
            while let Some(entry) = queue.pop() {
                prop_assert!(model.remove(&entry));
            }
            prop_assert!(model.is_empty());
        }
    }
}
