//! Coordinates in one word: dimension order on a mesh or torus in a few instructions.

use super::{ALL, MOST_LANES, Step, Steps};
use crate::flit::booksim::cube::Cube;
use crate::flit::routing::grid::{GridMap, Join};

/// Bits of a coordinate.
const LANE: u32 = u32::BITS / MOST_LANES as u32;

/// A word of coordinates, the first one in the lowest bits.
fn lanes(coordinates: impl IntoIterator<Item = u32>) -> u32 {
    (0..).zip(coordinates).fold(0, |word, (lane, at)| word | at << (lane * LANE))
}

/// A router: its coordinates, the lowest dimension in the lowest bits, and its ports up and down each.
#[derive(Debug, Clone, Copy)]
struct Corner {
    place: u32,
    ports: [u8; 2 * MOST_LANES],
}

/// Dimension order on a mesh, torus or mixture of at most four dimensions with single cables.
#[derive(Debug, Clone)]
pub struct Grid {
    corners: Vec<Corner>,
    /// Coordinates of each terminal's router,
    targets: Vec<u32>,
    /// and its port there.
    exits: Vec<u8>,
    /// Extents of rings; 0 for lines.
    rings: [u16; MOST_LANES],
    /// What is drawn where a packet goes down though both ways round a ring are as long.
    down: u32,
}

impl Grid {
    /// The same grid in words; `None` where it does not fit.
    pub(in crate::flit::routing) fn new(map: &GridMap) -> Option<Self> {
        let fits = |d: usize| matches!(map.dimensions[d].join, Join::Line | Join::Ring) && map.copies(d) == 1;
        let n = map.dimension_count();
        // hops are counted in a byte, and a coordinate is one
        let longest: usize = map.dimensions.iter().map(|dimension| usize::from(dimension.extent)).sum();
        if n == 0 || n > MOST_LANES || longest > 255 || !(0..n).all(fits) {
            return None;
        }
        let place = |router: u32| lanes(map.place_of(router).iter().map(|&at| at.into()));
        let mut corners = Vec::with_capacity(map.router_count());
        for router in 0..map.router_count() as u32 {
            let mut ports = [0; 2 * MOST_LANES];
            for (number, port) in ports[..2 * n].iter_mut().enumerate() {
                // the ends of lines have no port where no packet goes
                *port = map
                    .port(router, number / 2, number % 2 == 1)
                    .map_or(Some(0), |port| u8::try_from(port).ok())?;
            }
            corners.push(Corner { place: place(router), ports });
        }
        let targets = map.destinations.all().map(|(router, _)| place(router)).collect();
        let exits = map.destinations.all().map(|(_, port)| u8::try_from(port).ok()).collect::<Option<_>>()?;
        let mut rings = [0; MOST_LANES];
        for (ring, dimension) in rings.iter_mut().zip(&map.dimensions) {
            *ring = if dimension.join == Join::Ring { dimension.extent } else { 0 };
        }
        Some(Self { corners, targets, exits, rings, down: 1 })
    }

    /// A cube whose routers have one terminal each, at port `2 n`, and ports `2 d` up and `2 d + 1` down. Of rings as
    /// long either way, a draw of 0 says down.
    pub(in crate::flit) fn of_cube(cube: &Cube, wrapped: bool) -> Option<Self> {
        let (k, n) = (cube.k(), cube.dimensions() as usize);
        // hops are counted in a byte
        if n > MOST_LANES || k as usize * n > 255 {
            return None;
        }
        let place = |router| lanes((0..n as u32).map(|d| cube.coordinate(router, d)));
        let corner = |router| Corner { place: place(router), ports: std::array::from_fn(|port| port as u8) };
        let mut rings = [0; MOST_LANES];
        rings[..n].fill(if wrapped { k as u16 } else { 0 });
        Some(Self {
            corners: (0..cube.nodes()).map(corner).collect(),
            targets: (0..cube.nodes()).map(place).collect(),
            exits: vec![cube.eject() as u8; cube.nodes() as usize],
            rings,
            down: 0,
        })
    }

    /// Whether packets keep to halves of the virtual channels.
    pub(super) fn halves(&self) -> bool {
        self.rings.iter().any(|&extent| extent != 0)
    }
}

impl Steps for Grid {
    const DRAWS: bool = false;

    /// As [`GridMap::step`] says without balance. Where both ways round a ring are as long, a draw below 2 says whether down.
    #[inline(always)]
    fn step(&self, router: u32, dest: u32, memory: u8, draw: impl FnOnce(u32) -> u32) -> Step {
        let corner = &self.corners[router as usize];
        let target = self.targets[dest as usize];
        let differing = corner.place ^ target;
        if differing == 0 {
            return Step { output: self.exits[dest as usize], half: ALL, memory };
        }
        let d = (differing.trailing_zeros() / LANE) as usize % MOST_LANES;
        let lane = |word: u32| (word >> (d as u32 * LANE)) & ((1 << LANE) - 1);
        let (at, to) = (lane(corner.place), lane(target));
        let extent = u32::from(self.rings[d]);
        if extent == 0 {
            return Step { output: corner.ports[2 * d + usize::from(to < at)], half: ALL, memory };
        }
        // the ring that it is on already: dimension + 1, direction, class
        let mut way = memory;
        if way >> 2 != d as u8 + 1 {
            let wraps = to < at;
            let up = to.wrapping_sub(at).wrapping_add(extent * u32::from(wraps));
            let minus = if 2 * up == extent { draw(2) == self.down } else { 2 * up > extent };
            way = (d as u8 + 1) << 2 | u8::from(minus) << 1 | u8::from(wraps);
        }
        Step { output: corner.ports[2 * d + (way as usize >> 1 & 1)], half: way & 1, memory: way }
    }
}
