//! The terminals of a part: sources, which send a flit per cycle, and sinks.

use stratasim_core::memory::prefetch;

use super::flit::Flit;
use super::guide::Around;
use super::mask::Mask;
use super::packets::{Cold, cycle_of};
use super::part::{Part, Scratch};
use super::source::NO_VC;
use super::wheel::{BLOCK, Ejected};
use crate::flit::fabric::FULL_WIDTH;
use crate::flit::keys::Keys;
use crate::flit::routing::{FlitRouting, Head};
use crate::flit::terminals::{Arrival, FlitArrival, Offer, Terminals};

impl<const P: usize, const VS: usize, const N: usize, M: Mask, W: Mask> Part<P, VS, N, M, W> {
    /// Credits come back to terminals.
    pub(super) fn credit_sources(&mut self, slot: usize) {
        let mut credits = std::mem::take(&mut self.wheel.terminal_credits[slot]);
        for (terminal, vc) in credits.drain(..) {
            let source = &mut self.sources[terminal as usize];
            source.credits[vc as usize % VS] += 1;
            if source.left > 0 {
                self.sending[terminal as usize / 64] |= 1 << (terminal % 64);
            }
        }
        self.wheel.terminal_credits[slot] = credits;
    }

    /// Asks for packets.
    pub(super) fn generate<T: Terminals, R: FlitRouting + ?Sized>(&mut self, routing: &R, terminals: &mut T) {
        let now = self.now;
        if terminals.polled() {
            self.asked.clear();
            for terminal in 0..self.sources.len() {
                if self.sources[terminal].left == 0
                    && let Some(offer) = terminals.offer(self.first_terminal + terminal as u32, 0, now)
                {
                    self.start(routing, terminal, &offer, terminals);
                }
            }
            return;
        }
        let mut due = std::mem::take(&mut self.due);
        due.append(&mut self.asked);
        terminals.due(now, &mut due);
        for &terminal in &due {
            let local = (terminal - self.first_terminal) as usize;
            if self.sources[local].left == 0
                && let Some(offer) = terminals.offer(terminal, 0, now)
            {
                self.start(routing, local, &offer, terminals);
            }
        }
        due.clear();
        self.due = due;
    }

    /// A packet comes to the front of its source.
    fn start<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        terminal: usize,
        offer: &Offer,
        terminals: &mut T,
    ) {
        if offer.flits > 1 {
            self.rings.widen();
        }
        let global = self.first_terminal + terminal as u32;
        let source = &mut self.sources[terminal];
        let cold = Cold::new(global, source.number, offer);
        source.number = source.number.wrapping_add(1);
        let range = self.ranges[offer.range as usize];
        let mut head = Head { source: global, dest: offer.dest, range, memory: 0 };
        let router = self.injection[terminal].number() as usize / N;
        let mut around = Around::<T, VS> {
            credits: self.blocks[router / BLOCK].outs_of(router % BLOCK),
            places: u32::from(self.buffer) * u32::from(self.vcs),
            vcs: self.vcs as usize,
            seed: self.seed,
            cold: &cold,
            keys: Keys::at(None),
            terminals,
        };
        source.range = routing.start(&mut head, &mut around);
        source.packet = self.packets.insert(head.memory, offer.flits, cold);
        source.tag = offer.tag;
        source.front = Flit::head(source.packet, offer.dest, head.memory);
        source.left = offer.flits;
        source.vc = NO_VC;
        self.sending[terminal / 64] |= 1 << (terminal % 64);
    }

    /// Sends a flit from every source that can.
    pub(super) fn inject<T: Terminals>(&mut self, terminals: &mut T) {
        let now = self.now;
        for word in 0..self.sending.len() {
            let mut busy = self.sending[word];
            while busy != 0 {
                let terminal = word * 64 + busy.trailing_zeros() as usize;
                busy &= busy - 1;
                let source = &mut self.sources[terminal];
                if source.vc == NO_VC {
                    source.choose();
                }
                let vc = source.vc as usize;
                if source.vc == NO_VC || source.credits[vc % VS] == 0 {
                    // a credit wakes it
                    self.sending[word] &= !(1 << (terminal % 64));
                    continue;
                }
                if source.free_at > now << 8 {
                    continue;
                }
                let vc = vc % VS;
                let mut flit = source.front;
                if flit.is_head() {
                    source.last_vc = vc as u8;
                    self.packets.cold[source.packet as usize].entered = now as u32;
                } else {
                    flit = Flit::body(source.packet, now as u16);
                }
                if !self.narrow.is_empty() {
                    // a flit that waited goes when the channel is free, which may be between two cycles
                    let waited = !flit.is_head() || self.packets.cold[source.packet as usize].created < now;
                    let late = waited && source.free_at + u64::from(FULL_WIDTH) > now << 8;
                    let start = if late { source.free_at } else { now << 8 };
                    source.free_at = start + u64::from(self.narrow[terminal]);
                }
                source.front = Flit::default();
                source.left -= 1;
                let tail = source.left == 0;
                if tail {
                    self.sending[word] &= !(1 << (terminal % 64));
                    self.asked.push(self.first_terminal + terminal as u32);
                }
                source.credits[vc] -= 1;
                let link = self.injection[terminal];
                let at = now + u64::from(link.delay);
                self.wheel.flit(at, link.number() + vc as u32, flit.last(tail));
                self.in_flight += 1;
                self.last_progress = now;
                terminals.entered(source.tag, self.first_terminal + terminal as u32, tail);
            }
        }
    }

    /// Takes what arrives at terminals.
    pub(super) fn retire<T: Terminals>(&mut self, slot: usize, terminals: &mut T) {
        let mut ejected = std::mem::take(&mut self.wheel.ejected[slot]);
        if ejected.is_empty() {
            self.wheel.ejected[slot] = ejected;
            return;
        }
        let now = self.now;
        self.in_flight -= ejected.len() as u64;
        self.last_progress = now;
        self.in_order(&mut ejected);
        for ejected in ejected.drain(..) {
            let id = ejected.flit.packet();
            let cold = &self.packets.cold[id];
            let terminal = self.first_terminal + ejected.terminal;
            debug_assert_eq!(cold.dest(), terminal, "a packet arrived at another terminal");
            let entered = cycle_of(cold.entered, now);
            let (mut last_entered, mut head_arrived) = (entered, now);
            let (mut flits, mut hops) = (1, ejected.flit.hops());
            if let Some(long) = self.packets.long.get_mut(id) {
                if ejected.flit.is_head() {
                    long.hops = hops;
                    long.head_arrived = now as u32;
                    long.last_entered = cold.entered;
                } else {
                    // flits of a packet enter in order: the first moment after the last one with these low
                    // bits
                    let ahead = ejected.flit.entered().wrapping_sub(long.last_entered as u16);
                    long.last_entered = long.last_entered.wrapping_add(ahead.into());
                }
                (flits, hops) = (long.flits, long.hops);
                last_entered = cycle_of(long.last_entered, now);
                head_arrived = cycle_of(long.head_arrived, now);
            }
            let measured = cold.is_measured();
            terminals.flit(FlitArrival {
                tag: cold.tag,
                terminal,
                arrived: now,
                latency: now - last_entered,
                measured,
            });
            if ejected.flit.is_tail() {
                let arrival = Arrival {
                    source: cold.source,
                    dest: terminal,
                    flits,
                    hops,
                    created: cold.created,
                    entered,
                    head_arrived,
                    arrived: now,
                    tag: cold.tag,
                    measured,
                };
                terminals.packet(&arrival);
                self.packets.remove(id as u32);
            }
        }
        self.wheel.ejected[slot] = ejected;
    }

    /// Puts arrivals in the order of their terminals, which get one flit per cycle each.
    fn in_order(&mut self, ejected: &mut [Ejected]) {
        let Scratch { arrived, arrived_at, .. } = &mut self.scratch;
        for &Ejected { terminal, flit } in &*ejected {
            if self.is_large
                && let Some(cold) = self.packets.cold.get(flit.packet())
            {
                prefetch(cold);
            }
            arrived[terminal as usize] = flit;
            arrived_at[terminal as usize / 64] |= 1 << (terminal % 64);
        }
        let mut places = ejected.iter_mut();
        for (word, set) in (0..).zip(arrived_at) {
            while *set != 0 {
                let terminal = word * 64 + set.trailing_zeros();
                *set &= *set - 1;
                if let Some(place) = places.next() {
                    *place = Ejected { terminal, flit: arrived[terminal as usize] };
                }
            }
        }
        debug_assert!(places.next().is_none(), "a terminal got two flits in one cycle");
    }
}
