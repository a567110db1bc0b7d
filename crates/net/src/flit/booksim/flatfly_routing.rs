//! Routing functions of flattened butterflies.

use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use super::flatfly::FlattenedButterfly;
use super::{entry, lower_part, part_of, upper_part};

/// Which routing function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ButterflyFunction {
    /// `ran_min`: the lowest dimension first; nothing is random in it.
    Minimal,
    /// `xyyx`: dimensions ascending or descending by coin, each with half of the virtual channels.
    XyYx,
    /// `adaptive_xyyx`: the order whose first output has fewer flits under way, by coin when equal.
    AdaptiveXyYx,
    /// `valiant`: by any terminal's router, half of the channels for each phase.
    Valiant,
    /// `ugal`: by a random router of the smallest box around both, where hops times flits of the shortest way are
    /// more than those of the way round and two; half of the channels for each phase (Singh 2005).
    Ugal,
    /// `ugal_xyyx`: the same, dimensions ascending or descending by coin; a quarter of the channels each.
    UgalXyYx,
    /// `ugal_pni`: `ugal` with channels of their own for each coordinate in the next dimension.
    UgalPartlyNonInterfering,
}

impl ButterflyFunction {
    /// Least virtual channels on a butterfly of `k` routers per dimension.
    pub fn least_channels(self, k: u32) -> u32 {
        match self {
            Self::Minimal => 1,
            Self::XyYx | Self::AdaptiveXyYx | Self::Valiant | Self::Ugal => 2,
            Self::UgalXyYx => 4,
            Self::UgalPartlyNonInterfering => (2 * k - 1).max(2),
        }
    }
}

/// What the shortest way is given in advance over the way round, in hops times flits.
const BIAS: u64 = 2;

/// A routing function on a flattened butterfly.
#[derive(Debug, Clone)]
pub struct ButterflyRouting {
    butterfly: FlattenedButterfly,
    function: ButterflyFunction,
}

/// Memory of a packet: the phase,
const PHASE: u64 = 3;
/// which is on the way to another router first,
const AROUND: u64 = 1;
/// or on the way to its destination,
const DIRECT: u64 = 2;
/// and above it the terminal's number (`valiant`) or address that it goes by.
const BY_SHIFT: u32 = 2;

impl ButterflyRouting {
    /// A function on a butterfly.
    pub fn new(butterfly: FlattenedButterfly, function: ButterflyFunction) -> Self {
        Self { butterfly, function }
    }

    fn is_at(&self, address: u32, router: u32) -> bool {
        address / self.butterfly.concentration() == router
    }

    fn enters(&self, place: Place) -> bool {
        u32::from(place.input) < self.butterfly.concentration()
    }

    /// Dimensions up or down, drawn or chosen at the first router, then known by the virtual channel.
    fn either_order(&self, place: Place, head: &Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let dest = self.butterfly.address(head.dest);
        if self.is_at(dest, place.router) {
            return entry(self.butterfly.output(place.router, dest, false), head.range);
        }
        let [up, down] =
            [false, true].map(|descending| self.butterfly.output(place.router, dest, descending));
        let (lower, upper) = (lower_part(head.range), upper_part(head.range));
        let ascending = if !self.enters(place) {
            place.vc < upper.0
        } else if self.function == ButterflyFunction::AdaptiveXyYx {
            let (used_up, used_down) = (surroundings.used(up), surroundings.used(down));
            if used_up == used_down { surroundings.draw(2) > 0 } else { used_up < used_down }
        } else {
            surroundings.draw(2) > 0
        };
        if ascending { entry(up, lower) } else { entry(down, upper) }
    }

    fn valiant(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        if self.enters(place) {
            let by = surroundings.draw(self.butterfly.nodes());
            head.memory = u64::from(by) << BY_SHIFT | AROUND;
        }
        let by = self.butterfly.address((head.memory >> BY_SHIFT) as u32);
        let dest = self.butterfly.address(head.dest);
        let arrived = self.is_at(dest, place.router);
        if self.is_at(by, place.router) || arrived {
            head.memory = head.memory & !PHASE | DIRECT;
        }
        let (to, range) = match (head.memory & PHASE, arrived) {
            (_, true) => (dest, head.range),
            (AROUND, _) => (by, lower_part(head.range)),
            _ => (dest, upper_part(head.range)),
        };
        entry(self.butterfly.output(place.router, to, false), range)
    }

    /// An address in the smallest box that holds the routers of both; one draw for the port, one per dimension in
    /// which they differ.
    fn between(&self, from: u32, to: u32, surroundings: &mut dyn Surroundings) -> u32 {
        let (k, size) = (self.butterfly.k(), self.butterfly.concentration());
        let mut address = surroundings.draw(size);
        let (mut one, mut other, mut stride) = (from / size, to / size, size);
        for _ in 0..self.butterfly.dimensions() {
            let digit = if one % k == other % k { one % k } else { surroundings.draw(k) };
            address += digit * stride;
            (one, other, stride) = (one / k, other / k, stride * k);
        }
        address
    }

    /// Decides at the first router between the shortest way and one round; returns the packet's memory.
    fn decide(
        &self,
        place: Place,
        head: &Head,
        descending: bool,
        surroundings: &mut dyn Surroundings,
    ) -> u64 {
        let (from, dest) = (self.butterfly.address(head.source), self.butterfly.address(head.dest));
        let by = self.between(from, dest, surroundings);
        if self.is_at(by, place.router) {
            return DIRECT;
        }
        let used = |to| u64::from(surroundings.used(self.butterfly.output(place.router, to, descending)));
        let hops = |one, other| u64::from(self.butterfly.distance(one, other));
        let round = hops(from, by) + hops(by, dest);
        if hops(from, dest) * used(dest) <= round * used(by) + BIAS {
            DIRECT
        } else {
            u64::from(by) << BY_SHIFT | AROUND
        }
    }

    fn ugal(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let both_orders = self.function == ButterflyFunction::UgalXyYx;
        let enters = self.enters(place);
        let dest = self.butterfly.address(head.dest);
        if enters {
            head.memory = 0;
        }
        let by = (head.memory >> BY_SHIFT) as u32;
        if head.memory & PHASE == AROUND {
            if self.is_at(by, place.router) {
                head.memory = DIRECT;
            }
        } else if self.is_at(dest, place.router) {
            return entry(self.butterfly.output(place.router, dest, false), head.range);
        }
        let descending = both_orders
            && !if enters { surroundings.draw(2) > 0 } else { place.vc < upper_part(head.range).0 };
        if head.memory & PHASE == 0 {
            head.memory = self.decide(place, head, descending, surroundings);
        }
        let around = head.memory & PHASE == AROUND;
        let to = if around { (head.memory >> BY_SHIFT) as u32 } else { dest };
        let output = self.butterfly.output(place.router, to, descending);
        if u32::from(output) < self.butterfly.concentration() {
            return entry(output, head.range);
        }
        let mut range = head.range;
        if both_orders {
            // halves by order, then a quarter of the whole off at the side of the phase that it is not in
            let quarter = (range.1 - range.0).div_ceil(2) / 2;
            range = if descending { upper_part(range) } else { lower_part(range) };
            range = if around { (range.0, range.1 - quarter) } else { (range.0 + quarter, range.1) };
        } else {
            range = if around { lower_part(range) } else { upper_part(range) };
        }
        if self.function == ButterflyFunction::UgalPartlyNonInterfering {
            let dimension = (u32::from(output) - self.butterfly.concentration()) / (self.butterfly.k() - 1);
            range = self.by_coordinate(range, dest, dimension + 1);
        }
        entry(output, range)
    }

    /// The channels of a range for packets with the coordinate of `dest` in a dimension; behind the last one
    /// that is the port.
    fn by_coordinate(&self, range: (u8, u8), dest: u32, dimension: u32) -> (u8, u8) {
        let (k, size) = (self.butterfly.k(), self.butterfly.concentration());
        let coordinate = if dimension == self.butterfly.dimensions() {
            dest % size
        } else {
            dest / size / k.pow(dimension) % k
        };
        part_of(range, coordinate, k)
    }
}

impl FlitRouting for ButterflyRouting {
    fn start(&self, head: &mut Head, _: &mut dyn Surroundings) -> (u8, u8) {
        match self.function {
            ButterflyFunction::UgalPartlyNonInterfering => {
                self.by_coordinate(head.range, self.butterfly.address(head.dest), 0)
            }
            _ => head.range,
        }
    }

    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        use ButterflyFunction as F;
        match self.function {
            F::Minimal => {
                let dest = self.butterfly.address(head.dest);
                entry(self.butterfly.output(place.router, dest, false), head.range)
            }
            F::XyYx | F::AdaptiveXyYx => self.either_order(place, head, surroundings),
            F::Valiant => self.valiant(place, head, surroundings),
            F::Ugal | F::UgalXyYx | F::UgalPartlyNonInterfering => self.ugal(place, head, surroundings),
        }
    }

    fn draws(&self) -> bool {
        self.function != ButterflyFunction::Minimal
    }

    fn memory_bits(&self) -> u32 {
        use ButterflyFunction as F;
        match self.function {
            F::Minimal | F::XyYx | F::AdaptiveXyYx => 0,
            F::Valiant | F::Ugal | F::UgalXyYx | F::UgalPartlyNonInterfering => {
                BY_SHIFT + self.butterfly.nodes().ilog2() + 1
            }
        }
    }

    fn knows_source(&self) -> bool {
        use ButterflyFunction as F;
        matches!(self.function, F::Ugal | F::UgalXyYx | F::UgalPartlyNonInterfering)
    }

    fn adaptive(&self) -> bool {
        use ButterflyFunction as F;
        !matches!(self.function, F::Minimal | F::XyYx | F::Valiant)
    }
}
