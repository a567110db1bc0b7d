//! Packets that others overtake.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration};

use super::{Chance, Fault, Wires, share};

/// Packets of any kind are held up on links, each for a time of its own, so that later ones overtake them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reordering {
    /// Share of packets that each link holds up, from 0 to below 1.
    pub probability: f64,
    /// Most time that one is held up; any time up to it is as likely.
    pub delay: Duration,
    /// Names of links; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,
}

impl Fault for Reordering {
    fn apply(&self, wires: &mut Wires<'_>) -> Result<(), BuildError> {
        let share = share(self.probability)?;
        if self.delay == Duration::ZERO {
            return Err(BuildError::new("delay", "0 s; without a delay nothing is overtaken"));
        }
        let most_ps = self.delay.as_ps();
        wires.each(self.links.as_deref(), |faults, key| {
            faults.holds_up = Chance::new(share, key);
            faults.most_delay_ps = most_ps;
        })
    }
}
