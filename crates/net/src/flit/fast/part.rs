//! A contiguous part of the routers with their terminals, and one cycle of it.

use std::ops::Range;

use super::flit::{Flit, body, is_head};
use super::mask::Mask;
use super::order::Order;
use super::packets::{Cold, Packets};
use super::router::{Far, Link, Out, Router};
use super::source::{NO_VC, Source};
use super::threads::Outbox;
use super::wheel::{Ejected, Wheel};
use crate::flit::fabric::{End, FULL_WIDTH, Fabric, Feeder};
use crate::flit::kernel::Wait;
use crate::flit::keys::{self, Keys};
use crate::flit::router::RouterSpec;
use crate::flit::routing::{FlitRouting, Head, Place, Surroundings};
use crate::flit::terminals::{Arrival, Offer, Terminals};

/// Cycles that a router runs ahead of others at most.
const MOST_LOOKAHEAD: u32 = 4;

/// A part of the network. Input and output channels have numbers: router of the part x N + channel.
pub(super) struct Part<const P: usize, const VS: usize, const N: usize, M> {
    /// First router and first terminal of the part, in the numbers of the fabric.
    pub(super) first_router: u32,
    pub(super) first_terminal: u32,
    pub(super) now: u64,
    /// Cycles that nothing needs to get anywhere: routers may run so far ahead of each other.
    pub(super) lookahead: u32,
    vcs: u8,
    buffer: u8,
    /// log2 of the places of a ring.
    ring: u32,
    ranges: Vec<(u8, u8)>,
    seed: u64,
    remembers: bool,
    knows_source: bool,
    routers: Vec<Router<P, VS, N, M>>,
    /// Rings of all flits but the first of each channel, by channel and place.
    flits: Vec<u32>,
    /// When body flits in rings had entered, modulo 2^16; empty while all packets have one flit.
    entered: Vec<u16>,
    /// By output, in 256ths of a cycle: spacing and the first free moment; empty when all have full width.
    spacing: Vec<[(u32, u64); P]>,
    wheel: Wheel<P, M>,
    /// Routers with work of their own in the next cycle.
    restless: Vec<u64>,
    packets: Packets,
    sources: Vec<Source<VS>>,
    injection: Vec<Link>,
    /// Spacing of their channels in 256ths of a cycle; empty when all have full width.
    narrow: Vec<u32>,
    /// Sources that try to send in this cycle.
    sending: Vec<u64>,
    /// Sources that have just sent a tail and are asked in the next cycle.
    asked: Vec<u32>,
    due: Vec<u32>,
    order: Option<Order>,
    pub(super) in_flight: u64,
    pub(super) last_progress: u64,
    pub(super) outbox: Vec<Outbox>,
    part_of: Vec<u8>,
    /// The packet whose head came last by an input channel from another part.
    crossing: Vec<u32>,
}

struct Around<'a, T, const VS: usize> {
    credits: &'a [Out],
    places: u32,
    vcs: usize,
    /// The packet's salt, read only for a draw,
    salt: &'a u64,
    /// and the names of the draws.
    keys: Keys,
    terminals: &'a mut T,
}

impl<T: Terminals, const VS: usize> Surroundings for Around<'_, T, VS> {
    #[inline]
    fn draw(&mut self, bound: u32) -> u32 {
        let key = self.keys.next(*self.salt);
        self.terminals.draw(key, bound)
    }

    fn used(&self, output: u16) -> u32 {
        let credits = &self.credits[output as usize * VS..][..self.vcs];
        self.places - credits.iter().map(|out| u32::from(out.credits)).sum::<u32>()
    }
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Part<P, VS, N, M> {
    /// The routers `routers` of the fabric, with their terminals, empty. `part_of` says to which part
    /// each router belongs.
    pub(super) fn new(
        fabric: &Fabric,
        spec: &RouterSpec,
        routing: &dyn FlitRouting,
        seed: u64,
        routers: Range<u32>,
        part_of: &[u8],
    ) -> Self {
        let buffer = spec.buffer_flits as u8;
        let count = routers.len();
        let inside = |router: u32| routers.contains(&router);
        let mine: Vec<u32> = (0..fabric.terminals().len() as u32)
            .filter(|&terminal| inside(fabric.terminal(terminal).router))
            .collect();
        let first_terminal = mine.first().copied().unwrap_or(0);
        let (mut longest, mut lookahead) = (0_u64, MOST_LOOKAHEAD);
        let mut built = vec![Router::new(spec.virtual_channels, buffer); count];
        let mut spacing = vec![[(FULL_WIDTH, 0_u64); P]; count];
        let mut narrow = false;
        for router in routers.clone() {
            let local = (router - routers.start) as usize;
            for output in 0..fabric.output_count(router) {
                let channel = fabric.channel(router, output);
                narrow |= channel.spacing != FULL_WIDTH;
                spacing[local][output as usize].0 = channel.spacing;
                let (delay, back) = (channel.latency + 2, channel.credit_latency + 1);
                // a full set of flits may stand behind a narrow channel
                let backlog = match channel.spacing {
                    FULL_WIDTH => 0,
                    spacing => {
                        u64::from(spacing) * (u64::from(spec.virtual_channels) * u64::from(buffer) + 1)
                            / u64::from(FULL_WIDTH)
                    }
                };
                // a terminal's credit is sent off together with the flit
                let there_and_back = matches!(channel.end, End::Terminal(_)).then_some(back);
                longest = longest
                    .max(u64::from(delay + there_and_back.unwrap_or(0)) + backlog)
                    .max(u64::from(back));
                lookahead = lookahead.min(delay).min(back);
                built[local].outputs[output as usize] = match channel.end {
                    End::Nothing => Link::NOTHING,
                    End::Router { router: to, port } if inside(to) => {
                        Link::new(Far::Router, to - routers.start, port, delay, 0)
                    }
                    End::Router { router: to, port } => Link::new(Far::Remote, to, port, delay, 0),
                    End::Terminal(terminal) => {
                        Link::new(Far::Terminal, terminal - first_terminal, 0, delay, back)
                    }
                };
            }
            for input in 0..fabric.input_count(router) {
                built[local].inputs[input as usize] = match fabric.feeder(router, input) {
                    Feeder::Nothing => Link::NOTHING,
                    Feeder::Router { router: from, port } => {
                        let delay = fabric.channel(from, port).credit_latency + 1;
                        if inside(from) {
                            Link::new(Far::Router, from - routers.start, port, delay, 0)
                        } else {
                            Link::new(Far::Remote, from, port, delay, 0)
                        }
                    }
                    Feeder::Terminal(terminal) => {
                        let delay = fabric.terminal(terminal).injection.credit_latency + 1;
                        lookahead = lookahead.min(delay);
                        Link::new(Far::Terminal, terminal - first_terminal, 0, delay, 0)
                    }
                };
            }
        }
        let injection: Vec<Link> = mine
            .iter()
            .map(|&terminal| {
                let terminal = fabric.terminal(terminal);
                let (router, input) = terminal.entry();
                let channel = &terminal.injection;
                longest = longest.max(u64::from(channel.latency.max(channel.credit_latency)) + 1);
                lookahead = lookahead.min(channel.latency + 1);
                Link::new(Far::Router, router - routers.start, input, channel.latency + 1, 0)
            })
            .collect();
        let narrow_by_source: Vec<u32> =
            mine.iter().map(|&terminal| fabric.terminal(terminal).injection.spacing).collect();
        let narrow_sources = narrow_by_source.iter().any(|&spacing| spacing != FULL_WIDTH);
        let ring = u32::from(buffer).next_power_of_two().trailing_zeros();
        let ranges = (0..spec.ranges.len().max(1)).map(|range| spec.range(range as u8)).collect();
        let parts = part_of.iter().copied().max().map_or(1, |part| part as usize + 1);
        Self {
            first_router: routers.start,
            first_terminal,
            now: 0,
            lookahead,
            vcs: spec.virtual_channels,
            buffer,
            ring,
            ranges,
            seed,
            remembers: routing.memory_bits() > Flit::MEMORY_BITS,
            knows_source: routing.knows_source(),
            routers: built,
            flits: vec![0; (count * N) << ring],
            entered: Vec::new(),
            spacing: if narrow { spacing } else { Vec::new() },
            wheel: Wheel::new(count, longest + u64::from(lookahead)),
            restless: vec![0; count.div_ceil(64)],
            packets: Packets::new(routing.memory_bits() > Flit::MEMORY_BITS),
            sources: vec![Source::new(buffer); mine.len()],
            injection,
            narrow: if narrow_sources { narrow_by_source } else { Vec::new() },
            sending: vec![0; mine.len().div_ceil(64)],
            asked: Vec::new(),
            due: Vec::new(),
            order: None,
            in_flight: 0,
            last_progress: 0,
            outbox: (0..parts).map(|_| Outbox::default()).collect(),
            part_of: if parts > 1 { part_of.to_vec() } else { Vec::new() },
            crossing: if parts > 1 { vec![0; count * N] } else { Vec::new() },
        }
    }

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

    /// The first cycle, from now on, in which something happens.
    pub(super) fn next_active<T: Terminals>(&self, terminals: &mut T) -> Option<u64> {
        if terminals.polled()
            || !self.asked.is_empty()
            || self.sending.iter().chain(&self.restless).any(|&word| word != 0)
        {
            return Some(self.now);
        }
        let arrival = self.wheel.next(self.now);
        if arrival == Some(self.now) {
            return arrival;
        }
        let due = terminals.next_due(self.now).map(|at| at.max(self.now));
        [due, arrival].into_iter().flatten().min()
    }

    /// As many cycles as everything needs to get anywhere: first of the terminals, cycle by cycle, then of
    /// the routers, one after the other, so that each is fetched from memory once. With `may_stop` it ends
    /// after the cycle in which the terminals want no more.
    pub(super) fn window<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        cycles: u64,
        terminals: &mut T,
        may_stop: bool,
    ) {
        let first = self.now;
        let mut slots = [0; MOST_LOOKAHEAD as usize];
        let mut count = 0;
        for slot in &mut slots[..cycles as usize] {
            *slot = self.wheel.slot(self.now);
            self.credit_sources(*slot);
            self.generate(routing, terminals);
            self.inject(terminals);
            self.retire(*slot, terminals);
            self.now += 1;
            count += 1;
            if may_stop && terminals.stop() {
                break;
            }
        }
        let slots = &slots[..count];
        for word in 0..self.restless.len() {
            let mut any = std::mem::take(&mut self.restless[word]);
            let mut moved = [0; MOST_LOOKAHEAD as usize];
            moved[0] = any;
            for (moved, &slot) in moved.iter_mut().zip(slots) {
                let arrived = self.wheel.take_busy(slot, word);
                any |= arrived;
                *moved |= arrived;
            }
            while any != 0 {
                let bit = any & any.wrapping_neg();
                let router = word * 64 + any.trailing_zeros() as usize;
                any &= any - 1;
                let mut restless = false;
                for (cycle, &slot) in slots.iter().enumerate() {
                    if restless || moved[cycle] & bit != 0 {
                        restless = self.step(routing, router, first + cycle as u64, slot, terminals);
                    }
                }
                if restless {
                    self.restless[word] |= bit;
                }
            }
        }
    }

    /// Credits come back to terminals.
    fn credit_sources(&mut self, slot: usize) {
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
    fn generate<T: Terminals, R: FlitRouting + ?Sized>(&mut self, routing: &R, terminals: &mut T) {
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
            self.widen();
        }
        let global = self.first_terminal + terminal as u32;
        let source = &mut self.sources[terminal];
        let salt = keys::salt(self.seed, global, source.number);
        source.number = source.number.wrapping_add(1);
        let range = self.ranges[offer.range as usize];
        let mut head = Head { source: global, dest: offer.dest, range, memory: 0 };
        let router = &self.routers[self.injection[terminal].target() as usize];
        let mut around = Around::<T, VS> {
            credits: &router.outs,
            places: u32::from(self.buffer) * u32::from(self.vcs),
            vcs: self.vcs as usize,
            salt: &salt,
            keys: Keys::at(None),
            terminals,
        };
        source.range = routing.start(&mut head, &mut around);
        let cold = Cold {
            source: global,
            dest: offer.dest,
            flits: offer.flits,
            range: offer.range,
            hops: 0,
            measured: offer.measured,
            created: offer.created,
            entered: 0,
            head_arrived: 0,
            last_entered: 0,
            tag: offer.tag,
            salt,
        };
        source.packet = self.packets.insert(head.memory, cold);
        source.front = Flit::head(source.packet, offer.dest, head.memory);
        source.left = offer.flits;
        source.vc = NO_VC;
        self.sending[terminal / 64] |= 1 << (terminal % 64);
    }

    /// Sends a flit from every source that can.
    fn inject<T: Terminals>(&mut self, terminals: &mut T) {
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
                    self.packets.cold[source.packet as usize].entered = now;
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
                self.wheel.flit(at, link.target(), link.port(), flit.last(tail).on(vc));
                self.in_flight += 1;
                self.last_progress = now;
                let tag = self.packets.cold[source.packet as usize].tag;
                terminals.entered_of(tag, self.first_terminal + terminal as u32, tail);
            }
        }
    }

    /// Takes what arrives at terminals.
    fn retire<T: Terminals>(&mut self, slot: usize, terminals: &mut T) {
        let mut ejected = std::mem::take(&mut self.wheel.ejected[slot]);
        if ejected.is_empty() {
            self.wheel.ejected[slot] = ejected;
            return;
        }
        let now = self.now;
        self.in_flight -= ejected.len() as u64;
        self.last_progress = now;
        if !ejected.is_sorted_by_key(|flit| flit.terminal) {
            ejected.sort_by_key(|flit| flit.terminal);
        }
        for ejected in ejected.drain(..) {
            let id = ejected.flit.packet();
            let cold = &mut self.packets.cold[id];
            let terminal = self.first_terminal + ejected.terminal;
            if ejected.flit.is_head() {
                cold.hops = ejected.flit.hops();
                cold.head_arrived = now;
                cold.last_entered = cold.entered;
            } else {
                // flits of a packet enter in order: the first moment after the last one with these low bits
                let ahead = ejected.flit.entered().wrapping_sub(cold.last_entered as u16);
                cold.last_entered += u64::from(ahead);
            }
            terminals.flit_of(cold.tag, terminal, now, now - cold.last_entered, cold.measured);
            if ejected.flit.is_tail() {
                let arrival = Arrival {
                    source: cold.source,
                    dest: terminal,
                    flits: cold.flits,
                    hops: cold.hops,
                    created: cold.created,
                    entered: cold.entered,
                    head_arrived: cold.head_arrived,
                    arrived: now,
                    tag: cold.tag,
                    measured: cold.measured,
                };
                terminals.packet(&arrival);
                self.packets.remove(id as u32);
            }
        }
        self.wheel.ejected[slot] = ejected;
    }

    /// Body flits will come.
    fn widen(&mut self) {
        if self.entered.is_empty() {
            self.entered = vec![0; self.flits.len()];
        }
    }

    /// One cycle of one router: every stage looks at the state before the cycle, whatever the others do.
    /// Returns whether the router has something to do in the next cycle, whatever arrives.
    #[inline(always)]
    fn step<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        index: usize,
        now: u64,
        slot: usize,
        terminals: &mut T,
    ) -> bool {
        let router = &mut self.routers[index];
        let at = self.wheel.index(slot, index);
        let arrivals = &mut self.wheel.arrivals[at];
        let mut credits = std::mem::take(&mut arrivals.credits);
        let mut ports = std::mem::take(&mut arrivals.ports);
        while !credits.is_empty() {
            let channel = credits.first() % N;
            credits = credits.rest();
            let out = &mut router.outs[channel];
            debug_assert!(out.credits < self.buffer);
            out.credits += 1;
            if out.credits == 1 && !router.free.has(channel) {
                let owner = out.owner as usize % N;
                if router.vcs[owner].len != 0 {
                    router.activate(owner);
                }
            }
        }
        while !ports.is_empty() {
            let port = ports.first() % P;
            ports = ports.rest();
            let flit = arrivals.flits[port];
            let channel = port * VS + flit.vc() % VS;
            let vc = &mut router.vcs[channel % N];
            debug_assert!(vc.len < self.buffer);
            let len = vc.len;
            vc.len = len + 1;
            if len != 0 {
                let place = (vc.head + len - 1) as usize & ((1 << self.ring) - 1);
                let place = ((index * N + channel) << self.ring) + place;
                self.flits[place] = flit.short();
                if flit.is_head() {
                    self.packets.queued[flit.packet()] = flit;
                } else {
                    self.entered[place] = flit.entered();
                }
                continue;
            }
            vc.front = flit;
            if flit.is_head() {
                router.fresh |= M::bit(channel);
                if let Some(order) = &mut self.order {
                    order.arrived(index * N + channel);
                }
            } else {
                router.activate(channel);
                if let Some(order) = &mut self.order {
                    order.resumed(now, index * N + channel, N);
                }
            }
        }

        let ready = router.ready;
        let mut granted = M::default();
        let mut stirred = false;
        if !router.waiting.is_empty() {
            granted = router.allocate_channels();
            stirred = !granted.is_empty();
            if let Some(order) = &mut self.order {
                order.channels_given(now, granted, index * N);
            }
        }
        if !router.fresh.is_empty() {
            stirred = true;
            self.route(routing, index, now, terminals);
        }
        if !ready.is_empty() {
            self.last_progress = self.last_progress.max(now);
            let mut contested = M::default();
            let mut each = ready;
            while !each.is_empty() {
                let channel = each.first();
                each = each.rest();
                if self.routers[index].is_alone(channel) {
                    stirred |= self.pass(index, channel, now);
                } else {
                    contested |= M::bit(channel);
                }
            }
            if !contested.is_empty() {
                let mut winners = self.routers[index].share_switch(contested);
                while !winners.is_empty() {
                    let channel = winners.first();
                    winners = winners.rest();
                    stirred |= self.pass(index, channel, now);
                }
            }
        }
        let router = &mut self.routers[index];
        while !granted.is_empty() {
            let channel = granted.first();
            granted = granted.rest();
            router.activate(channel);
        }
        !router.fresh.is_empty() || !router.ready.is_empty() || stirred && !router.waiting.is_empty()
    }

    /// Heads that have come to the front learn where they go.
    #[inline(always)]
    fn route<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        index: usize,
        now: u64,
        terminals: &mut T,
    ) {
        let router = &mut self.routers[index];
        let mut fresh = std::mem::take(&mut router.fresh);
        if let Some(order) = &mut self.order {
            order.routed(now, fresh, index * N);
        }
        let mut position = 0;
        while !fresh.is_empty() {
            let channel = match &self.order {
                None => fresh.first() % N,
                Some(order) => order.at(position) % N,
            };
            position += 1;
            fresh &= !M::bit(channel);
            let flit = router.vcs[channel].front;
            debug_assert!(flit.is_head(), "only heads are routed");
            let id = flit.packet();
            let cold = &self.packets.cold;
            let mut packet = Head {
                source: if self.knows_source { cold[id].source } else { 0 },
                dest: flit.dest(),
                range: match &self.ranges[..] {
                    [range] => *range,
                    ranges => ranges[cold[id].range as usize],
                },
                memory: if self.remembers { self.packets.memory[id] } else { flit.memory() },
            };
            let place = Place {
                router: self.first_router + index as u32,
                input: (channel / VS) as u16,
                vc: (channel % VS) as u8,
            };
            let mut around = Around::<T, VS> {
                credits: &router.outs,
                places: u32::from(self.buffer) * u32::from(self.vcs),
                vcs: self.vcs as usize,
                salt: &cold[id].salt,
                keys: Keys::at(Some(place.router)),
                terminals: &mut *terminals,
            };
            let candidate = routing.only(place, &mut packet, &mut around);
            if self.remembers {
                self.packets.memory[id] = packet.memory;
            }
            router.vcs[channel].front = flit.hop(packet.memory);
            let want =
                (u16::MAX << (candidate.first_vc & 15)) & (u16::MAX >> (15 - (candidate.last_vc & 15)));
            router.wait(channel, candidate.output as usize % P, want);
        }
    }

    /// A flit goes through the switch and onto its channel, and the place that it leaves becomes a
    /// credit. Returns whether an output channel became free.
    #[inline(always)]
    fn pass(&mut self, index: usize, channel: usize, now: u64) -> bool {
        let router = &mut self.routers[index];
        let channel = channel % N;
        let (input, in_vc) = (channel / VS % P, channel % VS);
        let vc = &mut router.vcs[channel];
        let flit = vc.front;
        let output = vc.port as usize % P;
        let out_channel = vc.out as usize % N;
        let out_vc = out_channel % VS;
        let left = vc.len - 1;
        vc.len = left;
        if left != 0 {
            let place = ((index * N + channel) << self.ring) + vc.head as usize;
            vc.head = (vc.head + 1) & ((1_u32 << self.ring) - 1) as u8;
            let next = self.flits[place];
            vc.front = if is_head(next) {
                self.packets.queued[body(next, 0).packet()]
            } else {
                body(next, self.entered[place])
            };
        }
        router.pass(channel, output, self.vcs);
        let out = &mut router.outs[out_channel];
        out.credits -= 1;
        let credits = out.credits;
        router.sent[output] += 1;
        let tail = flit.is_tail();
        let bit = M::bit(channel);
        if tail {
            router.free |= M::bit(out_channel);
            router.clear_ready(bit, output);
            if left != 0 {
                router.fresh |= bit;
                if let Some(order) = &mut self.order {
                    order.followed(index * N + channel);
                }
            }
        } else if left == 0 || credits == 0 {
            router.clear_ready(bit, output);
        }

        let (link, feeder) = (router.outputs[output], router.inputs[input]);
        let mut at = now + u64::from(link.delay);
        if let Some(spacing) = self.spacing.get_mut(index) {
            // channels narrower than a flit per cycle
            let (spacing, free) = &mut spacing[output];
            let start = (*free).max((now + 1) * u64::from(FULL_WIDTH));
            *free = start + u64::from(*spacing);
            at += start.div_ceil(u64::from(FULL_WIDTH)) - (now + 1);
        }
        let flit = flit.on(out_vc);
        match link.far() {
            Far::Router => self.wheel.flit(at, link.target(), link.port(), flit),
            Far::Terminal => {
                self.wheel.eject(at, Ejected { terminal: link.target(), flit });
                // the terminal takes it at once, and its credit comes back
                self.wheel.credit(at + u64::from(link.back), index as u32, out_channel);
            }
            Far::Remote | Far::Nothing => self.cross(link, at, flit),
        }
        let at = now + u64::from(feeder.delay);
        let there = feeder.port() as usize % P * VS + in_vc;
        match feeder.far() {
            Far::Router => self.wheel.credit(at, feeder.target(), there),
            Far::Terminal => self.wheel.terminal_credit(at, feeder.target(), in_vc as u8),
            Far::Remote | Far::Nothing => {
                let part = self.part_of[feeder.target() as usize] as usize;
                self.outbox[part].credits.push((at, feeder.target(), there as u8));
            }
        }
        tail
    }

    /// A flit leaves the part.
    #[cold]
    #[inline(never)]
    fn cross(&mut self, link: Link, at: u64, flit: Flit) {
        let id = flit.packet();
        let outbox = &mut self.outbox[self.part_of[link.target() as usize] as usize];
        if flit.is_head() {
            let memory = if self.remembers { self.packets.memory[id] } else { 0 };
            outbox.packets.push((memory, self.packets.cold[id]));
        }
        outbox.flits.push((at, link.target(), link.port(), flit));
        self.in_flight -= 1;
        if flit.is_tail() {
            self.packets.remove(id as u32);
        }
    }

    /// Takes what has come from another part, and empties the box.
    pub(super) fn receive(&mut self, inbox: &mut Outbox) {
        let mut packets = inbox.packets.drain(..);
        for (at, router, port, flit) in inbox.flits.drain(..) {
            let local = router - self.first_router;
            let channel = port as usize * VS + flit.vc() % VS;
            let channel = local as usize * N + channel;
            if flit.is_head() {
                let (memory, cold) = packets.next().expect("a packet comes with its head");
                if cold.flits > 1 && self.entered.is_empty() {
                    self.entered = vec![0; self.flits.len()];
                }
                self.crossing[channel] = self.packets.insert(memory, cold);
            }
            self.wheel.flit(at, local, port, flit.with_packet(self.crossing[channel]));
            self.in_flight += 1;
        }
        drop(packets);
        for (at, router, channel) in inbox.credits.drain(..) {
            self.wheel.credit(at, router - self.first_router, channel as usize);
        }
    }

    /// Its terminals, in the numbers of the fabric.
    pub(super) fn terminals(&self) -> Range<u32> {
        self.first_terminal..self.first_terminal + self.sources.len() as u32
    }

    /// Draws are made in the order in which a list-based router makes them.
    pub(super) fn keep_order(&mut self) {
        self.order = Some(Order::new(self.routers.len() * N));
    }

    /// Whether no flit and no credit is anywhere but at its source.
    pub(super) fn is_settled(&self) -> bool {
        self.in_flight == 0
            && self.wheel.next(self.now).is_none()
            && self.sources.iter().all(|source| source.left == 0)
    }

    /// Appends flits sent by every output.
    pub(super) fn channel_flits(&self, fabric: &Fabric, out: &mut [u64]) {
        for (index, router) in self.routers.iter().enumerate() {
            let global = self.first_router + index as u32;
            for output in 0..fabric.output_count(global) {
                out[fabric.index(global, output)] = router.sent[output as usize];
            }
        }
    }

    /// Appends the channels that wait.
    pub(super) fn waiting(&self, out: &mut Vec<Wait>) {
        for (index, router) in self.routers.iter().enumerate() {
            for (channel, vc) in router.vcs.iter().enumerate() {
                if vc.len == 0 || router.fresh.has(channel) {
                    continue;
                }
                out.push(Wait {
                    router: self.first_router + index as u32,
                    input: (channel / VS) as u16,
                    vc: (channel % VS) as u8,
                    output: u16::from(vc.port),
                    output_vc: (!router.waiting.has(channel)).then_some(vc.out % VS as u8),
                    dest: self.packets.cold[vc.front.packet()].dest,
                });
            }
        }
    }

    /// Credits above the buffer or flits without a place.
    pub(super) fn violations(&self, out: &mut Vec<String>) {
        for (index, router) in self.routers.iter().enumerate() {
            let router_number = self.first_router as usize + index;
            if router.outs.iter().any(|out| out.credits > self.buffer) {
                out.push(format!("router {router_number} has more credits than places"));
            }
            if router.vcs.iter().any(|vc| vc.len > self.buffer) {
                out.push(format!("router {router_number} holds more flits than it has places"));
            }
        }
    }
}
