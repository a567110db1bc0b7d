//! Binomial trees: one to all, all to one, and both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Plan, check};

/// Broadcast and reduce over a binomial tree with member 0 at its root; all-reduce and barrier as a
/// reduce followed by a broadcast.
///
/// The parent of a member is the member without its lowest set bit. `ceil(log2 n)` messages lie
/// between the root and the last member, each of the whole vector: good for short messages, where
/// latency counts (Thakur, Rabenseifner and Gropp, "Optimization of collective communication
/// operations in MPICH", 2005). All members together send `(n - 1) B` bytes, twice that for an
/// all-reduce, none for a barrier.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Binomial {}

const DOES: [CollectiveKind; 4] =
    [CollectiveKind::AllReduce, CollectiveKind::Broadcast, CollectiveKind::Reduce, CollectiveKind::Barrier];

impl CollectiveAlgorithm for Binomial {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        check("binomial", &DOES, kind, members, bytes)?;
        let bytes = if kind == CollectiveKind::Barrier { 0 } else { bytes };
        Ok(Box::new(BinomialPlan { kind, members, bytes }))
    }
}

#[derive(Debug)]
struct BinomialPlan {
    kind: CollectiveKind,
    members: u32,
    bytes: u64,
}

impl BinomialPlan {
    fn reduces(&self) -> bool {
        self.kind != CollectiveKind::Broadcast
    }

    fn broadcasts(&self) -> bool {
        self.kind != CollectiveKind::Reduce
    }

    /// Children of `member`: child `j` is `member + 2^j`.
    fn children(&self, member: u32) -> u32 {
        let below = if member == 0 { u32::BITS } else { member.trailing_zeros() };
        // 2^j <= n - 1 - member
        let room = (self.members - 1 - member).checked_ilog2().map_or(0, |log| log + 1);
        below.min(room)
    }

    fn parent(member: u32) -> u32 {
        member & (member - 1)
    }

    /// Rounds of one phase: one per child and one for the parent.
    fn phase_rounds(&self, member: u32) -> u32 {
        self.children(member) + u32::from(member != 0)
    }

    fn send(&self, to: u32) -> Action {
        Action::Send { to, chunks: 0..1, bytes: self.bytes }
    }
}

impl Plan for BinomialPlan {
    fn rounds(&self, member: u32) -> u32 {
        (u32::from(self.reduces()) + u32::from(self.broadcasts())) * self.phase_rounds(member)
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let receive = |from, combine| Action::Receive { from, chunks: 0..1, combine };
        let children = self.children(member);
        let phase = self.phase_rounds(member);
        out.push(if self.reduces() && round < phase {
            // children with small subtrees are ready first
            if round < children {
                receive(member + (1 << round), Combine::Reduce)
            } else {
                self.send(Self::parent(member))
            }
        } else {
            let round = if self.reduces() { round - phase } else { round };
            match (member, round) {
                (1.., 0) => receive(Self::parent(member), Combine::Copy),
                // the child with the deepest subtree first
                _ => self.send(member + (1 << (phase - 1 - round))),
            }
        });
    }

    fn chunks(&self) -> u32 {
        1
    }

    fn owner(&self, _: u32) -> u32 {
        0
    }

    fn total_bytes(&self) -> u64 {
        let phases = if self.kind == CollectiveKind::AllReduce { 2 } else { 1 };
        phases * u64::from(self.members - 1) * self.bytes
    }
}
