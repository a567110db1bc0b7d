//! The level fixed point: re-solves only what a change touches.
//!
//! The levels of a max-min allocation are the unique solution of "each resource is full with its
//! users at the least of its own level and what they get elsewhere, or limits nobody". A change marks
//! the resources that it touches; the one with the least level is recomputed first; flows whose level
//! moves mark those of their other resources that can notice ([`System::move_flow`]). A change at
//! level `x` never concerns levels below `x`, so working upwards settles most resources once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stratasim_core::water_level::water_level;
use stratasim_topo::Sharing;

use super::system::{NONE, System, User};

/// Two levels closer than this (relative) are the same.
const SAME: f64 = 1e-14;

/// So many uses of resources are looked at, hundredths of a second of work, before it is asked whether to go on.
pub(super) const ASKED_EVERY: usize = 1 << 20;

/// Whether a long solve is to go on, which is asked now and then.
pub(crate) struct Patience<'a> {
    goes_on: &'a mut dyn FnMut() -> bool,
    /// Uses that are looked at between two questions.
    every: usize,
    /// Those that may be looked at before the next one.
    left: usize,
}

impl<'a> Patience<'a> {
    pub(crate) fn new(every: usize, goes_on: &'a mut dyn FnMut() -> bool) -> Self {
        Self { goes_on, every, left: every }
    }

    /// So many uses have been looked at: whether to go on.
    #[inline]
    pub(super) fn spend(&mut self, uses: usize) -> bool {
        match self.left.checked_sub(uses) {
            Some(left) => {
                self.left = left;
                true
            }
            None => self.ask(),
        }
    }

    #[cold]
    fn ask(&mut self) -> bool {
        self.left = self.every;
        (self.goes_on)()
    }
}

/// What the solver keeps between and during solves.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Marked resources by (bits of the level, resource): positive floats order as integers.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    touched: Vec<u32>,
    stamp: u32,
    /// The last solve was given up: what it left is no state to go on from.
    given_up: bool,
    /// Shares and offers of the users of the resource in hand.
    offers: Vec<(f64, f64)>,
    /// Resources recomputed so far, for the account of a run.
    pub(crate) recomputed: u64,
}

impl Work {
    #[inline]
    pub(super) fn push(&mut self, resource: u32, level: f64) {
        self.queue.push(Reverse((level.to_bits(), resource)));
    }

    /// Takes all resources that were to be recomputed.
    pub(super) fn take_marks(&mut self) -> impl Iterator<Item = u32> {
        self.queue.drain().map(|Reverse((_, resource))| resource)
    }

    #[inline]
    pub(super) fn touch(&mut self, flow: u32) {
        self.touched.push(flow);
    }

    /// Number of the solve in progress or to come.
    #[inline]
    pub(super) fn stamp(&self) -> u32 {
        self.stamp
    }
}

impl System {
    /// Whether something changed since the last solve.
    #[inline]
    pub(crate) fn is_dirty(&self) -> bool {
        !self.solver.queue.is_empty() || !self.solver.touched.is_empty() || self.solver.given_up
    }

    /// Brings all levels up to date and appends the flows whose rate changed (or is new); false, and nothing of that, where
    /// `patience` ends before.
    pub(crate) fn solve(&mut self, changed: &mut Vec<u32>, patience: &mut Patience<'_>) -> bool {
        if self.solver.given_up {
            return self.solve_all(changed, patience);
        }
        // Where many flows come at once, levels go up and down many times: from scratch is quicker then. Rounding could in
        // principle let two resources push each other by one bit for ever, too.
        let mut budget = 1000 + 4 * (self.resources.len() + self.uses);
        while let Some(Reverse((_, resource))) = self.solver.queue.pop() {
            self.resources[resource as usize].marked = false;
            self.update(resource);
            let work = 1 + self.users_of(resource).len();
            let Some(left) = budget.checked_sub(work) else {
                return self.solve_all(changed, patience);
            };
            budget = left;
            if !patience.spend(work) {
                self.solver.given_up = true;
                return false;
            }
        }
        self.finish_solve(changed);
        true
    }

    /// Solves from scratch by filling all resources: the same answer without the shortcut.
    pub(crate) fn solve_all(&mut self, changed: &mut Vec<u32>, patience: &mut Patience<'_>) -> bool {
        self.solver.given_up = !self.fill(patience);
        if self.solver.given_up {
            return false;
        }
        self.finish_solve(changed);
        true
    }

    fn finish_solve(&mut self, changed: &mut Vec<u32>) {
        for flow in self.solver.touched.drain(..) {
            let row = &self.flows[flow as usize];
            if row.enabled && row.level != row.old_level {
                changed.push(flow);
            }
        }
        self.solver.stamp += 1;
    }

    /// Recomputes one resource and moves the flows that notice.
    fn update(&mut self, resource: u32) {
        let r = resource as usize;
        self.solver.recomputed += 1;
        let old = self.resources[r].level;
        let new = self.level_of(r);
        if new == old || (old < f64::INFINITY && (new - old).abs() <= SAME * old) {
            return;
        }
        self.resources[r].level = new;
        for index in 0..self.resources[r].users.len() {
            let flow = self.resources[r].users[index].flow;
            let before = self.flows[flow as usize].level;
            if new < before {
                self.move_flow(flow, new, resource);
            } else if before == old {
                // it was limited here (perhaps elsewhere too): see what limits it now
                let after = self.offer(flow, NONE);
                self.move_flow(flow, after, resource);
            }
        }
    }

    /// The level that a flow gets without `except`.
    #[inline]
    fn offer(&self, flow: u32, except: u32) -> f64 {
        let mut offer = self.flows[flow as usize].cap_level;
        for element in self.elements_of(flow) {
            if element.resource != except {
                offer = offer.min(self.resources[element.resource as usize].level);
            }
        }
        offer
    }

    /// The level at which resource `r` is full, given what its users get elsewhere.
    fn level_of(&mut self, r: usize) -> f64 {
        let mut offers = std::mem::take(&mut self.solver.offers);
        offers.clear();
        let own = self.resources[r].level;
        let mut all = 0.0;
        for &User { share, flow, .. } in &self.resources[r].users {
            let level = self.flows[flow as usize].level;
            let offer = if level < own { level } else { self.offer(flow, r as u32) };
            all += share;
            offers.push((share, offer));
        }
        let level = match self.resources[r].sharing {
            Sharing::Shared => water_level(self.resources[r].capacity, all, &offers, self.snap),
            Sharing::FatPipe => fat_pipe_level(self.resources[r].capacity, &mut offers, self.snap),
        };
        self.solver.offers = offers;
        level
    }
}

/// The level of a fat pipe: its capacity times the least penalty (over weight) among the users that
/// nothing else limits first; infinite when something does for all. With equal penalties each user
/// gets the whole capacity.
///
/// With `snap` above zero, users whose limit is that close to the least one go with it, even where
/// the pipe would have limited them first: SimGrid's work precision.
pub(crate) fn fat_pipe_level(capacity: f64, offers: &mut Vec<(f64, f64)>, snap: f64) -> f64 {
    loop {
        let most = offers.iter().map(|&(share, _)| share).fold(0.0, f64::max);
        if most == 0.0 {
            return f64::INFINITY;
        }
        let level = capacity / most;
        let least = offers.iter().map(|&(_, offer)| offer).fold(f64::INFINITY, f64::min);
        let before = offers.len();
        offers.retain(|&(_, offer)| offer >= level && (least >= level || offer - least >= snap));
        if offers.len() == before {
            return level;
        }
    }
}
