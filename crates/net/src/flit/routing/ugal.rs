//! Minimal or by a detour, whichever queue is shorter.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_topo::geometry::Geometry;

use super::grid::{GridMap, Join};
use super::places::check_parts;
use super::third_group::ThirdGroup;
use super::two_phase::{BETWEEN, CHOSEN, PHASES, SECOND};
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// UGAL: at its source router, a packet takes the shortest way, or a detour by a group (dragonfly) or router (HyperX)
/// drawn at random: the way with the smaller product of hops and flits under way at its first output. The shortest one
/// has `threshold` flits for free.
///
/// A dragonfly needs three classes of virtual channels, one for each group on the way; a HyperX two, before
/// and after the router between.
///
/// Source: Singh (2005), "Load-balanced routing in interconnection networks"; Kim, Dally, Scott, Abts (2008).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct UgalSpec {
    /// Flits (times hops) by which the shortest way may be worse and is still taken. Flits under way are those whose credit has
    /// not come back, on the cable, too: with cables of many cycles an idle network has some, and packets take detours for
    /// nothing until the threshold is about the hops times what a cable holds at the usual load.
    pub threshold: u32,
}

impl Default for UgalSpec {
    fn default() -> Self {
        Self { threshold: 2 }
    }
}

impl FlitRoutingAlgorithm for UgalSpec {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        let threshold = u64::from(self.threshold);
        if let Some(Geometry::Grid(_)) = &wiring.geometry {
            let map = GridMap::new(wiring, "ugal")?;
            if map.dimensions.iter().any(|dimension| dimension.join != Join::Clique) {
                let reason = "`ugal` needs a dragonfly or a HyperX; here `valiant` or `minimal-adaptive` fit";
                return Err(BuildError::new("routing.kind", reason));
            }
            check_parts(router, "ugal", 2, false, PHASES)?;
            return Ok(Arc::new(HyperXUgal { map, threshold }));
        }
        Ok(Arc::new(ThirdGroup::new(wiring, router, "ugal", Some(threshold))?))
    }
}

/// Whether the detour has the shorter queue: (flits, hops) of both.
pub(super) fn detour_is_better(direct: (u32, u32), detour: (u32, u32), threshold: u64) -> bool {
    let cost = |(flits, hops): (u32, u32)| u64::from(flits) * u64::from(hops);
    cost(direct) > cost(detour) + threshold
}

#[derive(Debug, Clone)]
struct HyperXUgal {
    map: GridMap,
    threshold: u64,
}

impl HyperXUgal {
    /// Hops between two routers, and the flits at the first output.
    fn cost(&self, router: u32, target: u32, surroundings: &dyn Surroundings) -> (u32, u32) {
        let map = &self.map;
        let Some(d) = map.lowest(router, target) else { return (0, 0) };
        let hops = map.place_of(router).iter().zip(map.place_of(target)).filter(|(a, b)| a != b).count();
        (map.used(router, d, map.coordinate(target, d), surroundings), hops as u32)
    }
}

impl FlitRouting for HyperXUgal {
    #[inline]
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let map = &self.map;
        let target = map.destinations.router(head.dest);
        if head.memory & CHOSEN == 0 {
            head.memory = CHOSEN | SECOND;
            let between = map.vertices()[surroundings.draw(map.vertices().len() as u32) as usize];
            if between != place.router && between != target && place.router != target {
                let direct = self.cost(place.router, target, surroundings);
                let (flits, first) = self.cost(place.router, between, surroundings);
                let (_, second) = self.cost(between, target, surroundings);
                if detour_is_better(direct, (flits, first + second), self.threshold) {
                    head.memory = CHOSEN | (u64::from(between) << BETWEEN);
                }
            }
        }
        map.by_way_of_memory(place.router, target, head, surroundings)
    }

    fn adaptive(&self) -> bool {
        true
    }

    fn looks_at_input(&self) -> bool {
        false
    }

    fn looks_at_vc(&self) -> bool {
        false
    }
}
