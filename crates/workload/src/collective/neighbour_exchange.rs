//! The neighbour exchange all-gather.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Parts, Plan, check_parts};

/// All-gather in `n / 2` rounds between neighbours, for even numbers of members.
///
/// A member exchanges its part with one neighbour, then two parts per round with both of its neighbours
/// in turn, those that it got last (Chen, Zhang, Zhang and Yuan, "Performance evaluation of allgather
/// algorithms on terascale Linux cluster with fast Ethernet", 2005). Half the rounds of a ring, in both
/// directions. All members together send `(n - 1) B` bytes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NeighbourExchange {}

const DOES: [CollectiveKind; 1] = [CollectiveKind::AllGather];

impl CollectiveAlgorithm for NeighbourExchange {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        self.plan_parts(kind, Parts::equal(members, bytes))
    }

    fn plan_parts(&self, kind: CollectiveKind, parts: Parts) -> Result<Box<dyn Plan>, BuildError> {
        check_parts("neighbour-exchange", &DOES, &DOES, kind, &parts)?;
        let members = parts.members();
        if members > 1 && !members.is_multiple_of(2) {
            let reason =
                format!("`neighbour-exchange` pairs an even number of members, not {members}; choose `ring`");
            return Err(BuildError::new("kind", reason));
        }
        Ok(Box::new(NeighbourPlan { members, parts }))
    }
}

#[derive(Debug)]
struct NeighbourPlan {
    members: u32,
    parts: Parts,
}

impl NeighbourPlan {
    /// Parts that `member` gets in `round`: its neighbour's, then pairs that come from further and
    /// further away, from both sides in turn.
    fn received(&self, member: u32, round: u32) -> Range<u32> {
        let (n, odd) = (self.members, member % 2);
        if round == 0 {
            let other = member ^ 1;
            return other..other + 1;
        }
        let distance = round + round % 2;
        // even members get odd rounds from below, odd members from above
        let below = (round + odd) % 2 == 1;
        let pair = member - odd;
        let first = if below { (pair + n - distance) % n } else { (pair + distance) % n };
        first..first + 2
    }

    fn sent(&self, member: u32, round: u32) -> Range<u32> {
        match round {
            0 => member..member + 1,
            1 => member & !1..(member & !1) + 2,
            _ => self.received(member, round - 1),
        }
    }
}

impl Plan for NeighbourPlan {
    fn rounds(&self, _: u32) -> u32 {
        self.members / 2
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let n = self.members;
        let below = (round + member % 2) % 2 == 1;
        let other = if below { (member + n - 1) % n } else { (member + 1) % n };
        let (sent, received) = (self.sent(member, round), self.received(member, round));
        let bytes = self.parts.bytes(sent.clone());
        out.push(Action::Send { to: other, chunks: sent, bytes });
        out.push(Action::Receive { from: other, chunks: received, combine: Combine::Copy });
    }

    fn chunks(&self) -> u32 {
        self.members
    }

    fn owner(&self, chunk: u32) -> u32 {
        chunk
    }

    fn parts(&self) -> Option<&Parts> {
        (!self.parts.is_equal()).then_some(&self.parts)
    }

    fn total_bytes(&self) -> u64 {
        u64::from(self.members - 1) * self.parts.total()
    }
}
