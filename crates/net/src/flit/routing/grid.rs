//! Routers with coordinates: what every routing function on meshes, tori, hypercubes and HyperX needs.

use stratasim_core::BuildError;
use stratasim_topo::geometry::{Geometry, Grid, GridShape};

use super::places::Destinations;
use crate::flit::fabric::End;
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::routing::Surroundings;

/// Dimensions with more than one vertex that a map may have.
const MOST_DIMENSIONS: usize = 32;

/// How the routers along a dimension are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    Line,
    Ring,
    Clique,
    Switch,
}

/// One dimension with more than one vertex.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dimension {
    pub(crate) extent: u16,
    pub(crate) join: Join,
    /// Where its ports start among those of a router in the table.
    offset: u32,
    /// Cables in place of each single one.
    copies: u16,
    stride: u32,
}

impl Dimension {
    /// The coordinate `steps` up or down a line or ring.
    pub(crate) fn go(&self, at: u16, steps: u16, minus: bool) -> u16 {
        let up = if minus && steps > 0 { self.extent - steps } else { steps };
        ((u32::from(at) + u32::from(up)) % u32::from(self.extent)) as u16
    }
}

/// A way along a dimension: the direction, and of the two classes of a ring the one whose channels are
/// used as far as the coordinate wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) minus: bool,
    pub(crate) class: u8,
}

/// Coordinates and ports of all routers.
///
/// The router of a `switch` dimension has the coordinates of its line and none along its own dimension.
#[derive(Debug, Clone)]
pub struct GridMap {
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) destinations: Destinations,
    /// `coordinates[router * dimensions + d]`; [`NOWHERE`] for a switch along its own dimension.
    coordinates: Vec<u16>,
    ports: Vec<u16>,
    stride: usize,
    /// Router of each vertex.
    vertices: Vec<u32>,
    has_rings: bool,
}

/// No coordinate.
pub(super) const NOWHERE: u16 = u16::MAX;
/// No port.
const NO_PORT: u16 = u16::MAX;

impl GridMap {
    /// The map of `wiring`; `kind` is the routing function that asks.
    ///
    /// # Errors
    /// No grid; cables that the grid should have and has not.
    pub fn new(wiring: &Wiring, kind: &str) -> Result<Self, BuildError> {
        let Some(Geometry::Grid(grid)) = &wiring.geometry else {
            let reason = format!(
                "`{kind}` needs a mesh, torus, hypercube, HyperX or composed machine, with routers at its places; use `auto`"
            );
            return Err(BuildError::new("routing.kind", reason));
        };
        let dimensions = dimensions(grid)?;
        let router_of = |node: u32| wiring.router_of.get(node as usize).copied().flatten();
        let vertices: Option<Vec<u32>> =
            (0..grid.vertices).map(|vertex| router_of(grid.first_vertex + vertex)).collect();
        let Some(vertices) = vertices else {
            return Err(BuildError::new(
                "routing.kind",
                format!("`{kind}` needs a router at every place of the grid"),
            ));
        };
        let count = wiring.fabric.router_count();
        let mut map = Self {
            coordinates: vec![NOWHERE; count * dimensions.len()],
            has_rings: dimensions.iter().any(|dimension| dimension.join == Join::Ring),
            destinations: Destinations::new(&wiring.fabric),
            ports: Vec::new(),
            stride: 0,
            vertices,
            dimensions,
        };
        map.place(grid, &router_of, kind)?;
        map.wire(wiring, kind)?;
        Ok(map)
    }

    /// Fills the coordinates.
    fn place(
        &mut self,
        grid: &Grid,
        router_of: &dyn Fn(u32) -> Option<u32>,
        kind: &str,
    ) -> Result<(), BuildError> {
        let n = self.dimensions.len();
        for (vertex, &router) in (0..).zip(&self.vertices) {
            for (d, dimension) in self.dimensions.iter().enumerate() {
                let coordinate = vertex / dimension.stride % u32::from(dimension.extent);
                self.coordinates[router as usize * n + d] = coordinate as u16;
            }
        }
        let mut of = 0;
        for dimension in &grid.dimensions {
            if dimension.extent == 1 {
                continue;
            }
            let own = of;
            of += 1;
            let GridShape::Switch { first } = dimension.shape else { continue };
            let (stride, extent) = (self.dimensions[own].stride, dimension.extent);
            for line in 0..grid.vertices / extent {
                let Some(router) = router_of(first + line) else {
                    return Err(BuildError::new(
                        "routing.kind",
                        format!("`{kind}`: a switch of the grid is missing"),
                    ));
                };
                let vertex = line / stride * (stride * extent) + line % stride;
                for d in (0..n).filter(|&d| d != own) {
                    let dimension = &self.dimensions[d];
                    let coordinate = vertex / dimension.stride % u32::from(dimension.extent);
                    self.coordinates[router as usize * n + d] = coordinate as u16;
                }
            }
        }
        Ok(())
    }

    /// Finds the port of every cable.
    fn wire(&mut self, wiring: &Wiring, kind: &str) -> Result<(), BuildError> {
        let fabric = &wiring.fabric;
        let count = fabric.router_count() as u32;
        // cables of each step: the dimension and the place in it
        let mut cables = vec![0_u16; self.dimensions.len()];
        let mut steps = Vec::with_capacity(fabric.channels().len());
        let mut seen: Vec<(usize, u32, u16)> = Vec::new();
        for router in 0..count {
            seen.clear();
            for output in 0..fabric.output_count(router) {
                let End::Router { router: to, .. } = fabric.channel(router, output).end else { continue };
                let Some((d, place)) = self.step_between(router, to) else {
                    let reason =
                        format!("`{kind}`: a cable of the grid joins routers that are no neighbours");
                    return Err(BuildError::new("routing.kind", reason));
                };
                let copy = match seen.iter_mut().find(|(seen_d, at, _)| (*seen_d, *at) == (d, place)) {
                    Some((_, _, copies)) => {
                        *copies += 1;
                        *copies - 1
                    }
                    None => {
                        seen.push((d, place, 1));
                        0
                    }
                };
                cables[d] = cables[d].max(copy + 1);
                steps.push((router, d, place, copy, output));
            }
        }
        let mut offset = 0;
        for (dimension, &copies) in self.dimensions.iter_mut().zip(&cables) {
            dimension.offset = offset;
            dimension.copies = copies;
            let places = match dimension.join {
                Join::Line | Join::Ring => 2,
                Join::Clique | Join::Switch => u32::from(dimension.extent),
            };
            offset += places * u32::from(copies);
        }
        self.stride = offset as usize;
        self.ports = vec![NO_PORT; self.stride * count as usize];
        for (router, d, place, copy, output) in steps {
            let dimension = &self.dimensions[d];
            let at = dimension.offset + place * u32::from(dimension.copies) + u32::from(copy);
            self.ports[router as usize * self.stride + at as usize] = output;
        }
        self.check_complete(kind)
    }

    /// Which step leads from one router to another: the dimension, and the place among its ports (0 and 1
    /// are up and down a line or ring and to a switch; a coordinate in a clique and from a switch).
    fn step_between(&self, from: u32, to: u32) -> Option<(usize, u32)> {
        let n = self.dimensions.len();
        let mut differing = (0..n).filter(|&d| self.coordinate(from, d) != self.coordinate(to, d));
        let d = differing.next()?;
        if differing.next().is_some() {
            return None;
        }
        let (a, b) = (self.coordinate(from, d), self.coordinate(to, d));
        let Dimension { extent, join, .. } = self.dimensions[d];
        let place = match join {
            Join::Line | Join::Ring if b == a + 1 => 0,
            Join::Line | Join::Ring if a == b + 1 => 1,
            Join::Ring if a == extent - 1 && b == 0 => 0,
            Join::Ring if a == 0 && b == extent - 1 => 1,
            Join::Line | Join::Ring => return None,
            Join::Clique => u32::from(b),
            Join::Switch if b == NOWHERE => 0,
            Join::Switch if a == NOWHERE => u32::from(b),
            Join::Switch => return None,
        };
        Some((d, place))
    }

    /// Refuses grids in which cables are missing.
    fn check_complete(&self, kind: &str) -> Result<(), BuildError> {
        for &router in &self.vertices {
            for (d, dimension) in self.dimensions.iter().enumerate() {
                let at = self.coordinate(router, d);
                let complete = match dimension.join {
                    Join::Line => {
                        (at + 1 == dimension.extent || self.has_port(router, d, 0))
                            && (at == 0 || self.has_port(router, d, 1))
                    }
                    Join::Ring => self.has_port(router, d, 0) && self.has_port(router, d, 1),
                    Join::Clique => (0..dimension.extent).all(|to| to == at || self.has_port(router, d, to)),
                    Join::Switch => self.has_port(router, d, 0),
                };
                if !complete {
                    return Err(BuildError::new(
                        "routing.kind",
                        format!("`{kind}`: cables of the grid are missing; use `up-down`"),
                    ));
                }
            }
        }
        Ok(())
    }

    fn has_port(&self, router: u32, d: usize, place: u16) -> bool {
        let dimension = &self.dimensions[d];
        let at = dimension.offset + u32::from(place) * u32::from(dimension.copies);
        let at = router as usize * self.stride + at as usize;
        self.ports[at..at + usize::from(dimension.copies)].iter().all(|&port| port != NO_PORT)
    }

    /// Whether a dimension is a ring: two classes of virtual channels are needed.
    pub fn has_rings(&self) -> bool {
        self.has_rings
    }

    /// Number of dimensions with more than one vertex.
    pub fn dimension_count(&self) -> usize {
        self.dimensions.len()
    }

    /// Router of each vertex.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// The router at a place.
    pub(crate) fn router_at(&self, coordinates: impl Iterator<Item = u16>) -> u32 {
        let vertex: u32 = self
            .dimensions
            .iter()
            .zip(coordinates)
            .map(|(dimension, at)| dimension.stride * u32::from(at))
            .sum();
        self.vertices[vertex as usize]
    }

    #[inline]
    pub(crate) fn coordinate(&self, router: u32, d: usize) -> u16 {
        self.coordinates[router as usize * self.dimensions.len() + d]
    }

    /// All coordinates of a router.
    #[inline]
    pub(crate) fn place_of(&self, router: u32) -> &[u16] {
        let n = self.dimensions.len();
        &self.coordinates[router as usize * n..(router as usize + 1) * n]
    }

    /// The lowest dimension in which two routers differ, from `first` on.
    #[inline]
    pub(crate) fn lowest(&self, router: u32, target: u32) -> Option<usize> {
        self.place_of(router).iter().zip(self.place_of(target)).position(|(at, to)| at != to)
    }

    /// The highest dimension in which two routers differ; a switch is left before anything else.
    #[inline]
    pub(crate) fn highest(&self, router: u32, target: u32) -> Option<usize> {
        let (at, to) = (self.place_of(router), self.place_of(target));
        at.iter().position(|&at| at == NOWHERE).or_else(|| (0..at.len()).rev().find(|&d| at[d] != to[d]))
    }

    /// The shorter way from coordinate `at` to `to`, where both are as long the one that `tie` gives. On a
    /// ring the class is 1 where the present coordinate is the larger one, so that a class never has a
    /// channel all the way round: packets going up are in class 1 when they will wrap, those going down
    /// when they will not (Dally, Seitz 1987, with the dateline at coordinate 0).
    #[inline]
    pub(crate) fn way(&self, d: usize, at: u16, to: u16, tie: impl FnOnce() -> bool) -> Way {
        let Dimension { extent, join, .. } = self.dimensions[d];
        match join {
            Join::Line => Way { minus: to < at, class: 0 },
            Join::Ring => {
                let up = if to >= at { to - at } else { to + extent - at };
                let down = extent - up;
                let minus = down < up || (down == up && tie());
                Way { minus, class: u8::from(at > to) }
            }
            Join::Clique | Join::Switch => Way { minus: false, class: 0 },
        }
    }

    /// The output of `router` on `way` along dimension `d` towards coordinate `to`; of parallel cables
    /// a drawn one: the destination alone would not spread those whose inner coordinates are the same.
    #[inline]
    pub(crate) fn any_output(
        &self,
        router: u32,
        d: usize,
        to: u16,
        way: Way,
        surroundings: &mut dyn Surroundings,
    ) -> u16 {
        let copies = self.copies(d);
        let copy = if copies == 1 { 0 } else { surroundings.draw(copies) };
        self.output(router, d, to, way, copy)
    }

    /// Flits under way on that output; of parallel cables the mean, as one of them is drawn.
    pub(crate) fn used(&self, router: u32, d: usize, to: u16, surroundings: &dyn Surroundings) -> u32 {
        let way = self.way(d, self.coordinate(router, d), to, || false);
        let copies = self.copies(d);
        let used = (0..copies).map(|copy| surroundings.used(self.output(router, d, to, way, copy)));
        used.sum::<u32>() / copies
    }

    /// The output of `router` on `way` along dimension `d` towards coordinate `to`; of parallel cables
    /// the one at `copy`.
    #[inline]
    pub(crate) fn output(&self, router: u32, d: usize, to: u16, way: Way, copy: u32) -> u16 {
        let dimension = &self.dimensions[d];
        let place = match dimension.join {
            Join::Line | Join::Ring => u32::from(way.minus),
            Join::Clique => u32::from(to),
            Join::Switch if self.coordinate(router, d) == NOWHERE => u32::from(to),
            Join::Switch => 0,
        };
        let copies = u32::from(dimension.copies);
        let at = dimension.offset + if copies == 1 { place } else { place * copies + copy };
        self.ports[router as usize * self.stride + at as usize]
    }

    /// Routers, switches of dimensions among them.
    pub(crate) fn router_count(&self) -> usize {
        self.coordinates.len() / self.dimensions.len().max(1)
    }

    /// The port up or down a line or ring, where there is one.
    pub(crate) fn port(&self, router: u32, d: usize, minus: bool) -> Option<u16> {
        let at = router as usize * self.stride + self.dimensions[d].offset as usize;
        let port = self.ports[at + usize::from(minus) * usize::from(self.dimensions[d].copies)];
        (port != NO_PORT).then_some(port)
    }

    /// Parallel cables of dimension `d`.
    pub(crate) fn copies(&self, d: usize) -> u32 {
        u32::from(self.dimensions[d].copies)
    }

    /// Steps between two coordinates of a dimension.
    pub(crate) fn distance(&self, d: usize, at: u16, to: u16) -> u16 {
        let Dimension { extent, join, .. } = self.dimensions[d];
        let apart = at.abs_diff(to);
        match join {
            Join::Line => apart,
            Join::Ring => apart.min(extent - apart),
            Join::Clique => u16::from(apart > 0),
            Join::Switch => 2 * u16::from(apart > 0),
        }
    }
}

/// The dimensions that have more than one vertex.
fn dimensions(grid: &Grid) -> Result<Vec<Dimension>, BuildError> {
    let mut found = Vec::new();
    let mut stride = 1;
    for dimension in &grid.dimensions {
        if dimension.extent > 1 {
            if dimension.extent >= u32::from(NOWHERE) {
                let reason =
                    format!("{} routers along a dimension; at most 65,534 are possible", dimension.extent);
                return Err(BuildError::new("", reason));
            }
            let join = match dimension.shape {
                GridShape::Line => Join::Line,
                GridShape::Ring => Join::Ring,
                GridShape::Clique => Join::Clique,
                GridShape::Switch { .. } => Join::Switch,
            };
            let extent = dimension.extent as u16;
            found.push(Dimension { extent, join, offset: 0, copies: 0, stride });
        }
        stride *= dimension.extent;
    }
    if found.len() > MOST_DIMENSIONS {
        return Err(BuildError::new(
            "",
            format!("{} dimensions; at most {MOST_DIMENSIONS} are possible", found.len()),
        ));
    }
    Ok(found)
}
