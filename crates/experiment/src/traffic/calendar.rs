//! The calendar of sources: who has something to send in which cycle.
//!
//! A wheel of buckets for the near future and a heap for the rest: an entry costs the same whatever the
//! number of sources, and empty cycles cost a bit each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles of the wheel, a multiple of 64.
const WHEEL: u64 = 1024;

/// Entries by cycle.
#[derive(Debug)]
pub(super) struct Calendar {
    buckets: Vec<Vec<u32>>,
    /// Which buckets hold something.
    filled: [u64; WHEEL as usize / 64],
    /// Cycles before this one are over.
    now: u64,
    far: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Calendar {
    pub(super) fn new() -> Self {
        Self {
            buckets: vec![Vec::new(); WHEEL as usize],
            filled: [0; WHEEL as usize / 64],
            now: 0,
            far: BinaryHeap::new(),
        }
    }

    /// Notes `who` for `cycle`, or for the present one where that is over.
    pub(super) fn add(&mut self, cycle: u64, who: u32) {
        let cycle = cycle.max(self.now);
        if cycle - self.now >= WHEEL {
            self.far.push(Reverse((cycle, who)));
            return;
        }
        let at = (cycle % WHEEL) as usize;
        self.buckets[at].push(who);
        self.filled[at / 64] |= 1 << (at % 64);
    }

    /// The first cycle with an entry, not before the present one.
    pub(super) fn next(&self) -> Option<u64> {
        let far = self.far.peek().map(|Reverse((cycle, _))| *cycle);
        let start = (self.now % WHEEL) as usize;
        let words = self.filled.len();
        let near = (0..=words).find_map(|step| {
            let word = (start / 64 + step) % words;
            let mut bits = self.filled[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            } else if step == words {
                bits &= !(u64::MAX << (start % 64));
            }
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        });
        let near = near.map(|at| self.now + (at as u64 + WHEEL - start as u64) % WHEEL);
        match (near, far) {
            (Some(near), Some(far)) => Some(near.min(far)),
            (near, far) => near.or(far),
        }
    }

    /// Appends everybody noted for `cycle` or before, in ascending order, each once; the present is then the
    /// cycle behind it.
    pub(super) fn take(&mut self, cycle: u64, out: &mut Vec<u32>) {
        let start = out.len();
        while let Some(next) = self.next().filter(|&next| next <= cycle) {
            self.now = next;
            let at = (next % WHEEL) as usize;
            out.append(&mut self.buckets[at]);
            self.filled[at / 64] &= !(1 << (at % 64));
            while let Some(&Reverse((due, who))) = self.far.peek()
                && due <= next
            {
                out.push(who);
                self.far.pop();
            }
        }
        self.now = self.now.max(cycle + 1);
        out[start..].sort_unstable();
        // the vector is nearly always short
        let mut kept = start;
        for at in start..out.len() {
            if at == start || out[at] != out[at - 1] {
                out[kept] = out[at];
                kept += 1;
            }
        }
        out.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stratasim_core::random::Draws;

    use super::*;

    #[test]
    fn the_calendar_is_a_sorted_map() {
        let mut draws = Draws::new(1);
        let mut calendar = Calendar::new();
        let mut literal: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        let mut now = 0;
        for _ in 0..20_000 {
            for _ in 0..draws.below(4) {
                let far = [3, 70, 1500, 40_000][draws.below(4) as usize];
                let cycle = now + u64::from(draws.below(far));
                let who = draws.below(50);
                calendar.add(cycle, who);
                literal.entry(cycle).or_default().push(who);
            }
            assert_eq!(calendar.next(), literal.keys().next().copied());
            let until = now + u64::from(draws.below(5));
            let mut wanted: Vec<u32> = Vec::new();
            while let Some(entry) = literal.first_entry().filter(|entry| *entry.key() <= until) {
                wanted.append(&mut entry.remove());
            }
            wanted.sort_unstable();
            wanted.dedup();
            let mut found = vec![7];
            calendar.take(until, &mut found);
            assert_eq!(found[1..], wanted);
            now = until + 1;
        }
    }

    #[test]
    fn what_is_late_is_due_at_once() {
        let mut calendar = Calendar::new();
        let mut out = Vec::new();
        calendar.take(5000, &mut out);
        calendar.add(17, 3);
        assert_eq!(calendar.next(), Some(5001));
        calendar.take(5001, &mut out);
        assert_eq!((out, calendar.next()), (vec![3], None));
    }
}
