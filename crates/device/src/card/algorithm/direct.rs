//! Reading the peers' memory, in one kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::csc::{add_up, add_up_s};
use super::{Algorithm, Numbers, gets, scatter};
use crate::card::closed_form::one_kernel_s;
use crate::card::description::Card;
use crate::card::schedule::{Family, Place, Region, Schedule};

/// As CSC, but every group reads the Local memory of the others over the ring: no PUT phase and no Global
/// memory. For cards whose groups can address each other's memory; never slower there than CSC with the same
/// rates. Each group starts with the next one, so that no two read from the same.
///
/// ```toml
/// [[forecast.method]]
/// name = "direct"
/// algorithm = "direct"
/// ```
/// On the command line: `stratasim card bench sw-ai --algorithms direct`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Direct {}

impl Algorithm for Direct {
    fn all_gather(&self, groups: u32, bytes: u64) -> Schedule {
        gets(groups, bytes, false, |_, peer| peer, |peer, offset| Region::new(Place::Local(peer), offset))
    }

    fn reduce_scatter(&self, groups: u32, bytes: u64) -> Schedule {
        let mut schedule = Schedule::new(groups, bytes, Family::Csc);
        if groups < 2 {
            return schedule;
        }
        schedule.launch();
        let ready = schedule.sync();
        add_up(&mut schedule, ready, |peer, offset| Region::new(Place::Local(peer), offset));
        schedule
    }

    fn broadcast(&self, groups: u32, bytes: u64) -> Option<Schedule> {
        Some(scatter(groups, bytes, Family::Csc).then(self.all_gather(groups, bytes)))
    }

    fn all_gather_s(&self, card: &Card, bytes: f64) -> f64 {
        let it = Numbers::of(card);
        one_kernel_s(it.groups, bytes, it.launch_s, it.sync_s, it.csc_step_s, it.ring(it.groups))
    }

    fn reduce_scatter_s(&self, card: &Card, bytes: f64) -> f64 {
        if card.core_groups < 2 {
            return 0.0;
        }
        let it = Numbers::of(card);
        it.launch_s + it.sync_s + add_up_s(&it, bytes / it.groups, it.ring(it.groups))
    }

    fn broadcast_s(&self, card: &Card, bytes: f64) -> Option<f64> {
        if card.core_groups < 2 {
            return Some(0.0);
        }
        Some(
            Numbers::of(card).scatter_s(Numbers::of(card).csc_step_s, bytes) + self.all_gather_s(card, bytes),
        )
    }
}
