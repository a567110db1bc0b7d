//! A window that never changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

use super::{CongestionControl, CongestionKind, Control, check_alone, check_range};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, go_back_n::GoBackN};

/// A window that never changes: a number of bytes, or what fills the longest way of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct FixedWindow {
    /// The window, above 0 B, and at least one packet; `factor` times rate x round trip when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Bytes>,
    /// Windows in units of rate x round trip of the longest way, 0.001 to 1,000.
    pub factor: f64,
}

impl Default for FixedWindow {
    fn default() -> Self {
        Self { window: None, factor: 1.0 }
    }
}

/// The window, bytes.
#[derive(Debug, Clone)]
pub struct State {
    window_bytes: u64,
}

impl State {
    /// A window of so many bytes.
    pub(crate) const fn new(window_bytes: u64) -> Self {
        Self { window_bytes }
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        self.window_bytes
    }
}

impl CongestionKind for FixedWindow {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        check_range("factor", self.factor, 0.001, 1000.0)?;
        let is_given = self.window.is_some() && self.factor != Self::default().factor;
        check_alone("factor", is_given, "`window` says what the window is")?;
        let packet = sizes.packet_bytes();
        let window = match self.window {
            Some(Bytes(0)) => {
                return Err(BuildError::new("window", "0 B; more is needed for anything to be sent"));
            }
            Some(bytes) => bytes.count(),
            // whole packets, so that the window fills the way
            None => ((path.bytes_in(path.network_rtt) * self.factor) as u64).div_ceil(packet) * packet,
        };
        Ok(Control::FixedWindow(State::new(window.max(packet))))
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::GoBackN(GoBackN::default())
    }
}
