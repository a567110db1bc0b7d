//! Terminals: packets come in, and their flits enter the network one per cycle.

use super::Full;
use super::packet::{Flit, Here, Packet};
use super::precedence::earliest_first;
use crate::flit::allocator::NONE;
use crate::flit::fabric::FULL_WIDTH;
use crate::flit::keys;
use crate::flit::next_output::set_aside;
use crate::flit::router::Precedence;
use crate::flit::routing::{Head, Place};
use crate::flit::terminals::{Offer, Terminals};

/// One queue of a terminal, with at most one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    /// [`NONE`] when it is empty.
    pub(super) packet: u32,
    /// Its flits that have entered.
    sent: u16,
    /// Where they go; `None` until the head has found one.
    vc: Option<u8>,
    /// Where those of the packet before went.
    last_vc: Option<u8>,
    /// First and last one that the packet may start on, once routing was asked.
    range: Option<(u8, u8)>,
    /// The head before it was routed for `vc`.
    unrouted: Option<Head>,
}

impl Queue {
    pub(super) const EMPTY: Self =
        Self { packet: NONE, sent: 0, vc: None, last_vc: None, range: None, unrouted: None };
}

/// A terminal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Source {
    /// The queue that sent last.
    last_queue: u8,
    /// Packets that came into being so far.
    packets: u64,
    /// When its channel is free again, in 256ths of a cycle.
    free_at: u64,
}

impl Full {
    /// Asks for packets where there is room for one.
    pub(super) fn generate<T: Terminals>(&mut self, terminals: &mut T) {
        let count = self.fabric.terminals().len();
        if terminals.polled() {
            (0..count).for_each(|terminal| self.ask(terminal, terminals));
            return;
        }
        self.due.clear();
        terminals.due(self.now, &mut self.due);
        for &terminal in &self.due {
            self.asking.insert(terminal as usize);
        }
        let mut next = 0;
        while let Some(terminal) = self.asking.next(next, count) {
            next = terminal + 1;
            self.asking.remove(terminal);
            self.ask(terminal, terminals);
        }
    }

    fn ask<T: Terminals>(&mut self, terminal: usize, terminals: &mut T) {
        for queue in 0..self.queues_per_terminal {
            let place = terminal * self.queues_per_terminal + queue;
            if self.queues[place].packet == NONE
                && let Some(offer) = terminals.offer(terminal as u32, queue as u8, self.now)
            {
                self.accept(terminal, place, &offer);
            }
        }
    }

    fn accept(&mut self, terminal: usize, place: usize, offer: &Offer) {
        assert!(offer.flits > 0, "terminal {terminal} offers a packet without flits");
        assert!((offer.dest as usize) < self.fabric.terminals().len(), "there is no terminal {}", offer.dest);
        let source = &mut self.sources[terminal];
        let range = self.spec.range(offer.range);
        let packet = self.packets.insert(Packet {
            head: Head { source: terminal as u32, dest: offer.dest, range, memory: 0 },
            flits: offer.flits,
            priority: match self.spec.requests.precedence {
                Precedence::Given => offer.priority.into(),
                Precedence::Age => earliest_first(offer.created),
                _ => 0,
            },
            queue: (place - terminal * self.queues_per_terminal) as u8,
            measured: offer.measured,
            created: offer.created,
            ready: if offer.waited { 0 } else { self.now },
            tag: offer.tag,
            entered: 0,
            head_arrived: 0,
            salt: keys::salt(self.seed, terminal as u32, source.packets),
        });
        source.packets += 1;
        self.queues[place] =
            Queue { packet, sent: 0, vc: None, range: None, unrouted: None, ..self.queues[place] };
        self.queued += 1;
        self.loaded.insert(terminal);
        if self.spec.virtual_cut_through && offer.flits > self.spec.buffer_flits {
            self.complain(format!(
                "a packet of {} flits from terminal {terminal} cannot cut through buffers of {}",
                offer.flits, self.spec.buffer_flits
            ));
        }
    }

    /// Lets one flit enter at every terminal that has one, a virtual channel, a credit and a free channel.
    pub(super) fn inject<T: Terminals>(&mut self, terminals: &mut T) {
        let count = self.sources.len();
        let mut next = 0;
        while let Some(terminal) = self.loaded.next(next, count) {
            next = terminal + 1;
            let Some(queue) = self.choose(terminal, terminals) else { continue };
            let now = self.now << 8;
            let source = &mut self.sources[terminal];
            if source.free_at > now {
                continue;
            }
            // A flit that waited goes when the channel is free, which may be between two cycles.
            let Queue { packet, sent, .. } = self.queues[terminal * self.queues_per_terminal + queue];
            let waited = sent > 0 || self.packets[packet].ready < self.now;
            let late = waited && source.free_at + 256 > now;
            let start = if late { source.free_at } else { now };
            source.free_at = start + u64::from(self.fabric.terminal(terminal as u32).injection.spacing);
            self.enter(terminal, queue, terminals);
        }
    }

    /// The first cycle, from the present one on, in which the channel of a terminal that has packets is free; nobody looks for
    /// credits, so it may be that nothing enters.
    pub(super) fn next_source(&self) -> Option<u64> {
        let (mut first, mut next) = (None, 0);
        while let Some(terminal) = self.loaded.next(next, self.sources.len()) {
            next = terminal + 1;
            let at = self.sources[terminal].free_at.div_ceil(FULL_WIDTH.into()).max(self.now);
            first = Some(first.map_or(at, |first: u64| first.min(at)));
            if first == Some(self.now) {
                break;
            }
        }
        first
    }

    /// The queue of a terminal whose turn it is, of those whose flit can go.
    fn choose<T: Terminals>(&mut self, terminal: usize, terminals: &mut T) -> Option<usize> {
        let queues = self.queues_per_terminal;
        let first = terminal * queues;
        let last = self.sources[terminal].last_queue as usize;
        let mut chosen: Option<(usize, i64)> = None;
        let mut others = queues;
        if self.spec.hold_switch {
            let Queue { packet, sent, vc, .. } = self.queues[first + last];
            if packet != NONE && sent > 0 && vc.is_some_and(|vc| !self.source_credits.is_full(terminal, vc)) {
                chosen = Some((last, self.packets[packet].priority));
                others -= 1;
            }
        }
        for step in 1..=others {
            let queue = (last + step) % queues;
            let Queue { packet, sent, .. } = self.queues[first + queue];
            if packet == NONE {
                continue;
            }
            let priority = self.packets[packet].priority;
            if chosen.is_some_and(|(_, best)| best >= priority) {
                continue;
            }
            if sent == 0 {
                self.find_vc(terminal, first + queue, terminals);
            }
            let vc = self.queues[first + queue].vc;
            let credits = &self.source_credits;
            let goes = |vc| !credits.is_full(terminal, vc) && (sent > 0 || credits.is_free(terminal, vc));
            if vc.is_some_and(goes) {
                chosen = Some((queue, priority));
            }
        }
        chosen.map(|(queue, _)| queue)
    }

    /// Finds a virtual channel for a head, unless it has one that is still free, or that it waits for.
    fn find_vc<T: Terminals>(&mut self, terminal: usize, place: usize, terminals: &mut T) {
        let Queue { packet: number, vc, last_vc, range, .. } = self.queues[place];
        if vc.is_some_and(|vc| terminals.insists() || self.source_credits.is_free(terminal, vc)) {
            return;
        }
        if let Some(unrouted) = self.queues[place].unrouted.take() {
            // another queue has taken its channel, and it is routed again
            self.packets[number].head = unrouted;
        }
        let known = range.filter(|_| !self.routing.restarts());
        let (first, last) = known.unwrap_or_else(|| {
            let (router, _) = self.fabric.terminal(terminal as u32).entry();
            let packet = &mut self.packets[number];
            let used = self.credits.used_from(self.fabric.index(router, 0));
            let mut here = Here::new(terminals, packet, None, used);
            self.routing.start(&mut packet.head, &mut here)
        });
        self.queues[place].range = Some((first, last));
        let before = self.packets[number].head;
        let (first, last) = match self.spec.requests.next_output_queues {
            true => self.aside_at_source(terminal, number, (first, last), terminals),
            false => (first, last),
        };
        let flits = self.packets[number].flits;
        let credits = &self.source_credits;
        let open = |vc: u8| {
            credits.is_free(terminal, vc)
                && !credits.is_full(terminal, vc)
                && credits.admits(terminal, vc, flits)
        };
        let found = match last_vc {
            Some(before) if (first..=last).contains(&before) => {
                let count = last - first + 1;
                (1..=count).map(|step| first + (before - first + step) % count).find(|&vc| open(vc))
            }
            // what the peer does
            _ if terminals.insists() => open(first).then_some(first),
            _ => (first..=last).find(|&vc| open(vc)),
        };
        match found {
            Some(_) => self.queues[place].unrouted = Some(before),
            // it is routed again in the next cycle
            None => self.packets[number].head = before,
        }
        self.queues[place].vc = found;
    }

    /// The virtual channels that are set aside for the output by which a packet leaves its first router.
    fn aside_at_source<T: Terminals>(
        &mut self,
        terminal: usize,
        packet: u32,
        (first, last): (u8, u8),
        terminals: &mut T,
    ) -> (u8, u8) {
        let (router, input) = self.fabric.terminal(terminal as u32).entry();
        self.route(packet, Place { router, input, vc: first }, terminals);
        let output = self.packets.candidates(packet)[0].output;
        set_aside((first, last), output, self.fabric.output_count(router)).unwrap_or((first, last))
    }

    /// The next flit of a queue enters.
    fn enter<T: Terminals>(&mut self, terminal: usize, queue: usize, terminals: &mut T) {
        let place = terminal * self.queues_per_terminal + queue;
        let Queue { packet: number, sent, vc, .. } = self.queues[place];
        let vc = vc.expect("only queues with a virtual channel are chosen");
        let (head, tail) = (sent == 0, sent + 1 == self.packets[number].flits);
        if head {
            self.packets[number].entered = self.now;
            if self.lookahead && !self.spec.requests.next_output_queues {
                let (router, input) = self.fabric.terminal(terminal as u32).entry();
                self.route(number, Place { router, input, vc }, terminals);
            }
            self.source_credits.take(terminal, vc, number);
            self.queues[place].last_vc = Some(vc);
        }
        self.sources[terminal].last_queue = queue as u8;
        self.source_credits.send(terminal, vc, tail);
        self.queues[place].sent += 1;
        if tail {
            self.queues[place].packet = NONE;
            self.queued -= 1;
            self.asking.insert(terminal);
            let packets = terminal * self.queues_per_terminal..(terminal + 1) * self.queues_per_terminal;
            if self.queues[packets].iter().all(|queue| queue.packet == NONE) {
                self.loaded.remove(terminal);
            }
        }
        terminals.entered(self.packets[number].tag, terminal as u32, tail);
        self.in_flight += 1;
        self.last_progress = self.now;
        let joined = self.fabric.terminal(terminal as u32);
        let (router, input) = joined.entry();
        let target = self.fabric.index(router, input) as u32;
        let flit = Flit { packet: number, hops: 0, vc, head, tail, entered: self.now };
        self.flits_underway.insert(self.now + u64::from(joined.injection.latency) + 1, (target, flit));
    }
}
