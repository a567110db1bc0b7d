//! The ring all-reduce as one message per member: its bytes without its steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Guarantee, PipelineShape, Plan, check};

/// All-reduce in which every member sends one message of `2 (n - 1) floor(B / n)` bytes to the next
/// one: what a ring all-reduce sends in `2 (n - 1)` steps.
///
/// A cost model, not a schedule: no data could be reduced this way. It pays the latency once instead
/// of `2 (n - 1)` times and lets nobody wait for a slow member in the middle, so it is never slower
/// than the ring. Its use is speed where latency does not matter, and comparison with tools that
/// count a ring in this way.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CoarseRing {
    /// Count the bytes of the coherent ring (`coherent-ring` with free reads): the reduce-scatter only,
    /// `(n - 1) floor(B / n)`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub coherent: bool,
}

impl CollectiveAlgorithm for CoarseRing {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        check("coarse-ring", &[CollectiveKind::AllReduce], kind, members, bytes)?;
        let others = u64::from(members - 1);
        let phases = if self.coherent { 1 } else { 2 };
        let message_bytes = phases * others * (bytes / u64::from(members));
        Ok(Box::new(CoarseRingPlan { members, message_bytes }))
    }
}

#[derive(Debug)]
struct CoarseRingPlan {
    members: u32,
    message_bytes: u64,
}

impl Plan for CoarseRingPlan {
    fn rounds(&self, _: u32) -> u32 {
        u32::from(self.members > 1)
    }

    fn round(&self, member: u32, _: u32, out: &mut Vec<Action>) {
        let n = self.members;
        out.push(Action::Send { to: (member + 1) % n, chunks: 0..1, bytes: self.message_bytes });
        out.push(Action::Receive { from: (member + n - 1) % n, chunks: 0..1, combine: Combine::Reduce });
    }

    fn chunks(&self) -> u32 {
        1
    }

    fn owner(&self, _: u32) -> u32 {
        0
    }

    fn pipeline(&self) -> Option<PipelineShape> {
        (self.members > 1).then_some(PipelineShape {
            steps: 1,
            chunk_bytes: self.message_bytes,
            longer_chunks: 0,
        })
    }

    fn total_bytes(&self) -> u64 {
        u64::from(self.members) * self.message_bytes
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::CostOnly
    }
}
