//! Links and queues over time, in stretches of equal length, for the result.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stratasim_core::observe::{Event, Interests, Observer, QueueCounts};
use stratasim_core::{LinkId, Time};

use crate::filter::TimeWindow;
use crate::grid::Grid;
use crate::labels::Labels;
use crate::load::LinkLoad;
use crate::result::RunResult;

/// Stretches of time at most; there are more than half as many, but in runs of less than a quarter of a microsecond.
pub const STRETCHES: usize = 256;
/// Links, and queues, that are told of where nobody names some.
pub const LISTED: usize = 64;
/// Picoseconds of a stretch in the beginning.
const FIRST_WIDTH: u64 = 1000;
/// Most stretches over all queues: 32 bytes each, so at most 128 MiB.
const BUDGET: usize = 1 << 22;

/// A link over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkOverTime {
    /// Its name.
    pub link: String,
    /// When the first stretch begins, in seconds.
    pub start_s: f64,
    /// Length of each stretch but the last, in seconds: a power of two of nanoseconds.
    pub step_s: f64,
    /// When the last stretch ends, in seconds.
    pub end_s: f64,
    /// Bytes that it carried in each stretch.
    pub bytes: Vec<f64>,
    /// Share of each stretch in which it could have carried them at full rate; empty where it has no rate of its own.
    pub utilisation: Vec<f64>,
}

/// A queue over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueOverTime {
    /// Name of its link.
    pub link: String,
    /// When the first stretch begins, in seconds.
    pub start_s: f64,
    /// Length of each stretch but the last, in seconds: a power of two of nanoseconds.
    pub step_s: f64,
    /// When the last stretch ends, in seconds.
    pub end_s: f64,
    /// Bytes with payload that it held, that under way on the link included, on average over each stretch.
    pub mean_bytes: Vec<f64>,
    /// Most that a look found.
    pub most_bytes: Vec<u64>,
    /// Packets dropped there in each stretch.
    pub drops: Vec<u64>,
    /// Packets trimmed there.
    pub trims: Vec<u64>,
    /// Packets marked there.
    pub marks: Vec<u64>,
    /// Times that its link was told to pause.
    pub pauses: Vec<u64>,
}

/// Sums up what links carry and what queues hold while a run goes on.
#[derive(Debug)]
pub struct OverTime {
    window: TimeWindow,
    /// The only ones that are looked at, where some are named.
    named: Vec<LinkId>,
    tells_queues: bool,
    load: LinkLoad,
    queues: QueueLoad,
}

impl OverTime {
    /// Looks at what happens in `window` to the links `named`, or to all where there are none, to tell of the fullest in the end;
    /// and to their queues, where the network tells of such.
    pub fn new(window: TimeWindow, named: Vec<LinkId>, tells_queues: bool) -> Self {
        let load = LinkLoad::in_steps(window, STRETCHES, FIRST_WIDTH);
        let queues = QueueLoad::new(window);
        Self { window, named, tells_queues, load, queues }
    }

    /// Puts what was seen into the result of a run that ended at `end`: of the links that were named, in that order, or of the
    /// fullest links and the longest queues. Nothing where the window holds no time.
    pub fn tell(mut self, result: &mut RunResult, end: Time, labels: &dyn Labels) {
        let (from, until) = (self.window.from, self.window.until.min(end));
        if until <= from {
            return;
        }
        self.load.close(until, 0);
        self.queues.close(until, self.load.bin_width().as_ps());
        self.load.close(until, self.queues.grid.width_ps());
        let (links, queues) = if self.named.is_empty() {
            let links = self.load.fullest(labels).into_iter().map(|(link, ..)| link);
            (links.take(LISTED).collect(), self.queues.longest(LISTED))
        } else {
            (self.named.clone(), if self.tells_queues { self.named.clone() } else { Vec::new() })
        };
        let [start_s, end_s] = [from, until].map(Time::as_secs_f64);
        let step_s = self.load.bin_width().as_secs_f64();
        let link_over_time = |link: LinkId| {
            let (mut bytes, mut utilisation) = (self.load.bytes(link), Vec::new());
            bytes.resize(self.load.bin_count(), 0.0);
            if let Some(rate) = labels.link_rate(link) {
                utilisation = self.load.shares(link, rate);
                utilisation.resize(bytes.len(), 0.0);
            }
            LinkOverTime { link: labels.link(link), start_s, step_s, end_s, bytes, utilisation }
        };
        result.links_over_time = links.into_iter().map(link_over_time).collect();
        let queue_over_time = |link: LinkId| {
            let cells = self.queues.cells(link, until);
            let count =
                |of: fn(&QueueCounts) -> u32| cells.iter().map(|cell| of(&cell.counts).into()).collect();
            QueueOverTime {
                link: labels.link(link),
                start_s,
                step_s,
                end_s,
                mean_bytes: self.queues.means(&cells, until),
                most_bytes: cells.iter().map(|cell| cell.most).collect(),
                drops: count(|counts| counts.drops),
                trims: count(|counts| counts.trims),
                marks: count(|counts| counts.marks),
                pauses: count(|counts| counts.pauses),
            }
        };
        result.queues_over_time = queues.into_iter().map(queue_over_time).collect();
    }
}

impl Observer for OverTime {
    fn interests(&self) -> Interests {
        Interests { link_uses: true, queues: self.tells_queues, ..Interests::default() }
    }

    fn span(&self) -> (Time, Time) {
        (self.window.from, self.window.until)
    }

    fn on_event(&mut self, event: &Event) {
        let is_wanted = |link| self.named.is_empty() || self.named.contains(&link);
        match *event {
            Event::LinkUse { link, start, end, bytes } if is_wanted(link) => {
                self.load.add(link, start, end, bytes);
            }
            Event::QueueDepth { link, at, bytes } if is_wanted(link) => self.queues.hold(link, at, bytes),
            Event::QueueCounts { link, start, end, ref counts } if is_wanted(link) => {
                self.queues.count(link, (start, end), counts);
            }
            _ => {}
        }
    }
}

/// What queues held and what happened there, by time.
#[derive(Debug)]
struct QueueLoad {
    window: TimeWindow,
    grid: Grid,
    held: BTreeMap<LinkId, Held>,
}

/// One queue.
#[derive(Debug, Clone)]
struct Held {
    /// Bytes that it holds, and since when.
    bytes: u64,
    since: Time,
    /// Most that it ever held.
    most: u64,
    pauses: u64,
    cells: Box<[Cell]>,
}

/// A queue in one stretch.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// Bytes by picoseconds.
    volume: f64,
    most: u64,
    counts: QueueCounts,
}

impl Cell {
    /// Both, one after the other.
    fn and(self, next: Self) -> Self {
        Self {
            volume: self.volume + next.volume,
            most: self.most.max(next.most),
            counts: self.counts.and(&next.counts),
        }
    }
}

impl Held {
    fn new(since: Time, bins: usize) -> Self {
        let cells = vec![Cell::default(); bins].into_boxed_slice();
        Self { bytes: 0, since, most: 0, pauses: 0, cells }
    }

    /// Pairs of stretches become one.
    fn merge(&mut self) {
        let half = self.cells.len() / 2;
        for at in 0..half {
            self.cells[at] = self.cells[2 * at].and(self.cells[2 * at + 1]);
        }
        self.cells[half..].fill(Cell::default());
    }

    /// It has held what it does until `at`, which the grid reaches.
    fn until(&mut self, at: Time, grid: &Grid) {
        if at <= self.since {
            return;
        }
        if self.bytes > 0 {
            for bin in grid.bin(self.since)..=grid.bin_before(at) {
                let length = grid.edge(bin + 1).min(at) - grid.edge(bin).max(self.since);
                let cell = &mut self.cells[bin];
                cell.volume += self.bytes as f64 * length.as_ps() as f64;
                cell.most = cell.most.max(self.bytes);
            }
        }
        self.since = at;
    }
}

impl QueueLoad {
    fn new(window: TimeWindow) -> Self {
        Self { window, grid: Grid::new(window.from, STRETCHES, FIRST_WIDTH), held: BTreeMap::new() }
    }

    fn reach(&mut self, until: Time) {
        self.grid.reach(until, || self.held.values_mut().for_each(Held::merge));
    }

    /// Half as many stretches of twice the length; false where there are few.
    fn halve(&mut self) -> bool {
        let is_halved = self.grid.halve();
        if is_halved {
            for held in self.held.values_mut() {
                held.merge();
                held.cells = held.cells[..self.grid.bins()].into();
            }
        }
        is_halved
    }

    /// A queue, at an instant that the grid reaches from now on.
    fn at(&mut self, link: LinkId, at: Time) -> (&mut Held, &Grid) {
        self.reach(at);
        if !self.held.contains_key(&link) {
            self.held.insert(link, Held::new(self.window.from, self.grid.bins()));
            while self.held.len() * self.grid.bins() > BUDGET && self.halve() {}
        }
        (self.held.get_mut(&link).expect("just there"), &self.grid)
    }

    /// A queue holds so much from `at` on.
    fn hold(&mut self, link: LinkId, at: Time, bytes: u64) {
        let TimeWindow { from, until } = self.window;
        let is_inside = at < until;
        let (held, grid) = self.at(link, at.clamp(from, until));
        held.until(at.clamp(from, until), grid);
        if is_inside {
            held.bytes = bytes;
            held.most = held.most.max(bytes);
        }
    }

    /// What happened at a queue between two looks, both in the window.
    fn count(&mut self, link: LinkId, (start, end): (Time, Time), counts: &QueueCounts) {
        if start < self.window.from || end > self.window.until {
            return;
        }
        let (held, grid) = self.at(link, end);
        held.pauses += u64::from(counts.pauses);
        let cell = &mut held.cells[grid.bin_before(end)];
        cell.counts = cell.counts.and(counts);
    }

    /// Nothing comes after `until`, and stretches are of `width_ps` at least.
    fn close(&mut self, until: Time, width_ps: u64) {
        self.reach(until);
        while self.grid.width_ps() < width_ps && self.halve() {}
        let grid = self.grid;
        self.held.values_mut().for_each(|held| held.until(until, &grid));
    }

    /// The queues that held most, longest first, and links that were asked to pause.
    fn longest(&self, most: usize) -> Vec<LinkId> {
        let seen = self.held.iter().filter(|(_, held)| {
            held.most > 0 || held.cells.iter().any(|cell| cell.counts != QueueCounts::default())
        });
        let mut links: Vec<_> = seen.map(|(&link, held)| (Reverse((held.most, held.pauses)), link)).collect();
        links.sort_unstable();
        links.into_iter().take(most).map(|(_, link)| link).collect()
    }

    /// A queue in each stretch up to `until`.
    fn cells(&self, link: LinkId, until: Time) -> Vec<Cell> {
        let count = self.grid.count(until);
        self.held.get(&link).map_or_else(|| vec![Cell::default(); count], |held| held.cells[..count].to_vec())
    }

    /// Mean bytes in each of these stretches, in thousandths of bytes.
    fn means(&self, cells: &[Cell], until: Time) -> Vec<f64> {
        let mean = |(bin, cell): (usize, &Cell)| {
            let length = self.grid.edge(bin + 1).min(until) - self.grid.edge(bin);
            (cell.volume / length.as_ps() as f64 * 1e3).round() / 1e3
        };
        cells.iter().enumerate().map(mean).collect()
    }
}

#[cfg(test)]
mod tests;
