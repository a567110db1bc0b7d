//! Dimension order forwards or backwards.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::grid::GridMap;
use super::two_phase::{CHOSEN, SECOND, check_phases};
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// Dimension order with the innermost dimension first or last, drawn for every packet (O1TURN). The virtual channels
/// are halved by the order, and quartered where there are rings.
///
/// Source: Seo, Ali, Lim, Rafique, Thottethodi (2005), "Near-optimal worst-case throughput routing for
/// two-dimensional mesh networks".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct XyYxSpec {
    /// Takes the order whose first channel has fewer flits under way, instead of drawing; draws between equal ones.
    pub adaptive: bool,
}

impl FlitRoutingAlgorithm for XyYxSpec {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        let map = GridMap::new(wiring, "xy-yx")?;
        check_phases(&map, router, "xy-yx")?;
        Ok(Arc::new(XyYx { map, adaptive: self.adaptive }))
    }
}

#[derive(Debug, Clone)]
struct XyYx {
    map: GridMap,
    adaptive: bool,
}

impl XyYx {
    /// Whether a packet begins with the outermost dimension.
    fn backwards(&self, router: u32, target: u32, surroundings: &mut dyn Surroundings) -> bool {
        let map = &self.map;
        if self.adaptive
            && let (Some(low), Some(high)) = (map.lowest(router, target), map.highest(router, target))
            && low != high
        {
            let used = |d: usize| map.used(router, d, map.coordinate(target, d), surroundings);
            let (forwards, backwards) = (used(low), used(high));
            if forwards != backwards {
                return backwards < forwards;
            }
        }
        surroundings.draw(2) == 1
    }
}

impl FlitRouting for XyYx {
    #[inline]
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let map = &self.map;
        let target = map.destinations.router(head.dest);
        if head.memory & CHOSEN == 0 {
            let backwards = self.backwards(place.router, target, surroundings);
            head.memory = if backwards { CHOSEN | SECOND } else { CHOSEN };
        }
        let backwards = head.memory & SECOND != 0;
        let next =
            if backwards { map.highest(place.router, target) } else { map.lowest(place.router, target) };
        map.step_or_eject(place.router, target, next, backwards, head, surroundings)
    }

    fn adaptive(&self) -> bool {
        self.adaptive
    }

    fn looks_at_input(&self) -> bool {
        false
    }

    fn looks_at_vc(&self) -> bool {
        false
    }
}
