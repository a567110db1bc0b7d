//! By way of an intermediate router: Valiant's and ROMM.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_topo::geometry::Geometry;

use super::dimension_order::{RINGS, Ring};
use super::grid::{GridMap, Join};
use super::places::{any, check_parts, part};
use super::third_group::ThirdGroup;
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// Valiant's: every packet goes to a router drawn from all, then to its destination, both in dimension order. Turns
/// any traffic into two of uniform traffic, and doubles the way of traffic that was local. On a dragonfly: to a group drawn from
/// all others, whichever of its routers the way leads to, then to its destination; packets stay in their group where that has the
/// destination.
///
/// The virtual channels are halved by phase, and quartered where there are rings; a dragonfly needs three classes, one for each
/// group on the way.
///
/// Sources: Valiant, Brebner (1981), "Universal schemes for parallel communication"; Kim, Dally, Scott, Abts (2008),
/// "Technology-driven, highly-scalable dragonfly topology".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ValiantSpec {}

/// ROMM: every packet goes by way of a router drawn from those on shortest ways to its destination, in dimension
/// order to it and from it. Stays minimal, and spreads traffic that dimension order concentrates.
///
/// The virtual channels are halved by phase, and quartered where there are rings.
///
/// Source: Nesson, Johnsson (1995), "ROMM routing on mesh and torus networks".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RommSpec {}

impl FlitRoutingAlgorithm for ValiantSpec {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        Ok(match &wiring.geometry {
            Some(Geometry::Dragonfly(_)) => Arc::new(ThirdGroup::new(wiring, router, "valiant", None)?),
            Some(Geometry::Grid(_)) => Arc::new(TwoPhase::new(wiring, router, "valiant", false)?),
            _ => {
                let reason = "`valiant` needs a mesh, torus, hypercube, HyperX, dragonfly or composed machine; use `auto`";
                return Err(BuildError::new("routing.kind", reason));
            }
        })
    }
}

impl FlitRoutingAlgorithm for RommSpec {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        Ok(Arc::new(TwoPhase::new(wiring, router, "romm", true)?))
    }
}

/// Why phases divide the virtual channels.
pub(crate) const PHASES: &str = "packets before and after their turning point must not wait for each other";

/// Refuses virtual channels that do not divide into two phases.
pub(crate) fn check_phases(map: &GridMap, router: &RouterSpec, kind: &str) -> Result<(), BuildError> {
    check_parts(router, kind, 2, false, PHASES)?;
    if map.has_rings() {
        check_parts(router, kind, 4, true, RINGS)?;
    }
    Ok(())
}

/// Two phases of dimension order, ready for one fabric.
///
/// Memory of a packet: the way round a ring in the lowest byte, then its phase, then the router between.
#[derive(Debug, Clone)]
struct TwoPhase {
    map: GridMap,
    minimal: bool,
}

/// The packet has a turning point.
pub(crate) const CHOSEN: u64 = 1 << 8;
/// It is past it.
pub(crate) const SECOND: u64 = 1 << 9;
/// Where the turning point is in the memory.
pub(crate) const BETWEEN: u32 = 32;

impl TwoPhase {
    fn new(wiring: &Wiring, router: &RouterSpec, kind: &str, minimal: bool) -> Result<Self, BuildError> {
        let map = GridMap::new(wiring, kind)?;
        check_phases(&map, router, kind)?;
        Ok(Self { map, minimal })
    }

    fn turning_point(&self, router: u32, target: u32, surroundings: &mut dyn Surroundings) -> u32 {
        if self.minimal {
            self.map.between(router, target, surroundings)
        } else {
            let vertices = self.map.vertices();
            vertices[surroundings.draw(vertices.len() as u32) as usize]
        }
    }
}

impl GridMap {
    /// A router drawn from the box that the shortest ways between two routers fill.
    fn between(&self, router: u32, target: u32, surroundings: &mut dyn Surroundings) -> u32 {
        let place = (0..self.dimension_count()).map(|d| {
            let (at, to) = (self.coordinate(router, d), self.coordinate(target, d));
            let way = self.way(d, at, to, || surroundings.draw(2) == 1);
            let distance = match self.dimensions[d].join {
                Join::Line | Join::Ring => self.distance(d, at, to),
                // either end: there is nothing between
                Join::Clique | Join::Switch => return if surroundings.draw(2) == 0 { at } else { to },
            };
            let steps = surroundings.draw(u32::from(distance) + 1) as u16;
            self.dimensions[d].go(at, steps, way.minus)
        });
        let place: smallvec::SmallVec<[u16; 8]> = place.collect();
        self.router_at(place.into_iter())
    }

    /// The next step of a packet that goes to the router in its memory first.
    pub(crate) fn by_way_of_memory(
        &self,
        router: u32,
        target: u32,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
    ) -> Candidate {
        if head.memory & SECOND == 0 {
            let between = (head.memory >> BETWEEN) as u32;
            if let Some(d) = self.lowest(router, between) {
                return self.phase_step(router, between, d, false, head, surroundings);
            }
            // forgets the way round the last ring of the first phase
            head.memory = CHOSEN | SECOND;
        }
        self.step_or_eject(router, target, self.lowest(router, target), true, head, surroundings)
    }

    /// One step of phase `second` towards `target` along dimension `d`, or out of the network where there is none.
    pub(crate) fn step_or_eject(
        &self,
        router: u32,
        target: u32,
        d: Option<usize>,
        second: bool,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
    ) -> Candidate {
        match d {
            Some(d) => self.phase_step(router, target, d, second, head, surroundings),
            None => self.destinations.eject(head.dest, head.range),
        }
    }

    /// One step of phase `second` towards `target` along dimension `d`.
    fn phase_step(
        &self,
        router: u32,
        target: u32,
        d: usize,
        second: bool,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
    ) -> Candidate {
        let mut ring = Ring::of(head.memory);
        let (output, class) = self.step(router, target, d, &mut ring, false, surroundings);
        head.memory = (head.memory & !0xff) | ring.0;
        let half = part(head.range, 2, u8::from(second));
        any(output, class.map_or(half, |class| part(half, 2, class)))
    }
}

impl FlitRouting for TwoPhase {
    #[inline]
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let map = &self.map;
        let target = map.destinations.router(head.dest);
        if head.memory & CHOSEN == 0 {
            let between = self.turning_point(place.router, target, surroundings);
            head.memory = CHOSEN | (u64::from(between) << BETWEEN);
        }
        map.by_way_of_memory(place.router, target, head, surroundings)
    }

    fn looks_at_input(&self) -> bool {
        false
    }

    fn looks_at_vc(&self) -> bool {
        false
    }
}
