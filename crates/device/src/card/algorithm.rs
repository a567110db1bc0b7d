//! Algorithms of on-card collectives: each writes schedules and knows its closed form.

pub mod csc;
pub mod csc_equation;
pub mod direct;
pub mod ring;

use stratasim_core::{Bandwidth, registry};

use super::description::Card;
use super::schedule::{Copy, Family, Place, Region, Schedule, Work};

/// An on-card collective. Sizes are those of the whole vector, as in the paper: what an all-gather leaves
/// with every group, and what each group brings into a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Every group gets all chunks.
    AllGather,
    /// Group r gets the sum of chunk r.
    ReduceScatter,
    /// Every group gets the sum of all vectors: a reduce-scatter and an all-gather.
    AllReduce,
    /// Every group gets the vector of group 0.
    Broadcast,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::AllGather, Self::ReduceScatter, Self::AllReduce, Self::Broadcast];

    /// Its name in commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllReduce => "all-reduce",
            Self::Broadcast => "broadcast",
        }
    }

    /// The operation of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }
}

/// A way to do collectives between the core groups of a card.
pub trait Algorithm: std::fmt::Debug + Send + Sync {
    /// Group r brings chunk r into an all-gather.
    fn all_gather(&self, groups: u32, bytes: u64) -> Schedule;

    /// Each group brings a vector into a reduce-scatter.
    fn reduce_scatter(&self, groups: u32, bytes: u64) -> Schedule;

    /// Every group gets the vector of group 0; `None` where the algorithm has no such schedule.
    fn broadcast(&self, groups: u32, bytes: u64) -> Option<Schedule>;

    /// Every group gets the sum; `None` where the two parts do not fit together.
    fn all_reduce(&self, groups: u32, bytes: u64) -> Option<Schedule> {
        Some(self.reduce_scatter(groups, bytes).then(self.all_gather(groups, bytes)))
    }

    /// The schedule of an operation; `None` where there is none. With one group there is nothing to do.
    fn schedule(&self, operation: Operation, groups: u32, bytes: u64) -> Option<Schedule> {
        match operation {
            Operation::AllGather => Some(self.all_gather(groups, bytes)),
            Operation::ReduceScatter => Some(self.reduce_scatter(groups, bytes)),
            Operation::AllReduce => self.all_reduce(groups, bytes),
            Operation::Broadcast => self.broadcast(groups, bytes),
        }
    }

    /// Seconds of an all-gather by its closed form; `bytes` need not be whole.
    fn all_gather_s(&self, card: &Card, bytes: f64) -> f64;

    /// Seconds of a reduce-scatter by its closed form.
    fn reduce_scatter_s(&self, card: &Card, bytes: f64) -> f64;

    /// Seconds of a broadcast by its closed form; `None` as for its schedule.
    fn broadcast_s(&self, card: &Card, bytes: f64) -> Option<f64>;

    /// Seconds of an all-reduce by its closed form; `None` as for its schedule.
    fn all_reduce_s(&self, card: &Card, bytes: f64) -> Option<f64> {
        Some(self.reduce_scatter_s(card, bytes) + self.all_gather_s(card, bytes))
    }

    /// Seconds of an operation by its closed form; `None` where the algorithm has none.
    fn closed_form_s(&self, operation: Operation, card: &Card, bytes: f64) -> Option<f64> {
        match operation {
            Operation::AllGather => Some(self.all_gather_s(card, bytes)),
            Operation::ReduceScatter => Some(self.reduce_scatter_s(card, bytes)),
            Operation::AllReduce => self.all_reduce_s(card, bytes),
            Operation::Broadcast => self.broadcast_s(card, bytes),
        }
    }
}

registry! {
    /// Every algorithm of on-card collectives, by its `kind`.
    pub enum AlgorithmSpec: dyn Algorithm {
        "ring" => Ring(ring::Ring),
        "csc" => Csc(csc::Csc),
        "csc-equation" => CscEquation(csc_equation::CscEquation),
        "direct" => Direct(direct::Direct),
    }
}

impl AlgorithmSpec {
    /// Every algorithm, in the order of the list.
    pub const ALL: [Self; 4] = [
        Self::Ring(ring::Ring {}),
        Self::Csc(csc::Csc {}),
        Self::CscEquation(csc_equation::CscEquation {}),
        Self::Direct(direct::Direct {}),
    ];

    /// The algorithm of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.kind() == name)
    }
}

/// The rates and costs of a card as numbers: bytes per second and seconds.
pub(super) struct Numbers {
    pub(super) groups: f64,
    pub(super) local: f64,
    ring: f64,
    global: f64,
    ring_total: f64,
    pub(super) reduce_ring: f64,
    pub(super) reduce_csc: f64,
    pub(super) launch_s: f64,
    pub(super) sync_s: f64,
    pub(super) ring_step_s: f64,
    pub(super) csc_step_s: f64,
}

impl Numbers {
    pub(super) fn of(card: &Card) -> Self {
        let rates = &card.bandwidth;
        let rate = |rate: Option<Bandwidth>| rate.map_or(f64::INFINITY, Bandwidth::bytes_per_s);
        Self {
            groups: f64::from(card.core_groups),
            local: rates.local.bytes_per_s(),
            ring: rates.ring.bytes_per_s(),
            global: rates.global.bytes_per_s(),
            ring_total: rate(rates.ring_total),
            reduce_ring: rate(rates.reduce_ring),
            reduce_csc: rate(rates.reduce_csc),
            launch_s: card.cost.launch.as_secs_f64() + card.cost.kernel.as_secs_f64(),
            sync_s: card.cost.sync.as_secs_f64(),
            ring_step_s: card.cost.ring_step.as_secs_f64(),
            csc_step_s: card.cost.csc_step.as_secs_f64(),
        }
    }

    /// Bytes per second of each of `active` transfers over the ring between Local memories, no two of which
    /// use the same link.
    pub(super) fn ring(&self, active: f64) -> f64 {
        self.ring.min(self.ring_total / active).min(self.local)
    }

    /// Bytes per second of each of `active` groups that access Global memory. Of the bytes of each, all but
    /// one of N lie with another group and cross the ring.
    pub(super) fn global(&self, active: f64) -> f64 {
        // with one group, infinity: none of it crosses the ring
        self.global.min(self.ring_total / (active * (self.groups - 1.0) / self.groups))
    }

    /// The same from or to Local memory.
    pub(super) fn global_and_local(&self, active: f64) -> f64 {
        self.global(active).min(self.local)
    }

    /// Seconds in which every group gets its chunk from the root in one kernel: the root's link carries
    /// N - 1 chunks.
    pub(super) fn scatter_s(&self, step_s: f64, bytes: f64) -> f64 {
        let data = (self.groups - 1.0) * bytes / self.groups / self.ring(1.0);
        self.launch_s + self.sync_s + step_s + data
    }
}

/// A kernel in which every group gets its chunk of the vector of group 0.
pub(super) fn scatter(groups: u32, bytes: u64, family: Family) -> Schedule {
    let mut schedule = Schedule::new(groups, bytes, family);
    if groups < 2 {
        return schedule;
    }
    schedule.launch();
    let ready = schedule.sync();
    for group in 1..groups {
        let piece = schedule.chunk(group);
        let (from, to) =
            (Region::new(Place::Local(0), piece.start), Region::new(Place::Local(group), piece.start));
        let bytes = piece.end - piece.start;
        schedule.push(Work::Copy(Copy { group, from, to, bytes, add: false, step: true }), [ready]);
    }
    schedule
}

/// A kernel that is synchronised at its start and in which group r then gets `piece(r, peer)` of the vector from each
/// peer in turn, the next one first, where `from(peer, offset)` says; `add` adds it to what is there.
pub(super) fn gets(
    groups: u32,
    bytes: u64,
    add: bool,
    piece: impl Fn(u32, u32) -> u32,
    from: impl Fn(u32, u64) -> Region,
) -> Schedule {
    let mut schedule = Schedule::new(groups, bytes, Family::Csc);
    if groups < 2 {
        return schedule;
    }
    schedule.launch();
    let ready = schedule.sync();
    for group in 0..groups {
        let mut last = ready;
        for distance in 1..groups {
            let peer = (group + distance) % groups;
            let range = schedule.chunk(piece(group, peer));
            let (from, to) = (from(peer, range.start), Region::new(Place::Local(group), range.start));
            let bytes = range.end - range.start;
            last = schedule.push(Work::Copy(Copy { group, from, to, bytes, add, step: true }), [last]);
        }
    }
    schedule
}
