//! The calendar of sources: who has something to send in which cycle.
//!
//! A wheel of buckets for the near future and a heap for the rest: an entry costs the same whatever the
//! number of sources, and empty cycles cost a bit each. Where many of them send in every cycle, a list of their dates.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Cycles of the wheel, a multiple of 64.
const CYCLES: u64 = 1024;

/// Where so many of those who can be noted are due in each cycle, one in so many, the dates of all are looked at: that takes
/// fewer instructions than to put those few somewhere and to put them in order.
const SELDOM: f64 = 1.0 / 32.0;

/// Who is due when.
#[derive(Debug)]
pub(super) enum Calendar {
    /// Anybody may be noted for any number of cycles.
    Wheel(Wheel),
    /// Everybody for one at a time.
    Dates(Dates),
}

impl Calendar {
    /// Nothing, of what will concern `who`, of whom the part `share` is due in each cycle, if everybody is noted `once` at a time.
    pub(super) fn new(who: Range<u32>, once: bool, share: f64) -> Self {
        if once && share >= SELDOM { Self::Dates(Dates::new(who)) } else { Self::Wheel(Wheel::new(who)) }
    }

    /// Notes `who` for `cycle`, or for the present one where that is over.
    #[inline]
    pub(super) fn add(&mut self, cycle: u64, who: u32) {
        match self {
            Self::Wheel(wheel) => wheel.add(cycle, who),
            Self::Dates(dates) => dates.add(cycle, who),
        }
    }

    /// The first cycle with an entry, not before the present one.
    pub(super) fn next(&self) -> Option<u64> {
        match self {
            Self::Wheel(wheel) => wheel.next(),
            Self::Dates(dates) => dates.next(),
        }
    }

    /// Appends everybody noted for `cycle` or before, in ascending order, each once; the present is then the
    /// cycle behind it.
    pub(super) fn take(&mut self, cycle: u64, out: &mut Vec<u32>) {
        match self {
            Self::Wheel(wheel) => wheel.take(cycle, out),
            Self::Dates(dates) => dates.take(cycle, out),
        }
    }
}

/// A date of everybody.
#[derive(Debug)]
pub(super) struct Dates {
    first: u32,
    /// Cycles before this one are over.
    now: u64,
    /// By who; filled up with those who are never due.
    dates: Vec<[i64; 64]>,
}

impl Dates {
    /// No date, later than all others.
    const NEVER: i64 = i64::MAX;

    fn new(who: Range<u32>) -> Self {
        Self { first: who.start, now: 0, dates: vec![[Self::NEVER; 64]; who.len().div_ceil(64)] }
    }

    #[inline]
    fn add(&mut self, cycle: u64, who: u32) {
        let who = (who - self.first) as usize;
        self.dates[who / 64][who % 64] = i64::try_from(cycle).unwrap_or(Self::NEVER);
    }

    fn next(&self) -> Option<u64> {
        let first = self.dates.as_flattened().iter().min().filter(|&&date| date != Self::NEVER)?;
        Some((*first as u64).max(self.now))
    }

    fn take(&mut self, cycle: u64, out: &mut Vec<u32>) {
        let until = i64::try_from(cycle).unwrap_or(Self::NEVER);
        for (word, dates) in (0..).zip(&mut self.dates) {
            let mut due = dates.iter().rev().fold(0, |due, &date| due << 1 | u64::from(date <= until));
            while due != 0 {
                let place = due.trailing_zeros();
                due &= due - 1;
                dates[place as usize] = Self::NEVER;
                out.push(self.first + word * 64 + place);
            }
        }
        self.now = self.now.max(cycle + 1);
    }
}

/// Entries by cycle.
#[derive(Debug)]
pub(super) struct Wheel {
    buckets: Vec<Vec<u32>>,
    /// Memory of buckets that have been emptied: the last one, still in the caches, is filled next.
    spare: Vec<Vec<u32>>,
    /// Which buckets hold something.
    filled: [u64; CYCLES as usize / 64],
    /// Cycles before this one are over.
    now: u64,
    far: BinaryHeap<Reverse<(u64, u32)>>,
    /// The first of those who can be noted.
    first: u32,
    /// A bit for each of them, to put many in order; empty between calls.
    marks: Vec<u64>,
}

impl Wheel {
    fn new(who: Range<u32>) -> Self {
        Self {
            first: who.start,
            marks: vec![0; who.len().div_ceil(64)],
            buckets: vec![Vec::new(); CYCLES as usize],
            spare: Vec::new(),
            filled: [0; CYCLES as usize / 64],
            now: 0,
            far: BinaryHeap::new(),
        }
    }

    #[inline]
    fn add(&mut self, cycle: u64, who: u32) {
        let cycle = cycle.max(self.now);
        if cycle - self.now >= CYCLES {
            self.far.push(Reverse((cycle, who)));
            return;
        }
        let at = (cycle % CYCLES) as usize;
        let bucket = &mut self.buckets[at];
        if bucket.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *bucket = spare;
        }
        bucket.push(who);
        self.filled[at / 64] |= 1 << (at % 64);
    }

    fn next(&self) -> Option<u64> {
        let far = self.far.peek().map(|Reverse((cycle, _))| *cycle);
        let start = (self.now % CYCLES) as usize;
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
        let near = near.map(|at| self.now + (at as u64 + CYCLES - start as u64) % CYCLES);
        match (near, far) {
            (Some(near), Some(far)) => Some(near.min(far)),
            (near, far) => near.or(far),
        }
    }

    fn take(&mut self, cycle: u64, out: &mut Vec<u32>) {
        let start = out.len();
        // nearly always the present one
        while self.now < cycle
            && let Some(next) = self.next().filter(|&next| next <= cycle)
        {
            self.now = next;
            self.take_present(out);
            self.now += 1;
        }
        if self.now == cycle {
            self.take_present(out);
        }
        self.now = self.now.max(cycle + 1);
        self.put_in_order(start, out);
    }

    /// Appends everybody noted for the present cycle.
    fn take_present(&mut self, out: &mut Vec<u32>) {
        let at = (self.now % CYCLES) as usize;
        if !self.buckets[at].is_empty() {
            let mut bucket = std::mem::take(&mut self.buckets[at]);
            out.append(&mut bucket);
            self.spare.push(bucket);
            self.filled[at / 64] &= !(1 << (at % 64));
        }
        while let Some(&Reverse((due, who))) = self.far.peek()
            && due <= self.now
        {
            out.push(who);
            self.far.pop();
        }
    }

    /// Sorts what stands from `start` on, each once.
    fn put_in_order(&mut self, start: usize, out: &mut Vec<u32>) {
        // a few are sorted sooner than all marks are looked at
        if out.len() - start < self.marks.len() / 4 {
            out[start..].sort_unstable();
            let mut kept = start;
            for at in start..out.len() {
                if at == start || out[at] != out[at - 1] {
                    out[kept] = out[at];
                    kept += 1;
                }
            }
            out.truncate(kept);
            return;
        }
        for &who in &out[start..] {
            let index = (who - self.first) as usize;
            self.marks[index / 64] |= 1 << (index % 64);
        }
        out.truncate(start);
        for (word, marks) in (0..).zip(&mut self.marks) {
            while *marks != 0 {
                out.push(self.first + word * 64 + marks.trailing_zeros());
                *marks &= *marks - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stratasim_core::random::Draws;

    use super::*;

    #[test]
    fn the_calendar_is_a_sorted_map() {
        // few and many of those that there are
        sorts(7..57);
        sorts(7..10_007);
    }

    fn sorts(range: Range<u32>) {
        let mut draws = Draws::new(1);
        let mut calendar = Calendar::new(range.clone(), false, 1.0);
        let mut literal: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        let mut now = 0;
        for _ in 0..20_000 {
            for _ in 0..draws.below(4) {
                let far = [3, 70, 1500, 40_000][draws.below(4) as usize];
                let cycle = now + u64::from(draws.below(far));
                let who = range.start + draws.below(range.len() as u32);
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
        for share in [0.0, 1.0] {
            let mut calendar = Calendar::new(0..50, true, share);
            let mut out = Vec::new();
            calendar.take(5000, &mut out);
            calendar.add(17, 3);
            assert_eq!(calendar.next(), Some(5001));
            calendar.take(5001, &mut out);
            assert_eq!((out, calendar.next()), (vec![3], None));
        }
    }

    #[test]
    fn dates_of_all_are_the_same_as_entries_of_some() {
        for who in [7..8, 7..71, 3..1_030] {
            let mut draws = Draws::new(2);
            let [mut seldom, mut often] = [0.0, 1.0].map(|share| Calendar::new(who.clone(), true, share));
            assert!(matches!((&seldom, &often), (Calendar::Wheel(_), Calendar::Dates(_))));
            let mut noted: Vec<u32> = who.clone().filter(|number| number % 3 != 0).collect();
            let mut now = 0;
            for _ in 0..3_000 {
                for who in noted.drain(..) {
                    let cycle = now + u64::from(draws.below(100));
                    let cycle = if draws.below(50) == 0 { cycle + 5_000 } else { cycle };
                    seldom.add(cycle, who);
                    often.add(cycle, who);
                }
                assert_eq!(seldom.next(), often.next());
                let until = now + u64::from(draws.below(3));
                seldom.take(until, &mut noted);
                let mut others = Vec::new();
                often.take(until, &mut others);
                assert_eq!(noted, others);
                now = until + 1;
            }
        }
    }
}
