//! Progressive filling: every level from scratch, lowest first.
//!
//! The textbook algorithm (Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2) with a heap:
//! the least of all flow caps and resource levels is settled, its flows leave their other resources,
//! and so on. The safety net of the level fixed point, and its replacement when that is switched off.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stratasim_topo::Sharing;

use super::levels::Patience;
use super::system::System;

/// Marks a flow among the resources in the heap.
const FLOW: u32 = 1 << 31;

impl System {
    /// Sets the levels of all resources and enabled flows; false, with some of them set, where `patience` ends before.
    pub(super) fn fill(&mut self, patience: &mut Patience<'_>) -> bool {
        for resource in self.solver.take_marks() {
            self.resources[resource as usize].marked = false;
        }
        let count = self.resources.len();
        let mut left = self.resources.iter().map(|resource| resource.capacity).collect::<Vec<_>>();
        let mut open = vec![0.0; count];
        let mut current = vec![f64::INFINITY; count];
        let mut settled = vec![true; self.flows.len()];
        let mut heap = BinaryHeap::new();
        for r in 0..count {
            self.resources[r].level = f64::INFINITY;
            open[r] = self.open_share(r, &settled, true);
            if open[r] > 0.0 {
                current[r] = left[r] / open[r];
                heap.push(Reverse((current[r].to_bits(), r as u32)));
            }
        }
        for (flow, row) in self.flows.iter().enumerate().filter(|(_, row)| row.enabled) {
            settled[flow] = false;
            heap.push(Reverse((row.cap_level.to_bits(), flow as u32 | FLOW)));
        }
        let (mut group, mut touched) = (Vec::new(), Vec::new());
        while let Some(&Reverse((bits, _))) = heap.peek() {
            let level = f64::from_bits(bits);
            group.clear();
            // what settles at the same level settles together
            while let Some(&Reverse((same, id))) = heap.peek()
                && same == bits
            {
                heap.pop();
                if id & FLOW != 0 {
                    group.push(id & !FLOW);
                } else if current[id as usize] == level {
                    group.extend(self.users_of(id).iter().map(|e| e.flow));
                    self.resources[id as usize].level = level;
                    current[id as usize] = f64::INFINITY;
                }
            }
            for &flow in &group {
                if std::mem::replace(&mut settled[flow as usize], true) {
                    continue;
                }
                self.set_level(flow, level);
                for at in 0..self.elements_of(flow).len() {
                    let element = self.elements_of(flow)[at];
                    let r = element.resource as usize;
                    if current[r] == f64::INFINITY {
                        continue; // settled or dropped
                    }
                    if self.resources[r].sharing == Sharing::Shared {
                        left[r] -= element.share * level;
                    }
                    touched.push(element.resource);
                }
            }
            let mut work = group.len() + touched.len();
            // once each, however many have settled there: all who are left are looked at
            touched.sort_unstable();
            touched.dedup();
            for resource in touched.drain(..) {
                let r = resource as usize;
                work += self.users_of(resource).len();
                open[r] = self.open_share(r, &settled, false);
                let dropped = left[r] <= self.resources[r].capacity * self.snap || open[r] <= self.snap;
                current[r] = if dropped { f64::INFINITY } else { left[r] / open[r] };
                if !dropped {
                    heap.push(Reverse((current[r].to_bits(), resource)));
                }
            }
            if !patience.spend(work) {
                return false;
            }
        }
        for r in 0..count {
            self.resources[r].load =
                self.users_of(r as u32).iter().map(|e| e.share * self.flows[e.flow as usize].level).sum();
        }
        true
    }

    /// Sum (fat pipe: maximum) of the shares of the users that are not settled, or of all.
    fn open_share(&self, r: usize, settled: &[bool], all: bool) -> f64 {
        let shares =
            self.users_of(r as u32).iter().filter(|e| all || !settled[e.flow as usize]).map(|e| e.share);
        match self.resources[r].sharing {
            Sharing::Shared => shares.sum(),
            Sharing::FatPipe => shares.fold(0.0, f64::max),
        }
    }

    /// Sets the level of a flow without marking anything.
    fn set_level(&mut self, flow: u32, level: f64) {
        let stamp = self.solver.stamp();
        let row = &mut self.flows[flow as usize];
        if row.stamp != stamp {
            row.stamp = stamp;
            row.old_level = row.level;
            self.solver.touch(flow);
        }
        self.flows[flow as usize].level = level;
    }
}
