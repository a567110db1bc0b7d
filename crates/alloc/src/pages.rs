//! Coarse blocks: a bitmap of pages, in segments.

use std::ops::Range;

use crate::bits::BitTree;
use crate::error::AllocError;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 8 << 10;
/// Pages of a segment.
pub const PAGES_PER_SEGMENT: u32 = 128;
/// Bytes of a segment.
pub const SEGMENT_BYTES: u64 = PAGE_BYTES * PAGES_PER_SEGMENT as u64;

/// Runs of pages of one memory. Page and segment numbers count from its beginning.
///
/// A run shorter than a segment lies in one segment; a longer one starts with a segment. Segments are kept in sets by
/// their longest free run, and a request goes to the lowest segment of the first set that holds it: best fit between
/// segments, first fit within, and each step is a few word scans.
#[derive(Debug, Clone)]
pub struct Pages {
    /// Of each segment, the pages that are free.
    free: Vec<u128>,
    /// Of each segment, the pages with which a run in use starts.
    starts: Vec<u128>,
    /// Of each segment, its longest free run in pages.
    longest: Vec<u8>,
    /// Segments by their longest free run; entry 0 stays empty.
    by_run: Vec<BitTree>,
    /// Which of `by_run` have members.
    populated: [u128; 2],
    pages: u64,
    free_pages: u64,
}

impl Pages {
    /// The largest memory: 4 TiB.
    pub const MOST_BYTES: u64 = 4 << 40;

    /// A memory of as many whole pages as `capacity_bytes` holds, all free.
    ///
    /// # Errors
    /// [`AllocError::TooLarge`].
    pub fn new(capacity_bytes: u64) -> Result<Self, AllocError> {
        let mut pages = Self {
            free: Vec::new(),
            starts: Vec::new(),
            longest: Vec::new(),
            by_run: vec![BitTree::new(0); PAGES_PER_SEGMENT as usize + 1],
            populated: [0; 2],
            pages: 0,
            free_pages: 0,
        };
        pages.resize(capacity_bytes)?;
        Ok(pages)
    }

    /// Bytes of all pages.
    pub const fn capacity_bytes(&self) -> u64 {
        self.pages * PAGE_BYTES
    }

    /// Bytes of the free pages.
    pub const fn free_bytes(&self) -> u64 {
        self.free_pages * PAGE_BYTES
    }

    /// The largest run that [`Self::allocate`] would give now.
    pub fn largest_bytes(&self) -> u64 {
        let segments = u64::from(self.by_run[PAGES_PER_SEGMENT as usize].longest_run());
        let pages = match segments {
            0 => u64::from(self.longest_populated()),
            _ => segments * u64::from(PAGES_PER_SEGMENT),
        };
        pages * PAGE_BYTES
    }

    /// Takes a run of `count` pages; its first page, or `None` when no run is long enough. `count` is not 0.
    pub fn allocate(&mut self, count: u64) -> Option<u64> {
        let first = if count < u64::from(PAGES_PER_SEGMENT) {
            self.find_within(count as u32)?
        } else {
            let segments = u32::try_from(count.div_ceil(u64::from(PAGES_PER_SEGMENT))).ok()?;
            let segment = self.by_run[PAGES_PER_SEGMENT as usize].first_run(segments)?;
            u64::from(segment) * u64::from(PAGES_PER_SEGMENT)
        };
        self.mark(first, count, false);
        self.starts[(first / 128) as usize] |= 1 << (first % 128);
        Some(first)
    }

    /// Gives the run that starts at page `first` back, and says how many pages it had.
    ///
    /// # Errors
    /// When no run in use starts there; nothing has changed then.
    pub fn free(&mut self, first: u64) -> Result<u64, AllocError> {
        let length = self.run_at(first)?;
        self.starts[(first / 128) as usize] &= !(1 << (first % 128));
        self.mark(first, length, true);
        Ok(length)
    }

    /// Pages of the run in use that starts at page `first`.
    ///
    /// # Errors
    /// [`AllocError::OutsideMemory`], [`AllocError::DoubleFree`] or [`AllocError::Misaligned`].
    pub fn run_at(&self, first: u64) -> Result<u64, AllocError> {
        let offset_bytes = first.saturating_mul(PAGE_BYTES);
        if first >= self.pages {
            return Err(AllocError::OutsideMemory { offset_bytes, capacity_bytes: self.capacity_bytes() });
        }
        let start = self.start_of(first).ok_or(AllocError::DoubleFree { offset_bytes })?;
        if start != first {
            return Err(AllocError::Misaligned { offset_bytes, start_bytes: start * PAGE_BYTES });
        }
        // up to the next page that is free or starts another run
        let mut from = first + 1;
        while from < self.pages {
            let (segment, page) = ((from / 128) as usize, from % 128);
            let ends = (self.free[segment] | self.starts[segment]) & (u128::MAX << page);
            if ends != 0 {
                from = from / 128 * 128 + u64::from(ends.trailing_zeros());
                break;
            }
            from = (from / 128 + 1) * 128;
        }
        Ok(from.min(self.pages) - first)
    }

    /// The first page of the run in use that holds `page`; `None` when the page is free. `page` is one of ours.
    pub fn start_of(&self, page: u64) -> Option<u64> {
        let mut segment = (page / 128) as usize;
        if self.free[segment] >> (page % 128) & 1 == 1 {
            return None;
        }
        let mut before = self.starts[segment] & (u128::MAX >> (127 - page % 128));
        // a page in use has a start at or before it
        while before == 0 {
            segment -= 1;
            before = self.starts[segment];
        }
        Some(segment as u64 * 128 + u64::from(127 - before.leading_zeros()))
    }

    /// Another capacity, in whole pages.
    ///
    /// # Errors
    /// [`AllocError::TooLarge`], and the end of the last run in use as [`AllocError::OutsideMemory`] when that lies
    /// behind the new end; nothing has changed then.
    pub fn resize(&mut self, capacity_bytes: u64) -> Result<(), AllocError> {
        if capacity_bytes > Self::MOST_BYTES {
            return Err(AllocError::TooLarge { capacity_bytes, most_bytes: Self::MOST_BYTES });
        }
        let pages = capacity_bytes / PAGE_BYTES;
        let used = self.used_until();
        if used > pages {
            let offset_bytes = used * PAGE_BYTES;
            return Err(AllocError::OutsideMemory { offset_bytes, capacity_bytes: pages * PAGE_BYTES });
        }
        let segments = pages.div_ceil(128) as usize;
        let before = self.pages;
        if pages < before {
            self.mark(pages, before - pages, false);
        }
        self.free.resize(segments, 0);
        self.starts.resize(segments, 0);
        self.longest.resize(segments, 0);
        for set in &mut self.by_run {
            set.set_bound(segments as u32);
        }
        self.pages = pages;
        if pages > before {
            self.mark(before, pages - before, true);
        }
        Ok(())
    }

    /// One page behind the last run in use.
    pub fn used_until(&self) -> u64 {
        for segment in (0..self.free.len()).rev() {
            let pages = (self.pages - segment as u64 * 128).min(128) as u32;
            let used = !self.free[segment] & (u128::MAX >> (128 - pages));
            if used != 0 {
                return segment as u64 * 128 + u64::from(128 - used.leading_zeros());
            }
        }
        0
    }

    /// The longest run within a segment.
    const fn longest_populated(&self) -> u32 {
        match self.populated {
            [0, 0] => 0,
            [low, 0] => 127 - low.leading_zeros(),
            [_, high] => 255 - high.leading_zeros(),
        }
    }

    fn find_within(&self, count: u32) -> Option<u64> {
        let [low, high] = self.populated;
        let low = low & (u128::MAX << count);
        let run = if low != 0 { low.trailing_zeros() } else { 128 + high.trailing_zeros() };
        let segment = self.by_run.get(run as usize)?.first()?;
        let page = first_run(self.free[segment as usize], count)?;
        Some(u64::from(segment) * 128 + u64::from(page))
    }

    /// Marks a run free or in use, and files its segments anew.
    fn mark(&mut self, first: u64, count: u64, free: bool) {
        let (mut from, end) = (first, first + count);
        // segments that change as a whole go together: they are in the set of whole ones, or come into it
        let whole = from.div_ceil(128)..end / 128;
        if !whole.is_empty() {
            self.mark_whole(whole.start as usize..whole.end as usize, free);
        }
        while from < end {
            if whole.start * 128 == from && !whole.is_empty() {
                from = whole.end * 128;
                continue;
            }
            let segment = (from / 128) as usize;
            let until = end.min((from / 128 + 1) * 128);
            let mask = (u128::MAX >> (128 - (until - from))) << (from % 128);
            let pages = &mut self.free[segment];
            *pages = if free { *pages | mask } else { *pages & !mask };
            let run = longest_run(*pages);
            self.file(segment, run);
            from = until;
        }
        if free {
            self.free_pages += count;
        } else {
            self.free_pages -= count;
        }
    }

    /// Marks whole segments free, none of whose pages is, or in use, all of whose pages are free.
    fn mark_whole(&mut self, segments: Range<usize>, free: bool) {
        const WHOLE: usize = PAGES_PER_SEGMENT as usize;
        let (pages, run) = if free { (u128::MAX, WHOLE as u8) } else { (0, 0) };
        self.free[segments.clone()].fill(pages);
        self.longest[segments.clone()].fill(run);
        let (set, numbers) = (&mut self.by_run[WHOLE], segments.start as u32..segments.end as u32);
        if free {
            set.insert_range(numbers);
        } else {
            set.remove_range(numbers);
        }
        self.populated[1] = u128::from(!set.is_empty());
    }

    fn file(&mut self, segment: usize, run: u32) {
        let was = usize::from(std::mem::replace(&mut self.longest[segment], run as u8));
        let run = run as usize;
        if was == run {
            return;
        }
        if was > 0 {
            self.by_run[was].remove(segment as u32);
            if self.by_run[was].is_empty() {
                self.populated[was / 128] &= !(1 << (was % 128));
            }
        }
        if run > 0 {
            self.by_run[run].insert(segment as u32);
            self.populated[run / 128] |= 1 << (run % 128);
        }
    }
}

/// Bits at which a run of `length` ones starts. Halves the work: a run of 2k is two of k.
const fn run_starts(mut bits: u128, length: u32) -> u128 {
    let mut have = 1;
    while have < length && bits != 0 {
        let step = if have < length - have { have } else { length - have };
        bits &= bits >> step;
        have += step;
    }
    bits
}

/// The lowest place where `length` ones follow one another.
const fn first_run(bits: u128, length: u32) -> Option<u32> {
    let starts = run_starts(bits, length);
    if starts == 0 { None } else { Some(starts.trailing_zeros()) }
}

/// The length of the longest run of ones.
const fn longest_run(bits: u128) -> u32 {
    /// Up to so many runs are looked at one by one.
    const FEW: u32 = 6;
    let runs = (bits & !(bits << 1)).count_ones();
    if runs <= FEW {
        let (mut rest, mut longest) = (bits, 0);
        while rest != 0 {
            rest >>= rest.trailing_zeros();
            let run = rest.trailing_ones();
            longest = if run > longest { run } else { longest };
            rest = if run == 128 { 0 } else { rest >> run };
        }
        return longest;
    }
    // doubling while it lasts, then the remainder by halves
    let (mut starts, mut length, mut step) = (bits, 1, 1);
    while step < 64 && starts & (starts >> step) != 0 {
        starts &= starts >> step;
        length += step;
        step *= 2;
    }
    while step > 0 {
        if length + step < 128 && starts & (starts >> step) != 0 {
            starts &= starts >> step;
            length += step;
        }
        step /= 2;
    }
    length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn naive(bits: u128) -> u32 {
        let mut run = 0;
        (0..128)
            .map(|at| {
                if bits >> at & 1 == 1 {
                    run += 1;
                    run
                } else {
                    run = 0;
                    0
                }
            })
            .max()
            .unwrap_or(0)
    }

    proptest! {
        #[test]
        fn runs_in_a_word_are_what_counting_says(a: u128, b: u128, c: u128, gap in 0_u32..128, length in 1_u32..128) {
            // dense and sparse words, and words with one long run
            for bits in [a, a & b & c, a | b | c, !(1 << gap), u128::MAX >> gap, (u128::MAX >> gap) << (gap / 2), 0, u128::MAX] {
                prop_assert_eq!(longest_run(bits), naive(bits));
                let mask = u128::MAX >> (128 - length);
                let first = (0..=128 - length).find(|&at| bits >> at & mask == mask);
                prop_assert_eq!(first_run(bits, length), first);
            }
        }
    }
}
