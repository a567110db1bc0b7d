//! Next hops: from every node to every host, all ports that begin a shortest way.
//!
//! Ports are numbered through all nodes: a half-duplex cable has one at each end. Hosts behind a single switch share the
//! column of that switch, and hosts with one cable have no row, so that the table of a fat tree is as small as its switches. Meshes
//! and tori of hosts need none.

mod grid;
mod numbers;
mod search;
mod sets;
mod table;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use stratasim_core::{BuildError, Duration, LinkId, NodeId};
use stratasim_topo::{NodeKind, Topology};

use self::grid::Grid;
pub(super) use self::numbers::Numbers;
use self::search::{Into, lengths};
pub(super) use self::sets::Members;
use self::sets::Sets;
use self::table::{MOST_ENTRIES, Table};
use super::landing::ANY;

/// Nothing: no port leads there, no host is there.
pub(super) const NONE: u32 = u32::MAX;

/// Where a packet goes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// By this port, the only one that begins a shortest way.
    Port(u32),
    /// By one of this set of ports of the node.
    Set(u32),
    /// There is no way.
    Nowhere,
}

/// A host: where it is, and how the last hop finds it.
#[derive(Debug, Clone, Copy)]
struct Host {
    node: u32,
    /// Column of the table, and the node that it leads to.
    column: u32,
    target: u32,
    /// The port from the target to the host; [`NONE`] where the host is the target.
    last: u32,
}

/// Where the link to a NIC of a host begins; the port is [`NONE`] where none leads to it.
#[derive(Debug, Clone, Copy)]
struct Gate {
    switch: u32,
    /// Column of the table that leads to the switch.
    column: u32,
    port: u32,
}

/// A port as the topology has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wire {
    pub(super) link: LinkId,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Tables of next hops. Hosts are nodes that send or receive, numbered in order.
#[derive(Debug, Clone)]
pub(super) struct Routes {
    /// Bytes of a full packet, by which ways are long.
    full: u32,
    wires: Vec<Wire>,
    /// First port of each node, and one past the last.
    start: Vec<u32>,
    hosts: Vec<Host>,
    /// Host of each node, [`NONE`] where it is none.
    host_of: Vec<u32>,
    /// By node: whether it passes on nothing that is not for it, as memory nodes do not.
    ends_here: Vec<bool>,
    /// By column of the table, the node that it leads to.
    targets: Vec<u32>,
    next: Table,
    sets: Sets,
    /// By column: the farthest other host, by what a full packet takes, and the host of the column with the longest last link. Of a
    /// grid only two hosts that are as far from each other as any.
    farthest: Vec<(u32, u32)>,
    /// The NICs of hosts that have several, one host after the other, and by host, where they begin and end.
    gates: Vec<Gate>,
    gates_of: Vec<(u32, u32)>,
}

impl Routes {
    /// Tables for all of `topology`, whose packets have at most `full` bytes. Hosts are its compute and memory nodes. Networks that
    /// are there at the same time share them.
    ///
    /// # Errors
    /// More nodes and hosts than a table can hold.
    pub(super) fn of(topology: &Topology, full: u32) -> Result<Arc<Self>, BuildError> {
        topology.derived(|known: &Self| known.full == full, || Self::new(topology, full))
    }

    fn new(topology: &Topology, full: u32) -> Result<Self, BuildError> {
        let nodes = topology.node_count();
        let mut wires = Vec::with_capacity(topology.link_count());
        let mut start = vec![0];
        for node in 0..nodes as u32 {
            let ports = topology.ports(NodeId(node)).iter();
            wires.extend(ports.map(|port| Wire { link: port.link, from: node, to: port.to.0 }));
            start.push(wires.len() as u32);
        }
        let into = Into::new(nodes, &wires);
        let mut host_of = vec![NONE; nodes];
        let mut hosts = Vec::new();
        let mut targets: Vec<u32> = Vec::new();
        let mut column_of: FxHashMap<u32, u32> = FxHashMap::default();
        let ends_here: Vec<bool> = (0..nodes as u32).map(|node| !topology.forwards(NodeId(node))).collect();
        let before = |wire: u32, node: u32| {
            let from = wires[wire as usize].from;
            from != node && !ends_here[from as usize]
        };
        for node in (0..nodes as u32).filter(|&node| topology.kind(NodeId(node)) != NodeKind::Switch) {
            host_of[node as usize] = hosts.len() as u32;
            let (target, last) = match into.of(node) {
                // what stands before the host forwards for it
                [only] if before(*only, node) => (wires[*only as usize].from, *only),
                _ => (node, NONE),
            };
            let column = *column_of.entry(target).or_insert_with(|| {
                targets.push(target);
                targets.len() as u32 - 1
            });
            hosts.push(Host { node, column, target, last });
        }
        let mut routes = Self {
            full,
            wires,
            start,
            host_of,
            ends_here,
            targets: Vec::new(),
            gates_of: vec![(0, 0); hosts.len()],
            hosts,
            next: Table::empty(),
            sets: Sets::default(),
            farthest: Vec::new(),
            gates: Vec::new(),
        };
        routes.find_gates(&mut |switch| {
            *column_of.entry(switch).or_insert_with(|| {
                targets.push(switch);
                targets.len() as u32 - 1
            })
        });
        let all_pass_on = targets.iter().copied().eq(0..nodes as u32) && !routes.ends_here.contains(&true);
        if all_pass_on && let Some((grid, sets)) = Grid::of(topology, &routes.wires, &routes.start) {
            routes.farthest.push(grid.farthest());
            routes.next = Table::of_grid(grid);
            routes.sets = sets;
            return Ok(routes);
        }
        let rows = routes.with_a_choice();
        if rows.len() as u64 * targets.len() as u64 > MOST_ENTRIES || routes.wires.len() >= 1 << 28 {
            let reason = format!(
                "{} nodes and {} groups of hosts are more than the table of next hops holds (2^29 entries)",
                rows.len(),
                targets.len()
            );
            return Err(BuildError::new("", reason));
        }
        routes.farthest.reserve_exact(targets.len());
        let step = |wire: &Wire| {
            let link = topology.link(wire.link);
            link.latency + Duration::from_ps((f64::from(full) * 1e12 / link.bandwidth.bytes_per_s()) as u64)
        };
        let steps: Vec<Duration> = routes.wires.iter().map(step).collect();
        routes.targets = targets;
        routes.fill(rows, &into, &steps, &lengths(topology, &routes.wires));
        Ok(routes)
    }

    /// Nodes among which all are whose next hop depends on where a packet goes.
    fn with_a_choice(&self) -> std::ops::Range<u32> {
        let has = |&node: &u32| !self.stands_at_the_edge(node);
        let (first, last) = ((0..self.nodes()).find(has), (0..self.nodes()).rfind(has));
        first.zip(last).map_or(0..0, |(first, last)| first..last + 1)
    }

    /// Whether a node has one port, and its neighbour there several.
    fn stands_at_the_edge(&self, node: u32) -> bool {
        let ports = self.ports_of(node);
        ports.len() == 1 && self.ports_of(self.wires[ports.start as usize].to).len() > 1
    }

    /// Where packets go next from a node to the target of a column.
    #[inline]
    fn next(&self, node: u32, column: u32) -> Next {
        if self.next.has_row(node) {
            self.next.get(node, column)
        } else {
            self.next_at_the_edge(node, column)
        }
    }

    /// The same from a node without a row, which has one port.
    #[inline(never)]
    fn next_at_the_edge(&self, node: u32, column: u32) -> Next {
        let (port, target) = (self.start[node as usize], self.targets[column as usize]);
        let to = self.wires[port as usize].to;
        let leads = || !self.ends_here[to as usize] && self.next.get(to, column) != Next::Nowhere;
        if node != target && (to == target || leads()) { Next::Port(port) } else { Next::Nowhere }
    }

    /// Notes the NICs of hosts that have several: the first cable between a host and a switch joins the first of the host's
    /// NICs there and the first port of the switch that leads to the host, and so on.
    fn find_gates(&mut self, column: &mut impl FnMut(u32) -> u32) {
        for host in 0..self.hosts.len() {
            let node = self.hosts[host].node;
            let own = self.ports_of(node);
            if own.len() < 2 || self.forwards(node) {
                continue;
            }
            let begin = self.gates.len() as u32;
            for nic in own.clone() {
                let switch = self.wires[nic as usize].to;
                let before = (own.start..nic).filter(|&port| self.wires[port as usize].to == switch).count();
                let port = self
                    .ports_of(switch)
                    .filter(|&port| self.wires[port as usize].to == node)
                    .nth(before)
                    .unwrap_or(NONE);
                self.gates.push(Gate { switch, column: column(switch), port });
            }
            self.gates_of[host] = (begin, self.gates.len() as u32);
        }
    }

    /// Cables with a port at either end: those whose two directions share the link.
    pub(super) fn half_duplex(&self) -> FxHashSet<LinkId> {
        let mut seen = FxHashSet::default();
        self.wires().iter().map(|wire| wire.link).filter(|&link| !seen.insert(link)).collect()
    }

    /// All ports.
    pub(super) fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> u32 {
        self.host_of.len() as u32
    }

    /// Number of hosts.
    pub(super) fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// The host of a node.
    pub(super) fn host_of(&self, node: NodeId) -> Option<u32> {
        let host = self.host_of[node.index()];
        (host != NONE).then_some(host)
    }

    /// The node of a host.
    #[inline]
    pub(super) fn node_of(&self, host: u32) -> u32 {
        self.hosts[host as usize].node
    }

    /// Whether a node stands on ways between others: it has a neighbour that is a host.
    pub(super) fn forwards(&self, node: u32) -> bool {
        self.ports_of(node).any(|port| self.host_of[self.wires[port as usize].to as usize] != NONE)
    }

    /// By node: whether it is a host through which packets of others go.
    pub(super) fn hosts_between(&self) -> Vec<bool> {
        let mut between = vec![false; self.host_of.len()];
        let mut of_column = vec![Vec::new(); self.next.columns()];
        for host in &self.hosts {
            of_column[host.column as usize].push(host);
        }
        for node in 0..self.host_of.len() as u32 {
            let is_new =
                |to: u32, between: &[bool]| self.host_of[to as usize] != NONE && !between[to as usize];
            let neighbours = || self.ports_of(node).map(|port| self.wires[port as usize].to);
            let mut left = neighbours().filter(|&to| is_new(to, &between)).count();
            for (column, hosts) in (0..).zip(&of_column) {
                if left == 0 {
                    break;
                }
                let next = self.next(node, column);
                let ports = match &next {
                    Next::Port(only) => Members::of(std::slice::from_ref(only)),
                    Next::Set(set) => self.members(node, *set),
                    Next::Nowhere => continue,
                };
                for port in ports.ports() {
                    let to = self.wires[port as usize].to;
                    // to another host, or to one that stands behind it
                    let goes_on =
                        |host: &&Host| host.node != node && (host.target != to || host.last != NONE);
                    if is_new(to, &between) && hosts.iter().any(goes_on) {
                        between[to as usize] = true;
                        left = neighbours().filter(|&to| is_new(to, &between)).count();
                    }
                }
            }
        }
        between
    }

    /// Ports that leave a node.
    pub(super) fn ports_of(&self, node: u32) -> std::ops::Range<u32> {
        self.start[node as usize]..self.start[node as usize + 1]
    }

    /// How packets go on from `node` to `host`.
    #[inline]
    pub(super) fn toward(&self, node: u32, host: u32) -> Next {
        let host = &self.hosts[host as usize];
        if node == host.target {
            return if host.last == NONE { Next::Nowhere } else { Next::Port(host.last) };
        }
        self.next(node, host.column)
    }

    /// Number of NICs of a host, where packets can be led to one of them: 0 for hosts with one, and for those that forward.
    pub(super) fn nics_of(&self, host: u32) -> u32 {
        let (begin, end) = self.gates_of[host as usize];
        end - begin
    }

    /// The port that leads to NIC `nic` of `host`, one of [`Self::nics_of`].
    pub(super) fn entry(&self, host: u32, nic: u32) -> Option<u32> {
        let gate = self.gates[(self.gates_of[host as usize].0 + nic) as usize];
        (gate.port != NONE).then_some(gate.port)
    }

    /// Whether any host has several NICs.
    pub(super) const fn have_nics(&self) -> bool {
        !self.gates.is_empty()
    }

    /// How packets go on from `node` to NIC `nic` of `host`, one of [`Self::nics_of`], on a way that [`Self::lands`].
    #[inline]
    pub(super) fn toward_nic(&self, node: u32, host: u32, nic: u32) -> Next {
        let gate = self.gates[(self.gates_of[host as usize].0 + nic) as usize];
        if node == gate.switch {
            return if gate.port == NONE { Next::Nowhere } else { Next::Port(gate.port) };
        }
        self.next(node, gate.column)
    }

    /// The group of hosts, or of their NICs, to which all ways from a node are the same until the last link, which is a host's own:
    /// that of `host` at its NIC `nic`, or wherever it is nearest ([`ANY`]); and that link, where there is one.
    #[inline]
    pub(super) fn group(&self, host: u32, nic: u16) -> (u32, Option<u32>) {
        let (column, last) = match nic {
            ANY => {
                let host = &self.hosts[host as usize];
                (host.column, host.last)
            }
            nic => {
                let gate = self.gates[self.gates_of[host as usize].0 as usize + usize::from(nic)];
                (gate.column, gate.port)
            }
        };
        (column, (last != NONE).then_some(last))
    }

    /// Whether a shortest way from `port` to `host` ends at its NIC `nic`.
    pub(super) fn lands(&self, mut port: u32, host: u32, nic: u32) -> bool {
        let gate = self.gates[(self.gates_of[host as usize].0 + nic) as usize];
        loop {
            let node = self.wires[port as usize].to;
            if node == self.node_of(host) {
                // by another NIC on the way to this one
                return self.wires[port as usize].from == gate.switch;
            }
            port = match self.toward_nic(node, host, nic) {
                Next::Port(port) => port,
                Next::Set(set) => self.members(node, set).port(0),
                Next::Nowhere => return false,
            };
            if !self.begins(port, node, self.toward(node, host)) {
                return false;
            }
        }
    }

    /// Whether `port` is one of those of `next` at a node.
    pub(super) fn begins(&self, port: u32, node: u32, next: Next) -> bool {
        match next {
            Next::Port(only) => port == only,
            Next::Set(set) => self.members(node, set).contain(port),
            Next::Nowhere => false,
        }
    }

    /// The ports of a set at a node.
    #[inline]
    pub(super) fn members(&self, node: u32, set: u32) -> Members<'_> {
        Members::new(self.start[node as usize], self.sets.places(set))
    }

    /// Whether there is anything to choose anywhere.
    pub(super) fn have_choices(&self) -> bool {
        self.sets.count() > 0
    }

    /// The first column of the table where a node has this set, one that it has.
    pub(super) fn first_column(&self, node: u32, set: u32) -> u32 {
        self.next.first_column(node, set)
    }

    /// Whether any way leads from one host to another.
    pub(super) fn lead(&self, from: u32, to: u32) -> bool {
        self.toward(self.node_of(from), to) != Next::Nowhere
    }

    /// All ports that begin a shortest way from `node` to `host`.
    pub(super) fn choices(&self, node: u32, host: u32) -> SmallVec<[u32; 4]> {
        match self.toward(node, host) {
            Next::Port(port) => smallvec![port],
            Next::Set(set) => self.members(node, set).ports().collect(),
            Next::Nowhere => SmallVec::new(),
        }
    }

    /// Pairs of hosts that are as far from each other as any host is from the second.
    pub(super) fn farthest(&self) -> impl Iterator<Item = (u32, u32)> {
        self.farthest.iter().copied().filter(|&(from, to)| from != NONE && to != NONE)
    }
}
