//! HPCC: switches tell how full each link is, and the window follows the fullest.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes, Duration};

use super::{
    Acked, CongestionControl, CongestionKind, Control, LossCause, Lost, check_range, check_recorded,
    given_or, given_or_longest_rtt,
};
use crate::packet::Telemetry;
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, go_back_n::GoBackN};

/// High precision congestion control: every packet collects queue, rate and bytes of the links on its way; the
/// window is set so that the fullest link is used to `eta`, and packets are paced to window / round trip.
///
/// A queue is all data that waits for a port, of whatever class.
///
/// A packet records 15 switches, as many as the four bits of the count in its header tell: machines with ways of more than 16 links are
/// refused.
///
/// Source: Li et al., "HPCC: high precision congestion control", SIGCOMM 2019, algorithm 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Hpcc {
    /// Share of a link that is aimed at, above 0 and at most 1.
    pub eta: f64,
    /// Steps of additive increase between multiplicative ones.
    pub max_stage: u32,
    /// Round trip that everything is measured by; the longest of the network when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rtt: Option<Duration>,
    /// Additive increase; window x (1 - eta) / 100 when absent: room for 100 connections per link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive: Option<Bytes>,
}

impl Default for Hpcc {
    fn default() -> Self {
        Self { eta: 0.95, max_stage: 5, base_rtt: None, additive: None }
    }
}

/// What connections share; times in picoseconds, amounts in bytes.
#[derive(Debug)]
struct Parameters {
    eta: f64,
    max_stage: u32,
    base_rtt: f64,
    additive: f64,
    packet: f64,
    largest: f64,
}

/// State of a connection.
#[derive(Debug, Clone)]
pub struct State {
    parameters: Arc<Parameters>,
    window: f64,
    /// Window of the last round trip, on which those within it are based.
    reference: f64,
    utilisation: f64,
    stage: u32,
    update_after: u64,
    /// The records of the last acknowledgement: allocated once, so that other transports stay small.
    last: Box<Telemetry>,
}

impl State {
    /// Takes the records of an acknowledgement (`MeasureInflight`); whether they say anything.
    fn measure(&mut self, records: &Telemetry) -> bool {
        let base = self.parameters.base_rtt;
        let (mut fullest, mut spacing) = (0.0_f64, 0.0);
        for (now, then, ps) in records.since(&self.last) {
            let capacity = now.bytes_per_s * 1e-12;
            let sent = now.sent_bytes.saturating_sub(then.sent_bytes) as f64 / ps;
            let queue = f64::from(now.queue_bytes.min(then.queue_bytes));
            let used = queue / (capacity * base) + sent / capacity;
            if used > fullest {
                (fullest, spacing) = (used, ps);
            }
        }
        self.last.follow(records);
        if spacing > 0.0 {
            let share = (spacing / base).min(1.0);
            self.utilisation += share * (fullest - self.utilisation);
        }
        spacing > 0.0
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        self.window as u64
    }

    #[inline]
    fn gap(&self, bytes: u64) -> Duration {
        Duration::from_ps((bytes as f64 * self.parameters.base_rtt / self.window) as u64)
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        let Some(records) = acked.telemetry else { return };
        if !self.measure(records) {
            return;
        }
        let p = &self.parameters;
        let whole_round = acked.sequence >= self.update_after;
        let grows = self.utilisation < p.eta && self.stage < p.max_stage;
        self.window = if grows {
            self.reference + p.additive
        } else {
            self.reference / (self.utilisation / p.eta) + p.additive
        };
        self.window = self.window.min(p.largest).max(p.packet);
        if whole_round {
            self.stage = if grows { self.stage + 1 } else { 0 };
            self.reference = self.window;
            self.update_after = acked.next;
        }
    }

    fn on_loss(&mut self, lost: &Lost) {
        // the paper runs on lossless fabrics; a time-out says that nothing got through
        if lost.cause == LossCause::Timeout && lost.first_of_window {
            self.window = (self.window / 2.0).max(self.parameters.packet);
            self.reference = self.window;
        }
    }
}

impl CongestionKind for Hpcc {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        check_range("eta", self.eta, 0.01, 1.0)?;
        check_recorded("hpcc", path)?;
        let base = given_or_longest_rtt(self.base_rtt, path)?;
        let packet = sizes.packet_bytes() as f64;
        let window = path.bytes_in(base).max(packet);
        let most = Bytes(1_000_000_000_000);
        let derived = (window * (1.0 - self.eta) / 100.0, "bytes follow from the window");
        let additive = match self.additive {
            Some(bytes) => check_range("additive", bytes, Bytes(0), most).map(|()| bytes.count() as f64)?,
            None => given_or("additive", None, derived, (0.0, most.count() as f64))?,
        };
        let parameters = Parameters {
            eta: self.eta,
            max_stage: self.max_stage,
            base_rtt: base.as_ps() as f64,
            additive,
            packet,
            largest: window,
        };
        Ok(Control::Hpcc(State {
            parameters: Arc::new(parameters),
            window,
            reference: window,
            utilisation: 1.0,
            stage: 0,
            update_after: 0,
            last: Box::default(),
        }))
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::GoBackN(GoBackN::default())
    }

    /// As its authors' code does: a window of 1.9 packets lets two go, or short ways would stay half empty.
    fn fills_up(&self) -> bool {
        true
    }

    fn needs_telemetry(&self) -> bool {
        true
    }
}
