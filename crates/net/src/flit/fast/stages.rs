//! One cycle of a block of routers.
//!
//! Every stage looks at the state before the cycle, so the stages may go one after the other through all
//! routers of the block: long loops over lists, whose rounds do not depend on each other.

use stratasim_core::memory::prefetch;

use super::guide::{Any, Guide, Ways};
use super::mask::Mask;
use super::part::{Part, Scratch};
use super::switch::Switches;
use super::wheel::{Arrivals, BLOCK};
use crate::flit::routing::FlitRouting;
use crate::flit::routing::packed::Packed;
use crate::flit::terminals::Terminals;

/// So many flits before its own a packet is asked for.
const EARLIER: usize = 8;

impl<const P: usize, const VS: usize, const N: usize, M: Mask, W: Mask> Part<P, VS, N, M, W> {
    /// One cycle of the routers of a block.
    pub(super) fn cycle<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        block: usize,
        now: u64,
        slot: usize,
        terminals: &mut T,
    ) {
        let arrivals = self.wheel.take(block, slot);
        self.take_credits(block, &arrivals);
        self.give_channels(block, now);
        self.take_flits(routing, block, now, &arrivals, terminals);
        self.wheel.give_back(arrivals);
        self.traverse(block, now);
        let routers = &self.blocks[block];
        let ready = &mut self.work[block].ready;
        ready.extend_from(&self.scratch.granted, |number| routers.is_ready(number.into()));
        self.scratch.granted.clear();
    }

    /// Credits come back to output channels.
    #[inline(always)]
    fn take_credits(&mut self, block: usize, arrivals: &Arrivals) {
        let routers = &mut self.blocks[block];
        for &number in &arrivals.credits {
            if let Some(owner) = routers.credit(number.into())
                && routers.is_ready(owner)
            {
                self.work[block].ready.push(owner as u16);
            }
        }
    }

    /// Flits come to input channels, and heads that have come to the front learn where they go: at once, or,
    /// where the order of draws matters, when all are known.
    #[inline(always)]
    fn take_flits<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        block: usize,
        now: u64,
        arrivals: &Arrivals,
        terminals: &mut T,
    ) {
        match routing.packed().filter(|_| self.packs) {
            Some(Packed::Grid(grid)) => self.take_flits_by(grid, routing, block, now, arrivals, terminals),
            Some(Packed::Tree(tree)) => self.take_flits_by(tree, routing, block, now, arrivals, terminals),
            None => self.take_flits_by(&Any, routing, block, now, arrivals, terminals),
        }
    }

    /// The same where it is known who knows the ways.
    #[inline(never)]
    fn take_flits_by<Y: Ways, T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        ways: &Y,
        routing: &R,
        block: usize,
        now: u64,
        arrivals: &Arrivals,
        terminals: &mut T,
    ) {
        let (blocks, next) = self.blocks.split_at_mut(block + 1);
        let (routers, next) = (&mut blocks[block], next.first());
        let base = block * BLOCK * N;
        let work = &mut self.work[block];
        let mut guide = Guide {
            routing,
            ranges: &self.ranges,
            halves: &self.halves,
            packets: &mut self.packets,
            first: self.first_router + (block * BLOCK) as u32,
            places: u32::from(self.buffer) * u32::from(self.vcs),
            vcs: self.vcs as usize,
            knows_source: self.knows_source,
            seed: self.seed,
            terminals,
        };
        for (at, &(number, flit)) in arrivals.flits.iter().enumerate() {
            if self.is_large {
                self.ahead.go_on(next);
                if Y::LOOKS
                    && let Some((_, later)) = arrivals.flits.get(at + EARLIER)
                    && let Some(cold) = guide.packets.cold.get(later.packet())
                {
                    prefetch(cold);
                }
            }
            let number = number as usize;
            let vc = routers.vc_mut(number);
            debug_assert!(vc.len < self.buffer);
            let len = vc.len;
            vc.len = len + 1;
            if len != 0 {
                self.rings.put(base + number, vc, len, flit, &mut guide.packets.queued);
            } else if flit.is_head() {
                match &mut self.order {
                    None => guide.route(ways, routers, number, flit, &mut work.asking),
                    Some(order) => {
                        vc.front = flit;
                        work.fresh.push(number as u16);
                        order.arrived(base + number);
                    }
                }
            } else {
                vc.front = flit;
                work.ready.push_if(number as u16, routers.is_ready(number));
                if let Some(order) = &mut self.order {
                    order.resumed(now, base + number, N);
                }
            }
        }
        if let Some(order) = &mut self.order {
            order.routed::<N, M>(now, work.fresh.items_mut(), base, &mut self.scratch.by_router);
        }
        for &number in work.fresh.items() {
            let flit = routers.vc(number.into()).front;
            guide.route(ways, routers, number.into(), flit, &mut work.asking);
        }
        work.fresh.clear();
    }

    /// Packets that wait get output channels.
    #[inline(always)]
    fn give_channels(&mut self, block: usize, now: u64) {
        let routers = &mut self.blocks[block];
        let granted = &mut self.scratch.granted;
        self.work[block].asking.retain(|port| {
            let (waiters, first) = (routers.waiters(port), port / P * N);
            if waiters.rest().is_empty() {
                let number = first + waiters.first();
                let given = routers.give_channel(port, number);
                granted.push_if(number as u16, given);
                return false;
            }
            let (mut given, again) = routers.give_channels(port);
            while !given.is_empty() {
                granted.push((first + given.first()) as u16);
                given = given.rest();
            }
            again
        });
        if let Some(order) = &mut self.order {
            order.channels_given::<N>(now, granted.items_mut(), block * BLOCK * N);
        }
    }

    /// Flits go through the switches.
    #[inline(always)]
    fn traverse(&mut self, block: usize, now: u64) {
        let work = &mut self.work[block];
        if work.ready.is_empty() {
            return;
        }
        self.last_progress = self.last_progress.max(now);
        let Scratch { contest, won, leaving, .. } = &mut self.scratch;
        contest.decide(&self.blocks[block], &mut work.ready, won);
        let mut switches = Switches {
            routers: &mut self.blocks[block],
            first: block * BLOCK,
            now,
            work,
            wheel: &mut self.wheel,
            rings: &self.rings,
            queued: &self.packets.queued,
            narrow: !self.spacing.is_empty(),
            spacing: &mut self.spacing,
            order: &mut self.order,
            part_of: &self.part_of,
            outbox: &mut self.outbox,
            leaving,
        };
        if self.is_large {
            for &number in won.items() {
                let vc = switches.routers.vc(number.into());
                self.rings.approach(block * BLOCK * N + usize::from(number), vc, &self.packets.queued);
            }
        }
        for &number in won.items() {
            switches.pass(number.into());
        }
        won.clear();
        if !self.scratch.leaving.is_empty() {
            self.send_away();
        }
    }
}
