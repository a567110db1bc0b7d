//! Cross shared communication: groups exchange through Global memory, in one kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Algorithm, Numbers};
use crate::card::closed_form::one_kernel_with_put_s;
use crate::card::description::Card;
use crate::card::schedule::{Copy, Family, Place, Region, Schedule, Work};

/// CSC-AG and CSC-RS as SW-IntraCC's algorithms 1 and 2 have them: every group puts what it has into Global
/// memory, all synchronise once, and every group gets what it lacks.
///
/// Takes one launch and one synchronisation. The paper's equation 4 leaves the PUT out (`csc-equation`);
/// with it, large vectors have 3/4 of the ring's bandwidth on four groups. An all-gather needs as much Global
/// memory as the vector is long, a reduce-scatter that times the number of groups.
///
/// ```toml
/// [[forecast.method]]
/// name = "CSC"
/// algorithm = "csc"
/// ```
/// On the command line: `stratasim card bench sw-ai --algorithms csc`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Csc {}

/// A copy of `piece` of the vector.
struct Piece {
    group: u32,
    start: u64,
    bytes: u64,
}

impl Piece {
    fn of(schedule: &Schedule, group: u32, index: u32) -> Self {
        let range = schedule.chunk(index);
        Self { group, start: range.start, bytes: range.end - range.start }
    }

    fn copy(&self, from: Region, to: Region, add: bool, step: bool) -> Work {
        Work::Copy(Copy { group: self.group, from, to, bytes: self.bytes, add, step })
    }

    fn local(&self) -> Region {
        Region::new(Place::Local(self.group), self.start)
    }

    fn sum(&self) -> Region {
        Region::new(Place::Ldm(self.group), 0)
    }
}

/// The steps after the synchronisation `ready` of a reduce-scatter: the running sum starts with the group's
/// own chunk, takes those of the others from where `theirs` says, and is written back.
pub(super) fn add_up(schedule: &mut Schedule, ready: u32, theirs: impl Fn(u32, u64) -> Region) {
    let groups = schedule.groups;
    for group in 0..groups {
        let piece = Piece::of(schedule, group, group);
        let own = schedule.push(piece.copy(piece.local(), piece.sum(), false, false), [ready]);
        let mut last = own;
        for distance in 1..groups {
            let peer = (group + distance) % groups;
            let work = piece.copy(theirs(peer, piece.start), piece.sum(), true, true);
            last = schedule.push(work, [last]);
        }
        schedule.push(piece.copy(piece.sum(), piece.local(), false, false), [last]);
    }
}

/// Seconds of [`add_up`], without barriers: chunks of `shard` bytes fetched and added at `rate`.
pub(super) fn add_up_s(it: &Numbers, shard: f64, rate: f64) -> f64 {
    2.0 * shard / it.local + (it.groups - 1.0) * (it.csc_step_s + shard / rate.min(it.reduce_csc))
}

impl Algorithm for Csc {
    fn all_gather(&self, groups: u32, bytes: u64) -> Schedule {
        let mut schedule = Schedule::new(groups, bytes, Family::Csc);
        if groups < 2 {
            return schedule;
        }
        schedule.global_bytes = bytes;
        let launch = schedule.launch();
        for group in 0..groups {
            let piece = Piece::of(&schedule, group, group);
            let global = Region::new(Place::Global, piece.start);
            schedule.push(piece.copy(piece.local(), global, false, false), [launch]);
        }
        let ready = schedule.sync();
        for group in 0..groups {
            let mut last = ready;
            for distance in 1..groups {
                let piece = Piece::of(&schedule, group, (group + distance) % groups);
                let global = Region::new(Place::Global, piece.start);
                last = schedule.push(piece.copy(global, piece.local(), false, true), [last]);
            }
        }
        schedule
    }

    fn reduce_scatter(&self, groups: u32, bytes: u64) -> Schedule {
        let mut schedule = Schedule::new(groups, bytes, Family::Csc);
        if groups < 2 {
            return schedule;
        }
        schedule.global_bytes = bytes.saturating_mul(groups.into());
        let launch = schedule.launch();
        // every group has a vector's length of Global memory for what it brings
        let slot = |group: u32, start: u64| Region::new(Place::Global, u64::from(group) * bytes + start);
        for group in 0..groups {
            let mut last = launch;
            for distance in 1..groups {
                let piece = Piece::of(&schedule, group, (group + distance) % groups);
                let put = piece.copy(piece.local(), slot(group, piece.start), false, false);
                last = schedule.push(put, [last]);
            }
        }
        let ready = schedule.sync();
        add_up(&mut schedule, ready, slot);
        schedule
    }

    fn broadcast(&self, groups: u32, bytes: u64) -> Option<Schedule> {
        let mut schedule = Schedule::new(groups, bytes, Family::Csc);
        if groups < 2 {
            return Some(schedule);
        }
        schedule.global_bytes = bytes;
        let launch = schedule.launch();
        let (root, global) = (Region::new(Place::Local(0), 0), Region::new(Place::Global, 0));
        let put = Copy { group: 0, from: root, to: global, bytes, add: false, step: false };
        schedule.push(Work::Copy(put), [launch]);
        let ready = schedule.sync();
        for group in 1..groups {
            let to = Region::new(Place::Local(group), 0);
            schedule
                .push(Work::Copy(Copy { group, from: global, to, bytes, add: false, step: true }), [ready]);
        }
        Some(schedule)
    }

    fn all_gather_s(&self, card: &Card, bytes: f64) -> f64 {
        if card.core_groups < 2 {
            return 0.0;
        }
        let it = Numbers::of(card);
        let rate = it.global_and_local(it.groups);
        one_kernel_with_put_s(it.groups, bytes, it.launch_s, it.sync_s, it.csc_step_s, rate)
    }

    fn reduce_scatter_s(&self, card: &Card, bytes: f64) -> f64 {
        if card.core_groups < 2 {
            return 0.0;
        }
        let it = Numbers::of(card);
        let shard = bytes / it.groups;
        let puts = (it.groups - 1.0) * shard / it.global_and_local(it.groups);
        it.launch_s + it.sync_s + puts + add_up_s(&it, shard, it.global(it.groups))
    }

    fn broadcast_s(&self, card: &Card, bytes: f64) -> Option<f64> {
        if card.core_groups < 2 {
            return Some(0.0);
        }
        let it = Numbers::of(card);
        let (put, get) = (it.global_and_local(1.0), it.global_and_local(it.groups - 1.0));
        Some(it.launch_s + it.sync_s + bytes / put + it.csc_step_s + bytes / get)
    }
}
