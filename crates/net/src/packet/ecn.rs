//! Which packets queues mark.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

/// Marking (explicit congestion notification): a packet that leaves a port of a switch, or of a host that forwards, with more
/// than `min` bytes waiting behind it, of its class, may be marked, the more likely the closer to `max`, from where on each is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Ecn {
    /// Whether anything is marked; without, what else is said here has no effect.
    pub enabled: bool,
    /// Bytes from which on packets may be marked; a fifth of the bytes in flight on the longest way when absent, in
    /// whole packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Bytes>,
    /// Bytes above which all are; four fifths when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Bytes>,
    /// The share of packets that are marked where almost `max` bytes wait, above 0 and at most 1: `P_max` of DCQCN, 0.01 there.
    /// Above `max`, all are.
    pub max_probability: f64,
    /// Whether ports that lead to hosts mark, too. When absent, they do, unless receivers give credit (`ndp`, `eqds`, `rccc`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_hop: Option<bool>,
}

impl Default for Ecn {
    fn default() -> Self {
        Self { enabled: true, min: None, max: None, max_probability: 1.0, last_hop: None }
    }
}

impl Ecn {
    /// `min` and `max` in bytes, of a port on whose longest way so many full packets are in flight.
    pub(super) fn thresholds(&self, packets: u64, full: u64) -> Result<(u64, u64), BuildError> {
        let share = |given: Option<Bytes>, fifths: u64| {
            given.map_or((packets * fifths).div_ceil(5) * full, |bytes| bytes.count())
        };
        let (min, max) = (share(self.min, 1), share(self.max, 4));
        if min <= max {
            return Ok((min, max));
        }
        let (min, max) = (Bytes(min), Bytes(max));
        let (key, reason) = match (self.min, self.max) {
            (_, None) => ("min", format!("{min}, and `max`, where not given, is {max}; it must not be more")),
            (None, _) => ("max", format!("{max}, and `min`, where not given, is {min}; it must not be less")),
            _ => ("max", format!("{max}, and `min` is {min}; it must not be less")),
        };
        Err(BuildError::new(key, reason).within("ecn"))
    }
}
