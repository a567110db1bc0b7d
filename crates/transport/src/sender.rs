//! The sending end of a connection: recovery, congestion control, credit and choice of paths, joined.

mod feedback;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use stratasim_core::{Bandwidth, Duration, Time};

use crate::congestion::{CongestionControl, Control};
use crate::credit::Credit;
use crate::entropy::{Entropy, SenderEntropy};
use crate::messages::Messages;
use crate::packet::{Flags, Header, Kind};
use crate::profile::Profile;
use crate::recovery::{Account, Cx, Next, Recovery, SenderRecovery};
use crate::wire::Refusal;

/// What a sender would do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It has a packet to send.
    Ready,
    /// It will have one at this time, if nothing comes before.
    Wait(Time),
    /// It waits for the receiver, or has nothing to send.
    Blocked,
}

/// An answer to [`Sender::poll_send`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poll {
    /// Send this.
    Send(Header),
    /// Ask again at this time.
    Wait(Time),
    /// Ask again after something has come.
    Blocked,
}

/// Counts of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderStatistics {
    /// Data packets sent, retransmissions included.
    pub packets: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Times that nothing was heard for too long.
    pub timeouts: u64,
    /// Packets reported as trimmed.
    pub trims: u64,
    /// Acknowledgements that said "marked".
    pub marks: u64,
    /// Requests to send and probes.
    pub requests: u64,
}

impl std::ops::AddAssign<&Self> for SenderStatistics {
    fn add_assign(&mut self, other: &Self) {
        self.packets += other.packets;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.trims += other.trims;
        self.marks += other.marks;
        self.requests += other.requests;
    }
}

/// The sending end of a connection.
///
/// Its fields stand in this order, so that what few senders need lies behind what all of them do: large machines have more
/// senders than a core's cache holds.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Sender {
    profile: Arc<Profile>,
    /// A request to send goes out with the next poll.
    request: Option<Kind>,
    /// The last data packet, or a probe after it, asked for an acknowledgement.
    asked: bool,
    /// Window and recovery would have let another packet go when the last data packet was sent.
    goes_on: bool,
    /// More messages may come on it.
    is_shared: bool,
    /// Its receiver says for how many packets it has room.
    hears_of_room: bool,
    /// The next request is for a message that the receiver knows nothing of.
    is_unheard: bool,
    requests_in_a_row: u16,
    /// Pacing: the next data packet may start then, by the rate at which the last one went,
    next_start: Time,
    /// which started then and had so many bytes; and not before a limit allows it, whatever the rate becomes.
    started: Time,
    started_bytes: u64,
    least_start: Time,
    /// Least time for a byte of payload, whatever congestion control says; picoseconds, 0 for none.
    limit_ps_per_byte: f64,
    /// Last time that something came or was asked for; silence without credit is measured from it.
    heard_at: Time,
    credit: Credit,
    congestion: Control,
    recovery: Recovery,
    entropy: Entropy,
    messages: Messages,
    statistics: SenderStatistics,
    /// When the last request went out; [`Time::MAX`] where none did, as a flag beside it would make every sender larger.
    last_request: Time,
    /// What was handed over to the host's link and waits there, where the profile hands packets over.
    handed: VecDeque<Header>,
}

impl Sender {
    /// A sender with nothing to send. `key` names the draws of its choice of paths: give every connection of a
    /// run another (see [`stratasim_core::random::key`]).
    pub fn new(profile: &Arc<Profile>, key: u64) -> Self {
        Self {
            profile: Arc::clone(profile),
            request: None,
            asked: true,
            goes_on: false,
            is_shared: false,
            hears_of_room: false,
            requests_in_a_row: 0,
            next_start: Time::ZERO,
            started: Time::ZERO,
            started_bytes: 0,
            least_start: Time::ZERO,
            limit_ps_per_byte: 0.0,
            heard_at: Time::ZERO,
            credit: Credit::new(&profile.credit),
            congestion: profile.congestion.clone(),
            recovery: profile.recovery.clone(),
            entropy: profile.entropy.started(key),
            messages: Messages::new(profile.sizes),
            statistics: SenderStatistics::default(),
            last_request: Time::MAX,
            is_unheard: false,
            handed: VecDeque::new(),
        }
    }

    /// Sends no more payload than `rate` from now on, whatever its congestion control would let go. Nothing is handed
    /// over at once then.
    pub fn limit(&mut self, rate: Bandwidth) {
        self.limit_ps_per_byte = 1e12 / rate.bytes_per_s();
    }

    /// It will have more messages: what its receiver owes it at the end of one is for the next.
    pub fn share(&mut self) {
        self.is_shared = true;
    }

    /// The receiver has room for packets below `to`, as its credit says; [`u64::MAX`] for any number. With the recovery `rltp`,
    /// nothing else goes, and where nothing is under way, the receiver is asked for room after some silence. Others take no
    /// notice.
    pub fn on_room(&mut self, to: u64) {
        self.hears_of_room = true;
        self.recovery.on_room(to);
    }

    /// The receiver refuses what came. With the recovery `rltp`, what it was not ready for goes again as the probe that silence makes
    /// due, and after anything else the connection [fails](Self::has_failed). Others take no notice.
    pub fn on_refusal(&mut self, refusal: Refusal) {
        match refusal {
            Refusal::NotReady { sequence } => {
                self.hears_of_room = true;
                self.recovery.on_not_ready(sequence);
            }
            Refusal::NoAccess | Refusal::Invalid => self.recovery.fail(),
        }
    }

    /// Gives it a message of `bytes` now; the numbers of its packets. A message of no bytes is one byte.
    pub fn post(&mut self, now: Time, bytes: u64) -> Range<u64> {
        let Account { next_new, lost_bytes, in_flight_bytes, .. } = self.recovery.account();
        if next_new >= self.messages.end() && lost_bytes == 0 {
            self.credit.guess(next_new, in_flight_bytes);
            if in_flight_bytes == 0 && next_new > 0 {
                self.congestion.on_rest();
            }
        }
        let packets = self.messages.post(bytes);
        self.request_credit(now, false);
        if self.credit.is_blind() && !self.credit.allows(false) {
            // as it does not know where messages end, the receiver does not know either that one begins
            self.is_unheard = true;
            self.request = Some(Kind::RequestToSend);
        }
        self.hand_over(now, false);
        packets
    }

    /// Whether credit for so many bytes more can be counted.
    pub fn can_count(&self, bytes: u64) -> bool {
        self.profile.counts(self.messages.end(), bytes).is_ok()
    }

    /// Whether packets go to the host's link as the window lets them go: not where they are paced by a limit.
    #[inline]
    fn hands_over(&self) -> bool {
        self.profile.hands_over && (self.limit_ps_per_byte == 0.0 || !self.handed.is_empty())
    }

    /// Sends to the host's link what the window lets go, where the profile says so: there it waits, and no window calls it back.
    /// What is lost goes first, and may go as long as anything is free of the window; what is new needs room for all of
    /// it. `once`: one lost packet, and nothing new.
    #[inline]
    fn hand_over(&mut self, now: Time, once: bool) {
        if !self.profile.hands_over || self.limit_ps_per_byte > 0.0 {
            return;
        }
        while let Some(next) = self.recovery.next(&self.cx(now)) {
            let in_flight = self.recovery.account().in_flight_bytes;
            let needs = if next.retransmission { 1 } else { self.room_for(next.sequence) };
            let fits = in_flight == 0
                || next.beyond_window
                || in_flight.saturating_add(needs) <= self.congestion.window_bytes();
            if !fits || once && !next.retransmission {
                break;
            }
            let header = self.send(now, next, 1);
            self.handed.push_back(header);
            if once {
                break;
            }
        }
    }

    /// The next packet that was handed over.
    #[inline]
    fn take_handed(&mut self, now: Time) -> Poll {
        let Some(mut header) = self.handed.pop_front() else { return Poll::Blocked };
        // zero stands for no stamp: the first switch gives it one
        if header.sent_at == Time::ZERO {
            header.sent_at = now + self.profile.first_link;
        }
        Poll::Send(header)
    }

    /// Every packet below this one is known to have arrived.
    #[inline]
    pub fn acknowledged_to(&self) -> u64 {
        self.recovery.account().cumulative
    }

    /// Data packets sent so far, each time anew: the serial number of the next.
    pub fn transmissions(&self) -> u64 {
        self.recovery.account().transmissions
    }

    /// Whether everything posted is known to have arrived.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.recovery.account().cumulative >= self.messages.end()
    }

    /// Whether it has given up, after too much silence from the receiver.
    pub fn has_failed(&self) -> bool {
        self.recovery.has_failed()
    }

    /// Whether a time-out makes it wait for its turn at the NIC once more where it waits already, and have more
    /// turns than others from then on: what htsim does, whose rules are asked for by `asks-in-time = false`.
    #[inline]
    pub fn waits_twice(&self) -> bool {
        self.profile.waits_twice
    }

    /// The entropy of all its packets, where they have the same.
    pub fn only_entropy(&self) -> Option<u16> {
        self.entropy.only()
    }

    /// Bytes that may be under way, as windows count them.
    #[inline]
    pub fn window_bytes(&self) -> u64 {
        self.congestion.window_bytes()
    }

    /// Bytes under way, as windows count them.
    #[inline]
    pub fn in_flight_bytes(&self) -> u64 {
        self.recovery.account().in_flight_bytes
    }

    /// Asks for what of it lies elsewhere, without waiting: nothing depends on it but speed.
    #[inline]
    pub fn prefetch(&self) {
        self.recovery.prefetch();
        self.entropy.prefetch();
    }

    /// Counts so far.
    #[inline]
    pub const fn statistics(&self) -> &SenderStatistics {
        &self.statistics
    }

    /// Its congestion control.
    pub const fn congestion(&self) -> &Control {
        &self.congestion
    }

    #[inline]
    fn cx(&self, now: Time) -> Cx<'_> {
        cx(now, &self.messages, &self.congestion)
    }

    /// Bytes of the window that must be free for a packet.
    #[inline]
    fn room_for(&self, sequence: u64) -> u64 {
        if self.profile.fills_up { 1 } else { self.messages.accounted_bytes(sequence) }
    }

    /// The packet that goes next; where credit is enough for new ones alone, what may go unasked does not wait behind what needs
    /// to be asked for.
    #[inline]
    fn next_by_credit(&self, cx: &Cx<'_>) -> Option<Next> {
        let next = self.recovery.next(cx)?;
        if next.retransmission && !self.credit.allows(true) && self.credit.allows(false) {
            return self.recovery.next_new(cx).or(Some(next));
        }
        Some(next)
    }

    /// The packet that may go now or at a later time.
    #[inline]
    fn candidate(&self, now: Time) -> Result<Next, Readiness> {
        let cx = self.cx(now);
        let next = self.next_by_credit(&cx).ok_or(Readiness::Blocked)?;
        let in_flight = self.recovery.account().in_flight_bytes;
        // one packet may always be under way, so that a window below a packet does not stop the flow
        if !next.beyond_window && in_flight > 0 && in_flight + self.room_for(next.sequence) > cx.window_bytes
        {
            return Err(Readiness::Blocked);
        }
        if !self.credit.allows(next.retransmission) {
            return Err(Readiness::Blocked);
        }
        if now < self.next_start {
            let at = self.next_start_now();
            if now < at {
                return Err(Readiness::Wait(at));
            }
        }
        Ok(next)
    }

    /// When the next packet may start by the rate of now: where that has grown since the last one went, nothing waits for
    /// the old one. A window of a thousandth of a packet (Swift) would hold on for a thousand round trips after it has grown.
    #[cold]
    fn next_start_now(&self) -> Time {
        let at = self.started + self.congestion.gap(self.started_bytes);
        at.clamp(self.least_start, self.next_start)
    }

    /// Whether it would send now. Asking changes nothing.
    #[inline]
    pub fn readiness(&self, now: Time) -> Readiness {
        if self.request.is_some() {
            return Readiness::Ready;
        }
        if self.hands_over() {
            return if self.handed.is_empty() { Readiness::Blocked } else { Readiness::Ready };
        }
        self.candidate(now).map_or_else(|readiness| readiness, |_| Readiness::Ready)
    }

    /// Its [readiness](Self::readiness) right after it has `sent` a packet now: mostly known without another look.
    #[inline]
    pub fn readiness_after(&self, now: Time, sent: &Header) -> Readiness {
        if sent.kind != Kind::Data || !matches!(self.credit, Credit::Unlimited) || self.hands_over() {
            return self.readiness(now);
        }
        let readiness = if !self.goes_on {
            Readiness::Blocked
        } else if now < self.next_start {
            Readiness::Wait(self.next_start_now())
        } else {
            Readiness::Ready
        };
        debug_assert_eq!(readiness, self.readiness(now));
        readiness
    }

    /// Bytes on the wire of the packet that it would send now, if there is one. Asking changes nothing.
    pub fn next_wire_bytes(&self, now: Time) -> Option<u32> {
        let sizes = self.messages.sizes();
        if self.request.is_some() {
            return Some(sizes.control_bytes);
        }
        if self.hands_over() {
            return self.handed.front().map(|header| sizes.bytes_of(header));
        }
        let next = self.candidate(now).ok()?;
        Some(u32::from(self.messages.payload_bytes(next.sequence)) + sizes.header_bytes)
    }

    /// The next packet, where there is one. `sharing` connections of this host, this one included, would like
    /// to send (only credit looks at it).
    #[inline]
    pub fn poll_send(&mut self, now: Time, sharing: u32) -> Poll {
        if let Some(kind) = self.request.take() {
            return Poll::Send(self.make_request(now, kind, sharing));
        }
        if self.hands_over() {
            return self.take_handed(now);
        }
        match self.candidate(now) {
            Ok(next) => Poll::Send(self.send(now, next, sharing)),
            Err(Readiness::Wait(at)) => Poll::Wait(at),
            Err(_) => Poll::Blocked,
        }
    }

    #[inline]
    fn send(&mut self, now: Time, next: Next, sharing: u32) -> Header {
        let bytes = self.messages.accounted_bytes(next.sequence);
        let entropy = self.entropy.choose(now);
        let cx = Cx { entropy, ..cx(now, &self.messages, &self.congestion) };
        let serial = self.recovery.on_sent(&cx, next);
        self.congestion.on_sent(now, bytes);
        self.next_start = now + self.congestion.gap(bytes);
        // the first packet is not apart from any
        let before = if self.statistics.packets == 0 { now } else { self.started };
        let apart = now.saturating_since(before);
        (self.started, self.started_bytes) = (now, bytes);
        let is_limited = self.limit_ps_per_byte > 0.0;
        if is_limited {
            let payload = f64::from(self.messages.payload_bytes(next.sequence));
            // eleven days at most: sums of times stay far from overflow
            self.least_start = now + Duration::from_ps((payload * self.limit_ps_per_byte).min(1e18) as u64);
            self.next_start = self.next_start.max(self.least_start);
        }
        let following = self.recovery.next(&cx);
        // the receiver must answer where the sender can go no further without it
        let stops = match following {
            None => true,
            Some(following) => {
                let more = self.room_for(following.sequence);
                self.recovery.account().in_flight_bytes + more > cx.window_bytes
            }
        };
        self.goes_on = !stops || following.is_some_and(|following| following.beyond_window);
        // nobody waits for more packets to be acknowledged at once, which come late
        let asks = is_limited
            || stops
            || next.retransmission
            || self.credit.ends_with(bytes)
            || self.recovery.asks_in_time(now, apart);
        self.asked = asks;
        let is_last = match self.credit {
            Credit::Unlimited => self.messages.is_last(next.sequence),
            // a receiver that knows of the last packet gives no pull for it
            Credit::Packets { .. } => !self.is_shared && self.messages.is_last(next.sequence),
            // credit goes on while more messages wait
            Credit::Quanta { .. } => next.sequence + 1 == self.messages.end(),
        };
        if !next.retransmission {
            self.credit.begin();
        }
        let limit = cx.window_bytes.saturating_add(self.profile.sizes.packet_bytes());
        let pull = if matches!(self.credit, Credit::Quanta { .. }) {
            let backlog = self.backlog_bytes(self.credit.asks_for_repeats());
            self.credit.spend(bytes, backlog, limit, self.profile.sizes.packet_bytes(), sharing)
        } else {
            self.credit.spend(bytes, 0, limit, 0, sharing)
        };
        self.statistics.packets += 1;
        self.statistics.retransmissions += u64::from(next.retransmission);
        Header {
            kind: Kind::Data,
            flags: Flags::when(asks, Flags::ACK_REQUEST)
                | Flags::when(next.retransmission, Flags::RETRANSMISSION)
                | Flags::when(is_last, Flags::LAST),
            entropy,
            payload_bytes: self.messages.payload_bytes(next.sequence),
            sequence: next.sequence,
            serial,
            pull,
            sent_at: now,
            ..Header::default()
        }
    }

    /// Bytes that wait to be sent, and with `repeats` those to be sent again, as windows count them.
    fn backlog_bytes(&self, repeats: bool) -> u64 {
        let Account { next_new, lost_bytes, .. } = self.recovery.account();
        let new = self.messages.accounted_range(next_new..self.messages.end());
        new + if repeats { lost_bytes } else { 0 }
    }

    /// Shortest time between two starts of packets that congestion control asks for.
    pub fn gap(&self) -> Duration {
        self.congestion.gap(self.profile.sizes.packet_bytes())
    }
}

/// What a recovery may look at.
#[inline]
fn cx<'a>(now: Time, messages: &'a Messages, congestion: &Control) -> Cx<'a> {
    let window_bytes = congestion.window_bytes();
    Cx { now, messages, window_bytes, queueing_delay: None, entropy: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_small() {
        // sixteen thousand connections of an all-to-all fit in a few megabytes
        assert!(size_of::<Sender>() <= 656, "{}", size_of::<Sender>());
        assert!(size_of::<crate::Receiver>() <= 136, "{}", size_of::<crate::Receiver>());
    }
}
