//! The terminals of a part: sources, which send a flit per cycle, and sinks.

use super::flit::Flit;
use super::guide::Around;
use super::mask::Mask;
use super::packets::{Cold, Rest, cycle_of};
use super::part::{Part, Scratch};
use super::source::NO_VC;
use super::wheel::{BLOCK, Coming, members};
use crate::flit::fabric::FULL_WIDTH;
use crate::flit::keys::{self, Keys};
use crate::flit::routing::{FlitRouting, Head};
use crate::flit::terminals::{Arrival, FlitArrival, Offer, Terminals};

/// So many arrivals before its own a packet is asked for that comes to its terminal: it has been left alone since it left.
const MUCH_EARLIER: usize = 24;

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Part<P, VS, N, M> {
    /// Terminals of a block.
    const TERMINALS: usize = BLOCK * P;
    /// So many words of sources are looked at in one go.
    const TOGETHER: usize = 8;

    /// The block of routers and terminals of a part in which a terminal is, and its place there.
    pub(super) fn place_of_terminal(blocks: usize, terminal: usize) -> (usize, usize) {
        (blocks + terminal / Self::TERMINALS, terminal % Self::TERMINALS * VS)
    }

    /// Credits come back to terminals.
    #[inline(never)]
    pub(super) fn credit_sources(&mut self, slot: usize) {
        let first = self.blocks.len();
        let mut active = std::mem::take(&mut self.active);
        members(first..self.wheel.blocks(), |word| self.wheel.credits.held(slot, word), &mut active);
        for block in active.drain(..).map(|block| block as usize) {
            let (credits, range) = self.wheel.credits.take(slot + block);
            let base = (block - first) * Self::TERMINALS;
            for &number in &credits[range] {
                let (terminal, vc) = (base + number as usize / VS, number as usize % VS);
                let source = &mut self.sources[terminal];
                source.credits[vc] += 1;
                self.sending[terminal / 64] |= u64::from(source.left > 0) << (terminal % 64);
            }
            self.wheel.credits.give_back(credits);
        }
        self.active = active;
    }

    /// Asks for packets.
    #[inline(never)]
    pub(super) fn generate<T: Terminals, R: FlitRouting + ?Sized>(&mut self, routing: &R, terminals: &mut T) {
        let now = self.now;
        let is_direct = !terminals.in_order() && self.narrow.is_empty() && routing.packed().is_some();
        if terminals.polled() {
            self.asked.clear();
            for terminal in 0..self.sources.len() {
                if self.sources[terminal].left == 0
                    && let Some(offer) = &terminals.offer(self.first_terminal + terminal as u32, 0, now)
                    && !(is_direct && self.send(terminal, offer, terminals))
                {
                    self.start(routing, terminal, offer, terminals);
                }
            }
            return;
        }
        let mut due = std::mem::take(&mut self.due);
        // those that could not be asked before first
        due.append(&mut self.asked);
        self.ask(is_direct, routing, &due, terminals);
        due.clear();
        terminals.due(now, &mut due);
        // others are asked after each packet anyway
        let announces = terminals.announces();
        due.retain(|&terminal| {
            let source = &mut self.sources[(terminal - self.first_terminal) as usize];
            if source.left != 0 {
                source.is_due = true;
            } else if source.sent_at == now && announces {
                self.asked.push(terminal);
            }
            source.left == 0 && source.sent_at != now
        });
        self.ask(is_direct, routing, &due, terminals);
        due.clear();
        self.due = due;
    }

    /// Asks for packets of the sources `due`, all of which have sent theirs.
    fn ask<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        is_direct: bool,
        routing: &R,
        due: &[u32],
        terminals: &mut T,
    ) {
        let mut offers = std::mem::take(&mut self.offers);
        terminals.offers(due, self.now, &mut offers);
        for (terminal, offer) in &offers {
            let terminal = (terminal - self.first_terminal) as usize;
            if !(is_direct && self.send(terminal, offer, terminals)) {
                self.start(routing, terminal, offer, terminals);
            }
        }
        offers.clear();
        self.offers = offers;
    }

    /// Sends a packet of one flit at once, as [`Part::start`] and [`Part::inject`] do where words know the way and channels of
    /// terminals are as wide as a flit; false where it is longer or has to wait.
    #[inline(always)]
    fn send<T: Terminals>(&mut self, terminal: usize, offer: &Offer, terminals: &mut T) -> bool {
        if offer.flits != 1 {
            return false;
        }
        let now = self.now;
        let source = &mut self.sources[terminal];
        source.range = self.ranges[offer.range as usize];
        source.vc = NO_VC;
        source.choose(terminals.insists());
        let vc = source.vc;
        if vc == NO_VC {
            return false;
        }
        let number = source.number;
        source.number = number.wrapping_add(1);
        source.last_vc = vc;
        source.sent_at = now;
        let vc = usize::from(vc) % VS;
        source.credits[vc] -= 1;
        let global = self.first_terminal + terminal as u32;
        let salt = self.packets.salt_of(self.seed, global, number);
        let rest = Rest { memory: 0, salt, dest: offer.dest, flits: 1, rounds: 0 };
        let id = self.packets.insert(Cold::new(global, offer, now), rest);
        let link = self.injection[terminal];
        let flit = Flit::head(id, offer.dest, 0).last(true);
        self.wheel.flit(now + u64::from(link.delay), link.block(), link.first() + vc, flit);
        self.in_flight += 1;
        self.last_progress = now;
        if !terminals.announces() {
            self.asked.push(global);
        }
        terminals.entered(offer.tag, global, true);
        true
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
            self.is_wide = true;
        }
        let global = self.first_terminal + terminal as u32;
        let source = &mut self.sources[terminal];
        let number = source.number;
        source.number = number.wrapping_add(1);
        let range = self.ranges[offer.range as usize];
        let mut head = Head { source: global, dest: offer.dest, range, memory: 0 };
        let link = self.injection[terminal];
        source.range = range;
        if routing.packed().is_none() || cfg!(debug_assertions) {
            let mut around = Around::<T, M::Count, VS> {
                credits: self.blocks[link.block()].outs_of(link.first() / N),
                places: u32::from(self.buffer) * u32::from(self.vcs),
                vcs: self.vcs as usize,
                salt: keys::salt(self.seed, global, number.into()),
                keys: Keys::at(None),
                terminals,
            };
            source.range = routing.start(&mut head, &mut around);
            debug_assert!(routing.packed().is_none() || (source.range, head.memory) == (range, 0));
        }
        // made here, so that it is written where it stays: a copy would have to wait for what was just written
        let salt = self.packets.salt_of(self.seed, global, number);
        let rest = Rest { memory: head.memory, salt, dest: offer.dest, flits: offer.flits, rounds: 0 };
        source.packet = self.packets.insert(Cold::new(global, offer, self.now), rest);
        source.tag = offer.tag;
        source.front = Flit::head(source.packet, offer.dest, head.memory);
        source.left = offer.flits;
        source.vc = NO_VC;
        if !offer.waited {
            source.free_at = source.free_at.max(self.now << 8);
        }
        self.sending[terminal / 64] |= 1 << (terminal % 64);
    }

    /// Sends a flit from every source that can.
    #[inline(never)]
    pub(super) fn inject<T: Terminals>(&mut self, terminals: &mut T) {
        for first in (0..self.sending.len()).step_by(Self::TOGETHER) {
            let words = first..self.sending.len().min(first + Self::TOGETHER);
            // of many terminals most have nothing to send
            if self.sending[words.clone()].iter().fold(0, |all, set| all | set) != 0 {
                words.for_each(|word| self.inject_from(word, terminals));
            }
        }
    }

    /// The same for the sources of a word.
    #[inline(always)]
    fn inject_from<T: Terminals>(&mut self, word: usize, terminals: &mut T) {
        let (now, announces) = (self.now, terminals.announces());
        let mut busy = self.sending[word];
        while busy != 0 {
            let terminal = word * 64 + busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let source = &mut self.sources[terminal];
            if source.vc == NO_VC {
                source.choose(terminals.insists());
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
                flit = Flit::body(source.packet, now as u32);
            }
            if !self.narrow.is_empty() {
                // a flit that waited goes when the channel is free, which may be between two cycles
                let late = source.free_at + u64::from(FULL_WIDTH) > now << 8;
                let start = if late { source.free_at } else { now << 8 };
                source.free_at = start + u64::from(self.narrow[terminal]);
            }
            source.front = Flit::default();
            source.left -= 1;
            let tail = source.left == 0;
            if tail {
                self.sending[word] &= !(1 << (terminal % 64));
                if std::mem::take(&mut source.is_due) || !announces {
                    self.asked.push(self.first_terminal + terminal as u32);
                }
            }
            source.credits[vc] -= 1;
            let link = self.injection[terminal];
            let at = now + u64::from(link.delay);
            self.wheel.flit(at, link.block(), link.first() + vc, flit.last(tail));
            self.in_flight += 1;
            self.last_progress = now;
            terminals.entered(source.tag, self.first_terminal + terminal as u32, tail);
        }
    }

    /// Takes what arrives at terminals.
    #[inline(never)]
    pub(super) fn retire<T: Terminals>(&mut self, slot: usize, terminals: &mut T) {
        let first = self.blocks.len();
        let mut active = std::mem::take(&mut self.active);
        members(first..self.wheel.blocks(), |word| self.wheel.flits.held(slot, word), &mut active);
        for block in active.drain(..).map(|block| block as usize) {
            let (mut flits, range) = self.wheel.flits.take(slot + block);
            self.retire_from((block - first) * Self::TERMINALS, &mut flits[range], terminals);
            self.wheel.flits.give_back(flits);
        }
        self.active = active;
    }

    /// The same for terminals from `first` on.
    fn retire_from<T: Terminals>(&mut self, first: usize, arrivals: &mut [Coming], terminals: &mut T) {
        let now = self.now;
        self.in_flight -= arrivals.len() as u64;
        self.last_progress = now;
        if terminals.in_order() {
            self.in_order(arrivals);
        }
        if self.packets.are_plain() {
            return self.retire_singles(first, arrivals, terminals);
        }
        for (at, &Coming { flit, number }) in arrivals.iter().enumerate() {
            if self.is_large
                && let Some(&Coming { flit: later, .. }) = arrivals.get(at + MUCH_EARLIER)
            {
                self.packets.ask_for(later.packet());
            }
            let local = first + number as usize / VS;
            let link = self.ejection[local];
            // the terminal takes it at once, and its credit goes back
            let at = now + u64::from(link.delay);
            self.wheel.credit(at, link.block(), link.first() + number as usize % VS);
            let id = flit.packet();
            let cold = &self.packets.cold[id];
            let terminal = self.first_terminal + local as u32;
            debug_assert_eq!(self.packets.dest(flit), terminal, "a packet arrived at another terminal");
            let entered = cycle_of(cold.entered, now);
            let (mut last_entered, mut head_arrived) = (entered, now);
            let (mut flits, mut hops) = (1, self.packets.hops(flit));
            if let Some(long) = self.packets.long.get_mut(id) {
                if flit.is_head() {
                    long.hops = hops;
                    long.head_arrived = now as u32;
                } else {
                    last_entered = cycle_of(flit.entered(), now);
                }
                (flits, hops) = (long.flits, long.hops);
                head_arrived = cycle_of(long.head_arrived, now);
            }
            let measured = cold.is_measured();
            terminals.flit(FlitArrival {
                tag: cold.tag,
                created: cold.created(now),
                terminal,
                arrived: now,
                latency: now - last_entered,
                measured,
            });
            if flit.is_tail() {
                let arrival = Arrival {
                    source: cold.source(),
                    dest: terminal,
                    flits,
                    hops,
                    created: cold.created(now),
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
    }

    /// The same where all packets have one flit, which knows its hops.
    fn retire_singles<T: Terminals>(&mut self, first: usize, arrivals: &[Coming], terminals: &mut T) {
        let (now, is_large) = (self.now, self.is_large);
        let (wheel, packets) = (&mut self.wheel, &mut self.packets);
        let ejection = &self.ejection[first..];
        let first = self.first_terminal + first as u32;
        terminals.singles(arrivals.iter().enumerate().map(|(at, &Coming { flit, number })| {
            if is_large && let Some(&Coming { flit: later, .. }) = arrivals.get(at + MUCH_EARLIER) {
                packets.ask_for(later.packet());
            }
            let (local, vc) = (number as usize / VS, number as usize % VS);
            let link = ejection[local];
            // the terminal takes it at once, and its credit goes back
            wheel.credit(now + u64::from(link.delay), link.block(), link.first() + vc);
            let terminal = first + local as u32;
            debug_assert_eq!(flit.dest(), terminal, "a packet arrived at another terminal");
            let left = packets.take_plain(flit.packet() as u32);
            Arrival {
                source: left.source(),
                dest: terminal,
                flits: 1,
                hops: flit.hops(),
                created: left.created(now),
                entered: cycle_of(left.entered, now),
                head_arrived: now,
                arrived: now,
                tag: left.tag,
                measured: left.is_measured(),
            }
        }));
    }

    /// Puts arrivals in the order of their terminals, which get one flit per cycle each.
    fn in_order(&mut self, arrivals: &mut [Coming]) {
        let Scratch { arrived, arrived_at, .. } = &mut self.scratch;
        for &coming in &*arrivals {
            let place = coming.number as usize / VS;
            arrived[place] = coming;
            arrived_at[place / 64] |= 1 << (place % 64);
        }
        let mut places = arrivals.iter_mut();
        for (word, set) in arrived_at.iter_mut().enumerate() {
            while *set != 0 {
                let place = word * 64 + set.trailing_zeros() as usize;
                *set &= *set - 1;
                if let Some(coming) = places.next() {
                    *coming = arrived[place];
                }
            }
        }
        debug_assert!(places.next().is_none(), "a terminal got two flits in one cycle");
    }
}
