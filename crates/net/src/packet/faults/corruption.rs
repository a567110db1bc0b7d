//! Packets whose bits were changed on the way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Chance, Fault, Wires, share};

/// Packets of any kind are changed on links: they go on and take time and room as ever, but the host that gets them
/// sees a wrong checksum and throws them away, without a word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Corruption {
    /// Share of packets that each link changes, from 0 to below 1.
    pub probability: f64,
    /// Names of links; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,
}

impl Fault for Corruption {
    fn apply(&self, wires: &mut Wires<'_>) -> Result<(), BuildError> {
        let share = share(self.probability)?;
        wires.each(self.links.as_deref(), |faults, key| faults.corrupts = Chance::new(share, key))
    }
}
