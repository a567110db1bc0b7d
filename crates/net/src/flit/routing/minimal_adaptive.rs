//! Any shortest way, with dimension order as the escape.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::grid::{GridMap, Join, NOWHERE, Way};
use super::places::{any, check_parts, part, prefer};
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// Minimal adaptive: every channel that brings a packet nearer may be taken. Of those that have a virtual channel to give a
/// head prefers the one with fewest flits under way when it came, of equal ones one that is drawn, and asks for that one alone
/// unless another head prefers it, too. Heads of a router choose in the order of their inputs, in each cycle from the next one on.
///
/// The first virtual channel (the first two where there are rings) is kept for the escape: dimension order, which
/// every packet may take wherever it is, and leave again. All others are for any shortest way.
///
/// On composed machines the escape takes dimensions with a switch before all others, and packets go to a switch along the
/// first such dimension that differs only: from a switch there is one way on, which must be the escape's.
///
/// A head takes a virtual channel only where all of its packet has room, or where that is empty. Otherwise heads would
/// stand behind others, which wait in their turn, and could not reach the escape: the theory wants each queue to hold one
/// packet at a time, and packets that have room as a whole do no harm. With packets longer than the buffers, channels are
/// empty for a round trip between two packets.
///
/// Source: Duato (1993), "A new theory of deadlock-free adaptive routing in wormhole networks".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MinimalAdaptiveSpec {}

impl FlitRoutingAlgorithm for MinimalAdaptiveSpec {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        let map = GridMap::new(wiring, "minimal-adaptive")?;
        let escape = if map.has_rings() { 2 } else { 1 };
        let why = "the first ones are the escape from deadlock, the others are adaptive";
        check_parts(router, "minimal-adaptive", escape + 1, false, why)?;
        let mut order: Vec<usize> = (0..map.dimension_count()).collect();
        order.sort_by_key(|&d| map.dimensions[d].join != Join::Switch);
        Ok(Arc::new(MinimalAdaptive { map, order, escape }))
    }
}

#[derive(Debug, Clone)]
struct MinimalAdaptive {
    map: GridMap,
    /// Dimensions in the order of the escape.
    order: Vec<usize>,
    /// Virtual channels of the escape.
    escape: u8,
}

impl FlitRouting for MinimalAdaptive {
    fn route(
        &self,
        place: Place,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
        out: &mut Vec<Candidate>,
    ) {
        let map = &self.map;
        let target = map.destinations.router(head.dest);
        let differs = |d: usize| map.coordinate(place.router, d) != map.coordinate(target, d);
        let Some(next) = self.order.iter().copied().find(|&d| differs(d)) else {
            out.push(map.destinations.eject(head.dest, head.range));
            return;
        };
        let (first, last) = head.range;
        let adaptive = (first + self.escape, last);
        let begin = out.len();
        let at_switch = map.coordinate(place.router, next) == NOWHERE;
        for d in 0..map.dimension_count() {
            let (at, to) = (map.coordinate(place.router, d), map.coordinate(target, d));
            let out_of_turn = at_switch || map.dimensions[d].join == Join::Switch;
            if at == to || d != next && out_of_turn {
                continue;
            }
            let way = map.way(d, at, to, || false);
            let other = Way { minus: !way.minus, ..way };
            // half way round a ring, both directions are shortest
            let both = map.dimensions[d].join == Join::Ring
                && 2 * map.distance(d, at, to) == map.dimensions[d].extent;
            for way in std::iter::once(way).chain(both.then_some(other)) {
                for copy in 0..map.copies(d) {
                    out.push(any(map.output(place.router, d, to, way, copy), adaptive));
                }
            }
        }
        prefer(&mut out[begin..], surroundings);
        // not of the escape
        out[begin..].iter_mut().for_each(|candidate| candidate.priority = 1);
        // the class of the escape is that of the present place: the dateline is passed once
        let (at, to) = (map.coordinate(place.router, next), map.coordinate(target, next));
        let way = map.way(next, at, to, || at % 2 == 1);
        let escape = part((first, first + self.escape - 1), self.escape, way.class);
        out.push(any(map.any_output(place.router, next, to, way, surroundings), escape));
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

    fn has_escape(&self) -> bool {
        true
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
