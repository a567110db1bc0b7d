//! All-to-all in pairs: one partner per round.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Parts, Plan, check_pairs, check_parts};

/// All-to-all in `n - 1` rounds, in each of which a member sends to one other member and receives from
/// one (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
/// 2005): for long messages, where a member's link is better not shared.
///
/// All members together send `(n - 1) B` bytes. `direct` with a `window` of 1 sends in the same order as
/// `exchange = "shift"`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pairwise {
    /// Who meets whom in round `k`; `xor` for powers of two and `shift` otherwise when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

/// Partners of a pairwise exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exchange {
    /// Member `i` exchanges with member `i xor k`: both directions of one pair. Powers of two only.
    Xor,
    /// Member `i` sends to member `i + k` and receives from member `i - k`.
    Shift,
}

const DOES: [CollectiveKind; 1] = [CollectiveKind::AllToAll];

impl CollectiveAlgorithm for Pairwise {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        self.plan_parts(kind, Parts::equal(members, bytes))
    }

    fn plan_parts(&self, kind: CollectiveKind, parts: Parts) -> Result<Box<dyn Plan>, BuildError> {
        check_parts("pairwise", &DOES, &DOES, kind, &parts)?;
        let members = parts.members();
        check_pairs(kind, members)?;
        let xor = members.is_power_of_two();
        if self.exchange == Some(Exchange::Xor) && !xor {
            let reason = format!("`xor` pairs a power of two of members, not {members}; choose `shift`");
            return Err(BuildError::new("exchange", reason));
        }
        let xor = self.exchange.map_or(xor, |exchange| exchange == Exchange::Xor);
        Ok(Box::new(PairwisePlan { members, xor, parts }))
    }
}

#[derive(Debug)]
struct PairwisePlan {
    members: u32,
    xor: bool,
    parts: Parts,
}

impl Plan for PairwisePlan {
    fn rounds(&self, _: u32) -> u32 {
        self.members - 1
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let (n, step) = (self.members, round + 1);
        let (to, from) = if self.xor {
            (member ^ step, member ^ step)
        } else {
            ((member + step) % n, (member + n - step) % n)
        };
        let (out_chunk, in_chunk) = (member * n + to, from * n + member);
        let bytes = self.parts.bytes_from(member, to..to + 1);
        out.push(Action::Send { to, chunks: out_chunk..out_chunk + 1, bytes });
        out.push(Action::Receive { from, chunks: in_chunk..in_chunk + 1, combine: Combine::Copy });
    }

    fn chunks(&self) -> u32 {
        self.members * self.members
    }

    fn owner(&self, chunk: u32) -> u32 {
        chunk % self.members
    }

    fn parts(&self) -> Option<&Parts> {
        (!self.parts.is_equal()).then_some(&self.parts)
    }

    fn total_bytes(&self) -> u64 {
        self.parts.exchanged()
    }
}
