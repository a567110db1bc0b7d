//! From a topology to a graph with attributes.

use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use stratasim_core::{Bandwidth, BuildError, Bytes, ComputeRate, Duration, LinkId, NodeId, Precision};

use super::{Attributed, Attributes, Edge, LATER, NODE_KEYS, UNBOUNDED, UNLIMITED};
use crate::Sharing;
use crate::catalogue;
use crate::graph::{ComputeType, NO_GROUP, NodeKind, Topology};
use crate::io::simgrid::is_loopback;

impl Attributed {
    /// The graph of `topology`, undirected when every link is one of a cable's two directions or
    /// both, otherwise directed with the directions of a cable told by `cable`.
    ///
    /// Routing rules are not part of it: what is read back finds shortest paths.
    ///
    /// # Errors
    /// Links without ends, values that change over time, groupings called like an attribute.
    pub(crate) fn of(topology: &Topology) -> Result<Self, BuildError> {
        let fail = |reason: String| Err(BuildError::new("", reason));
        if !topology.profiles().is_empty() {
            return fail(
                "values that change over time cannot be written in this format; write simgrid-xml".to_owned(),
            );
        }
        // nodes reach themselves without any
        let ids = || {
            (0..topology.link_count()).map(LinkId::from_index).filter(|&link| !is_loopback(topology, link))
        };
        if let Some(loose) = ids().find(|&link| topology.link(link).ends.is_none()) {
            let name = topology.link_name(loose);
            return fail(format!(
                "the link `{name}` has no ends, which this format needs; write simgrid-xml"
            ));
        }
        if let Some(taken) = topology.groupings().find(|grouping| NODE_KEYS.contains(grouping)) {
            return fail(format!("the grouping `{taken}` has the name of an attribute; rename it"));
        }
        let directed = !ids().all(|link| {
            topology.link(link).half_duplex
                || cable(topology, link).is_some_and(|[low, high]| high.0 == low.0 + 1)
        });
        let mut graph = Self { directed, ..Self::default() };
        // those of accelerators beside which processors compute, too, are not those of all compute nodes
        let product: u64 = topology.dimensions().iter().map(|&extent| u64::from(extent)).product();
        if !topology.dimensions().is_empty() && product == topology.compute_nodes().len() as u64 {
            graph.attributes.insert("dimensions".to_owned(), json!(topology.dimensions()));
        }
        for node in (0..topology.node_count()).map(NodeId::from_index) {
            graph.nodes.push((topology.node_name(node).to_owned(), node_attributes(topology, node)));
        }
        for link in ids() {
            graph.add_edge(topology, link);
        }
        Ok(graph)
    }

    /// By edge: its number among those with the same ends, as NetworkX keys them; `None` for all
    /// when no two have the same ends.
    pub(crate) fn parallel_keys(&self) -> Vec<Option<u32>> {
        let mut counts: FxHashMap<[&str; 2], u32> = FxHashMap::default();
        let keys = self.edges.iter().map(|edge| {
            let mut ends = [edge.source.as_str(), edge.target.as_str()];
            if !self.directed {
                ends.sort_unstable();
            }
            let count = counts.entry(ends).or_default();
            *count += 1;
            Some(*count - 1)
        });
        let keys: Vec<_> = keys.collect();
        if keys.iter().any(|&key| key > Some(0)) { keys } else { vec![None; keys.len()] }
    }

    /// Adds the edge or edges of `link`.
    fn add_edge(&mut self, topology: &Topology, link: LinkId) {
        let info = topology.link(link);
        let [from, to] = info.ends.expect("checked").map(|node| topology.node_name(node).to_owned());
        let mut attributes = Attributes::new();
        let mut set = |key: &str, value: Value| {
            attributes.insert(key.to_owned(), value);
        };
        set("bandwidth", json!(info.bandwidth.to_string()));
        set("latency", json!(info.latency.to_string()));
        if info.sharing == Sharing::FatPipe {
            set("sharing", json!("fat-pipe"));
        }
        if info.half_duplex {
            set("duplex", json!("half"));
        }
        let name = own_name(topology, link);
        // NetworkX gives the ends of undirected edges in the order of nodes
        let is_backwards = info.ends.is_some_and(|[from, to]| to < from);
        if self.directed {
            if let Some(name) = name {
                set("name", json!(name));
            }
            let cable =
                if info.half_duplex { Some(link.0) } else { info.reverse.map(|twin| twin.0.min(link.0)) };
            if let Some(cable) = cable {
                set("cable", json!(cable));
            }
            if info.half_duplex {
                // the other direction of the same capacity
                let back = Edge {
                    source: to.clone(),
                    target: from.clone(),
                    directed: true,
                    attributes: attributes.clone(),
                };
                self.edges.push(Edge { source: from, target: to, directed: true, attributes });
                self.edges.push(back);
                return;
            }
        } else if info.half_duplex {
            if let Some(name) = name {
                set("name", json!(name));
            }
            // its name by itself goes from the first end to the second
            if is_backwards {
                set("from", json!(LATER));
            }
        } else {
            let Some([there, back]) = cable(topology, link) else { unreachable!("checked") };
            if back == link {
                return;
            }
            let names = [name, own_name(topology, back)];
            if is_backwards && names.iter().any(Option::is_some) {
                set("from", json!(LATER));
            }
            let stem = |name: &Option<String>, end: &str| {
                name.as_deref().and_then(|name| name.strip_suffix(end)).map(str::to_owned)
            };
            debug_assert_eq!(there, link);
            match (stem(&names[0], "-up"), stem(&names[1], "-down"), names) {
                (Some(up), Some(down), _) if up == down => set("name", json!(up)),
                (.., [there, back]) => {
                    let both = there.is_some() && back.is_none();
                    if let Some(there) = there {
                        set("name", json!(there));
                    }
                    // a name alone would be taken for both directions
                    if let Some(back) = back.or_else(|| {
                        both.then(|| topology.link_name(cable(topology, link).expect("a cable")[1]))
                    }) {
                        set("reverse_name", json!(back));
                    }
                }
            }
        }
        self.edges.push(Edge { source: from, target: to, directed: self.directed, attributes });
    }
}

/// Both directions of the cable of `link`, lower id first, when they are alike.
fn cable(topology: &Topology, link: LinkId) -> Option<[LinkId; 2]> {
    let there = topology.link(link);
    let twin = there.reverse?;
    let back = topology.link(twin);
    let alike = back.reverse == Some(link)
        && there.ends.map(|[from, to]| [to, from]) == back.ends
        && (there.bandwidth, there.latency, there.sharing) == (back.bandwidth, back.latency, back.sharing);
    alike.then(|| if link < twin { [link, twin] } else { [twin, link] })
}

/// The name of a link when it is not the one that its ends would give it.
fn own_name(topology: &Topology, link: LinkId) -> Option<String> {
    if let Some(given) = topology.given_link_name(link) {
        return Some(given.to_owned());
    }
    let name = topology.link_name(link);
    let info = topology.link(link);
    let [from, to] = info.ends?.map(|node| topology.node_name(node));
    let arrow = if info.half_duplex { "--" } else { "->" };
    let rest = name.strip_prefix(from).and_then(|rest| rest.strip_prefix(arrow)?.strip_prefix(to));
    // parallel links have their number behind
    let derived = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'));
    (!derived).then_some(name)
}

fn node_attributes(topology: &Topology, node: NodeId) -> Attributes {
    let mut attributes = Attributes::new();
    let mut set = |key: &str, value: Value| {
        attributes.insert(key.to_owned(), value);
    };
    match topology.kind(node) {
        NodeKind::Switch => set("kind", json!("switch")),
        NodeKind::Compute(_) => {
            set("kind", json!("compute"));
            let compute = topology.compute_type(node).expect("a compute node has a type");
            set("compute", json!(compute.name));
            differences(compute, &mut set);
            if !compute.forwards {
                set("forwards", json!(false));
            }
        }
        NodeKind::Memory(_) => {
            set("kind", json!("memory"));
            let memory = topology.memory_type(node).expect("a memory node has a type");
            set("capacity", json!(memory.capacity_bytes.map_or_else(|| UNBOUNDED.to_owned(), bytes)));
            if let Some(bandwidth) = memory.bandwidth {
                set("bandwidth", json!(bandwidth.to_string()));
            }
        }
    }
    if let Some(home) = topology.home_memory(node) {
        set("home_memory", json!(topology.node_name(home)));
    }
    for grouping in topology.groupings() {
        let group = topology.grouping(grouping).map_or(NO_GROUP, |groups| groups[node.index()]);
        if group != NO_GROUP {
            set(grouping, json!(group));
        }
    }
    attributes
}

/// What the name of `compute` does not say.
fn differences(compute: &ComputeType, set: &mut impl FnMut(&str, Value)) {
    let base = catalogue::named(&compute.name).filter(|base| base.name == compute.name);
    for precision in Precision::ALL {
        let rate = compute.rate_flop_per_s[precision.index()];
        if base.as_ref().is_none_or(|base| base.rate_flop_per_s[precision.index()] != rate) {
            set(precision.name(), json!(ComputeRate(rate).to_string()));
        }
    }
    if compute.cores != base.as_ref().map_or(1, |base| base.cores) {
        set("cores", json!(compute.cores));
    }
    if compute.memory_bytes != base.as_ref().and_then(|base| base.memory_bytes) {
        set("memory", json!(compute.memory_bytes.map_or_else(|| UNBOUNDED.to_owned(), bytes)));
    }
    if compute.memory_bandwidth != base.as_ref().and_then(|base| base.memory_bandwidth) {
        let text =
            compute.memory_bandwidth.map_or_else(|| UNLIMITED.to_owned(), |rate: Bandwidth| rate.to_string());
        set("memory_bandwidth", json!(text));
    }
    let mut kernels = compute.kernels;
    for (key, cost) in kernels.durations().into_iter().filter(|(_, cost)| **cost > Duration::ZERO) {
        set(key, json!(cost.to_string()));
    }
    for (key, rate) in kernels.rates() {
        if let Some(rate) = rate {
            set(key, json!(rate.to_string()));
        }
    }
}

/// A number of bytes as text that reads back as the same number.
fn bytes(count: u64) -> String {
    Bytes(count).to_string()
}
