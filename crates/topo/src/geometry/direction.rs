//! Directions in which the channels of a regular graph lead: what the same columns of a picture may show of all routers.

use std::fmt;

use super::{DragonflyGeometry, Geometry, Grid, GridDimension, GridShape, Tree};

/// A direction, in the order in which a reader expects them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// To a neighbour along a line or ring of a grid: `-x` or `+x`.
    Along {
        /// The dimension, innermost first.
        dimension: u32,
        /// To the larger coordinate, or from the last to the first.
        is_up: bool,
    },
    /// To a place in a dimension of which every pair is joined.
    To {
        /// The dimension.
        dimension: u32,
        /// The coordinate there.
        coordinate: u32,
    },
    /// To the switch of a line.
    Switch {
        /// The dimension.
        dimension: u32,
    },
    /// Away from the roots of a tree.
    Down,
    /// To the roots.
    Up,
    /// Within a group.
    Local,
    /// Between groups.
    Global,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Along { dimension, is_up } => {
                write!(f, "{}{}", if is_up { '+' } else { '-' }, Name(dimension))
            }
            Self::To { dimension, coordinate } => write!(f, "{} = {coordinate}", Name(dimension)),
            Self::Switch { dimension } => write!(f, "{} switch", Name(dimension)),
            Self::Down => f.write_str("down"),
            Self::Up => f.write_str("up"),
            Self::Local => f.write_str("local"),
            Self::Global => f.write_str("global"),
        }
    }
}

/// The name of a dimension.
struct Name(u32);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ['x', 'y', 'z', 'w'].get(self.0 as usize) {
            Some(letter) => write!(f, "{letter}"),
            None => write!(f, "d{}", self.0),
        }
    }
}

impl Geometry {
    /// The direction of a link from one node to another; `None` where they are no neighbours by the geometry, or it
    /// has no directions.
    pub fn direction(&self, from: u32, to: u32) -> Option<Direction> {
        match self {
            Self::Grid(grid) => grid.direction(from, to),
            Self::Tree(tree) => tree.direction(from, to),
            Self::Dragonfly(groups) => groups.direction(from, to),
            Self::Butterfly(_) => None,
        }
    }
}

impl Grid {
    fn direction(&self, from: u32, to: u32) -> Option<Direction> {
        let vertex = |node: u32| node.checked_sub(self.first_vertex).filter(|&vertex| vertex < self.vertices);
        let mut stride = 1;
        for (number, dimension) in (0..).zip(&self.dimensions) {
            let at = |vertex: u32| vertex / stride % dimension.extent;
            let is_switch = |node: u32| match dimension.shape {
                GridShape::Switch { first } => {
                    (first..first + self.vertices / dimension.extent).contains(&node)
                }
                _ => false,
            };
            match [vertex(from), vertex(to)] {
                [Some(from), Some(to)] if at(from) != at(to) => {
                    return dimension.direction(number, at(from), at(to));
                }
                [Some(_), None] if is_switch(to) => return Some(Direction::Switch { dimension: number }),
                [None, Some(to)] if is_switch(from) => {
                    return Some(Direction::To { dimension: number, coordinate: at(to) });
                }
                _ => stride *= dimension.extent,
            }
        }
        None
    }
}

impl GridDimension {
    /// From one coordinate to another one of dimension `number`.
    fn direction(&self, number: u32, from: u32, to: u32) -> Option<Direction> {
        let [next, last] = [from + 1, self.extent - 1];
        let is_ring = self.shape == GridShape::Ring;
        let [is_up, is_down] = [
            to == next || is_ring && (from, to) == (last, 0),
            from == to + 1 || is_ring && (from, to) == (0, last),
        ];
        match self.shape {
            GridShape::Line | GridShape::Ring => {
                (is_up != is_down).then_some(Direction::Along { dimension: number, is_up })
            }
            GridShape::Clique => Some(Direction::To { dimension: number, coordinate: to }),
            GridShape::Switch { .. } => None,
        }
    }
}

impl Tree {
    fn direction(&self, from: u32, to: u32) -> Option<Direction> {
        let [from, to] = [self.level(from)?, self.level(to)?];
        match from.abs_diff(to) {
            1 => Some(if from < to { Direction::Up } else { Direction::Down }),
            _ => None,
        }
    }

    /// The level of a node; hosts are on level 0.
    fn level(&self, node: u32) -> Option<usize> {
        let is_on = |first: u32, count: u32| (first..first + count).contains(&node);
        if is_on(self.first_host, self.hosts) {
            return Some(0);
        }
        self.levels.iter().position(|level| is_on(level.first, level.count)).map(|level| level + 1)
    }
}

impl DragonflyGeometry {
    fn direction(&self, from: u32, to: u32) -> Option<Direction> {
        let group = |node: u32| Some(node.checked_sub(self.first_router)? / self.routers_per_group);
        match [group(from)?, group(to)?] {
            [from, to] if from.max(to) >= self.groups => None,
            [from, to] if from == to => Some(Direction::Local),
            _ => Some(Direction::Global),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TreeLevel;
    use super::*;

    fn names(geometry: &Geometry, pairs: &[[u32; 2]]) -> Vec<String> {
        let name = |&[from, to]: &[u32; 2]| {
            geometry.direction(from, to).map_or_else(|| "none".to_owned(), |it| it.to_string())
        };
        pairs.iter().map(name).collect()
    }

    fn grid(first_vertex: u32, dimensions: &[(u32, GridShape)]) -> Geometry {
        let dimensions: Vec<GridDimension> =
            dimensions.iter().map(|&(extent, shape)| GridDimension { extent, shape }).collect();
        let vertices = dimensions.iter().map(|dimension| dimension.extent).product();
        Geometry::Grid(Grid { first_vertex, vertices, hosts: None, dimensions })
    }

    #[test]
    fn neighbours_on_grids_lie_along_an_axis() {
        let torus = grid(100, &[(4, GridShape::Ring), (3, GridShape::Line)]);
        let pairs = [[100, 101], [101, 100], [103, 100], [100, 103], [100, 104], [108, 104]];
        assert_eq!(names(&torus, &pairs), ["+x", "-x", "+x", "-x", "+y", "-y"]);
        // two steps, round a line, out of the grid, nowhere
        let others = [[100, 102], [108, 100], [99, 100], [100, 112], [100, 100]];
        assert_eq!(names(&torus, &others), ["none"; 5]);
    }

    #[test]
    fn cliques_and_switches_are_named_by_where_they_lead() {
        let shapes = [(3, GridShape::Clique), (2, GridShape::Switch { first: 10 })];
        let composed = grid(0, &shapes);
        let pairs = [[0, 2], [2, 1], [1, 11], [11, 4], [12, 5], [0, 13], [0, 3]];
        let expected = ["x = 2", "x = 1", "y switch", "y = 1", "y = 1", "none", "none"];
        assert_eq!(names(&composed, &pairs), expected);
        let long = grid(0, &[(2, GridShape::Line); 5]);
        assert_eq!(names(&long, &[[0, 8], [16, 0]]), ["+w", "-d4"]);
    }

    #[test]
    fn trees_and_groups_have_two_directions() {
        let level =
            |first, count| TreeLevel { first, count, children: 2, parents: 1, hosts_below: 4 / count };
        let tree = Tree { first_host: 0, hosts: 4, levels: vec![level(4, 2), level(6, 1)] };
        let pairs = [[0, 4], [4, 6], [6, 5], [5, 3], [0, 6], [4, 5]];
        assert_eq!(names(&Geometry::Tree(tree), &pairs), ["up", "up", "down", "down", "none", "none"]);
        let groups = DragonflyGeometry { first_router: 8, routers_per_group: 2, groups: 3 };
        let pairs = [[8, 9], [9, 10], [13, 8], [13, 14], [7, 8]];
        let expected = ["local", "global", "global", "none", "none"];
        assert_eq!(names(&Geometry::Dragonfly(groups), &pairs), expected);
    }
}
