//! Messages as packets: the terminals of a network that runs programs.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use stratasim_core::{Slots, Time, Token};

use crate::flit::fabric::clock::Clock;
use crate::flit::fabric::{FULL_WIDTH, Fabric};
use crate::flit::terminals::{Arrival, FlitArrival, Offer, Terminals};

/// How messages are cut into packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) flit_bytes: u64,
    /// Flits of payload in a full packet.
    pub(super) payload_flits: u64,
    pub(super) header_flits: u16,
}

impl Cut {
    /// Flits of a message, headers included. An empty message is one flit, or the headers.
    pub(super) fn flits(&self, bytes: u64) -> u64 {
        let payload = bytes.div_ceil(self.flit_bytes);
        let packets = payload.div_ceil(self.payload_flits).max(1);
        (payload + packets * u64::from(self.header_flits)).max(1)
    }

    /// Bytes of the next packet of a message of which `left` are left, and its flits.
    fn packet(&self, left: u64) -> (u64, u16) {
        let bytes = left.min(self.payload_flits * self.flit_bytes);
        let payload = bytes.div_ceil(self.flit_bytes) as u16;
        (bytes, (payload + self.header_flits).max(1))
    }
}

/// A message under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    pub(super) token: Token,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) submitted: Time,
    /// Picoseconds per byte that the sender allows; 0 without a limit.
    pub(super) cap_ps_per_byte: f64,
    pub(super) bytes: u64,
    /// Bytes in packets that were offered.
    sent: u64,
    /// The sender's limit counts from then and from so many bytes on.
    limit_from: (Time, u64),
    /// Since when its next packet may enter.
    ready: u64,
    /// Packets that were offered and have not arrived.
    open: u32,
    /// Whether the last packet was offered.
    complete: bool,
    /// The connection that it is on, where it waits for others.
    line: Option<u16>,
}

impl Flight {
    pub(super) fn new(
        token: Token,
        from: u32,
        to: u32,
        submitted: Time,
        bytes: u64,
        cap_ps_per_byte: f64,
    ) -> Self {
        Self {
            token,
            from,
            to,
            submitted,
            cap_ps_per_byte,
            bytes,
            sent: 0,
            limit_from: (submitted, 0),
            ready: 0,
            open: 0,
            complete: false,
            line: None,
        }
    }

    /// The same on a connection.
    pub(super) const fn on_line(self, line: u16) -> Self {
        Self { line: Some(line), ..self }
    }

    /// The first instant at which the sender's limit allows the first `bytes` to have gone.
    pub(super) fn allowed(&self, bytes: u64) -> Time {
        let (from, before) = self.limit_from;
        Time::from_ps(from.as_ps().saturating_add(self.limited_ps(bytes - before)))
    }

    fn limited_ps(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.cap_ps_per_byte).ceil() as u64
    }

    /// The end of a packet of so many bytes leaves at `end`, everything before it included. Who was held up by others may make up
    /// for a packet of that, and no more: it would exceed its limit for as long as it had waited.
    fn leave(&mut self, end: Time, bytes: u64) {
        let most_late = self.limited_ps(bytes);
        if end > Time::from_ps(self.allowed(self.sent).as_ps().saturating_add(most_late)) {
            self.limit_from = (Time::from_ps(end.as_ps() - most_late), self.sent);
        }
    }
}

/// Every node's messages. Those of a terminal take turns, a packet each; a new one comes last in the round. Where messages of a
/// pair go one after the other, one of them takes turns.
pub(super) struct Programs {
    fabric: Arc<Fabric>,
    clock: Clock,
    cut: Cut,
    pub(super) flights: Slots<Flight>,
    /// Messages that may send now, by terminal, in the order of their turns.
    ready: Vec<VecDeque<u32>>,
    /// Messages that may send from some cycle on: cycle, terminal, order, message.
    later: BinaryHeap<Reverse<(u64, u32, u64, u32)>>,
    order: u64,
    /// Messages that wait for those before them, by terminals and line, where messages go one after the other: a line that is
    /// there has one under way.
    lines: Option<FxHashMap<(u32, u32, u16), VecDeque<u32>>>,
    /// How many they are.
    waiting: u64,
    /// Messages all of whose packets have arrived, since the kernel was last asked to run.
    pub(super) arrived: Vec<u32>,
    /// Messages in the network or before it, and packets in it.
    pub(super) under_way: u64,
    open: u64,
    /// The last cycle in which a message became ready.
    pub(super) last_ready: u64,
    /// Flits that entered at each terminal.
    pub(super) entered: Vec<u64>,
    pub(super) packets: u64,
    pub(super) flit_hops: u64,
}

impl Programs {
    pub(super) fn new(fabric: Arc<Fabric>, clock: Clock, cut: Cut, in_order: bool) -> Self {
        let terminals = fabric.terminals().len();
        Self {
            fabric,
            clock,
            cut,
            flights: Slots::default(),
            ready: vec![VecDeque::new(); terminals],
            later: BinaryHeap::new(),
            order: 0,
            lines: in_order.then(FxHashMap::default),
            waiting: 0,
            arrived: Vec::new(),
            under_way: 0,
            open: 0,
            last_ready: 0,
            entered: vec![0; terminals],
            packets: 0,
            flit_hops: 0,
        }
    }

    /// A message that may send from the first cycle at or after its date on, or when its sender's limit allows.
    pub(super) fn submit(&mut self, flight: Flight) {
        let slot = self.flights.insert(flight);
        self.under_way += 1;
        if let (Some(lines), Some(line)) = (&mut self.lines, flight.line) {
            match lines.entry((flight.from, flight.to, line)) {
                Entry::Vacant(line) => {
                    line.insert(VecDeque::new());
                }
                Entry::Occupied(mut line) => {
                    line.get_mut().push_back(slot);
                    self.waiting += 1;
                    return;
                }
            }
        }
        self.schedule(self.clock.first_from(flight.submitted), slot);
    }

    /// The last packet of a message was offered in cycle `now`: the one behind it may go on.
    fn go_on_line(&mut self, name: (u32, u32, u16), now: u64) {
        let Some(Entry::Occupied(mut line)) = self.lines.as_mut().map(|lines| lines.entry(name)) else {
            return;
        };
        let Some(next) = line.get_mut().pop_front() else {
            line.remove();
            return;
        };
        self.waiting -= 1;
        let flight = &mut self.flights[next];
        if flight.cap_ps_per_byte > 0.0 {
            self.schedule(now + 1, next);
        } else {
            flight.ready = now;
            self.ready[name.0 as usize].push_back(next);
        }
    }

    /// The next packet of a message may leave from cycle `first` on, and so late that its end does not leave before
    /// the sender's limit allows all of its bytes.
    fn schedule(&mut self, first: u64, slot: u32) {
        let flight = &self.flights[slot];
        let (bytes, flits) = self.cut.packet(flight.bytes - flight.sent);
        let out = self.clock.first_from(flight.allowed(flight.sent + bytes));
        let cycle = out.saturating_sub(self.takes(flight.from, flits)).max(first);
        self.later.push(Reverse((cycle, flight.from, self.order, slot)));
        self.order += 1;
    }

    /// Cycles in which so many flits enter the network.
    fn takes(&self, terminal: u32, flits: u16) -> u64 {
        let spacing = self.fabric.terminal(terminal).injection.spacing;
        u64::from(flits) * u64::from(spacing) / u64::from(FULL_WIDTH)
    }

    /// The cycle in which the next message becomes ready.
    pub(super) fn next_ready(&self) -> Option<u64> {
        self.later.peek().map(|&Reverse((cycle, ..))| cycle)
    }

    /// Whether no message is in the network, or could enter it now.
    pub(super) fn is_quiet(&self) -> bool {
        self.under_way == self.later.len() as u64 + self.waiting && self.open == 0
    }

    /// Forgets every message under way; their tokens, in order.
    pub(super) fn abandon(&mut self) -> Vec<Token> {
        self.ready.iter_mut().for_each(VecDeque::clear);
        self.later.clear();
        self.lines.iter_mut().for_each(FxHashMap::clear);
        self.waiting = 0;
        self.under_way = 0;
        let left = self.flights.iter().filter(|flight| flight.open > 0 || !flight.complete);
        let mut tokens: Vec<Token> = left.map(|flight| flight.token).collect();
        tokens.sort_unstable();
        tokens
    }
}

impl Terminals for Programs {
    fn offer(&mut self, terminal: u32, _queue: u8, now: u64) -> Option<Offer> {
        let slot = self.ready[terminal as usize].pop_front()?;
        let flight = &self.flights[slot];
        let (bytes, flits) = self.cut.packet(flight.bytes - flight.sent);
        let is_limited = flight.cap_ps_per_byte > 0.0;
        let end = is_limited.then(|| self.clock.start(now + self.takes(flight.from, flits)));
        let flight = &mut self.flights[slot];
        flight.sent += bytes;
        if let Some(end) = end {
            flight.leave(end, bytes);
        }
        flight.open += 1;
        flight.complete = flight.sent == flight.bytes;
        let (dest, complete, waited) = (flight.to, flight.complete, flight.ready < now);
        // the next one waits for this one
        flight.ready = now;
        let line = flight.line;
        if complete {
            if let Some(line) = line {
                self.go_on_line((terminal, dest, line), now);
            }
        } else if is_limited {
            self.schedule(now + 1, slot);
        } else {
            self.ready[terminal as usize].push_back(slot);
        }
        self.packets += 1;
        self.open += 1;
        Some(Offer { dest, flits, range: 0, priority: 0, created: now, waited, tag: slot, measured: true })
    }

    fn next_due(&mut self, now: u64) -> Option<u64> {
        self.next_ready().map(|cycle| cycle.max(now))
    }

    fn due(&mut self, now: u64, out: &mut Vec<u32>) {
        let first = out.len();
        while let Some(&Reverse((cycle, terminal, _, slot))) = self.later.peek()
            && cycle <= now
        {
            self.later.pop();
            self.flights[slot].ready = cycle;
            self.ready[terminal as usize].push_back(slot);
            out.push(terminal);
            self.last_ready = now;
        }
        out[first..].sort_unstable();
        out.dedup();
    }

    fn flit(&mut self, _: FlitArrival) {}

    fn entered(&mut self, _: u32, terminal: u32, _: bool) {
        self.entered[terminal as usize] += 1;
    }

    fn packet(&mut self, arrival: &Arrival) {
        let slot = arrival.tag;
        self.flit_hops += u64::from(arrival.hops) * u64::from(arrival.flits);
        let flight = &mut self.flights[slot];
        flight.open -= 1;
        self.open -= 1;
        if flight.complete && flight.open == 0 {
            self.under_way -= 1;
            self.arrived.push(slot);
        }
    }

    fn stop(&self) -> bool {
        !self.arrived.is_empty()
    }
}
