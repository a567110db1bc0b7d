//! A rate that never changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration};

use super::{CongestionControl, CongestionKind, Control, check_range};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, go_back_n::GoBackN};

/// A rate that never changes, and no window: RoCE without congestion control, on a lossless fabric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ConstantRate {
    /// The rate in rates of the link, above 0 and at most 1.
    pub factor: f64,
}

impl Default for ConstantRate {
    fn default() -> Self {
        Self { factor: 1.0 }
    }
}

/// Picoseconds per byte, as windows count bytes.
#[derive(Debug, Clone)]
pub struct State {
    ps_per_byte: f64,
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        u64::MAX
    }

    #[inline]
    fn gap(&self, bytes: u64) -> Duration {
        Duration::from_ps((bytes as f64 * self.ps_per_byte) as u64)
    }
}

impl CongestionKind for ConstantRate {
    fn build(&self, path: &Path, _: &PacketSizes) -> Result<Control, BuildError> {
        check_range("factor", self.factor, 1e-6, 1.0)?;
        Ok(Control::ConstantRate(State { ps_per_byte: path.ps_per_byte() / self.factor }))
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::GoBackN(GoBackN::default())
    }
}
