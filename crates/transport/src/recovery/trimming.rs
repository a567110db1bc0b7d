//! Trimming: switches cut what does not fit to its header, and the receiver asks for it again at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes, Duration, Time};

use super::flight::Flight;
use super::sleek::Sleek;
use super::{
    Account, Cx, Loss, LossWindow, Next, Progress, Recovery, RecoveryKind, SenderRecovery, given_timeout,
};
use crate::congestion::LossCause;
use crate::packet::{Flags, Header, Kind};
use crate::profile::{PacketSizes, Path};
use crate::receiver::{Acknowledge, GapReport, ReceiverRules};

/// Switches cut what does not fit to its header; the receiver reports each cut packet and keeps what is out of
/// order, and the sender sends what was cut again, lowest number first. A time-out per packet covers lost headers; a sender
/// whose window is too full to send such a packet again asks what has arrived, once per round trip.
///
/// Sources: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance", SIGCOMM
/// 2017 (NDP); Ultra Ethernet Specification 1.0, packet delivery sub-layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Trimming {
    /// Time after which a packet of which nothing was heard is sent again; 15 us and six times what the
    /// longest queue takes to drain into the slowest link, or the longest round trip, what one acknowledgement waits for, and a
    /// packet before it at each link where that is more, when absent; at least 67 ms where nothing is lost (`lossless` and `credit` queues, links without
    /// faults), as what is late waits there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// There is no time-out: what loses its header is lost, as in htsim's NDP.
    pub without_timeout: bool,
    /// Bytes after which the receiver acknowledges; every packet when absent, and on ways that hold less than twice as many
    /// bytes in a round trip, where the sender would stand still for want of acknowledgements. One names the 64 packets up to its
    /// own: where most are trimmed or packets are small, a few that have come are named by none, and sent again when their time is out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledge_every: Option<Bytes>,
    /// With `acknowledge-every`, a packet asks for an acknowledgement where the next one, as far apart as the last two, would come
    /// when half of the time-out of what waits for one is over: many connections that take turns at one link would otherwise
    /// time out without a loss, as they do in htsim.
    pub asks_in_time: bool,
    /// Finds losses by the number of packets that arrived out of order, for fabrics that drop instead of
    /// cutting (SLEEK). Where ways are spread, what is merely late counts, too, and an answer that comes soon to a probe has all sent again
    /// that is under way.
    pub sleek: bool,
}

impl Default for Trimming {
    fn default() -> Self {
        Self {
            timeout: None,
            without_timeout: false,
            acknowledge_every: None,
            asks_in_time: true,
            sleek: false,
        }
    }
}

/// The sender's half.
#[derive(Debug, Clone)]
pub struct State {
    flight: Flight,
    timeout: Duration,
    /// What waits for an acknowledgement asks for one at that age at the latest; forever where the receiver speaks of every
    /// packet.
    asks_at: Duration,
    /// Losses at or above belong to a new window of data.
    window: LossWindow,
    sleek: Option<Box<Sleek>>,
}

impl State {
    fn loss(
        &mut self,
        sequence: u64,
        packets: u32,
        bytes: u64,
        cause: LossCause,
        again: bool,
    ) -> Option<Loss> {
        if bytes == 0 {
            return None;
        }
        let first_of_window = again || sequence >= self.window.end;
        if first_of_window {
            self.window.begin(&self.flight);
        }
        self.flight.prune();
        Some(Loss { packets, bytes, cause, first_of_window, again })
    }
}

impl SenderRecovery for State {
    #[inline]
    fn next(&self, cx: &Cx<'_>) -> Option<Next> {
        let mut next = self.flight.candidate(cx.messages)?;
        next.beyond_window = next.retransmission && self.sleek.as_ref().is_some_and(|sleek| sleek.recovers());
        Some(next)
    }

    fn next_new(&self, cx: &Cx<'_>) -> Option<Next> {
        self.flight.new_packet(cx.messages)
    }

    #[inline]
    fn on_sent(&mut self, cx: &Cx<'_>, next: Next) -> u64 {
        self.flight.on_sent(cx, next.sequence)
    }

    fn on_feedback(&mut self, cx: &Cx<'_>, header: &Header, sack: &[u64]) -> Progress {
        if header.kind == Kind::Nack {
            let bytes = self.flight.lose_trimmed(header, cx.messages);
            let cause = LossCause::Trimmed { last_hop: header.flags.has(Flags::LAST_HOP) };
            let again = self.window.was_sent_again(header);
            let loss = self.loss(header.sequence, 1, bytes, cause, again);
            return Progress { loss, ..Progress::default() };
        }
        let rtt = cx.now.saturating_since(header.sent_at);
        let known = !header.flags.has(Flags::PROBE) && self.flight.is_open(header.sequence);
        self.flight.hear(header.received_bytes);
        let bytes = self.flight.take(header, sack, cx.messages);
        let mut progress = Progress { bytes, rtt: known.then_some(rtt), loss: None };
        if let Some(sleek) = &mut self.sleek {
            if known {
                sleek.sample(rtt);
            } else if header.flags.has(Flags::PROBE) {
                progress.rtt = sleek.round_trip_of_probe(header, rtt);
            }
            let lowest = self.flight.base();
            let (packets, lost) = sleek.on_ack(cx, header, rtt, &mut self.flight);
            progress.loss = self.loss(lowest, packets, lost, LossCause::Gap, false);
        }
        progress
    }

    fn on_timer(&mut self, cx: &Cx<'_>) -> Progress {
        if let Some(sleek) = &mut self.sleek {
            sleek.on_timer(cx);
        }
        self.flight.prune();
        let expired = self.flight.oldest().filter(|oldest| cx.now >= oldest.at + self.timeout);
        let Some(oldest) = expired else { return Progress::default() };
        if self.sleek.as_mut().is_some_and(|sleek| sleek.takes_timeout(&oldest)) {
            self.flight.forget_oldest();
            return Progress::default();
        }
        let bytes = self.flight.lose(oldest.sequence, cx.messages);
        Progress {
            loss: self.loss(oldest.sequence, 1, bytes, LossCause::Timeout, false),
            ..Progress::default()
        }
    }

    #[inline]
    fn deadline(&self) -> Time {
        let oldest = self.flight.oldest().map_or(Time::MAX, |oldest| oldest.at + self.timeout);
        match &self.sleek {
            Some(sleek) if self.flight.in_flight_packets() > 0 => oldest.min(sleek.deadline()),
            _ => oldest,
        }
    }

    #[inline]
    fn prefetch(&self) {
        self.flight.prefetch();
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
    fn asks_in_time(&self, now: Time, apart: Duration) -> bool {
        self.flight.oldest().is_some_and(|oldest| now + apart >= oldest.at + self.asks_at)
    }

    fn asks_when_full(&self) -> bool {
        // probes ask where there are any
        self.sleek.is_none()
    }

    fn asks_for_overtaken(&self) -> bool {
        self.sleek.is_none() && self.asks_at < Duration::MAX
    }

    fn wants_probe(&mut self) -> bool {
        self.sleek.as_mut().is_some_and(|sleek| sleek.take_probe())
    }
}

impl RecoveryKind for Trimming {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<(Recovery, ReceiverRules), BuildError> {
        let given = given_timeout("timeout", self.timeout, self.without_timeout)?;
        let acknowledge = match self.acknowledge_every {
            None => Acknowledge::EveryPacket,
            Some(bytes) if bytes.count() == 0 => {
                let reason = format!(
                    "{bytes}; more than 0 B is expected, and every packet is acknowledged without it"
                );
                return Err(BuildError::new("acknowledge-every", reason));
            }
            // windows of one and a half round trips hold what is not acknowledged yet, too
            Some(bytes) if path.bytes_in(path.base_rtt) < 2.0 * bytes.count() as f64 => {
                Acknowledge::EveryPacket
            }
            Some(bytes) => Acknowledge::EveryBytes(u32::try_from(bytes.count()).map_err(|_| {
                BuildError::new("acknowledge-every", format!("{bytes}; less than 4 GiB is possible"))
            })?),
        };
        let silent_bytes = match acknowledge {
            Acknowledge::EveryPacket => 0,
            Acknowledge::EveryBytes(bytes) => u64::from(bytes),
            Acknowledge::EveryPackets(packets) => u64::from(packets) * sizes.packet_bytes(),
        };
        // packets that are merely under way on long links, or not worth an acknowledgement yet, are not sent again
        let derived = || {
            let round_trip =
                path.network_rtt + path.slowest_time_of(silent_bytes) + path.behind_others(sizes);
            Duration::from_ns(15_000) + (path.slowest_time_of(path.buffer_bytes) * 6).max(round_trip)
        };
        let timeout = given.unwrap_or_else(|| path.silence(derived()));
        let asks_at = match acknowledge {
            Acknowledge::EveryBytes(_) if self.asks_in_time => Duration::from_ps(timeout.as_ps() / 2),
            _ => Duration::MAX,
        };
        let rules = ReceiverRules {
            keeps_out_of_order: true,
            gaps: GapReport::Never,
            acknowledge,
            sack_near_packet: true,
            ..ReceiverRules::default()
        };
        let sleek = self.sleek.then(|| Box::new(Sleek::new(path, sizes)));
        let state =
            State { flight: Flight::default(), timeout, asks_at, window: LossWindow::default(), sleek };
        Ok((Recovery::Trimming(state), rules))
    }
}
