//! The switches of a block: flits go through them, and credits go back.

use super::flit::Flit;
use super::link::{Links, Short};
use super::list::List;
use super::mask::Mask;
use super::pool::Pool;
use super::router::Routers;
use super::threads::Outbox;
use super::wheel::{Coming, Slots, Wheel};
use crate::flit::fabric::FULL_WIDTH;

/// The switches of a block at work.
pub(super) struct Switches<'a, const P: usize, const VS: usize, const N: usize, M: Mask> {
    pub(super) routers: &'a mut Routers<P, VS, N, M>,
    pub(super) pool: &'a mut Pool,
    pub(super) fresh: &'a mut List<P>,
    pub(super) wheel: &'a mut Wheel,
    /// Lists of flits and of credits that leave now.
    pub(super) flit_slots: &'a Slots,
    pub(super) credit_slots: &'a Slots,
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Switches<'_, P, VS, N, M> {
    /// One flit of each of the input channels `won` goes through the switch and onto its channel, and the place that it leaves
    /// becomes a credit.
    #[inline(always)]
    pub(super) fn pass(self, won: &[u16], beyond: &mut Beyond<'_, P>) {
        let Self { routers, pool, fresh, wheel, flit_slots, credit_slots } = self;
        for &number in won {
            let number = usize::from(number);
            let out = routers.out(number);
            let left = routers.leave(number);
            let flit = pool.take(routers.ends_mut(number));
            fresh.push_if(number as u16, (left != 0) & flit.is_tail());
            let port = out / VS;
            let more = routers.pass(number, port, out);
            if flit.is_tail() {
                routers.free(port, out);
            } else {
                // the flit behind it competes in the next cycle
                routers.compete_if(number, out, left != 0 && more);
            }
            let link = routers.output(port);
            let list = flit_slots.of(link.class()) + link.block();
            let coming = Coming { flit, number: link.channel::<VS>(out % VS) as u32 };
            if !wheel.flits.push(list, coming) {
                beyond.flit(wheel, link, port, out % VS, flit);
            }
            let feeder = routers.feeder(number);
            let list = credit_slots.of(feeder.class()) + feeder.block();
            if !wheel.credits.push(list, feeder.channel::<VS>(number % VS) as u16) {
                beyond.credit(wheel, feeder, number % VS);
            }
        }
    }
}

/// What lies behind ports whose links are looked up.
pub(super) struct Beyond<'a, const P: usize> {
    pub(super) now: u64,
    pub(super) flit_links: &'a Links,
    pub(super) credit_links: &'a Links,
    /// The first router of the block in the part.
    pub(super) first: usize,
    /// By output of the part, in 256ths of a cycle: spacing and the first free moment.
    pub(super) spacing: &'a mut [[(u32, u64); P]],
    /// Channels of a router.
    pub(super) channels: usize,
    pub(super) part_of: &'a [u8],
    pub(super) outbox: &'a mut [Outbox],
    pub(super) leaving: &'a mut Vec<(u64, u32, Flit)>,
}

impl<const P: usize> Beyond<'_, P> {
    /// A flit leaves by such a port.
    #[inline(never)]
    fn flit(&mut self, wheel: &mut Wheel, link: Short, port: usize, vc: usize, flit: Flit) {
        let (link, now) = (self.flit_links.other(link), self.now);
        let mut at = now + u64::from(link.delay);
        if link.is_narrow() {
            let (spacing, free) = &mut self.spacing[self.first + port / P][port % P];
            let start = (*free).max((now + 1) * u64::from(FULL_WIDTH));
            *free = start + u64::from(*spacing);
            at += start.div_ceil(u64::from(FULL_WIDTH)) - (now + 1);
        }
        if link.is_remote() {
            self.leaving.push((at, link.number() + vc as u32, flit));
        } else {
            wheel.flit(at, link.block(), link.first() + vc, flit);
        }
    }

    /// A credit goes back by such a port.
    #[inline(never)]
    fn credit(&mut self, wheel: &mut Wheel, feeder: Short, vc: usize) {
        let feeder = self.credit_links.other(feeder);
        let at = self.now + u64::from(feeder.delay);
        if feeder.is_remote() {
            let number = feeder.number() + vc as u32;
            let part = self.part_of[number as usize / self.channels] as usize;
            self.outbox[part].credits.push((at, number));
        } else {
            wheel.credit(at, feeder.block(), feeder.first() + vc);
        }
    }
}
