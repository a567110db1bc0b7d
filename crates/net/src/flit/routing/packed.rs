//! Routing in a few instructions: what a decision looks at stands in words.

mod grid;
mod tree;

pub use grid::Grid;
pub use tree::{Plain, Tree};

/// Coordinates that fit into a word: dimensions of a grid, levels of a tree.
const MOST_LANES: usize = 4;

/// [`Step::half`] where every virtual channel will do.
pub const ALL: u8 = 2;

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The output port.
    pub output: u8,
    /// The lower half (0) or the upper half (1) of the virtual channels of the packet's range, or [`ALL`].
    pub half: u8,
    /// What the packet remembers.
    pub memory: u8,
}

/// Decisions of one kind.
pub trait Steps {
    /// Whether many decisions need a draw.
    const DRAWS: bool;

    /// The decision for a head to terminal `dest` at `router`, with what it remembers. `draw` is asked for a
    /// number below a bound where several ways are as good, once at most.
    fn step(&self, router: u32, dest: u32, memory: u8, draw: impl FnOnce(u32) -> u32) -> Step;
}

/// A routing function in words: the same decisions as by [`FlitRouting::only`](super::FlitRouting::only).
#[derive(Debug, Clone)]
pub enum Packed {
    /// Dimension order on a grid.
    Grid(Grid),
    /// Up and down a tree.
    Tree(Tree),
}

impl Packed {
    /// Whether packets keep to halves of the virtual channels of their range.
    pub fn halves(&self) -> bool {
        match self {
            Self::Grid(grid) => grid.halves(),
            Self::Tree(_) => false,
        }
    }

    /// A decision; see [`Steps::step`].
    #[inline(always)]
    pub fn step(&self, router: u32, dest: u32, memory: u8, draw: impl FnOnce(u32) -> u32) -> Step {
        match self {
            Self::Grid(grid) => grid.step(router, dest, memory, draw),
            Self::Tree(tree) => tree.step(router, dest, memory, draw),
        }
    }
}
