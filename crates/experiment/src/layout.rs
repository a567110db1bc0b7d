//! How the ranks lie to each other on a machine, for patterns that go by dimensions or subtrees.

use stratasim_core::NodeId;
use stratasim_topo::Topology;
use stratasim_topo::geometry::{Geometry, GridShape};
use stratasim_workload::pattern::{Along, Layout, Shape};

/// The layout of ranks on these nodes. The shape is known where they are the machine's compute nodes in
/// their order, all of them, and the machine is regular.
pub(crate) fn layout(topology: &Topology, nodes: &[NodeId]) -> Layout {
    let ranks = nodes.len() as u32;
    let shape = if nodes == topology.compute_nodes() { shape(topology, ranks) } else { Shape::Unknown };
    Layout { ranks, shape }
}

fn shape(topology: &Topology, ranks: u32) -> Shape {
    let (shape, count) = match topology.structure().geometry() {
        Some(Geometry::Grid(grid)) => {
            let per_vertex = grid.hosts.unwrap_or(1);
            let along = |shape| match shape {
                GridShape::Line => Along::Line,
                GridShape::Ring => Along::Ring,
                GridShape::Clique | GridShape::Switch { .. } => Along::Clique,
            };
            let dimensions = grid.dimensions.iter().map(|it| (it.extent, along(it.shape))).collect();
            (Shape::Grid { per_vertex, dimensions }, u64::from(grid.vertices) * u64::from(per_vertex))
        }
        Some(Geometry::Tree(tree)) => {
            let children = tree.levels.iter().map(|level| level.children).collect();
            (Shape::Tree { children }, tree.hosts.into())
        }
        Some(Geometry::Dragonfly(dragonfly)) => {
            let routers = dragonfly.routers_per_group * dragonfly.groups;
            let per_vertex = ranks / routers.max(1);
            // of other groups no router is near: it takes up to three hops to any of them
            let children = vec![per_vertex, dragonfly.routers_per_group, dragonfly.groups];
            (Shape::Tree { children }, u64::from(routers) * u64::from(per_vertex))
        }
        Some(Geometry::Butterfly(_)) | None => (Shape::Unknown, ranks.into()),
    };
    // a machine of which nodes were taken away is no longer that
    if count == u64::from(ranks) { shape } else { Shape::Unknown }
}
