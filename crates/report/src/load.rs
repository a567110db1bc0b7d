//! How full each link was over time, in a bounded amount of memory.
//!
//! A transfer loads a link with its average rate from its start to its end. Loads are summed in time
//! bins of equal width. When time outgrows the bins, or links and bins together outgrow the budget,
//! pairs of bins become one: totals stay exact, only the resolution halves.

use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_core::{Bandwidth, Duration, LinkId, Time};

use crate::filter::TimeWindow;
use crate::grid::Grid;
use crate::labels::Labels;

/// Most bins over all links: 16 bytes each, so at most 256 MiB.
const BUDGET: usize = 1 << 24;
/// Amounts are whole numbers of this part of a byte, so that what was added cancels exactly.
const PARTS: i64 = 1024;
/// Up to this share of its rate a link is just full: packets take whole picoseconds, and amounts are whole parts of bytes.
const ROUNDED_FULL: f64 = 1.005;

/// Sums up what each link carried, by time.
#[derive(Debug, Clone)]
pub struct LinkLoad {
    window: TimeWindow,
    grid: Grid,
    links: Vec<Option<Load>>,
    used: usize,
    end: Time,
}

/// The bins of one link, in parts of bytes.
#[derive(Debug, Clone)]
struct Load {
    /// What falls into single bins,
    single: Box<[i64]>,
    /// and how much more each bin gets than the one before, from transfers that fill bins.
    step: Box<[i64]>,
    total: i64,
}

impl LinkLoad {
    /// Sums up what happens in `window`, in at most `bins` bins (rounded up to a power of two, from 16
    /// to 65,536).
    pub fn new(window: TimeWindow, bins: usize) -> Self {
        Self::in_steps(window, bins, 0)
    }

    /// The same in bins of `width_ps` picoseconds, or two, four, eight, ... times that.
    pub(crate) fn in_steps(window: TimeWindow, bins: usize, width_ps: u64) -> Self {
        let grid = Grid::new(window.from, bins, width_ps);
        Self { window, grid, links: Vec::new(), used: 0, end: window.from }
    }

    /// Adds a transfer of `bytes` over `link`.
    pub fn add(&mut self, link: LinkId, start: Time, end: Time, bytes: f64) {
        if !self.window.overlaps(start, end) || bytes <= 0.0 {
            return;
        }
        let (from, until) = (start.max(self.window.from), end.min(self.window.until));
        // what is too much stays the largest number
        let amount = (bytes * PARTS as f64).round() as i64;
        let length_ps = (end - start).as_ps();
        // what lies outside the window does not count
        let inside_ps = (until - from).as_ps();
        let amount = if inside_ps == length_ps { amount } else { part(amount, inside_ps, length_ps) };
        self.end = self.end.max(until);
        self.fit(until);
        self.admit(link.index());

        let grid = self.grid;
        let first = grid.bin(from);
        // an end on an edge belongs to the bin before it
        let last = if until > from { grid.bin_before(until) } else { first };
        let load = self.links[link.index()].as_mut().expect("just admitted");
        load.total = load.total.saturating_add(amount);
        if first == last {
            load.single[first] = load.single[first].saturating_add(amount);
            return;
        }
        let head = part(amount, (grid.edge(first + 1) - from).as_ps(), inside_ps);
        let full = part(amount, grid.width_ps(), inside_ps);
        let tail = part(amount, (until - grid.edge(last)).as_ps(), inside_ps);
        // what rounding leaves is one part for each of the first bins, so that none gets more than that
        let filled = last - first - 1;
        let rest = (amount - head - tail - full * filled as i64).max(0);
        let more = filled.min(rest as usize);
        load.single[first] += head;
        load.single[last] += tail + rest - more as i64;
        if filled > 0 {
            load.step[first + 1] += full + 1;
            load.step[first + 1 + more] -= 1;
            load.step[last] -= full;
        }
        debug_assert!(last < grid.bins());
    }

    /// Makes bins wide enough for `until`.
    fn fit(&mut self, until: Time) {
        self.grid.reach(until, || self.links.iter_mut().flatten().for_each(Load::merge));
    }

    /// Half as many bins of twice the width; false where there are few.
    fn halve(&mut self) -> bool {
        let is_halved = self.grid.halve();
        if is_halved {
            let bins = self.grid.bins();
            for load in self.links.iter_mut().flatten() {
                load.merge();
                load.single = load.single[..bins].into();
                load.step = load.step[..bins].into();
            }
        }
        is_halved
    }

    /// Makes room for a link.
    fn admit(&mut self, link: usize) {
        if link >= self.links.len() {
            self.links.resize(link + 1, None);
        }
        if self.links[link].is_some() {
            return;
        }
        self.used += 1;
        while self.used * self.grid.bins() > BUDGET && self.halve() {}
        let zeros = || vec![0; self.grid.bins()].into_boxed_slice();
        self.links[link] = Some(Load { single: zeros(), step: zeros(), total: 0 });
    }

    /// Bins go on to `until`, or to the end of the window, where nothing is carried any more.
    pub fn go_on_to(&mut self, until: Time) {
        self.end = self.end.max(until.min(self.window.until));
        self.fit(self.end);
    }

    /// The last bin ends at `until`, which lies in the window and behind all transfers, and bins are of `width_ps` at least.
    pub(crate) fn close(&mut self, until: Time, width_ps: u64) {
        self.window.until = until;
        self.end = until;
        self.fit(until);
        while self.grid.width_ps() < width_ps && self.halve() {}
    }

    /// Length of a bin.
    pub fn bin_width(&self) -> Duration {
        Duration::from_ps(self.grid.width_ps())
    }

    /// The first instant of the first bin.
    pub fn origin(&self) -> Time {
        self.grid.origin()
    }

    /// Bins up to the end of the last transfer, or as far as they are asked to go on.
    pub fn bin_count(&self) -> usize {
        self.grid.count(self.end)
    }

    /// Links that carried something, in link order, with the bytes they carried.
    pub fn totals(&self) -> impl Iterator<Item = (LinkId, f64)> {
        let links = self.links.iter().enumerate();
        links.filter_map(|(at, load)| {
            load.as_ref().map(|load| (LinkId::from_index(at), load.total as f64 / PARTS as f64))
        })
    }

    /// Links that carried something, fullest first, each with the share of its rate that it used on average, and the bytes. Links
    /// without a rate come last, with a share of 0.
    pub fn fullest(&self, labels: &dyn Labels) -> Vec<(LinkId, f64, f64)> {
        let length_s = self.bin_width().as_secs_f64() * self.bin_count() as f64;
        let fullness = |(link, bytes): (LinkId, f64)| {
            let rate = labels.link_rate(link).map_or(f64::INFINITY, |rate| rate.bytes_per_s());
            (link, bytes / length_s / rate, bytes)
        };
        let mut links: Vec<(LinkId, f64, f64)> = self.totals().map(fullness).collect();
        // links without a rate come last, by bytes
        links.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.2.total_cmp(&a.2)).then(a.0.cmp(&b.0)));
        links
    }

    /// How full a link that carries `rate` was in each bin, from 0 to 1; more where it carries more than its rate, as a fat pipe
    /// does. Empty for a link that carried nothing.
    pub fn shares(&self, link: LinkId, rate: Bandwidth) -> Vec<f64> {
        let share = |bytes_per_s: f64| match bytes_per_s / rate.bytes_per_s() {
            above if above > 1.0 && above <= ROUNDED_FULL => 1.0,
            share => share,
        };
        self.rates(link).into_iter().map(share).collect()
    }

    /// Bytes that a link carried in each bin, up to [`Self::bin_count`]; empty for a link that carried nothing.
    pub fn bytes(&self, link: LinkId) -> Vec<f64> {
        let Some(Some(load)) = self.links.get(link.index()) else { return Vec::new() };
        load.amounts().take(self.bin_count()).map(|amount| amount as f64 / PARTS as f64).collect()
    }

    /// Mean bytes per second of a link in each bin, up to [`Self::bin_count`]; empty for a link that
    /// carried nothing. The last bin may end after the last transfer, but not after the window.
    pub fn rates(&self, link: LinkId) -> Vec<f64> {
        let rate = |(bin, bytes): (usize, f64)| {
            let (start, end) = (self.grid.edge(bin), self.grid.edge(bin + 1).min(self.window.until));
            bytes / (end - start).as_secs_f64()
        };
        self.bytes(link).into_iter().enumerate().map(rate).collect()
    }
}

/// The part of `amount` that falls into `part_ps` of `whole_ps`.
#[inline]
fn part(amount: i64, part_ps: u64, whole_ps: u64) -> i64 {
    (amount as f64 * (part_ps as f64 / whole_ps as f64)) as i64
}

impl Load {
    fn amounts(&self) -> impl Iterator<Item = i64> {
        let mut level = 0;
        self.single.iter().zip(&self.step).map(move |(single, step)| {
            level += step;
            single + level
        })
    }

    /// Pairs of bins become one; the upper half is free.
    fn merge(&mut self) {
        let amounts: Vec<i64> = self.amounts().collect();
        self.single.fill(0);
        self.step.fill(0);
        for (at, pair) in amounts.chunks(2).enumerate() {
            self.single[at] = pair.iter().sum();
        }
    }
}

impl Observer for LinkLoad {
    fn interests(&self) -> Interests {
        Interests { link_uses: true, ..Interests::default() }
    }

    fn on_event(&mut self, event: &Event) {
        if let Event::LinkUse { link, start, end, bytes } = *event {
            self.add(link, start, end, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn a_transfer_loads_each_bin_with_its_average_rate() {
        let mut load = LinkLoad::new(TimeWindow::ALWAYS, 16);
        // 16 bins of 100 ps: 300 bytes from 50 to 350 are one byte per picosecond
        load.add(LinkId(2), at(0), at(1600), 0.0);
        load.add(LinkId(1), at(1600), at(1600), 0.0);
        load.add(LinkId(2), at(50), at(350), 300.0);
        load.add(LinkId(0), at(1500), at(1600), 1.0);
        // the first transfer sets the width
        assert_eq!(load.totals().collect::<Vec<_>>(), [(LinkId(0), 1.0), (LinkId(2), 300.0)]);
        let width_s = load.bin_width().as_secs_f64();
        let bytes: f64 = load.rates(LinkId(2)).iter().map(|rate| rate * width_s).sum();
        assert!((bytes - 300.0).abs() < 1e-9);
        let rates = load.rates(LinkId(2));
        assert!(rates.iter().all(|&rate| rate <= 1.001e12), "{rates:?}");
        assert!(load.rates(LinkId(7)).is_empty());
    }

    #[test]
    fn what_lies_outside_the_window_does_not_count() {
        let window = TimeWindow { from: at(1000), until: at(2000) };
        let mut load = LinkLoad::new(window, 16);
        load.add(LinkId(0), at(0), at(4000), 4000.0);
        load.add(LinkId(0), at(0), at(1000), 99.0);
        load.add(LinkId(0), at(2000), at(2001), 99.0);
        assert_eq!(load.totals().collect::<Vec<_>>(), [(LinkId(0), 1000.0)]);
        // the last bin ends with the window, too
        let narrow = TimeWindow { from: at(1000), until: at(1990) };
        let mut load = LinkLoad::new(narrow, 16);
        load.add(LinkId(0), at(1000), at(1100), 100.0);
        load.add(LinkId(0), at(1100), at(4000), 2900.0);
        let rates = load.rates(LinkId(0));
        assert!(rates.iter().all(|rate| (rate - 1e12).abs() < 0.02e12), "{rates:?}");
        assert!(load.rates(LinkId(0)).iter().take(15).all(|rate| (rate - 1e12).abs() < 0.02e12));
    }

    #[test]
    fn many_links_lose_resolution_but_no_bytes() {
        let mut load = LinkLoad::new(TimeWindow::ALWAYS, 1 << 16);
        for link in 0..1000 {
            load.add(LinkId(link), at(u64::from(link)), at(u64::from(link) * 7 + 1000), f64::from(1 << 20));
        }
        assert!(load.grid.bins() * load.used <= BUDGET);
        assert!(load.totals().all(|(_, bytes)| bytes == f64::from(1 << 20)));
    }

    /// Carried at full rate from one look to the next, and told in fractions of bytes: no bin is more than full, and all those
    /// between the first and the last are full.
    #[test]
    fn a_link_that_is_always_busy_is_full_and_not_more() {
        for (bytes_per_ps, look_ps) in [(1.25e-6, 333_333), (0.0125, 77_777), (0.1, 500_000), (1.0, 1_001)] {
            let rate = Bandwidth(bytes_per_ps * 1e12);
            let mut load = LinkLoad::new(TimeWindow::ALWAYS, 256);
            let (begin, looks) = (12_345, 700);
            for look in 0..looks {
                let start = begin + look * look_ps;
                load.add(LinkId(0), at(start), at(start + look_ps), look_ps as f64 * bytes_per_ps);
            }
            let shares = load.shares(LinkId(0), rate);
            assert!(shares.iter().all(|&share| share <= 1.0), "{rate:?}: {shares:?}");
            let width_ps = load.bin_width().as_ps();
            let part = 3.0 / (PARTS as f64 * bytes_per_ps * width_ps as f64);
            let inner = (begin / width_ps + 1) as usize..((begin + looks * look_ps) / width_ps) as usize;
            assert!(shares[inner].iter().all(|&share| share > 1.0 - part), "{rate:?}: {shares:?}");
        }
        // a fat pipe carries twice its rate
        let mut load = LinkLoad::new(TimeWindow::ALWAYS, 16);
        [(); 2].iter().for_each(|()| load.add(LinkId(0), at(0), at(1600), 1600.0));
        assert_eq!(load.shares(LinkId(0), Bandwidth(1e12)), [2.0; 16]);
        assert!(load.shares(LinkId(1), Bandwidth(1e12)).is_empty());
    }

    proptest! {
        #[test]
        fn bins_hold_what_spreading_each_transfer_by_hand_gives(
            transfers in prop::collection::vec((0_u64..5000, 0_u64..3000, 1_u64..1_000_000), 1..40),
        ) {
            let mut load = LinkLoad::new(TimeWindow::ALWAYS, 32);
            for &(start, length, bytes) in &transfers {
                load.add(LinkId(0), at(start), at(start + length), bytes as f64);
            }
            let width = load.bin_width().as_ps() as f64;
            let mut expected = vec![0.0; load.bin_count()];
            for &(start, length, bytes) in &transfers {
                let (start, end) = (start as f64, (start + length) as f64);
                for (bin, sum) in expected.iter_mut().enumerate() {
                    let (low, high) = (bin as f64 * width, (bin as f64 + 1.0) * width);
                    let share = if length == 0 {
                        f64::from(u8::from(low <= start && start < high))
                    } else {
                        (end.min(high) - start.max(low)).max(0.0) / length as f64
                    };
                    *sum += bytes as f64 * share;
                }
            }
            let total: u64 = transfers.iter().map(|t| t.2).sum();
            prop_assert_eq!(load.totals().next().unwrap().1, total as f64);
            let rates = load.rates(LinkId(0));
            for (bin, (rate, expected)) in rates.iter().zip(&expected).enumerate() {
                let bytes = rate * width * 1e-12;
                // each transfer is rounded to parts of a byte, and widening sums its roundings
                prop_assert!((bytes - expected).abs() < 0.01 * transfers.len() as f64 + 1e-9 * expected,
                    "bin {bin}: {bytes} instead of {expected}");
            }
        }
    }
}
