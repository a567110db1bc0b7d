//! The frozen graph: nodes with kinds, links with capacities, numbered ports.
//!
//! Columns with dense ids; built once by a [`TopologyBuilder`], then shared. A [`Link`] is one
//! capacity in one direction; a full-duplex cable is two links that know each other, a half-duplex
//! one is a single link that both directions use. Parallel links are allowed.

mod builder;
mod derived;
mod naming;

pub(crate) use builder::LINK_RATE;
pub use builder::{LinkType, Renumbered, TopologyBuilder};
pub use naming::LinkClass;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
pub use stratasim_core::KernelCosts;
use stratasim_core::error::nearest;
use stratasim_core::names::Names;
use stratasim_core::{Bandwidth, Duration, LinkId, NodeId, Precision};

use self::derived::Derived;
use self::naming::LinkNames;
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
    /// What collectives of kernels cost beside their data.
    pub kernels: KernelCosts,
    /// Whether what others send may go through it; the user's choice, as between its own NICs it mostly does not.
    pub forwards: bool,
}

impl ComputeType {
    /// The same node with the rates and cores of `other`, and the names of both; memory and costs stay.
    #[must_use]
    pub fn with_rates(&self, other: &Self) -> Self {
        Self {
            name: format!("{} ({})", self.name, other.name),
            rate_flop_per_s: other.rate_flop_per_s,
            cores: other.cores,
            ..self.clone()
        }
    }
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
    link_names: LinkNames,
    port_start: Vec<u32>,
    ports: Vec<Port>,
    compute_nodes: Vec<NodeId>,
    home_memory: Vec<Option<NodeId>>,
    groups: BTreeMap<String, Vec<u32>>,
    dimensions: Vec<u32>,
    structure: Structure,
    profiles: Profiles,
    by_name: OnceLock<FxHashMap<String, NodeId>>,
    derived: Derived,
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

    /// Whether what others send may go through a node: switches forward, compute nodes do unless they are told not to, and memory nodes
    /// do not.
    #[inline]
    pub fn forwards(&self, node: NodeId) -> bool {
        match self.kind(node) {
            NodeKind::Switch => true,
            NodeKind::Compute(index) => self.compute_types[index as usize].forwards,
            NodeKind::Memory(_) => false,
        }
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

    /// What `make` works out about this topology; or a value of its type that was worked out before, where somebody still has it
    /// and it `fits`: several networks on one machine share their tables.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn derived<T: Any + Send + Sync, E>(
        &self,
        fits: impl FnOnce(&T) -> bool,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        self.derived.get(fits, make)
    }

    /// Name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        self.node_names.get(node.index())
    }

    /// Name of a link: its own, that of its [class](LinkClass), or `from->to` (`from--to` when half
    /// duplex). Parallel links of one name are told apart by `#0`, `#1`, ...
    pub fn link_name(&self, link: LinkId) -> String {
        self.link_names.name(self, link)
    }

    /// The name given to a link, if one was.
    pub fn given_link_name(&self, link: LinkId) -> Option<&str> {
        self.link_names.given(link)
    }

    /// The link called `name`, as [`Topology::link_name`] says it.
    pub fn find_link(&self, name: &str) -> Option<LinkId> {
        self.link_names.find(self, name)
    }

    /// What to add to an error about `name`, which no link is called: a name that it may stand for, or else one that there is.
    pub fn link_hint(&self, name: &str) -> String {
        let names: Vec<String> =
            (0..self.link_count()).map(|link| self.link_name(LinkId::from_index(link))).collect();
        match (nearest(name, names.iter().map(String::as_str)), names.first()) {
            (Some(near), _) => format!(", did you mean `{near}`?"),
            (None, Some(example)) => format!(", and they have names such as `{example}`"),
            (None, None) => String::new(),
        }
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

    /// Extents of the dimensions that the compute nodes fill, innermost first; empty where they
    /// fill none evenly. Compute node `i` has coordinates `i % d0`, `i / d0 % d1`, ..., and the
    /// product of the extents is the number of compute nodes. A torus gives its own dimensions, a
    /// tree its branching, a machine of racks `[per server, servers per rack, racks]`.
    pub fn dimensions(&self) -> &[u32] {
        &self.dimensions
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
    pub fn into_builder(mut self) -> TopologyBuilder {
        self.link_names.thaw();
        TopologyBuilder {
            kinds: self.kinds,
            node_names: self.node_names,
            compute_types: self.compute_types,
            memory_types: self.memory_types,
            links: self.links,
            link_names: self.link_names,
            home_memory: self.home_memory,
            groups: self.groups,
            dimensions: self.dimensions,
            structure: self.structure,
            profiles: self.profiles,
        }
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::Bandwidth;

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
        assert_eq!(topology.link_name(ba), "b->a");
        assert_eq!(topology.find_node("b"), Some(b));
    }

    #[test]
    fn links_are_named_by_class_and_found_by_name() {
        const CLASSES: &[LinkClass] = &[LinkClass { name: "up", from: "host-", to: "switch" }];
        let mut builder = TopologyBuilder::new();
        let switch = builder.node(NodeKind::Switch, format_args!("switch"));
        let hosts = [7, 8].map(|i| builder.node(NodeKind::Switch, format_args!("host-{i}")));
        let (there, back) = builder.duplex(hosts[0], switch, link());
        let twins = [0, 1].map(|_| builder.duplex(switch, hosts[1], link()).0);
        let half = builder.half_duplex(hosts[0], switch, link());
        let own = builder.duplex(hosts[0], hosts[1], link()).0;
        builder.name_link(own, "short-cut".to_owned());
        builder.name_link_classes(CLASSES);
        let topology = builder.build().unwrap();
        let expected = [
            (there, "up-7-up"),
            (back, "up-7-down"),
            (twins[0], "up-8-down#0"),
            (twins[1], "up-8-down#1"),
            (half, "up-7"),
            (own, "short-cut"),
        ];
        for (link, name) in expected {
            assert_eq!(topology.link_name(link), name);
            assert_eq!(topology.find_link(name), Some(link));
        }
        assert_eq!(topology.find_link("host-8->host-7"), topology.link(own).reverse);
    }

    #[test]
    fn two_nodes_of_one_name_are_refused() {
        let mut builder = TopologyBuilder::new();
        for _ in 0..2 {
            builder.node(NodeKind::Switch, format_args!("twin"));
        }
        assert!(builder.build().unwrap_err().to_string().contains("two nodes are called `twin`"));
    }

    #[test]
    fn a_link_without_bandwidth_or_with_too_much_is_refused() {
        let refusal = |rate| {
            let mut builder = TopologyBuilder::new();
            let a = builder.node(NodeKind::Switch, format_args!("a"));
            builder.simplex(a, a, LinkType::new(Bandwidth(rate), Duration::ZERO));
            builder.build().err().map_or_else(String::new, |error| error.to_string())
        };
        assert!(refusal(0.0).contains("more than zero") && refusal(f64::NAN).contains("more than zero"));
        assert!(refusal(1.1e18).contains("at most 1,000,000 TB/s"));
        assert!(refusal(f64::INFINITY).contains("at most 1,000,000 TB/s"));
        assert_eq!(refusal(1e18), "");
    }
}
