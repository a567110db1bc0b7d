//! The network at work: its events, its packets and the loop.
//!
//! A packet costs one event per hop, its arrival at the next node, which is known when its service begins. Some ports
//! at which others wait have one more per packet, at the end of service, when the next one is chosen: by class, and
//! with what has come meanwhile; most ports of switches need none (see `chain`). What a packet leaves behind when its service ends (marks, telemetry) is noted then; where
//! nobody waited it leaves nothing but telemetry, which is noted when the next one begins or it arrives.
//!
//! At one instant, a node sees first what arrives, pauses and word of room before packets and these by port, and then its own
//! events in the order in which it noted them. So the results are the same however the network is cut into parts (see `parts`).

use std::collections::VecDeque;

use stratasim_transport::{Header, Kind, Mark, Pacer, SenderStatistics, Telemetry};

use super::arrivals::Arrivals;
use super::balancing::Balancing;
use super::cut::Cut;
use super::detours::Detours;
use super::faults::{FaultCounts, LinkFaults, Outages};
use super::host::{Connection, Nic};
use super::landing::Landings;
use super::pool::Pool;
use super::port::{NOTHING, Port, Waiting};
use super::ports::Ports;
use super::queue::{Backpressure, QueueRules};
use super::routes::Routes;
use super::wheel::Wheel;

/// What switches look at of a packet: half a cache line. Its header lies beside it and is read at the ends.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Flying {
    /// Bytes on the wire.
    pub(super) bytes: u32,
    /// The port that it left last.
    pub(super) port: u32,
    /// The host that it goes to.
    pub(super) to: u32,
    pub(super) connection: u32,
    /// The next one in the line in which it waits; on a wire, the port by which it will go on, where that is known.
    pub(super) next: u32,
    /// The port by which it came to the switch where it is (lossless networks).
    pub(super) came_by: u32,
    pub(super) entropy: u16,
    pub(super) mark: Mark,
    /// Of the class that goes first.
    pub(super) control: bool,
    pub(super) class: u8,
    /// What is known of it, bit by bit.
    pub(super) signs: u8,
}

impl Flying {
    /// What goes wrong on its wire has been decided.
    pub(super) const SETTLED: u8 = 1;
    /// Its bits were changed.
    pub(super) const CORRUPT: u8 = 2;
    /// Its header has come, and its port is chosen.
    pub(super) const HEADED: u8 = 4;
    /// The port by which it will go on was looked up, and is right while all links are up.
    pub(super) const FORESEEN: u8 = 16;
    /// Others wait at the port that it left, and go on when it arrives (see `chain`).
    pub(super) const LEADS: u8 = 8;
    /// It goes to the sender of its connection.
    pub(super) const BACK: u8 = 32;

    /// Whether it is no data on its way as data: what says something to the sender, and what lost its payload.
    #[inline]
    pub(super) const fn is_control(&self) -> bool {
        self.control || self.signs & Self::BACK != 0
    }
}

/// What lies at the ends of a port's link.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// The node behind it.
    pub(super) node: u32,
    /// The network interface of the host where it begins; [`NOTHING`].
    pub(super) nic: u32,
}

/// What happens next; a kind and a number in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A packet arrives at the node behind its port.
    Arrival(u32),
    /// A port is free.
    Free(u32),
    /// A sender wanted to be asked for a packet.
    Poll(u32),
    /// A sender's deadline has come.
    Timer(u32),
    /// A receiver's deadline has come.
    Receiver(u32),
    /// The pacer of a link to a host may give a turn.
    Pacer(u32),
    /// A request to stop has reached a lane.
    Pause(u32),
    /// A request to go on has reached a lane.
    Resume(u32),
    /// The link of a port is known to be down.
    Down(u32),
    /// The link of a port is repaired.
    Up(u32),
    /// The header of a packet arrives at the switch behind its port.
    Head(u32),
    /// Word of room at the other end has reached a lane.
    Credit(u32),
    /// A receiver need not listen any more.
    Close(u32),
    /// A header that found no room at a switch sets out for its sender.
    Back(u32),
}

impl Event {
    const BITS: u32 = 28;
    /// Numbers are below this.
    pub(super) const MOST: u32 = 1 << Self::BITS;

    #[inline]
    const fn word(self) -> u32 {
        let (kind, number) = match self {
            Self::Arrival(number) => (0, number),
            Self::Free(number) => (1, number),
            Self::Poll(number) => (2, number),
            Self::Timer(number) => (3, number),
            Self::Receiver(number) => (4, number),
            Self::Pacer(number) => (5, number),
            Self::Pause(number) => (6, number),
            Self::Resume(number) => (7, number),
            Self::Down(number) => (8, number),
            Self::Up(number) => (9, number),
            Self::Head(number) => (10, number),
            Self::Credit(number) => (11, number),
            Self::Close(number) => (12, number),
            Self::Back(number) => (13, number),
        };
        kind << Self::BITS | number
    }

    #[inline]
    pub(super) const fn of(word: u32) -> Self {
        let number = word & (Self::MOST - 1);
        match word >> Self::BITS {
            0 => Self::Arrival(number),
            1 => Self::Free(number),
            2 => Self::Poll(number),
            3 => Self::Timer(number),
            4 => Self::Receiver(number),
            5 => Self::Pacer(number),
            6 => Self::Pause(number),
            7 => Self::Resume(number),
            8 => Self::Down(number),
            9 => Self::Up(number),
            10 => Self::Head(number),
            11 => Self::Credit(number),
            12 => Self::Close(number),
            _ => Self::Back(number),
        }
    }
}

/// What is the same for all packets of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) queue: QueueRules,
    /// A message is complete when its sender knows; otherwise when its receiver has it.
    pub(super) complete_at_sender: bool,
    /// Somebody keeps count of the room that packets take in switches: ports share buffers, or tell each other to wait.
    pub(super) keeps_count: bool,
    /// Switches record telemetry.
    pub(super) records: bool,
    /// What a packet leaves behind may be noted as late as when it arrives: telemetry, or where links have no delay.
    pub(super) settles_late: bool,
    /// Bytes of a packet whose payload was cut off.
    pub(super) trimmed_bytes: u32,
    /// Ports that lead to hosts mark, too.
    pub(super) marks_last_hop: bool,
    /// A switch that looks at headers waits for so much.
    pub(super) header_bytes: u32,
    /// The largest packet.
    pub(super) full_bytes: u32,
    /// Classes of messages.
    pub(super) classes: u8,
    /// Messages of a pair of hosts share a connection.
    pub(super) keeps_connections: bool,
    /// The least delay of a link, picoseconds: so long a receiver listens after its sender is done, and so far parts of the
    /// network may run by themselves.
    pub(super) least_delay: u64,
    /// No sender gives up sooner after it has sent something, picoseconds.
    pub(super) gives_up_after: u64,
}

/// Counts of the whole network.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    /// What happened, be it noted at once or later (see `chain`).
    pub(super) events: u64,
    pub(super) hops: u64,
    pub(super) sent: u64,
    pub(super) delivered: u64,
    pub(super) dropped: u64,
    /// Headers that went back to their senders.
    pub(super) returned: u64,
}

impl std::ops::Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            events: self.events + other.events,
            hops: self.hops + other.hops,
            sent: self.sent + other.sent,
            delivered: self.delivered + other.delivered,
            dropped: self.dropped + other.dropped,
            returned: self.returned + other.returned,
        }
    }
}

/// The network at work, or a part of it.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pub(super) now: u64,
    /// When the last event was.
    pub(super) last: u64,
    /// When a receiver got something for the last time that it had not.
    pub(super) fresh_at: u64,
    pub(super) events: Wheel,
    pub(super) ports: Ports,
    /// By port; arrivals look at nothing else of most ports.
    pub(super) ends: Vec<End>,
    pub(super) routes: Routes,
    pub(super) balancing: Balancing,
    pub(super) detours: Detours,
    pub(super) landings: Landings,
    /// What may go wrong on links, as their ports name it.
    pub(super) faults: Vec<LinkFaults>,
    /// When any of them is down.
    pub(super) outages: Outages,
    pub(super) fault_counts: FaultCounts,
    pub(super) rules: Rules,
    /// Largest message of every class but the last.
    pub(super) class_limits: Vec<u64>,
    /// Buffers that ports share.
    pub(super) pools: Vec<Pool>,
    /// By lane: bytes of room, word of which is on its way; of a request to go on, none.
    pub(super) returning: Vec<VecDeque<u32>>,
    pub(super) packets: Vec<Flying>,
    pub(super) headers: Vec<Header>,
    free: Vec<u32>,
    /// By packet; empty where no sender wants it.
    pub(super) telemetry: Vec<Telemetry>,
    /// By number; none where both ends are done or in other parts. Numbers are not used again, so that late packets find
    /// nobody.
    pub(super) connections: Vec<Option<Box<Connection>>>,
    /// Connections that are over. Their memory is for others: given back in pieces, it would be taken up by what stays.
    #[expect(clippy::vec_box, reason = "they are handed on as they are")]
    pub(super) over: Vec<Box<Connection>>,
    /// By connection: the host of its sender, where headers may go back there.
    pub(super) origins: Vec<u32>,
    pub(super) nics: Vec<Nic>,
    pub(super) arrivals: Arrivals,
    pub(super) pacers: Vec<Pacer>,
    /// When an event of each pacer is noted for.
    pub(super) pacer_noted: Vec<u64>,
    /// What a receiver says, until it is on its way.
    pub(super) said: Vec<Header>,
    /// Connections whose message is complete, or has failed.
    pub(super) complete: Vec<u32>,
    /// Ports of the events of the next slot, as it was when they were asked for (see `approach`).
    pub(super) near: Vec<u32>,
    /// Connections whose senders these events were about.
    pub(super) near_senders: Vec<u32>,
    /// Counts of senders that are done.
    pub(super) senders: SenderStatistics,
    pub(super) totals: Totals,
    /// Which part this is; none where there is one only.
    pub(super) cut: Option<Box<Cut>>,
}

impl Engine {
    /// Whether nothing is ever lost: ports hold back what they have no room for, and links lose and change nothing.
    pub(super) fn is_lossless(&self) -> bool {
        let holds_all = match self.rules.queue.backpressure {
            Backpressure::None => false,
            Backpressure::Pause { above_bytes, most_bytes, .. } => {
                // what comes until the other end has stopped
                let headroom = most_bytes.saturating_sub(above_bytes) as f64;
                let comes = |port: &Port| {
                    let on_link = 2e-12 * port.kind.delay as f64 * port.kind.rate.bytes_per_s();
                    on_link + 2.0 * f64::from(self.rules.full_bytes)
                };
                most_bytes == u64::MAX || self.ports.iter().all(|port| comes(port) <= headroom)
            }
            Backpressure::Credit { .. } => true,
        };
        holds_all && self.faults.iter().all(LinkFaults::loses_nothing)
    }

    pub(super) fn new(
        ports: Vec<Port>,
        routes: Routes,
        landings: Landings,
        balancing: Balancing,
        rules: Rules,
    ) -> Self {
        let mut ports = ports;
        let mut nics = Vec::new();
        for (number, port) in (0..).zip(&mut ports) {
            if port.nic != NOTHING {
                port.nic = nics.len() as u32;
                nics.push(Nic::new(number, rules.classes));
            }
        }
        let arrivals = Arrivals::new(&routes, &ports, nics.len());
        // a hop of the largest packet, the delay of its link included
        let hop = |port: &Port| port.time_of(rules.full_bytes).saturating_add(port.kind.delay);
        let reach = ports.iter().map(hop).max().unwrap_or(0);
        Self {
            now: 0,
            last: 0,
            fresh_at: 0,
            events: Wheel::new(reach),
            detours: Detours::new(ports.len()),
            landings,
            faults: Vec::new(),
            outages: Outages::default(),
            fault_counts: FaultCounts::default(),
            ends: ports.iter().map(|port| End { node: port.to, nic: port.nic }).collect(),
            ports: Ports::new(ports, rules.classes),
            routes,
            balancing,
            rules,
            class_limits: Vec::new(),
            pools: Vec::new(),
            returning: Vec::new(),
            packets: Vec::new(),
            headers: Vec::new(),
            free: Vec::new(),
            telemetry: Vec::new(),
            connections: Vec::new(),
            over: Vec::new(),
            origins: Vec::new(),
            pacers: vec![Pacer::new(); arrivals.pacers()],
            pacer_noted: vec![u64::MAX; arrivals.pacers()],
            arrivals,
            nics,
            said: Vec::new(),
            complete: Vec::new(),
            near: Vec::new(),
            near_senders: Vec::new(),
            senders: SenderStatistics::default(),
            totals: Totals::default(),
            cut: None,
        }
    }

    #[inline]
    pub(super) fn note(&mut self, at: u64, event: Event) {
        let word = event.word();
        self.events.push(at, word, || rank(&self.packets, word));
    }

    /// Every event before `now` has happened.
    pub(super) fn reach(&mut self, now: u64) {
        self.now = now;
        self.events.reach(now);
    }

    /// Time of the next event.
    #[inline]
    pub(super) fn next(&self) -> Option<u64> {
        self.events.earliest()
    }

    /// Places of packets that nobody has.
    pub(super) fn free(&self) -> &[u32] {
        &self.free
    }

    /// Packets that are somewhere.
    pub(super) fn in_flight(&self) -> u64 {
        (self.packets.len() - self.free.len()) as u64
    }

    /// Runs events through `until`; stops after the first instant in which a message is complete.
    pub(super) fn run(&mut self, until: u64) {
        let mut until = until;
        let mut last = self.last;
        while let Some((at, word)) = self.events.pop_until(until, |word| rank(&self.packets, word)) {
            self.now = at;
            last = at;
            self.totals.events += 1;
            self.approach();
            // nearly all of them are arrivals
            if word < Event::MOST {
                self.arrive(word);
            } else {
                self.happen(Event::of(word));
            }
            if !self.complete.is_empty() {
                until = at;
            }
            if cfg!(debug_assertions) && self.totals.events.is_multiple_of(self.events_between_looks()) {
                self.look_at_everything();
            }
        }
        self.last = last;
        if self.complete.is_empty() {
            self.now = until;
        }
    }

    /// An event of any other kind.
    #[inline]
    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrival(_) => unreachable!("arrivals are told apart before"),
            Event::Free(port) => self.on_free(port),
            Event::Poll(connection) => self.on_poll(connection),
            Event::Timer(connection) => self.on_timer(connection),
            Event::Receiver(connection) => self.on_receiver(connection),
            Event::Pacer(nic) => self.on_pacer(nic as usize),
            Event::Pause(lane) => self.on_pause(lane),
            Event::Resume(lane) => self.on_resume(lane),
            Event::Credit(lane) => self.on_credit(lane),
            Event::Down(port) => self.detours.set(port, true),
            Event::Up(port) => self.detours.set(port, false),
            Event::Head(packet) => self.on_head(packet),
            Event::Close(connection) => self.forget(connection),
            Event::Back(packet) => self.send_back(packet),
        }
    }

    /// A new packet of a connection.
    #[inline]
    pub(super) fn make(&mut self, header: Header, connection: u32, class: u8, bytes: u32, to: u32) -> u32 {
        let rules = &self.rules.queue;
        // where packets are dropped, a probe asks how it stands with the data, and waits with it
        let as_data = header.kind == Kind::Data || header.kind == Kind::Probe && !rules.trims;
        let control = !as_data && rules.control_first;
        let flying = Flying {
            bytes,
            port: NOTHING,
            to,
            connection,
            next: NOTHING,
            came_by: NOTHING,
            entropy: header.entropy,
            mark: Mark::default(),
            control,
            class: if control { 0 } else { class },
            signs: if header.kind.is_forward() { 0 } else { Flying::BACK },
        };
        self.totals.sent += 1;
        self.place(flying, header)
    }

    /// Another packet that is the same.
    pub(super) fn double(&mut self, packet: u32) -> u32 {
        let copy = self.place(self.packets[packet as usize], self.headers[packet as usize]);
        if self.rules.records {
            self.follow_records(copy, packet);
        }
        copy
    }

    /// What switches have recorded in `packet` is what they have in `other`.
    #[inline]
    pub(super) fn follow_records(&mut self, packet: u32, other: u32) {
        if let Ok([own, other]) = self.telemetry.get_disjoint_mut([packet as usize, other as usize]) {
            own.follow(other);
        }
    }

    /// Puts a packet where there is room.
    #[inline]
    pub(super) fn place(&mut self, flying: Flying, header: Header) -> u32 {
        let Some(packet) = self.free.pop() else {
            self.packets.push(flying);
            self.headers.push(header);
            if self.rules.records {
                self.telemetry.push(Telemetry::default());
            }
            return self.packets.len() as u32 - 1;
        };
        self.packets[packet as usize] = flying;
        self.headers[packet as usize] = header;
        if self.rules.records {
            self.telemetry[packet as usize].clear();
        }
        packet
    }

    #[inline]
    pub(super) fn release(&mut self, packet: u32) {
        self.free.push(packet);
    }

    /// Appends a packet to a line.
    #[inline]
    pub(super) fn append(packets: &mut [Flying], line: &mut Waiting, packet: u32) {
        let flying = &mut packets[packet as usize];
        flying.next = NOTHING;
        line.bytes += u64::from(flying.bytes);
        if line.head == NOTHING {
            line.head = packet;
        } else {
            packets[line.tail as usize].next = packet;
        }
        line.tail = packet;
    }

    /// Takes the first packet out of a line that has one.
    #[inline]
    pub(super) fn take(packets: &[Flying], line: &mut Waiting) -> u32 {
        let packet = line.head;
        let flying = &packets[packet as usize];
        line.head = flying.next;
        line.bytes -= u64::from(flying.bytes);
        packet
    }
}

/// The place of an event among those of its instant: what the other end of a link says comes first, then packets that arrive
/// by port, each before the header of the one behind it, and all others behind them.
#[inline]
fn rank(packets: &[Flying], word: u32) -> u32 {
    match Event::of(word) {
        Event::Arrival(packet) => 2 * packets[packet as usize].port + 1,
        Event::Head(packet) => 2 * packets[packet as usize].port + 2,
        Event::Pause(_) | Event::Resume(_) | Event::Credit(_) => 0,
        _ => NOTHING,
    }
}

/// The packet of an event that is an arrival: arrivals are the events whose word is a number alone.
#[inline]
pub(super) fn arriving(packets: &[Flying], word: u32) -> Option<&Flying> {
    packets.get(word as usize).filter(|_| word < Event::MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_half_a_cache_line_and_a_word_says_an_event() {
        assert_eq!(size_of::<Flying>(), 32);
        let all = [
            Event::Arrival(Event::MOST - 1),
            Event::Free(0),
            Event::Poll(7),
            Event::Timer(8),
            Event::Receiver(9),
            Event::Pacer(10),
            Event::Pause(11),
            Event::Resume(12),
            Event::Down(13),
            Event::Up(14),
            Event::Head(15),
            Event::Credit(16),
            Event::Close(17),
            Event::Back(18),
        ];
        assert!(all.iter().all(|&event| Event::of(event.word()) == event));
    }
}
