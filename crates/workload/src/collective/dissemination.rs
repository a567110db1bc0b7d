//! The dissemination barrier.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Plan, check};

/// Barrier in `ceil(log2 n)` rounds: in round `k` member `i` tells member `i + 2^k` that it and
/// everybody it heard of have come, and hears the same from `i - 2^k` (Hensgen, Finkel and Manber,
/// "Two algorithms for barrier synchronization", 1988). Messages are empty.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Dissemination {}

impl CollectiveAlgorithm for Dissemination {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        check("dissemination", &[CollectiveKind::Barrier], kind, members, bytes)?;
        Ok(Box::new(DisseminationPlan { members }))
    }
}

#[derive(Debug)]
struct DisseminationPlan {
    members: u32,
}

impl Plan for DisseminationPlan {
    fn rounds(&self, _: u32) -> u32 {
        // ceil(log2 n)
        u32::BITS - (self.members - 1).leading_zeros()
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let (n, i, distance) = (u64::from(self.members), u64::from(member), 1_u64 << round);
        let to = ((i + distance) % n) as u32;
        let from = ((i + n - distance) % n) as u32;
        out.push(Action::Send { to, chunks: 0..1, bytes: 0 });
        out.push(Action::Receive { from, chunks: 0..1, combine: Combine::Reduce });
    }

    fn chunks(&self) -> u32 {
        1
    }

    fn owner(&self, _: u32) -> u32 {
        0
    }

    fn total_bytes(&self) -> u64 {
        0
    }
}
