//! Builds topologies from JSON and walks their routes.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use stratasim_core::{Bandwidth, BuildError, Duration, LinkId, NodeId};
use stratasim_topo::generators::cards::{CardChoice, CardParts};
use stratasim_topo::graph::LinkType;
use stratasim_topo::routing::{Routing, RoutingSpec};
use stratasim_topo::{BuildContext, NodeKind, Topology, TopologySpec};

/// Builds a well-formed spec, written as JSON.
pub(crate) fn build(spec: &str) -> Result<Arc<Topology>, BuildError> {
    let spec: TopologySpec = serde_json::from_str(spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
    spec.plugin().build(&context()).map(Arc::new)
}

/// What a generator may use: one card is known, `four`, and one whose ring is a bus, `bus`.
pub(crate) fn context() -> BuildContext {
    BuildContext { cards, ..BuildContext::default() }
}

fn cards(card: &CardChoice, _: &Path) -> Result<CardParts, BuildError> {
    let rate = |gigabytes: f64| Bandwidth(gigabytes * 1e9);
    let mut group = stratasim_topo::catalogue::named("H100").unwrap();
    group.kernels.launch = Duration::from_ns(25_000);
    Ok(CardParts {
        groups: 4,
        group,
        ring: rate(100.0),
        global: rate(80.0),
        ring_total: (card.name() == "bus").then_some(rate(150.0)),
        global_bytes: 1 << 34,
        host: LinkType::new(rate(15.0), Duration::ZERO),
    })
}

/// The error of a spec that parses but cannot be built, with its field.
pub(crate) fn refusal(spec: &str) -> String {
    build(spec).expect_err("a refusal").to_string()
}

/// Links from `src` to every node, where memories do not forward.
pub(crate) fn distances(topology: &Topology, src: NodeId) -> Vec<Option<usize>> {
    let mut distance = vec![None; topology.node_count()];
    distance[src.index()] = Some(0);
    let mut queue = VecDeque::from([src]);
    while let Some(node) = queue.pop_front() {
        if node != src && matches!(topology.kind(node), NodeKind::Memory(_)) {
            continue;
        }
        let next = distance[node.index()].unwrap() + 1;
        for port in topology.ports(node) {
            if distance[port.to.index()].is_none() {
                distance[port.to.index()] = Some(next);
                queue.push_back(port.to);
            }
        }
    }
    distance
}

/// A topology with a routing.
pub(crate) struct Router {
    pub(crate) topology: Arc<Topology>,
    routing: Box<dyn Routing>,
}

impl Router {
    /// With the routing of the topology's own rule.
    pub(crate) fn new(spec: &str) -> Self {
        Self::with(spec, r#"{"kind": "auto"}"#)
    }

    /// With a given routing.
    pub(crate) fn with(spec: &str, routing: &str) -> Self {
        let topology = build(spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
        let routing: RoutingSpec = serde_json::from_str(routing).unwrap_or_else(|e| panic!("{routing}: {e}"));
        let routing = routing.plugin().build(&topology).unwrap();
        Self { topology, routing }
    }

    /// The links from `src` to `dst`, after checking that they follow each other, visit no node twice
    /// and cross no memory.
    pub(crate) fn route(&mut self, src: NodeId, dst: NodeId, key: u64) -> Vec<LinkId> {
        let topology = &self.topology;
        let show = || format!("{} to {}", topology.node_name(src), topology.node_name(dst));
        let mut out = Vec::new();
        let extra = self.routing.route(src, dst, key, &mut out);
        let extra = extra.unwrap_or_else(|e| panic!("{}: {e}", show()));
        assert_eq!(extra, Duration::ZERO, "{}: a latency of no link", show());
        let mut visited = vec![src];
        for &link in &out {
            let at = visited[visited.len() - 1];
            let is_memory = matches!(topology.kind(at), NodeKind::Memory(_));
            assert!(at == src || !is_memory, "{}: a memory forwards", show());
            let port = topology.ports(at).iter().find(|port| port.link == link);
            let next = port.unwrap_or_else(|| panic!("{}: a gap in the route", show())).to;
            assert!(!visited.contains(&next), "{}: a loop", show());
            visited.push(next);
        }
        assert_eq!(visited.last(), Some(&dst), "{}: the route ends elsewhere", show());
        out
    }

    /// The same by names of nodes.
    pub(crate) fn links(&mut self, src: &str, dst: &str) -> Vec<LinkId> {
        let [src, dst] = [src, dst].map(|name| self.topology.find_node(name).expect(name));
        self.route(src, dst, 0)
    }

    /// Names of the links between two nodes.
    pub(crate) fn names(&mut self, src: &str, dst: &str) -> Vec<String> {
        self.links(src, dst).into_iter().map(|link| self.topology.link_name(link)).collect()
    }

    /// Sum of the latencies between two nodes.
    pub(crate) fn seconds(&mut self, src: &str, dst: &str) -> f64 {
        self.links(src, dst).iter().map(|&link| self.topology.link(link).latency.as_secs_f64()).sum()
    }

    /// How many routes between all pairs of compute nodes use each link.
    pub(crate) fn load(&mut self) -> Vec<u32> {
        let mut load = vec![0; self.topology.link_count()];
        let hosts = self.topology.compute_nodes().to_vec();
        for &src in &hosts {
            for &dst in &hosts {
                for link in self.route(src, dst, 0) {
                    load[link.index()] += 1;
                }
            }
        }
        load
    }
}
