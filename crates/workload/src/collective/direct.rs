//! Direct exchange: every member sends to every other one without detours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::check::check_at_once;
use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Parts, Plan, check_pairs, check_parts};

/// All-to-all, all-gather, reduce-scatter, all-reduce (reduce-scatter, then all-gather), broadcast
/// and scatter (the root sends to everybody), reduce and gather (everybody sends to the root): the
/// linear algorithms of MPI.
///
/// Member `i` serves the others in the order `i + 1`, `i + 2`, ... so that no member is everybody's
/// first target. All members together send `(n - 1) B` bytes, twice that for an all-reduce. One
/// latency per phase, but up to `n - 1` messages of a member at once: `window` limits them. A scatter or gather sends all but
/// the root's own part.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Direct {
    /// Messages that a member sends at once; the next ones wait for all of them. Everything at once
    /// when absent, of all members together at most 2^31. A reduce or gather, where each member sends a single message, is not
    /// limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

const DOES: [CollectiveKind; 8] = [
    CollectiveKind::AllReduce,
    CollectiveKind::ReduceScatter,
    CollectiveKind::AllGather,
    CollectiveKind::Broadcast,
    CollectiveKind::Reduce,
    CollectiveKind::AllToAll,
    CollectiveKind::Gather,
    CollectiveKind::Scatter,
];

/// Those in which every member sends to every other one.
const EXCHANGES: [CollectiveKind; 4] = [
    CollectiveKind::AllReduce,
    CollectiveKind::ReduceScatter,
    CollectiveKind::AllGather,
    CollectiveKind::AllToAll,
];

/// Those in which the parts of the members may differ.
const UNEVEN: [CollectiveKind; 4] =
    [CollectiveKind::AllGather, CollectiveKind::AllToAll, CollectiveKind::Gather, CollectiveKind::Scatter];

impl CollectiveAlgorithm for Direct {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        self.plan_parts(kind, Parts::equal(members, bytes))
    }

    fn plan_parts(&self, kind: CollectiveKind, parts: Parts) -> Result<Box<dyn Plan>, BuildError> {
        check_parts("direct", &DOES, &UNEVEN, kind, &parts)?;
        let members = parts.members();
        check_pairs(kind, members)?;
        let window = window(self.window, members)?;
        if EXCHANGES.contains(&kind) {
            check_at_once("direct", kind, members, window)?;
        }
        Ok(Box::new(DirectPlan { kind, members, window, parts }))
    }
}

/// Messages at once: what the user allows, but no more than there are others.
pub(super) fn window(given: Option<u32>, members: u32) -> Result<u32, BuildError> {
    match given {
        Some(0) => Err(BuildError::new("window", "a window of 0 messages sends nothing; give at least 1")),
        given => Ok(given.unwrap_or(u32::MAX).clamp(1, members.saturating_sub(1).max(1))),
    }
}

#[derive(Debug)]
struct DirectPlan {
    kind: CollectiveKind,
    members: u32,
    window: u32,
    parts: Parts,
}

impl DirectPlan {
    /// Rounds of an exchange with all others.
    fn exchange_rounds(&self) -> u32 {
        (self.members - 1).div_ceil(self.window)
    }

    fn send(&self, to: u32, chunk: u32) -> Action {
        Action::Send { to, chunks: chunk..chunk + 1, bytes: self.parts.bytes(chunk..chunk + 1) }
    }

    /// The others that `round` serves, as distances from the member.
    fn distances(&self, round: u32) -> impl Iterator<Item = u32> + use<> {
        let first = round * self.window + 1;
        first..(first + self.window).min(self.members)
    }
}

impl Plan for DirectPlan {
    fn rounds(&self, member: u32) -> u32 {
        if self.members == 1 {
            return 0;
        }
        match (self.kind, member) {
            (CollectiveKind::Broadcast | CollectiveKind::Scatter, 1..)
            | (CollectiveKind::Reduce | CollectiveKind::Gather, _) => 1,
            (CollectiveKind::AllReduce, _) => 2 * self.exchange_rounds(),
            _ => self.exchange_rounds(),
        }
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let n = self.members;
        let whole = |to| Action::Send { to, chunks: 0..1, bytes: self.parts.total() };
        let receive = |from, chunk, combine| Action::Receive { from, chunks: chunk..chunk + 1, combine };
        let scatters = match self.kind {
            CollectiveKind::Broadcast if member == 0 => {
                out.extend(self.distances(round).map(whole));
                return;
            }
            CollectiveKind::Broadcast => {
                out.push(receive(0, 0, Combine::Copy));
                return;
            }
            CollectiveKind::Reduce if member == 0 => {
                out.extend((1..n).map(|from| receive(from, 0, Combine::Reduce)));
                return;
            }
            CollectiveKind::Reduce => {
                out.push(whole(0));
                return;
            }
            CollectiveKind::Scatter if member == 0 => {
                out.extend(self.distances(round).map(|to| self.send(to, to)));
                return;
            }
            CollectiveKind::Scatter => {
                out.push(receive(0, member, Combine::Copy));
                return;
            }
            CollectiveKind::Gather if member == 0 => {
                out.extend((1..n).map(|from| receive(from, from, Combine::Copy)));
                return;
            }
            CollectiveKind::Gather => {
                out.push(self.send(0, member));
                return;
            }
            CollectiveKind::ReduceScatter => true,
            CollectiveKind::AllReduce => round < self.exchange_rounds(),
            _ => false,
        };
        for distance in self.distances(round % self.exchange_rounds()) {
            let to = (member + distance) % n;
            let from = (member + n - distance) % n;
            if self.kind == CollectiveKind::AllToAll {
                let bytes = self.parts.bytes_from(member, to..to + 1);
                let chunk = member * n + to;
                out.push(Action::Send { to, chunks: chunk..chunk + 1, bytes });
                out.push(receive(from, from * n + member, Combine::Copy));
            } else if scatters {
                out.push(self.send(to, to));
                out.push(receive(from, member, Combine::Reduce));
            } else {
                out.push(self.send(to, member));
                out.push(receive(from, from, Combine::Copy));
            }
        }
    }

    fn chunks(&self) -> u32 {
        match self.kind {
            CollectiveKind::Broadcast | CollectiveKind::Reduce => 1,
            CollectiveKind::AllToAll => self.members * self.members,
            _ => self.members,
        }
    }

    fn owner(&self, chunk: u32) -> u32 {
        chunk % self.members
    }

    fn parts(&self) -> Option<&Parts> {
        (!self.parts.is_equal()).then_some(&self.parts)
    }

    fn total_bytes(&self) -> u64 {
        let others = u64::from(self.members - 1);
        match self.kind {
            CollectiveKind::AllReduce => 2 * others * self.parts.total(),
            CollectiveKind::AllToAll => self.parts.exchanged(),
            CollectiveKind::Gather | CollectiveKind::Scatter => self.parts.bytes(1..self.members),
            _ => others * self.parts.total(),
        }
    }
}
