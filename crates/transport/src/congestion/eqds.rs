//! EQDS: credit in bytes from the receiver, up to what the sender asks for.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

use super::fixed_window::State;
use super::{CongestionKind, Control, check_alone, check_range};
use crate::credit::{Blind, CreditRules, QuantaRules};
use crate::entropy::{EntropySpec, bitmap::Bitmap};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, trimming::Trimming};

/// EQDS: a sender starts with credit that it guesses, and then gets credit from the receiver, which serves those that ask
/// in turn at the rate of its link, those first whose packets were trimmed.
///
/// Credit knows of no link but the receiver's: behind links that carry n times less, each packet is trimmed and sent again until it
/// has gone n times and more, and where packets or pulls are small, their headers and pulls alone can fill such links (see
/// `headers-in-a-row` of the queue `trimming`). A sender without credit that hears nothing asks for some after four round trips
/// of the longest way, and again each time after twice as long, up to 256-fold: links that lose packets in bursts can hold a
/// message up for that long.
///
/// Source: Olteanu et al., "An edge-queued datagram service for all datacenter traffic", NSDI 2022.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Eqds {
    /// Credit at the start and at most; 1.5 x rate x longest round trip when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_window: Option<Bytes>,
    /// Unit of credit, bytes.
    pub quantum_bytes: u32,
    /// Units per pull. Few of them make many pulls, each of which takes `control-bytes` on the way back.
    pub quanta_per_pull: u32,
    /// Rate of credit in rates of the link, above 0 and at most 1.
    pub credit_rate: f64,
    /// As htsim: a pull takes 0.99 times a full packet with 38 bytes of framing, however much credit is in it; with packets of
    /// 4,160 bytes and pulls of 4,096 that is 98.6 % of the link's rate.
    pub htsim_pace: bool,
    /// As htsim: a receiver does not know where messages end, so that what is left over goes to senders that are done, too; and
    /// what a sender asks for has no sign, so that messages shorter than the guess ask for more than they will ever get.
    pub htsim_leftovers: bool,
}

impl Default for Eqds {
    fn default() -> Self {
        Self {
            max_window: None,
            quantum_bytes: 512,
            quanta_per_pull: 8,
            credit_rate: 0.99,
            htsim_pace: false,
            htsim_leftovers: false,
        }
    }
}

impl CongestionKind for Eqds {
    fn build(&self, _: &Path, _: &PacketSizes) -> Result<Control, BuildError> {
        Ok(Control::Eqds(State::new(u64::MAX)))
    }

    fn credit(&self, path: &Path, sizes: &PacketSizes) -> Result<CreditRules, BuildError> {
        check_range("quantum-bytes", f64::from(self.quantum_bytes), 1.0, 65_536.0)?;
        check_range("quanta-per-pull", f64::from(self.quanta_per_pull), 1.0, 65_536.0)?;
        check_range("credit-rate", self.credit_rate, 1e-6, 1.0)?;
        let is_given = self.htsim_pace && self.credit_rate != Self::default().credit_rate;
        check_alone("credit-rate", is_given, "`htsim-pace` says what the rate is")?;
        let pull = self.burst_bytes(sizes);
        let ps_per_byte = if self.htsim_pace {
            0.99 * (sizes.wire_bytes() + 38) as f64 * path.receiver_ps_per_byte() / pull as f64
        } else {
            path.receiver_ps_per_byte() / self.credit_rate
        };
        let filled = (path.bytes_in(path.network_rtt) * 1.5) as u64;
        let most_bytes = self.max_window.map_or(filled, |bytes| bytes.count()).max(sizes.wire_bytes());
        Ok(CreditRules::Quanta(Arc::new(QuantaRules {
            quantum_bytes: self.quantum_bytes,
            per_turn: self.quanta_per_pull,
            ps_per_byte,
            whole_turns: true,
            repeat_quanta: u32::try_from(sizes.wire_bytes()).unwrap_or(u32::MAX).div_ceil(self.quantum_bytes),
            least_bytes: 1,
            most_bytes: most_bytes.min(1 << 40),
            slowdown: None,
            blind: self.htsim_leftovers.then_some(Blind { asks_without_sign: true }),
        })))
    }

    fn burst_bytes(&self, _: &PacketSizes) -> u64 {
        u64::from(self.quantum_bytes) * u64::from(self.quanta_per_pull)
    }

    fn is_receiver_driven(&self) -> bool {
        true
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::Trimming(Trimming::default())
    }

    fn entropy(&self) -> EntropySpec {
        EntropySpec::Bitmap(Bitmap { paths: 256, trim_penalty: 1, skip_all: true, ..Bitmap::default() })
    }
}
