//! A set of numbers below a bound, visited in ascending order.

/// One bit per number. Most sets of a large network are nearly empty: above the words, bits say which of them are not zero, and
/// above those again.
#[derive(Debug, Clone, Default)]
pub(super) struct BitSet {
    words: Vec<u64>,
    /// The words that are not zero.
    some: Vec<u64>,
    /// The words of `some` that are not.
    any: Vec<u64>,
}

impl BitSet {
    pub(super) fn new(bound: usize) -> Self {
        let [words, some, any] = [64, 64 * 64, 64 * 64 * 64].map(|size| vec![0; bound.div_ceil(size)]);
        Self { words, some, any }
    }

    #[inline]
    pub(super) fn insert(&mut self, number: usize) {
        let word = number / 64;
        self.words[word] |= 1 << (number % 64);
        self.some[word / 64] |= 1 << (word % 64);
        self.any[word / (64 * 64)] |= 1 << (word / 64 % 64);
    }

    #[inline]
    pub(super) fn remove(&mut self, number: usize) {
        let word = number / 64;
        self.words[word] &= !(1 << (number % 64));
        if self.words[word] == 0 {
            self.some[word / 64] &= !(1 << (word % 64));
            if self.some[word / 64] == 0 {
                self.any[word / (64 * 64)] &= !(1 << (word / 64 % 64));
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.any.iter().all(|&word| word == 0)
    }

    /// The first member in `from..end`. The set may change between two calls.
    #[inline]
    pub(super) fn next(&self, from: usize, end: usize) -> Option<usize> {
        if from >= end {
            return None;
        }
        let place = from / 64;
        let number = match first_in(&self.words, place, from % 64) {
            Some(number) => number,
            None if (place + 1) * 64 >= end => return None,
            None => self.beyond(place + 1)?,
        };
        (number < end).then_some(number)
    }

    /// The first member from word `place` on.
    fn beyond(&self, place: usize) -> Option<usize> {
        let above = place / 64;
        let place = first_in(&self.some, above, place % 64).or_else(|| {
            let first = (above + 1) / 64;
            let mut any = first..self.any.len();
            let skipped = |at| if at == first { (above + 1) % 64 } else { 0 };
            let above = any.find_map(|at| first_in(&self.any, at, skipped(at)))?;
            first_in(&self.some, above, 0)
        })?;
        first_in(&self.words, place, 0)
    }
}

/// The first set bit of a word from bit `from` on, counted from the first word on.
#[inline]
fn first_in(words: &[u64], place: usize, from: usize) -> Option<usize> {
    let word = words.get(place)? & (!0 << from);
    (word != 0).then(|| place * 64 + word.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn members_come_in_ascending_order_within_any_window() {
        let members: BTreeSet<usize> = (0..300).filter(|n| n * n % 7 == 2 || n % 64 == 63).collect();
        let mut set = BitSet::new(300);
        members.iter().for_each(|&member| set.insert(member));
        for (from, end) in [(0, 300), (1, 64), (63, 65), (64, 64), (100, 299), (290, 300)] {
            let mut seen = Vec::new();
            let mut at = from;
            while let Some(member) = set.next(at, end) {
                seen.push(member);
                at = member + 1;
            }
            assert_eq!(seen, members.range(from..end).copied().collect::<Vec<_>>(), "{from}..{end}");
        }
        members.iter().for_each(|&member| set.remove(member));
        assert!(set.is_empty());
    }

    #[test]
    fn members_far_from_each_other_are_found() {
        let bound = 3 * 64 * 64 * 64 + 5;
        let mut set = BitSet::new(bound);
        let far =
            [0, 63, 64, 4095, 4096, 64 * 4096 - 1, 64 * 4096, 65 * 4096 + 1, 2 * 64 * 4096 + 7, bound - 1];
        far.iter().for_each(|&member| set.insert(member));
        let seen = |set: &BitSet| {
            let after = |from: usize| set.next(from, bound);
            std::iter::successors(after(0), |&member| after(member + 1)).collect::<Vec<_>>()
        };
        assert_eq!(seen(&set), far);
        assert_eq!(set.next(65 * 4096 + 2, 2 * 64 * 4096 + 7), None);
        for left in (0..far.len()).rev() {
            set.remove(far[left]);
            assert_eq!((seen(&set), set.is_empty()), (far[..left].to_vec(), left == 0));
        }
    }
}
