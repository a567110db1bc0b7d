//! Stretches of time of equal length, which become longer as time goes on.

use stratasim_core::Time;

/// At most so many stretches from an instant on. When time outgrows them, pairs become one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    origin: Time,
    /// Picoseconds of a stretch; 0 before anything happens, where the first thing that does sets it.
    width: u64,
    /// A power of two.
    bins: usize,
}

impl Grid {
    /// At most `bins` stretches (rounded up to a power of two, from 16 to 65,536) from `origin` on, in the beginning of `width_ps`
    /// each, or as long as the first thing that happens needs where that is 0.
    pub(crate) fn new(origin: Time, bins: usize, width_ps: u64) -> Self {
        Self { origin, width: width_ps, bins: bins.clamp(16, 1 << 16).next_power_of_two() }
    }

    /// The beginning of the first stretch.
    pub(crate) const fn origin(&self) -> Time {
        self.origin
    }

    /// Picoseconds of a stretch.
    pub(crate) const fn width_ps(&self) -> u64 {
        self.width
    }

    /// How many stretches there may be.
    pub(crate) const fn bins(&self) -> usize {
        self.bins
    }

    /// Makes stretches long enough for `until`; `merge` makes one of each pair.
    pub(crate) fn reach(&mut self, until: Time, mut merge: impl FnMut()) {
        let length = (until - self.origin).as_ps().max(1);
        if self.width == 0 {
            self.width = length.div_ceil(self.bins as u64).max(1);
        }
        while u128::from(self.width) * (self.bins as u128) < u128::from(length) {
            merge();
            self.width = self.width.saturating_mul(2);
        }
    }

    /// Half as many stretches, each twice as long; false where there are few.
    pub(crate) const fn halve(&mut self) -> bool {
        if self.bins <= 16 {
            return false;
        }
        self.bins /= 2;
        self.width = self.width.saturating_mul(2);
        true
    }

    /// The stretch in which an instant lies.
    #[inline]
    pub(crate) const fn bin(&self, at: Time) -> usize {
        ((at.as_ps() - self.origin.as_ps()) / self.width) as usize
    }

    /// The stretch that an instant ends, or in which it lies; the first where that is its beginning.
    #[inline]
    pub(crate) const fn bin_before(&self, at: Time) -> usize {
        ((at.as_ps() - self.origin.as_ps()).saturating_sub(1) / self.width) as usize
    }

    /// The beginning of a stretch.
    #[inline]
    pub(crate) const fn edge(&self, bin: usize) -> Time {
        Time::from_ps(self.origin.as_ps().saturating_add(self.width.saturating_mul(bin as u64)))
    }

    /// Stretches up to `end`, one at least where there is any.
    pub(crate) fn count(&self, end: Time) -> usize {
        if self.width == 0 {
            return 0;
        }
        (end - self.origin).as_ps().max(1).div_ceil(self.width) as usize
    }
}
