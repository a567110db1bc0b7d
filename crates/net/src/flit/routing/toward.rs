//! Next outputs by destination, on any graph.

use std::ops::Range;

use stratasim_core::BuildError;

use crate::flit::fabric::{End, Fabric, Feeder};

/// Entries that a table may have.
const MOST_ENTRIES: u64 = 1 << 27;

/// No way.
pub(crate) const NO_PORT: u16 = u16::MAX;

/// Entries that are spent on ways of their own for terminals of one router: 32 MiB.
const MOST_SPREAD: u64 = 1 << 24;

/// A table of outputs towards the routers that have terminals. Terminals of a router are dealt out to its columns in
/// turn, one each unless the table would grow too large: ways to them may differ.
#[derive(Debug, Clone)]
pub(crate) struct Toward {
    /// The routers that have terminals, and
    pub(crate) targets: Vec<u32>,
    /// the first column of each, and one past the last of all.
    first: Vec<u32>,
    /// Column of each terminal.
    column: Vec<u32>,
    /// Terminals of each column.
    terminals: Vec<u32>,
    places: usize,
    /// `next[column * places + place]`.
    next: Vec<u16>,
}

impl Toward {
    /// A table without ways, with `phases` entries for each router and column.
    ///
    /// # Errors
    /// More entries than can be held.
    pub(crate) fn new(fabric: &Fabric, phases: usize) -> Result<Self, BuildError> {
        let mut target_of = vec![u32::MAX; fabric.router_count()];
        let (mut targets, mut counts) = (Vec::new(), Vec::<u32>::new());
        // target, and number among its terminals
        let seats: Vec<(u32, u32)> = fabric
            .terminals()
            .iter()
            .map(|terminal| {
                let target = &mut target_of[terminal.router as usize];
                if *target == u32::MAX {
                    *target = targets.len() as u32;
                    targets.push(terminal.router);
                    counts.push(0);
                }
                let count = &mut counts[*target as usize];
                *count += 1;
                (*target, *count - 1)
            })
            .collect();
        let places = fabric.router_count() * phases;
        let columns = |most: u32| counts.iter().map(|&count| u64::from(count.min(most))).sum::<u64>();
        if columns(1) * places as u64 > MOST_ENTRIES {
            let reason = format!(
                "a table of {} routers by {} destinations is more than {MOST_ENTRIES} entries",
                fabric.router_count(),
                targets.len()
            );
            return Err(BuildError::new("routing.kind", reason));
        }
        let mut each = counts.iter().copied().max().unwrap_or(1);
        while each > 1 && columns(each) * places as u64 > MOST_SPREAD {
            each -= each.div_ceil(8);
        }
        let mut first = vec![0];
        for &count in &counts {
            first.push(first[first.len() - 1] + count.min(each));
        }
        let mut terminals = vec![0; columns(each) as usize];
        let deal = |&(target, seat): &(u32, u32)| {
            let own = counts[target as usize].min(each);
            let column = first[target as usize] + seat % own;
            terminals[column as usize] += 1;
            column
        };
        let column = seats.iter().map(deal).collect();
        Ok(Self { next: vec![NO_PORT; terminals.len() * places], targets, first, column, terminals, places })
    }

    /// Columns of all routers.
    pub(crate) fn column_count(&self) -> usize {
        self.terminals.len()
    }

    /// Columns of the router `targets[target]`.
    pub(crate) fn columns(&self, target: usize) -> Range<usize> {
        self.first[target] as usize..self.first[target + 1] as usize
    }

    /// Terminals of `column`.
    pub(crate) fn terminals(&self, column: usize) -> u32 {
        self.terminals[column]
    }

    /// The column of a terminal.
    #[inline]
    pub(crate) fn column(&self, terminal: u32) -> usize {
        self.column[terminal as usize] as usize
    }

    /// The output at `place` (router and phase) towards the terminals of `column`.
    #[inline]
    pub(crate) fn get(&self, column: usize, place: usize) -> u16 {
        self.next[column * self.places + place]
    }

    /// Everything towards `column`, to fill in.
    pub(crate) fn of(&mut self, column: usize) -> &mut [u16] {
        &mut self.next[column * self.places..(column + 1) * self.places]
    }
}

/// Calls `visit` with every channel into `router`: the router and output that it comes from.
pub(crate) fn each_feeder(fabric: &Fabric, router: u32, mut visit: impl FnMut(u32, u16)) {
    for input in 0..fabric.input_count(router) {
        if let Feeder::Router { router, port } = fabric.feeder(router, input) {
            visit(router, port);
        }
    }
}

/// The routers behind the outputs of `router`, with the output.
pub(crate) fn neighbours(fabric: &Fabric, router: u32) -> impl Iterator<Item = (u16, u32)> + '_ {
    (0..fabric.output_count(router)).filter_map(move |output| match fabric.channel(router, output).end {
        End::Router { router, .. } => Some((output, router)),
        _ => None,
    })
}
