//! Which of equally good ways towards a destination is kept, so that channels carry evenly.

use super::toward::Toward;
use crate::flit::fabric::Fabric;

/// Ways that have been chosen, and what channels carry by them when every terminal sends as much to every other.
pub(crate) struct Spread<'a> {
    fabric: &'a Fabric,
    phases: u32,
    keep: Keep,
    /// Pairs of terminals whose way leads over each channel, by [`Fabric::index`], times its spacing.
    load: Vec<u64>,
    /// Terminals that enter at each router.
    sources: Vec<u32>,
    /// Ways on from the places in hand: output and place there. Those of the `n`-th: `ways[first[n]..first[n + 1]]`.
    ways: Vec<(u16, u32)>,
    first: Vec<usize>,
    /// The next channel and place from each place, for the column in hand.
    after: Vec<(u32, u32)>,
}

/// The place at which ways end.
const END: u32 = u32::MAX;

/// The way that is kept of equally good ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// That on which the channels to the destination carry least in all: a step down the sum of the squares of all
    /// loads.
    Even,
    /// That by the lowest output: on grids, where routers number their ports alike, packets then turn in few ways, and
    /// few layers are needed.
    First,
}

/// The targets in the order in which their columns are chosen: all, and once more when the others are known.
pub(crate) fn rounds(targets: usize) -> impl Iterator<Item = usize> {
    (0..2 * targets).map(move |at| at % targets)
}

impl<'a> Spread<'a> {
    /// No way chosen yet, on a fabric whose routers are `phases` places each.
    pub(crate) fn new(fabric: &'a Fabric, phases: u32, keep: Keep) -> Self {
        let mut sources = vec![0; fabric.router_count()];
        for terminal in fabric.terminals() {
            sources[terminal.entry().0 as usize] += 1;
        }
        Self {
            fabric,
            phases,
            keep,
            load: vec![0; fabric.channels().len()],
            sources,
            ways: Vec::new(),
            first: Vec::new(),
            after: vec![(0, END); fabric.router_count() * phases as usize],
        }
    }

    /// Fills the columns of one router. `places`: all places (`router * phases + phase`) that can reach it but its own,
    /// the nearest first; `ways` appends the ways on from a place, the output and the place there, which is nearer.
    /// Packets enter in phase 0.
    pub(crate) fn choose(
        &mut self,
        toward: &mut Toward,
        target: usize,
        places: &[u32],
        mut ways: impl FnMut(u32, &mut Vec<(u16, u32)>),
    ) {
        self.ways.clear();
        self.first.clear();
        for &place in places {
            self.first.push(self.ways.len());
            ways(place, &mut self.ways);
        }
        self.first.push(self.ways.len());
        let router = toward.targets[target];
        for phase in 0..self.phases {
            self.after[(router * self.phases + phase) as usize].1 = END;
        }
        for column in toward.columns(target) {
            let terminals = u64::from(toward.terminals(column));
            let next = toward.of(column);
            self.take_back(places, next, terminals);
            for (at, &place) in places.iter().enumerate() {
                let router = place / self.phases;
                let ways = &self.ways[self.first[at]..self.first[at + 1]];
                let channel = |output: u16| self.fabric.index(router, output);
                let best = match (ways, self.keep) {
                    ([only], _) => Some(*only),
                    (_, Keep::First) => ways.iter().copied().min(),
                    (_, Keep::Even) => ways.iter().copied().min_by_key(|&(output, to)| {
                        (self.load[channel(output)] + self.carried_from(to), output)
                    }),
                };
                let best = best.expect("a place that was reached has a way");
                next[place as usize] = best.0;
                self.after[place as usize] = (channel(best.0) as u32, best.1);
                if place % self.phases == 0 && self.sources[router as usize] > 0 {
                    let pairs = terminals * u64::from(self.sources[router as usize]);
                    self.add(place, |load, time| load + pairs * time);
                }
            }
        }
    }

    /// What the channels from `place` to the destination carry in all.
    fn carried_from(&self, place: u32) -> u64 {
        let (mut sum, mut way) = (0, self.after[place as usize]);
        while way.1 != END {
            sum += self.load[way.0 as usize];
            way = self.after[way.1 as usize];
        }
        sum
    }

    /// Takes away what channels carry to a column by the ways in `next`, if it has some.
    fn take_back(&mut self, places: &[u32], next: &[u16], terminals: u64) {
        for (at, &place) in places.iter().enumerate() {
            let router = place / self.phases;
            let ways = &self.ways[self.first[at]..self.first[at + 1]];
            let Some(&(output, to)) = ways.iter().find(|way| way.0 == next[place as usize]) else { return };
            self.after[place as usize] = (self.fabric.index(router, output) as u32, to);
            if place % self.phases == 0 && self.sources[router as usize] > 0 {
                let pairs = terminals * u64::from(self.sources[router as usize]);
                self.add(place, |load, time| load - pairs * time);
            }
        }
    }

    /// Changes what the channels from `place` to the destination carry; `change` is given that and the spacing.
    fn add(&mut self, place: u32, change: impl Fn(u64, u64) -> u64) {
        let mut way = self.after[place as usize];
        while way.1 != END {
            let channel = way.0 as usize;
            self.load[channel] = change(self.load[channel], self.fabric.channels()[channel].spacing.into());
            way = self.after[way.1 as usize];
        }
    }
}
