//! Bruck's algorithms: all-gather and all-to-all in as many rounds as the number of members has bits.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{
    Action, CollectiveAlgorithm, CollectiveKind, Combine, Parts, Plan, check_pairs, check_parts, countable,
};

/// All-gather and all-to-all in `ceil(log2 n)` rounds for any number of members (Bruck, Ho, Kipnis,
/// Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", 1997): for short messages, where latency counts.
///
/// In round `k` of an all-gather member `i` sends the `2^k` parts from its own on to member `i - 2^k`
/// (the last round sends what is missing): `(n - 1) B` bytes of all members. In round `k` of an
/// all-to-all it sends everything whose way to its destination has bit `k` set to member `i + 2^k`: each
/// part travels once per set bit, about half of the vector per round.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bruck {}

const DOES: [CollectiveKind; 2] = [CollectiveKind::AllGather, CollectiveKind::AllToAll];

impl CollectiveAlgorithm for Bruck {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        self.plan_parts(kind, Parts::equal(members, bytes))
    }

    fn plan_parts(&self, kind: CollectiveKind, parts: Parts) -> Result<Box<dyn Plan>, BuildError> {
        // on the way nobody knows the sizes of what others exchange
        check_parts("bruck", &DOES, &[CollectiveKind::AllGather], kind, &parts)?;
        let (members, bytes) = (parts.members(), parts.total());
        check_pairs(kind, members)?;
        countable(members, bytes, members.ilog2() + 2)?;
        if members > 1 << 27 {
            let reason = format!("at most 2^27 members can be served by `bruck`, got {members}");
            return Err(BuildError::new("", reason));
        }
        Ok(if kind == CollectiveKind::AllGather {
            Box::new(Gather { members, parts })
        } else {
            Box::new(Exchange { members, bytes })
        })
    }
}

fn rounds(members: u32) -> u32 {
    u32::BITS - (members - 1).leading_zeros()
}

/// The number of the message that `sender` sends in `round`.
fn message(members: u32, round: u32, sender: u32) -> Range<u32> {
    let number = round * members + sender;
    number..number + 1
}

#[derive(Debug)]
struct Gather {
    members: u32,
    parts: Parts,
}

impl Gather {
    /// Parts that every member sends in `round`, from its own on.
    fn count(&self, round: u32) -> u32 {
        (1 << round).min(self.members - (1 << round))
    }
}

impl Plan for Gather {
    fn rounds(&self, _: u32) -> u32 {
        rounds(self.members)
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let (n, distance) = (self.members, 1 << round);
        let (to, from) = ((member + n - distance) % n, (member + distance) % n);
        let bytes = self.parts.bytes_around(member, self.count(round));
        out.push(Action::Send { to, chunks: message(n, round, member), bytes });
        out.push(Action::Receive { from, chunks: message(n, round, from), combine: Combine::Copy });
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

    fn numbers_messages(&self) -> bool {
        true
    }

    fn carried(&self, chunks: &Range<u32>, out: &mut Vec<Range<u32>>) {
        let n = self.members;
        for message in chunks.clone() {
            let (round, sender) = (message / n, message % n);
            let count = self.count(round);
            let to_end = count.min(n - sender);
            out.push(sender..sender + to_end);
            if count > to_end {
                out.push(0..count - to_end);
            }
        }
    }

    fn total_bytes(&self) -> u64 {
        u64::from(self.members - 1) * self.parts.total()
    }
}

#[derive(Debug)]
struct Exchange {
    members: u32,
    bytes: u64,
}

impl Exchange {
    /// Distances to the destination, in runs of those that a round sends: (first, how many).
    fn runs(&self, round: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (n, bit) = (self.members, 1_u32 << round);
        (bit..n).step_by(2 * bit as usize).map(move |first| (first, bit.min(n - first)))
    }

    /// Bytes that `member` sends in `round`. A run ends at one destination: its parts come from
    /// different members.
    fn sent(&self, member: u32, round: u32) -> u64 {
        let n = u64::from(self.members);
        let (each, longer) = (self.bytes / n, self.bytes % n);
        let count: u64 = self.runs(round).map(|(_, count)| u64::from(count)).sum();
        if longer == 0 {
            return count * each;
        }
        let longer = self.runs(round).filter(|(first, _)| u64::from(member + first) % n < longer);
        count * each + longer.map(|(_, count)| u64::from(count)).sum::<u64>()
    }
}

impl Plan for Exchange {
    fn rounds(&self, _: u32) -> u32 {
        rounds(self.members)
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let (n, distance) = (self.members, 1 << round);
        let (to, from) = ((member + distance) % n, (member + n - distance) % n);
        let bytes = self.sent(member, round);
        out.push(Action::Send { to, chunks: message(n, round, member), bytes });
        out.push(Action::Receive { from, chunks: message(n, round, from), combine: Combine::Copy });
    }

    fn chunks(&self) -> u32 {
        self.members * self.members
    }

    fn owner(&self, chunk: u32) -> u32 {
        chunk % self.members
    }

    fn numbers_messages(&self) -> bool {
        true
    }

    fn carried(&self, chunks: &Range<u32>, out: &mut Vec<Range<u32>>) {
        let n = self.members;
        for message in chunks.clone() {
            let (round, sender) = (message / n, message % n);
            for (first, count) in self.runs(round) {
                for distance in first..first + count {
                    // lower bits of its way are behind it
                    let origin = (sender + n - distance % (1 << round)) % n;
                    let chunk = origin * n + (origin + distance) % n;
                    out.push(chunk..chunk + 1);
                }
            }
        }
    }

    fn total_bytes(&self) -> u64 {
        // every distance once per set bit, from every member; each destination is hit by all members
        let hops: u64 = (1..self.members).map(|distance| u64::from(distance.count_ones())).sum();
        hops * self.bytes
    }
}
