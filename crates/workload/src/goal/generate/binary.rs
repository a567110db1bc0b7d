//! The binary tree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{GenerateContext, RankSchedules, SchedulePattern, per_rank};

/// Broadcast down a complete binary tree: rank r sends to 2 r + 1 and 2 r + 2 (schedgen's
/// `binarytreebcast`). With a root other than 0 schedgen's messages do not find each other; here the
/// root and rank 0 change places.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct BinaryBroadcast {}

impl SchedulePattern for BinaryBroadcast {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (ranks, bytes, swapped) = (context.ranks, context.step_bytes(), context.swapped());
        let edges = u64::from(ranks) - 1;
        per_rank((2 * edges, edges - edges.min(2)), move |rank, out| {
            let role = swapped(rank);
            let received = role.checked_sub(1).map(|before| out.receive(bytes, swapped(before / 2)));
            for child in [2 * u64::from(role) + 1, 2 * u64::from(role) + 2] {
                if child >= u64::from(ranks) {
                    break;
                }
                let send = out.send(bytes, swapped(child as u32));
                if let Some(received) = received {
                    out.requires(send, received);
                }
            }
        })
    }

    fn has_root(&self) -> bool {
        true
    }
}
