//! One cycle of a block of routers.
//!
//! Every stage looks at the state before the cycle, so the stages may go one after the other through all
//! routers of the block: long loops over lists, whose rounds do not depend on each other.

use stratasim_core::memory::prefetch;

use super::flit::Flit;
use super::guide::{Any, Guide, Ways};
use super::mask::Mask;
use super::part::{Part, Scratch};
use super::switch::Switches;
use super::wheel::BLOCK;
use crate::flit::routing::FlitRouting;
use crate::flit::routing::packed::Packed;
use crate::flit::terminals::Terminals;

/// So many flits before its own a packet is asked for.
pub(super) const EARLIER: usize = 8;

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
        let (credits, range) = self.wheel.credits.take(slot + block);
        let routers = &mut self.blocks[block];
        for &number in &credits.numbers[range] {
            routers.credit(number.into());
        }
        self.wheel.credits.give_back(credits);
        self.give_channels(block, now);
        let (flits, range) = self.wheel.flits.take(slot + block);
        let arrivals = (&flits.numbers[range.clone()], &flits.what[range]);
        self.take_flits(routing, block, now, arrivals, terminals);
        self.wheel.flits.give_back(flits);
        self.traverse(block, now);
        self.blocks[block].begin();
    }

    /// Flits come to input channels, and heads that have come to the front learn where they go: at once, or,
    /// where the order of draws matters, when all are known.
    #[inline(always)]
    fn take_flits<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        block: usize,
        now: u64,
        flits: (&[u16], &[u64]),
        terminals: &mut T,
    ) {
        match routing.packed().filter(|_| self.packs) {
            Some(Packed::Grid(grid)) => self.take_flits_by(grid, routing, block, now, flits, terminals),
            Some(Packed::Tree(tree)) => self.take_flits_by(tree, routing, block, now, flits, terminals),
            None => self.take_flits_by(&Any, routing, block, now, flits, terminals),
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
        flits: (&[u16], &[u64]),
        terminals: &mut T,
    ) {
        let guesses_nothing = self.guesses_nothing();
        let (blocks, next) = self.blocks.split_at_mut(block + 1);
        let (routers, next) = (&mut blocks[block], next.first());
        let base = block * BLOCK * N;
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
        let (is_plain, asks) = (self.order.is_none(), self.ahead.leaves_channels());
        let followed = fresh.items().len();
        for (at, (&number, &flit)) in flits.0.iter().zip(flits.1).enumerate() {
            let flit = Flit(flit);
            if self.is_large {
                self.ahead.go_on(next);
                if asks && let Some(&later) = flits.0.get(at + EARLIER) {
                    prefetch(routers.vc(later.into()));
                }
                if Y::LOOKS
                    && let Some(&later) = flits.1.get(at + EARLIER)
                    && let Some(cold) = guide.packets.cold.get(Flit(later).packet())
                {
                    prefetch(cold);
                }
            }
            let number = number as usize;
            let vc = routers.vc_mut(number);
            debug_assert!(vc.len < self.buffer);
            let len = vc.len;
            vc.len = len + 1;
            if !flit.is_head() {
                if guesses_nothing || len != 0 {
                    self.rings.put(base + number, vc, len, flit, &mut guide.packets.queued);
                }
                vc.front = if len == 0 { flit } else { vc.front };
                routers.compete_if(number, len == 0);
                if let Some(order) = &mut self.order
                    && len == 0
                {
                    order.resumed(now, base + number, N);
                }
            } else if len != 0 {
                self.rings.put(base + number, vc, len, flit, &mut guide.packets.queued);
            } else if is_plain {
                guide.route(ways, routers, number, flit);
            } else {
                vc.front = flit;
                fresh.push(number as u16);
            }
        }
        if let Some(order) = &mut self.order {
            order.routed::<N>(now, fresh.items_mut(), followed, base);
        }
        for &number in fresh.items() {
            let flit = routers.vc(number.into()).front;
            guide.route(ways, routers, number.into(), flit);
        }
        fresh.clear();
    }

    /// Whether body flits are written and read whether or not there is one before or behind them, since nobody can predict
    /// that. Where state comes from far away, a line less counts for more.
    #[inline(always)]
    fn guesses_nothing(&self) -> bool {
        self.rings.is_wide() && !self.is_large
    }

    /// Packets that wait get output channels.
    #[inline(always)]
    fn give_channels(&mut self, block: usize, now: u64) {
        let routers = &mut self.blocks[block];
        match &mut self.order {
            None => routers.give_channels(|_| {}),
            Some(order) => routers.give_channels(|number| order.given(now, block * BLOCK * N + number)),
        }
    }

    /// Flits go through the switches.
    #[inline(always)]
    fn traverse(&mut self, block: usize, now: u64) {
        let (guesses_nothing, asks) = (self.guesses_nothing(), self.ahead.leaves_channels());
        let Scratch { won, leaving, .. } = &mut self.scratch;
        self.blocks[block].decide(won);
        if won.items().is_empty() {
            return;
        }
        self.last_progress = self.last_progress.max(now);
        let mut switches = Switches {
            routers: &mut self.blocks[block],
            first: block * BLOCK,
            now,
            fresh: &mut self.fresh[block],
            wheel: &mut self.wheel,
            rings: &self.rings,
            queued: &self.packets.queued,
            narrow: !self.spacing.is_empty(),
            spacing: &mut self.spacing,
            part_of: &self.part_of,
            outbox: &mut self.outbox,
            leaving,
        };
        if self.is_large {
            for &number in won.items().iter().filter(|_| asks) {
                prefetch(switches.routers.vc(number.into()));
            }
            for &number in won.items() {
                let vc = switches.routers.vc(number.into());
                self.rings.approach(block * BLOCK * N + usize::from(number), vc, &self.packets.queued);
            }
        }
        if guesses_nothing {
            won.items().iter().for_each(|&number| switches.pass::<true>(number.into()));
        } else {
            won.items().iter().for_each(|&number| switches.pass::<false>(number.into()));
        }
        won.clear();
        if !self.scratch.leaving.is_empty() {
            self.send_away();
        }
    }
}
