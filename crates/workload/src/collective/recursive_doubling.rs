//! Recursive doubling of whole vectors: all-reduce, scan, exclusive scan and barrier.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::folding::{Folding, Role};
use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Plan, check, countable};

/// All-reduce, scan, exclusive scan and barrier in `ceil(log2 n)` rounds of whole vectors.
///
/// In round `k` a member exchanges its sum with the member whose number differs in bit `k`: the fewest
/// rounds possible, but a whole vector in each, so for short vectors (Thakur, Rabenseifner and Gropp,
/// "Optimization of collective communication operations in MPICH", 2005). `recursive` exchanges halves
/// instead. In an all-reduce or a barrier the `r` members beyond the largest power of two `p` fold into
/// a neighbour first and get the result from it: two more rounds, `B (p log2 p + 2 r)` bytes of all
/// members. In a scan a member only adds to its result what comes from members before it, and rounds
/// without a partner fall away: `B` bytes for every set bit of every member's number, twice.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RecursiveDoubling {}

const DOES: [CollectiveKind; 4] =
    [CollectiveKind::AllReduce, CollectiveKind::Barrier, CollectiveKind::Scan, CollectiveKind::ExclusiveScan];

impl CollectiveAlgorithm for RecursiveDoubling {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        check("recursive-doubling", &DOES, kind, members, bytes)?;
        countable(members, bytes, members.ilog2() + 2)?;
        Ok(match kind {
            CollectiveKind::Scan | CollectiveKind::ExclusiveScan => Box::new(Scan { members, bytes }),
            CollectiveKind::Barrier => Box::new(Exchange { folding: Folding::new(members), bytes: 0 }),
            _ => Box::new(Exchange { folding: Folding::new(members), bytes }),
        })
    }
}

fn send(to: u32, bytes: u64) -> Action {
    Action::Send { to, chunks: 0..1, bytes }
}

fn receive(from: u32, combine: Combine) -> Action {
    Action::Receive { from, chunks: 0..1, combine }
}

/// An all-reduce.
#[derive(Debug)]
struct Exchange {
    folding: Folding,
    bytes: u64,
}

impl Plan for Exchange {
    fn rounds(&self, member: u32) -> u32 {
        match self.folding.role(member) {
            Role::Folded => 2,
            Role::Core(core) => self.folding.core.ilog2() + 2 * u32::from(core < self.folding.folded),
        }
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let core = match self.folding.role(member) {
            Role::Folded => {
                let other = member + 1;
                out.push(if round == 0 { send(other, self.bytes) } else { receive(other, Combine::Copy) });
                return;
            }
            Role::Core(core) => core,
        };
        let takes_in = core < self.folding.folded;
        let exchanges = self.folding.core.ilog2();
        match round.checked_sub(u32::from(takes_in)) {
            None => out.push(receive(member - 1, Combine::Reduce)),
            Some(bit) if bit < exchanges => {
                let partner = self.folding.member(core ^ 1 << bit);
                out.extend([send(partner, self.bytes), receive(partner, Combine::Reduce)]);
            }
            Some(_) => out.push(send(member - 1, self.bytes)),
        }
    }

    fn chunks(&self) -> u32 {
        1
    }

    fn owner(&self, _: u32) -> u32 {
        0
    }

    fn total_bytes(&self) -> u64 {
        let Folding { core, folded } = self.folding;
        self.bytes * (u64::from(core) * u64::from(core.ilog2()) + 2 * u64::from(folded))
    }
}

/// A scan, inclusive or not: they differ in what a member starts its result with.
#[derive(Debug)]
struct Scan {
    members: u32,
    bytes: u64,
}

impl Scan {
    /// Bits in which a member has a partner, by round.
    fn partners(&self, member: u32) -> impl Iterator<Item = u32> + use<> {
        let members = self.members;
        (0..u32::BITS - (members - 1).leading_zeros())
            .map(move |bit| member ^ 1 << bit)
            .filter(move |&partner| partner < members)
    }
}

impl Plan for Scan {
    fn rounds(&self, member: u32) -> u32 {
        self.partners(member).count() as u32
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let Some(partner) = self.partners(member).nth(round as usize) else { return };
        let combine = if partner < member { Combine::Scan } else { Combine::Reduce };
        out.extend([send(partner, self.bytes), receive(partner, combine)]);
    }

    fn chunks(&self) -> u32 {
        1
    }

    fn owner(&self, _: u32) -> u32 {
        0
    }

    fn total_bytes(&self) -> u64 {
        let n = u64::from(self.members);
        // whoever has bit k set has a partner without it
        let with_bit = |bit: u32| (n >> (bit + 1) << bit) + (n % (2 << bit)).saturating_sub(1 << bit);
        2 * self.bytes * (0..u32::BITS).map(with_bit).sum::<u64>()
    }
}
