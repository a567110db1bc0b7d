//! Where the nodes of a regular graph are: what routing at flit level decides by.
//!
//! A [`RouteRule`](crate::structure::RouteRule) answers for whole routes; routers decide hop by hop, and
//! among several ways. They need the coordinates themselves. Node ids are those of the topology.

mod direction;

pub use direction::Direction;

/// The shape of a regular graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Geometry {
    /// Vertices with coordinates: meshes, tori, hypercubes, HyperX, composed machines.
    Grid(Grid),
    /// Levels of switches above hosts: extended generalised fat trees.
    Tree(Tree),
    /// Groups of fully connected routers.
    Dragonfly(DragonflyGeometry),
    /// Stages of switches, one way: k-ary n-fly.
    Butterfly(Butterfly),
}

/// A product of lines, rings, cliques and switches.
///
/// Vertex `v` is node `first_vertex + v` and has coordinate `v / stride % extent` in each dimension; the
/// stride is the product of the extents before. Hosts of vertex `v`, where there are any, are the nodes
/// `v * hosts` to `v * hosts + hosts - 1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Node id of vertex 0.
    pub first_vertex: u32,
    /// Number of vertices.
    pub vertices: u32,
    /// Hosts on every vertex; `None`: the vertices compute.
    pub hosts: Option<u32>,
    /// The dimensions, innermost first.
    pub dimensions: Vec<GridDimension>,
}

/// One dimension of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridDimension {
    /// Vertices along it.
    pub extent: u32,
    /// How they are joined. A ring of less than three is given as a line.
    pub shape: GridShape,
}

/// How the vertices along one dimension are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridShape {
    /// Neighbours only.
    Line,
    /// Neighbours, and the last with the first.
    Ring,
    /// Every pair.
    Clique,
    /// All of them with a switch of their own; switch of line `l` is node `first + l`, where line `l` holds
    /// the vertices with `v / (stride * extent) * stride + v % stride == l`.
    Switch {
        /// Node id of the switch of line 0.
        first: u32,
    },
}

/// A tree: nodes of level 0 are hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Node id of the first host.
    pub first_host: u32,
    /// Number of hosts.
    pub hosts: u32,
    /// The levels of switches, lowest first.
    pub levels: Vec<TreeLevel>,
}

/// One level of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeLevel {
    /// Node id of its first switch.
    pub first: u32,
    /// Number of its switches.
    pub count: u32,
    /// Nodes below each switch.
    pub children: u32,
    /// Switches of this level above each node of the level below.
    pub parents: u32,
    /// Hosts under each switch.
    pub hosts_below: u32,
}

impl Tree {
    /// The subtree of switch `index` of `level` (an index into `levels`): subtree `s` of a level holds
    /// hosts `s * hosts_below` to `(s + 1) * hosts_below - 1`.
    pub fn subtree(&self, level: usize, index: u32) -> u32 {
        let level = &self.levels[level];
        index / (level.count / (self.hosts / level.hosts_below))
    }
}

/// A dragonfly: router `i` of group `g` is node `first_router + g * routers_per_group + i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DragonflyGeometry {
    /// Node id of the first router.
    pub first_router: u32,
    /// Routers of each group (a).
    pub routers_per_group: u32,
    /// Groups (g).
    pub groups: u32,
}

/// A butterfly: `stages` stages of `k^(stages - 1)` switches; switch `i` of stage `s` is node
/// `first_switch + s * k^(stages - 1) + i`. Host `h` enters at switch `h / k` of stage 0 and hears
/// switch `h / k` of the last stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Butterfly {
    /// Node id of the first switch.
    pub first_switch: u32,
    /// Ways out of each switch.
    pub k: u32,
    /// Stages.
    pub stages: u32,
}
