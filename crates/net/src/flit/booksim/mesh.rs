//! Routing functions of meshes.

use super::super::routing::packed::{Grid, Packed};
use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use super::cube::Cube;
use super::{RouteSet, entry, lower_part, part_of, upper_part};

/// Which routing function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeshFunction {
    /// `dor`, `dim_order`: the lowest dimension first.
    DimensionOrder,
    /// `xy_yx`: the order of dimensions by coin, each with half of the virtual channels.
    XyYx,
    /// `adaptive_xy_yx`: the order whose first output has fewer flits under way, by coin when equal.
    AdaptiveXyYx,
    /// `romm`: by an intermediate node in the smallest box that holds source and destination (Nesson,
    /// Johnsson 1995).
    Romm,
    /// `valiant`: by any intermediate node (Valiant, Brebner 1981).
    Valiant,
    /// `min_adapt`: the first virtual channel as escape, the others adaptive; of several productive
    /// outputs only the lowest dimension is offered.
    MinimalAdaptive,
    /// `planar_adapt`: in a plane of two dimensions (Chien, Kim 1992); only the first entry is offered.
    PlanarAdaptive,
    /// `dim_order_ni`: dimension order with virtual channels of their own for each destination.
    NonInterfering,
    /// `dim_order_pni`: dimension order with virtual channels by the destination's coordinate in the dimension
    /// that the packet is in.
    PartlyNonInterfering,
    /// `romm_ni`: `romm` with virtual channels by destination instead of phase.
    RommNonInterfering,
    /// `chaos`: the lowest dimension first on the first virtual channel; the router that it was made for does
    /// not work.
    Chaos,
}

/// A routing function on a mesh.
#[derive(Debug, Clone)]
pub struct MeshRouting {
    cube: Cube,
    function: MeshFunction,
    packed: Option<Packed>,
}

/// Memory of a packet that goes by an intermediate node: bit 0 is the phase, the rest the node.
const PHASE: u64 = 1;

impl MeshRouting {
    /// A function on a cube.
    pub fn new(cube: Cube, function: MeshFunction) -> Self {
        let packs = function == MeshFunction::DimensionOrder;
        let packed = if packs { Grid::of_cube(&cube, false).map(Packed::Grid) } else { None };
        Self { cube, function, packed }
    }

    /// A node of the box between two, one draw per dimension.
    fn between(&self, from: u32, to: u32, surroundings: &mut dyn Surroundings) -> u32 {
        let (mut node, mut stride) = (0, 1);
        for d in 0..self.cube.dimensions() {
            let (a, b) = (self.cube.coordinate(from, d), self.cube.coordinate(to, d));
            node += stride * (a.min(b) + surroundings.draw(a.abs_diff(b) + 1));
            stride *= self.cube.k();
        }
        node
    }

    /// By an intermediate node: half of the channels for each phase, except at the destination's router.
    fn two_phases(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        if place.input == self.cube.eject() {
            let node = match self.function {
                MeshFunction::Valiant => surroundings.draw(self.cube.nodes()),
                _ => self.between(head.source, head.dest, surroundings),
            };
            head.memory = u64::from(node) << 1;
        }
        if u64::from(place.router) == head.memory >> 1 {
            head.memory |= PHASE;
        }
        let second = head.memory & PHASE != 0;
        let to = if second { head.dest } else { (head.memory >> 1) as u32 };
        let range = match (place.router == head.dest, second) {
            (true, _) => head.range,
            _ if self.function == MeshFunction::RommNonInterfering => self.by_destination(head),
            (false, false) => lower_part(head.range),
            (false, true) => upper_part(head.range),
        };
        entry(self.cube.mesh_output(place.router, to, false), range)
    }

    /// The channels of a packet's destination.
    fn by_destination(&self, head: &Head) -> (u8, u8) {
        part_of(head.range, head.dest, self.cube.nodes())
    }

    /// Dimension order, with the channels of the destination or of its coordinate.
    fn non_interfering(&self, place: Place, head: &Head) -> Candidate {
        let output = self.cube.mesh_output(place.router, head.dest, false);
        entry(
            output,
            match self.function {
                _ if output == self.cube.eject() => head.range,
                MeshFunction::NonInterfering => self.by_destination(head),
                _ => {
                    let coordinate = self.cube.coordinate(head.dest, u32::from(output / 2));
                    part_of(head.range, coordinate, self.cube.k())
                }
            },
        )
    }

    /// Dimensions in ascending or descending order, decided at the source and kept in the channel's number.
    fn either_order(&self, place: Place, head: &Head, surroundings: &mut dyn Surroundings) -> Candidate {
        if place.router == head.dest {
            return entry(self.cube.eject(), head.range);
        }
        let output = |descending| self.cube.mesh_output(place.router, head.dest, descending);
        let (first, last) = head.range;
        let ascending = if place.input < self.cube.eject() {
            place.vc < first + (last - first).div_ceil(2)
        } else if self.function == MeshFunction::AdaptiveXyYx {
            let (up, down) = (surroundings.used(output(false)), surroundings.used(output(true)));
            if up == down { surroundings.draw(2) > 0 } else { up < down }
        } else {
            surroundings.draw(2) > 0
        };
        let range = if ascending { lower_part(head.range) } else { upper_part(head.range) };
        entry(output(!ascending), range)
    }

    fn minimal_adaptive(&self, place: Place, head: &Head, set: &mut RouteSet<'_>) {
        let (first, last) = head.range;
        if place.router == head.dest {
            return set.add(self.cube.eject(), head.range, 0);
        }
        set.add(self.cube.mesh_output(place.router, head.dest, false), (first, first), 0);
        // which channel it was injected on does not matter
        if place.input != self.cube.eject() && place.vc == first || first == last {
            return;
        }
        for d in 0..self.cube.dimensions() {
            if let Some((d, here, there)) = self.cube.difference(place.router, head.dest, d) {
                set.add((2 * d + u32::from(here > there)) as u16, (first + 1, last), 1);
            }
        }
    }

    fn planar_adaptive(&self, place: Place, head: &Head) -> Candidate {
        let (first, last) = head.range;
        let third = (last - first + 1) / 3;
        let cube = &self.cube;
        // channels of the last plane come back to dimension 0 and must leave it
        let skips = |d: u32| d == 0 && place.input / 2 == 0 && place.vc < first + 2 * third;
        let plane = (0..cube.dimensions())
            .filter(|&d| !skips(d))
            .find_map(|d| cube.difference(place.router, head.dest, d));
        let Some((d, here, there)) = plane else {
            return entry(cube.mesh_output(place.router, head.dest, false), head.range);
        };
        entry((2 * d + u32::from(here > there)) as u16, (first + 2 * third, last))
    }
}

impl FlitRouting for MeshRouting {
    fn route(
        &self,
        place: Place,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
        out: &mut Vec<Candidate>,
    ) {
        match self.function {
            MeshFunction::MinimalAdaptive => self.minimal_adaptive(place, head, &mut RouteSet::new(out)),
            _ => out.push(self.only(place, head, surroundings)),
        }
    }

    fn single(&self) -> bool {
        self.function != MeshFunction::MinimalAdaptive
    }

    fn start(&self, head: &mut Head, _: &mut dyn Surroundings) -> (u8, u8) {
        match self.function {
            MeshFunction::NonInterfering | MeshFunction::RommNonInterfering => self.by_destination(head),
            MeshFunction::PartlyNonInterfering => {
                part_of(head.range, self.cube.coordinate(head.dest, 0), self.cube.k())
            }
            MeshFunction::Chaos => (0, 0),
            _ => head.range,
        }
    }

    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        match self.function {
            MeshFunction::DimensionOrder | MeshFunction::MinimalAdaptive => {
                entry(self.cube.mesh_output(place.router, head.dest, false), head.range)
            }
            MeshFunction::XyYx | MeshFunction::AdaptiveXyYx => self.either_order(place, head, surroundings),
            MeshFunction::Romm | MeshFunction::RommNonInterfering | MeshFunction::Valiant => {
                self.two_phases(place, head, surroundings)
            }
            MeshFunction::NonInterfering | MeshFunction::PartlyNonInterfering => {
                self.non_interfering(place, head)
            }
            MeshFunction::Chaos => entry(self.cube.mesh_output(place.router, head.dest, false), (0, 0)),
            MeshFunction::PlanarAdaptive => self.planar_adaptive(place, head),
        }
    }

    fn packed(&self) -> Option<&Packed> {
        self.packed.as_ref()
    }

    fn draws(&self) -> bool {
        self.function != MeshFunction::DimensionOrder
    }

    fn memory_bits(&self) -> u32 {
        match self.function {
            MeshFunction::Romm | MeshFunction::RommNonInterfering | MeshFunction::Valiant => {
                1 + self.cube.nodes().ilog2() + 1
            }
            _ => 0,
        }
    }

    fn knows_source(&self) -> bool {
        matches!(self.function, MeshFunction::Romm | MeshFunction::RommNonInterfering)
    }

    fn adaptive(&self) -> bool {
        self.function == MeshFunction::AdaptiveXyYx
    }
}
