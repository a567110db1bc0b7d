//! What a sender does with what comes back, and with silence.

use stratasim_core::{Duration, Time};

use super::{Readiness, Sender, cx};
use crate::congestion::{Acked, CongestionControl, LossCause, Lost};
use crate::credit::Credit;
use crate::entropy::{PathFeedback, SenderEntropy};
use crate::packet::{Flags, Header, Kind, Telemetry};
use crate::receiver::Acknowledge;
use crate::recovery::{Account, Loss, Progress, SenderRecovery};

impl Sender {
    /// Something came from the receiver. `telemetry` is what the switches recorded on the way of the packet
    /// that caused it, for congestion controls that need it.
    #[inline]
    pub fn on_feedback(&mut self, now: Time, header: &Header, telemetry: Option<&Telemetry>) {
        self.on_feedback_with_words(now, header, &[], telemetry);
    }

    /// The same with words of packets that have arrived, where more have than the header's own word tells: bit
    /// 0 of the first is packet `cumulative + 1`. Real sockets use it.
    pub fn on_feedback_with_words(
        &mut self,
        now: Time,
        header: &Header,
        sack: &[u64],
        telemetry: Option<&Telemetry>,
    ) {
        self.credit.on_feedback(header, self.in_flight_packets());
        if header.kind == Kind::Returned {
            return self.on_returned(now, header);
        }
        self.heed(now, header, sack, telemetry);
    }

    /// What comes back is looked at, for all but credit.
    #[inline]
    fn heed(&mut self, now: Time, header: &Header, sack: &[u64], telemetry: Option<&Telemetry>) {
        self.heard_at = now;
        self.requests_in_a_row = 0;
        match header.kind {
            Kind::CongestionNotification => return self.congestion.on_notification(now),
            Kind::Ack | Kind::Nack => {}
            // what has been posted since it was asked for is not in it, and no acknowledgement will come
            Kind::Pull if self.recovery.account().in_flight_bytes == 0 => {
                return self.request_credit(now, false);
            }
            _ => return,
        }
        let in_flight = self.recovery.account().in_flight_bytes;
        let mut cx = cx(now, &self.messages, &self.congestion);
        if header.flags.has(Flags::PROBE) {
            // who lives on the receiver's credit hears of too few packets for an average
            let hears_enough = matches!(self.credit, Credit::Unlimited);
            cx.queueing_delay = self.congestion.queueing_delay().filter(|_| hears_enough);
        }
        let progress = self.recovery.on_feedback(&cx, header, sack);
        let ecn = header.flags.has(Flags::ECN_ECHO);
        self.statistics.marks += u64::from(ecn);
        if !header.flags.has(Flags::PROBE) {
            let feedback = match (header.kind, ecn) {
                (Kind::Nack, _) if header.flags.has(Flags::TRIMMED) && !header.flags.has(Flags::LAST_HOP) => {
                    PathFeedback::Trimmed
                }
                (_, true) => PathFeedback::Marked,
                _ => PathFeedback::Good,
            };
            self.entropy.on_feedback(now, header.entropy, feedback);
        }
        // losses first: the acknowledgement of a window must not undo what its losses say
        if let Some(loss) = progress.loss {
            self.tell_paths(now, &loss);
            self.on_loss(now, in_flight, &loss, now.saturating_since(header.sent_at));
        }
        if header.kind == Kind::Ack || progress.bytes > 0 {
            self.congestion.on_ack(&Acked {
                now,
                bytes: progress.bytes,
                ecn,
                rtt: progress.rtt,
                age: now.saturating_since(header.sent_at),
                endpoint_delay: header.endpoint_delay(),
                in_flight: self.recovery.account().in_flight_bytes,
                sequence: header.sequence,
                cumulative: self.recovery.account().cumulative,
                next: self.recovery.account().next_new,
                telemetry,
            });
        }
        let trimmed = header.kind == Kind::Nack && header.flags.has(Flags::TRIMMED);
        if trimmed && self.recovery.asks_when_full() {
            // the packet that asked may be the one that did not arrive
            self.asked = false;
        }
        self.messages.forget(self.recovery.account().cumulative);
        // a report of a trimmed packet has it sent again, and nothing else
        self.hand_over(now, header.kind == Kind::Nack);
        self.request_credit(now, false);
        self.ask_where_stuck(now, trimmed);
    }

    /// A packet came back: it is lost like one whose header has reached the receiver, which knows nothing of it.
    #[cold]
    fn on_returned(&mut self, now: Time, header: &Header) {
        let flags = header.flags & Flags::LAST_HOP | Flags::TRIMMED;
        let report = Header { kind: Kind::Nack, flags, ..*header };
        self.heed(now, &report, &[], None);
        self.credit.on_returned(self.in_flight_packets());
        self.request_credit(now, true);
    }

    /// Full packets under way, where credit is in packets.
    #[inline]
    fn in_flight_packets(&self) -> u64 {
        match self.credit {
            Credit::Packets { .. } => {
                self.recovery.account().in_flight_bytes / self.profile.sizes.packet_bytes()
            }
            Credit::Unlimited | Credit::Quanta { .. } => 0,
        }
    }

    /// A window that falls below what is under way stops a sender whose packets asked for no acknowledgement, because
    /// there was room for more when they went. Where they are too few to make the receiver speak, a probe asks. Who waits for
    /// credit has asked with its last packet, unless that was `trimmed`.
    #[inline]
    fn ask_where_stuck(&mut self, now: Time, trimmed: bool) {
        let every = match self.profile.receiver.acknowledge {
            Acknowledge::EveryPacket | Acknowledge::EveryPackets(..=1) => return,
            Acknowledge::EveryBytes(bytes) => bytes.into(),
            Acknowledge::EveryPackets(packets) => u64::from(packets) * self.profile.sizes.packet_bytes(),
        };
        let in_flight = self.recovery.account().in_flight_bytes;
        let silent = !self.asked && in_flight > 0 && in_flight < every && self.request.is_none();
        if !silent || !(self.credit.allows(false) || trimmed && !self.has_asked(now)) {
            return;
        }
        if matches!(self.candidate(now), Err(Readiness::Blocked)) {
            self.request = Some(Kind::Probe);
            self.asked = true;
        }
    }

    /// The choice of paths hears of packets that others overtook; of trimmed ones the report has told, of late ones the time-out.
    fn tell_paths(&mut self, now: Time, loss: &Loss) {
        for entropy in self.recovery.lost_paths().into_iter().flat_map(|paths| paths.drain(..)) {
            if loss.cause == LossCause::Gap {
                self.entropy.on_loss(now, entropy);
            }
        }
    }

    fn on_loss(&mut self, now: Time, in_flight: u64, loss: &Loss, age: Duration) {
        match loss.cause {
            // a report names one, though more may be sent again
            LossCause::Trimmed { .. } => self.statistics.trims += 1,
            LossCause::Timeout => {
                self.statistics.timeouts += 1;
                self.credit.on_vanished(loss.packets, self.in_flight_packets());
            }
            LossCause::Gap => self.credit.on_vanished(loss.packets, self.in_flight_packets()),
            LossCause::Silence => {
                self.statistics.timeouts += u64::from(loss.first_of_window);
                self.credit.on_vanished(loss.packets, self.in_flight_packets());
                return;
            }
        }
        self.congestion.on_loss(&Lost {
            now,
            bytes: loss.bytes,
            cause: loss.cause,
            first_of_window: loss.first_of_window,
            again: loss.again,
            cumulative: self.recovery.account().cumulative,
            next: self.recovery.account().next_new,
            in_flight,
            age,
        });
    }

    /// Where credit is short and the receiver may not know, a request goes out, once per round trip.
    pub(super) fn request_credit(&mut self, now: Time, timed_out: bool) {
        let Credit::Quanta { rules, bytes, pulled, target, .. } = &self.credit else { return };
        // credit for what was trimmed may come by itself, and what it lacks is asked for when it has come
        let waits = self.backlog_bytes(self.credit.asks_for_repeats()) > 0;
        let unasked = rules.blind.is_none() && *pulled >= *target && waits;
        if *bytes <= 0 && (unasked || timed_out) && !self.has_asked(now) {
            self.request = Some(Kind::RequestToSend);
        }
    }

    /// Whether a request went out in the last round trip.
    fn has_asked(&self, now: Time) -> bool {
        let at = self.last_request;
        at != Time::MAX && now.saturating_since(at) < self.profile.path.network_rtt
    }

    /// What was lost counts as under way until its time-out, and may fill the window. The answer tells of what has arrived
    /// and was not worth an acknowledgement.
    fn ask_where_full(&mut self, now: Time) {
        let asks = matches!(self.credit, Credit::Unlimited) && self.recovery.asks_when_full();
        if asks && !self.has_asked(now) && matches!(self.candidate(now), Err(Readiness::Blocked)) {
            self.request = Some(Kind::RequestToSend);
        }
    }

    /// When [`Sender::on_timer`] is wanted; [`Time::MAX`] for never. It may move to later without a word: a
    /// driver that comes early is told nothing and asks again. Pacing is not in it: see [`Readiness::Wait`].
    #[inline]
    pub fn deadline(&self) -> Time {
        self.recovery.deadline().min(self.congestion.deadline()).min(self.starvation())
    }

    /// The last of the clocks that run, where [`Sender::deadline`] is the first: one that runs out again and again would hide
    /// the others. [`Time::ZERO`] when there are none.
    pub fn last_deadline(&self) -> Time {
        let clocks = [self.recovery.deadline(), self.congestion.deadline(), self.starvation()];
        clocks.into_iter().filter(|&at| at < Time::MAX).max().unwrap_or(Time::ZERO)
    }

    /// When a sender with nothing under way and no credit, or no room, asks for some: word of it may have been lost.
    #[inline]
    fn starvation(&self) -> Time {
        let is_free = matches!(self.credit, Credit::Unlimited) && !self.hears_of_room;
        if is_free || self.recovery.account().in_flight_bytes > 0 || self.request.is_some() {
            return Time::MAX;
        }
        if self.is_held() {
            return self.heard_at + self.profile.path.network_rtt * (4 << self.requests_in_a_row.min(8));
        }
        match self.next_by_credit(&self.cx(self.heard_at)) {
            Some(next) if !self.credit.allows(next.retransmission) => {}
            _ => return Time::MAX,
        }
        // who knows that it will be asked in the end waits for that, unless it is hopeless
        let patience = if self.credit.is_blind() { 1024 } else { 4 };
        self.heard_at + self.profile.path.network_rtt * (patience << self.requests_in_a_row.min(8))
    }

    /// Whether it waits for room at the receiver.
    fn is_held(&self) -> bool {
        self.hears_of_room && self.recovery.is_held(&self.cx(self.heard_at))
    }

    /// The deadline has come; nothing happens when it is later by now.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.congestion.deadline() {
            self.congestion.on_timer(now);
        }
        if now >= self.starvation() {
            let is_held = self.is_held();
            self.request = Some(if is_held { Kind::Probe } else { Kind::RequestToSend });
            self.heard_at = now;
            self.requests_in_a_row = self.requests_in_a_row.saturating_add(1);
            if is_held {
                self.recovery.on_ask_for_room();
            }
        }
        if now < self.recovery.deadline() {
            return;
        }
        let Account { in_flight_bytes: in_flight, lost_bytes: waiting, .. } = self.recovery.account();
        let cx = cx(now, &self.messages, &self.congestion);
        let entropy = self.recovery.oldest_entropy();
        let Progress { loss, .. } = self.recovery.on_timer(&cx);
        if let Some(loss) = loss {
            let timed_out = matches!(loss.cause, LossCause::Timeout | LossCause::Silence);
            if timed_out {
                self.entropy.on_timeout(now, entropy);
            }
            self.tell_paths(now, &loss);
            self.on_loss(now, in_flight, &loss, Duration::MAX);
            self.hand_over(now, false);
            self.request_credit(now, timed_out);
            // where others wait already, their answers will come
            if timed_out && waiting == 0 {
                self.ask_where_full(now);
            }
        }
        if self.recovery.wants_probe() {
            self.request = Some(Kind::Probe);
        }
    }

    pub(super) fn make_request(&mut self, now: Time, kind: Kind, sharing: u32) -> Header {
        self.statistics.requests += 1;
        self.last_request = now;
        let packet = self.profile.sizes.packet_bytes();
        let limit = self.congestion.window_bytes().saturating_add(packet);
        let backlog = self.backlog_bytes(true);
        if kind == Kind::Probe && self.is_unheard {
            // it took the place of the word of a message, which goes out behind it
            self.request = Some(Kind::RequestToSend);
        }
        // a probe asks for no credit
        let again = kind != Kind::RequestToSend || !std::mem::take(&mut self.is_unheard);
        let pull = self.credit.request(again, backlog, limit, packet, sharing);
        let overtaken = kind == Kind::Probe && self.recovery.asks_for_overtaken();
        let cumulative = if overtaken { self.recovery.account().next_new } else { 0 };
        Header {
            kind,
            entropy: self.entropy.choose(now),
            pull,
            sent_at: now,
            cumulative,
            ..Header::default()
        }
    }
}
