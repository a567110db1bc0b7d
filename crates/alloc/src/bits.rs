//! A set of small numbers with 64-ary summaries: the least member is a few word scans away, however large the set.

use std::ops::Range;

/// A set of numbers below a bound. Level 0 has a bit per number; a bit of level `k + 1` says that a word of level `k`
/// is not zero. 64 numbers need one level, 262,144 need three.
#[derive(Debug, Clone, Default)]
pub struct BitTree {
    /// From the numbers upwards; the last level is one word. Empty until the first insertion, so that sets which stay
    /// empty cost nothing.
    levels: Vec<Vec<u64>>,
    bound: u32,
    members: u32,
}

impl BitTree {
    /// An empty set of numbers below `bound`.
    pub const fn new(bound: u32) -> Self {
        Self { levels: Vec::new(), bound, members: 0 }
    }

    /// Number of members.
    pub const fn len(&self) -> u32 {
        self.members
    }

    /// Whether there is no member.
    pub const fn is_empty(&self) -> bool {
        self.members == 0
    }

    /// Whether `number` is a member.
    pub fn contains(&self, number: u32) -> bool {
        let word = self.levels.first().and_then(|level| level.get(number as usize / 64));
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds `number`; nothing happens when it is a member.
    ///
    /// # Panics
    /// When it is not below the bound.
    pub fn insert(&mut self, number: u32) {
        assert!(number < self.bound, "{number} is not below the bound {}", self.bound);
        if self.contains(number) {
            return;
        }
        if self.levels.is_empty() {
            self.grow();
        }
        self.members += 1;
        let mut at = number as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let was = *word;
            *word |= 1 << (at % 64);
            if was != 0 {
                break;
            }
            at /= 64;
        }
    }

    /// Takes `number` out; nothing happens when it is no member.
    pub fn remove(&mut self, number: u32) {
        if !self.contains(number) {
            return;
        }
        self.members -= 1;
        let mut at = number as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                break;
            }
            at /= 64;
        }
    }

    /// Adds the numbers of a range, none of which is a member yet.
    ///
    /// # Panics
    /// When the range does not end below the bound.
    pub fn insert_range(&mut self, range: Range<u32>) {
        assert!(range.end <= self.bound, "{} is above the bound {}", range.end, self.bound);
        if range.is_empty() {
            return;
        }
        if self.levels.is_empty() {
            self.grow();
        }
        self.members += range.end - range.start;
        let (mut first, mut last) = (range.start as usize, range.end as usize - 1);
        for level in &mut self.levels {
            for_words(level, first, last, |word, mask| *word |= mask);
            (first, last) = (first / 64, last / 64);
        }
    }

    /// Takes the numbers of a range out, all of which are members.
    pub fn remove_range(&mut self, range: Range<u32>) {
        if range.is_empty() {
            return;
        }
        self.members -= range.end - range.start;
        let (mut first, mut last) = (range.start as usize, range.end as usize - 1);
        for level in &mut self.levels {
            for_words(level, first, last, |word, mask| *word &= !mask);
            // the words between have no other members, those at the ends may
            let (start, end) = (first / 64, last / 64);
            first = start + usize::from(level[start] != 0);
            let behind = end + 1 - usize::from(level[end] != 0);
            if first >= behind {
                return;
            }
            last = behind - 1;
        }
    }

    /// The least member.
    pub fn first(&self) -> Option<u32> {
        if self.members == 0 {
            return None;
        }
        let mut at = 0_usize;
        for level in self.levels.iter().rev() {
            at = at * 64 + level[at].trailing_zeros() as usize;
        }
        Some(at as u32)
    }

    /// The least member that is not below `from`.
    pub fn next(&self, from: u32) -> Option<u32> {
        if self.members == 0 || from >= self.bound {
            return None;
        }
        // up until a word has something at or after the place, then down to the least below it
        let mut at = from as usize;
        for (height, level) in self.levels.iter().enumerate() {
            if at / 64 >= level.len() {
                return None;
            }
            let rest = level[at / 64] & (u64::MAX << (at % 64));
            if rest != 0 {
                at = at / 64 * 64 + rest.trailing_zeros() as usize;
                for below in self.levels[..height].iter().rev() {
                    at = at * 64 + below[at].trailing_zeros() as usize;
                }
                return Some(at as u32);
            }
            at = at / 64 + 1;
        }
        None
    }

    /// The least number at or after `from` that is no member; the bound when there is none.
    pub fn next_absent(&self, from: u32) -> u32 {
        let Some(level) = self.levels.first() else { return from };
        let mut at = from as usize;
        while at < self.bound as usize {
            let rest = !level[at / 64] & (u64::MAX << (at % 64));
            if rest != 0 {
                return self.bound.min((at / 64 * 64) as u32 + rest.trailing_zeros());
            }
            at = (at / 64 + 1) * 64;
        }
        self.bound
    }

    /// The least start of `length` consecutive members; `length` is not 0.
    pub fn first_run(&self, length: u32) -> Option<u32> {
        let first = self.first()?;
        let level = &self.levels[0];
        // members that end at the border between the words before and this one
        let mut run = 0;
        for (index, &word) in level.iter().enumerate().skip(first as usize / 64) {
            if run + word.trailing_ones() >= length {
                return Some(index as u32 * 64 - run);
            }
            if word == u64::MAX {
                run += 64;
                continue;
            }
            let starts = run_starts(word, length);
            if starts != 0 {
                return Some(index as u32 * 64 + starts.trailing_zeros());
            }
            run = word.leading_ones();
        }
        None
    }

    /// The length of the longest run of consecutive members.
    pub fn longest_run(&self) -> u32 {
        let (mut most, mut from) = (0, 0);
        while let Some(start) = self.next(from) {
            from = self.next_absent(start);
            most = most.max(from - start);
        }
        most
    }

    /// Another bound; members at or above it are taken out.
    pub fn set_bound(&mut self, bound: u32) {
        let members: Vec<u32> = std::iter::successors(self.first(), |&last| self.next(last + 1))
            .take_while(|&number| number < bound)
            .collect();
        *self = Self::new(bound);
        for number in members {
            self.insert(number);
        }
    }

    fn grow(&mut self) {
        let mut words = self.bound as usize;
        loop {
            words = words.div_ceil(64);
            self.levels.push(vec![0; words]);
            if words == 1 {
                return;
            }
        }
    }
}

/// Gives `change` the words of the bits `first` to `last`, with a mask of these.
fn for_words(level: &mut [u64], first: usize, last: usize, change: impl Fn(&mut u64, u64)) {
    let (start, end) = (first / 64, last / 64);
    for (index, word) in (start..).zip(&mut level[start..=end]) {
        let low = if index == start { u64::MAX << (first % 64) } else { u64::MAX };
        let high = if index == end { u64::MAX >> (63 - last % 64) } else { u64::MAX };
        change(word, low & high);
    }
}

/// Bits at which `length` ones start within the word. Halves the work: a run of 2k is two of k.
const fn run_starts(mut word: u64, length: u32) -> u64 {
    if length > 64 {
        return 0;
    }
    let mut have = 1;
    while have < length && word != 0 {
        let step = if have < length - have { have } else { length - have };
        word &= word >> step;
        have += step;
    }
    word
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_tree_is_the_ordered_set(
            bound in 1_u32..10_000,
            steps in prop::collection::vec((any::<bool>(), any::<u32>()), 1..300),
        ) {
            let (mut tree, mut set) = (BitTree::new(bound), BTreeSet::new());
            for (add, number) in steps {
                // runs grow when numbers are near to each other
                let number = number % bound.min(200) + if number % 7 == 0 { bound - bound.min(200) } else { 0 };
                if add {
                    tree.insert(number);
                    set.insert(number);
                } else {
                    tree.remove(number);
                    set.remove(&number);
                }
                // a range goes out where all are members, and comes in where none is
                let end = (number..bound).find(|at| set.contains(at) != set.contains(&number)).unwrap_or(bound);
                if set.contains(&number) && add {
                    tree.remove_range(number..end);
                    (number..end).for_each(|at| { set.remove(&at); });
                } else if !set.contains(&number) && !add {
                    tree.insert_range(number..end.min(number + 200));
                    set.extend(number..end.min(number + 200));
                }
                prop_assert_eq!(tree.len() as usize, set.len());
                prop_assert_eq!(tree.first(), set.first().copied());
                prop_assert_eq!(tree.next(number), set.range(number..).next().copied());
                let absent = (number..bound).find(|at| !set.contains(at)).unwrap_or(bound);
                prop_assert_eq!(tree.next_absent(number), absent);
            }
            let longest = |set: &BTreeSet<u32>| {
                let mut run = 0;
                (0..bound).map(|at| { run = if set.contains(&at) { run + 1 } else { 0 }; run }).max()
            };
            prop_assert_eq!(Some(tree.longest_run()), longest(&set));
            for length in [1, 2, 5] {
                let naive = (0..bound).find(|&at| (at..at + length).all(|place| set.contains(&place)));
                prop_assert_eq!(tree.first_run(length), naive);
            }
            tree.set_bound(bound / 2 + 1);
            set.retain(|&number| number < bound / 2 + 1);
            prop_assert_eq!(tree.len() as usize, set.len());
            prop_assert_eq!(tree.next(0), set.first().copied());
        }
    }
}
