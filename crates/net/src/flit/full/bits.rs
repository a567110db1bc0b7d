//! A set of numbers below a bound, visited in ascending order.

/// One bit per number.
#[derive(Debug, Clone, Default)]
pub(super) struct BitSet(Vec<u64>);

impl BitSet {
    pub(super) fn new(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(64)])
    }

    #[inline]
    pub(super) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    #[inline]
    pub(super) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// The first member in `from..end`. The set may change between two calls.
    #[inline]
    pub(super) fn next(&self, from: usize, end: usize) -> Option<usize> {
        if from >= end {
            return None;
        }
        let mut place = from / 64;
        let mut word = self.0[place] & (!0 << (from % 64));
        loop {
            if word != 0 {
                let number = place * 64 + word.trailing_zeros() as usize;
                return (number < end).then_some(number);
            }
            place += 1;
            if place * 64 >= end {
                return None;
            }
            word = self.0[place];
        }
    }
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
}
