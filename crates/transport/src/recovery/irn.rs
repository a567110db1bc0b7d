//! IRN: selective repeat with a cap of one bandwidth-delay product and two time-outs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::memory::prefetch_all;
use stratasim_core::{BuildError, Duration, Time};

use super::flight::Flight;
use super::{
    Account, Cx, Loss, LossWindow, Next, Progress, Recovery, RecoveryKind, SenderRecovery, given_timeout,
};
use crate::congestion::LossCause;
use crate::packet::{Flags, Header, Kind};
use crate::profile::{PacketSizes, Path};
use crate::receiver::{Acknowledge, GapReport, ReceiverRules};

/// IRN: the receiver keeps packets out of order and reports each with its own number and the first that is missing; the
/// sender keeps a bitmap, sends each missing packet once per recovery, and never has more than a bandwidth-delay product
/// of packets under way. A packet that is lost twice waits for a time-out.
///
/// Source: Mittal et al., "Revisiting network support for RDMA", SIGCOMM 2018, section 3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Irn {
    /// Time-out where few packets are under way; when absent 100 us, or two round trips of the longest way
    /// where that is more, and 67 ms where nothing is lost. Queues that take longer to drain need more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_timeout: Option<Duration>,
    /// Time-out otherwise, not below the other; when absent 320 us, or what the other is where that is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_timeout: Option<Duration>,
    /// Few packets are at most so many.
    pub few_packets: u32,
    /// Packets that may be under way; what fills the longest way when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap_packets: Option<u32>,
}

impl Default for Irn {
    fn default() -> Self {
        Self { low_timeout: None, high_timeout: None, few_packets: 3, cap_packets: None }
    }
}

/// The sender's half.
#[derive(Debug, Clone)]
pub struct State {
    flight: Flight,
    low_timeout: Duration,
    high_timeout: Duration,
    few_packets: u32,
    cap_packets: u32,
    /// While recovering: recovery ends when everything below has arrived.
    recover_to: Option<u64>,
    /// Every packet below was looked at in this recovery.
    marked_to: u64,
    /// Losses below belong to a window of data of which some are known.
    window: LossWindow,
    progress_at: Time,
    /// The recovery that goes on has had a time-out.
    has_timed_out: bool,
    /// A time-out has come, and the first missing packet was not sent since: it goes whatever the window is, which
    /// may be full of packets that are lost, too.
    timed_out: bool,
}

impl State {
    /// Whether the cap lets a new packet go.
    fn fits(&self, new: Next) -> bool {
        new.sequence - self.flight.base() < u64::from(self.cap_packets)
    }

    /// Takes packets for lost that were not looked at in this recovery and that later ones have overtaken.
    fn mark(&mut self, cx: &Cx<'_>) -> (u32, u64) {
        let (mut packets, mut bytes) = (0, 0);
        let limit = self.flight.highest_arrived();
        let mut at = self.marked_to.max(self.flight.base());
        while let Some(open) = self.flight.next_silent(at).filter(|&open| open < limit) {
            bytes += self.flight.lose(open, cx.messages);
            packets += 1;
            at = open + 1;
        }
        self.marked_to = self.marked_to.max(limit);
        (packets, bytes)
    }

    fn recover(&mut self) {
        self.recover_to = Some(self.flight.next());
        self.marked_to = self.flight.base();
    }
}

impl SenderRecovery for State {
    #[inline]
    fn next(&self, cx: &Cx<'_>) -> Option<Next> {
        let next = self.flight.candidate(cx.messages)?;
        (next.retransmission || self.fits(next)).then_some(Next {
            beyond_window: next.beyond_window || (self.timed_out && next.retransmission),
            ..next
        })
    }

    fn next_new(&self, cx: &Cx<'_>) -> Option<Next> {
        self.flight.new_packet(cx.messages).filter(|next| self.fits(*next))
    }

    #[inline]
    fn on_sent(&mut self, cx: &Cx<'_>, next: Next) -> u64 {
        if self.flight.in_flight_packets() == 0 {
            self.progress_at = cx.now;
        }
        self.timed_out = false;
        self.flight.on_sent(cx, next.sequence)
    }

    fn on_feedback(&mut self, cx: &Cx<'_>, header: &Header, _: &[u64]) -> Progress {
        if header.flags.has(Flags::TRIMMED) {
            return Progress::trimmed(&mut self.flight, &mut self.window, cx, header);
        }
        let before = self.flight.base();
        // a report names one packet besides the first missing one: there is no bitmap on the wire
        let named = Header { sack: 0, ..*header };
        let mut bytes = self.flight.take(&named, &[], cx.messages);
        bytes += self.flight.arrive(header.sequence, cx.messages);
        let mut progress = Progress { bytes, rtt: Some(cx.now.saturating_since(header.sent_at)), loss: None };
        if self.flight.base() > before {
            self.progress_at = cx.now;
        }
        if self.recover_to.is_some_and(|end| self.flight.base() >= end) {
            self.recover_to = None;
            self.has_timed_out = false;
        }
        let enters = header.kind == Kind::Nack
            && self.recover_to.is_none()
            && self.flight.highest_arrived() > self.flight.base();
        if enters {
            self.recover();
        }
        if self.recover_to.is_some() {
            let (packets, bytes) = self.mark(cx);
            if packets > 0 {
                let first_of_window = self.window.begins(&self.flight) && enters;
                progress.loss =
                    Some(Loss { packets, bytes, cause: LossCause::Gap, first_of_window, again: false });
            }
        }
        progress
    }

    fn on_timer(&mut self, cx: &Cx<'_>) -> Progress {
        if cx.now < self.deadline() {
            return Progress::default();
        }
        // what a gap has told is of another kind: that what was sent again is lost, too (RFC 5681, section 4.3)
        let first_of_window = !std::mem::replace(&mut self.has_timed_out, true);
        self.recover();
        self.window.begin(&self.flight);
        self.flight.forget_trims();
        self.progress_at = cx.now;
        self.timed_out = true;
        let mut bytes = self.flight.lose(self.flight.base(), cx.messages);
        let mut packets = u32::from(bytes > 0);
        let (more, more_bytes) = self.mark(cx);
        packets += more;
        bytes += more_bytes;
        let loss = Loss { packets, bytes, cause: LossCause::Timeout, first_of_window, again: false };
        Progress { loss: Some(loss), ..Progress::default() }
    }

    #[inline]
    fn deadline(&self) -> Time {
        if self.flight.in_flight_packets() == 0 {
            return Time::MAX;
        }
        // under way in the paper's sense: from the first missing packet on
        let few = self.flight.next() - self.flight.base() <= u64::from(self.few_packets);
        self.progress_at + if few { self.low_timeout } else { self.high_timeout }
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

impl RecoveryKind for Irn {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<(Recovery, ReceiverRules), BuildError> {
        let low_timeout = given_timeout("low-timeout", self.low_timeout, false)?
            .unwrap_or_else(|| path.silence(path.patient(Duration::from_ns(100_000))));
        let high_timeout = given_timeout("high-timeout", self.high_timeout, false)?
            .unwrap_or_else(|| Duration::from_ns(320_000).max(low_timeout));
        if high_timeout < low_timeout {
            let reason = format!("{low_timeout}, above `high-timeout`, {high_timeout}");
            return Err(BuildError::new("low-timeout", reason));
        }
        let filled = (path.bytes_in(path.network_rtt) / sizes.wire_bytes() as f64).ceil().min(1e6) as u32;
        let cap_packets = self.cap_packets.unwrap_or(filled);
        if !(1..=1 << 20).contains(&cap_packets) {
            let reason = format!("{cap_packets} packets; 1 to 1,048,576 are possible");
            return Err(BuildError::new("cap-packets", reason));
        }
        let rules = ReceiverRules {
            keeps_out_of_order: true,
            gaps: GapReport::Always,
            acknowledge: Acknowledge::EveryPacket,
            window_packets: cap_packets,
            ..ReceiverRules::default()
        };
        let state = State {
            flight: Flight::default(),
            low_timeout,
            high_timeout,
            few_packets: self.few_packets,
            cap_packets,
            recover_to: None,
            marked_to: 0,
            window: LossWindow::default(),
            progress_at: Time::ZERO,
            has_timed_out: false,
            timed_out: false,
        };
        Ok((Recovery::Irn(Box::new(state)), rules))
    }
}
