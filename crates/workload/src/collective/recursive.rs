//! Recursive halving and doubling: partners at distances that are powers of two.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::folding::{Folding, Role};
use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Plan, bytes_of, check};

/// Reduce-scatter by recursive halving, all-gather by recursive doubling, all-reduce by both.
///
/// In each of the `log2 p` rounds a member exchanges half of what it is still responsible for with
/// a partner (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations
/// in MPICH", 2005): fewer rounds than a ring, the same bytes when the number of members is a power
/// of two. Otherwise `r` members fold into a neighbour first, so that the largest power of two
/// `p <= n` is left, and get the result from it at the end.
///
/// With `B` bytes per member all members together send `B (p - 1)` for each of the two phases, and
/// `B r` for folding the vectors (and `B r` for handing results back; one chunk each where one chunk
/// is enough).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recursive {}

const DOES: [CollectiveKind; 3] =
    [CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather];

impl CollectiveAlgorithm for Recursive {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        check("recursive", &DOES, kind, members, bytes)?;
        Ok(Box::new(RecursivePlan { kind, members, folding: Folding::new(members), bytes }))
    }
}

#[derive(Debug)]
struct RecursivePlan {
    kind: CollectiveKind,
    members: u32,
    folding: Folding,
    bytes: u64,
}

impl RecursivePlan {
    /// First chunk that core member `core` is responsible for. An all-reduce is cut evenly over the
    /// core; in the other kinds a member answers for the chunk of the one that folded into it, too.
    fn first_chunk(&self, core: u32) -> u32 {
        if self.kind == CollectiveKind::AllReduce { core } else { core + core.min(self.folding.folded) }
    }

    fn chunks_of(&self, core: Range<u32>) -> Range<u32> {
        self.first_chunk(core.start)..self.first_chunk(core.end)
    }

    fn send(&self, to: u32, chunks: Range<u32>) -> Action {
        let bytes = bytes_of(self.bytes, self.chunks(), chunks.clone());
        Action::Send { to, chunks, bytes }
    }

    /// What travels from a folded member at the beginning.
    fn handed_in(&self, folded: u32) -> Range<u32> {
        if self.kind == CollectiveKind::AllGather { folded..folded + 1 } else { 0..self.chunks() }
    }

    /// What travels back to it at the end.
    fn handed_back(&self, folded: u32) -> Range<u32> {
        if self.kind == CollectiveKind::ReduceScatter { folded..folded + 1 } else { 0..self.chunks() }
    }

    fn halving_rounds(&self) -> u32 {
        if self.kind == CollectiveKind::AllGather { 0 } else { self.folding.core.ilog2() }
    }

    fn doubling_rounds(&self) -> u32 {
        if self.kind == CollectiveKind::ReduceScatter { 0 } else { self.folding.core.ilog2() }
    }

    fn halve(&self, core: u32, round: u32, out: &mut Vec<Action>) {
        let distance = self.folding.core >> (round + 1);
        let lower = core & !(2 * distance - 1);
        let (keep, give) =
            if core & distance == 0 { (lower, lower + distance) } else { (lower + distance, lower) };
        let partner = self.folding.member(core ^ distance);
        out.push(self.send(partner, self.chunks_of(give..give + distance)));
        let chunks = self.chunks_of(keep..keep + distance);
        out.push(Action::Receive { from: partner, chunks, combine: Combine::Reduce });
    }

    fn double(&self, core: u32, round: u32, out: &mut Vec<Action>) {
        let distance = 1 << round;
        let held = core & !(distance - 1);
        let partner = self.folding.member(core ^ distance);
        out.push(self.send(partner, self.chunks_of(held..held + distance)));
        let theirs = held ^ distance;
        let chunks = self.chunks_of(theirs..theirs + distance);
        out.push(Action::Receive { from: partner, chunks, combine: Combine::Copy });
    }
}

impl Plan for RecursivePlan {
    fn rounds(&self, member: u32) -> u32 {
        match self.folding.role(member) {
            Role::Folded => 2,
            Role::Core(core) => {
                2 * u32::from(core < self.folding.folded) + self.halving_rounds() + self.doubling_rounds()
            }
        }
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let core = match self.folding.role(member) {
            Role::Folded if round == 0 => {
                out.push(self.send(member + 1, self.handed_in(member)));
                return;
            }
            Role::Folded => {
                let chunks = self.handed_back(member);
                out.push(Action::Receive { from: member + 1, chunks, combine: Combine::Copy });
                return;
            }
            Role::Core(core) => core,
        };
        let takes_in = core < self.folding.folded;
        if takes_in && round == 0 {
            let combine =
                if self.kind == CollectiveKind::AllGather { Combine::Copy } else { Combine::Reduce };
            let from = member - 1;
            out.push(Action::Receive { from, chunks: self.handed_in(from), combine });
            return;
        }
        let round = round - u32::from(takes_in);
        if round < self.halving_rounds() {
            self.halve(core, round, out);
        } else if round < self.halving_rounds() + self.doubling_rounds() {
            self.double(core, round - self.halving_rounds(), out);
        } else {
            out.push(self.send(member - 1, self.handed_back(member - 1)));
        }
    }

    fn chunks(&self) -> u32 {
        if self.kind == CollectiveKind::AllReduce { self.folding.core } else { self.members }
    }

    fn owner(&self, chunk: u32) -> u32 {
        if self.kind == CollectiveKind::AllReduce { self.folding.member(chunk) } else { chunk }
    }

    fn total_bytes(&self) -> u64 {
        let (core, folded) = (u64::from(self.folding.core), u64::from(self.folding.folded));
        // every chunk is sent by half of a group that halves each round: p/2 + p/4 + ... = p - 1
        let phase = self.bytes * (core - 1);
        let vectors = self.bytes * folded;
        let single: u64 =
            (0..self.folding.folded).map(|i| bytes_of(self.bytes, self.members, 2 * i..2 * i + 1)).sum();
        match self.kind {
            CollectiveKind::AllReduce => 2 * phase + 2 * vectors,
            _ => phase + vectors + single,
        }
    }
}
