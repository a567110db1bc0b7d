//! The ring: every group passes a chunk on to the next, in rounds that the host starts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Algorithm, Numbers, scatter};
use crate::card::closed_form::rounds_s;
use crate::card::description::Card;
use crate::card::schedule::{Copy, Family, Place, Region, Schedule, Work};

/// Ring-AG and Ring-RS: `N - 1` rounds; in each, the host starts a kernel on all groups, every group gets a
/// chunk from its neighbour, and all synchronise. Equation 3 of SW-IntraCC.
///
/// A broadcast scatters the root's vector in one round and gathers it in the others.
///
/// ```toml
/// [[forecast.method]]
/// name = "Ring"
/// algorithm = "ring"
/// ```
/// On the command line: `stratasim card bench sw-ai --algorithms ring`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ring {}

/// The rounds; in round k, group r gets chunk `first + r - k` from group r - 1.
fn rounds(groups: u32, bytes: u64, first: u32, add: bool) -> Schedule {
    let mut schedule = Schedule::new(groups, bytes, Family::Ring);
    for round in 0..groups.saturating_sub(1) {
        let launch = schedule.launch();
        for group in 0..groups {
            let before = (group + groups - 1) % groups;
            let piece = schedule.chunk((first + group + 2 * groups - round) % groups);
            let region = |group| Region::new(Place::Local(group), piece.start);
            let bytes = piece.end - piece.start;
            let copy = Copy { group, from: region(before), to: region(group), bytes, add, step: true };
            schedule.push(Work::Copy(copy), [launch]);
        }
        schedule.sync();
    }
    schedule
}

impl Algorithm for Ring {
    fn all_gather(&self, groups: u32, bytes: u64) -> Schedule {
        // in the first round, group r gets the chunk of group r - 1
        rounds(groups, bytes, groups - 1, false)
    }

    fn reduce_scatter(&self, groups: u32, bytes: u64) -> Schedule {
        // in the last round, group r gets chunk r: it has been to all others
        rounds(groups, bytes, 2 * groups - 2, true)
    }

    fn broadcast(&self, groups: u32, bytes: u64) -> Option<Schedule> {
        Some(scatter(groups, bytes, Family::Ring).then(self.all_gather(groups, bytes)))
    }

    fn all_gather_s(&self, card: &Card, bytes: f64) -> f64 {
        let it = Numbers::of(card);
        rounds_s(it.groups, bytes, it.launch_s, it.sync_s, it.ring_step_s, it.ring(it.groups))
    }

    fn reduce_scatter_s(&self, card: &Card, bytes: f64) -> f64 {
        let it = Numbers::of(card);
        // a Local memory gives its neighbour's partial sum away and reads its own operand
        let rate = it.ring(it.groups).min(it.reduce_ring).min(it.local / 2.0);
        rounds_s(it.groups, bytes, it.launch_s, it.sync_s, it.ring_step_s, rate)
    }

    fn broadcast_s(&self, card: &Card, bytes: f64) -> Option<f64> {
        if card.core_groups < 2 {
            return Some(0.0);
        }
        let it = Numbers::of(card);
        Some(it.scatter_s(it.ring_step_s, bytes) + self.all_gather_s(card, bytes))
    }
}
