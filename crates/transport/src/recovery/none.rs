//! No recovery: the fabric loses nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Time};

use super::flight::Flight;
use super::{Account, Cx, Next, Progress, Recovery, RecoveryKind, SenderRecovery};
use crate::packet::{Flags, Header};
use crate::profile::{PacketSizes, Path};
use crate::receiver::{Acknowledge, GapReport, ReceiverRules};

/// No recovery, for fabrics that lose nothing: packets may come in any order, each is acknowledged, none is sent
/// again.
///
/// It is refused where links lose or change packets (`loss`, `faults.loss`, `faults.corruption`). Any other packet that is lost, in
/// a queue that drops or trims or on a link that is down, stalls its connection for ever: the run ends with an error when nothing
/// else moves.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NoRecovery {}

/// The sender's half.
#[derive(Debug, Clone, Default)]
pub struct State {
    flight: Flight,
}

impl SenderRecovery for State {
    #[inline]
    fn next(&self, cx: &Cx<'_>) -> Option<Next> {
        self.flight.candidate(cx.messages)
    }

    #[inline]
    fn on_sent(&mut self, cx: &Cx<'_>, next: Next) -> u64 {
        self.flight.on_sent(cx, next.sequence)
    }

    #[inline]
    fn on_feedback(&mut self, cx: &Cx<'_>, header: &Header, sack: &[u64]) -> Progress {
        if header.flags.has(Flags::TRIMMED) {
            return Progress::default();
        }
        let rtt = cx.now.saturating_since(header.sent_at);
        Progress { bytes: self.flight.take(header, sack, cx.messages), rtt: Some(rtt), loss: None }
    }

    fn on_timer(&mut self, _: &Cx<'_>) -> Progress {
        Progress::default()
    }

    #[inline]
    fn deadline(&self) -> Time {
        Time::MAX
    }

    #[inline]
    fn prefetch(&self) {
        self.flight.prefetch();
    }

    #[inline]
    fn account(&self) -> Account {
        self.flight.account()
    }
}

impl RecoveryKind for NoRecovery {
    fn build(&self, _: &Path, _: &PacketSizes) -> Result<(Recovery, ReceiverRules), BuildError> {
        let rules = ReceiverRules {
            keeps_out_of_order: true,
            gaps: GapReport::Never,
            acknowledge: Acknowledge::EveryPacket,
            sack_near_packet: true,
            ..ReceiverRules::default()
        };
        Ok((Recovery::None(State::default()), rules))
    }

    fn repairs(&self) -> bool {
        false
    }
}
