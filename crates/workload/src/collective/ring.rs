//! Ring algorithms: every member sends to the next one and receives from the one before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Parts, PipelineShape, Plan, check_parts};

/// Ring reduce-scatter (`n - 1` rounds), all-gather (`n - 1`) and all-reduce (both, `2 (n - 1)`).
///
/// The vector is cut into `n` chunks; in round `s` member `i` sends chunk `i - s` to member `i + 1`
/// (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
/// 2009). Each member sends `bytes / n` per round.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ring {}

const DOES: [CollectiveKind; 3] =
    [CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather];

impl CollectiveAlgorithm for Ring {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        self.plan_parts(kind, Parts::equal(members, bytes))
    }

    fn plan_parts(&self, kind: CollectiveKind, parts: Parts) -> Result<Box<dyn Plan>, BuildError> {
        check_parts("ring", &DOES, &[CollectiveKind::AllGather], kind, &parts)?;
        Ok(Box::new(RingPlan { kind, members: parts.members(), parts }))
    }
}

#[derive(Debug)]
struct RingPlan {
    kind: CollectiveKind,
    members: u32,
    parts: Parts,
}

impl RingPlan {
    /// Rounds of the reduce-scatter phase, whose chunks are added up on their way.
    fn reducing_rounds(&self) -> u32 {
        if self.kind == CollectiveKind::AllGather { 0 } else { self.members.saturating_sub(1) }
    }
}

impl Plan for RingPlan {
    fn rounds(&self, _: u32) -> u32 {
        let once = self.members.saturating_sub(1);
        if self.kind == CollectiveKind::AllReduce { 2 * once } else { once }
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let n = self.members;
        let sent = (member + n - round % n) % n;
        let received = (sent + n - 1) % n;
        let combine = if round < self.reducing_rounds() { Combine::Reduce } else { Combine::Copy };
        out.push(Action::Send {
            to: (member + 1) % n,
            chunks: sent..sent + 1,
            bytes: self.parts.bytes(sent..sent + 1),
        });
        out.push(Action::Receive { from: (member + n - 1) % n, chunks: received..received + 1, combine });
    }

    fn chunks(&self) -> u32 {
        self.members
    }

    fn owner(&self, chunk: u32) -> u32 {
        // a reduce-scatter ends with chunk c at member c - 1, an all-gather starts with c at c
        let shift = if self.kind == CollectiveKind::AllGather { 0 } else { self.members - 1 };
        (chunk + shift) % self.members
    }

    fn pipeline(&self) -> Option<PipelineShape> {
        let (n, bytes) = (u64::from(self.members), self.parts.total());
        (n > 1 && self.parts.is_equal()).then(|| PipelineShape {
            steps: self.rounds(0),
            chunk_bytes: bytes / n,
            longer_chunks: (bytes % n) as u32,
        })
    }

    fn parts(&self) -> Option<&Parts> {
        (!self.parts.is_equal()).then_some(&self.parts)
    }

    fn total_bytes(&self) -> u64 {
        let phases = if self.kind == CollectiveKind::AllReduce { 2 } else { 1 };
        phases * u64::from(self.members.saturating_sub(1)) * self.parts.total()
    }
}
