//! Packets that come twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Chance, Fault, Wires, share};

/// Packets of any kind come twice at the end of a link, one right behind the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Duplication {
    /// Share of packets that each link doubles, from 0 to below 1.
    pub probability: f64,
    /// Names of links; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,
}

impl Fault for Duplication {
    fn apply(&self, wires: &mut Wires<'_>) -> Result<(), BuildError> {
        let share = share(self.probability)?;
        wires.each(self.links.as_deref(), |faults, key| faults.doubles = Chance::new(share, key))
    }
}
