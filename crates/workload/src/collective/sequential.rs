//! The sequential broadcast: the root serves one member after the other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Plan, check};

/// Broadcast in `n - 1` rounds: the root sends its whole vector to one member after the other.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sequential {}

impl CollectiveAlgorithm for Sequential {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        check("sequential", &[CollectiveKind::Broadcast], kind, members, bytes)?;
        Ok(Box::new(SequentialPlan { members, bytes }))
    }
}

#[derive(Debug)]
struct SequentialPlan {
    members: u32,
    bytes: u64,
}

impl Plan for SequentialPlan {
    fn rounds(&self, member: u32) -> u32 {
        if member == 0 { self.members - 1 } else { 1 }
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        out.push(match member {
            0 => Action::Send { to: round + 1, chunks: 0..1, bytes: self.bytes },
            _ => Action::Receive { from: 0, chunks: 0..1, combine: Combine::Copy },
        });
    }

    fn chunks(&self) -> u32 {
        1
    }

    fn owner(&self, _: u32) -> u32 {
        0
    }

    fn total_bytes(&self) -> u64 {
        u64::from(self.members - 1) * self.bytes
    }
}
