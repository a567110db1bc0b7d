//! Builds the frozen graph, from nothing or from a frozen one.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rustc_hash::{FxBuildHasher, FxHashSet};
use stratasim_core::names::Names;
use stratasim_core::{Bandwidth, BuildError, Duration, LinkId, NodeId};

use super::derived::Derived;
use super::naming::{LinkClass, LinkNames};
use super::{ComputeType, Link, MemoryType, NO_GROUP, NodeKind, Port, Sharing, Topology};
use crate::io::profile::Profiles;
use crate::structure::Structure;

/// Field of the error about a link without a rate: the key of most generators.
pub(crate) const LINK_RATE: &str = "bandwidth";

/// Builds a [`Topology`]. Nodes and links are numbered in the order in which they are added.
#[derive(Debug, Default)]
pub struct TopologyBuilder {
    pub(super) kinds: Vec<NodeKind>,
    pub(super) node_names: Names,
    pub(super) compute_types: Vec<ComputeType>,
    pub(super) memory_types: Vec<MemoryType>,
    pub(super) links: Vec<Link>,
    pub(super) link_names: LinkNames,
    pub(super) home_memory: Vec<Option<NodeId>>,
    pub(super) groups: BTreeMap<String, Vec<u32>>,
    pub(super) dimensions: Vec<u32>,
    pub(super) structure: Structure,
    pub(super) profiles: Profiles,
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

    /// Makes room for that many more nodes and links, so that adding them moves nothing.
    pub fn reserve(&mut self, nodes: usize, links: usize) {
        self.kinds.reserve(nodes);
        self.home_memory.reserve(nodes);
        self.links.reserve(links);
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
        self.link_names.give(link, name);
    }

    /// Names links by the nodes that they join, see [`LinkClass`].
    pub fn name_link_classes(&mut self, classes: &'static [LinkClass]) {
        self.link_names.set_classes(classes);
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

    /// Puts node `i` into group `groups[i]` of `grouping`; [`NO_GROUP`] for those in none.
    pub fn set_grouping(&mut self, grouping: &str, groups: Vec<u32>) {
        self.groups.insert(grouping.to_owned(), groups);
    }

    /// Declares the dimensions that the compute nodes fill, innermost first, see
    /// [`Topology::dimensions`]. Extents of one are left out.
    pub fn set_dimensions(&mut self, extents: impl IntoIterator<Item = u32>) {
        self.dimensions = extents.into_iter().filter(|&extent| extent > 1).collect();
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
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Links so far, by id, to change.
    pub fn links_mut(&mut self) -> &mut Vec<Link> {
        &mut self.links
    }

    /// Keeps some nodes and links and numbers them anew, in the same order. Links of removed nodes
    /// go too. Routes by rule, which know the old numbers, are dropped when anything is removed, and
    /// dimensions when a compute node is. The new numbers; `None` when nothing is removed.
    ///
    /// # Panics
    /// When `nodes` or `links` is not as long as there are nodes or links.
    pub fn retain(&mut self, nodes: &[bool], links: &[bool]) -> Option<Renumbered> {
        assert_eq!((nodes.len(), links.len()), (self.kinds.len(), self.links.len()));
        let link_stays = |(index, link): (usize, &Link)| {
            links[index] && link.ends.is_none_or(|ends| ends.iter().all(|end| nodes[end.index()]))
        };
        let links: Vec<bool> = self.links.iter().enumerate().map(link_stays).collect();
        if nodes.iter().chain(&links).all(|&stays| stays) {
            return None;
        }
        self.structure = Structure::Irregular;
        if self.kinds.iter().zip(nodes).any(|(kind, stays)| !stays && matches!(kind, NodeKind::Compute(_))) {
            self.dimensions.clear();
        }
        let new_node = renumber(nodes).into_iter().map(|id| id.map(NodeId)).collect::<Vec<_>>();
        let new_link = renumber(&links).into_iter().map(|id| id.map(LinkId)).collect::<Vec<_>>();

        let mut names = Names::default();
        for (name, _) in self.node_names.iter().zip(nodes).filter(|&(_, &stays)| stays) {
            names.push(format_args!("{name}"));
        }
        self.node_names = names;
        for column in self.groups.values_mut() {
            column.resize(nodes.len(), NO_GROUP);
            keep(column, nodes);
        }
        keep(&mut self.kinds, nodes);
        keep(&mut self.home_memory, nodes);
        for home in &mut self.home_memory {
            *home = home.and_then(|node| new_node[node.index()]);
        }
        keep(&mut self.links, &links);
        for link in &mut self.links {
            link.ends = link.ends.map(|ends| ends.map(|end| new_node[end.index()].expect("its ends stay")));
            link.reverse = link.reverse.and_then(|reverse| new_link[reverse.index()]);
        }
        self.link_names.renumber(&new_link);
        let profiles = std::mem::take(&mut self.profiles);
        self.profiles = Profiles {
            links: profiles
                .links
                .into_iter()
                .filter_map(|(id, p)| Some((new_link[id.index()]?, p)))
                .collect(),
            nodes: profiles
                .nodes
                .into_iter()
                .filter_map(|(id, p)| Some((new_node[id.index()]?, p)))
                .collect(),
        };
        Some(Renumbered { nodes: new_node, links: new_link })
    }

    /// Freezes the graph.
    ///
    /// # Errors
    /// A link without a positive bandwidth up to [`Bandwidth::MOST`], two nodes of one name, more than 2^32 ports.
    pub fn build(mut self) -> Result<Topology, BuildError> {
        let n = self.kinds.len();
        let mut names = FxHashSet::with_capacity_and_hasher(n, FxBuildHasher);
        if let Some(twice) = self.node_names.iter().find(|name| !name.is_empty() && !names.insert(*name)) {
            return Err(BuildError::new("", format!("two nodes are called `{twice}`, names must differ")));
        }
        let of_links = self.link_names.all_given();
        if let Some(name) = self
            .node_names
            .iter()
            .chain(of_links)
            .find(|name| name.contains(|c: char| c.is_control() && c != '\t'))
        {
            let reason = format!("the name {name:?} has a line break or another control character");
            return Err(BuildError::new("", reason));
        }
        let mut degree = vec![0_u32; n + 1];
        for (index, link) in self.links.iter().enumerate() {
            let rate = link.bandwidth.bytes_per_s();
            if !(rate > 0.0 && link.bandwidth <= Bandwidth::MOST) {
                let expected = if rate > 0.0 {
                    "at most 1,000,000 TB/s are possible"
                } else {
                    "a link needs more than zero"
                };
                let name = self.link_names.given(LinkId::from_index(index));
                return Err(BuildError::new(
                    LINK_RATE,
                    format!(
                        "link {} has bandwidth {}, {expected}",
                        name.map_or_else(|| index.to_string(), str::to_owned),
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
            dimensions: self.dimensions,
            structure: self.structure,
            profiles: self.profiles,
            by_name: OnceLock::new(),
            derived: Derived::default(),
        })
    }
}

/// New ids by old ones; `None` of what is gone.
#[derive(Debug)]
pub struct Renumbered {
    /// Of nodes,
    pub nodes: Vec<Option<NodeId>>,
    /// and of links.
    pub links: Vec<Option<LinkId>>,
}

/// New numbers of what stays.
fn renumber(stays: &[bool]) -> Vec<Option<u32>> {
    let mut next = 0;
    let number = |&stays: &bool| {
        stays.then(|| {
            next += 1;
            next - 1
        })
    };
    stays.iter().map(number).collect()
}

/// Drops the entries that do not stay.
fn keep<T>(column: &mut Vec<T>, stays: &[bool]) {
    let mut stays = stays.iter();
    column.retain(|_| *stays.next().expect("as many entries as flags"));
}
