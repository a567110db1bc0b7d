//! Routing functions of tori.

use super::super::routing::packed::{Grid, Packed};
use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use super::cube::Cube;
use super::{RouteSet, entry, lower_part, part_of, upper_part};

/// Which routing function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TorusFunction {
    /// `dim_order`: the lowest dimension first, the shorter way round, two classes of channels per ring.
    /// Where their number is odd the classes share one, and rings can deadlock.
    DimensionOrder,
    /// `dim_order_bal`: the same with classes that are balanced where the ring allows it.
    Balanced,
    /// `min_adapt`: the last of four channels adaptive, the first two an escape; of several productive
    /// outputs only the first is offered.
    MinimalAdaptive,
    /// `valiant`: by any intermediate node, channels split by phase and ring class.
    Valiant,
    /// `dim_order_ni`: dimension order with virtual channels of their own for each destination.
    NonInterfering,
    /// `chaos`: the lowest dimension first on the first virtual channel, to the higher neighbour where both
    /// ways are as long; the router that it was made for does not work.
    Chaos,
}

/// A routing function on a torus.
#[derive(Debug, Clone)]
pub struct TorusRouting {
    cube: Cube,
    function: TorusFunction,
    packed: Option<Packed>,
}

/// Memory of a packet: its class in the ring that it is in,
const RING_CLASS: u64 = 1;
/// its phase,
const PHASE: u64 = 2;
/// and above them its intermediate node.
const NODE_SHIFT: u32 = 2;

/// An output, and the ring class where it was chosen anew.
struct Step {
    output: u16,
    class: Option<u64>,
}

impl TorusRouting {
    /// A function on a cube.
    pub fn new(cube: Cube, function: TorusFunction) -> Self {
        let packs = function == TorusFunction::DimensionOrder;
        let packed = if packs { Grid::of_cube(&cube, true).map(Packed::Grid) } else { None };
        Self { cube, function, packed }
    }

    /// The next output in dimension order for a packet that came by `input`; `balanced` draws the class
    /// where the ring leaves it free.
    fn step(&self, from: u32, to: u32, input: u16, balanced: bool, draws: &mut dyn Surroundings) -> Step {
        let Some((d, here, there)) = self.cube.lowest_difference(from, to) else {
            return Step { output: self.cube.eject(), class: None };
        };
        if u32::from(input / 2) == d {
            return Step { output: input ^ 1, class: None };
        }
        let k = self.cube.k();
        let forward = (there + k - here) % k;
        let up = 2 * forward < k || 2 * forward == k && draws.draw(2) == 1;
        let output = (2 * d + u32::from(!up)) as u16;
        let class = if balanced {
            let middle = (k - 1) / 2;
            let wraps = if up { here > there } else { here < there };
            let crosses =
                if up { here <= middle && there > middle } else { here > middle && there <= middle };
            match (wraps, crosses) {
                (true, _) => 1,
                (false, true) => 0,
                (false, false) => draws.draw(2).into(),
            }
        } else {
            u64::from(here > there)
        };
        Step { output, class: Some(class) }
    }

    fn dimension_order(
        &self,
        place: Place,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
    ) -> Candidate {
        let balanced = self.function == TorusFunction::Balanced;
        let step = self.step(place.router, head.dest, place.input, balanced, surroundings);
        head.memory = step.class.unwrap_or(head.memory);
        let range = match (place.router == head.dest, head.memory & RING_CLASS) {
            (true, _) => head.range,
            (false, 0) => lower_part(head.range),
            (false, _) => upper_part(head.range),
        };
        entry(step.output, range)
    }

    fn non_interfering(&self, place: Place, head: &Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let step = self.step(place.router, head.dest, place.input, false, surroundings);
        let own = part_of(head.range, head.dest, self.cube.nodes());
        entry(step.output, if place.router == head.dest { head.range } else { own })
    }

    fn chaos(&self, place: Place, head: &Head) -> Candidate {
        let found = self.cube.lowest_difference(place.router, head.dest);
        let output = found.map_or(self.cube.eject(), |(d, here, there)| {
            let k = self.cube.k();
            (2 * d + u32::from(2 * ((there + k - here) % k) > k)) as u16
        });
        entry(output, (0, 0))
    }

    fn minimal_adaptive(
        &self,
        place: Place,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
        set: &mut RouteSet<'_>,
    ) {
        let (first, last) = head.range;
        if place.router == head.dest {
            return set.add(self.cube.eject(), head.range, 0);
        }
        let vc = if place.input == self.cube.eject() { last } else { place.vc };
        let escaped = vc <= first + 1;
        if !escaped {
            let k = self.cube.k();
            for d in 0..self.cube.dimensions() {
                let Some((d, here, there)) = self.cube.difference(place.router, head.dest, d) else {
                    continue;
                };
                // the lower neighbour where both ways are as long
                let up = 2 * ((there + k - here) % k) < k;
                set.add((2 * d + u32::from(!up)) as u16, (first + 3, first + 3), 1);
            }
        }
        // an escape that is chosen here is as if the packet had started here, afterwards it goes on
        let input = if escaped { place.input } else { self.cube.eject() };
        let step = self.step(place.router, head.dest, input, false, surroundings);
        head.memory = step.class.unwrap_or(head.memory);
        let escape = first + head.memory as u8;
        set.add(step.output, (escape, escape), 0);
    }

    fn valiant(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let mut input = place.input;
        if input == self.cube.eject() {
            head.memory = u64::from(surroundings.draw(self.cube.nodes())) << NODE_SHIFT;
        }
        let node = (head.memory >> NODE_SHIFT) as u32;
        if head.memory & PHASE == 0 && place.router == node {
            head.memory |= PHASE;
            input = self.cube.eject();
        }
        let second = head.memory & PHASE != 0;
        let step = self.step(place.router, if second { head.dest } else { node }, input, false, surroundings);
        head.memory = head.memory & !RING_CLASS | step.class.unwrap_or(head.memory & RING_CLASS);
        if place.router == head.dest {
            return entry(step.output, head.range);
        }
        // half of the channels per ring class, and half of those per phase
        let half = (head.range.1 - head.range.0).div_ceil(2);
        let (mut first, mut last) = head.range;
        if head.memory & RING_CLASS == 0 {
            last -= half
        } else {
            first += half
        }
        if second {
            first += half / 2
        } else {
            last -= half / 2
        }
        entry(step.output, (first, last))
    }
}

impl FlitRouting for TorusRouting {
    fn route(
        &self,
        place: Place,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
        out: &mut Vec<Candidate>,
    ) {
        match self.function {
            TorusFunction::MinimalAdaptive => {
                self.minimal_adaptive(place, head, surroundings, &mut RouteSet::new(out));
            }
            _ => out.push(self.only(place, head, surroundings)),
        }
    }

    fn single(&self) -> bool {
        self.function != TorusFunction::MinimalAdaptive
    }

    fn start(&self, head: &mut Head, _: &mut dyn Surroundings) -> (u8, u8) {
        if self.function == TorusFunction::Chaos { (0, 0) } else { head.range }
    }

    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        match self.function {
            TorusFunction::Valiant => self.valiant(place, head, surroundings),
            TorusFunction::NonInterfering => self.non_interfering(place, head, surroundings),
            TorusFunction::Chaos => self.chaos(place, head),
            _ => self.dimension_order(place, head, surroundings),
        }
    }

    fn packed(&self) -> Option<&Packed> {
        self.packed.as_ref()
    }

    fn memory_bits(&self) -> u32 {
        match self.function {
            TorusFunction::Valiant => NODE_SHIFT + self.cube.nodes().ilog2() + 1,
            TorusFunction::NonInterfering | TorusFunction::Chaos => 0,
            _ => 1,
        }
    }

    fn knows_source(&self) -> bool {
        false
    }
}
