//! Selective acknowledgement as TCP has it.

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

/// Selective acknowledgement: a packet is lost when one that was sent three packets after it has arrived, and is sent again
/// once per recovery; a time-out of mean + 4 x variation of the round trip, which doubles, covers the rest. It begins anew when the first
/// missing packet is sent again, as RFC 6675 (section 6) lets it.
///
/// Sources: RFC 2018, RFC 6675 (with the rule of forward acknowledgement), RFC 6298.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Sack {
    /// Packets by which a later one must be ahead.
    pub reordering: u32,
    /// What a time-out adds to the mean round trip at least, however steady that is. RFC 6298 has 1 s; in a data center that is for ever.
    pub min_timeout: Duration,
}

impl Default for Sack {
    fn default() -> Self {
        Self { reordering: 3, min_timeout: Duration::from_ns(1_000_000) }
    }
}

/// The sender's half.
#[derive(Debug, Clone)]
pub struct State {
    flight: Flight,
    reordering: u32,
    min_timeout: Duration,
    round_trip: RoundTrip,
    window: LossWindow,
    marked_to: u64,
    progress_at: Time,
    timeouts: u32,
}

impl SenderRecovery for State {
    #[inline]
    fn next(&self, cx: &Cx<'_>) -> Option<Next> {
        self.flight.candidate(cx.messages)
    }

    fn next_new(&self, cx: &Cx<'_>) -> Option<Next> {
        self.flight.new_packet(cx.messages)
    }

    #[inline]
    fn on_sent(&mut self, cx: &Cx<'_>, next: Next) -> u64 {
        if self.flight.in_flight_packets() == 0 || next.retransmission && next.sequence == self.flight.base()
        {
            self.progress_at = cx.now;
        }
        self.flight.on_sent(cx, next.sequence)
    }

    fn on_feedback(&mut self, cx: &Cx<'_>, header: &Header, sack: &[u64]) -> Progress {
        if header.flags.has(Flags::TRIMMED) {
            return Progress::trimmed(&mut self.flight, &mut self.window, cx, header);
        }
        let rtt = cx.now.saturating_since(header.sent_at);
        self.round_trip.sample(rtt);
        let before = self.flight.base();
        let bytes = self.flight.take(header, sack, cx.messages);
        if self.flight.base() > before {
            self.progress_at = cx.now;
            self.timeouts = 0;
        }
        let limit = self.flight.highest_arrived().saturating_sub(u64::from(self.reordering));
        let (mut packets, mut lost) = (0, 0);
        let mut at = self.marked_to.max(self.flight.base());
        while let Some(open) = self.flight.next_silent(at).filter(|&open| open < limit) {
            lost += self.flight.lose(open, cx.messages);
            packets += 1;
            at = open + 1;
        }
        self.marked_to = self.marked_to.max(limit);
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
        self.timeouts += 1;
        self.progress_at = cx.now;
        let (packets, bytes) = self.flight.lose_before(self.flight.next_serial(), cx.messages);
        self.window.begin(&self.flight);
        self.marked_to = self.flight.next();
        self.flight.forget_trims();
        let loss = Loss { packets, bytes, cause: LossCause::Timeout, first_of_window: true, again: false };
        Progress { loss: Some(loss), ..Progress::default() }
    }

    #[inline]
    fn deadline(&self) -> Time {
        if self.flight.in_flight_packets() == 0 {
            return Time::MAX;
        }
        self.progress_at + backed_off(self.round_trip.timeout_beyond(self.min_timeout), self.timeouts)
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
}

impl RecoveryKind for Sack {
    fn build(&self, path: &Path, _: &PacketSizes) -> Result<(Recovery, ReceiverRules), BuildError> {
        check_timeout("min-timeout", self.min_timeout)?;
        let rules = ReceiverRules {
            keeps_out_of_order: true,
            gaps: GapReport::Never,
            acknowledge: Acknowledge::EveryPacket,
            sack_near_packet: true,
            ..ReceiverRules::default()
        };
        let state = State {
            flight: Flight::default(),
            reordering: self.reordering,
            min_timeout: self.min_timeout,
            round_trip: RoundTrip::new(path.base_rtt),
            window: LossWindow::default(),
            marked_to: 0,
            progress_at: Time::ZERO,
            timeouts: 0,
        };
        Ok((Recovery::Sack(Box::new(state)), rules))
    }
}
