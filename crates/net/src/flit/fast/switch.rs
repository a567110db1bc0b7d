//! The switches of a block: flits go through them, and credits go back.

use super::flit::Flit;
use super::list::{List, parts};
use super::mask::Mask;
use super::order::Order;
use super::part::Work;
use super::rings::Rings;
use super::router::{Far, Router};
use super::threads::Outbox;
use super::wheel::{BLOCK, Ejected, Wheel};
use crate::flit::fabric::FULL_WIDTH;

/// The switches of a block, and what is at both ends.
pub(super) struct Switches<'a, const P: usize, const VS: usize, const N: usize, M> {
    pub(super) routers: &'a mut [Router<P, VS, N, M>; BLOCK],
    /// The first of them in the part.
    pub(super) first: usize,
    pub(super) now: u64,
    pub(super) vcs: u8,
    pub(super) work: &'a mut Work<N>,
    pub(super) wheel: &'a mut Wheel<N>,
    pub(super) rings: &'a Rings,
    pub(super) queued: &'a [Flit],
    pub(super) spacing: &'a mut [[(u32, u64); P]],
    pub(super) order: &'a mut Option<Order>,
    pub(super) part_of: &'a [u8],
    pub(super) outbox: &'a mut [Outbox],
    pub(super) leaving: &'a mut Vec<(u64, u32, Flit)>,
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Switches<'_, P, VS, N, M> {
    /// Channels that compete for a switch.
    #[inline(never)]
    pub(super) fn share(&mut self, shared: &mut List<N>, contested: &mut [M; BLOCK]) {
        let mut routers = 0_u64;
        for &number in shared.items() {
            let (index, channel) = parts::<N>(number);
            routers |= 1 << index;
            contested[index] |= M::bit(channel);
        }
        shared.clear();
        while routers != 0 {
            let index = routers.trailing_zeros() as usize % BLOCK;
            routers &= routers - 1;
            let all = std::mem::take(&mut contested[index]);
            let mut winners = self.routers[index].share_switch(all);
            let mut losers = all & !winners;
            while !losers.is_empty() {
                self.work.ready.push((index * N + losers.first()) as u16);
                losers = losers.rest();
            }
            while !winners.is_empty() {
                self.pass((index * N + winners.first()) as u16);
                winners = winners.rest();
            }
        }
    }

    /// A flit goes through the switch and onto its channel, and the place that it leaves becomes a credit.
    #[inline(always)]
    pub(super) fn pass(&mut self, number: u16) {
        let (index, channel) = parts::<N>(number);
        let (now, in_part) = (self.now, self.first + index);
        let router = &mut self.routers[index];
        let (input, in_vc) = (channel / VS, channel % VS);
        let vc = &mut router.vcs[channel];
        let flit = vc.front;
        let output = vc.port as usize % P;
        let out_channel = vc.out as usize % N;
        let out_vc = out_channel % VS;
        let left = vc.len - 1;
        vc.len = left;
        if left != 0 {
            vc.front = self.rings.take(in_part * N + channel, vc, self.queued);
        }
        router.pass(channel, output, self.vcs);
        let out = &mut router.outs[out_channel];
        out.credits -= 1;
        let credits = out.credits;
        router.sent[output] += 1;
        if flit.is_tail() {
            router.free |= M::bit(out_channel);
            router.clear_ready(M::bit(channel), output);
            self.work.asking.push_if((index * P + output) as u16, router.ask(output));
            if left != 0 {
                self.work.fresh.push(number);
                if let Some(order) = &mut self.order {
                    order.followed(in_part * N + channel);
                }
            }
        } else if left == 0 || credits == 0 {
            router.clear_ready(M::bit(channel), output);
        } else {
            self.work.ready.push(number);
        }

        let (link, feeder) = (router.outputs[output], router.inputs[input]);
        let mut at = now + u64::from(link.delay);
        if let Some(spacing) = self.spacing.get_mut(in_part) {
            // channels narrower than a flit per cycle
            let (spacing, free) = &mut spacing[output];
            let start = (*free).max((now + 1) * u64::from(FULL_WIDTH));
            *free = start + u64::from(*spacing);
            at += start.div_ceil(u64::from(FULL_WIDTH)) - (now + 1);
        }
        match link.far() {
            Far::Router => self.wheel.flit(at, link.number() + out_vc as u32, flit),
            Far::Terminal => {
                self.wheel.eject(at, Ejected { terminal: link.number(), flit });
                // the terminal takes it at once, and its credit comes back
                self.wheel.credit(at + u64::from(link.back), (in_part * N + out_channel) as u32);
            }
            Far::Remote | Far::Nothing => self.leaving.push((at, link.number() + out_vc as u32, flit)),
        }
        let at = now + u64::from(feeder.delay);
        let number = feeder.number() + in_vc as u32;
        match feeder.far() {
            Far::Router => self.wheel.credit(at, number),
            Far::Terminal => self.wheel.terminal_credit(at, feeder.number(), in_vc as u8),
            Far::Remote | Far::Nothing => {
                let part = self.part_of[number as usize / N] as usize;
                self.outbox[part].credits.push((at, number));
            }
        }
    }
}
