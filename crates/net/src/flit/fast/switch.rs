//! The switches of a block: flits go through them, and credits go back.

use super::flit::Flit;
use super::link::Link;
use super::list::List;
use super::mask::Mask;
use super::rings::Rings;
use super::router::Routers;
use super::threads::Outbox;
use super::wheel::Wheel;
use crate::flit::fabric::FULL_WIDTH;

/// The switches of a block, and what is at both ends.
pub(super) struct Switches<'a, const P: usize, const VS: usize, const N: usize, M, W> {
    pub(super) routers: &'a mut Routers<P, VS, N, M, W>,
    /// The first of them in the part.
    pub(super) first: usize,
    pub(super) now: u64,
    pub(super) fresh: &'a mut List<N>,
    pub(super) wheel: &'a mut Wheel,
    pub(super) rings: &'a Rings,
    pub(super) queued: &'a [Flit],
    /// Whether there are channels narrower than a flit per cycle.
    pub(super) narrow: bool,
    pub(super) spacing: &'a mut [[(u32, u64); P]],
    pub(super) part_of: &'a [u8],
    pub(super) outbox: &'a mut [Outbox],
    pub(super) leaving: &'a mut Vec<(u64, u32, Flit)>,
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask, W: Mask> Switches<'_, P, VS, N, M, W> {
    /// A flit goes through the switch and onto its channel, and the place that it leaves becomes a credit. `WIDE` where there
    /// are body flits.
    #[inline(always)]
    pub(super) fn pass<const WIDE: bool>(&mut self, number: usize) {
        let (now, routers) = (self.now, &mut *self.routers);
        let vc = routers.vc_mut(number);
        let (flit, port, out) = (vc.front, vc.port as usize, vc.out as usize);
        let left = vc.len - 1;
        vc.len = left;
        if WIDE {
            vc.front = self.rings.take_any(self.first * N + number, vc, left != 0, self.queued);
        } else if left != 0 {
            vc.front = self.rings.take(self.first * N + number, vc, self.queued);
        }
        let more = routers.pass(number, port, out);
        if flit.is_tail() {
            routers.free(port, out);
            if left != 0 {
                self.fresh.push(number as u16);
            }
        } else {
            routers.go_on(number, port, left != 0 && more);
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
        if link.is_remote() {
            self.leaving.push((at, link.number() + out_vc as u32, flit));
        } else {
            self.wheel.flit(at, link.block(), link.first() + out_vc, flit);
        }
        let at = now + u64::from(feeder.delay);
        if feeder.is_remote() {
            self.credit_far(feeder, at, in_vc as u32);
        } else {
            self.wheel.credit(at, feeder.block(), feeder.first() + in_vc);
        }
    }

    /// A credit leaves the routers of the part.
    #[inline(never)]
    fn credit_far(&mut self, feeder: Link, at: u64, vc: u32) {
        let number = feeder.number() + vc;
        let part = self.part_of[number as usize / N] as usize;
        self.outbox[part].credits.push((at, number));
    }
}
