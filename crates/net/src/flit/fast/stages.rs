//! One cycle of a block of routers.
//!
//! Every stage looks at the state before the cycle, so the stages may go one after the other through all
//! routers of the block: long loops over lists, whose rounds do not depend on each other.

use stratasim_core::memory::prefetch;

use super::guide::Guide;
use super::mask::Mask;
use super::part::{Part, Scratch};
use super::switch::Switches;
use super::wheel::{Arrivals, BLOCK};
use crate::flit::routing::FlitRouting;
use crate::flit::routing::packed::Packed;
use crate::flit::terminals::Terminals;

/// So many flits before its own a packet is asked for.
const EARLIER: usize = 8;

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Part<P, VS, N, M> {
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
        let routers = &mut self.blocks[block];
        let ready = &mut self.work[block].ready;
        for &number in self.scratch.granted.items() {
            ready.push_if(number, routers.activate(number.into()));
        }
        self.scratch.granted.clear();
    }

    /// Credits come back to output channels.
    #[inline(always)]
    fn take_credits(&mut self, block: usize, arrivals: &Arrivals) {
        let routers = &mut self.blocks[block];
        for &number in &arrivals.credits {
            if let Some(owner) = routers.credit(number.into())
                && routers.activate(owner)
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
        let (blocks, next) = self.blocks.split_at_mut(block + 1);
        let (routers, next) = (&mut blocks[block], next.first());
        let base = block * BLOCK * N;
        let work = &mut self.work[block];
        let mut guide = Guide {
            routing,
            packed: routing.packed().filter(|_| self.packs),
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
        // draws look at the packet, beside its flit
        let draws = self.is_large && guide.packed.is_none_or(Packed::draws);
        let distance = if draws { EARLIER } else { arrivals.flits.len() };
        for (at, &(number, flit)) in arrivals.flits.iter().enumerate() {
            self.ahead.go_on(next);
            if let Some((_, later)) = arrivals.flits.get(at + distance)
                && let Some(cold) = guide.packets.cold.get(later.packet())
            {
                prefetch(cold);
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
                    None => guide.route(routers, number, flit, &mut work.asking),
                    Some(order) => {
                        vc.front = flit;
                        work.fresh.push(number as u16);
                        order.arrived(base + number);
                    }
                }
            } else {
                vc.front = flit;
                work.ready.push_if(number as u16, routers.activate(number));
                if let Some(order) = &mut self.order {
                    order.resumed(now, base + number, N);
                }
            }
        }
        if let Some(order) = &mut self.order {
            order.routed::<N, M>(now, work.fresh.items_mut(), base, &mut self.scratch.contested);
        }
        for &number in work.fresh.items() {
            let flit = routers.vc(number.into()).front;
            guide.route(routers, number.into(), flit, &mut work.asking);
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

    /// Flits go through the switches: those that no other competes with, and the winners among the others.
    #[inline(always)]
    fn traverse(&mut self, block: usize, now: u64) {
        let work = &mut self.work[block];
        if work.ready.is_empty() {
            return;
        }
        self.last_progress = self.last_progress.max(now);
        let Scratch { alone, shared, contested, leaving, .. } = &mut self.scratch;
        let mut switches = Switches {
            routers: &mut self.blocks[block],
            first: block * BLOCK,
            now,
            vcs: self.vcs,
            work,
            wheel: &mut self.wheel,
            rings: &self.rings,
            queued: &self.packets.queued,
            spacing: &mut self.spacing,
            order: &mut self.order,
            part_of: &self.part_of,
            outbox: &mut self.outbox,
            leaving,
        };
        if self.is_large {
            for &number in switches.work.ready.items() {
                let vc = switches.routers.vc(number.into());
                self.rings.approach(block * BLOCK * N + usize::from(number), vc, &self.packets.queued);
            }
        }
        // one that is alone changes nothing that the others look at
        for &number in switches.work.ready.items() {
            let is_alone = switches.routers.is_alone(number.into());
            alone.push_if(number, is_alone);
            shared.push_if(number, !is_alone);
        }
        switches.work.ready.clear();
        for &number in alone.items() {
            switches.pass(number.into());
        }
        alone.clear();
        if !shared.is_empty() {
            switches.share(shared, contested);
        }
        if !self.scratch.leaving.is_empty() {
            self.send_away();
        }
    }
}
