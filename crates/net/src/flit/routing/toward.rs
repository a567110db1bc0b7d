//! Next outputs by destination, on any graph.

use stratasim_core::BuildError;

use crate::flit::fabric::{End, Fabric, Feeder};

/// Entries that a table may have.
const MOST_ENTRIES: u64 = 1 << 27;

/// No way.
pub(crate) const NO_PORT: u16 = u16::MAX;

/// The routers that have terminals, numbered, and a table of outputs towards each.
#[derive(Debug, Clone)]
pub(crate) struct Toward {
    /// Router of each column.
    pub(crate) targets: Vec<u32>,
    /// Column of each terminal.
    column: Vec<u32>,
    routers: usize,
    /// `next[column * routers + router]`.
    next: Vec<u16>,
}

impl Toward {
    /// A table without ways, with `phases` entries for each router and destination.
    ///
    /// # Errors
    /// More entries than can be held.
    pub(crate) fn new(fabric: &Fabric, phases: usize) -> Result<Self, BuildError> {
        let mut column_of = vec![u32::MAX; fabric.router_count()];
        let mut targets = Vec::new();
        let column = fabric
            .terminals()
            .iter()
            .map(|terminal| {
                let column = &mut column_of[terminal.router as usize];
                if *column == u32::MAX {
                    *column = targets.len() as u32;
                    targets.push(terminal.router);
                }
                *column
            })
            .collect();
        let routers = fabric.router_count() * phases;
        let entries = targets.len() as u64 * routers as u64;
        if entries > MOST_ENTRIES {
            let reason = format!(
                "a table of {} routers by {} destinations is more than {MOST_ENTRIES} entries",
                fabric.router_count(),
                targets.len()
            );
            return Err(BuildError::new("routing.kind", reason));
        }
        Ok(Self { next: vec![NO_PORT; entries as usize], targets, column, routers })
    }

    /// The column of a terminal.
    #[inline]
    pub(crate) fn column(&self, terminal: u32) -> usize {
        self.column[terminal as usize] as usize
    }

    /// The output at `place` (router and phase) towards the routers of `column`.
    #[inline]
    pub(crate) fn get(&self, column: usize, place: usize) -> u16 {
        self.next[column * self.routers + place]
    }

    /// Everything towards `column`, to fill in.
    pub(crate) fn of(&mut self, column: usize) -> &mut [u16] {
        &mut self.next[column * self.routers..(column + 1) * self.routers]
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
