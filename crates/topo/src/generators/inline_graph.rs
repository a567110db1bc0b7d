//! Topologies written out node by node and link by link.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::error::nearest;
use stratasim_core::{Bandwidth, BuildError, Bytes, Duration, LinkId, NodeId};

use super::{BuildContext, Generator, check_size};
use crate::catalogue::ComputeChoice;
use crate::graph::{ComputeType, LinkType, MemoryType, NodeKind, Sharing, Topology, TopologyBuilder};
use crate::routing::explicit::{ExplicitRoute, RouteTable};
use crate::structure::Structure;

/// A small topology written by hand: nodes, links and, where wanted, routes.
///
/// ```toml
/// [topology]
/// kind = "graph"
/// nodes = [
///   { name = "gpu-0", compute = "H100", home-memory = "pool" },
///   { name = "gpu-1", compute = "A100" },
///   { name = "pool", kind = "memory", capacity = "1 TiB" },
///   { name = "switch", kind = "switch" },
/// ]
/// links = [
///   { from = "gpu-0", to = "switch", bandwidth = "50 GB/s", latency = "500 ns" },
///   { from = "gpu-1", to = "switch", bandwidth = "50 GB/s", latency = "500 ns", name = "narrow" },
///   { from = "pool", to = "switch", bandwidth = "64 GB/s", latency = "200 ns", duplex = "half" },
/// ]
/// ```
/// Routes are shortest by latency unless `routes` gives them; among equal ones a hash of both ends chooses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InlineGraph {
    /// The nodes. Compute nodes take ranks in this order.
    pub nodes: Vec<NodeSpec>,
    /// The links.
    #[serde(default)]
    pub links: Vec<LinkSpec>,
    /// Routes of some pairs; the others take the path of least latency.
    #[serde(default)]
    pub routes: Vec<ExplicitRoute>,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeRole {
    /// Computes, and forwards unless `forwards = false`.
    #[default]
    Compute,
    /// Holds data.
    Memory,
    /// Forwards.
    Switch,
}

impl NodeRole {
    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Switch => "switch",
        }
    }
}

/// A node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NodeSpec {
    /// Its name, unlike all others.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub kind: NodeRole,
    /// Type of a compute node: a name of the catalogue or a table of properties; H100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute: Option<ComputeChoice>,
    /// Whether messages of others may go through this compute node, as on a ring of nodes; true when absent. Of nodes with cables to
    /// several switches, such as accelerators with NICs on several rails, say `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwards: Option<bool>,
    /// Name of the memory node that extends the memory of this compute node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home_memory: Option<String>,
    /// Capacity of a memory node; unbounded when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Bandwidth of a memory node itself; left to its links when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// Groups that it is in, such as `{ rack = 1 }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, u32>,
}

/// Directions of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Directions {
    /// Both, each with the full rate.
    #[default]
    Full,
    /// Both, which share one capacity.
    Half,
    /// From `from` to `to` only.
    Simplex,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkSpec {
    /// Name of the node at one end.
    pub from: String,
    /// Name of the node at the other end.
    pub to: String,
    /// Its name. A full-duplex link called `x` is two: `x-up` leads to `to`, and `x-down` back; one of another kind is `x`.
    /// Parallel links get their number before that, from 0: `x-2-up`. Without a name they are called by their ends: `a->b`
    /// and `b->a` where `a` and `b` are `from` and `to`, `a--b` of a half-duplex link, and with their number `a->b#2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Rate, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay.
    pub latency: Duration,
    /// Its directions.
    #[serde(default)]
    pub duplex: Directions,
    /// Whether its users divide its rate or each may use all of it.
    #[serde(default)]
    pub sharing: Sharing,
    /// How many such links there are; 1 when absent.
    #[serde(default = "super::one")]
    pub parallel: u32,
}

impl Generator for InlineGraph {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        let links = self.links.iter().map(|link| 2 * u64::from(link.parallel)).sum();
        check_size("links", "links", Some(links))?;
        let mut builder = TopologyBuilder::new();
        let ids = self.add_nodes(&mut builder)?;
        self.add_links(&mut builder, &ids)?;
        let topology = builder.build()?;
        if self.routes.is_empty() {
            return Ok(topology);
        }
        let table = RouteTable::new(&topology, &self.routes)?;
        let mut builder = topology.into_builder();
        builder.set_structure(Structure::Ruled(Arc::new(table)));
        builder.build()
    }
}

impl InlineGraph {
    fn add_nodes<'a>(
        &'a self,
        builder: &mut TopologyBuilder,
    ) -> Result<FxHashMap<&'a str, NodeId>, BuildError> {
        if self.nodes.is_empty() {
            return Err(BuildError::new("nodes", "a graph needs at least one node"));
        }
        let mut ids = FxHashMap::default();
        for (index, node) in self.nodes.iter().enumerate() {
            let within = |error: BuildError| error.within(&index.to_string()).within("nodes");
            let kind = node.kind(builder).map_err(within)?;
            let id = builder.node(kind, format_args!("{}", node.name));
            if node.name.is_empty() {
                return Err(within(BuildError::new("name", "a node needs a name")));
            }
            if let Some(first) = ids.insert(node.name.as_str(), id) {
                let what = format!("`{}` is the name of node {first} too, names must differ", node.name);
                return Err(within(BuildError::new("name", what)));
            }
            for (grouping, &group) in &node.groups {
                builder.set_group(grouping, id, group);
            }
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let Some(home) = &node.home_memory else { continue };
            let field = format!("nodes.{index}.home-memory");
            let memory = self.find(&ids, &field, home)?;
            if !matches!(builder.kinds()[memory.index()], NodeKind::Memory(_)) {
                return Err(BuildError::new(
                    field,
                    format!("`{home}` is not a memory; give it `kind = \"memory\"`"),
                ));
            }
            builder.set_home_memory(NodeId::from_index(index), memory);
        }
        Ok(ids)
    }

    fn find(&self, ids: &FxHashMap<&str, NodeId>, field: &str, name: &str) -> Result<NodeId, BuildError> {
        ids.get(name).copied().ok_or_else(|| {
            let names = self.nodes.iter().map(|node| node.name.as_str());
            let hint =
                nearest(name, names).map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
            BuildError::new(field, format!("there is no node called `{name}`{hint}"))
        })
    }

    fn add_links(
        &self,
        builder: &mut TopologyBuilder,
        ids: &FxHashMap<&str, NodeId>,
    ) -> Result<(), BuildError> {
        let mut names = BTreeSet::new();
        for (index, link) in self.links.iter().enumerate() {
            let field = |field: &str| format!("links.{index}.{field}");
            let from = self.find(ids, &field("from"), &link.from)?;
            let to = self.find(ids, &field("to"), &link.to)?;
            if from == to {
                return Err(BuildError::new(field("to"), format!("`{}` is joined to itself", link.to)));
            }
            if link.parallel == 0 {
                return Err(BuildError::new(field("parallel"), "must be at least 1"));
            }
            if link.bandwidth <= Bandwidth(0.0) {
                return Err(BuildError::new(field("bandwidth"), "a link needs more than zero"));
            }
            if link.name.as_ref().is_some_and(|name| !names.insert(name)) {
                let what =
                    format!("`{}` is the name of another link too", link.name.as_deref().unwrap_or(""));
                return Err(BuildError::new(field("name"), what));
            }
            for copy in 0..link.parallel {
                link.add(builder, from, to, copy);
            }
        }
        Ok(())
    }
}

impl NodeSpec {
    /// Its kind, after refusing properties that do not fit it.
    fn kind(&self, builder: &mut TopologyBuilder) -> Result<NodeKind, BuildError> {
        let given = [
            ("compute", NodeRole::Compute, self.compute.is_some()),
            ("forwards", NodeRole::Compute, self.forwards.is_some()),
            ("home-memory", NodeRole::Compute, self.home_memory.is_some()),
            ("capacity", NodeRole::Memory, self.capacity.is_some()),
            ("bandwidth", NodeRole::Memory, self.bandwidth.is_some()),
        ];
        if let Some((field, role, _)) = given.into_iter().find(|&(_, role, given)| given && role != self.kind)
        {
            let what = format!(
                "`{}` is a {} and cannot have this; it belongs to `kind = \"{}\"`",
                self.name,
                self.kind.name(),
                role.name()
            );
            return Err(BuildError::new(field, what));
        }
        Ok(match self.kind {
            NodeRole::Switch => NodeKind::Switch,
            NodeRole::Memory => NodeKind::Memory(builder.memory_type(MemoryType {
                capacity_bytes: self.capacity.map(Bytes::count),
                bandwidth: self.bandwidth,
            })),
            NodeRole::Compute => {
                let compute = self.compute.clone().unwrap_or_default().resolve();
                let compute = compute.map_err(|e| e.within("compute"))?;
                let forwards = self.forwards.unwrap_or(compute.forwards);
                NodeKind::Compute(builder.compute_type(ComputeType { forwards, ..compute }))
            }
        })
    }
}

impl LinkSpec {
    fn add(&self, builder: &mut TopologyBuilder, from: NodeId, to: NodeId, copy: u32) {
        let link = LinkType { bandwidth: self.bandwidth, latency: self.latency, sharing: self.sharing };
        let (there, back): (LinkId, Option<LinkId>) = match self.duplex {
            Directions::Full => {
                let (there, back) = builder.duplex(from, to, link);
                (there, Some(back))
            }
            Directions::Half => (builder.half_duplex(from, to, link), None),
            Directions::Simplex => (builder.simplex(from, to, link), None),
        };
        let Some(name) = &self.name else { return };
        let name = if self.parallel > 1 { format!("{name}-{copy}") } else { name.clone() };
        match back {
            Some(back) => {
                builder.name_link(there, format!("{name}-up"));
                builder.name_link(back, format!("{name}-down"));
            }
            None => builder.name_link(there, name),
        }
    }
}
