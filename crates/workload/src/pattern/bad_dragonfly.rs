//! The worst case of minimal routing on dragonflies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Destinations, Layout, Pattern, Rule, at_least_two};

/// Every rank sends to the ranks of the next group, each as often, so that minimal routes of a whole group
/// share one global channel (Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly
/// topology", 2008: the worst case).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct BadDragonfly {
    /// Ranks per group; those of all but the outermost dimension of the machine when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
}

impl Pattern for BadDragonfly {
    fn destinations(&self, layout: &Layout, _: &mut Stream) -> Result<Box<dyn Destinations>, BuildError> {
        let ranks = layout.ranks;
        at_least_two(ranks)?;
        let Some(group) = self.group.or_else(|| Some(ranks / layout.digits()?.last()?)) else {
            return Err(BuildError::new(
                "group",
                "the machine has no dimensions; say how many ranks make a group",
            ));
        };
        if group == 0 || group >= ranks || !ranks.is_multiple_of(group) {
            let reason = format!("groups of {group} ranks do not divide {ranks} ranks into two or more");
            return Err(BuildError::new("group", reason));
        }
        let draw = move |source: u32, draws: &mut Draws| {
            let next = (source / group + 1) % (ranks / group);
            next * group + draws.below(group)
        };
        Ok(Box::new(Rule("bad-dragonfly", draw)))
    }
}
