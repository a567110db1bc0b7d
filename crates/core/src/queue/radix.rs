//! A queue for clocks that never go back.

/// A priority queue for items whose dates never lie before the date that left last.
///
/// A radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path
/// problem", 1990): an item waits in the bucket of the highest bit in which its date differs from the
/// last one that left, and moves down at most once per bit. Pushing costs one append, and memory is
/// walked in order. Items of one date leave in the order in which they came.
#[derive(Debug, Clone)]
pub struct RadixQueue<T> {
    /// Bucket `b > 0`: dates that differ from `last` in bit `b - 1` and in none above; bucket 0: `last`.
    buckets: Vec<Vec<(u64, T)>>,
    /// Bit `b` is set when bucket `b + 1` holds something.
    occupied: u64,
    /// Bit `b` is set when bucket `b + 1` holds more than one date.
    mixed: u64,
    /// Buffers that no bucket needs.
    spare: Vec<Vec<(u64, T)>>,
    /// First item of bucket 0 that has not left.
    head: usize,
    last: u64,
    len: usize,
    /// The earliest date, where it is known.
    earliest: Option<u64>,
}

impl<T: Copy> Default for RadixQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> RadixQueue<T> {
    /// An empty queue at date 0.
    pub fn new() -> Self {
        Self {
            buckets: std::iter::repeat_with(Vec::new).take(65).collect(),
            occupied: 0,
            mixed: 0,
            spare: Vec::new(),
            head: 0,
            last: 0,
            len: 0,
            earliest: None,
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The date that left last; nothing earlier may be pushed.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Adds an item.
    ///
    /// # Panics
    /// In debug builds, when `date` lies before the date that left last.
    #[inline]
    pub fn push(&mut self, date: u64, item: T) {
        debug_assert!(date >= self.last, "dates never go back");
        self.put(date, item);
        self.len += 1;
        if self.len == 1 || self.earliest.is_some_and(|earliest| date < earliest) {
            self.earliest = Some(date);
        }
    }

    #[inline]
    fn put(&mut self, date: u64, item: T) {
        let bucket = (u64::BITS - (date ^ self.last).leading_zeros()) as usize;
        let items = &mut self.buckets[bucket];
        if bucket > 0 {
            let bit = 1 << (bucket - 1);
            self.occupied |= bit;
            if items.last().is_some_and(|(other, _)| *other != date) {
                self.mixed |= bit;
            }
        }
        if items.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *items = spare;
        }
        items.push((date, item));
    }

    /// Bucket 0 is used up.
    fn clear_instant(&mut self) {
        self.buckets[0].clear();
        self.head = 0;
        self.earliest = None;
    }

    /// The earliest date.
    #[inline]
    pub fn earliest(&mut self) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        if self.earliest.is_none() {
            self.earliest = if self.head < self.buckets[0].len() {
                Some(self.last)
            } else {
                let bit = self.occupied.trailing_zeros();
                let items = &self.buckets[bit as usize + 1];
                match self.mixed >> bit & 1 {
                    0 => items.first().map(|(date, _)| *date),
                    _ => items.iter().map(|(date, _)| *date).min(),
                }
            };
        }
        self.earliest
    }

    /// Takes out the item with the earliest date.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, T)> {
        if self.head == self.buckets[0].len() {
            let earliest = self.earliest()?;
            self.advance(earliest);
        }
        let (date, item) = self.buckets[0][self.head];
        self.head += 1;
        self.len -= 1;
        if self.head == self.buckets[0].len() {
            self.clear_instant();
        }
        Some((date, item))
    }

    /// Takes out the item with the earliest date, if that is not after `until`.
    #[inline]
    pub fn pop_until(&mut self, until: u64) -> Option<(u64, T)> {
        if self.earliest()? > until {
            return None;
        }
        self.pop()
    }

    /// The item that leaves after the next `places`, where it is of the instant in hand.
    #[inline]
    pub fn later(&self, places: usize) -> Option<&T> {
        self.buckets[0].get(self.head + places).map(|(_, item)| item)
    }

    /// Appends all items of the earliest date to `out`, in the order in which they came; the date.
    pub fn pop_all(&mut self, out: &mut Vec<T>) -> Option<u64> {
        if self.head == self.buckets[0].len() {
            let earliest = self.earliest()?;
            self.advance(earliest);
        }
        out.extend(self.buckets[0][self.head..].iter().map(|(_, item)| *item));
        self.len -= self.buckets[0].len() - self.head;
        self.clear_instant();
        Some(self.last)
    }

    /// Makes `to`, the earliest date, the last one that left: its bucket is spread over those below.
    fn advance(&mut self, to: u64) {
        let bucket = (u64::BITS - (to ^ self.last).leading_zeros()) as usize;
        self.last = to;
        self.earliest = Some(to);
        if bucket == 0 {
            return;
        }
        let bit = 1 << (bucket - 1);
        self.occupied &= !bit;
        if self.mixed & bit == 0 {
            // one date: as it is, it becomes the bucket of that date, which is empty
            self.buckets.swap(0, bucket);
            let empty = std::mem::take(&mut self.buckets[bucket]);
            return self.keep(empty);
        }
        self.mixed &= !bit;
        // all of them agree with `to` in the bits from this bucket's on: they move to lower buckets
        let mut items = std::mem::take(&mut self.buckets[bucket]);
        for (date, item) in items.drain(..) {
            self.put(date, item);
        }
        self.keep(items);
    }

    fn keep(&mut self, buffer: Vec<(u64, T)>) {
        if buffer.capacity() > 0 {
            self.spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Items leave by date, and those of one date in the order in which they came.
        #[test]
        fn it_agrees_with_a_sorted_set(ops in prop::collection::vec((0..6_u8, 0..60_u64, 0..40_u32), 0..400)) {
            let mut queue = RadixQueue::new();
            let mut model: BTreeSet<(u64, usize)> = BTreeSet::new();
            for (number, (op, after, shift)) in ops.into_iter().enumerate() {
                match op {
                    0..=2 => {
                        let date = queue.last().saturating_add(after << shift);
                        queue.push(date, number);
                        model.insert((date, number));
                    }
                    3 => prop_assert_eq!(queue.pop(), model.pop_first()),
                    4 => {
                        let until = queue.last().saturating_add(after << shift);
                        let due = model.first().copied().filter(|(date, _)| *date <= until);
                        prop_assert_eq!(queue.pop_until(until), due);
                        due.map(|due| model.remove(&due));
                    }
                    _ => {
                        let mut found = Vec::new();
                        let date = queue.pop_all(&mut found);
                        prop_assert_eq!(date, model.first().map(|(date, _)| *date));
                        let all: Vec<_> = model.iter().filter(|(at, _)| Some(*at) == date).map(|(_, n)| *n).collect();
                        prop_assert_eq!(found, all);
                        model.retain(|(at, _)| Some(*at) != date);
                    }
                }
                prop_assert_eq!(queue.earliest(), model.first().map(|(date, _)| *date));
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
