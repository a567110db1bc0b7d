//! The routes of the topology, as other levels of the network take them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, LinkId, NodeId};
use stratasim_topo::RoutingSpec;

use super::layer::Layer;
use super::places::{any, part};
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::End;
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// A table with the route of every pair of terminals: those that the topology has by its structure or from its file,
/// or that a routing finds. The same routes as at the level of flows, so that what differs is not the way; of several
/// cables of a host to its switch, messages take turns. Hosts with cables to several switches need a routing of the flit level.
///
/// Routes are put into layers, each with virtual channels of its own, so that the channels of no layer can wait for
/// each other in a circle (Skeie, Lysne, Theiss 2002); as many layers are made as the routes need. For at most
/// four million pairs.
///
/// ```toml
/// [network]
/// kind = "flit"
/// routing = { kind = "table", routes = { kind = "dijkstra", by = "hops" } }
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TableSpec {
    /// What the routes are: `auto` takes the topology's own. Routings that spread flows are asked for one.
    pub routes: RoutingSpec,
}

/// Pairs of terminals that a table may have.
const MOST_PAIRS: usize = 1 << 22;

impl FlitRoutingAlgorithm for TableSpec {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        Ok(Arc::new(Table::new(wiring, router, &self.routes)?))
    }
}

/// A table of routes, ready for one fabric.
///
/// Memory of a packet: its layer in the lowest byte, then the place of its next output in the table.
#[derive(Debug, Clone)]
pub struct Table {
    terminals: usize,
    /// Where the outputs of pair `source * terminals + destination` start; [`NO_ROUTE`] where there are none.
    start: Vec<u32>,
    layer: Vec<u8>,
    outputs: Vec<u16>,
    layers: u8,
}

/// No route.
const NO_ROUTE: u32 = u32::MAX;

impl Table {
    /// The routes of `routes` on `wiring`.
    ///
    /// # Errors
    /// Too many pairs; routes through nodes that do not forward; fewer virtual channels than layers.
    pub fn new(wiring: &Wiring, router: &RouterSpec, routes: &RoutingSpec) -> Result<Self, BuildError> {
        let fabric = &wiring.fabric;
        let terminals = fabric.terminals().len();
        if terminals > MOST_PAIRS / terminals.max(1) {
            let reason =
                format!("a table of {terminals} x {terminals} routes; at most {MOST_PAIRS} are kept");
            return Err(BuildError::new("routing.kind", reason));
        }
        // the output of each link, by the router that it leaves: half-duplex ones have two
        let mut output_of: FxHashMap<(LinkId, u32), u16> = FxHashMap::default();
        for from in 0..fabric.router_count() as u32 {
            for output in 0..fabric.output_count(from) {
                if let Some(link) = fabric.channel(from, output).link {
                    output_of.insert((link, from), output);
                }
            }
        }
        let mut routing =
            routes.plugin().build(&wiring.topology).map_err(|error| error.within("routing.routes"))?;
        let mut table = Self {
            terminals,
            start: Vec::with_capacity(terminals * terminals),
            layer: Vec::with_capacity(terminals * terminals),
            outputs: Vec::new(),
            layers: 1,
        };
        let most = (0..router.ranges.len().max(1)).map(|range| router.range(range as u8));
        let most = most.map(|(first, last)| last - first + 1).min().unwrap_or(1);
        let mut graphs: Vec<Layer> = Vec::new();
        let mut links = Vec::new();
        for source in 0..terminals as u32 {
            for dest in 0..terminals as u32 {
                let (from, to) = (fabric.terminal(source), fabric.terminal(dest));
                links.clear();
                let known = match (from.node, to.node) {
                    (Some(src), Some(dst)) => src == dst || routing.route(src, dst, 0, &mut links).is_ok(),
                    _ => false,
                };
                let path = known.then(|| follow(wiring, &output_of, source, dest, &links)).flatten();
                let first_nics = source.max(dest) < wiring.compute_terminals && wiring.joined(source, dest);
                let Some(path) = path else {
                    // further NICs need no route of their own: messages take those of the first; nor does a node to itself
                    if first_nics && source != dest {
                        return Err(no_route(wiring, [from.node, to.node]));
                    }
                    table.start.push(NO_ROUTE);
                    table.layer.push(0);
                    continue;
                };
                let pairs: Vec<(u32, u32)> = path
                    .windows(2)
                    .filter(|pair| matches!(fabric.channels()[pair[1] as usize].end, End::Router { .. }))
                    .map(|pair| (pair[0], pair[1]))
                    .collect();
                let layer = fit(&mut graphs, &pairs, fabric.channels().len(), most)?;
                table.start.push(table.outputs.len() as u32);
                table.layer.push(layer);
                table.outputs.extend(path.iter().map(|&index| (index as usize % fabric.stride()) as u16));
            }
        }
        table.layers = graphs.len().max(1) as u8;
        Ok(table)
    }

    /// Layers that the virtual channels are divided into.
    pub fn layers(&self) -> u8 {
        self.layers
    }
}

/// The error of two nodes whose route the routers cannot take.
fn no_route(wiring: &Wiring, ends: [Option<NodeId>; 2]) -> BuildError {
    let [from, to] = ends.map(|node| node.map_or("a terminal", |node| wiring.topology.node_name(node)));
    let reason = format!(
        "the route from {from} to {to} does not lead from the first NIC of one over routers to the first NIC of the \
         other; use `auto`"
    );
    BuildError::new("routing.routes", reason)
}

/// The outputs (by index in the fabric) of a route, the last one to the terminal; `None` where the route does not
/// join these two terminals, or leads through a node that is no router. Between the first NICs of two nodes, one that enters or leaves
/// by another NIC on the same router counts as theirs.
fn follow(
    wiring: &Wiring,
    output_of: &FxHashMap<(LinkId, u32), u16>,
    source: u32,
    dest: u32,
    links: &[LinkId],
) -> Option<Vec<u32>> {
    let fabric = &wiring.fabric;
    let (from, to) = (fabric.terminal(source), fabric.terminal(dest));
    let is_first = source.max(dest) < wiring.compute_terminals;
    let links = match (from.injection.link, links) {
        (Some(own), &[first, ref rest @ ..]) => {
            let beside = |nic: &u32| {
                let nic = fabric.terminal(*nic);
                nic.injection.link == Some(first) && nic.entry().0 == from.entry().0
            };
            let nics = || from.node.map(|node| wiring.terminals(node)).unwrap_or_default();
            let stands = first == own || is_first && nics().iter().any(beside);
            stands.then_some(rest)?
        }
        _ => links,
    };
    let mut at = from.entry().0;
    let mut path = Vec::with_capacity(links.len() + 1);
    for &link in links {
        let &output = output_of.get(&(link, at))?;
        path.push(fabric.index(at, output) as u32);
        match fabric.channel(at, output).end {
            End::Router { router, .. } => at = router,
            End::Terminal(terminal) if terminal == dest => return Some(path),
            End::Terminal(terminal) => {
                let other = fabric.terminal(terminal);
                path.pop();
                path.push(fabric.index(at, to.output) as u32);
                return (is_first && other.node == to.node && other.router == to.router).then_some(path);
            }
            End::Nothing => return None,
        }
    }
    if at != to.router {
        return None;
    }
    path.push(fabric.index(at, to.output) as u32);
    Some(path)
}

/// The first layer that takes `pairs`, a new one if need be.
fn fit(graphs: &mut Vec<Layer>, pairs: &[(u32, u32)], channels: usize, most: u8) -> Result<u8, BuildError> {
    if let Some(found) = graphs.iter_mut().position(|graph| graph.add(pairs)) {
        return Ok(found as u8);
    }
    let mut graph = Layer::new(channels);
    if graphs.len() >= usize::from(most) || !graph.add(pairs) {
        let reason = format!(
            "the routes need more than {most} layers of virtual channels to be free of deadlock; give more virtual \
             channels or use `up-down`, which needs one"
        );
        return Err(BuildError::new("router.virtual-channels", reason));
    }
    graphs.push(graph);
    Ok(graphs.len() as u8 - 1)
}

impl FlitRouting for Table {
    fn start(&self, head: &mut Head, _: &mut dyn Surroundings) -> (u8, u8) {
        let pair = head.source as usize * self.terminals + head.dest as usize;
        head.memory = (u64::from(self.start[pair]) << 8) | u64::from(self.layer[pair]);
        part(head.range, self.layers, self.layer[pair])
    }

    fn only(&self, _: Place, head: &mut Head, _: &mut dyn Surroundings) -> Candidate {
        let output = self.outputs[(head.memory >> 8) as usize];
        let layer = (head.memory & 0xff) as u8;
        head.memory += 1 << 8;
        any(output, part(head.range, self.layers, layer))
    }

    fn joins(&self, source: u32, dest: u32) -> bool {
        self.start[source as usize * self.terminals + dest as usize] != NO_ROUTE
    }

    fn looks_at_input(&self) -> bool {
        false
    }

    fn looks_at_vc(&self) -> bool {
        false
    }
}
