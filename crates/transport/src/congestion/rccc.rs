//! Receiver-credit congestion control of Ultra Ethernet (RCCC).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes, Duration};

use super::fixed_window::State;
use super::nscc::Nscc;
use super::{CongestionKind, Control, check_range};
use crate::credit::{Blind, CreditRules, QuantaRules, SlowdownRules};
use crate::entropy::{EntropySpec, mixed::Mixed};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, trimming::Trimming};

/// Ultra Ethernet's receiver-side congestion control: credit in bytes, given to the senders that ask, in turn, at the
/// rate of the receiver's link; alone, or together with the sender's own control.
///
/// Credit knows of no link but the receiver's: behind links that carry n times less, each packet is trimmed and sent again until it
/// has gone n times and more, unless there is a `sender` or `oversubscription` says so. A sender without credit that hears
/// nothing asks for some after four round trips of the longest way, and again each time after twice as long, up to 256-fold.
///
/// Source: Ultra Ethernet Specification 1.0, RCCC; constants as in uet-htsim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Rccc {
    /// Rate of credit in rates of the link, above 0 and at most 1.
    pub credit_rate: f64,
    /// Credit at the start and at most, in rate x longest round trip.
    pub max_window_factor: f64,
    /// Payloads of full packets per pull, in whole quanta of 256 bytes.
    pub packets_per_pull: u32,
    /// How many times less the links above the hosts carry than those of the hosts. Above 1, a receiving host slows its
    /// credit down while packets arrive marked, or cut before the last switch: to 0.9 of this share at least. A rule of
    /// uet-htsim, published nowhere.
    pub oversubscription: f64,
    /// As htsim: a receiver does not know where messages end, so that what is left over goes to senders that are done, too;
    /// and a sender that has spent its guess without asking for more waits for what is left over.
    pub htsim_leftovers: bool,
    /// The sender's congestion control besides; none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<Nscc>,
}

impl Default for Rccc {
    fn default() -> Self {
        Self {
            credit_rate: 0.99,
            max_window_factor: 1.5,
            packets_per_pull: 4,
            oversubscription: 1.0,
            htsim_leftovers: false,
            sender: None,
        }
    }
}

/// Bytes of a quantum of credit.
const QUANTUM: u32 = 256;

impl CongestionKind for Rccc {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        match &self.sender {
            Some(nscc) => nscc.state(path, sizes, true).map_err(|error| error.within("sender")),
            None => Ok(Control::Rccc(State::new(u64::MAX))),
        }
    }

    fn credit(&self, path: &Path, sizes: &PacketSizes) -> Result<CreditRules, BuildError> {
        check_range("credit-rate", self.credit_rate, 1e-6, 1.0)?;
        check_range("max-window-factor", self.max_window_factor, 0.01, 100.0)?;
        check_range("packets-per-pull", f64::from(self.packets_per_pull), 1.0, 1024.0)?;
        check_range("oversubscription", self.oversubscription, 1.0, 1e6)?;
        let slowdown = SlowdownRules {
            least_rate: (0.9 / self.oversubscription).max(0.01),
            interval: Duration::from_ps(path.network_rtt.as_ps() / 2 * 3),
        };
        let mut ps_per_byte = path.receiver_ps_per_byte() / self.credit_rate;
        if self.htsim_leftovers {
            // htsim counts time in whole picoseconds per quantum
            ps_per_byte = (ps_per_byte * f64::from(QUANTUM)).floor() / f64::from(QUANTUM);
        }
        let most = (path.bytes_in(path.network_rtt) * self.max_window_factor) as u64;
        Ok(CreditRules::Quanta(Arc::new(QuantaRules {
            quantum_bytes: QUANTUM,
            per_turn: (self.packets_per_pull * sizes.payload_bytes).div_ceil(QUANTUM),
            ps_per_byte,
            whole_turns: false,
            repeat_quanta: 0,
            least_bytes: 1024,
            most_bytes: most.max(sizes.wire_bytes()).min(1 << 40),
            slowdown: (self.oversubscription > 1.0).then_some(slowdown),
            blind: self.htsim_leftovers.then_some(Blind { asks_without_sign: false }),
        })))
    }

    fn burst_bytes(&self, sizes: &PacketSizes) -> u64 {
        u64::from(self.packets_per_pull) * u64::from(sizes.payload_bytes)
    }

    fn is_receiver_driven(&self) -> bool {
        true
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::Trimming(Trimming { acknowledge_every: Some(Bytes(16_384)), ..Trimming::default() })
    }

    fn entropy(&self) -> EntropySpec {
        EntropySpec::Mixed(Mixed::default())
    }
}
