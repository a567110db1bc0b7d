//! The frozen graph: nodes with kinds, links with capacities, numbered ports.
//!
//! Columns with dense ids; built once by a [`TopologyBuilder`], then shared. A [`Link`] is one
//! capacity in one direction; a full-duplex cable is two links that know each other, a half-duplex
//! one is a single link that both directions use. Parallel links are allowed.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use stratasim_core::names::Names;
use stratasim_core::{Bandwidth, BuildError, Duration, LinkId, NodeId, Precision};

use crate::io::profile::{LinkProfiles, NodeProfiles, Profiles};
use crate::structure::Structure;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// Forwards only.
    Switch,
    /// Computes; the index of its [`ComputeType`].
    Compute(u32),
    /// Holds data; the index of its [`MemoryType`].
    Memory(u32),
}

/// Properties shared by compute nodes of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct ComputeType {
    /// Name in the catalogue or of the user's choice, such as `H100`.
    pub name: String,
    /// Operations per second and core, by [`Precision::index`]; 0 where it cannot compute.
    pub rate_flop_per_s: [f64; Precision::ALL.len()],
    /// Independent cores, each with that rate. Accelerators count as one.
    pub cores: u32,
    /// Local memory in bytes; `None` is unbounded.
    pub memory_bytes: Option<u64>,
    /// Local memory bandwidth; `None` is unlimited.
    pub memory_bandwidth: Option<Bandwidth>,
}

/// Properties shared by memory nodes of one type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryType {
    /// Capacity in bytes; `None` is unbounded.
    pub capacity_bytes: Option<u64>,
    /// Bandwidth of the device itself; `None` leaves it to its links.
    pub bandwidth: Option<Bandwidth>,
}

/// How the users of a link share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// They divide its bandwidth.
    #[default]
    Shared,
    /// Each may use all of it.
    FatPipe,
}

/// One capacity between two nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Start and end; `None` for a link that only explicit routes know.
    pub ends: Option<[NodeId; 2]>,
    /// Rate.
    pub bandwidth: Bandwidth,
    /// Propagation delay.
    pub latency: Duration,
    /// How its users share it.
    pub sharing: Sharing,
    /// Whether both directions use this one capacity.
    pub half_duplex: bool,
    /// The other direction of a full-duplex cable.
    pub reverse: Option<LinkId>,
}

/// A way to leave a node: port number is the position in [`Topology::ports`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// The link.
    pub link: LinkId,
    /// Where it leads.
    pub to: NodeId,
}

/// A frozen topology.
#[derive(Debug, Clone)]
pub struct Topology {
    kinds: Vec<NodeKind>,
    node_names: Names,
    compute_types: Vec<ComputeType>,
    memory_types: Vec<MemoryType>,
    links: Vec<Link>,
    link_names: BTreeMap<LinkId, String>,
    port_start: Vec<u32>,
    ports: Vec<Port>,
    compute_nodes: Vec<NodeId>,
    home_memory: Vec<Option<NodeId>>,
    groups: BTreeMap<String, Vec<u32>>,
    structure: Structure,
    profiles: Profiles,
    by_name: OnceLock<FxHashMap<String, NodeId>>,
}

/// No group.
pub const NO_GROUP: u32 = u32::MAX;

impl Topology {
    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.kinds.len()
    }

    /// Number of links (both directions of a full-duplex cable count).
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// All links by id.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// One link.
    #[inline]
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// What `node` is.
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.kinds[node.index()]
    }

    /// The type of a compute node; `None` for other nodes.
    pub fn compute_type(&self, node: NodeId) -> Option<&ComputeType> {
        match self.kinds[node.index()] {
            NodeKind::Compute(index) => Some(&self.compute_types[index as usize]),
            _ => None,
        }
    }

    /// The type of a memory node; `None` for other nodes.
    pub fn memory_type(&self, node: NodeId) -> Option<&MemoryType> {
        match self.kinds[node.index()] {
            NodeKind::Memory(index) => Some(&self.memory_types[index as usize]),
            _ => None,
        }
    }

    /// Compute nodes in ascending order of id.
    pub fn compute_nodes(&self) -> &[NodeId] {
        &self.compute_nodes
    }

    /// The memory node that extends the memory of compute node `node`.
    pub fn home_memory(&self, node: NodeId) -> Option<NodeId> {
        self.home_memory[node.index()]
    }

    /// The ways to leave `node`, in the order in which its links were added.
    #[inline]
    pub fn ports(&self, node: NodeId) -> &[Port] {
        &self.ports[self.port_start[node.index()] as usize..self.port_start[node.index() + 1] as usize]
    }

    /// Name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        self.node_names.get(node.index())
    }

    /// Name of a link: its own or `from->to` (`from--to` when half duplex).
    pub fn link_name(&self, link: LinkId) -> String {
        if let Some(name) = self.link_names.get(&link) {
            return name.clone();
        }
        let info = self.link(link);
        match info.ends {
            None => format!("link-{link}"),
            Some([from, to]) => {
                let arrow = if info.half_duplex { "--" } else { "->" };
                let parallel = self.ports(from).iter().filter(|port| port.to == to).count();
                let pair = format!("{}{arrow}{}", self.node_name(from), self.node_name(to));
                if parallel < 2 {
                    return pair;
                }
                let place = self.ports(from).iter().filter(|port| port.to == to).position(|p| p.link == link);
                format!("{pair}#{}", place.unwrap_or(0))
            }
        }
    }

    /// The name given to a link, if one was.
    pub fn given_link_name(&self, link: LinkId) -> Option<&str> {
        self.link_names.get(&link).map(String::as_str)
    }

    /// The node called `name`.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        let index = self.by_name.get_or_init(|| {
            self.node_names.iter().enumerate().map(|(i, n)| (n.to_owned(), NodeId::from_index(i))).collect()
        });
        index.get(name).copied()
    }

    /// Names of the groupings of nodes (`rack`, `server`, ...).
    pub fn groupings(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// The group of every node under `grouping`, [`NO_GROUP`] where it has none.
    pub fn grouping(&self, grouping: &str) -> Option<&[u32]> {
        self.groups.get(grouping).map(Vec::as_slice)
    }

    /// The regular structure that routing may use.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// How the values of `link` change over time; `None` when they do not.
    pub fn link_profiles(&self, link: LinkId) -> Option<&LinkProfiles> {
        self.profiles.links.get(&link)
    }

    /// How the values of `node` change over time; `None` when they do not.
    pub fn node_profiles(&self, node: NodeId) -> Option<&NodeProfiles> {
        self.profiles.nodes.get(&node)
    }

    /// Every value that changes over time.
    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// Back to a builder, for combinators. The structure is kept; drop it when it no longer holds.
    #[must_use]
    pub fn into_builder(self) -> TopologyBuilder {
        TopologyBuilder {
            kinds: self.kinds,
            node_names: self.node_names,
            compute_types: self.compute_types,
            memory_types: self.memory_types,
            links: self.links,
            link_names: self.link_names,
            home_memory: self.home_memory,
            groups: self.groups,
            structure: self.structure,
            profiles: self.profiles,
        }
    }
}

/// Builds a [`Topology`]. Nodes and links are numbered in the order in which they are added.
#[derive(Debug, Default)]
pub struct TopologyBuilder {
    kinds: Vec<NodeKind>,
    node_names: Names,
    compute_types: Vec<ComputeType>,
    memory_types: Vec<MemoryType>,
    links: Vec<Link>,
    link_names: BTreeMap<LinkId, String>,
    home_memory: Vec<Option<NodeId>>,
    groups: BTreeMap<String, Vec<u32>>,
    structure: Structure,
    profiles: Profiles,
}

/// Properties of a link to add.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkType {
    /// Rate in each direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay.
    pub latency: Duration,
    /// How its users share it.
    pub sharing: Sharing,
}

impl LinkType {
    /// A shared link.
    pub fn new(bandwidth: Bandwidth, latency: Duration) -> Self {
        Self { bandwidth, latency, sharing: Sharing::Shared }
    }
}

impl TopologyBuilder {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a compute type, or finds an equal one.
    pub fn compute_type(&mut self, compute: ComputeType) -> u32 {
        let known = self.compute_types.iter().position(|known| *known == compute);
        known.unwrap_or_else(|| {
            self.compute_types.push(compute);
            self.compute_types.len() - 1
        }) as u32
    }

    /// Registers a memory type, or finds an equal one.
    pub fn memory_type(&mut self, memory: MemoryType) -> u32 {
        let known = self.memory_types.iter().position(|known| *known == memory);
        known.unwrap_or_else(|| {
            self.memory_types.push(memory);
            self.memory_types.len() - 1
        }) as u32
    }

    /// Adds a node.
    pub fn node(&mut self, kind: NodeKind, name: std::fmt::Arguments<'_>) -> NodeId {
        let id = NodeId::from_index(self.kinds.len());
        self.kinds.push(kind);
        self.node_names.push(name);
        self.home_memory.push(None);
        id
    }

    /// Adds a link from `from` to `to` only.
    pub fn simplex(&mut self, from: NodeId, to: NodeId, link: LinkType) -> LinkId {
        self.push(Link {
            ends: Some([from, to]),
            bandwidth: link.bandwidth,
            latency: link.latency,
            sharing: link.sharing,
            half_duplex: false,
            reverse: None,
        })
    }

    /// Adds a full-duplex cable: the links from `a` to `b` and back.
    pub fn duplex(&mut self, a: NodeId, b: NodeId, link: LinkType) -> (LinkId, LinkId) {
        let there = self.simplex(a, b, link);
        let back = self.simplex(b, a, link);
        self.links[there.index()].reverse = Some(back);
        self.links[back.index()].reverse = Some(there);
        (there, back)
    }

    /// Adds a cable whose two directions share one capacity.
    pub fn half_duplex(&mut self, a: NodeId, b: NodeId, link: LinkType) -> LinkId {
        let id = self.simplex(a, b, link);
        self.links[id.index()].half_duplex = true;
        id
    }

    /// Adds a link that only explicit routes use.
    pub fn detached(&mut self, name: &str, link: LinkType) -> LinkId {
        let id = self.push(Link {
            ends: None,
            bandwidth: link.bandwidth,
            latency: link.latency,
            sharing: link.sharing,
            half_duplex: false,
            reverse: None,
        });
        self.name_link(id, name.to_owned());
        id
    }

    fn push(&mut self, link: Link) -> LinkId {
        self.links.push(link);
        LinkId::from_index(self.links.len() - 1)
    }

    /// Gives a link a name of its own.
    pub fn name_link(&mut self, link: LinkId, name: String) {
        self.link_names.insert(link, name);
    }

    /// Says that `memory` extends the memory of `compute`.
    pub fn set_home_memory(&mut self, compute: NodeId, memory: NodeId) {
        self.home_memory[compute.index()] = Some(memory);
    }

    /// Puts `node` into group `group` of `grouping` (`rack`, `server`, ...).
    pub fn set_group(&mut self, grouping: &str, node: NodeId, group: u32) {
        if !self.groups.contains_key(grouping) {
            self.groups.insert(grouping.to_owned(), Vec::new());
        }
        let column = self.groups.get_mut(grouping).expect("just inserted");
        if column.len() <= node.index() {
            column.resize(node.index() + 1, NO_GROUP);
        }
        column[node.index()] = group;
    }

    /// Declares the regular structure of the graph.
    pub fn set_structure(&mut self, structure: Structure) {
        self.structure = structure;
    }

    /// Values that change over time, by link and node; ids that are renumbered must be moved here too.
    pub fn profiles_mut(&mut self) -> &mut Profiles {
        &mut self.profiles
    }

    /// Nodes so far, by id.
    pub fn kinds(&self) -> &[NodeKind] {
        &self.kinds
    }

    /// Changes what a node is.
    pub fn set_kind(&mut self, node: NodeId, kind: NodeKind) {
        self.kinds[node.index()] = kind;
    }

    /// Links so far, by id.
    pub fn links_mut(&mut self) -> &mut Vec<Link> {
        &mut self.links
    }

    /// Freezes the graph.
    ///
    /// # Errors
    /// A link without a positive finite bandwidth, two nodes of one name, more than 2^32 ports.
    pub fn build(mut self) -> Result<Topology, BuildError> {
        let n = self.kinds.len();
        let mut degree = vec![0_u32; n + 1];
        for (index, link) in self.links.iter().enumerate() {
            let rate = link.bandwidth.bytes_per_s();
            if !(rate > 0.0 && rate.is_finite()) {
                let name = self.link_names.get(&LinkId::from_index(index));
                return Err(BuildError::new(
                    "",
                    format!(
                        "link {} has bandwidth {}, a link needs more than zero",
                        name.cloned().unwrap_or_else(|| index.to_string()),
                        link.bandwidth
                    ),
                ));
            }
            let Some([from, to]) = link.ends else { continue };
            degree[from.index() + 1] += 1;
            if link.half_duplex {
                degree[to.index() + 1] += 1;
            }
        }
        for node in 0..n {
            degree[node + 1] += degree[node];
        }
        let nowhere = Port { link: LinkId(0), to: NodeId(0) };
        let mut ports = vec![nowhere; degree[n] as usize];
        let mut next = degree.clone();
        let mut add = |from: NodeId, to: NodeId, link: LinkId| {
            ports[next[from.index()] as usize] = Port { link, to };
            next[from.index()] += 1;
        };
        for (index, link) in self.links.iter().enumerate() {
            let Some([from, to]) = link.ends else { continue };
            add(from, to, LinkId::from_index(index));
            if link.half_duplex {
                add(to, from, LinkId::from_index(index));
            }
        }
        for column in self.groups.values_mut() {
            column.resize(n, NO_GROUP);
        }
        let compute_nodes = (0..n)
            .filter(|&node| matches!(self.kinds[node], NodeKind::Compute(_)))
            .map(NodeId::from_index)
            .collect();
        Ok(Topology {
            kinds: self.kinds,
            node_names: self.node_names,
            compute_types: self.compute_types,
            memory_types: self.memory_types,
            links: self.links,
            link_names: self.link_names,
            port_start: degree,
            ports,
            compute_nodes,
            home_memory: self.home_memory,
            groups: self.groups,
            structure: self.structure,
            profiles: self.profiles,
            by_name: OnceLock::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> LinkType {
        LinkType::new(Bandwidth(1e9), Duration::from_ns(100))
    }

    #[test]
    fn ports_know_both_directions_of_a_cable() {
        let mut builder = TopologyBuilder::new();
        let a = builder.node(NodeKind::Switch, format_args!("a"));
        let b = builder.node(NodeKind::Switch, format_args!("b"));
        let (ab, ba) = builder.duplex(a, b, link());
        let half = builder.half_duplex(a, b, link());
        let topology = builder.build().unwrap();
        assert_eq!(topology.ports(a), [Port { link: ab, to: b }, Port { link: half, to: b }]);
        assert_eq!(topology.ports(b), [Port { link: ba, to: a }, Port { link: half, to: a }]);
        assert_eq!(topology.link(ab).reverse, Some(ba));
        assert_eq!(topology.link_name(ba), "b->a#0");
        assert_eq!(topology.find_node("b"), Some(b));
    }

    #[test]
    fn a_link_without_bandwidth_is_refused() {
        let mut builder = TopologyBuilder::new();
        let a = builder.node(NodeKind::Switch, format_args!("a"));
        builder.simplex(a, a, LinkType::new(Bandwidth(0.0), Duration::ZERO));
        assert!(builder.build().unwrap_err().to_string().contains("more than zero"));
    }
}
