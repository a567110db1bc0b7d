//! A vector in parts, one per rank.

use std::ops::Range;

/// The elements of part `rank` of `count` elements in `ranks` parts: consecutive, and the first `count % ranks` parts
/// have one more.
pub fn part(count: usize, ranks: u32, rank: u32) -> Range<usize> {
    let (ranks, rank) = (ranks as usize, rank as usize);
    let (each, more) = (count / ranks, count % ranks);
    let start = rank * each + rank.min(more);
    start..start + each + usize::from(rank < more)
}

/// The parts of a vector, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) count: usize,
    pub(crate) element_bytes: usize,
    pub(crate) ranks: u32,
}

impl Parts {
    /// Bytes of part `rank`.
    pub(crate) fn range(&self, rank: u32) -> Range<usize> {
        let part = part(self.count, self.ranks, rank);
        part.start * self.element_bytes..part.end * self.element_bytes
    }

    /// Bytes of the largest part.
    pub(crate) fn largest(&self) -> usize {
        self.range(0).len()
    }

    /// What of part `rank` lies in the piece of `piece_bytes` that starts at `from`; parts may differ in length.
    pub(crate) fn piece(&self, rank: u32, from: usize, piece_bytes: usize) -> Range<usize> {
        let part = self.range(rank);
        let start = part.end.min(part.start + from);
        start..part.end.min(start + piece_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_one_another_and_differ_by_one_at_most() {
        for count in [0, 1, 2, 7, 8, 9, 1000] {
            for ranks in 1..=8 {
                let parts: Vec<_> = (0..ranks).map(|rank| part(count, ranks, rank)).collect();
                assert_eq!(parts[0].start, 0);
                assert!(
                    parts
                        .windows(2)
                        .all(|pair| pair[0].end == pair[1].start && pair[0].len() >= pair[1].len())
                );
                assert_eq!(parts[ranks as usize - 1].end, count);
                assert!(parts[0].len() - parts[ranks as usize - 1].len() <= 1);
            }
        }
    }
}
