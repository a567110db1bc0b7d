//! Dimensions of a grid, taken together as far as what is made for pairs of places stays small.

use stratasim_topo::geometry::{Grid, GridDimension, GridShape};

/// Dimensions are taken together, as one axis, while it has no more places than this: its directions stay in the nearest cache.
const MOST_PLACES: u32 = 64;

/// A bit for each direction in which a way goes on.
pub(super) type Directions = u16;

/// Some dimensions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// Nodes with the next place along it are so far apart.
    pub(super) stride: u32,
    pub(super) places: u32,
    /// All directions along it.
    pub(super) along: Directions,
}

/// How many directions lead along a dimension; none where something stands between its places.
pub(super) const fn directions_along(dimension: &GridDimension) -> Option<u32> {
    match (dimension.shape, dimension.extent) {
        (_, 1) => Some(0),
        (GridShape::Line, 2) => Some(1),
        (GridShape::Line | GridShape::Ring, _) => Some(2),
        (GridShape::Clique, extent) => Some(extent),
        (GridShape::Switch { .. }, _) => None,
    }
}

/// Directions from one place of a dimension to another: the first is upwards, the second downwards, or in a clique one for each place.
const fn directions_to(dimension: &GridDimension, from: u32, to: u32) -> Directions {
    if from == to {
        return 0;
    }
    match dimension.shape {
        GridShape::Line if dimension.extent > 2 && to < from => 0b10,
        GridShape::Line => 0b01,
        GridShape::Ring => {
            let up = (to + dimension.extent - from) % dimension.extent;
            match 2 * up {
                twice if twice < dimension.extent => 0b01,
                twice if twice > dimension.extent => 0b10,
                _ => 0b11,
            }
        }
        GridShape::Clique => 1 << to,
        GridShape::Switch { .. } => 0,
    }
}

/// The node that is farthest from node 0, and no nearer than any other two are.
pub(super) fn farthest(shape: &Grid) -> u32 {
    let (mut node, mut stride) = (0, 1);
    for dimension in &shape.dimensions {
        let last = dimension.extent - 1;
        node += stride
            * match dimension.shape {
                GridShape::Ring => dimension.extent / 2,
                _ => last,
            };
        stride *= dimension.extent;
    }
    node
}

/// The axes of a grid, and by axis and place the directions to each place of it.
pub(super) fn axes(shape: &Grid) -> (Vec<Axis>, Vec<Directions>) {
    let mut axes: Vec<Axis> = Vec::new();
    // dimensions of each axis, with their first directions
    let mut members: Vec<Vec<(GridDimension, u32)>> = Vec::new();
    let (mut stride, mut first) = (1, 0);
    for dimension in &shape.dimensions {
        let count = directions_along(dimension).unwrap_or(0);
        let along = (((1_u32 << count) - 1) << first) as Directions;
        match axes.last_mut().zip(members.last_mut()) {
            Some((axis, members)) if axis.places * dimension.extent <= MOST_PLACES => {
                axis.places *= dimension.extent;
                axis.along |= along;
                members.push((*dimension, first));
            }
            _ => {
                axes.push(Axis { stride, places: dimension.extent, along });
                members.push(vec![(*dimension, first)]);
            }
        }
        stride *= dimension.extent;
        first += count;
    }
    let mut all = Vec::new();
    for (axis, members) in axes.iter().zip(&members) {
        for (from, to) in (0..axis.places).flat_map(|from| (0..axis.places).map(move |to| (from, to))) {
            let (mut from, mut to, mut directions) = (from, to, 0);
            for (dimension, first) in members {
                directions |=
                    directions_to(dimension, from % dimension.extent, to % dimension.extent) << first;
                (from, to) = (from / dimension.extent, to / dimension.extent);
            }
            all.push(directions);
        }
    }
    (axes, all)
}
