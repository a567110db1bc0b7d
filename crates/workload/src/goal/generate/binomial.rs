//! Binomial trees.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{GenerateContext, RankSchedules, SchedulePattern, doublings, per_rank};

/// Broadcast down a binomial tree: the ranks that have the data send it 1, 2, 4, ... ranks on
/// (schedgen's `binomialtreebcast`). Where the number of ranks is no power of two, schedgen writes some
/// dependencies twice; here each stands once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct BinomialBroadcast {}

impl SchedulePattern for BinomialBroadcast {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (ranks, bytes, swapped) = (context.ranks, context.step_bytes(), context.swapped());
        per_rank(size(ranks), move |rank, out| {
            let role = swapped(rank);
            let parent = parent(role).map(|parent| out.receive(bytes, swapped(parent)));
            for child in children(role, ranks) {
                let send = out.send(bytes, swapped(child));
                if let Some(received) = parent {
                    out.requires(send, received);
                }
            }
        })
    }

    fn has_root(&self) -> bool {
        true
    }
}

/// Reduction up a binomial tree (schedgen's `binomialtreereduce`): the broadcast backwards, without
/// time for the additions. Each dependency stands once, as in the broadcast.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct BinomialReduce {}

impl SchedulePattern for BinomialReduce {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (ranks, bytes, swapped) = (context.ranks, context.step_bytes(), context.swapped());
        per_rank(size(ranks), move |rank, out| {
            let role = swapped(rank);
            let parent = parent(role).map(|parent| out.send(bytes, swapped(parent)));
            for child in children(role, ranks) {
                let received = out.receive(bytes, swapped(child));
                if let Some(send) = parent {
                    out.requires(send, received);
                }
            }
        })
    }

    fn has_root(&self) -> bool {
        true
    }
}

/// Every edge of the tree is two operations; those between a rank that is not the root and its
/// children wait for that with its parent.
fn size(ranks: u32) -> (u64, u64) {
    let edges = u64::from(ranks) - 1;
    (2 * edges, edges - u64::from(doublings(ranks)))
}

fn parent(role: u32) -> Option<u32> {
    role.checked_ilog2().map(|round| role - (1 << round))
}

fn children(role: u32, ranks: u32) -> impl Iterator<Item = u32> {
    let first = role.checked_ilog2().map_or(0, |round| round + 1);
    (first..31).map(move |round| role + (1 << round)).take_while(move |&child| child < ranks)
}
