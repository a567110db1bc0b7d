//! Shortest paths on any graph, with layers of virtual channels against deadlock.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::layer::Layer;
use super::places::{Destinations, any, check_parts, part};
use super::spread::{Keep, Spread, rounds};
use super::toward::{NO_PORT, Toward, each_feeder, neighbours};
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::fabric::{End, Fabric, Terminal};
use crate::flit::router::RouterSpec;

/// Shortest paths by hops, on any graph. Of equal paths towards a terminal every router keeps one, chosen so that
/// channels carry about as much when every terminal sends as much to every other (on small tori, hypercubes and HyperX the fullest
/// carries a fifth to a quarter more than the mean); those to other terminals of the same router may differ. Where a table of a column per terminal would be larger than 32 MiB, terminals of a router share columns.
///
/// Destinations are put into layers, each with virtual channels of its own, so that the channels of no layer can
/// wait for each other in a circle; as many layers are made as the graph needs (one on trees). Where that is more than
/// there are virtual channels, the ways by the lowest outputs are taken instead, evenly loaded or not: on meshes these
/// turn in few ways and need one layer.
///
/// Sources: Skeie, Lysne, Theiss (2002), "Layered shortest path (LASH) routing in irregular system area
/// networks"; Domke, Hoefler, Nagel (2011), "Deadlock-free oblivious routing for arbitrary topologies".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ShortestPathSpec {
    /// Layers that the virtual channels are divided into, whether that is free of deadlock or not (the check
    /// of the network tells); as many as are needed, when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<u8>,
}

impl FlitRoutingAlgorithm for ShortestPathSpec {
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        self.build_noting(wiring, router, &mut Vec::new())
    }

    fn build_noting(
        &self,
        wiring: &Wiring,
        router: &RouterSpec,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn FlitRouting>, BuildError> {
        let built = ShortestPath::new(wiring, router, self.layers)?;
        let channels = least_channels(router);
        if self.layers.is_none()
            && built.layers > 1
            && channels / built.layers == 1
            && router.virtual_channels <= 16
        {
            let layers = built.layers;
            notes.push(format!(
                "`shortest-path` needs {layers} layers here, which leaves a single one of the {channels} virtual channels to some: \
                 there the head of a packet waits until the tail before it has left, and one stream does not fill a link. \
                 `router = {{ virtual-channels = {}, buffer-flits = {} }}` lets it.",
                2 * router.virtual_channels,
                router.buffer_flits
            ));
        }
        Ok(Arc::new(built))
    }
}

/// Shortest paths, ready for one fabric.
#[derive(Debug, Clone)]
pub struct ShortestPath {
    destinations: Destinations,
    toward: Toward,
    /// Layer of each column.
    layer: Vec<u8>,
    layers: u8,
}

impl ShortestPath {
    /// Shortest paths on `wiring`.
    ///
    /// # Errors
    /// A one-way graph in which terminals cannot reach each other; fewer virtual channels than layers.
    pub fn new(wiring: &Wiring, router: &RouterSpec, given: Option<u8>) -> Result<Self, BuildError> {
        let fabric = &wiring.fabric;
        let mut toward = ways(wiring, Keep::Even)?;
        if let Some(layers) = given {
            if layers == 0 {
                return Err(BuildError::new("routing.layers", "at least one layer is needed"));
            }
            check_parts(router, "shortest-path", layers, false, "each layer has channels of its own")?;
            let layer =
                (0..toward.column_count()).map(|column| (column % usize::from(layers)) as u8).collect();
            return Ok(Self { destinations: Destinations::new(fabric), toward, layer, layers });
        }
        let most = least_channels(router);
        let (layer, layers) = match layers(fabric, &toward, most) {
            Ok(found) => found,
            Err(_) => {
                toward = ways(wiring, Keep::First)?;
                layers(fabric, &toward, most)?
            }
        };
        Ok(Self { destinations: Destinations::new(fabric), toward, layer, layers })
    }

    /// Layers that the virtual channels are divided into.
    pub fn layers(&self) -> u8 {
        self.layers
    }
}

/// Virtual channels of the range that has the fewest.
fn least_channels(router: &RouterSpec) -> u8 {
    let ranges = (0..router.ranges.len().max(1)).map(|range| router.range(range as u8));
    ranges.map(|(first, last)| last - first + 1).min().unwrap_or(1)
}

impl FlitRouting for ShortestPath {
    fn only(&self, place: Place, head: &mut Head, _: &mut dyn Surroundings) -> Candidate {
        if self.destinations.router(head.dest) == place.router {
            return self.destinations.eject(head.dest, head.range);
        }
        let column = self.toward.column(head.dest);
        let output = self.toward.get(column, place.router as usize);
        any(output, part(head.range, self.layers, self.layer[column]))
    }

    fn joins(&self, source: u32, dest: u32) -> bool {
        let (from, to) = (self.destinations.entry(source), self.destinations.router(dest));
        from == to || self.toward.get(self.toward.column(dest), from as usize) != NO_PORT
    }

    fn looks_at_input(&self) -> bool {
        false
    }

    fn looks_at_vc(&self) -> bool {
        false
    }

    fn knows_source(&self) -> bool {
        false
    }

    fn memory_bits(&self) -> u32 {
        0
    }
}

/// One shortest way from every router to every destination.
fn ways(wiring: &Wiring, keep: Keep) -> Result<Toward, BuildError> {
    let fabric = &wiring.fabric;
    let mut toward = Toward::new(fabric, 1)?;
    let mut spread = Spread::new(fabric, 1, keep);
    let mut distance = vec![u32::MAX; fabric.router_count()];
    for at in rounds(toward.targets.len()) {
        let target = toward.targets[at];
        let passes = |router: u32| router == target || wiring.forwards(router);
        let order = reach(fabric, target, &mut distance, passes);
        spread.choose(&mut toward, at, &order[1..], |router, ways| {
            let closer = |&(_, to): &(u16, u32)| {
                passes(to)
                    && distance[to as usize] != u32::MAX
                    && distance[to as usize] + 1 == distance[router as usize]
            };
            ways.extend(neighbours(fabric, router).filter(closer));
        });
        let is_lost = |terminal: &Terminal, distance: &[u32]| {
            let (from, _) = terminal.entry();
            wiring.parts()[from as usize] == wiring.parts()[target as usize]
                && distance[from as usize] == u32::MAX
        };
        if !fabric.terminals().iter().any(|terminal| is_lost(terminal, &distance)) {
            continue;
        }
        // a memory node in between is no mistake: messages that would have to pass it are refused one by one
        reach(fabric, target, &mut distance, |_| true);
        if let Some(lost) = fabric.terminals().iter().find(|terminal| is_lost(terminal, &distance)) {
            let heard = fabric.terminals().iter().find(|terminal| terminal.router == target);
            let name = |terminal: Option<&Terminal>| match terminal.and_then(|terminal| terminal.node) {
                Some(node) => wiring.topology.node_name(node).to_owned(),
                None => "a terminal".to_owned(),
            };
            let reason = format!(
                "{} cannot reach {}: links on the way are missing or lead one way only; add them, or the other direction",
                name(Some(lost)),
                name(heard)
            );
            return Err(BuildError::new("routing.kind", reason));
        }
    }
    Ok(toward)
}

/// Channels from every router to `target` by way of routers that packets pass, and the routers from which there is a way, by
/// distance.
fn reach(fabric: &Fabric, target: u32, distance: &mut [u32], passes: impl Fn(u32) -> bool) -> Vec<u32> {
    distance.fill(u32::MAX);
    distance[target as usize] = 0;
    let mut order = vec![target];
    let mut seen = 0;
    while seen < order.len() {
        let router = order[seen];
        seen += 1;
        if !passes(router) {
            continue;
        }
        each_feeder(fabric, router, |from, _| {
            if distance[from as usize] == u32::MAX {
                distance[from as usize] = distance[router as usize] + 1;
                order.push(from);
            }
        });
    }
    order
}

/// The layer of every destination, and how many there are; at most `most`.
fn layers(fabric: &Fabric, toward: &Toward, most: u8) -> Result<(Vec<u8>, u8), BuildError> {
    let mut graphs: Vec<Layer> = Vec::new();
    let mut layer = Vec::with_capacity(toward.column_count());
    for column in 0..toward.column_count() {
        let pairs = dependencies(fabric, toward, column);
        let fits = graphs.iter_mut().position(|graph| graph.add(&pairs));
        let found = match fits {
            Some(found) => found,
            None if graphs.len() < usize::from(most) => {
                let mut graph = Layer::new(fabric.channels().len());
                assert!(graph.add(&pairs), "the ways to one destination form a tree");
                graphs.push(graph);
                graphs.len() - 1
            }
            None => {
                let reason = format!(
                    "shortest paths need more than {most} layers of virtual channels to be free of deadlock; give more \
                     virtual channels or, where links lead both ways, use `up-down`, which needs one"
                );
                return Err(BuildError::new("router.virtual-channels", reason));
            }
        };
        layer.push(found as u8);
    }
    Ok((layer, graphs.len().max(1) as u8))
}

/// Which channel is followed by which on the ways to one destination.
fn dependencies(fabric: &Fabric, toward: &Toward, column: usize) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for router in 0..fabric.router_count() as u32 {
        let output = toward.get(column, router as usize);
        if output == NO_PORT {
            continue;
        }
        let End::Router { router: to, .. } = fabric.channel(router, output).end else { continue };
        let next = toward.get(column, to as usize);
        if next != NO_PORT {
            pairs.push((fabric.index(router, output) as u32, fabric.index(to, next) as u32));
        }
    }
    pairs
}
