//! A chain of members: what one has got it hands to the next one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

use super::segment::{Pass, segments};
use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Plan, check};

/// Broadcast, reduce, scan and exclusive scan along the chain of all members, pipelined in segments.
///
/// Member `i` takes from member `i - 1` and hands on to member `i + 1`; a reduce runs from the last
/// member to member 0. With `s` segments the last member is done after `s + n - 2` steps, and while the
/// chain is full every member sends and receives at full rate: for long vectors and few members.
/// Without `segment` this is the linear scan. All members together send `(n - 1) B` bytes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Chain {
    /// Largest message: the vector is cut into segments of that many bytes at most. Small segments fill
    /// the chain sooner, large ones pay fewer latencies. The whole vector when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<Bytes>,
}

const DOES: [CollectiveKind; 4] =
    [CollectiveKind::Broadcast, CollectiveKind::Reduce, CollectiveKind::Scan, CollectiveKind::ExclusiveScan];

impl CollectiveAlgorithm for Chain {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        check("chain", &DOES, kind, members, bytes)?;
        let pass = Pass { bytes, segments: segments(self.segment, bytes)? };
        Ok(Box::new(ChainPlan { kind, members, pass }))
    }
}

#[derive(Debug)]
struct ChainPlan {
    kind: CollectiveKind,
    members: u32,
    pass: Pass,
}

impl ChainPlan {
    /// The members before and after `member` on the way of the data.
    fn neighbours(&self, member: u32) -> [Option<u32>; 2] {
        let lower = member.checked_sub(1);
        let upper = (member + 1 < self.members).then_some(member + 1);
        if self.kind == CollectiveKind::Reduce { [upper, lower] } else { [lower, upper] }
    }
}

impl Plan for ChainPlan {
    fn rounds(&self, member: u32) -> u32 {
        let [before, after] = self.neighbours(member);
        self.pass.rounds(before.is_some(), after.is_some())
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let [before, after] = self.neighbours(member);
        let combine = match self.kind {
            CollectiveKind::Broadcast => Combine::Copy,
            CollectiveKind::Reduce => Combine::Reduce,
            _ => Combine::Scan,
        };
        self.pass.round(round, before.into_iter(), after.into_iter(), combine, out);
    }

    fn chunks(&self) -> u32 {
        self.pass.segments
    }

    fn owner(&self, _: u32) -> u32 {
        0
    }

    fn total_bytes(&self) -> u64 {
        u64::from(self.members - 1) * self.pass.bytes
    }
}
