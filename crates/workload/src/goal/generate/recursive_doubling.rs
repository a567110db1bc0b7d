//! Recursive halving and doubling.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{GenerateContext, RankSchedules, SchedulePattern, doublings, per_rank};

/// All-reduce by recursive halving (reduce-scatter) and doubling (all-gather) with partners 1, 2, 4, ...
/// ranks away and back (schedgen's `allreduce_recdoub`). The ranks must be a power of two; halves are
/// rounded down to whole bytes. For other numbers of ranks see `collective`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RecursiveDoublingAllreduce {
    /// In place of the receive before it, a send waits for a computation of so many nanoseconds, and all
    /// these computations are free from the beginning (schedgen's `--rpl-dep-cmp`): a fixed distance
    /// between messages instead of a dependency on data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_ns: Option<u64>,
}

impl SchedulePattern for RecursiveDoublingAllreduce {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (ranks, bytes, gap_ns) = (context.ranks, context.step_bytes(), self.gap_ns);
        if !ranks.is_power_of_two() {
            let reason = format!("recursive doubling needs a power of two, got {ranks} ranks");
            return Err(BuildError::new("ranks", reason));
        }
        let rounds = doublings(ranks);
        let steps = u64::from(2 * rounds);
        let waits = steps.saturating_sub(1);
        let calcs = if gap_ns.is_some() { waits } else { 0 };
        let all = u64::from(ranks);
        per_rank((all * (2 * steps + calcs), all * waits), move |rank, out| {
            // bytes >> rounds first, as halving and doubling back drop odd bytes
            let down = (0..rounds).map(|round| (round, bytes >> (round + 1)));
            let up = (0..rounds).rev().map(|round| (round, (bytes >> rounds) << (rounds - 1 - round)));
            let mut wait = None;
            for (step, (round, bytes)) in down.chain(up).enumerate() {
                let partner = rank ^ (1 << round);
                let send = out.send(bytes, partner);
                if let Some(wait) = wait {
                    out.requires(send, wait);
                }
                let received = out.receive(bytes, partner);
                wait = Some(match gap_ns {
                    Some(ns) if (step as u64) < waits => out.calc(ns),
                    _ => received,
                });
            }
        })
    }
}
