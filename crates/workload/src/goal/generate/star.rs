//! One rank and all others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::all_to_all::{Sizes, check_imbalance};
use super::{GenerateContext, RankSchedules, SchedulePattern, per_rank};

/// Everybody sends to the root, which takes the messages in the order of the ranks (schedgen's
/// `gather`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Gather {}

impl SchedulePattern for Gather {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        star(context, true, 0.0)
    }

    fn has_root(&self) -> bool {
        true
    }
}

/// The root sends to everybody, in the order of the ranks (schedgen's `scatter`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Scatter {}

impl SchedulePattern for Scatter {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        star(context, false, 0.0)
    }

    fn has_root(&self) -> bool {
        true
    }
}

/// A gather of messages of different sizes (Schedgen2's `incast`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Incast {
    /// Sizes are drawn evenly from so much below the bytes to so much above, as a fraction of them, 0 to
    /// 1. Schedgen2's unbalanced variant is 0.1.
    pub imbalance: f64,
}

impl SchedulePattern for Incast {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        star(context, true, self.imbalance)
    }

    fn has_root(&self) -> bool {
        true
    }
}

/// A scatter of messages of different sizes (Schedgen2's `outcast`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Outcast {
    /// Sizes are drawn evenly from so much below the bytes to so much above, as a fraction of them, 0 to
    /// 1. Schedgen2's unbalanced variant is 0.1.
    pub imbalance: f64,
}

impl SchedulePattern for Outcast {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        star(context, false, self.imbalance)
    }

    fn has_root(&self) -> bool {
        true
    }
}

fn star(
    context: &GenerateContext,
    inward: bool,
    imbalance: f64,
) -> Result<Box<dyn RankSchedules>, BuildError> {
    check_imbalance(imbalance)?;
    let (ranks, swapped) = (context.ranks, context.swapped());
    let sizes = Sizes::around(context, imbalance);
    per_rank((2 * (u64::from(ranks) - 1), 0), move |rank, out| {
        let root = swapped(0);
        let mut transfer = |leaf: u32, peer: u32, sends: bool| {
            let bytes = if inward { sizes.of(leaf, root) } else { sizes.of(root, leaf) };
            if sends {
                out.send(bytes, peer);
            } else {
                out.receive(bytes, peer);
            }
        };
        if rank == root {
            for role in 1..ranks {
                transfer(swapped(role), swapped(role), !inward);
            }
        } else {
            transfer(rank, root, inward);
        }
    })
}
