//! The receiving end of a connection: what has arrived, and what the sender is told of it.

use std::sync::Arc;

use stratasim_core::{Duration, Time};

use crate::bits::BitRing;
use crate::credit::{Grants, Released};
use crate::pacer::Pacer;
use crate::packet::{Flags, Header, Kind, Mark};
use crate::profile::Profile;

/// When a receiver reports that packets are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GapReport {
    /// Never.
    #[default]
    Never,
    /// Once per gap, until the missing packet has arrived.
    Once,
    /// For every packet that is out of order.
    Always,
}

/// When a receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acknowledge {
    /// Every packet that brought payload.
    #[default]
    EveryPacket,
    /// Once so many bytes have arrived since the last acknowledgement; at once for the first packet, for
    /// packets that are marked, ask for it or came before, and when the last gap closes after a request.
    EveryBytes(u32),
    /// The same once so many packets have arrived, however small.
    EveryPackets(u32),
}

/// Rules of a receiver, set by the recovery and by the congestion control of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverRules {
    /// Packets beyond a gap are kept; otherwise thrown away.
    pub keeps_out_of_order: bool,
    /// How gaps are reported.
    pub gaps: GapReport,
    /// How arrivals are acknowledged.
    pub acknowledge: Acknowledge,
    /// The acknowledgement's word covers the neighbourhood of the packet that caused it; otherwise it starts
    /// at the first gap.
    pub sack_near_packet: bool,
    /// Packets beyond the first gap that can be kept; those further on are thrown away. 0 for no limit.
    pub window_packets: u32,
    /// Least time between two congestion notifications; none are sent when absent.
    pub notification_interval: Option<Duration>,
}

/// What a packet brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// The packet brought payload that had not arrived before, and it was kept.
    pub fresh: bool,
    /// The application has now everything below this packet.
    pub delivered_to: u64,
}

/// The receiving end of a connection.
#[derive(Debug, Clone)]
pub struct Receiver {
    profile: Arc<Profile>,
    /// Number of this receiver in its pacer.
    id: u32,
    /// Everything below has arrived.
    expected: u64,
    /// Packets above that have arrived.
    beyond: BitRing,
    out_of_order: u32,
    received_bytes: u64,
    /// What has come since the last acknowledgement, bytes or packets.
    unacknowledged: u32,
    /// Packets below are acknowledged one by one: a probe has overtaken them.
    overtaken_to: u32,
    acknowledge_when_closed: bool,
    gap_reported: bool,
    /// Past the last packet that is known of, or 0.
    end: u64,
    /// It is the last of its message.
    ends_message: bool,
    /// The sender has asked for credit.
    requested: bool,
    /// A mark was seen since the last congestion notification.
    was_marked: bool,
    /// The next congestion notification may be sent from then on.
    may_notify_at: Time,
    grants: Grants,
}

impl Receiver {
    /// A receiver that nothing has reached. `id` is the name by which its host's pacer asks for it.
    pub fn new(profile: &Arc<Profile>, id: u32) -> Self {
        Self {
            profile: Arc::clone(profile),
            id,
            expected: 0,
            beyond: BitRing::new(0),
            out_of_order: 0,
            received_bytes: 0,
            unacknowledged: 0,
            overtaken_to: 0,
            acknowledge_when_closed: false,
            gap_reported: false,
            end: 0,
            ends_message: false,
            requested: false,
            was_marked: false,
            may_notify_at: Time::ZERO,
            grants: Grants::new(&profile.credit),
        }
    }

    /// Everything below this packet has arrived.
    #[inline]
    pub const fn delivered_to(&self) -> u64 {
        self.expected
    }

    /// Bytes, as windows count them, of all packets that have arrived, each once.
    #[inline]
    pub const fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Packets beyond the first gap that have arrived.
    #[inline]
    pub const fn out_of_order(&self) -> u32 {
        self.out_of_order
    }

    /// Words of the packets beyond the first gap that have arrived; bit 0 of the first is packet
    /// `delivered_to + 1`. Returns how many words of `out` say anything.
    pub fn sack_words(&self, out: &mut [u64]) -> usize {
        let mut used = 0;
        for (index, word) in out.iter_mut().enumerate() {
            *word = self.beyond.word(self.expected + 1 + 64 * index as u64);
            if *word != 0 {
                used = index + 1;
            }
        }
        used
    }

    /// A packet has come. What the sender is to be told goes to `emit`; grants are asked from `pacer`.
    pub fn on_packet(
        &mut self,
        now: Time,
        header: &Header,
        mark: Mark,
        pacer: &mut Pacer,
        emit: &mut impl FnMut(Header),
    ) -> Arrival {
        if header.kind == Kind::Data && header.sequence >= self.end {
            self.end = header.sequence.saturating_add(1);
            self.ends_message = header.flags.has(Flags::LAST);
        }
        pacer.watch(now, self.id, mark, &self.profile.credit);
        let mut arrival = Arrival { fresh: false, delivered_to: self.expected };
        let mut complete = false;
        match header.kind {
            Kind::Data if !mark.trimmed => {
                arrival = self.take(header);
                complete = self.is_complete();
            }
            Kind::RequestToSend => self.requested = true,
            _ => {}
        }
        let released = match header.kind {
            Kind::Data | Kind::RequestToSend => {
                self.grants.on_demand(now, self.id, header, mark.trimmed, complete, pacer)
            }
            _ => Released::Nothing,
        };
        match header.kind {
            Kind::Data if mark.trimmed => emit(self.report(header, Kind::Nack, mark, released)),
            Kind::Data => self.answer(header, mark, arrival.fresh, released, emit),
            Kind::Probe => {
                // further on than any message is long, nobody is told
                self.overtaken_to = self.overtaken_to.max(u32::try_from(header.cumulative).unwrap_or(0));
                emit(self.report(header, Kind::Ack, mark, released));
            }
            Kind::RequestToSend if !self.grants.gives() => {
                emit(self.report(header, Kind::Ack, mark, released));
            }
            // other requests are answered by credit, when it is their turn
            _ => {}
        }
        if mark.ecn {
            self.on_mark(now, header, emit);
        }
        arrival
    }

    /// The same of a packet that has waited for so long in this host, of which the acknowledgement tells (Swift).
    pub fn on_packet_after(
        &mut self,
        now: Time,
        waited: Duration,
        header: &Header,
        mark: Mark,
        pacer: &mut Pacer,
        emit: &mut impl FnMut(Header),
    ) -> Arrival {
        let steps = Header::endpoint_steps(waited);
        self.on_packet(now, header, mark, pacer, &mut |answer: Header| {
            let tells = matches!(answer.kind, Kind::Ack | Kind::Nack);
            emit(if tells { Header { payload_bytes: steps, ..answer } } else { answer });
        })
    }

    /// Whether all has arrived that is known of, and no more of its message is to come.
    #[inline]
    const fn is_complete(&self) -> bool {
        self.ends_message && self.expected >= self.end
    }

    /// Keeps a packet or not.
    #[inline]
    fn take(&mut self, header: &Header) -> Arrival {
        let packet = header.sequence;
        let rules = &self.profile.receiver;
        let fresh = if packet == self.expected {
            self.expected += 1;
            if self.out_of_order > 0 {
                let upto = self.beyond.next_clear(self.expected);
                self.out_of_order -= (upto - self.expected) as u32;
                self.expected = upto;
            }
            self.beyond.advance(self.expected);
            true
        } else if packet < self.expected
            || !rules.keeps_out_of_order
            || (rules.window_packets > 0 && packet - self.expected > u64::from(rules.window_packets))
        {
            false
        } else {
            let new = self.beyond.set(packet);
            self.out_of_order += u32::from(new);
            new
        };
        if fresh {
            let bytes = self.profile.sizes.accounted(u64::from(header.payload_bytes));
            self.received_bytes += bytes;
            let counted =
                if matches!(rules.acknowledge, Acknowledge::EveryPackets(_)) { 1 } else { bytes as u32 };
            self.unacknowledged = self.unacknowledged.saturating_add(counted);
        }
        Arrival { fresh, delivered_to: self.expected }
    }

    /// Acknowledges a packet with payload, where the rules say so.
    #[inline]
    fn answer(
        &mut self,
        header: &Header,
        mark: Mark,
        fresh: bool,
        released: Released,
        emit: &mut impl FnMut(Header),
    ) {
        let rules = self.profile.receiver;
        let beyond_gap = header.sequence >= self.expected;
        // not by what had arrived before
        if fresh && !beyond_gap {
            self.gap_reported = false;
        }
        let reports = beyond_gap
            && match rules.gaps {
                GapReport::Never => false,
                GapReport::Once => !std::mem::replace(&mut self.gap_reported, true),
                GapReport::Always => true,
            };
        if reports {
            return emit(self.report(header, Kind::Nack, mark, released));
        }
        let silent = beyond_gap && !rules.keeps_out_of_order && rules.gaps != GapReport::Never;
        let wanted = match rules.acknowledge {
            Acknowledge::EveryPacket => !silent,
            Acknowledge::EveryBytes(most) | Acknowledge::EveryPackets(most) => {
                let asked = header.flags.has(Flags::ACK_REQUEST);
                let closed = self.acknowledge_when_closed && self.out_of_order == 0;
                self.acknowledge_when_closed =
                    (self.acknowledge_when_closed || asked) && self.out_of_order > 0;
                let all = match rules.acknowledge {
                    Acknowledge::EveryPackets(_) => self.expected + u64::from(self.out_of_order),
                    _ => self.received_bytes,
                };
                let first = all == u64::from(self.unacknowledged);
                let overtaken = header.sequence < u64::from(self.overtaken_to);
                mark.ecn || asked || closed || first || overtaken || !fresh || self.unacknowledged >= most
            }
        };
        if wanted || released.is_something() {
            emit(self.report(header, Kind::Ack, mark, released));
        }
    }

    /// The header of an answer to a packet.
    #[inline]
    fn report(&mut self, cause: &Header, kind: Kind, mark: Mark, released: Released) -> Header {
        // a report of a trimmed packet speaks of nothing else
        if !mark.trimmed {
            self.unacknowledged = 0;
        }
        let first = self.expected + 1;
        let near = self.profile.receiver.sack_near_packet && cause.kind == Kind::Data;
        let base = if near { cause.sequence.saturating_sub(63).max(first) } else { first };
        Header {
            kind,
            flags: Flags::when(mark.ecn, Flags::ECN_ECHO)
                | Flags::when(cause.flags.has(Flags::RETRANSMISSION), Flags::RETRANSMISSION)
                | Flags::when(mark.trimmed, Flags::TRIMMED)
                | Flags::when(mark.trimmed && mark.last_hop, Flags::LAST_HOP)
                | Flags::when(matches!(cause.kind, Kind::Probe | Kind::RequestToSend), Flags::PROBE)
                | Flags::when(released.is_something(), Flags::PULL),
            entropy: cause.entropy,
            payload_bytes: 0,
            out_of_order: self.out_of_order.min(u32::from(u16::MAX)) as u16,
            sequence: cause.sequence,
            cumulative: self.expected,
            serial: cause.serial,
            pull: self.grants.given(),
            sack_offset: (base - self.expected).min(u64::from(u32::MAX)) as u32,
            sack: if self.out_of_order == 0 { 0 } else { self.beyond.word(base) },
            sent_at: cause.sent_at,
            received_bytes: match self.profile.receiver.acknowledge {
                Acknowledge::EveryBytes(_) => self.received_bytes,
                Acknowledge::EveryPacket | Acknowledge::EveryPackets(_) => 0,
            },
        }
    }

    /// Tells the sender of a mark, at most once per interval (DCQCN, section 3.1: the notification point).
    fn on_mark(&mut self, now: Time, header: &Header, emit: &mut impl FnMut(Header)) {
        let Some(interval) = self.profile.receiver.notification_interval else { return };
        self.was_marked = now < self.may_notify_at;
        if self.was_marked {
            return;
        }
        self.may_notify_at = now + interval;
        emit(Header { kind: Kind::CongestionNotification, entropy: header.entropy, ..Header::default() });
    }

    /// Whether it asks its host's pacer for turns.
    #[inline]
    pub fn needs_pacer(&self) -> bool {
        Pacer::is_needed(&self.profile)
    }

    /// Whether its host's pacer will give it turns although its sender is done.
    pub fn outlives_its_sender(&self) -> bool {
        self.grants.outlives_its_sender()
    }

    /// When [`Receiver::on_timer`] is wanted; [`Time::MAX`] for never.
    #[inline]
    pub const fn deadline(&self) -> Time {
        if self.was_marked { self.may_notify_at } else { Time::MAX }
    }

    /// The deadline has come; nothing happens when it is later by now.
    pub fn on_timer(&mut self, now: Time, emit: &mut impl FnMut(Header)) {
        if now >= self.deadline() {
            self.on_mark(now, &Header::default(), emit);
        }
    }

    /// The pacer has given this receiver its turn: the credit goes to `emit`.
    pub fn on_turn(&mut self, now: Time, pacer: &mut Pacer, emit: &mut impl FnMut(Header)) {
        let complete = self.is_complete() && !self.requested;
        self.requested = false;
        if self.grants.on_turn(now, self.id, complete, pacer) {
            emit(Header { kind: Kind::Pull, pull: self.grants.given(), ..Header::default() });
        }
    }
}
