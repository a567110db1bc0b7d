//! Hosts: connections, the network interfaces that they share, and the pacers of receivers.

use std::collections::VecDeque;

use stratasim_core::model::FlowRecord;
use stratasim_core::observe::MessageCounts;
use stratasim_core::{Bandwidth, Duration, LinkId, NodeId, Time, Token};
use stratasim_transport::{
    Header, PacketSizes, Poll, Profile, Readiness, Receiver, Sender, SenderStatistics,
};

use super::engine::{Engine, Event, Flying};
use super::landing::Landing;
use super::lane::PerClass;
use super::port::NOTHING;

/// Where more bytes wait for a link whose other end stops it again and again, no credit is added to them,
const MOST_WAITING_BYTES: u64 = 1 << 20;
/// before it has had time for so many packets.
const WAITS_PACKETS: u64 = 64;

/// A network interface: connections of its host take turns, a packet each.
#[derive(Debug, Clone)]
pub(super) struct Nic {
    pub(super) port: u32,
    /// Connections with something to send, by class.
    pub(super) ready: PerClass<VecDeque<u32>>,
}

impl Nic {
    pub(super) fn new(port: u32, classes: u8) -> Self {
        Self { port, ready: PerClass::new(classes, VecDeque::new) }
    }

    /// Whether any connection has something to send.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.ready.any(|list| !list.is_empty())
    }
}

/// A message of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub(super) token: Token,
    /// Past the last of its packets.
    pub(super) end: u64,
    /// It is not complete before; picoseconds.
    pub(super) not_before: u64,
    /// When it was handed over; picoseconds.
    pub(super) start: u64,
    pub(super) bytes: u64,
}

/// Both ends of a connection, and the messages that it carries.
///
/// Its fields stand in this order, so that what no packet looks at lies at the end.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Connection {
    pub(super) receiver: Receiver,
    /// The first that is not complete, or the last one.
    pub(super) message: Message,
    /// When it is to be asked for a packet, and when events of its two ends are noted for; `u64::MAX` for none.
    poll_noted: u64,
    timer_noted: u64,
    receiver_noted: u64,
    /// Hosts.
    pub(super) from: u32,
    pub(super) to: u32,
    /// Ports of the two hosts.
    pub(super) port: u32,
    pub(super) back: u32,
    /// Of its receiver; [`NOTHING`] until something has come.
    pacer: u32,
    sizes: PacketSizes,
    class: u8,
    /// It stands in the list of its interface.
    queued: bool,
    /// `message` was reported, as complete or as failed.
    pub(super) reported: bool,
    /// The sender is done with all its messages, and its receiver listens for a while yet.
    closed: bool,
    /// The receiver need not listen any more, and is kept for the turns that it has.
    forgotten: bool,
    pub(super) sender: Sender,
    /// Messages behind the first, where connections are kept.
    pub(super) later: VecDeque<Message>,
    /// What the sender had counted when the last message was complete.
    pub(super) counted: SenderStatistics,
}

/// Where a connection leads and what it carries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) token: Token,
    /// Hosts.
    pub(super) from: u32,
    pub(super) to: u32,
    /// Their ports.
    pub(super) port: u32,
    pub(super) back: u32,
    pub(super) landing: Landing,
    pub(super) bytes: u64,
    /// The limit of the sender's own.
    pub(super) rate_cap: Option<Bandwidth>,
    pub(super) not_before: u64,
}

impl Ends {
    /// The message, whose packets end before `end`, and which was handed over at `start`.
    const fn message(&self, end: u64, start: u64) -> Message {
        Message { token: self.token, end, not_before: self.not_before, start, bytes: self.bytes }
    }
}

impl Connection {
    /// The account of its message, which is complete at `end`: between which nodes, and by which links.
    ///
    /// Its least time is what its own limit asks for; what the network does is left to be filled in.
    pub(super) fn finish(&mut self, end: Time, [src, dst]: [NodeId; 2], path: Box<[LinkId]>) -> FlowRecord {
        let (now, before) = (*self.sender.statistics(), self.counted);
        self.counted = now;
        let count =
            |of: fn(&SenderStatistics) -> u64| u32::try_from(of(&now) - of(&before)).unwrap_or(u32::MAX);
        FlowRecord {
            src,
            dst,
            bytes: self.message.bytes,
            start: Time::from_ps(self.message.start),
            end,
            least: Duration::from_ps(self.message.not_before.saturating_sub(self.message.start)),
            path,
            counts: MessageCounts {
                packets: count(|it| it.packets),
                retransmissions: count(|it| it.retransmissions),
                timeouts: count(|it| it.timeouts),
                trims: count(|it| it.trims),
                marks: count(|it| it.marks),
            },
        }
    }

    /// Messages that were not reported.
    pub(super) fn open_messages(&self) -> impl Iterator<Item = Token> {
        let first = (!self.reported).then_some(&self.message);
        first.into_iter().chain(&self.later).map(|message| message.token)
    }

    /// Whether its sender is done with all its messages.
    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Knows of its messages what the other end of the connection knows.
    pub(super) fn follow(&mut self, other: &Self) {
        (self.message, self.reported) = (other.message, other.reported);
        self.later.clone_from(&other.later);
    }

    /// Takes up the next message, after one was reported: whether it is complete, too. None where there is none.
    pub(super) fn next_message(&mut self, at_sender: bool) -> Option<bool> {
        self.message = self.later.pop_front()?;
        let complete_to =
            if at_sender { self.sender.acknowledged_to() } else { self.receiver.delivered_to() };
        self.reported = complete_to >= self.message.end;
        Some(self.reported)
    }
}

impl Engine {
    /// The class of a message.
    pub(super) fn class_of(&self, bytes: u64) -> u8 {
        self.class_limits.partition_point(|&limit| limit < bytes) as u8
    }

    /// A message begins on a connection that carries others; false where that is closed.
    pub(super) fn post(&mut self, number: u32, ends: &Ends) -> bool {
        let now = self.now;
        let Some(connection) = self.sender(number) else { return false };
        // a new connection begins to count anew
        if !connection.sender.can_count(ends.bytes) {
            return false;
        }
        let end = connection.sender.post(Time::from_ps(now), ends.bytes).end;
        let message = ends.message(end, now);
        if std::mem::replace(&mut connection.reported, false) {
            connection.message = message;
        } else {
            connection.later.push_back(message);
        }
        self.after_sender(number);
        true
    }

    /// A new connection with its first message; `key` names its draws.
    pub(super) fn connection(&self, ends: Ends, profile: &std::sync::Arc<Profile>, key: u64) -> Connection {
        let number = self.connections.len() as u32;
        let mut sender = Sender::new(profile, key);
        if let Some(cap) = ends.rate_cap {
            sender.limit(cap);
        }
        if self.rules.keeps_connections {
            sender.share();
        }
        let end = sender.post(Time::from_ps(self.now), ends.bytes).end;
        let class = self.class_of(ends.bytes);
        Connection {
            receiver: Receiver::new(profile, number),
            message: ends.message(end, self.now),
            poll_noted: u64::MAX,
            timer_noted: u64::MAX,
            receiver_noted: u64::MAX,
            from: ends.from,
            to: ends.to,
            port: ends.port,
            back: ends.back,
            pacer: NOTHING,
            sizes: *profile.sizes(),
            class,
            queued: false,
            reported: false,
            closed: false,
            forgotten: false,
            sender,
            later: VecDeque::new(),
            counted: SenderStatistics::default(),
        }
    }

    /// A connection whose sender is not done.
    #[inline]
    fn sender(&mut self, number: u32) -> Option<&mut Connection> {
        self.connections[number as usize].as_deref_mut().filter(|connection| !connection.closed)
    }

    /// A sender is done with all its messages, or has given up: that is reported, where it was not.
    pub(super) fn end(&mut self, number: u32) {
        let Some(connection) = &mut self.connections[number as usize] else { return };
        if connection.open_messages().next().is_some() {
            return self.complete.push(number);
        }
        connection.closed = true;
        self.senders += connection.sender.statistics();
        let to = connection.to;
        self.stop_listening(number, to);
    }

    /// Both ends are done: what still comes for them finds nobody.
    pub(super) fn close(&mut self, number: u32) {
        if let Some(connection) = &mut self.connections[number as usize] {
            if !std::mem::replace(&mut connection.closed, true) {
                self.senders += connection.sender.statistics();
            }
            self.forget(number);
        }
    }

    /// Nobody listens on a connection any more; one whose receiver has turns yet is kept for them.
    pub(super) fn forget(&mut self, number: u32) {
        let place = &mut self.connections[number as usize];
        match place {
            Some(connection) if connection.receiver.outlives_its_sender() => connection.forgotten = true,
            _ => self.over.extend(place.take()),
        }
    }

    /// Something happened to a sender: its deadline may have moved, and it may have something to send.
    #[inline]
    pub(super) fn after_sender(&mut self, number: u32) {
        let now = Time::from_ps(self.now);
        self.note_timer(number);
        let Some(connection) = &mut self.connections[number as usize] else { return };
        if connection.queued {
            return;
        }
        match connection.sender.readiness(now) {
            Readiness::Ready => {
                connection.queued = true;
                let port = connection.port;
                let nic = self.ends[port as usize].nic;
                self.nics[nic as usize].ready.get_mut(connection.class).push_back(number);
                self.call(port);
            }
            Readiness::Wait(at) => self.note_poll(number, at),
            Readiness::Blocked => {}
        }
    }

    /// A sender is to be asked for a packet at `at`, unless that is noted for an earlier time.
    #[inline]
    fn note_poll(&mut self, number: u32, at: Time) {
        let at = at.as_ps().max(self.now);
        if let Some(connection) = &mut self.connections[number as usize]
            && at < connection.poll_noted
        {
            connection.poll_noted = at;
            self.note(at, Event::Poll(number));
        }
    }

    /// The next packet of a class of an interface whose link is free, where the other end has said that it has room for it.
    #[inline]
    pub(super) fn next_of_nic(&mut self, nic: u32, class: u8, room_bytes: u64) -> Option<u32> {
        let now = Time::from_ps(self.now);
        loop {
            if room_bytes < u64::from(self.rules.full_bytes) && !self.fits(nic, class, room_bytes) {
                return None;
            }
            let list = self.nics[nic as usize].ready.get_mut(class);
            let number = list.pop_front()?;
            let sharing = list.len() as u32 + 1;
            let Some(connection) = &mut self.connections[number as usize] else { continue };
            connection.queued = false;
            if connection.closed {
                continue;
            }
            match connection.sender.poll_send(now, sharing) {
                Poll::Send(header) => {
                    let bytes = connection.sizes.bytes_of(&header);
                    let to = connection.to;
                    match connection.sender.readiness_after(now, &header) {
                        Readiness::Ready => {
                            connection.queued = true;
                            list.push_back(number);
                        }
                        Readiness::Wait(at) => self.note_poll(number, at),
                        Readiness::Blocked => {}
                    }
                    self.note_timer(number);
                    if let Some(&next) = self.nics[nic as usize].ready.get(class).front() {
                        self.approach_sender(next);
                    }
                    let packet = self.make(header, number, class, bytes, to);
                    if self.packets[packet as usize].class != class {
                        // control goes in the first class, and waits where that may not go
                        let port = self.nics[nic as usize].port;
                        if !self.lets(port, 0, bytes) {
                            Self::append(&mut self.packets, &mut self.ports.service_mut(port).high, packet);
                            continue;
                        }
                    }
                    return Some(packet);
                }
                Poll::Wait(at) => self.note_poll(number, at),
                Poll::Blocked => {}
            }
        }
    }

    /// Whether the packet of the sender whose turn it is fits into so much room, if it has one.
    #[inline(never)]
    fn fits(&mut self, nic: u32, class: u8, room_bytes: u64) -> bool {
        let first = self.nics[nic as usize].ready.get_mut(class).front();
        let connection = first.and_then(|&number| self.connections[number as usize].as_ref());
        let open = connection.filter(|connection| !connection.closed);
        let next = open.and_then(|connection| connection.sender.next_wire_bytes(Time::from_ps(self.now)));
        next.is_none_or(|bytes| u64::from(bytes) <= room_bytes)
    }

    /// An event for a sender's deadline, unless an earlier one is noted.
    #[inline]
    fn note_timer(&mut self, number: u32) {
        let Some(connection) = &mut self.connections[number as usize] else { return };
        let deadline = connection.sender.deadline();
        if deadline < Time::MAX {
            let at = deadline.as_ps().max(self.now);
            if at < connection.timer_noted {
                connection.timer_noted = at;
                self.note(at, Event::Timer(number));
                if self.rules.gives_up_after < u64::MAX
                    && let Some(cut) = &mut self.cut
                {
                    cut.suspect(at);
                }
            }
        }
    }

    /// A sender wanted to be asked for a packet.
    pub(super) fn on_poll(&mut self, number: u32) {
        let now = self.now;
        let Some(connection) = self.sender(number) else { return };
        if connection.poll_noted == now {
            connection.poll_noted = u64::MAX;
            self.after_sender(number);
        }
    }

    /// A sender's deadline has come, or was put off meanwhile.
    pub(super) fn on_timer(&mut self, number: u32) {
        let now = Time::from_ps(self.now);
        let Some(connection) = self.sender(number) else { return };
        if connection.timer_noted != now.as_ps() {
            return;
        }
        connection.timer_noted = u64::MAX;
        if connection.sender.deadline() <= now {
            connection.sender.on_timer(now);
            if connection.sender.has_failed() {
                return self.end(number);
            }
            if connection.queued && connection.sender.waits_twice() {
                let (port, class) = (connection.port, connection.class);
                self.nics[self.ends[port as usize].nic as usize].ready.get_mut(class).push_back(number);
            }
        }
        self.after_sender(number);
    }

    /// A receiver's deadline has come.
    pub(super) fn on_receiver(&mut self, number: u32) {
        let now = Time::from_ps(self.now);
        let mut said = std::mem::take(&mut self.said);
        if let Some(connection) = &mut self.connections[number as usize] {
            connection.receiver_noted = u64::MAX;
            connection.receiver.on_timer(now, &mut |header| said.push(header));
        }
        self.answer(number, NOTHING, &mut said);
        self.said = said;
    }

    /// Sends what a receiver says; `cause` is the packet that it speaks of.
    #[inline]
    fn answer(&mut self, number: u32, cause: u32, said: &mut Vec<Header>) {
        let Some(connection) = &mut self.connections[number as usize] else { return said.clear() };
        let Connection { from: to, back: port, class, .. } = **connection;
        let bytes = connection.sizes.control_bytes;
        let deadline = connection.receiver.deadline().as_ps();
        if deadline < connection.receiver_noted {
            connection.receiver_noted = deadline;
            self.note(deadline.max(self.now), Event::Receiver(number));
        }
        for header in said.drain(..) {
            let packet = self.make(header, number, class, bytes, to);
            if self.rules.records && cause != NOTHING {
                self.follow_records(packet, cause);
            }
            self.enqueue::<true>(port, packet);
        }
    }

    /// A packet has come to the receiver of its connection.
    #[inline]
    pub(super) fn reach_receiver(&mut self, packet: u32, flying: &Flying) {
        let now = Time::from_ps(self.now);
        let number = flying.connection;
        let Some(connection) = &mut self.connections[number as usize] else { return };
        // where several links lead to it, that of its first packet paces for all
        if connection.pacer == NOTHING {
            connection.pacer = self.arrivals.pacer_of(flying.port);
        }
        let paced = connection.pacer as usize;
        let (header, said) = (&self.headers[packet as usize], &mut self.said);
        let pacer = &mut self.pacers[paced];
        let needs_pacer = connection.receiver.needs_pacer();
        let arrival =
            connection.receiver.on_packet(now, header, flying.mark, pacer, &mut |header| said.push(header));
        if arrival.fresh {
            self.fresh_at = self.now;
        }
        let complete = arrival.delivered_to >= connection.message.end;
        if complete && !connection.reported && !self.rules.complete_at_sender {
            connection.reported = true;
            self.complete.push(number);
        }
        let mut said = std::mem::take(&mut self.said);
        self.answer(number, packet, &mut said);
        self.said = said;
        if needs_pacer {
            self.note_pacer(paced);
        }
    }

    /// What a receiver said has come to the sender.
    #[inline]
    pub(super) fn reach_sender(&mut self, packet: u32, number: u32) {
        let now = Time::from_ps(self.now);
        let Some(connection) = &mut self.connections[number as usize] else { return };
        if connection.closed {
            return;
        }
        let telemetry = self.telemetry.get(packet as usize);
        connection.sender.on_feedback(now, &self.headers[packet as usize], telemetry);
        if self.rules.keeps_connections {
            let known = connection.sender.acknowledged_to() >= connection.message.end;
            if known && !connection.reported && self.rules.complete_at_sender {
                connection.reported = true;
                self.complete.push(number);
            }
        } else if connection.sender.is_done() {
            return self.end(number);
        }
        self.after_sender(number);
    }

    /// An event for a pacer, unless an earlier one is noted.
    #[inline]
    fn note_pacer(&mut self, pacer: usize) {
        let deadline = self.pacers[pacer].deadline().as_ps();
        if deadline < self.pacer_noted[pacer] {
            let at = deadline.max(self.now);
            self.pacer_noted[pacer] = at;
            self.note(at, Event::Pacer(pacer as u32));
        }
    }

    /// When a pacer is to be asked again, where more waits for the link by which its credit leaves than that carries.
    fn until_pulls_leave(&self, pacer: usize) -> Option<u64> {
        let number = self.pacers[pacer].peek(Time::from_ps(self.now))?;
        let port = self.connections[number as usize].as_ref()?.back as usize;
        let is_full = self.ports.view(port).waiting_bytes() > MOST_WAITING_BYTES;
        is_full.then(|| self.now + WAITS_PACKETS * self.ports[port].time_of(self.rules.full_bytes))
    }

    /// A pacer may give turns.
    pub(super) fn on_pacer(&mut self, pacer: usize) {
        let now = Time::from_ps(self.now);
        self.pacer_noted[pacer] = u64::MAX;
        if self.rules.queue.holds()
            && let Some(later) = self.until_pulls_leave(pacer)
        {
            self.pacer_noted[pacer] = later;
            return self.note(later, Event::Pacer(pacer as u32));
        }
        let mut said = std::mem::take(&mut self.said);
        while let Some(number) = self.pacers[pacer].next(now) {
            if let Some(connection) = &mut self.connections[number as usize] {
                connection.receiver.on_turn(now, &mut self.pacers[pacer], &mut |header| said.push(header));
                let forgotten = connection.forgotten;
                self.answer(number, NOTHING, &mut said);
                if forgotten {
                    self.forget(number);
                }
            }
        }
        self.said = said;
        self.note_pacer(pacer);
    }
}
