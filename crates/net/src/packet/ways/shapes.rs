//! What the shortest ways between two hosts look like, link by link.
//!
//! A message asks how long it would take alone, and there are many of them. Most ways of a machine look alike: from hosts of one
//! switch to hosts of another one they do. So a way is looked at once, and remembered as the kinds of its links.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Goal;
use crate::packet::link_kind::PerByte;
use crate::packet::port::{Beyond, Port};
use crate::packet::routes::{Next, Routes};

/// So many ways are remembered.
const MOST_KNOWN: usize = 1 << 18;

/// Links of the shortest ways that are as many links from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Layer {
    /// What all of them are.
    kind: u32,
    /// Whether there is one only behind all of those before.
    pub(super) only: bool,
}

/// The shortest ways from a port to a host.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// Layers of links that are alike.
    Alike(Box<[Layer]>),
    /// Ways that take differently long, or differently many links.
    Mixed,
}

/// What the shape of ways depends on: the kind of the first link, where it leads, the group of the host, and the kind of the last
/// link, where all of the group have one of their own.
type Ends = (u32, u32, u32, Option<u32>);

/// Shapes of ways. Each has a number.
#[derive(Debug)]
pub(super) struct Shapes {
    /// By port: the number of its kind.
    kinds: Vec<u32>,
    /// By kind, one of its ports.
    samples: Vec<u32>,
    shapes: Vec<Shape>,
    by_layers: FxHashMap<Box<[Layer]>, u32>,
    by_ends: FxHashMap<Ends, u32>,
}

impl Shapes {
    /// Of no way yet.
    pub(super) fn new(ports: &[Port]) -> Self {
        let mut known: FxHashMap<(PerByte, u64, bool), u32> = FxHashMap::default();
        let mut samples = Vec::new();
        let kinds = (0..)
            .zip(ports)
            .map(|(number, port)| {
                let values = (port.kind.rate, port.kind.delay, port.beyond == Beyond::Header);
                *known.entry(values).or_insert_with(|| {
                    samples.push(number);
                    samples.len() as u32 - 1
                })
            })
            .collect();
        Self {
            kinds,
            samples,
            shapes: Vec::new(),
            by_layers: FxHashMap::default(),
            by_ends: FxHashMap::default(),
        }
    }

    /// The number of the shape of all shortest ways from `port` to `goal`, where there are any; of one of them where
    /// `one_is_enough`.
    pub(super) fn number(
        &mut self,
        (routes, ports): (&Routes, &[Port]),
        port: u32,
        goal: Goal,
        one_is_enough: bool,
    ) -> Option<u32> {
        let (column, last) = routes.group(goal.host, goal.nic);
        let last = last.map(|last| self.kinds[last as usize]);
        let ends = (self.kinds[port as usize], ports[port as usize].to, column, last);
        if let Some(&known) = self.by_ends.get(&ends) {
            return Some(known);
        }
        let layers = self.layers((routes, ports), port, goal, one_is_enough)?;
        let number = match layers {
            Some(layers) => *self.by_layers.entry(layers).or_insert_with_key(|layers| {
                self.shapes.push(Shape::Alike(layers.clone()));
                self.shapes.len() as u32 - 1
            }),
            None => {
                self.shapes.push(Shape::Mixed);
                self.shapes.len() as u32 - 1
            }
        };
        // numbers stay, so that what is known of them does, but for those of mixed ways
        if self.by_ends.len() >= MOST_KNOWN {
            self.by_ends.clear();
        }
        self.by_ends.insert(ends, number);
        Some(number)
    }

    /// A shape.
    pub(super) fn shape(&self, number: u32) -> &Shape {
        &self.shapes[number as usize]
    }

    /// A port like those of a layer.
    pub(super) fn sample<'a>(&self, layer: Layer, ports: &'a [Port]) -> &'a Port {
        &ports[self.samples[layer.kind as usize] as usize]
    }

    /// The links of all shortest ways, layer by layer; none where they are mixed, and nothing where there is no way.
    #[expect(clippy::option_option, reason = "no way is something else than ways that are not alike")]
    fn layers(
        &self,
        (routes, ports): (&Routes, &[Port]),
        port: u32,
        goal: Goal,
        one_is_enough: bool,
    ) -> Option<Option<Box<[Layer]>>> {
        let node = routes.node_of(goal.host);
        let mut layer: SmallVec<[u32; 8]> = SmallVec::from_slice(&[port]);
        let mut layers: SmallVec<[Layer; 8]> = SmallVec::new();
        let mut only = true;
        // a way around is no shortest way: as many links as there are nodes are never needed
        for _ in 0..ports.len() + 1 {
            let kind = self.kinds[layer[0] as usize];
            let ends = ports[layer[0] as usize].to == node;
            let alike =
                |&port: &u32| self.kinds[port as usize] == kind && (ports[port as usize].to == node) == ends;
            if !layer.iter().all(alike) {
                return Some(None);
            }
            layers.push(Layer { kind, only });
            if ends {
                return Some(Some(layers.into_vec().into()));
            }
            let mut next: SmallVec<[u32; 8]> = SmallVec::new();
            let mut several = false;
            for &port in &layer {
                match goal.toward(routes, ports[port as usize].to) {
                    Next::Port(port) => next.push(port),
                    Next::Set(set) => {
                        several = true;
                        let members = &routes.members()[routes.set(set)];
                        next.extend_from_slice(if one_is_enough { &members[..1] } else { members });
                    }
                    Next::Nowhere => {}
                }
            }
            next.sort_unstable();
            next.dedup();
            if next.is_empty() {
                return None;
            }
            only = !several && next.len() == 1;
            layer = next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stratasim_core::random::Draws;
    use stratasim_core::{Bandwidth, Duration};
    use stratasim_topo::graph::LinkType;
    use stratasim_topo::{NodeKind, Topology, TopologyBuilder};

    use super::*;
    use crate::packet::landing::ANY;
    use crate::packet::testing::{machine, network};
    use crate::packet::ways::{Alone, Pick, Ways};

    /// Compares what is remembered with each way followed by itself, and says how many shapes of `[alike, mixed]` ways there are.
    fn compare(topology: &Arc<Topology>, options: &str) -> [usize; 2] {
        let network = network(topology, options, 1).expect("a network");
        let engine = network.parts.any();
        let on = (&engine.routes, &engine.ports[..]);
        let mut ways = Ways::new(on.1, on.0, 64);
        let hosts = engine.routes.hosts() as u32;
        let messages = [(1, 64), (1, 4160), (2, 100), (3, 4160), (17, 999)]
            .map(|(packets, last)| [false, true].map(|spread| Alone { packets, full: 4160, last, spread }));
        for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
            let nics = engine.routes.nics_of(to) as u16;
            for nic in (0..nics).chain([ANY]).filter(|_| from != to) {
                let goal = Goal { host: to, nic };
                for port in engine.routes.choices(engine.routes.node_of(from), to) {
                    for message in messages.as_flattened() {
                        for pick in [Pick::Fastest, Pick::Slowest] {
                            let known = ways.alone(on, port, goal, *message, pick);
                            let literal = ways.on_mixed(on, port, goal, *message, pick);
                            assert_eq!(
                                known, literal,
                                "{from} to {to} at {nic} by {port}: {message:?} {pick:?}"
                            );
                        }
                    }
                    let slowest = ways.slowest_rate(on, port, goal);
                    assert_eq!(slowest, ways.slowest_rate_on_mixed(on, port, goal), "{from} to {to}");
                }
            }
        }
        let alike = ways.shapes.shapes.iter().filter(|shape| matches!(shape, Shape::Alike(_))).count();
        [alike, ways.shapes.shapes.len() - alike]
    }

    #[test]
    fn what_is_remembered_of_ways_is_what_each_of_them_takes() {
        let tree = r#"{"kind": "fat-tree", "k": 4, "bandwidth": "100 Gbps", "latency": "1 us"#;
        let levels = format!(r#"{tree}", "level-latency": ["300 ns", "1 us", "2 us"]}}"#);
        let rates = format!(r#"{tree}", "level-bandwidth": ["50 Gbps", "100 Gbps", "25 Gbps"]}}"#);
        // within an edge switch, within a pod, and across the core
        assert_eq!(compare(&machine(&format!(r#"{tree}"}}"#)), "{}"), [3, 0]);
        assert_eq!(compare(&machine(&levels), "{}"), [3, 0]);
        assert_eq!(compare(&machine(&rates), r#"{"switching": "cut-through"}"#), [3, 0]);
        let torus = r#"{"kind": "torus", "dimensions": [4, 3], "bandwidth": "10 Gbps", "latency": "1 us"}"#;
        assert_eq!(compare(&machine(torus), "{}"), [3, 0]);
    }

    #[test]
    fn ways_of_unlike_links_are_told_apart() {
        let mut mixed = 0;
        for seed in 0..12 {
            let mut draws = Draws::new(seed);
            let mut builder = TopologyBuilder::new();
            let compute = builder.compute_type(stratasim_topo::catalogue::named("H100").expect("known"));
            let mut node = |kind, number| builder.node(kind, format_args!("n{number}"));
            let hosts: Vec<_> = (0..6).map(|number| node(NodeKind::Compute(compute), number)).collect();
            let switches: Vec<_> = (6..12).map(|number| node(NodeKind::Switch, number)).collect();
            let mut cable = |from, to| {
                let (rate, delay) = (1e9 * f64::from(1 + draws.below(2)), u64::from(1 + draws.below(2)));
                builder.duplex(from, to, LinkType::new(Bandwidth(rate), Duration::from_ns(500 * delay)));
            };
            // hosts on two switches each, and two rows of three switches
            for (number, &host) in hosts.iter().enumerate() {
                cable(host, switches[number % 6]);
                if number % 2 == 0 {
                    cable(host, switches[(number + 1 + seed as usize) % 6]);
                }
            }
            for at in 0..6 {
                cable(switches[at], switches[(at + 1) % 6]);
                if at < 3 {
                    cable(switches[at], switches[at + 3]);
                }
            }
            let topology = Arc::new(builder.build().expect("a machine"));
            for options in ["{}", r#"{"switching": "cut-through"}"#] {
                mixed += compare(&topology, options)[1];
            }
        }
        assert!(mixed > 0, "some of them take differently long");
    }
}
