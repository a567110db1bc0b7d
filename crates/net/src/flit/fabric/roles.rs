//! Which nodes of a topology are routers, and which are terminals.

use stratasim_core::{LinkId, NodeId};
use stratasim_topo::geometry::{Geometry, GridShape};
use stratasim_topo::{Link, NodeKind, Topology};

/// Which nodes are routers.
pub(super) struct Roles {
    pub(super) is_router: Vec<bool>,
    pub(super) heard: Heard,
}

impl Roles {
    pub(super) fn new(topology: &Topology, geometry: Option<&Geometry>) -> Self {
        let count = topology.node_count();
        let is_switch = |node: NodeId| topology.kind(node) == NodeKind::Switch;
        let mut is_router = vec![false; count];
        // vertices with a switch per dimension forward from one to the other
        let forwards = |node: NodeId| match geometry {
            Some(Geometry::Grid(grid)) => {
                let several = grid.dimensions.iter().filter(|dimension| dimension.extent > 1).count() > 1;
                let switched = grid
                    .dimensions
                    .iter()
                    .any(|dimension| matches!(dimension.shape, GridShape::Switch { .. }));
                let vertices = grid.first_vertex..grid.first_vertex + grid.vertices;
                several && switched && vertices.contains(&node.0)
            }
            _ => false,
        };
        for node in (0..count).map(NodeId::from_index) {
            let ports = topology.ports(node);
            let mut neighbours = ports.iter().map(|port| port.to);
            is_router[node.index()] = match topology.kind(node) {
                NodeKind::Switch => true,
                NodeKind::Compute(_) => ports.is_empty() || forwards(node) || !neighbours.all(is_switch),
                NodeKind::Memory(_) => {
                    ports.is_empty()
                        || neighbours.any(|other| matches!(topology.kind(other), NodeKind::Memory(_)))
                }
            };
        }
        // a terminal has as many ways in as out, all from and to switches
        let heard = Heard::new(topology);
        let more: Vec<bool> = (0..count)
            .map(NodeId::from_index)
            .map(|node| {
                let one_way =
                    topology.ports(node).iter().filter(|port| is_one_way(topology.link(port.link))).count();
                let heard = heard.by(node);
                let fits = topology.ports(node).iter().all(|port| is_router[port.to.index()])
                    && heard.len() == one_way
                    && heard
                        .iter()
                        .all(|&link| start(topology, link).is_some_and(|from| is_router[from.index()]));
                is_router[node.index()] || !fits
            })
            .collect();
        Self { is_router: more, heard }
    }
}

/// Whether a link has no way back.
pub(super) fn is_one_way(link: &Link) -> bool {
    !link.half_duplex && link.reverse.is_none()
}

/// Where a link starts.
pub(super) fn start(topology: &Topology, link: LinkId) -> Option<NodeId> {
    topology.link(link).ends.map(|[from, _]| from)
}

/// Links that lead one way, by the node where they end.
pub(super) struct Heard {
    links: Vec<(NodeId, LinkId)>,
}

impl Heard {
    fn new(topology: &Topology) -> Self {
        let ids = (0..topology.link_count()).map(LinkId::from_index);
        let one_way = ids.filter(|&id| is_one_way(topology.link(id)));
        let mut links: Vec<(NodeId, LinkId)> = one_way
            .filter_map(|id| topology.link(id).ends.filter(|[from, to]| from != to).map(|[_, to]| (to, id)))
            .collect();
        links.sort_unstable();
        Self { links }
    }

    /// Those that end at `node`, in their order.
    pub(super) fn by(&self, node: NodeId) -> Vec<LinkId> {
        let first = self.links.partition_point(|&(at, _)| at < node);
        self.links[first..].iter().take_while(|&&(at, _)| at == node).map(|&(_, link)| link).collect()
    }
}
