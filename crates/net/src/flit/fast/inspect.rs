//! What is known of a part between two cycles.

use std::ops::Range;

use super::mask::{Count, Mask};
use super::order::Order;
use super::part::Part;
use super::wheel::BLOCK;
use crate::flit::fabric::{FULL_WIDTH, Fabric};
use crate::flit::kernel::Wait;

/// After so many cycles flits sent are added up: soon in tests, so that they notice.
pub(super) const ADDS_UP_AFTER: u64 = if cfg!(debug_assertions) { 1 << 8 } else { 1 << 15 };

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Part<P, VS, N, M> {
    /// Its terminals, in the numbers of the fabric.
    pub(super) fn terminals(&self) -> Range<u32> {
        self.first_terminal..self.first_terminal + self.sources.len() as u32
    }

    /// Draws are made in the order in which a list-based router makes them.
    pub(super) fn keep_order(&mut self) {
        self.order = Some(Order::new(self.blocks.len() * BLOCK * N));
    }

    /// Whether no flit and no credit is anywhere but at its source.
    pub(super) fn is_settled(&self) -> bool {
        self.in_flight == 0
            && self.wheel.next(self.now).is_none()
            && self.sources.iter().all(|source| source.left == 0)
    }

    /// Appends flits sent by every output. Those that wait for a narrow channel have passed the switch and are not on it.
    pub(super) fn channel_flits(&self, fabric: &Fabric, out: &mut [u64]) {
        for index in 0..self.router_count {
            let global = self.first_router + index as u32;
            let sent = self.blocks[index / BLOCK].sent_by(index % BLOCK);
            let before = self.sent.get(index).copied().unwrap_or([0; P]);
            for output in 0..fabric.output_count(global) {
                let port = output as usize;
                let waiting = self.spacing.get(index).map_or(0, |spacing| {
                    let (spacing, free) = spacing[port];
                    // the last one begins a spacing before the channel is free, those before it so much earlier each
                    let ahead = free.saturating_sub(u64::from(spacing) + self.now * u64::from(FULL_WIDTH));
                    ahead.div_ceil(u64::from(spacing))
                });
                out[fabric.index(global, output)] = before[port] + u64::from(sent[port]) - waiting;
            }
        }
    }

    /// Adds flits sent to those sent before, while they fit in a word.
    #[cold]
    #[inline(never)]
    pub(super) fn add_up(&mut self) {
        self.sent.resize(self.router_count, [0; P]);
        for (index, before) in self.sent.iter_mut().enumerate() {
            let sent = self.blocks[index / BLOCK].sent_by_mut(index % BLOCK);
            for (before, sent) in before.iter_mut().zip(sent) {
                *before += u64::from(std::mem::take(sent));
            }
        }
        self.adds_up_at = self.now + ADDS_UP_AFTER;
    }

    /// Appends the channels that wait.
    pub(super) fn waiting(&self, out: &mut Vec<Wait>) {
        for index in 0..self.router_count {
            let (routers, pool) = (&self.blocks[index / BLOCK], &self.pools[index / BLOCK]);
            for (channel, &len) in routers.lens_of(index % BLOCK).iter().enumerate() {
                let number = (index % BLOCK * N + channel) as u16;
                if len == Count::of(0) || self.fresh[index / BLOCK].items().contains(&number) {
                    continue;
                }
                let given = routers.out(number.into());
                // a packet without an output channel waits at the port that it wants
                let choices = self.choices.as_ref();
                let wish = choices.and_then(|choices| choices.wish(index, channel, N));
                let asks = |port: &usize| routers.waiters(index % BLOCK * P + port).has(channel);
                let asked = wish.or_else(|| (0..P).find(asks));
                out.push(Wait {
                    router: self.first_router + index as u32,
                    input: (channel / VS) as u16,
                    vc: (channel % VS) as u8,
                    output: asked.unwrap_or(given / VS % P) as u16,
                    output_vc: asked.is_none().then_some((given % VS) as u8),
                    dest: self.packets.dest(pool.first(*routers.ends(number.into()))),
                });
            }
        }
    }

    /// Flits that are somewhere in it: in channels of its routers, or on their way to its routers and terminals.
    pub(super) fn flits(&self) -> u64 {
        let lens = (0..self.router_count).flat_map(|index| self.blocks[index / BLOCK].lens_of(index % BLOCK));
        let waiting: u64 = lens.map(|&len| u64::from(len.into())).sum();
        waiting + self.wheel.flits.items() as u64
    }

    /// Looks whether all that is known of it fits together: after every few cycles of a small network, more seldom in a large one.
    pub(super) fn look_at_everything(&self) {
        let looks = self.wheel.flits.lists() + self.router_count * N;
        if looks > 1 << 12 && !self.now.is_multiple_of(64) {
            return;
        }
        let knows = |block: usize| (self.busy[block / 64] >> (block % 64) & 1 == 0) == self.is_idle(block);
        assert!((0..self.blocks.len()).all(knows), "a block has something to do and is not busy, or is");
        assert_eq!(self.in_flight, self.flits(), "flits in = flits out + in flight, in cycle {}", self.now);
        let mut wrong = Vec::new();
        self.violations(false, &mut wrong);
        assert_eq!(wrong, Vec::<String>::new(), "in cycle {}", self.now);
    }

    /// Credits above the buffer or flits without a place; where all parts are `at_rest`, credits that have not come back.
    pub(super) fn violations(&self, at_rest: bool, out: &mut Vec<String>) {
        let vcs = usize::from(self.vcs);
        for (source, terminal) in self.sources.iter().zip(self.first_terminal..) {
            let credits = &source.credits[..vcs];
            if credits.iter().any(|&credits| credits > self.buffer) {
                out.push(format!("terminal {terminal} has more credits than places"));
            } else if at_rest && credits.iter().any(|&credits| credits < self.buffer) {
                out.push(format!("terminal {terminal} lacks credits, and none is on its way"));
            }
        }
        for index in 0..self.router_count {
            let router = self.first_router as usize + index;
            let (credits, flits) = self.blocks[index / BLOCK].overflows(index % BLOCK, self.buffer);
            if credits {
                out.push(format!("router {router} has more credits than places"));
            }
            if flits {
                out.push(format!("router {router} holds more flits than it has places"));
            }
            if at_rest && self.blocks[index / BLOCK].lacks(index % BLOCK, self.buffer) {
                out.push(format!("router {router} lacks credits, and none is on its way"));
            }
        }
    }
}
