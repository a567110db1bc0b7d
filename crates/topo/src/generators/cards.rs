//! A machine whose compute nodes are cards with several core groups.

mod choice;

pub use choice::{CardChoice, ChangedCard};

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration, LinkId, NodeId};

use super::{BuildContext, Generator, TopologySpec, check_size, select};
use crate::catalogue::ComputeChoice;
use crate::graph::{ComputeType, LinkType, MemoryType, NO_GROUP, NodeKind, Topology, TopologyBuilder};
use crate::routing::RouteError;
use crate::structure::{RouteRule, Structure};

/// Another topology in which every compute node is a card: core groups with Local memory, a ring between them
/// and a Global memory that all of them reach (SW-IntraCC paper, section 2.1).
///
/// ```toml
/// [topology]
/// kind = "cards"
/// card = "sw-ai"
/// of = { kind = "single-switch", nodes = 8, bandwidth = "100 Gbps", latency = "1 us" }
/// ```
/// A compute node `host-3` of the inner topology becomes a switch, the host's end of the card's link. Behind it
/// are `host-3.ring`, `host-3.cg-0`, `host-3.cg-1`, ..., which are the compute nodes now, and `host-3.global-0`,
/// ..., the port of each to the Global memory, which extends its own and has an equal part of it. With a limit for the ring as a whole it is a bus, from `.ring` to
/// `.ring-out`. The ring has no latency: fixed costs are part of collectives (`card-ring`, `card-csc`,
/// `card-csc-equation`, `card-direct`).
///
/// `card = { base = "sw-ai", bandwidth = { ring = "200 GB/s" } }` changes a card on the way. With `nodes` only some
/// compute nodes are cards, and the others stay what they are: hosts, servers of storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cards {
    /// The topology between the cards.
    pub of: Box<TopologySpec>,
    /// The card: the name of one that is shipped, the path of its file, or a table with its `base` and what
    /// differs.
    pub card: CardChoice,
    /// Names of the compute nodes that are cards; `*` stands for any text, `?` for one character. All when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Type of the core groups, for its rates; the card's own when absent. Memory and costs are the card's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute: Option<ComputeChoice>,
}

/// What a topology needs to know about a card.
#[derive(Debug, Clone, PartialEq)]
pub struct CardParts {
    /// Number of core groups.
    pub groups: u32,
    /// A core group, with its Local memory and fixed costs.
    pub group: ComputeType,
    /// A core group's link to the ring, per direction.
    pub ring: Bandwidth,
    /// A core group's access to Global memory, per direction.
    pub global: Bandwidth,
    /// What all transfers on the ring share, where it is a bus.
    pub ring_total: Option<Bandwidth>,
    /// Size of Global memory.
    pub global_bytes: u64,
    /// The link to the host.
    pub host: LinkType,
}

/// Finds the card of a name; relative paths start from the folder.
pub type CardLibrary = fn(&CardChoice, &Path) -> Result<CardParts, BuildError>;

/// The library where there is none.
pub(super) fn no_cards(card: &CardChoice, _: &Path) -> Result<CardParts, BuildError> {
    let name = card.name();
    Err(BuildError::new(
        "",
        format!("no cards are known here, so neither is `{name}`; experiments know them"),
    ))
}

/// Most core groups of a card.
const MOST_GROUPS: u32 = 64;

impl Generator for Cards {
    fn of(&self) -> Option<&TopologySpec> {
        Some(&self.of)
    }

    fn build(&self, context: &BuildContext) -> Result<Topology, BuildError> {
        select::depth(self)?;
        let card = (context.cards)(&self.card, &context.base).map_err(|error| error.within("card"))?;
        if !(1..=MOST_GROUPS).contains(&card.groups) {
            let reason = format!("a card has 1 to {MOST_GROUPS} core groups, this one {}", card.groups);
            return Err(BuildError::new("card", reason));
        }
        let mut group = card.group.clone();
        if let Some(compute) = &self.compute {
            let rates = compute.resolve().map_err(|error| error.within("compute"))?;
            group = group.with_rates(&rates);
        }
        let topology = select::inner(&self.of, context)?;
        let hosts = self.hosts(&topology)?;
        if hosts.iter().any(|&node| topology.home_memory(node).is_some()) {
            let reason =
                "its compute nodes have memory nodes, and a card brings its own; choose another topology";
            return Err(BuildError::new("of", reason));
        }
        let nodes = hosts.len() as u64 * (2 * u64::from(card.groups) + 2);
        check_size("of", "nodes", Some(topology.node_count() as u64 + nodes))?;
        build(topology, &hosts, &card, group)
    }
}

impl Cards {
    /// The compute nodes that become cards.
    fn hosts(&self, topology: &Topology) -> Result<Vec<NodeId>, BuildError> {
        let mut hosts = topology.compute_nodes().to_vec();
        if !self.nodes.is_empty() {
            let chosen = select::nodes_by_name(topology, "nodes", &self.nodes)?;
            hosts.retain(|node| chosen[node.index()]);
            if hosts.is_empty() {
                return Err(BuildError::new("nodes", "none of the chosen nodes computes"));
            }
        }
        Ok(hosts)
    }
}

/// Ids of a card's own nodes and links, which are numbered card by card in one order.
#[derive(Debug, Clone, Copy)]
struct Numbering {
    first_node: u32,
    first_link: u32,
    groups: u32,
    bus: bool,
}

/// Where a node of a card is.
enum Part {
    Group(u32),
    /// The port of a group to Global memory.
    Memory(u32),
    Other,
}

impl Numbering {
    /// Nodes of a card: groups, their ports to Global memory, the ring (two ends of a bus).
    fn nodes(&self) -> u32 {
        2 * self.groups + 1 + u32::from(self.bus)
    }

    /// Links of a card: four per group, two to the host, the bus.
    fn links(&self) -> u32 {
        4 * self.groups + 2 + u32::from(self.bus)
    }

    /// Card and part of a node that belongs to a card.
    fn part(&self, node: NodeId) -> Option<(u32, Part)> {
        let at = node.0.checked_sub(self.first_node)?;
        let (card, at) = (at / self.nodes(), at % self.nodes());
        let part = match at {
            at if at < self.groups => Part::Group(at),
            at if at < 2 * self.groups => Part::Memory(at - self.groups),
            _ => Part::Other,
        };
        Some((card, part))
    }

    fn link(&self, card: u32, at: u32) -> LinkId {
        LinkId(self.first_link + card * self.links() + at)
    }

    /// From a group to the ring, or back.
    fn ring(&self, card: u32, group: u32, back: bool) -> LinkId {
        self.link(card, 4 * group + u32::from(back))
    }

    /// From a group to Global memory, or back.
    fn global(&self, card: u32, group: u32, back: bool) -> LinkId {
        self.link(card, 4 * group + 2 + u32::from(back))
    }

    /// From the host to the ring, or back.
    fn host(&self, card: u32, back: bool) -> LinkId {
        self.link(card, 4 * self.groups + u32::from(back))
    }

    /// Appends the bus, where the ring is one.
    fn cross(&self, card: u32, out: &mut Vec<LinkId>) {
        out.extend(self.bus.then(|| self.link(card, 4 * self.groups + 2)));
    }
}

fn build(
    topology: Topology,
    hosts: &[NodeId],
    card: &CardParts,
    group: ComputeType,
) -> Result<Topology, BuildError> {
    let names: Vec<String> = hosts.iter().map(|&host| topology.node_name(host).to_owned()).collect();
    let groupings: Vec<(String, Vec<u32>)> = topology
        .groupings()
        .map(|name| (name.to_owned(), topology.grouping(name).expect("it was named").to_vec()))
        .collect();
    let all_are_cards = hosts.len() == topology.compute_nodes().len();
    let extents = topology.dimensions().to_vec();
    let inner = topology.structure().clone();
    let numbering = Numbering {
        first_node: topology.node_count() as u32,
        first_link: topology.link_count() as u32,
        groups: card.groups,
        bus: card.ring_total.is_some(),
    };
    let mut builder = topology.into_builder();
    let group = NodeKind::Compute(builder.compute_type(group));
    let part = card.global_bytes / u64::from(card.groups);
    let memory = MemoryType { capacity_bytes: Some(part), bandwidth: None };
    let memory = NodeKind::Memory(builder.memory_type(memory));
    let wire = |bandwidth| LinkType::new(bandwidth, Duration::ZERO);
    for (&host, name) in hosts.iter().zip(&names) {
        builder.set_kind(host, NodeKind::Switch);
        let groups: Vec<NodeId> =
            (0..card.groups).map(|at| builder.node(group, format_args!("{name}.cg-{at}"))).collect();
        let ports: Vec<NodeId> =
            (0..card.groups).map(|at| builder.node(memory, format_args!("{name}.global-{at}"))).collect();
        let ring = builder.node(NodeKind::Switch, format_args!("{name}.ring"));
        let out = card.ring_total.map(|_| builder.node(NodeKind::Switch, format_args!("{name}.ring-out")));
        let leave = out.unwrap_or(ring);
        for (&core_group, &port) in groups.iter().zip(&ports) {
            cable(&mut builder, core_group, ring, leave, wire(card.ring));
            builder.duplex(core_group, port, wire(card.global));
            builder.set_home_memory(core_group, port);
        }
        cable(&mut builder, host, ring, leave, card.host);
        if let (Some(out), Some(total)) = (out, card.ring_total) {
            builder.simplex(ring, out, wire(total));
        }
    }
    let count = builder.kinds().len();
    let host_of = |node: usize| match numbering.part(NodeId::from_index(node)) {
        Some((card, _)) => hosts[card as usize].index(),
        None => node,
    };
    for (name, mut column) in groupings {
        column.resize(count, NO_GROUP);
        let column = (0..count).map(|node| column[host_of(node)]).collect();
        builder.set_grouping(&name, column);
    }
    let card_of = |node: usize| numbering.part(NodeId::from_index(node)).map_or(NO_GROUP, |(card, _)| card);
    builder.set_grouping("card", (0..count).map(card_of).collect());
    if all_are_cards {
        let extents = if extents.is_empty() { vec![hosts.len() as u32] } else { extents };
        builder.set_dimensions(std::iter::once(card.groups).chain(extents));
    } else {
        // ranks of several kinds have no coordinates
        builder.set_dimensions([]);
    }
    builder.set_structure(match inner {
        Structure::Irregular => Structure::Irregular,
        Structure::Ruled(inner) => {
            Structure::Ruled(Arc::new(CardRule { inner, numbering, hosts: hosts.to_vec() }))
        }
    });
    builder.build()
}

/// A cable from `node` to a ring, which is entered at one switch and left at another where it is a bus.
fn cable(builder: &mut TopologyBuilder, node: NodeId, enter: NodeId, leave: NodeId, link: LinkType) {
    if enter == leave {
        builder.duplex(node, enter, link);
    } else {
        builder.simplex(node, enter, link);
        builder.simplex(leave, node, link);
    }
}

/// The inner rule between hosts, with the ways through the cards before and behind.
#[derive(Debug)]
struct CardRule {
    inner: Arc<dyn RouteRule>,
    numbering: Numbering,
    hosts: Vec<NodeId>,
}

impl RouteRule for CardRule {
    fn name(&self) -> &'static str {
        "cards"
    }

    fn covers(&self, src: NodeId, dst: NodeId) -> bool {
        let host = |node| match self.numbering.part(node) {
            None => Some((node, None)),
            Some((card, Part::Group(_))) => Some((self.hosts[card as usize], Some(card))),
            Some((_, Part::Memory(_) | Part::Other)) => None,
        };
        match (self.numbering.part(src), self.numbering.part(dst)) {
            // within a card: between groups, and between a group and its memory
            (Some((a, Part::Group(group))), Some((b, Part::Memory(port))))
            | (Some((a, Part::Memory(port))), Some((b, Part::Group(group)))) => (a, group) == (b, port),
            (Some((a, Part::Group(_))), Some((b, Part::Group(_)))) if a == b => true,
            _ => match (host(src), host(dst)) {
                (Some((src, _)), Some((dst, _))) => src == dst || self.inner.covers(src, dst),
                _ => false,
            },
        }
    }

    fn route(
        &self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        let numbering = &self.numbering;
        let (from, to) = (numbering.part(src), numbering.part(dst));
        match (&from, &to) {
            (Some((card, Part::Group(group))), Some((_, Part::Memory(_)))) => {
                out.push(numbering.global(*card, *group, false));
                return Ok(Duration::ZERO);
            }
            (Some((_, Part::Memory(_))), Some((card, Part::Group(group)))) => {
                out.push(numbering.global(*card, *group, true));
                return Ok(Duration::ZERO);
            }
            (Some((a, Part::Group(group))), Some((b, Part::Group(other)))) if a == b => {
                out.push(numbering.ring(*a, *group, false));
                numbering.cross(*a, out);
                out.push(numbering.ring(*a, *other, true));
                return Ok(Duration::ZERO);
            }
            _ => {}
        }
        let mut ends = [src, dst];
        if let Some((card, Part::Group(group))) = from {
            out.push(numbering.ring(card, group, false));
            numbering.cross(card, out);
            out.push(numbering.host(card, true));
            ends[0] = self.hosts[card as usize];
        }
        if let Some((card, _)) = to {
            ends[1] = self.hosts[card as usize];
        }
        let latency = match ends {
            [a, b] if a == b => Duration::ZERO,
            [a, b] => self.inner.route(topology, a, b, key, out)?,
        };
        if let Some((card, Part::Group(group))) = to {
            out.push(numbering.host(card, false));
            numbering.cross(card, out);
            out.push(numbering.ring(card, group, true));
        }
        Ok(latency)
    }
}
