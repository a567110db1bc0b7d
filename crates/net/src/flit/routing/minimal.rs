//! Shortest ways in dragonflies and HyperX.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_topo::geometry::Geometry;

use super::dragonfly::DragonflyMap;
use super::grid::{GridMap, Join};
use super::places::{any, check_parts, part, prefer};
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// Shortest ways. On a dragonfly: to a router with a cable to the destination's group (drawn from all of the
/// group's, unless the present one has some), over it, and on to the destination; two classes of virtual channels,
/// before and after the cable between groups. On a HyperX: any dimension that still differs,
/// preferably that of the channel with fewest flits under way when the packet came, of equal ones one that is drawn; one class
/// per hop.
///
/// Sources: Kim, Dally, Scott, Abts (2008), "Technology-driven, highly-scalable dragonfly topology"; Ahn et al.
/// (2009), "HyperX: topology, routing, and packaging of efficient large-scale networks".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MinimalSpec {}

impl FlitRoutingAlgorithm for MinimalSpec {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        if let Some(Geometry::Grid(_)) = &wiring.geometry {
            return HyperXMinimal::build(wiring, router);
        }
        let map = DragonflyMap::new(wiring, "minimal")?;
        check_parts(router, "minimal", 2, false, "packets change the class with the group")?;
        Ok(Arc::new(DragonflyMinimal { map }))
    }
}

/// Memory: whether the packet has changed its group.
#[derive(Debug, Clone)]
struct DragonflyMinimal {
    map: DragonflyMap,
}

impl FlitRouting for DragonflyMinimal {
    #[inline]
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let map = &self.map;
        let target = map.destinations.router(head.dest);
        let group = map.group(target);
        if place.router == target {
            map.destinations.eject(head.dest, head.range)
        } else if map.group(place.router) == group {
            // the second half also where the packet never was in another group: as good, and one rule
            any(map.within(place.router, target), part(head.range, 2, 1))
        } else {
            any(map.draw_toward(place.router, group, surroundings), part(head.range, 2, 0))
        }
    }

    fn looks_at_input(&self) -> bool {
        false
    }

    fn looks_at_vc(&self) -> bool {
        false
    }

    fn memory_bits(&self) -> u32 {
        0
    }

    fn knows_source(&self) -> bool {
        false
    }
}

/// Memory: hops so far.
#[derive(Debug, Clone)]
struct HyperXMinimal {
    map: GridMap,
    classes: u8,
}

impl HyperXMinimal {
    fn build(wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        let map = GridMap::new(wiring, "minimal")?;
        if map.dimensions.iter().any(|dimension| dimension.join != Join::Clique) {
            let reason = "`minimal` needs a dragonfly or a HyperX; here `minimal-adaptive` does the same";
            return Err(BuildError::new("routing.kind", reason));
        }
        let classes = map.dimension_count().max(1) as u8;
        check_parts(router, "minimal", classes, false, "packets change the class with every hop")?;
        Ok(Arc::new(Self { map, classes }))
    }
}

impl FlitRouting for HyperXMinimal {
    fn route(
        &self,
        place: Place,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
        out: &mut Vec<Candidate>,
    ) {
        let map = &self.map;
        let target = map.destinations.router(head.dest);
        if place.router == target {
            out.push(map.destinations.eject(head.dest, head.range));
            return;
        }
        let class = part(head.range, self.classes, head.memory as u8);
        head.memory += 1;
        let begin = out.len();
        for d in 0..map.dimension_count() {
            let (at, to) = (map.coordinate(place.router, d), map.coordinate(target, d));
            if at == to {
                continue;
            }
            let way = map.way(d, at, to, || false);
            for copy in 0..map.copies(d) {
                out.push(any(map.output(place.router, d, to, way, copy), class));
            }
        }
        prefer(&mut out[begin..], surroundings);
    }

    fn single(&self) -> bool {
        false
    }

    fn prefers(&self) -> bool {
        true
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

    fn memory_bits(&self) -> u32 {
        8
    }

    fn knows_source(&self) -> bool {
        false
    }
}
