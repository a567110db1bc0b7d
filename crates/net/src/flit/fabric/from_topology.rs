//! The fabric of any topology: which node is a router, which a terminal, how wide and long channels are.
//!
//! Switches are routers, and so is every other node that has a neighbour which is no switch: it forwards,
//! and its own packets enter by a port beside those of its links. A compute node that has cables to
//! switches only is a terminal at the far end of each of them (one per NIC); a memory node likewise. Where
//! cables lead one way, a terminal sends by one and hears another.

use std::sync::Arc;

use stratasim_core::words::three_digits;
use stratasim_core::{BuildError, Duration, LinkId, NodeId};
use stratasim_topo::geometry::Geometry;
use stratasim_topo::{Link, NodeKind, Sharing, Topology};

use super::clock::Clock;
use super::ports::Ports;
use super::roles::{Roles, is_one_way, start};
use super::{Channel, End, FULL_WIDTH, Fabric};
use crate::{cables, memories};

/// Cycles that a channel may take; kernels keep a place for each.
const LONGEST_CHANNEL: u64 = 1 << 20;

/// Width of flits, clock and ports of terminals.
#[derive(Debug, Clone, Copy)]
pub struct Wires {
    /// Bytes that a flit carries.
    pub flit_bytes: u32,
    /// The clock; that of the fastest link, one flit per cycle, when absent.
    pub clock: Option<Clock>,
    /// Cycles between a node that forwards and its own router.
    pub terminal_latency: u32,
}

/// A fabric and what it came from.
#[derive(Debug, Clone)]
pub struct Wiring {
    /// The topology.
    pub topology: Arc<Topology>,
    /// The fabric. Terminals: first the compute nodes in their order, by their first NIC; then by the
    /// second one those that have it, and so on; then the memory nodes.
    pub fabric: Arc<Fabric>,
    /// The clock of all routers.
    pub clock: Clock,
    /// The node of each router.
    pub nodes: Vec<NodeId>,
    /// The router of each node; `None` for nodes that are terminals only.
    pub router_of: Vec<Option<u32>>,
    /// Number of the first terminals that are compute nodes with their first NIC.
    pub compute_terminals: u32,
    /// Where the routers are, when the topology knows and its vertices are routers.
    pub geometry: Option<Geometry>,
    terminal_start: Vec<u32>,
    terminals_of: Vec<u32>,
    component: Vec<u32>,
    half_duplex: Vec<LinkId>,
}

impl Wiring {
    /// The fabric of `topology`.
    ///
    /// # Errors
    /// Links that are faster than a flit per cycle, or so slow or long that they cannot be modelled; fat
    /// pipes; links whose rate changes; memories that are slower than their several cables; more ports than can be held.
    pub fn new(topology: &Arc<Topology>, wires: &Wires) -> Result<Self, BuildError> {
        cables::refuse_changes(topology, "flit")?;
        memories::check(topology)?;
        cables::check(topology)?;
        let clock = match wires.clock {
            Some(clock) => clock,
            None => fastest(topology, wires.flit_bytes)?,
        };
        let geometry = topology.structure().geometry();
        let roles = Roles::new(topology, geometry.as_ref());
        let mut router_of = vec![None; topology.node_count()];
        let mut nodes = Vec::new();
        for node in (0..topology.node_count()).map(NodeId::from_index) {
            if roles.is_router[node.index()] {
                router_of[node.index()] = Some(nodes.len() as u32);
                nodes.push(node);
            }
        }
        let ports = Ports::new(topology, &nodes, &router_of)?;
        let mut wiring = Self {
            topology: topology.clone(),
            fabric: Arc::new(Fabric::new(ports.counts.clone())),
            clock,
            nodes,
            router_of,
            compute_terminals: 0,
            geometry,
            terminal_start: Vec::new(),
            terminals_of: Vec::new(),
            component: Vec::new(),
            half_duplex: Vec::new(),
        };
        wiring.connect(topology, wires, &ports)?;
        wiring.attach(topology, wires, &ports, &roles)?;
        wiring.component = wiring.components();
        wiring.half_duplex = (0..topology.link_count())
            .map(LinkId::from_index)
            .filter(|&link| topology.link(link).half_duplex)
            .collect();
        let vertices_route = |geometry: &Geometry| match geometry {
            Geometry::Grid(grid) => wiring.router_of[grid.first_vertex as usize].is_some(),
            _ => true,
        };
        wiring.geometry = wiring.geometry.take().filter(vertices_route);
        wiring.fabric.check()?;
        Ok(wiring)
    }

    /// Terminals of `node`, by NIC; empty for a switch.
    pub fn terminals(&self, node: NodeId) -> &[u32] {
        let range =
            self.terminal_start[node.index()] as usize..self.terminal_start[node.index() + 1] as usize;
        &self.terminals_of[range]
    }

    /// Whether flits can get from one terminal to the other.
    pub fn joined(&self, from: u32, to: u32) -> bool {
        let part = |terminal: u32| self.component[self.fabric.terminal(terminal).router as usize];
        part(from) == part(to)
    }

    /// Whether packets of others go through a router: to and from a node that does not forward they go, as at the other levels.
    pub fn forwards(&self, router: u32) -> bool {
        self.topology.forwards(self.nodes[router as usize])
    }

    /// The part of the fabric that each router is in; parts have no channel between them.
    pub fn parts(&self) -> &[u32] {
        &self.component
    }

    /// The cables whose directions share one capacity; each direction has half of it.
    pub fn half_duplex(&self) -> &[LinkId] {
        &self.half_duplex
    }

    fn connect(&mut self, topology: &Topology, wires: &Wires, ports: &Ports) -> Result<(), BuildError> {
        let fabric = Arc::make_mut(&mut self.fabric);
        let mut channels = Channels::new(topology, self.clock, wires.flit_bytes);
        for (router, &node) in (0..).zip(&self.nodes) {
            for (output, port) in (0..).zip(topology.ports(node)) {
                let Some(to) = self.router_of[port.to.index()] else { continue };
                if port.to == node {
                    continue;
                }
                let input = ports.input(topology, port.link, node);
                let end = End::Router { router: to, port: input };
                fabric.connect((router, output), Channel { end, ..channels.of(port.link)? });
            }
        }
        Ok(())
    }

    fn attach(
        &mut self,
        topology: &Topology,
        wires: &Wires,
        ports: &Ports,
        roles: &Roles,
    ) -> Result<(), BuildError> {
        let own = Channel {
            latency: wires.terminal_latency.max(1),
            credit_latency: wires.terminal_latency.max(1),
            ..Channel::default()
        };
        // nodes and their terminals, NIC by NIC
        let mut all = Vec::with_capacity(topology.node_count());
        let memories = (0..topology.node_count())
            .map(NodeId::from_index)
            .filter(|&node| matches!(topology.kind(node), NodeKind::Memory(_)));
        let fabric = Arc::make_mut(&mut self.fabric);
        let mut channels = Channels::new(topology, self.clock, wires.flit_bytes);
        let sets: [Vec<NodeId>; 2] = [topology.compute_nodes().to_vec(), memories.collect()];
        for (set, nodes) in sets.iter().enumerate() {
            for nic in 0.. {
                let mut some = false;
                for &node in nodes {
                    let terminal = match self.router_of[node.index()] {
                        Some(router) if nic == 0 => {
                            let (inputs, outputs) = ports.counts[router as usize];
                            fabric.attach(router, (inputs - 1, outputs - 1), own, own, Some(node))
                        }
                        Some(_) => continue,
                        None => {
                            let Some(port) = topology.ports(node).get(nic) else { continue };
                            let router =
                                self.router_of[port.to.index()].expect("a terminal's neighbours route");
                            let input = ports.input(topology, port.link, node);
                            let into = channels.of(port.link)?;
                            let (back, exit) = if let Some(output) =
                                ports.output_back(topology, port.link, node)
                            {
                                (topology.ports(port.to)[output as usize].link, (router, output))
                            } else {
                                let before = &topology.ports(node)[..nic];
                                let index =
                                    before.iter().filter(|port| is_one_way(topology.link(port.link))).count();
                                let back = roles.heard.by(node)[index];
                                let from = start(topology, back).expect("a link that is heard has a start");
                                let router = self.router_of[from.index()].expect("a terminal hears routers");
                                (back, (router, ports.at_start[back.index()]))
                            };
                            fabric.attach_apart((router, input), exit, into, channels.of(back)?, Some(node))
                        }
                    };
                    all.push((node.index(), terminal));
                    some = true;
                }
                if set == 0 && nic == 0 {
                    self.compute_terminals = fabric.terminals().len() as u32;
                }
                if !some {
                    break;
                }
            }
        }
        self.terminal_start = vec![0; topology.node_count() + 1];
        for (node, _) in &all {
            self.terminal_start[node + 1] += 1;
        }
        for node in 0..topology.node_count() {
            self.terminal_start[node + 1] += self.terminal_start[node];
        }
        let mut next = self.terminal_start.clone();
        self.terminals_of = vec![0; all.len()];
        for (node, terminal) in all {
            self.terminals_of[next[node] as usize] = terminal;
            next[node] += 1;
        }
        Ok(())
    }

    /// Parts of the fabric, numbered by their first router.
    fn components(&self) -> Vec<u32> {
        let count = self.fabric.router_count();
        let mut parent: Vec<u32> = (0..count as u32).collect();
        fn root(parent: &mut [u32], mut of: u32) -> u32 {
            while parent[of as usize] != of {
                parent[of as usize] = parent[parent[of as usize] as usize];
                of = parent[of as usize];
            }
            of
        }
        for from in 0..count as u32 {
            for output in 0..self.fabric.output_count(from) {
                if let End::Router { router, .. } = self.fabric.channel(from, output).end {
                    let (a, b) = (root(&mut parent, from), root(&mut parent, router));
                    parent[a.max(b) as usize] = a.min(b);
                }
            }
        }
        (0..count as u32).map(|router| root(&mut parent, router)).collect()
    }
}

/// The clock of the fastest link between two nodes.
fn fastest(topology: &Topology, flit_bytes: u32) -> Result<Clock, BuildError> {
    let between = |link: &&Link| link.ends.is_some_and(|[from, to]| from != to);
    let rates = topology.links().iter().filter(between).map(|link| link.bandwidth);
    let fastest = rates.max_by(|a, b| a.bytes_per_s().total_cmp(&b.bytes_per_s()));
    match fastest {
        Some(rate) => Ok(Clock::of_link(rate, flit_bytes)),
        None => Err(BuildError::new("clock", "a network without links has no rate; give a clock")),
    }
}

/// The channels of links, of which most are like the one before.
struct Channels<'a> {
    topology: &'a Topology,
    clock: Clock,
    flit_bytes: u32,
    last: Option<(LinkId, Channel)>,
}

impl<'a> Channels<'a> {
    fn new(topology: &'a Topology, clock: Clock, flit_bytes: u32) -> Self {
        Self { topology, clock, flit_bytes, last: None }
    }

    /// The channel of a link: its end is filled in later.
    fn of(&mut self, link: LinkId) -> Result<Channel, BuildError> {
        let what = |link| {
            let Link { bandwidth, latency, sharing, half_duplex, .. } = *self.topology.link(link);
            (bandwidth, latency, sharing, half_duplex, memories::rate_at(self.topology, link))
        };
        if let Some((like, channel)) = self.last
            && what(like) == what(link)
        {
            return Ok(Channel { link: Some(link), ..channel });
        }
        let channel = channel(self.topology, link, &self.clock, self.flit_bytes)?;
        self.last = Some((link, channel));
        Ok(channel)
    }
}

/// The channel of a link: its end is filled in later.
fn channel(topology: &Topology, id: LinkId, clock: &Clock, flit_bytes: u32) -> Result<Channel, BuildError> {
    let link = topology.link(id);
    let refuse = |field: &str, reason: String| {
        Err(BuildError::new(field, format!("link {}: {reason}", topology.link_name(id))))
    };
    if link.sharing == Sharing::FatPipe {
        return refuse(
            "",
            "a fat pipe serves each user in full, which no wire of the flit level does".into(),
        );
    }
    let cycles = clock.cycles(Duration::from_ps(link.latency.as_ps())).max(1);
    if cycles > LONGEST_CHANNEL {
        let reason = format!(
            "its latency of {} is {cycles} cycles, at most {LONGEST_CHANNEL} are possible; larger flits make longer cycles",
            link.latency
        );
        return refuse("flit-bytes", reason);
    }
    let mut spacing = clock.spacing(link.bandwidth, flit_bytes);
    if link.half_duplex {
        // each direction gets half of the capacity
        spacing = spacing.saturating_mul(2);
    }
    if let Some(rate) = memories::rate_at(topology, id) {
        spacing = spacing.max(clock.spacing(rate, flit_bytes));
    }
    if spacing < u64::from(FULL_WIDTH) {
        let own = link.bandwidth.bytes_per_s() / if link.half_duplex { 2.0 } else { 1.0 };
        let rate = memories::rate_at(topology, id).map_or(own, |rate| own.min(rate.bytes_per_s()));
        let flits = rate / f64::from(flit_bytes) / clock.hz();
        let flits = match three_digits(flits).as_str() {
            "1" => "a little more than one flit".to_owned(),
            more => format!("{more} flits"),
        };
        let reason = format!(
            "it carries {flits} of {flit_bytes} bytes per cycle, at most 1 is possible; use a faster clock or larger flits"
        );
        return refuse("clock", reason);
    }
    if spacing > u64::from(FULL_WIDTH) << 16 {
        let reason = format!(
            "it carries a flit every {} cycles, at least one in 65,536 is possible",
            spacing / u64::from(FULL_WIDTH)
        );
        return refuse("clock", reason);
    }
    let (cycles, spacing) = (cycles as u32, spacing as u32);
    Ok(Channel {
        end: End::Nothing,
        // a flit is there when the last of it is
        latency: cycles + spacing.div_ceil(FULL_WIDTH) - 1,
        credit_latency: cycles,
        spacing,
        reckoned: None,
        link: Some(id),
    })
}
