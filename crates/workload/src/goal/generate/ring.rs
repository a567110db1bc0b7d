//! Rings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{GenerateContext, RankSchedules, SchedulePattern, ahead, alike_ranks, behind, per_rank};

/// Broadcast along the ranks in segments of `segment`: a rank passes a segment on when it has
/// received it (schedgen's `pipelinedring`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PipelinedRing {
    /// A rank takes the next segment only when it has passed the last one on (schedgen's
    /// `pipelinedringdep`).
    pub dependent: bool,
}

impl SchedulePattern for PipelinedRing {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (ranks, bytes, dependent) = (context.ranks, context.step_bytes(), self.dependent);
        let segment = context.segment_bytes.unwrap_or(bytes).max(1);
        let segments = bytes.div_ceil(segment);
        let inner = u64::from(ranks).saturating_sub(2);
        let edges = segments.saturating_add(if dependent { segments.saturating_sub(1) } else { 0 });
        let size = ((2 * (u64::from(ranks) - 1)).saturating_mul(segments), inner.saturating_mul(edges));
        let swapped = context.swapped();
        per_rank(size, move |rank, out| {
            let role = swapped(rank);
            let from = role.checked_sub(1).map(swapped);
            let to = (role + 1 < ranks).then(|| swapped(role + 1));
            let mut passed_on = None;
            for part in 0..segments {
                let bytes = segment.min(bytes - part * segment);
                let received = from.map(|from| out.receive(bytes, from));
                let send = to.map(|to| out.send(bytes, to));
                if let (Some(received), Some(send)) = (received, send) {
                    out.requires(send, received);
                    if let (true, Some(before)) = (dependent, passed_on) {
                        out.requires(received, before);
                    }
                }
                passed_on = send;
            }
        })
    }

    fn has_root(&self) -> bool {
        true
    }

    fn has_segments(&self) -> bool {
        true
    }
}

/// A message once around the ring in each direction, from rank 0 and back to it (schedgen's
/// `doublering`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DoubleRing {}

impl SchedulePattern for DoubleRing {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (ranks, bytes) = (context.ranks, context.step_bytes());
        let size = if ranks > 1 { (4 * u64::from(ranks), 2 * (u64::from(ranks) - 1)) } else { (0, 0) };
        per_rank(size, move |rank, out| {
            if ranks == 1 {
                return;
            }
            let (next, before) = (ahead(rank, 1, ranks), behind(rank, 1, ranks));
            for (to, from) in [(next, before), (before, next)] {
                let send = out.send(bytes, to);
                let received = out.receive(bytes, from);
                if rank > 0 {
                    out.requires(send, received);
                }
            }
        })
    }
}

/// All-reduce around the ring: 2 (P - 1) steps in which each rank sends a P-th of its bytes, rounded
/// down, to the next one, and each send but the first waits for the receive of the step before
/// (schedgen's `allreduce_ring`). For chunks that add up to the bytes see `collective`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RingAllreduce {
    /// Every step carries all bytes instead of a P-th, as the schedgen of ATLAHS writes it.
    pub whole_chunks: bool,
}

impl SchedulePattern for RingAllreduce {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let ranks = context.ranks;
        let bytes = context.step_bytes() / if self.whole_chunks { 1 } else { u64::from(ranks) };
        let steps = 2 * (ranks - 1);
        let all = u64::from(ranks);
        let size = (2 * u64::from(steps) * all, u64::from(steps.saturating_sub(1)) * all);
        alike_ranks(size, move |rank, out| {
            let (next, before) = (ahead(rank, 1, ranks), behind(rank, 1, ranks));
            for step in 0..steps {
                let send = out.send(bytes, next);
                if step > 0 {
                    out.requires(send, send - 1);
                }
                out.receive(bytes, before);
            }
        })
    }
}
