//! RLTP: selective repeat by the order of transmissions, so that lost retransmissions are found like lost packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::memory::prefetch_all;
use stratasim_core::{BuildError, Duration, Time};

use super::flight::Flight;
use super::round_trip::{RoundTrip, backed_off};
use super::{
    Account, Cx, Loss, LossWindow, Next, Progress, Recovery, RecoveryKind, SenderRecovery, check_timeout,
};
use crate::congestion::LossCause;
use crate::packet::{Flags, Header};
use crate::profile::{PacketSizes, Path};
use crate::receiver::{Acknowledge, GapReport, ReceiverRules};

/// RLTP's selective repeat: every transmission has a number of its own, which acknowledgements echo. A packet is lost when
/// `reordering` later transmissions have been overtaken by an echo, whether it was sent for the first time or again.
/// Silence sends one packet as a probe; its echo gives away everything that was sent before it. The probe says nothing of
/// congestion, a second one without an answer is a time-out.
///
/// Sources: Direct xPU's RLTP (selective repeat with a bitmap, inspired by IRN); the rule of losses is that of RACK and
/// QUIC (RFC 8985, RFC 9002) with numbers instead of times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Rltp {
    /// Transmissions that an echo must be ahead. It grows where packets turn out to be late instead of lost.
    pub reordering: u32,
    /// Packets between the first that is missing and the last that was sent; what the receiver's bitmap covers.
    pub window_packets: u32,
    /// Shortest time of silence before a probe; mean + 4 x variation of the round trip where that is longer.
    pub min_probe_timeout: Duration,
    /// Probes in a row without an answer after which the connection fails, and the run with it; each waits twice as long as the
    /// one before, up to 64-fold. Where n links on the way there and back lose a packet with probability p, a probe is in vain
    /// with probability 1 - (1 - p)^n, and so many in a row with its power: eight are few from 0.3 on, as on 12 links that lose
    /// 3 % each. Where losses come in bursts, more are needed, too: a burst goes on with packets and not with time, so that on a
    /// silent link each probe is lost with probability 1 - 1 / `burst`.
    pub max_probes: u32,
    /// Packets after which the receiver acknowledges what comes in order.
    pub acknowledge_every: u32,
}

impl Default for Rltp {
    fn default() -> Self {
        Self {
            reordering: 3,
            window_packets: 1024,
            min_probe_timeout: Duration::from_ns(100_000),
            max_probes: 8,
            acknowledge_every: 1,
        }
    }
}

/// The sender's half: open, recovering what is lost, probing, held by the receiver's room, or failed.
#[derive(Debug, Clone)]
pub struct State {
    flight: Flight,
    window_packets: u32,
    reordering: u64,
    min_timeout: Duration,
    max_probes: u32,
    round_trip: RoundTrip,
    /// Past the highest transmission that was echoed.
    echoed: u64,
    /// Serial of the last probe, until an echo reaches it.
    probe: Option<u64>,
    /// A probe is to be sent.
    probe_due: bool,
    probes: u32,
    active_at: Time,
    window: LossWindow,
    /// The receiver has room for packets below.
    room_to: u64,
}

impl State {
    /// The packet that would go next if the receiver had room for everything.
    #[inline]
    fn wanted(&self, cx: &Cx<'_>) -> Option<Next> {
        let next = self.flight.candidate(cx.messages)?;
        let fits = next.retransmission || next.sequence - self.flight.base() < u64::from(self.window_packets);
        fits.then_some(next)
    }

    /// The packet was late, not lost: an earlier transmission than its last was echoed.
    fn on_late(&mut self, serial: u64) {
        let needed = self.echoed.saturating_sub(serial);
        self.reordering = self.reordering.max(needed).min(u64::from(self.window_packets));
    }
}

impl SenderRecovery for State {
    #[inline]
    fn next(&self, cx: &Cx<'_>) -> Option<Next> {
        if self.has_failed() {
            return None;
        }
        if self.probe_due {
            return Some(Next { sequence: self.flight.base(), retransmission: true, beyond_window: true });
        }
        self.wanted(cx).filter(|next| next.sequence < self.room_to)
    }

    #[inline]
    fn on_sent(&mut self, cx: &Cx<'_>, next: Next) -> u64 {
        self.active_at = cx.now;
        let serial = self.flight.on_sent(cx, next.sequence);
        if self.probe_due {
            self.probe_due = false;
            self.probe = Some(serial);
        }
        serial
    }

    fn on_feedback(&mut self, cx: &Cx<'_>, header: &Header, sack: &[u64]) -> Progress {
        // a serial or a number that was never sent is nonsense of the other end, or of the wire
        if header.serial >= self.flight.next_serial() || header.cumulative > self.flight.next() {
            return Progress::default();
        }
        if header.flags.has(Flags::TRIMMED) {
            return Progress::trimmed(&mut self.flight, &mut self.window, cx, header);
        }
        let rtt = cx.now.saturating_since(header.sent_at);
        self.round_trip.sample(rtt);
        self.active_at = cx.now;
        self.probes = 0;
        self.probe_due = false;
        if header.flags.has(Flags::PROBE) {
            // no packet caused it
            let bytes = self.flight.take(header, sack, cx.messages);
            return Progress { bytes, rtt: Some(rtt), loss: None };
        }
        let open = self.flight.is_open(header.sequence);
        if open && !self.flight.is_last_transmission(header.sequence, header.serial) {
            self.on_late(header.serial);
        }
        let mut bytes = self.flight.take(header, sack, cx.messages);
        bytes += self.flight.arrive(header.sequence, cx.messages);
        self.echoed = self.echoed.max(header.serial + 1);
        let mut limit = self.echoed.saturating_sub(self.reordering);
        if let Some(probe) = self.probe
            && self.echoed > probe
        {
            limit = limit.max(probe);
            self.probe = None;
        }
        let (packets, lost) = self.flight.lose_before(limit, cx.messages);
        let loss = (packets > 0).then(|| {
            let first_of_window = self.window.begins(&self.flight);
            Loss { packets, bytes: lost, cause: LossCause::Gap, first_of_window, again: false }
        });
        Progress { bytes, rtt: Some(rtt), loss }
    }

    fn on_timer(&mut self, cx: &Cx<'_>) -> Progress {
        if cx.now < self.deadline() {
            return Progress::default();
        }
        // a probe that waits for its turn, or for credit, has asked nobody
        let waits = self.probe_due;
        self.probes += u32::from(!waits);
        self.active_at = cx.now;
        self.probe_due = true;
        // nothing is taken for lost: the echo of the probe will tell. Where the first one is in vain, everything may be
        // (persistent congestion: RFC 9002, section 7.6)
        let cause = if waits || self.probes == 1 { LossCause::Silence } else { LossCause::Timeout };
        let loss =
            Loss { packets: 0, bytes: 0, cause, first_of_window: !waits && self.probes <= 2, again: false };
        Progress { loss: Some(loss), ..Progress::default() }
    }

    #[inline]
    fn deadline(&self) -> Time {
        if self.flight.in_flight_packets() == 0 || self.has_failed() {
            return Time::MAX;
        }
        self.active_at + backed_off(self.round_trip.timeout(self.min_timeout), self.probes)
    }

    #[inline]
    fn prefetch(&self) {
        prefetch_all(self);
    }

    fn lost_paths(&mut self) -> Option<&mut Vec<u16>> {
        self.flight.lost_paths()
    }

    fn oldest_entropy(&mut self) -> Option<u16> {
        self.flight.oldest_entropy()
    }

    #[inline]
    fn account(&self) -> Account {
        self.flight.account()
    }

    #[inline]
    fn has_failed(&self) -> bool {
        self.probes > self.max_probes
    }

    fn on_room(&mut self, to: u64) {
        self.room_to = if self.room_to == u64::MAX { to } else { self.room_to.max(to) };
    }

    fn on_not_ready(&mut self, sequence: u64) {
        self.room_to = self.room_to.min(sequence);
    }

    fn is_held(&self, cx: &Cx<'_>) -> bool {
        !self.has_failed() && self.wanted(cx).is_some_and(|next| next.sequence >= self.room_to)
    }

    fn on_ask_for_room(&mut self) {
        self.probes += 1;
    }

    fn fail(&mut self) {
        self.probes = u32::MAX;
    }
}

impl RecoveryKind for Rltp {
    fn gives_up_after(&self) -> Option<Duration> {
        Some(self.min_probe_timeout)
    }

    fn build(&self, path: &Path, _: &PacketSizes) -> Result<(Recovery, ReceiverRules), BuildError> {
        check_timeout("min-probe-timeout", self.min_probe_timeout)?;
        let range = |field: &str, value: u32, least: u32, most: u32| {
            let reason = format!("{value}; {least} to {most} are possible");
            if (least..=most).contains(&value) { Ok(()) } else { Err(BuildError::new(field, reason)) }
        };
        // sixteen words of bitmap follow an acknowledgement on the wire
        range("window-packets", self.window_packets, 1, 1024)?;
        if !(1..=self.window_packets).contains(&self.reordering) {
            let reason = format!(
                "{}; 1 to {} are possible, the `window-packets`",
                self.reordering, self.window_packets
            );
            return Err(BuildError::new("reordering", reason));
        }
        range("max-probes", self.max_probes, 1, 10_000)?;
        range("acknowledge-every", self.acknowledge_every, 1, 1024)?;
        let acknowledge = match self.acknowledge_every {
            1 => Acknowledge::EveryPacket,
            packets => Acknowledge::EveryPackets(packets),
        };
        let rules = ReceiverRules {
            keeps_out_of_order: true,
            gaps: GapReport::Always,
            acknowledge,
            sack_near_packet: true,
            window_packets: self.window_packets,
            ..ReceiverRules::default()
        };
        let state = State {
            flight: Flight::default(),
            window_packets: self.window_packets,
            reordering: u64::from(self.reordering),
            min_timeout: self.min_probe_timeout,
            max_probes: self.max_probes,
            round_trip: RoundTrip::new(path.base_rtt),
            echoed: 0,
            probe: None,
            probe_due: false,
            probes: 0,
            active_at: Time::ZERO,
            window: LossWindow::default(),
            room_to: u64::MAX,
        };
        Ok((Recovery::Rltp(Box::new(state)), rules))
    }
}
