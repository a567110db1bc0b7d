//! Dimension order: one dimension after the other.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::grid::{GridMap, Join, Way};
use super::packed::{ALL, Grid, Packed};
use super::places::{any, check_parts, part};
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// Dimension order on meshes, tori, hypercubes, HyperX and composed machines: the innermost dimension
/// first, the shorter way round a ring; half way round, the direction is drawn, and of parallel cables one for each packet.
///
/// Rings need an even number of virtual channels: one half for packets that have a larger coordinate than
/// their destination when they enter the ring, one for the others, so that neither goes all the way round.
///
/// Source: Dally, Seitz (1987), "Deadlock-free message routing in multiprocessor interconnection networks".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DimensionOrderSpec {
    /// Packets that stay on one side of the dateline of a ring are spread over both halves of the virtual
    /// channels (as far as that is free of deadlock), instead of by coordinates alone.
    pub balanced: bool,
}

impl FlitRoutingAlgorithm for DimensionOrderSpec {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        Ok(Arc::new(DimensionOrder::new(wiring, router, self.balanced)?))
    }
}

/// Why rings divide the virtual channels.
pub(crate) const RINGS: &str =
    "two classes keep the packets of a ring from waiting for each other in a circle";

/// Dimension order, ready for one fabric.
#[derive(Debug, Clone)]
pub struct DimensionOrder {
    map: GridMap,
    /// The same, where it fits into words and nothing is balanced.
    packed: Option<Packed>,
    balanced: bool,
}

impl DimensionOrder {
    /// Dimension order on `wiring`.
    ///
    /// # Errors
    /// No grid; an odd number of virtual channels where there are rings.
    pub fn new(wiring: &Wiring, router: &RouterSpec, balanced: bool) -> Result<Self, BuildError> {
        let map = GridMap::new(wiring, "dimension-order")?;
        if map.has_rings() {
            check_parts(router, "dimension-order", 2, true, RINGS)?;
        }
        let packed = if balanced { None } else { Grid::new(&map).map(Packed::Grid) };
        Ok(Self { map, packed, balanced })
    }
}

impl FlitRouting for DimensionOrder {
    #[inline]
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        if let Some(packed) = &self.packed {
            let step =
                packed.step(place.router, head.dest, head.memory as u8, |bound| surroundings.draw(bound));
            head.memory = step.memory.into();
            let range = if step.half == ALL { head.range } else { part(head.range, 2, step.half) };
            return any(u16::from(step.output), range);
        }
        let target = self.map.destinations.router(head.dest);
        let Some(d) = self.map.lowest(place.router, target) else {
            return self.map.destinations.eject(head.dest, head.range);
        };
        let mut ring = Ring::of(head.memory);
        let (output, class) = self.map.step(place.router, target, d, &mut ring, self.balanced, surroundings);
        head.memory = ring.0;
        let range = match class {
            Some(class) => part(head.range, 2, class),
            None => head.range,
        };
        any(output, range)
    }

    fn packed(&self) -> Option<&Packed> {
        self.packed.as_ref()
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

/// The way that a packet has begun along a dimension, in one byte: dimension + 1, direction, class; 0 at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ring(pub(crate) u64);

impl Ring {
    /// The byte in the memory of a head.
    #[inline]
    pub(crate) fn of(memory: u64) -> Self {
        Self(memory & 0xff)
    }

    #[inline]
    fn on(d: usize, way: Way) -> Self {
        Self(((d as u64 + 1) << 2) | (u64::from(way.minus) << 1) | u64::from(way.class))
    }

    /// The way, if it is along dimension `d`.
    #[inline]
    fn along(self, d: usize) -> Option<Way> {
        (self.0 >> 2 == d as u64 + 1).then_some(Way { minus: self.0 & 2 != 0, class: (self.0 & 1) as u8 })
    }
}

impl GridMap {
    /// The next output towards `target` along dimension `d`, and its class where that is a ring. Direction
    /// and class are found on entering the ring and kept to its end.
    #[inline]
    pub(crate) fn step(
        &self,
        router: u32,
        target: u32,
        d: usize,
        ring: &mut Ring,
        balanced: bool,
        surroundings: &mut dyn Surroundings,
    ) -> (u16, Option<u8>) {
        let (at, to) = (self.coordinate(router, d), self.coordinate(target, d));
        let join = self.dimensions[d].join;
        if join != Join::Ring {
            let way = self.way(d, at, to, || false);
            return (self.any_output(router, d, to, way, surroundings), None);
        }
        let way = ring.along(d).unwrap_or_else(|| {
            let mut way = self.way(d, at, to, || surroundings.draw(2) == 1);
            if balanced {
                way.class = self.balanced_class(d, at, to, way.minus, surroundings);
            }
            *ring = Ring::on(d, way);
            way
        });
        (self.any_output(router, d, to, way, surroundings), Some(way.class))
    }

    /// Class 1 for packets that pass the dateline between the last and the first coordinate, class 0 for
    /// those that pass the middle of the ring, and either, drawn, for others: neither class then has a
    /// channel all the way round.
    fn balanced_class(
        &self,
        d: usize,
        at: u16,
        to: u16,
        minus: bool,
        surroundings: &mut dyn Surroundings,
    ) -> u8 {
        let middle = (self.dimensions[d].extent - 1) / 2;
        let wraps = if minus { to > at } else { to < at };
        if wraps {
            return 1;
        }
        let (low, high) = (at.min(to), at.max(to));
        if low <= middle && high > middle { 0 } else { surroundings.draw(2) as u8 }
    }
}
