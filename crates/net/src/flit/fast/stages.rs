//! One cycle of a block of routers.
//!
//! Every stage looks at the state before the cycle, so the stages may go one after the other through all
//! routers of the block: long loops over lists, whose rounds do not depend on each other.

use stratasim_core::memory::prefetch;

use super::guide::{Any, Guide, Ways};
use super::mask::Mask;
use super::part::{Part, Scratch};
use super::pool::Pool;
use super::switch::{Beyond, Switches};
use super::wheel::{BLOCK, Coming, Slots};
use crate::flit::routing::FlitRouting;
use crate::flit::routing::packed::Packed;
use crate::flit::terminals::Terminals;

/// So many flits before its own a packet is asked for.
pub(super) const EARLIER: usize = 8;

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Part<P, VS, N, M> {
    /// One cycle of the routers of a block: `slot` are the lists of what arrives, `leaving` those of flits and credits that
    /// leave.
    pub(super) fn cycle<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        block: usize,
        now: u64,
        slot: usize,
        leaving: &[Slots; 2],
        terminals: &mut T,
    ) {
        let (credits, range) = self.wheel.credits.take(slot + block);
        let routers = &mut self.blocks[block];
        for &number in &credits[range] {
            routers.credit(number.into());
        }
        self.wheel.credits.give_back(credits);
        let (flits, range) = self.wheel.flits.take(slot + block);
        let arrivals = &flits[range];
        let is_plain = !self.is_wide && self.order.is_none();
        if !is_plain {
            self.take_flits(block, now, arrivals);
        }
        self.blocks[block].decide(&mut self.scratch.won);
        self.give_channels(block, now);
        let heads = if is_plain { arrivals } else { Default::default() };
        match routing.packed().filter(|_| self.packs) {
            Some(Packed::Grid(grid)) => self.route_by(grid, routing, block, heads, terminals),
            Some(Packed::Tree(tree)) => self.route_by(tree, routing, block, heads, terminals),
            None => self.route_by(&Any, routing, block, heads, terminals),
        }
        self.wheel.flits.give_back(flits);
        self.traverse(block, now, leaving);
    }

    /// Flits come to input channels, body flits among them: those that find their channel empty compete for the switch at
    /// once. Heads that have come to the front are noted.
    #[inline(never)]
    fn take_flits(&mut self, block: usize, now: u64, flits: &[Coming]) {
        let (routers, pool, next) = with_next(&mut self.blocks, &mut self.pools, block);
        let fresh = &mut self.fresh[block];
        let followed = fresh.items().len();
        let asks = self.ahead.leaves_channels();
        for (at, &Coming { flit, number }) in flits.iter().enumerate() {
            if self.is_large {
                self.ahead.go_on(next);
            }
            if self.is_large
                && asks
                && let Some(&Coming { number: later, .. }) = flits.get(at + EARLIER)
            {
                prefetch(routers.front(later as usize));
            }
            let number = number as usize;
            let len = routers.enter(number);
            debug_assert!(len < self.buffer);
            if len != 0 {
                let last = routers.last_mut(number);
                *last = pool.put(*last, len != 1, flit);
                continue;
            }
            *routers.front_mut(number) = flit;
            if flit.is_head() {
                fresh.push(number as u16);
                continue;
            }
            routers.compete(number);
            if let Some(order) = &mut self.order {
                order.resumed(now, block * BLOCK * N + number, N);
            }
        }
        if let Some(order) = &mut self.order {
            order.routed::<N>(now, fresh.items_mut(), followed, block * BLOCK * N);
        }
    }

    /// Heads that have come to the front learn where they go: those that are noted, and those among `heads` that find their
    /// channel empty.
    #[inline(never)]
    fn route_by<Y: Ways, T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        ways: &Y,
        routing: &R,
        block: usize,
        heads: &[Coming],
        terminals: &mut T,
    ) {
        let (routers, pool, next) = with_next(&mut self.blocks, &mut self.pools, block);
        let fresh = &mut self.fresh[block];
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
        for &number in fresh.items() {
            let flit = *routers.front(number.into());
            guide.route(ways, routers, number.into(), flit);
        }
        fresh.clear();
        let asks = self.ahead.leaves_channels();
        for (at, &Coming { flit, number }) in heads.iter().enumerate() {
            if self.is_large {
                self.ahead.go_on(next);
                if (asks || Y::LOOKS)
                    && let Some(&Coming { flit: later, number }) = heads.get(at + EARLIER)
                {
                    if asks {
                        prefetch(routers.front(number as usize));
                    }
                    if Y::LOOKS
                        && let Some(cold) = guide.packets.cold.get(later.packet())
                    {
                        prefetch(cold);
                    }
                }
            }
            let number = number as usize;
            let len = routers.enter(number);
            debug_assert!(len < self.buffer);
            if len == 0 {
                guide.route(ways, routers, number, flit);
            } else {
                let last = routers.last_mut(number);
                *last = pool.put(*last, len != 1, flit);
            }
        }
    }

    /// Packets that wait get output channels.
    #[inline(never)]
    fn give_channels(&mut self, block: usize, now: u64) {
        let routers = &mut self.blocks[block];
        match &mut self.order {
            None => routers.give_channels(|_| {}),
            Some(order) => routers.give_channels(|number| order.given(now, block * BLOCK * N + number)),
        }
    }

    /// Flits go through the switches.
    #[inline(never)]
    fn traverse(&mut self, block: usize, now: u64, slots: &[Slots; 2]) {
        let Scratch { won, leaving, .. } = &mut self.scratch;
        if won.items().is_empty() {
            return;
        }
        self.last_progress = self.last_progress.max(now);
        let routers = &mut self.blocks[block];
        if self.is_large && self.ahead.leaves_channels() {
            for &number in won.items() {
                prefetch(routers.front(number.into()));
            }
        }
        let mut beyond = Beyond {
            now,
            flit_links: &self.flit_links,
            credit_links: &self.credit_links,
            first: block * BLOCK,
            spacing: &mut self.spacing,
            channels: N,
            part_of: &self.part_of,
            outbox: &mut self.outbox,
            leaving,
        };
        let (fresh, [flit_slots, credit_slots]) = (&mut self.fresh[block], slots);
        let (pool, wheel) = (&mut self.pools[block], &mut self.wheel);
        Switches { routers, pool, fresh, wheel, flit_slots, credit_slots }.pass(won.items(), &mut beyond);
        won.clear();
        if !self.scratch.leaving.is_empty() {
            self.send_away();
        }
    }
}

/// A block and its pool, and those of the next one.
fn with_next<'a, B>(
    blocks: &'a mut [B],
    pools: &'a mut [Pool],
    block: usize,
) -> (&'a mut B, &'a mut Pool, Option<(&'a B, &'a Pool)>) {
    let (blocks, next) = blocks.split_at_mut(block + 1);
    let (pools, next_pool) = pools.split_at_mut(block + 1);
    (&mut blocks[block], &mut pools[block], next.first().zip(next_pool.first()))
}
