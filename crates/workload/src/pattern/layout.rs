//! What patterns may know of the machine: how many ranks there are, and how they lie to each other.

/// How the vertices along one dimension of a grid are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// Neighbours only.
    Line,
    /// Neighbours, and the last with the first.
    Ring,
    /// Every pair.
    Clique,
}

/// The shape of the machine, as far as it is regular.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Shape {
    /// Nothing is known.
    #[default]
    Unknown,
    /// Vertices in dimensions, innermost first, each with some ranks; ranks are numbered vertex by vertex.
    Grid {
        /// Ranks on every vertex.
        per_vertex: u32,
        /// Extent of each dimension, and how it is joined.
        dimensions: Vec<(u32, Along)>,
    },
    /// A tree over the ranks, or routers and groups of a dragonfly: children of the nodes of each level, the lowest
    /// first.
    Tree {
        /// Children per node by level.
        children: Vec<u32>,
    },
}

/// Ranks, and how they lie to each other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// Number of ranks.
    pub ranks: u32,
    /// Shape of the machine that they fill in order; unknown when they do not fill it.
    pub shape: Shape,
}

impl Layout {
    /// `ranks` ranks of which nothing else is known.
    pub fn flat(ranks: u32) -> Self {
        Self { ranks, shape: Shape::Unknown }
    }

    /// Extents of the digits of a rank's number, innermost first: those of a grid, with the ranks of a
    /// vertex as innermost where there are several, or the levels of a tree; `None` where unknown.
    pub fn digits(&self) -> Option<Vec<u32>> {
        match &self.shape {
            Shape::Unknown => None,
            Shape::Grid { per_vertex, dimensions } => {
                let inner = (*per_vertex > 1).then_some(*per_vertex);
                Some(inner.into_iter().chain(dimensions.iter().map(|(extent, _)| *extent)).collect())
            }
            Shape::Tree { children } => Some(children.clone()),
        }
    }
}
