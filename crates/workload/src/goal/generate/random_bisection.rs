//! Pairs drawn at random.

use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{GenerateContext, RankSchedules, SchedulePattern, per_rank};

/// Ranks in pairs drawn at random, one message per pair (schedgen's `random_bisect`): what a machine
/// carries between two random halves (Hoefler, Schneider and Lumsdaine, "Multistage switches are not
/// crossbars: effects of static routing in high-performance networks", 2008). Schedgen draws with the time
/// as seed and not quite evenly; here the seed decides. Of an odd number of ranks one, drawn too, does
/// nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RandomBisection {
    /// The other rank of each pair sends too, at the same time (schedgen's `random_bisect_fd_sym`).
    pub symmetric: bool,
}

impl SchedulePattern for RandomBisection {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (bytes, symmetric) = (context.step_bytes(), self.symmetric);
        let mut order: Vec<u32> = (0..context.ranks).collect();
        order.shuffle(&mut context.streams.stream("random bisection"));
        // (partner, whether the rank sends first)
        let mut pairs: Vec<Option<(u32, bool)>> = vec![None; order.len()];
        for pair in order.chunks_exact(2) {
            pairs[pair[0] as usize] = Some((pair[1], true));
            pairs[pair[1] as usize] = Some((pair[0], false));
        }
        let messages = u64::from(context.ranks / 2) * if symmetric { 2 } else { 1 };
        per_rank((2 * messages, 0), move |rank, out| {
            let Some((partner, first)) = pairs[rank as usize] else { return };
            for sends in [first, !first].into_iter().take(1 + usize::from(symmetric)) {
                if sends {
                    out.send(bytes, partner);
                } else {
                    out.receive(bytes, partner);
                }
            }
        })
    }
}
