//! Binomial trees: one to all, all to one, and both.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

use super::segment::{Pass, segments};
use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Parts, Plan, check_parts};

/// Broadcast, reduce, gather and scatter over a binomial tree with member 0 at its root; all-reduce and
/// barrier as a reduce followed by a broadcast.
///
/// The parent of a member is the member without its lowest set bit. `ceil(log2 n)` messages lie
/// between the root and the last member: good for short messages, where latency counts (Thakur,
/// Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005). In a
/// broadcast or reduce each is the whole vector: all members together send `(n - 1) B` bytes, twice that
/// for an all-reduce, none for a barrier. In a gather or scatter a message carries the parts of the
/// subtree below it: about `B / 2 log2 n` bytes of all members.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Binomial {
    /// Largest message of a broadcast, reduce or all-reduce: the vector is cut into segments of that
    /// many bytes at most, and a member takes in one while it hands on the one before. The whole vector
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<Bytes>,
}

const DOES: [CollectiveKind; 6] = [
    CollectiveKind::AllReduce,
    CollectiveKind::Broadcast,
    CollectiveKind::Reduce,
    CollectiveKind::Barrier,
    CollectiveKind::Gather,
    CollectiveKind::Scatter,
];

impl CollectiveAlgorithm for Binomial {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        self.plan_parts(kind, Parts::equal(members, bytes))
    }

    fn plan_parts(&self, kind: CollectiveKind, parts: Parts) -> Result<Box<dyn Plan>, BuildError> {
        let uneven = [CollectiveKind::Gather, CollectiveKind::Scatter];
        check_parts("binomial", &DOES, &uneven, kind, &parts)?;
        let tree = Tree { members: parts.members() };
        if uneven.contains(&kind) {
            return Ok(Box::new(PartsPlan { gathers: kind == CollectiveKind::Gather, tree, parts }));
        }
        let bytes = if kind == CollectiveKind::Barrier { 0 } else { parts.total() };
        let pass = Pass { bytes, segments: segments(self.segment, bytes)? };
        Ok(Box::new(WholePlan { kind, tree, pass }))
    }
}

#[derive(Debug, Clone, Copy)]
struct Tree {
    members: u32,
}

impl Tree {
    /// Children of `member`: child `j` is `member + 2^j`.
    fn children(self, member: u32) -> u32 {
        let below = if member == 0 { u32::BITS } else { member.trailing_zeros() };
        // 2^j <= n - 1 - member
        let room = (self.members - 1 - member).checked_ilog2().map_or(0, |log| log + 1);
        below.min(room)
    }

    fn parent(member: u32) -> Option<u32> {
        (member != 0).then(|| member & (member - 1))
    }

    /// Members below `member`, itself first.
    fn subtree(self, member: u32) -> Range<u32> {
        let size = if member == 0 { self.members } else { 1 << member.trailing_zeros() };
        member..(member + size).min(self.members)
    }

    /// Rounds of a member that meets one of its neighbours per round.
    fn rounds(self, member: u32) -> u32 {
        self.children(member) + u32::from(member != 0)
    }

    /// The neighbour that a round upwards meets, and whether it is the parent. Children with small
    /// subtrees are ready first.
    fn upwards(self, member: u32, round: u32) -> (u32, bool) {
        match Self::parent(member) {
            Some(parent) if round == self.children(member) => (parent, true),
            _ => (member + (1 << round), false),
        }
    }

    /// The same downwards: the parent, then the child with the deepest subtree first.
    fn downwards(self, member: u32, round: u32) -> (u32, bool) {
        self.upwards(member, self.rounds(member) - 1 - round)
    }
}

/// Vectors that go up, down, or both.
#[derive(Debug)]
struct WholePlan {
    kind: CollectiveKind,
    tree: Tree,
    pass: Pass,
}

impl WholePlan {
    fn reduces(&self) -> bool {
        self.kind != CollectiveKind::Broadcast
    }

    fn broadcasts(&self) -> bool {
        self.kind != CollectiveKind::Reduce
    }

    fn phase_rounds(&self, member: u32) -> u32 {
        if self.pass.segments == 1 {
            return self.tree.rounds(member);
        }
        self.pass.rounds(member != 0, self.tree.children(member) > 0)
    }
}

impl Plan for WholePlan {
    fn rounds(&self, member: u32) -> u32 {
        (u32::from(self.reduces()) + u32::from(self.broadcasts())) * self.phase_rounds(member)
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let phase = self.phase_rounds(member);
        let up = self.reduces() && round < phase;
        let round = if self.reduces() && !up { round - phase } else { round };
        let combine = if up { Combine::Reduce } else { Combine::Copy };
        if self.pass.segments == 1 {
            let (other, is_parent) =
                if up { self.tree.upwards(member, round) } else { self.tree.downwards(member, round) };
            out.push(if is_parent == up {
                Action::Send { to: other, chunks: 0..1, bytes: self.pass.bytes }
            } else {
                Action::Receive { from: other, chunks: 0..1, combine }
            });
            return;
        }
        let children = (0..self.tree.children(member)).map(|child| member + (1 << child));
        let parent = Tree::parent(member).into_iter();
        if up {
            self.pass.round(round, children, parent, combine, out);
        } else {
            self.pass.round(round, parent, children.rev(), combine, out);
        }
    }

    fn chunks(&self) -> u32 {
        self.pass.segments
    }

    fn owner(&self, _: u32) -> u32 {
        0
    }

    fn total_bytes(&self) -> u64 {
        let phases = if self.kind == CollectiveKind::AllReduce { 2 } else { 1 };
        phases * u64::from(self.tree.members - 1) * self.pass.bytes
    }
}

/// Parts that go up or down, each with its subtree.
#[derive(Debug)]
struct PartsPlan {
    gathers: bool,
    tree: Tree,
    parts: Parts,
}

impl Plan for PartsPlan {
    fn rounds(&self, member: u32) -> u32 {
        self.tree.rounds(member)
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let up = self.gathers;
        let (other, is_parent) =
            if up { self.tree.upwards(member, round) } else { self.tree.downwards(member, round) };
        let chunks = self.tree.subtree(if is_parent { member } else { other });
        out.push(if is_parent == up {
            let bytes = self.parts.bytes(chunks.clone());
            Action::Send { to: other, chunks, bytes }
        } else {
            Action::Receive { from: other, chunks, combine: Combine::Copy }
        });
    }

    fn chunks(&self) -> u32 {
        self.tree.members
    }

    fn owner(&self, chunk: u32) -> u32 {
        chunk
    }

    fn parts(&self) -> Option<&Parts> {
        (!self.parts.is_equal()).then_some(&self.parts)
    }

    fn total_bytes(&self) -> u64 {
        (1..self.tree.members).map(|member| self.parts.bytes(self.tree.subtree(member))).sum()
    }
}
