//! NDP: a window unasked, then a packet per pull of the receiver.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::fixed_window::State;
use super::{CongestionKind, Control, check_range, given_or};
use crate::credit::CreditRules;
use crate::entropy::{EntropySpec, permutation::Permutation};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, trimming::Trimming};

/// NDP: the first window goes out at the rate of the link; after that every packet needs a pull, and the pulls of a
/// host are spaced so that what they bring fills its link.
///
/// Pulls know of no link but the receiver's: behind links that carry n times less, each packet is trimmed and sent again until it has
/// gone about n times. A sender whose pulls are lost asks after four round trips of the longest way, and again each time after
/// twice as long, up to 256-fold.
///
/// Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance",
/// SIGCOMM 2017.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Ndp {
    /// Packets of the first window; what fills the longest way when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_packets: Option<u32>,
    /// Rate of pulls in rates of the link, above 0 and at most 1.
    pub pull_rate: f64,
}

impl Default for Ndp {
    fn default() -> Self {
        Self { initial_packets: None, pull_rate: 0.99 }
    }
}

impl CongestionKind for Ndp {
    fn build(&self, _: &Path, _: &PacketSizes) -> Result<Control, BuildError> {
        Ok(Control::Ndp(State::new(u64::MAX)))
    }

    fn credit(&self, path: &Path, sizes: &PacketSizes) -> Result<CreditRules, BuildError> {
        check_range("pull-rate", self.pull_rate, 1e-6, 1.0)?;
        let filled = (path.bytes_in(path.network_rtt) / sizes.wire_bytes() as f64).ceil();
        let origin = "packets fill the longest way";
        let given = self.initial_packets.map(f64::from);
        let initial = given_or("initial-packets", given, (filled, origin), (1.0, 1e6))?;
        let interval_ps = sizes.wire_bytes() as f64 * path.receiver_ps_per_byte() / self.pull_rate;
        Ok(CreditRules::Packets { initial: initial as u32, interval_ps: interval_ps as u64 })
    }

    fn is_receiver_driven(&self) -> bool {
        true
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::Trimming(Trimming::default())
    }

    fn entropy(&self) -> EntropySpec {
        EntropySpec::Permutation(Permutation::default())
    }
}
