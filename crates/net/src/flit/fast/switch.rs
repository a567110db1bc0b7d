//! The switches of a block: flits go through them, and credits go back.

use super::flit::Flit;
use super::link::{Far, Link};
use super::mask::Mask;
use super::order::Order;
use super::part::Work;
use super::rings::Rings;
use super::router::Routers;
use super::threads::Outbox;
use super::wheel::{Ejected, Wheel};
use crate::flit::fabric::FULL_WIDTH;

/// The switches of a block, and what is at both ends.
pub(super) struct Switches<'a, const P: usize, const VS: usize, const N: usize, M, W> {
    pub(super) routers: &'a mut Routers<P, VS, N, M, W>,
    /// The first of them in the part.
    pub(super) first: usize,
    pub(super) now: u64,
    pub(super) work: &'a mut Work<P, N>,
    pub(super) wheel: &'a mut Wheel<N>,
    pub(super) rings: &'a Rings,
    pub(super) queued: &'a [Flit],
    /// Whether there are channels narrower than a flit per cycle.
    pub(super) narrow: bool,
    pub(super) spacing: &'a mut [[(u32, u64); P]],
    pub(super) order: &'a mut Option<Order>,
    pub(super) part_of: &'a [u8],
    pub(super) outbox: &'a mut [Outbox],
    pub(super) leaving: &'a mut Vec<(u64, u32, Flit)>,
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask, W: Mask> Switches<'_, P, VS, N, M, W> {
    /// A flit goes through the switch and onto its channel, and the place that it leaves becomes a credit.
    #[inline(always)]
    pub(super) fn pass(&mut self, number: usize) {
        let (now, routers) = (self.now, &mut *self.routers);
        let vc = routers.vc_mut(number);
        let (flit, port, out) = (vc.front, vc.port as usize, vc.out as usize);
        let left = vc.len - 1;
        vc.len = left;
        if left != 0 {
            vc.front = self.rings.take(self.first * N + number, vc, self.queued);
        }
        let more = routers.pass(number, port, out);
        if flit.is_tail() {
            let waited = routers.free(port, out);
            self.work.asking.insert_if(port, waited);
            if left != 0 {
                self.work.fresh.push(number as u16);
                if let Some(order) = &mut self.order {
                    order.followed(self.first * N + number);
                }
            }
        } else if left != 0 && more {
            self.work.ready.push(number as u16);
        }

        let (link, feeder) = (routers.output(port), routers.feeder(number));
        let (in_vc, out_vc) = (number % VS, out % VS);
        let mut at = now + u64::from(link.delay);
        if self.narrow {
            let (spacing, free) = &mut self.spacing[self.first + port / P][port % P];
            let start = (*free).max((now + 1) * u64::from(FULL_WIDTH));
            *free = start + u64::from(*spacing);
            at += start.div_ceil(u64::from(FULL_WIDTH)) - (now + 1);
        }
        match link.router() {
            Some(first) => self.wheel.flit(at, first + out_vc as u32, flit),
            None => self.leave(link, at, out, flit),
        }
        let at = now + u64::from(feeder.delay);
        match feeder.router() {
            Some(first) => self.wheel.credit(at, first + in_vc as u32),
            None => self.credit_far(feeder, at, in_vc as u32),
        }
    }

    /// A flit leaves the routers of the part.
    #[inline(never)]
    fn leave(&mut self, link: Link, at: u64, out: usize, flit: Flit) {
        if link.far() == Far::Terminal {
            self.wheel.eject(at, Ejected { terminal: link.number(), flit });
            // the terminal takes it at once, and its credit comes back
            self.wheel.credit(at + u64::from(link.back), (self.first * N + out) as u32);
        } else {
            self.leaving.push((at, link.number() + (out % VS) as u32, flit));
        }
    }

    /// A credit leaves the routers of the part.
    #[inline(never)]
    fn credit_far(&mut self, feeder: Link, at: u64, vc: u32) {
        if feeder.far() == Far::Terminal {
            self.wheel.terminal_credit(at, feeder.number(), vc as u8);
        } else {
            let number = feeder.number() + vc;
            let part = self.part_of[number as usize / N] as usize;
            self.outbox[part].credits.push((at, number));
        }
    }
}
