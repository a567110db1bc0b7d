//! An all-reduce that looks at the size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::recursive_doubling::RecursiveDoublingAllreduce;
use super::ring::RingAllreduce;
use super::{GenerateContext, RankSchedules, SchedulePattern};

/// All-reduce by recursive doubling where the message is small and the ranks are a power of two, around
/// the ring elsewhere: the choice of Schedgen2's `allreduce`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AllreduceBySize {
    /// Most bytes for which doubling is used.
    pub threshold_bytes: u64,
}

impl Default for AllreduceBySize {
    fn default() -> Self {
        Self { threshold_bytes: 4096 }
    }
}

impl SchedulePattern for AllreduceBySize {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        if context.step_bytes() <= self.threshold_bytes && context.ranks.is_power_of_two() {
            RecursiveDoublingAllreduce::default().over(context)
        } else {
            RingAllreduce::default().over(context)
        }
    }
}
