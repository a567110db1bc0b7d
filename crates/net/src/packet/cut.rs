//! What a part of the network knows of the others, and what gets from one to another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use stratasim_core::NodeId;
use stratasim_core::memory::{prefetch, prefetch_all};
use stratasim_transport::{Header, Telemetry};

use super::chain::Followed;
use super::engine::{Engine, Event, Flying};
use super::port::Beyond;
use super::routes::Routes;

/// How the network is cut.
#[derive(Debug)]
pub(super) struct Plan {
    /// Number of parts.
    pub(super) parts: u8,
    /// The part of every node; empty where there is one part.
    pub(super) owner: Vec<u8>,
    /// By host: packets of one connection that may come to it before another one that is on its wire already, because they
    /// come by another link.
    pub(super) overtaking: Vec<u32>,
}

/// A part's knowledge of the others.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    plan: Arc<Plan>,
    part: u8,
    /// Packets on their way into other parts; they are here until they have left their port.
    departures: Vec<Departure>,
    /// What has left, and what has come, by part.
    pub(super) outbox: Vec<Outbox>,
    pub(super) inbox: Vec<Outbox>,
    /// Instants at which messages may become complete.
    candidates: BinaryHeap<Reverse<u64>>,
    /// By connection.
    coming: Vec<Coming>,
    /// No departure ends sooner, and none arrives sooner.
    first_end: u64,
    first_at: u64,
    /// What had left by then was handed over.
    pub(super) handed_over: u64,
    pub(super) followed: Followed,
}

/// What comes to the receiver of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct Coming {
    /// Packets on the wire to it.
    count: u32,
    /// At least so many more have to come or to go onto that wire before one may complete the message; 0 where that is not known.
    spare: u32,
}

#[derive(Debug, Clone, Copy)]
struct Departure {
    port: u32,
    packet: u32,
    /// When it has left the port, and when it arrives.
    end: u64,
    at: u64,
}

/// What leaves one part for another.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    /// When the first of it arrives or is due; `u64::MAX` where it is empty.
    first: u64,
    /// When each arrives.
    packets: Vec<(u64, Flying, Header)>,
    /// What switches have recorded in them, where they do.
    telemetry: Vec<Telemetry>,
    /// Receivers that need not listen any more: when, and which connection.
    closes: Vec<(u64, u32)>,
}

impl Outbox {
    const fn new() -> Self {
        Self { first: u64::MAX, packets: Vec::new(), telemetry: Vec::new(), closes: Vec::new() }
    }

    /// Takes everything out of another.
    pub(super) fn append(&mut self, other: &mut Self) {
        if self.first == u64::MAX {
            return std::mem::swap(self, other);
        }
        self.first = self.first.min(std::mem::replace(&mut other.first, u64::MAX));
        self.packets.append(&mut other.packets);
        self.telemetry.append(&mut other.telemetry);
        self.closes.append(&mut other.closes);
    }
}

impl Plan {
    /// A plan for at most so many parts.
    ///
    /// A switch goes where most of its hosts are, and the others where most of what they are joined to is. What needs
    /// word from the other end of a link sooner than a packet gets there runs in one part: pauses, credits,
    /// cut-through, faults, links without delay.
    pub(super) fn new(engine: &Engine, most: u8) -> Self {
        let (rules, routes) = (&engine.rules, &engine.routes);
        let needs_word = rules.queue.holds()
            || !engine.faults.is_empty()
            || engine.ports.iter().any(|port| port.beyond != Beyond::Node)
            || rules.least_delay == 0
            || rules.gives_up_after < rules.least_delay;
        let owner = if needs_word || most < 2 { Vec::new() } else { cut(routes, most) };
        let parts = owner.iter().max().map_or(1, |&part| part + 1);
        if parts == 1 {
            return Self { parts, owner: Vec::new(), overtaking: Vec::new() };
        }
        let mut links = vec![(0, 0); routes.nodes() as usize];
        for (port, wire) in engine.ports.iter().zip(routes.wires()) {
            let time = port.time_of(rules.full_bytes).max(1);
            // of one connection, all packets but one are full
            let packets = (port.kind.delay + time) / time + 2;
            let (count, sum) = &mut links[wire.to as usize];
            (*count, *sum) = (*count + 1, *sum + packets);
        }
        let overtaking = (0..routes.hosts() as u32).map(|host| {
            let (count, sum) = links[routes.node_of(host) as usize];
            if count > 1 { u32::try_from(sum).unwrap_or(u32::MAX) } else { 0 }
        });
        Self { parts, overtaking: overtaking.collect(), owner }
    }
}

/// The part of every node.
fn cut(routes: &Routes, most: u8) -> Vec<u8> {
    const NOWHERE: u8 = u8::MAX;
    let hosts = routes.hosts() as u64;
    let mut owner = vec![NOWHERE; routes.nodes() as usize];
    // hosts in order, those behind one switch together
    let mut load = vec![0_u64; usize::from(most)];
    for host in 0..hosts as u32 {
        let node = routes.node_of(host);
        let first = routes.ports_of(node).next().map(|port| routes.wires()[port as usize].to);
        let gate = first.filter(|&gate| routes.host_of(NodeId(gate)).is_none());
        let part = match gate.map(|gate| owner[gate as usize]) {
            Some(part) if part != NOWHERE => part,
            _ => (u64::from(host) * u64::from(most) / hosts) as u8,
        };
        if let Some(gate) = gate {
            owner[gate as usize] = part;
        }
        owner[node as usize] = part;
        load[usize::from(part)] += 1;
    }
    // the others by their neighbours, where those are known
    let mut is_done = false;
    while !is_done {
        is_done = true;
        for node in 0..routes.nodes() {
            if owner[node as usize] != NOWHERE {
                continue;
            }
            let mut joined = vec![0_u64; usize::from(most)];
            for port in routes.ports_of(node) {
                let part = owner[routes.wires()[port as usize].to as usize];
                if part != NOWHERE {
                    joined[usize::from(part)] += 1;
                }
            }
            let best = (0..most)
                .filter(|&part| joined[usize::from(part)] > 0)
                .min_by_key(|&part| (Reverse(joined[usize::from(part)]), load[usize::from(part)]));
            if let Some(part) = best {
                owner[node as usize] = part;
                load[usize::from(part)] += joined.iter().sum::<u64>();
                is_done = false;
            }
        }
    }
    owner.iter_mut().filter(|part| **part == NOWHERE).for_each(|part| *part = 0);
    // parts without a host are left out
    let mut used: Vec<u8> = owner.clone();
    used.sort_unstable();
    used.dedup();
    owner.iter_mut().for_each(|part| *part = used.binary_search(part).unwrap_or(0) as u8);
    owner
}

impl Cut {
    pub(super) fn new(plan: Arc<Plan>, part: u8) -> Self {
        let boxes = vec![Outbox::new(); usize::from(plan.parts)];
        Self {
            plan,
            part,
            departures: Vec::new(),
            outbox: boxes.clone(),
            inbox: boxes,
            candidates: BinaryHeap::new(),
            coming: Vec::new(),
            first_end: u64::MAX,
            first_at: u64::MAX,
            handed_over: 0,
            followed: Followed::default(),
        }
    }

    /// When the first of what is on its way between parts arrives.
    pub(super) fn next(&self) -> Option<u64> {
        let boxes = self.inbox.iter().chain(&self.outbox).map(|it| it.first);
        Some(boxes.fold(self.first_at, u64::min)).filter(|&first| first < u64::MAX)
    }

    /// Packets that have left one part and are not yet in the other.
    pub(super) fn in_flight(&self) -> u64 {
        self.inbox.iter().chain(&self.outbox).map(|it| it.packets.len() as u64).sum()
    }

    /// The first instant from `from` on at which a message may become complete.
    pub(super) fn candidate(&mut self, from: u64) -> u64 {
        while let Some(&Reverse(at)) = self.candidates.peek() {
            if at >= from {
                return at;
            }
            self.candidates.pop();
        }
        u64::MAX
    }

    /// What comes to the receiver of a connection.
    #[inline]
    fn coming_to(&mut self, connection: u32) -> &mut Coming {
        let number = connection as usize;
        if self.coming.len() <= number {
            self.coming.resize(number + 1, Coming::default());
        }
        &mut self.coming[number]
    }

    /// A message may become complete, or fail, at `at`.
    pub(super) fn suspect(&mut self, at: u64) {
        self.candidates.push(Reverse(at));
    }
}

impl Engine {
    /// A packet goes onto a link that leads into another part.
    #[inline(never)]
    pub(super) fn depart(&mut self, port: u32, packet: u32) {
        let (end, delay) = (self.ports.service(port).busy_until, self.ports.kind(port).delay);
        if let Some(cut) = &mut self.cut {
            let at = end + delay;
            cut.departures.push(Departure { port, packet, end, at });
            cut.first_end = cut.first_end.min(end);
            cut.first_at = cut.first_at.min(at);
        }
    }

    /// Packets that have left their ports by `now` go into the other parts.
    pub(super) fn hand_over(&mut self, now: u64) {
        self.go_on_with_followed(now);
        let Some(cut) = &mut self.cut else { return };
        cut.handed_over = now;
        if cut.first_end > now {
            return;
        }
        let Some(mut cut) = self.cut.take() else { return };
        for departure in cut.departures.iter().filter(|departure| departure.end <= now) {
            prefetch(&self.packets[departure.packet as usize]);
            prefetch_all(&self.headers[departure.packet as usize]);
        }
        (cut.first_end, cut.first_at) = (u64::MAX, u64::MAX);
        cut.departures.retain(|&Departure { port, packet, end, at }| {
            if end > now {
                cut.first_end = cut.first_end.min(end);
                cut.first_at = cut.first_at.min(at);
                return true;
            }
            // what it leaves behind is the same whenever that is noted: see `engine`
            if self.ports.service(port).current == packet {
                self.finish(port);
            }
            let outbox = &mut cut.outbox[usize::from(cut.plan.owner[self.ends[port as usize].node as usize])];
            let mut flying = self.packets[packet as usize];
            // what waits behind it is none of the other part's business
            flying.signs &= !Flying::LEADS;
            outbox.first = outbox.first.min(at);
            outbox.packets.push((at, flying, self.headers[packet as usize]));
            if self.rules.records {
                outbox.telemetry.push(self.telemetry[packet as usize]);
            }
            self.release(packet);
            false
        });
        self.cut = Some(cut);
    }

    /// Takes in what has come from other parts.
    pub(super) fn take_in(&mut self) {
        let Some(mut cut) = self.cut.take() else { return };
        for inbox in &mut cut.inbox {
            inbox.first = u64::MAX;
            let mut telemetry = inbox.telemetry.drain(..);
            for (at, flying, header) in inbox.packets.drain(..) {
                let packet = self.place(flying, header);
                if let Some(telemetry) = telemetry.next() {
                    self.telemetry[packet as usize] = telemetry;
                }
                self.note(at, Event::Arrival(packet));
            }
            for (at, connection) in inbox.closes.drain(..) {
                self.note(at, Event::Close(connection));
            }
        }
        self.cut = Some(cut);
    }

    /// Suspects packets that have come from other parts and are to reach their hosts here.
    pub(super) fn suspect_arrivals(&mut self) {
        let Some(cut) = &mut self.cut else { return };
        for (at, flying, _) in cut.inbox.iter().flat_map(|inbox| &inbox.packets) {
            if ends_here(&self.routes, flying, self.ends[flying.port as usize].node) {
                cut.candidates.push(Reverse(*at));
            }
        }
    }

    /// A packet goes onto the link to a host, where it arrives at `at`: whether it may complete a message.
    ///
    /// Most may not, and that is known without a look at their connections: with each packet that goes onto the wire, or
    /// comes from another one, the receiver is one packet nearer to its end at most.
    #[inline(never)]
    pub(super) fn expect(&mut self, packet: u32, at: u64) {
        let flying = &self.packets[packet as usize];
        let Flying { connection: number, to, .. } = *flying;
        let is_forward = flying.signs & Flying::BACK == 0;
        let at_sender = self.rules.complete_at_sender;
        if is_forward == at_sender || !ends_here(&self.routes, flying, self.ends[flying.port as usize].node) {
            return;
        }
        let Some(cut) = &mut self.cut else { return };
        let Some(connection) = &self.connections[number as usize] else { return };
        let may = if at_sender {
            // what completes a message at its sender acknowledges all of it
            self.headers[packet as usize].cumulative >= connection.message.end
        } else {
            let overtaking = cut.plan.overtaking[to as usize];
            let coming = cut.coming_to(number);
            coming.count += 1;
            if coming.spare > 0 {
                coming.spare -= 1;
                return;
            }
            let receiver = &connection.receiver;
            let here = receiver.delivered_to() + u64::from(receiver.out_of_order());
            let soon = u64::from(coming.count) + u64::from(overtaking);
            let left = connection.message.end.saturating_sub(here + soon);
            coming.spare = u32::try_from(left).unwrap_or(u32::MAX).saturating_sub(1);
            // where the message is complete, the next one is not known before the window is over
            left == 0 && (self.rules.keeps_connections || !connection.reported)
        };
        if may {
            cut.candidates.push(Reverse(at));
        }
    }

    /// A packet has come to the receiver of a connection.
    #[inline]
    pub(super) fn has_come(&mut self, connection: u32) {
        let Some(cut) = &mut self.cut else { return };
        if let Some(coming) = cut.coming.get_mut(connection as usize) {
            // those that came from other parts were not counted
            match coming.count.checked_sub(1) {
                Some(count) => coming.count = count,
                None => coming.spare = coming.spare.saturating_sub(1),
            }
        }
    }

    /// The sender of a connection is done: its receiver, at host `to`, listens for as long as news of that takes.
    pub(super) fn stop_listening(&mut self, number: u32, to: u32) {
        let at = self.now + self.rules.least_delay;
        if let Some(cut) = &mut self.cut {
            let owner = cut.plan.owner[self.routes.node_of(to) as usize];
            if owner != cut.part {
                let outbox = &mut cut.outbox[usize::from(owner)];
                outbox.first = outbox.first.min(at);
                outbox.closes.push((at, number));
                self.connections[number as usize] = None;
                return;
            }
        }
        self.note(at, Event::Close(number));
    }
}

/// Whether a packet that comes to a node has its host there.
fn ends_here(routes: &Routes, flying: &Flying, node: u32) -> bool {
    routes.node_of(flying.to) == node
}
