//! Operators around a collective, as three kernels or fused into two.
//!
//! SW-IntraCC, section 2.3: layer normalisation, all-gather, matrix product; and matrix product,
//! reduce-scatter, dropout. Fused, the first operator writes its result to Global memory itself, and the second
//! reads it from there, so that nothing goes through Local memory on the way. Calculations overlap with the data
//! of their own kernel: each takes the longer of the two (roofline).

use stratasim_core::BuildError;

use super::algorithm::{Algorithm as _, Numbers, csc};
use super::description::Card;
use super::schedule::{Copy, Family, Place, Region, Schedule, Work};
use super::time::{Fidelity, run_s};

/// Which collective stands between the two operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// Each group makes a chunk; each needs all.
    AllGather,
    /// Each group makes partial sums of the whole vector; each needs its chunk of the sum.
    ReduceScatter,
}

/// Two operators and the collective between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operators {
    /// The collective.
    pub between: Between,
    /// Length of the vector in bytes; a group has 1/N of it before an all-gather or after a reduce-scatter.
    pub bytes: u64,
    /// Floating-point operations of the first operator, in each group.
    pub first_flops: f64,
    /// Floating-point operations of the second operator, in each group.
    pub second_flops: f64,
    /// Whether the fused second operator also leaves what it read from Global in Local memory.
    pub keep_local: bool,
}

/// A kernel in the making: its launch, and copies by one group after the other.
struct Kernel {
    schedule: Schedule,
    begin: u32,
}

impl Kernel {
    /// A kernel in which every group computes.
    fn new(groups: u32, bytes: u64, flops: f64) -> Self {
        let mut schedule = Schedule::new(groups, bytes, Family::Csc);
        let begin = schedule.launch();
        if flops > 0.0 {
            for group in 0..groups {
                schedule.push(Work::Calculate { group, flops }, [begin]);
            }
        }
        Self { schedule, begin }
    }

    /// A copy of `bytes` between the scratch-pads and `place`, after another (or the launch).
    fn copy(
        &mut self,
        group: u32,
        place: Place,
        bytes: u64,
        reads: bool,
        add: bool,
        after: Option<u32>,
    ) -> u32 {
        let (there, pads) = (Region::new(place, 0), Region::new(Place::Ldm(group), 0));
        let (from, to) = if reads { (there, pads) } else { (pads, there) };
        let copy = Copy { group, from, to, bytes, add, step: false };
        self.schedule.push(Work::Copy(copy), [after.unwrap_or(self.begin)])
    }
}

impl Operators {
    /// Bytes of the chunk of a group.
    fn shard(&self, groups: u32, group: u32) -> u64 {
        let range = super::schedule::chunk(self.bytes, group, groups);
        range.end - range.start
    }

    /// Operator, CSC, operator: three kernels (equation 9, with the costs that it leaves out). Regions are
    /// those of the operators' results, which are made and used in the scratch-pads.
    pub fn unfused(&self, groups: u32) -> Schedule {
        let (whole, part) = match self.between {
            Between::AllGather => (false, true),
            Between::ReduceScatter => (true, false),
        };
        let mut first = Kernel::new(groups, self.bytes, self.first_flops);
        let mut second = Kernel::new(groups, self.bytes, self.second_flops);
        for group in 0..groups {
            let length = |whole| if whole { self.bytes } else { self.shard(groups, group) };
            first.copy(group, Place::Local(group), length(whole), false, false, None);
            second.copy(group, Place::Local(group), length(part), true, false, None);
        }
        let collective = match self.between {
            Between::AllGather => csc::Csc {}.all_gather(groups, self.bytes),
            Between::ReduceScatter => csc::Csc {}.reduce_scatter(groups, self.bytes),
        };
        first.schedule.then(collective).then(second.schedule)
    }

    /// The two fused kernels (equation 10), with a synchronisation between them.
    pub fn fused(&self, groups: u32) -> Schedule {
        let mut first = Kernel::new(groups, self.bytes, self.first_flops);
        let mut second = Kernel::new(groups, self.bytes, self.second_flops);
        let adds = self.between == Between::ReduceScatter;
        for group in 0..groups {
            let own = self.shard(groups, group);
            let others = self.bytes - own;
            let (shared, fetched) = match self.between {
                // a group alone has nobody to share with
                Between::AllGather => (if groups > 1 { own } else { 0 }, others),
                Between::ReduceScatter => (others, own * u64::from(groups - 1)),
            };
            // the two memories are on different paths: both are written at once
            first.copy(group, Place::Global, shared, false, false, None);
            first.copy(group, Place::Local(group), own, false, false, None);
            let local = second.copy(group, Place::Local(group), own, true, false, None);
            second.copy(group, Place::Global, fetched, true, adds, Some(local));
            if self.keep_local && !adds {
                second.copy(group, Place::Local(group), others, false, false, None);
            }
        }
        if groups > 1 {
            first.schedule.sync();
        }
        let mut schedule = first.schedule.then(second.schedule);
        let vectors = if adds { u64::from(groups) } else { 1 };
        schedule.global_bytes = if groups > 1 { self.bytes.saturating_mul(vectors) } else { 0 };
        schedule
    }

    /// Seconds that fusion saves, launches included.
    ///
    /// # Errors
    /// Too many tiles at F2.
    pub fn saved_s(&self, card: &Card, fidelity: Fidelity) -> Result<f64, BuildError> {
        if fidelity == Fidelity::F0 {
            return Ok(self.unfused_s(card) - self.fused_s(card));
        }
        let run_s = |schedule: &Schedule| run_s(card, schedule, fidelity);
        Ok(run_s(&self.unfused(card.core_groups))? - run_s(&self.fused(card.core_groups))?)
    }

    /// Seconds of [`Operators::unfused`] by its closed form.
    pub fn unfused_s(&self, card: &Card) -> f64 {
        let it = Numbers::of(card);
        let (bytes, compute) = (self.bytes as f64, compute_rate(card));
        let shard = bytes / it.groups;
        let (made, used, collective_s) = match self.between {
            Between::AllGather => (shard, bytes, csc::Csc {}.all_gather_s(card, bytes)),
            Between::ReduceScatter => (bytes, shard, csc::Csc {}.reduce_scatter_s(card, bytes)),
        };
        let first_s = (self.first_flops / compute).max(made / it.local);
        let second_s = (self.second_flops / compute).max(used / it.local);
        2.0 * it.launch_s + first_s + collective_s + second_s
    }

    /// Seconds of [`Operators::fused`] by its closed form.
    pub fn fused_s(&self, card: &Card) -> f64 {
        let it = Numbers::of(card);
        let (bytes, compute) = (self.bytes as f64, compute_rate(card));
        let shard = bytes / it.groups;
        let others = bytes - shard;
        let (shared, add) = match self.between {
            Between::AllGather => (shard, f64::INFINITY),
            Between::ReduceScatter => (others, it.reduce_csc),
        };
        let global = if card.core_groups > 1 { it.global(it.groups) } else { f64::INFINITY };
        let kept_s =
            if self.keep_local && self.between == Between::AllGather { others / it.local } else { 0.0 };
        let first_s = (self.first_flops / compute).max(shared / global).max(shard / it.local);
        let data_s = shard / it.local + others / global.min(add);
        let second_s = (self.second_flops / compute).max(data_s).max(kept_s);
        let sync_s = if card.core_groups > 1 { it.sync_s } else { 0.0 };
        2.0 * it.launch_s + sync_s + first_s + second_s
    }
}

/// Operations per second of a group.
fn compute_rate(card: &Card) -> f64 {
    card.compute.rate.map_or(f64::INFINITY, |rate| rate.flop_per_s())
}
