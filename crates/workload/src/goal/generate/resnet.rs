//! A training step with overlapped all-reduces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::dissemination::{collective_tag, disseminate, ends};
use super::{GenerateContext, RankSchedules, SchedulePattern, alike_ranks, doublings};

/// A step of data-parallel ResNet-152 training: the forward pass, then ten pieces of the backward pass;
/// after each of them the gradients of its layers are summed up over all ranks, by dissemination and
/// without waiting (schedgen's `resnet`; sizes and times are those of the DNN-cpp-proxies for an A100 and
/// 128 samples). Each all-reduce has its own tag.
///
/// Schedgen writes the published microseconds as nanoseconds, and so do the defaults. For the true times
/// set `forward-ns` to 119000000 and `backward-ns` to 23800000.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Resnet {
    /// Nanoseconds of the forward pass.
    pub forward_ns: u64,
    /// Nanoseconds of each piece of the backward pass.
    pub backward_ns: u64,
    /// Bytes of the gradients of each piece, in the order in which they are ready. When the pattern is
    /// given bytes, every piece has so many.
    pub gradient_bytes: Vec<u64>,
}

impl Default for Resnet {
    fn default() -> Self {
        const PARAMETERS: [u64; 10] = [
            6_511_592, 6_567_936, 5_905_920, 6_113_280, 6_176_256, 6_112_768, 6_176_256, 6_112_768,
            5_321_216, 5_194_816,
        ];
        Self {
            forward_ns: 119_000,
            backward_ns: 23_800,
            gradient_bytes: PARAMETERS.iter().map(|parameters| 4 * parameters).collect(),
        }
    }
}

impl SchedulePattern for Resnet {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let mut gradients = self.gradient_bytes.clone();
        if let Some(bytes) = context.bytes {
            gradients.fill(bytes);
        }
        let pieces = gradients.len() as u64;
        let tag = collective_tag(context.tag, pieces)?;
        let (ranks, forward_ns, backward_ns) = (context.ranks, self.forward_ns, self.backward_ns);
        let (all, rounds) = (u64::from(ranks), u64::from(doublings(ranks)));
        let of_each = if rounds > 0 { 2 * rounds } else { 0 };
        let size =
            (all.saturating_mul(1 + pieces * (2 + 2 * rounds)), all.saturating_mul(pieces * (2 + of_each)));
        alike_ranks(size, move |rank, out| {
            let forward = out.calc(forward_ns);
            for (tag, &bytes) in (tag..).zip(&gradients) {
                let backward = out.calc(backward_ns);
                out.requires(backward, forward);
                let ready = out.calc(0);
                out.requires(ready, backward);
                out.tag(tag);
                disseminate(rank, ranks, bytes, out);
                ends(ranks).for_each(|place| out.requires(ready + 1 + place, ready));
            }
        })
    }
}
