//! Histograms of whole numbers: exact up to 2,047, then within 0.1 %.

use stratasim_report::traffic::Distribution;

/// Values up to this one have a bin each; of larger ones the highest eleven bits count.
const EXACT: u64 = 2048;
/// Bins per doubling beyond.
const PARTS: u64 = EXACT / 2;

/// Counts by value. All is integers, so that parts add up to the same whole in any order. A value that has a bin
/// of its own is one addition: what its bin knows is not counted twice.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    /// By value, up to the largest one so far below [`EXACT`].
    near: Vec<u64>,
    far: Far,
}

/// Values from [`EXACT`] on: bins, and what these do not know.
#[derive(Debug, Clone, Default)]
struct Far {
    /// Bin [`EXACT`] is the first.
    bins: Vec<u64>,
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Histogram {
    #[inline]
    pub(super) fn add(&mut self, value: u64) {
        // there are fewer bins than the largest index of the machine
        match self.near.get_mut(usize::try_from(value).unwrap_or(usize::MAX)) {
            Some(count) => *count += 1,
            None => self.add_new(value),
        }
    }

    /// Adds 0 so many times.
    pub(super) fn add_zeros(&mut self, times: u64) {
        if times > 0 {
            self.add(0);
            self.near[0] += times - 1;
        }
    }

    /// Adds a value that has no bin yet, or shares one.
    #[inline(never)]
    fn add_new(&mut self, value: u64) {
        if value < EXACT {
            self.near.resize((value + 1).next_power_of_two() as usize, 0);
            self.near[value as usize] += 1;
        } else {
            self.far.add(value);
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.near.iter().sum::<u64>() + self.far.count
    }

    fn sum(&self) -> u64 {
        let near: u64 = (0..).zip(&self.near).map(|(value, count): (u64, _)| value * count).sum();
        near.saturating_add(self.far.sum)
    }

    /// The smallest one; 0 where there is none.
    fn min(&self) -> u64 {
        self.near.iter().position(|&count| count > 0).map_or(self.far.min, |value| value as u64)
    }

    /// The largest one; 0 where there is none.
    fn max(&self) -> u64 {
        let near = || self.near.iter().rposition(|&count| count > 0).map_or(0, |value| value as u64);
        if self.far.count > 0 { self.far.max } else { near() }
    }

    /// Bins that hold something, in order, with their counts.
    fn filled(&self) -> impl Iterator<Item = (usize, u64)> {
        let far = (EXACT as usize..).zip(&self.far.bins);
        (0..).zip(&self.near).chain(far).map(|(bin, &count)| (bin, count)).filter(|(_, count)| *count > 0)
    }

    fn bin(value: u64) -> usize {
        if value < EXACT {
            return value as usize;
        }
        let shift = u64::from(value.ilog2()) - u64::from(PARTS.ilog2());
        // the highest bits lie between PARTS and 2 * PARTS
        (EXACT + (shift - 1) * PARTS + ((value >> shift) - PARTS)) as usize
    }

    /// The largest value of a bin.
    fn last_of(bin: usize) -> u64 {
        let bin = bin as u64;
        if bin < EXACT {
            return bin;
        }
        let (shift, part) = ((bin - EXACT) / PARTS + 1, (bin - EXACT) % PARTS);
        ((PARTS + part + 1) << shift).wrapping_sub(1)
    }

    /// All that `other` holds, too.
    pub(super) fn join(&mut self, other: &Self) {
        add_bins(&mut self.near, &other.near);
        self.far.join(&other.far);
    }

    /// The value that a share of all values does not exceed.
    fn percentile(&self, share: f64) -> u64 {
        let count = self.count();
        let wanted = ((share * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        let found = self.filled().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        found.map_or(0, |(bin, _)| Self::last_of(bin).min(self.max()))
    }

    pub(super) fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum() as f64 / self.count() as f64 }
    }

    pub(super) fn distribution(&self, half_width: Option<f64>) -> Distribution {
        if self.count() == 0 {
            return Distribution::default();
        }
        Distribution {
            count: self.count(),
            mean: Some(self.mean()),
            half_width,
            min: Some(self.min()),
            p50: Some(self.percentile(0.5)),
            p95: Some(self.percentile(0.95)),
            p99: Some(self.percentile(0.99)),
            p99_9: Some(self.percentile(0.999)),
            max: Some(self.max()),
        }
    }

    /// What it holds, for digests.
    pub(super) fn parts(&self) -> impl Iterator<Item = u64> {
        let filled = self.filled().flat_map(|(bin, count)| [bin as u64, count]);
        filled.chain([self.count(), self.sum(), self.max()])
    }
}

impl Far {
    fn add(&mut self, value: u64) {
        let bin = Histogram::bin(value) - EXACT as usize;
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
    }

    fn join(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        add_bins(&mut self.bins, &other.bins);
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
    }
}

/// Adds counts bin by bin.
fn add_bins(own: &mut Vec<u64>, more: &[u64]) {
    if own.len() < more.len() {
        own.resize(more.len(), 0);
    }
    own.iter_mut().zip(more).for_each(|(own, more)| *own += more);
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;

    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        for scale in [100_u32, 3000, 5_000_000] {
            let (mut histogram, mut list) = (Histogram::default(), Vec::new());
            let mut draws = Draws::new(scale.into());
            for _ in 0..9999 {
                let value = (draws.exponential() * f64::from(scale)) as u64;
                histogram.add(value);
                list.push(value);
            }
            list.sort_unstable();
            let found = histogram.distribution(None);
            for (share, found) in
                [(0.5, found.p50), (0.95, found.p95), (0.99, found.p99), (0.999, found.p99_9)]
            {
                let found = found.expect("values");
                let exact = list[(share * 9999.0_f64).ceil() as usize - 1];
                assert!(
                    found >= exact && found - exact <= exact / 1000 + u64::from(exact >= 2048),
                    "{exact} {found}"
                );
            }
            assert_eq!((found.min, found.max, found.count), (Some(list[0]), Some(list[9998]), 9999));
            assert!((found.mean.expect("values") - list.iter().sum::<u64>() as f64 / 9999.0).abs() < 1e-9);
        }
    }

    #[test]
    fn bins_have_no_gaps() {
        let mut last = None;
        for value in (0..100_000).chain((0..2000).map(|step| u64::MAX - 2000 + step)) {
            let bin = Histogram::bin(value);
            assert!(value <= Histogram::last_of(bin));
            if value < 100_000 {
                assert!(last.is_none_or(|last| bin == last || bin == last + 1), "{value}");
                last = Some(bin);
            }
        }
    }

    #[test]
    fn parts_join_to_the_whole() {
        let (mut whole, mut a, mut b) = (Histogram::default(), Histogram::default(), Histogram::default());
        for value in 0..5000_u64 {
            whole.add(value * 7 % 4001);
            if value % 3 == 0 { a.add(value * 7 % 4001) } else { b.add(value * 7 % 4001) }
        }
        a.join(&b);
        assert!(a.parts().eq(whole.parts()));
        assert_eq!(a.distribution(None), whole.distribution(None));
    }
}
