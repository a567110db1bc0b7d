//! Up to a nearest common ancestor, then down.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::packed::{Packed, Tree};
use super::places::any;
use super::tree::TreeMap;
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// Up a fat tree by a way drawn at every switch, until the destination is below; then down, of parallel
/// cables by one drawn. Free of deadlock with one virtual channel, since no packet goes up again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NearestCommonAncestorSpec {
    /// Draws two ways and takes the one with fewer flits under way (Mitzenmacher 2001, "The power of two
    /// choices"); of equal ones the first.
    pub adaptive: bool,
}

impl FlitRoutingAlgorithm for NearestCommonAncestorSpec {
    fn build(&self, wiring: &Wiring, _: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        Ok(Arc::new(NearestCommonAncestor::new(wiring, self.adaptive)?))
    }
}

/// Nearest common ancestor, ready for one fabric.
#[derive(Debug, Clone)]
pub struct NearestCommonAncestor {
    map: TreeMap,
    packed: Option<Packed>,
    adaptive: bool,
}

impl NearestCommonAncestor {
    /// Nearest common ancestor on `wiring`.
    ///
    /// # Errors
    /// No tree, or one in which cables are missing.
    pub fn new(wiring: &Wiring, adaptive: bool) -> Result<Self, BuildError> {
        let map = TreeMap::new(wiring, "nearest-common-ancestor")?;
        let packed = if adaptive { None } else { Tree::new(&map).map(Packed::Tree) };
        Ok(Self { map, packed, adaptive })
    }

    /// One of `ports`.
    #[inline]
    fn choose(&self, ports: &[u16], surroundings: &mut dyn Surroundings) -> u16 {
        if ports.len() == 1 {
            return ports[0];
        }
        let mut draw = || ports[surroundings.draw(ports.len() as u32) as usize];
        if !self.adaptive {
            return draw();
        }
        let (first, second) = (draw(), draw());
        if surroundings.used(second) < surroundings.used(first) { second } else { first }
    }
}

impl FlitRouting for NearestCommonAncestor {
    #[inline]
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        if self.map.destinations.router(head.dest) == place.router {
            self.map.destinations.eject(head.dest, head.range)
        } else {
            let ports = self.map.down(place.router, head.dest).unwrap_or_else(|| self.map.up(place.router));
            any(self.choose(ports, surroundings), head.range)
        }
    }

    fn adaptive(&self) -> bool {
        self.adaptive
    }

    fn packed(&self) -> Option<&Packed> {
        self.packed.as_ref()
    }

    fn joins(&self, source: u32, dest: u32) -> bool {
        self.map.joins(source, dest)
    }

    fn joins_all(&self, _: u32) -> bool {
        self.map.is_whole()
    }

    /// Up from level to level, then down.
    fn is_ordered(&self) -> bool {
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
