//! A contiguous part of the routers with their terminals, and its way through time.

use stratasim_core::memory::{Approach, LINE_BYTES};

use super::choices::Choices;
use super::flit::Flit;
use super::link::{Link, Links};
use super::list::List;
use super::mask::Mask;
use super::order::Order;
use super::packets::Packets;
use super::pool::Pool;
use super::router::Routers;
use super::source::Source;
use super::threads::Outbox;
use super::wheel::{Coming, Slots, Wheel, members};
use crate::flit::fabric::FULL_WIDTH;
use crate::flit::routing::FlitRouting;
use crate::flit::terminals::{Offer, Terminals};

/// Cycles that a router runs ahead of others at most.
pub(super) const MOST_LOOKAHEAD: u32 = 4;

/// A part of the network. Input and output channels have numbers: router of the part x N + channel.
pub(super) struct Part<const P: usize, const VS: usize, const N: usize, M: Mask> {
    /// First router and first terminal of the part, in the numbers of the fabric.
    pub(super) first_router: u32,
    pub(super) first_terminal: u32,
    pub(super) now: u64,
    /// Cycles that nothing needs to get anywhere: routers may run so far ahead of each other.
    pub(super) lookahead: u32,
    pub(super) vcs: u8,
    pub(super) buffer: u16,
    pub(super) ranges: Vec<(u8, u8)>,
    /// The lower half, the upper half and all virtual channels of each range.
    pub(super) halves: Vec<[u16; 4]>,
    /// Whether routing in words says the same: where it asks for halves, they are halves.
    pub(super) packs: bool,
    pub(super) seed: u64,
    pub(super) knows_source: bool,
    /// Blocks of routers that have something to do in their next cycle beside what arrives, as a set,
    pub(super) busy: Vec<u64>,
    /// and a list of those at work now, of routers or of terminals; empty between.
    pub(super) active: Vec<u32>,
    /// Routers, filled up to whole blocks,
    pub(super) blocks: Vec<Routers<P, VS, N, M>>,
    /// and those that there are.
    pub(super) router_count: usize,
    /// Whether they are too many for the nearer caches.
    pub(super) is_large: bool,
    /// Flits sent, by router and output, that routers have forgotten; and when they forget more.
    pub(super) sent: Vec<[u64; P]>,
    pub(super) adds_up_at: u64,
    /// How much of the next block has been asked for.
    pub(super) ahead: Ahead,
    /// Flits behind the first one of their channel, by block.
    pub(super) pools: Vec<Pool>,
    /// Whether there are packets of several flits.
    pub(super) is_wide: bool,
    /// By output, in 256ths of a cycle: spacing and the first free moment; empty when all have full width.
    pub(super) spacing: Vec<[(u32, u64); P]>,
    pub(super) wheel: Wheel,
    /// Links of outputs, and those by which credits of inputs go back.
    pub(super) flit_links: Links,
    pub(super) credit_links: Links,
    /// Input channels whose packet in front is to be routed in the next cycle, by block.
    pub(super) fresh: Vec<List<P>>,
    pub(super) scratch: Scratch<P>,
    pub(super) packets: Packets,
    pub(super) sources: Vec<Source<VS>>,
    pub(super) injection: Vec<Link>,
    /// Where credits of terminals go.
    pub(super) ejection: Vec<Link>,
    /// Spacing of their channels in 256ths of a cycle; empty when all have full width.
    pub(super) narrow: Vec<u32>,
    /// Sources that try to send in this cycle.
    pub(super) sending: Vec<u64>,
    /// Sources that have just sent a tail and are asked in the next cycle.
    pub(super) asked: Vec<u32>,
    pub(super) due: Vec<u32>,
    /// Packets that have come into being in this cycle.
    pub(super) offers: Vec<(u32, Offer)>,
    pub(super) order: Option<Order<M>>,
    /// Heads that wait, where routing gives them several ways.
    pub(super) choices: Option<Choices<M>>,
    pub(super) in_flight: u64,
    pub(super) last_progress: u64,
    pub(super) outbox: Vec<Outbox>,
    pub(super) part_of: Vec<u8>,
    /// The packet whose head came last by an input channel from another part.
    pub(super) crossing: Vec<u32>,
}

/// The next block of routers is asked for while one is at work, some lines with every [`Ahead::FLITS`] flits: all of it and
/// its pool, or, where it has few flits, what it has beside flits of input channels. Those are then asked for one by one.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Whether the flits of input channels of the present block, and those of the next, are among the lines.
    has_channels: bool,
    next_has: bool,
    /// What is asked for next, and what then: the pool and the block.
    lines: Approach,
    then: Approach,
    /// Pairs of lines with [`Ahead::FLITS`] flits.
    pairs: usize,
}

impl Ahead {
    /// So many flits share the cost of a look whether there is anything left to ask for.
    pub(super) const FLITS: usize = 4;

    /// For a block with so many flits, and the next one with its own; `dense` bytes of it are without the flits of input
    /// channels.
    fn begin<B>(&mut self, flits: usize, next_flits: usize, next: &B, dense: usize, pool: &Pool) {
        let all = size_of::<B>();
        self.has_channels = self.next_has;
        // a flit comes through one channel and leaves by another, and lines are shared
        self.next_has = 2 * next_flits * LINE_BYTES >= all - dense;
        self.lines = Approach::new(pool.memory(), size_of_val(pool.memory()));
        self.then = Approach::new(next, if self.next_has { all } else { dense });
        let turns = flits.div_ceil(Self::FLITS).max(1);
        self.pairs = (self.lines.lines() + self.then.lines()).div_ceil(2 * turns).min(4 * Self::FLITS);
    }

    /// Whether flits of input channels have to be asked for.
    #[inline(always)]
    pub(super) fn leaves_channels(&self) -> bool {
        !self.has_channels
    }

    /// Asks for some lines of the next block and its pool.
    #[inline(always)]
    pub(super) fn go_on(&mut self) {
        if self.lines.is_over() {
            self.lines = std::mem::take(&mut self.then);
        }
        self.lines.go_on(self.pairs);
    }
}

/// Lists within one cycle of a block.
#[derive(Debug)]
pub(super) struct Scratch<const P: usize> {
    /// Input channels whose flit passes the switch.
    pub(super) won: List<P>,
    /// Output channels that have a credit again.
    pub(super) woken: List<P>,
    /// Input channels, empty before, of packets whose head has gone on.
    pub(super) resumed: List<P>,
    /// Flits for other parts: when, input channel of the fabric, flit.
    pub(super) leaving: Vec<(u64, u32, Flit)>,
    /// Places of packets that have left for other parts.
    pub(super) left: Vec<u32>,
    /// Flits at terminals of a block, put in order.
    pub(super) arrived: Vec<Coming>,
    pub(super) arrived_at: Vec<u64>,
}

impl<const P: usize> Scratch<P> {
    /// For blocks of so many terminals.
    pub(super) fn new(terminals: usize) -> Self {
        Self {
            won: List::default(),
            woken: List::default(),
            resumed: List::default(),
            leaving: Vec::new(),
            left: Vec::new(),
            arrived: vec![Coming::default(); terminals],
            arrived_at: vec![0; terminals.div_ceil(64)],
        }
    }
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Part<P, VS, N, M> {
    /// Runs cycles until `until` is the next one, skipping those in which nothing happens.
    pub(super) fn run<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        until: u64,
        terminals: &mut T,
    ) {
        while self.now < until {
            match self.next_active(terminals) {
                Some(at) if at < until => self.now = at,
                _ => {
                    self.now = until;
                    return;
                }
            }
            // draws from one stream come cycle by cycle
            let cycles = if terminals.polled() { 1 } else { u64::from(self.lookahead) };
            self.window(routing, cycles.min(until - self.now), terminals, true);
            if terminals.stop() {
                return;
            }
        }
    }

    /// Whether a block of routers has nothing to do in its next cycle but what arrives.
    #[inline(always)]
    pub(super) fn is_idle(&self, block: usize) -> bool {
        self.fresh[block].items().is_empty()
            && self.blocks[block].is_idle()
            && self.choices.as_ref().is_none_or(|choices| choices.is_idle(block))
    }

    /// The first cycle, from now on, in which something happens.
    pub(super) fn next_active<T: Terminals>(&self, terminals: &mut T) -> Option<u64> {
        if terminals.polled() || !self.asked.is_empty() || self.busy.iter().any(|&busy| busy != 0) {
            return Some(self.now);
        }
        let sending = self.next_sending();
        if sending == Some(self.now) {
            return sending;
        }
        let arrival = self.wheel.next(self.now);
        if arrival == Some(self.now) {
            return arrival;
        }
        let due = terminals.next_due(self.now).map(|at| at.max(self.now));
        [due, arrival, sending].into_iter().flatten().min()
    }

    /// The first cycle, from now on, in which the channel of a source that has something to send is free.
    fn next_sending(&self) -> Option<u64> {
        let mut first = None;
        for (word, &set) in self.sending.iter().enumerate() {
            let mut left = set;
            while left != 0 {
                let terminal = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let free = if self.narrow.is_empty() { 0 } else { self.sources[terminal].free_at };
                let at = free.div_ceil(FULL_WIDTH.into()).max(self.now);
                first = Some(first.map_or(at, |first: u64| first.min(at)));
                if first == Some(self.now) {
                    return first;
                }
            }
        }
        first
    }

    /// As many cycles as everything needs to get anywhere: first of the terminals, cycle by cycle, then of
    /// the routers, one block after the other, so that each is fetched from memory once. With `may_stop` it
    /// ends after the cycle in which the terminals want no more.
    pub(super) fn window<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        cycles: u64,
        terminals: &mut T,
        may_stop: bool,
    ) {
        if self.now >= self.adds_up_at {
            self.add_up();
        }
        let first = self.now;
        let mut slots = [0; MOST_LOOKAHEAD as usize];
        let mut leaving = [[Slots::default(); 2]; MOST_LOOKAHEAD as usize];
        let mut count = 0;
        for (slot, leaving) in slots.iter_mut().zip(&mut leaving).take(cycles as usize) {
            *slot = self.wheel.slot(self.now);
            *leaving = [&self.flit_links, &self.credit_links].map(|links| self.wheel.slots(links, self.now));
            self.credit_sources(*slot);
            // places that packets leave are still in the nearest cache when others take them
            let retires_first = terminals.in_any_order();
            if retires_first {
                self.retire(*slot, terminals);
            }
            self.generate(routing, terminals);
            self.inject(terminals);
            if !retires_first {
                self.retire(*slot, terminals);
            }
            self.now += 1;
            count += 1;
            if may_stop && terminals.stop() {
                break;
            }
        }
        // what leaves one of them comes to others later
        let mut active = std::mem::take(&mut self.active);
        let held = |word| {
            slots[..count].iter().fold(self.busy[word], |all, &slot| all | self.wheel.arrivals(slot, word))
        };
        members(0..self.blocks.len(), held, &mut active);
        for (at, &block) in active.iter().enumerate() {
            let block = block as usize;
            if self.is_large {
                let flits = |block: usize| -> usize {
                    slots[..count].iter().map(|slot| self.wheel.flits.len(slot + block)).sum()
                };
                let next_block = active[(at + 1) % active.len()] as usize;
                let (own, next) = (flits(block), flits(next_block));
                let dense = Routers::<P, VS, N, M>::DENSE_BYTES;
                self.ahead.begin(own, next, &self.blocks[next_block], dense, &self.pools[next_block]);
            }
            let mut is_idle = self.busy[block / 64] >> (block % 64) & 1 == 0;
            for (now, (&slot, leaving)) in (first..).zip(slots.iter().zip(&leaving)).take(count) {
                if !is_idle || !self.wheel.is_quiet(block, slot) {
                    self.cycle(routing, block, now, slot, leaving, terminals);
                    is_idle = self.is_idle(block);
                }
            }
            self.busy[block / 64] &= !(u64::from(is_idle) << (block % 64));
            self.busy[block / 64] |= u64::from(!is_idle) << (block % 64);
        }
        active.clear();
        self.active = active;
        if cfg!(debug_assertions) {
            self.look_at_everything();
        }
    }
}
