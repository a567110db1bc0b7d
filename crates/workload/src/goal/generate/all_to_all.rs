//! Everybody to everybody.

use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Stream, Streams};

use super::{
    GenerateContext, RankSchedules, RankWriter, SchedulePattern, ahead, alike_ranks, behind, per_rank,
};

/// All-to-all in P - 1 steps: rank r sends to r + step and receives from r - step. All operations are
/// free from the beginning (schedgen's `linear_alltoall`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LinearAlltoall {
    /// Steps in flight at a time: a send waits for the messages of its rank so many steps earlier. All
    /// when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Sizes are drawn evenly from so much below the bytes to so much above, as a fraction of them, 0 to
    /// 1. Schedgen2's unbalanced all-to-all is 0.1.
    pub imbalance: f64,
}

impl SchedulePattern for LinearAlltoall {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        check_imbalance(self.imbalance)?;
        if self.window == Some(0) {
            return Err(BuildError::new("window", "at least one step in flight, got 0"));
        }
        all_to_all(context.ranks, self.window, Sizes::around(context, self.imbalance))
    }
}

/// All-to-all with sizes of which few are large (schedgen's `linear_alltoallv`): messages to the root
/// have all bytes, others a number drawn evenly from 1 to bytes / `skew-ratio`. Schedgen draws from the C
/// library's generator without a seed; here the seed decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LinearAlltoallv {
    /// By how much the messages to the root are larger than the largest of the others.
    pub skew_ratio: u64,
    /// The messages of the rank after the root have all bytes too.
    pub outcast: bool,
}

impl Default for LinearAlltoallv {
    fn default() -> Self {
        Self { skew_ratio: 1, outcast: false }
    }
}

impl SchedulePattern for LinearAlltoallv {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let bytes = context.step_bytes();
        let Some(most @ 1..) = bytes.checked_div(self.skew_ratio) else {
            let reason = format!("from 1 to the {bytes} bytes of a large message, got {}", self.skew_ratio);
            return Err(BuildError::new("skew-ratio", reason));
        };
        let outcast = self.outcast.then(|| ahead(context.root, 1, context.ranks));
        let large = Large { to: context.root, from: outcast };
        let sizes = Sizes { drawn: Some((context.streams, 1, most)), large: Some(large), bytes };
        all_to_all(context.ranks, None, sizes)
    }

    fn has_root(&self) -> bool {
        true
    }
}

fn all_to_all(ranks: u32, window: Option<u32>, sizes: Sizes) -> Result<Box<dyn RankSchedules>, BuildError> {
    let steps = ranks - 1;
    let window = window.unwrap_or(steps).min(steps);
    let all = u64::from(ranks);
    let size = (2 * all * u64::from(steps), 2 * all * u64::from(steps - window));
    let alike = sizes.drawn.is_none() && sizes.large.is_none();
    let write = move |rank, out: &mut RankWriter<'_>| {
        for step in 1..ranks {
            let (to, from) = (ahead(rank, step, ranks), behind(rank, step, ranks));
            let send = out.send(sizes.of(rank, to), to);
            out.receive(sizes.of(from, rank), from);
            if step > window {
                out.requires(send, send - 2 * window);
                out.requires(send, send - 2 * window + 1);
            }
        }
    };
    if alike { alike_ranks(size, write) } else { per_rank(size, write) }
}

/// Bytes from one rank to another. Both sides draw the same number from a stream of the pair, so nothing
/// is stored.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    /// Where to draw, least, most.
    drawn: Option<(Streams, u64, u64)>,
    large: Option<Large>,
    bytes: u64,
}

/// Messages that have all bytes.
#[derive(Debug, Clone, Copy)]
struct Large {
    to: u32,
    from: Option<u32>,
}

impl Sizes {
    /// The bytes of `context`, more or less by `imbalance`.
    pub(super) fn around(context: &GenerateContext, imbalance: f64) -> Self {
        let bytes = context.step_bytes();
        let spread = (bytes as f64 * imbalance) as u64;
        let range = (context.streams, bytes.saturating_sub(spread), bytes.saturating_add(spread));
        Self { drawn: (spread > 0).then_some(range), large: None, bytes }
    }

    #[inline]
    pub(super) fn of(&self, from: u32, to: u32) -> u64 {
        match (&self.large, &self.drawn) {
            (Some(large), _) if large.to == to || large.from == Some(from) => self.bytes,
            (_, Some((streams, least, most))) => {
                let pair = u64::from(from) << 32 | u64::from(to);
                let mut stream: Stream = streams.indexed("message sizes", pair);
                stream.random_range(*least..=*most)
            }
            _ => self.bytes,
        }
    }
}

/// Refuses what is no fraction.
pub(super) fn check_imbalance(imbalance: f64) -> Result<(), BuildError> {
    if (0.0..=1.0).contains(&imbalance) {
        return Ok(());
    }
    let reason = format!("a fraction lies between 0 and 1, got {imbalance}");
    Err(BuildError::new("imbalance", reason))
}
