//! The barrier of a counter at rank 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{GenerateContext, RankSchedules, SchedulePattern, per_rank};

/// Everybody tells rank 0 and is told by it when all have come (schedgen's `linbarrier`). Rank 0 joins
/// the receives in a computation of no time. Messages have 1 byte when no bytes are given; schedgen has no
/// others.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LinearBarrier {}

impl SchedulePattern for LinearBarrier {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (ranks, bytes) = (context.ranks, context.step_bytes());
        let others = u64::from(ranks) - 1;
        per_rank((1 + 4 * others, 2 * others), move |rank, out| {
            if rank > 0 {
                out.send(bytes, 0);
                out.receive(bytes, 0);
                return;
            }
            let all = out.calc(0);
            for other in 1..ranks {
                let came = out.receive(bytes, other);
                let leave = out.send(bytes, other);
                out.requires(all, came);
                out.requires(leave, all);
            }
        })
    }
}
