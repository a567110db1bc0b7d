//! One cycle of a block of routers.
//!
//! Every stage looks at the state before the cycle, so the stages may go one after the other through all
//! routers of the block: long loops over lists, whose rounds do not depend on each other.

use std::cell::RefCell;

use stratasim_core::memory::prefetch;

use super::guide::{Any, Guide, Several, Ways};
use super::mask::Mask;
use super::part::{Ahead, Part, Scratch};
use super::pool::Way;
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
        let woken = &mut self.scratch.woken;
        for &number in &credits[range] {
            woken.push_if(number, routers.credit(number.into()));
        }
        self.wheel.credits.give_back(credits);
        for &number in woken.items() {
            routers.wake(number.into());
        }
        woken.clear();
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
            Some(Packed::Tree(tree)) => match tree.plain() {
                Some(plain) => self.route_by(&plain, routing, block, heads, terminals),
                None => self.route_by(tree, routing, block, heads, terminals),
            },
            None => match self.choices.take() {
                None => self.route_by(&Any, routing, block, heads, terminals),
                Some(mut choices) => {
                    let several = Several { choices: RefCell::new(&mut choices), block };
                    self.route_by(&several, routing, block, heads, terminals);
                    self.choices = Some(choices);
                }
            },
        }
        self.wheel.flits.give_back(flits);
        self.traverse(block, now, leaving);
    }

    /// Flits come to input channels, body flits among them: those that find their channel empty compete for the switch at
    /// once. Heads that do are noted.
    #[inline(never)]
    fn take_flits(&mut self, block: usize, now: u64, flits: &[Coming]) {
        let (routers, pool) = (&mut self.blocks[block], &mut self.pools[block]);
        let (fresh, resumed) = (&mut self.fresh[block], &mut self.scratch.resumed);
        let followed = fresh.items().len();
        let asks = self.ahead.leaves_channels();
        for (at, &Coming { flit, number }) in flits.iter().enumerate() {
            if self.is_large {
                if at.is_multiple_of(Ahead::FLITS) {
                    self.ahead.go_on();
                }
                if asks && let Some(&Coming { number: later, .. }) = flits.get(at + EARLIER) {
                    prefetch(routers.ends(later as usize));
                }
            }
            let number = number as usize;
            let len = routers.enter(number);
            debug_assert!(len < self.buffer.into());
            let is_empty = len == 0;
            pool.put(routers.ends_mut(number), is_empty, flit, Way::UNKNOWN);
            fresh.push_if(number as u16, is_empty & flit.is_head());
            resumed.push_if(number as u16, is_empty & !flit.is_head());
        }
        for &number in resumed.items() {
            routers.compete(number.into());
            if let Some(order) = &mut self.order {
                order.resumed(now, block * BLOCK * N + usize::from(number), N);
            }
        }
        resumed.clear();
        if let Some(order) = &mut self.order {
            order.routed::<N>(now, fresh.items_mut(), followed, block * BLOCK * N);
        }
    }

    /// Heads that have come to the front learn where they go: those that are noted, and those among `heads` that find their
    /// channel empty.
    #[inline(never)]
    fn route_by<Y: Ways<M>, T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        ways: &Y,
        routing: &R,
        block: usize,
        heads: &[Coming],
        terminals: &mut T,
    ) {
        let (routers, pool) = (&mut self.blocks[block], &mut self.pools[block]);
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
            terminals,
        };
        for (at, &number) in fresh.items().iter().enumerate() {
            if self.is_large
                && Y::LOOKS
                && let Some(&later) = fresh.items().get(at + EARLIER)
            {
                guide.ask_early(pool.first(*routers.ends(later.into())));
            }
            guide.route(ways, routers, pool, number.into());
        }
        fresh.clear();
        let asks = self.ahead.leaves_channels();
        let mut later = heads.get(EARLIER..).unwrap_or_default().chunks(Ahead::FLITS);
        for heads in heads.chunks(Ahead::FLITS) {
            if self.is_large {
                self.ahead.go_on();
                for &Coming { flit, number } in later.next().unwrap_or_default() {
                    if asks {
                        prefetch(routers.ends(number as usize));
                    }
                    if Y::LOOKS {
                        guide.ask_early(flit);
                    }
                }
            }
            for &Coming { flit, number } in heads {
                let number = number as usize;
                guide.receive(ways, routers, pool, number, flit);
                debug_assert!(routers.lens_of(number / N)[number % N].into() <= u32::from(self.buffer));
            }
        }
    }

    /// Packets that wait get output channels.
    #[inline(never)]
    fn give_channels(&mut self, block: usize, now: u64) {
        let routers = &mut self.blocks[block];
        if self.order.is_none() && self.choices.is_none() {
            return routers.give_channels(|_| {});
        }
        if let Some(choices) = &mut self.choices {
            choices.choose(routers, block, now, self.buffer);
        }
        routers.give_channels(|number| {
            if let Some(order) = &mut self.order {
                order.given(now, block * BLOCK * N + number);
            }
            if let Some(choices) = &mut self.choices {
                choices.got::<N>(block, number);
            }
        });
        if let Some(choices) = &mut self.choices {
            choices.forget(routers, block);
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
                prefetch(routers.ends(number.into()));
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
        if let Some(choices) = &mut self.choices {
            choices.look_again(block);
        }
        if !self.scratch.leaving.is_empty() {
            self.send_away();
        }
    }
}
