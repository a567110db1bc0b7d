//! CSC as the paper's equation has it, without the PUT phase.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Algorithm, Numbers, gets};
use crate::card::closed_form::one_kernel_s;
use crate::card::description::Card;
use crate::card::schedule::{Copy, Family, Place, Region, Schedule, Work};

/// CSC without its PUT phase: equation 4 of SW-IntraCC, which leaves it out.
///
/// That is what it takes when the inputs are in Global memory already, put there by the kernel that made them.
/// A reduce-scatter adds what the others brought to the group's own in Local memory. There is no all-reduce:
/// its all-gather would start with sums that are in Local memory only.
///
/// ```toml
/// [[forecast.method]]
/// name = "CSC without PUT"
/// algorithm = "csc-equation"
/// ```
/// On the command line: `stratasim card bench sw-ai --algorithms csc-equation`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CscEquation {}

impl Algorithm for CscEquation {
    fn all_gather(&self, groups: u32, bytes: u64) -> Schedule {
        let global = |_, offset| Region::new(Place::Global, offset);
        let mut schedule = gets(groups, bytes, false, |_, peer| peer, global);
        schedule.starts_in_global = true;
        schedule.global_bytes = bytes;
        schedule
    }

    fn reduce_scatter(&self, groups: u32, bytes: u64) -> Schedule {
        let slot = |peer: u32, offset| Region::new(Place::Global, u64::from(peer) * bytes + offset);
        let mut schedule = gets(groups, bytes, true, |group, _| group, slot);
        schedule.starts_in_global = true;
        schedule.global_bytes = bytes.saturating_mul(groups.into());
        schedule
    }

    fn broadcast(&self, groups: u32, bytes: u64) -> Option<Schedule> {
        let mut schedule = Schedule::new(groups, bytes, Family::Csc);
        schedule.starts_in_global = true;
        schedule.global_bytes = bytes;
        if groups < 2 {
            return Some(schedule);
        }
        schedule.launch();
        let ready = schedule.sync();
        for group in 1..groups {
            let (from, to) = (Region::new(Place::Global, 0), Region::new(Place::Local(group), 0));
            schedule.push(Work::Copy(Copy { group, from, to, bytes, add: false, step: true }), [ready]);
        }
        Some(schedule)
    }

    fn all_reduce(&self, _: u32, _: u64) -> Option<Schedule> {
        None
    }

    fn all_gather_s(&self, card: &Card, bytes: f64) -> f64 {
        let it = Numbers::of(card);
        let rate = it.global_and_local(it.groups);
        one_kernel_s(it.groups, bytes, it.launch_s, it.sync_s, it.csc_step_s, rate)
    }

    fn reduce_scatter_s(&self, card: &Card, bytes: f64) -> f64 {
        let it = Numbers::of(card);
        let rate = it.global_and_local(it.groups).min(it.reduce_csc);
        one_kernel_s(it.groups, bytes, it.launch_s, it.sync_s, it.csc_step_s, rate)
    }

    fn broadcast_s(&self, card: &Card, bytes: f64) -> Option<f64> {
        if card.core_groups < 2 {
            return Some(0.0);
        }
        let it = Numbers::of(card);
        Some(it.launch_s + it.sync_s + it.csc_step_s + bytes / it.global_and_local(it.groups - 1.0))
    }

    fn all_reduce_s(&self, _: &Card, _: f64) -> Option<f64> {
        None
    }
}
