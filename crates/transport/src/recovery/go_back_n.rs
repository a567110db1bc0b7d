//! Go-back-N: the receiver keeps nothing that is out of order, the sender starts again from the gap.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration, Time};

use super::{Account, Cx, Loss, Next, Progress, Recovery, RecoveryKind, SenderRecovery, given_timeout};
use crate::congestion::LossCause;
use crate::packet::{Flags, Header, Kind};
use crate::profile::{PacketSizes, Path};
use crate::receiver::{Acknowledge, GapReport, ReceiverRules};

/// Go-back-N: packets out of order are thrown away, and everything from the gap on is sent again, after a
/// negative acknowledgement or a time-out. As RoCEv2 adapters do it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct GoBackN {
    /// When the receiver reports a gap.
    pub nak: Nak,
    /// Time without progress after which everything is sent again. InfiniBand's is 4.096 us times a power of two: when
    /// absent 67 ms, the usual 2^14, or two round trips of the longest way where that is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// There is no time-out: what is lost at the end of a message stays lost, as in htsim.
    pub without_timeout: bool,
}

/// 4.096 us times 2^14.
pub(crate) const USUAL_TIMEOUT: Duration = Duration::from_ps(67_108_864_000);

/// When the receiver of go-back-N reports a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Nak {
    /// Never: it acknowledges the last good packet again, and the sender waits for its time-out.
    Never,
    /// Once per gap, until the missing packet has arrived.
    #[default]
    OncePerGap,
    /// For every packet that is out of order.
    Always,
}

/// The sender's half: two numbers and a timer.
#[derive(Debug, Clone)]
pub struct State {
    base: u64,
    next: u64,
    /// Past the highest packet ever sent.
    highest: u64,
    /// What is sent below was under way when a loss was last found.
    window_end: u64,
    serial: u64,
    lost_bytes: u64,
    in_flight_bytes: u64,
    /// Last time that something was sent on an empty way, or that the base moved.
    progress_at: Time,
    timeout: Duration,
    /// Where it started again: packet and serial number, both growing. What is sent from there on has one number after the other.
    restarts: Vec<(u64, u64)>,
}

impl State {
    /// Sends again from `packet` on.
    fn rewind(&mut self, cx: &Cx<'_>, packet: u64, cause: LossCause) -> Option<Loss> {
        let packets = self.next.saturating_sub(packet);
        if packets == 0 {
            return None;
        }
        // a time-out is a loss of its own; reports of one gap are one
        let first_of_window = cause == LossCause::Timeout || packet >= self.window_end;
        if first_of_window {
            self.window_end = self.highest;
        }
        let bytes = cx.messages.accounted_range(packet..self.next);
        self.next = packet;
        self.restarts.retain(|&(from, _)| from < packet);
        // of those before what is acknowledged the last one counts
        let over = self.restarts.iter().filter(|&&(from, _)| from <= self.base).count();
        self.restarts.drain(..over.saturating_sub(1));
        self.restarts.push((packet, self.serial));
        self.in_flight_bytes -= bytes.min(self.in_flight_bytes);
        self.lost_bytes += bytes;
        Some(Loss {
            packets: u32::try_from(packets).unwrap_or(u32::MAX),
            bytes,
            cause,
            first_of_window,
            again: false,
        })
    }
}

impl State {
    /// Serial number with which a packet that has been sent was sent last.
    fn last_serial(&self, packet: u64) -> u64 {
        let restart = self.restarts.iter().rev().find(|&&(from, _)| from <= packet);
        restart.map_or(packet, |&(from, serial)| serial + (packet - from))
    }
}

impl SenderRecovery for State {
    #[inline]
    fn next(&self, cx: &Cx<'_>) -> Option<Next> {
        (self.next < cx.messages.end()).then_some(Next {
            sequence: self.next,
            retransmission: self.next < self.highest,
            beyond_window: false,
        })
    }

    #[inline]
    fn on_sent(&mut self, cx: &Cx<'_>, next: Next) -> u64 {
        if self.next == self.base {
            self.progress_at = cx.now;
        }
        self.in_flight_bytes += cx.messages.accounted_bytes(next.sequence);
        if next.sequence < self.highest {
            self.lost_bytes = self.lost_bytes.saturating_sub(cx.messages.accounted_bytes(next.sequence));
        }
        self.next = next.sequence + 1;
        self.highest = self.highest.max(self.next);
        self.serial += 1;
        self.serial - 1
    }

    #[inline]
    fn on_feedback(&mut self, cx: &Cx<'_>, header: &Header, _: &[u64]) -> Progress {
        let mut progress =
            Progress { rtt: Some(cx.now.saturating_since(header.sent_at)), ..Progress::default() };
        let cumulative = header.cumulative.min(self.highest);
        if cumulative > self.base {
            progress.bytes = cx.messages.accounted_range(self.base..cumulative);
            // after a rewind, what is acknowledged may never have been sent again
            let under_way = self.base..cumulative.min(self.next);
            self.in_flight_bytes =
                self.in_flight_bytes.saturating_sub(cx.messages.accounted_range(under_way));
            let skipped = self.next.min(cumulative)..cumulative;
            self.lost_bytes = self.lost_bytes.saturating_sub(cx.messages.accounted_range(skipped));
            self.base = cumulative;
            self.next = self.next.max(cumulative);
            self.progress_at = cx.now;
        }
        let trimmed = header.flags.has(Flags::TRIMMED);
        // what is before a trimmed packet may be on its way, and a later transmission of it, too
        let asks = match trimmed {
            true => header.serial == self.last_serial(header.sequence),
            false => header.cumulative == self.base,
        };
        if header.kind == Kind::Nack && asks {
            let from = if trimmed { header.sequence.max(self.base) } else { self.base };
            let last_hop = header.flags.has(Flags::LAST_HOP);
            let cause = if trimmed { LossCause::Trimmed { last_hop } } else { LossCause::Gap };
            progress.loss = self.rewind(cx, from, cause);
            self.progress_at = cx.now;
        }
        progress
    }

    fn on_timer(&mut self, cx: &Cx<'_>) -> Progress {
        if cx.now < self.deadline() {
            return Progress::default();
        }
        self.progress_at = cx.now;
        Progress { loss: self.rewind(cx, self.base, LossCause::Timeout), ..Progress::default() }
    }

    #[inline]
    fn deadline(&self) -> Time {
        if self.next == self.base { Time::MAX } else { self.progress_at + self.timeout }
    }

    #[inline]
    fn account(&self) -> Account {
        Account {
            in_flight_bytes: self.in_flight_bytes,
            cumulative: self.base,
            next_new: self.highest,
            lost_bytes: self.lost_bytes,
            transmissions: self.serial,
        }
    }
}

impl RecoveryKind for GoBackN {
    fn build(&self, path: &Path, _: &PacketSizes) -> Result<(Recovery, ReceiverRules), BuildError> {
        let timeout = given_timeout("timeout", self.timeout, self.without_timeout)?
            .unwrap_or_else(|| path.patient(USUAL_TIMEOUT));
        let gaps = match self.nak {
            Nak::Never => GapReport::Never,
            Nak::OncePerGap => GapReport::Once,
            Nak::Always => GapReport::Always,
        };
        let rules = ReceiverRules {
            keeps_out_of_order: false,
            gaps,
            acknowledge: Acknowledge::EveryPacket,
            ..ReceiverRules::default()
        };
        let state = State {
            base: 0,
            next: 0,
            highest: 0,
            window_end: 0,
            serial: 0,
            in_flight_bytes: 0,
            lost_bytes: 0,
            progress_at: Time::ZERO,
            timeout,
            restarts: Vec::new(),
        };
        Ok((Recovery::GoBackN(state), rules))
    }
}
