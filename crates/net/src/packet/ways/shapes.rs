//! What the shortest ways between two hosts look like, link by link.
//!
//! A message asks how long it would take alone, and there are many of them. Most ways of a machine look alike: from hosts of one
//! switch to hosts of another one they do. So a way is looked at once, and remembered as the kinds of its links.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::Goal;
use crate::packet::link_kind::PerByte;
use crate::packet::port::{Beyond, Port};
use crate::packet::routes::{Next, Routes};

/// So many ways are remembered, and so many shapes of them: of ways that are all unlike, each may take some kilobytes.
const MOST_WAYS: usize = 1 << 18;
const MOST_SHAPES: usize = 1 << 13;

/// Links of the shortest ways that are as many links from the start, and to which the same leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Group {
    /// What all of them are.
    kind: u32,
    /// Whether they lead to the host.
    pub(super) ends: bool,
    /// The groups of the layer before from which packets come.
    pub(super) from: SmallVec<[u32; 4]>,
}

/// All links that are as many links from the start.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Layer {
    /// Mostly one.
    pub(super) groups: SmallVec<[Group; 1]>,
    /// Links of each group.
    pub(super) counts: SmallVec<[u32; 1]>,
    /// Whether all that comes from the layer before goes by the same link.
    pub(super) only: bool,
    /// Whether it leads to the host, and all that comes there comes by the same link.
    pub(super) only_to_host: bool,
}

/// The shortest ways from a port to a host.
pub(super) type Shape = Arc<[Layer]>;

/// What the shape of ways depends on: the kind of the first link, where it leads, the group of the host, and the kind of the last
/// link, where all of the group have one of their own.
type Ends = (u32, u32, u32, Option<u32>);

/// Shapes of ways. Each has a number.
#[derive(Debug)]
pub(super) struct Shapes {
    /// By port: the number of its kind, and where it leads.
    links: Vec<(u32, u32)>,
    /// By kind, one of its ports.
    samples: Vec<u32>,
    shapes: Vec<Shape>,
    by_layers: FxHashMap<Shape, u32>,
    by_ends: FxHashMap<Ends, u32>,
}

impl Shapes {
    /// Of no way yet.
    pub(super) fn new(ports: &[Port]) -> Self {
        let mut known: FxHashMap<(PerByte, u64, bool), u32> = FxHashMap::default();
        let mut samples = Vec::new();
        let links = (0..)
            .zip(ports)
            .map(|(number, port)| {
                let values = (port.kind.rate, port.kind.delay, port.beyond == Beyond::Header);
                let kind = *known.entry(values).or_insert_with(|| {
                    samples.push(number);
                    samples.len() as u32 - 1
                });
                (kind, port.to)
            })
            .collect();
        Self {
            links,
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
        routes: &Routes,
        port: u32,
        goal: Goal,
        one_is_enough: bool,
    ) -> Option<u32> {
        let (column, last) = routes.group(goal.host, goal.nic);
        let last = last.map(|last| self.links[last as usize].0);
        let (kind, to) = self.links[port as usize];
        let ends = (kind, to, column, last);
        if let Some(&known) = self.by_ends.get(&ends) {
            return Some(known);
        }
        let layers = self.layers(routes, port, goal, last.is_some(), one_is_enough)?;
        let number = *self.by_layers.entry(layers).or_insert_with_key(|layers| {
            self.shapes.push(Arc::clone(layers));
            self.shapes.len() as u32 - 1
        });
        self.by_ends.insert(ends, number);
        Some(number)
    }

    /// Whether no more are to be remembered before all are forgotten.
    pub(super) fn are_many(&self) -> bool {
        self.by_ends.len() >= MOST_WAYS || self.shapes.len() >= MOST_SHAPES
    }

    /// Forgets all: numbers begin anew.
    pub(super) fn forget(&mut self) {
        self.shapes.clear();
        self.by_layers.clear();
        self.by_ends.clear();
    }

    /// A shape.
    pub(super) fn shape(&self, number: u32) -> &[Layer] {
        &self.shapes[number as usize]
    }

    /// A port like those of a group.
    pub(super) fn sample<'a>(&self, group: &Group, ports: &'a [Port]) -> &'a Port {
        &ports[self.samples[group.kind as usize] as usize]
    }

    /// The links of all shortest ways, layer by layer; nothing where there is no way. Whether the host is reached by one link.
    fn layers(
        &self,
        routes: &Routes,
        port: u32,
        goal: Goal,
        by_one: bool,
        one_is_enough: bool,
    ) -> Option<Shape> {
        let node = routes.node_of(goal.host);
        let group = |port: u32, from: SmallVec<[u32; 4]>| {
            let (kind, to) = self.links[port as usize];
            Group { kind, ends: to == node, from }
        };
        let mut groups: SmallVec<[Group; 1]> = smallvec![group(port, SmallVec::new())];
        let mut counts: SmallVec<[u32; 1]> = smallvec![1];
        // ports of the layer, each with its group
        let mut layer: SmallVec<[(u32, u32); 8]> = smallvec![(port, 0)];
        let mut layers: Vec<Layer> = Vec::new();
        let (mut only, mut arrives) = (true, false);
        // ports of the next layer, each with a group from which packets come
        let mut edges: SmallVec<[(u32, u32); 8]> = SmallVec::new();
        // a way around is no shortest way: as many links as there are nodes are never needed
        for _ in 0..self.links.len() + 1 {
            let mut several = false;
            edges.clear();
            for &(port, of) in &layer {
                if groups[of as usize].ends {
                    arrives = true;
                    continue;
                }
                let node = self.links[port as usize].1;
                match goal.toward(routes, node) {
                    Next::Port(port) => edges.push((port, of)),
                    Next::Set(set) => {
                        several = true;
                        let members = routes.members(node, set).ports();
                        let count = if one_is_enough { 1 } else { usize::MAX };
                        edges.extend(members.take(count).map(|port| (port, of)));
                    }
                    Next::Nowhere => {}
                }
            }
            let (groups_of, counts_of) = (std::mem::take(&mut groups), std::mem::take(&mut counts));
            edges.sort_unstable();
            edges.dedup();
            let only_to_host = by_one && groups_of.iter().any(|group| group.ends);
            layers.push(Layer { groups: groups_of, counts: counts_of, only, only_to_host });
            if edges.is_empty() {
                return arrives.then(|| layers.into());
            }
            layer.clear();
            for into in edges.chunk_by(|a, b| a.0 == b.0) {
                let new = group(into[0].0, into.iter().map(|&(_, of)| of).collect());
                let known = groups.iter().position(|known| *known == new);
                let number = known.unwrap_or_else(|| {
                    groups.push(new);
                    counts.push(0);
                    groups.len() - 1
                });
                counts[number] += 1;
                layer.push((into[0].0, number as u32));
            }
            only = !several && layer.len() == 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;
    use stratasim_core::{Bandwidth, Duration};
    use stratasim_topo::graph::LinkType;
    use stratasim_topo::{NodeKind, Topology, TopologyBuilder};

    use super::*;
    use crate::packet::landing::ANY;
    use crate::packet::testing::{machine, network};
    use crate::packet::ways::{Alone, Pick, Stream, Streams, Ways};

    /// The time of a message, by following all ways at once, port by port.
    fn literal(
        ways: &Ways,
        (routes, ports): (&Routes, &[Port]),
        port: u32,
        goal: Goal,
        message: Alone,
        pick: Pick,
    ) -> Option<(u64, u32)> {
        let node = routes.node_of(goal.host);
        let follow = |stream: Stream, from: &Port, to: &Port, only: bool| {
            message.follow(stream, |bytes| ways.step(from, to, bytes), to, only, only)
        };
        // a way around is no shortest way: as many links as there are nodes are never needed
        let most = ports.len() as u32 + 1;
        let first = &ports[port as usize];
        // ports, and streams on them
        let mut layer = vec![(port, message.start(first))];
        let mut streams: FxHashMap<u32, Streams> = FxHashMap::default();
        for links in 1..most {
            let there = layer.iter().map(|&(port, stream)| (&ports[port as usize], stream));
            let there = there.filter(|(port, _)| port.to == node);
            let only = routes.group(goal.host, goal.nic).1.is_some();
            let ends = there.map(|(port, stream)| message.end(stream, port, only));
            if let Some(time) = ends.reduce(|known, new| if pick.prefers(new, known) { new } else { known }) {
                return Some((time, links));
            }
            let mut edges: Vec<(u32, Stream, u32)> = Vec::new();
            for &(from, stream) in &layer {
                let mut reach = |port: u32| edges.push((from, stream, port));
                let at = ports[from as usize].to;
                match goal.toward(routes, at) {
                    Next::Port(port) => reach(port),
                    Next::Set(set) => routes.members(at, set).ports().for_each(reach),
                    Next::Nowhere => {}
                }
            }
            let only = edges.iter().all(|&(.., port)| port == edges[0].2);
            let mut next: Vec<u32> = Vec::new();
            streams.clear();
            for (from, stream, port) in edges {
                let stream = follow(stream, &ports[from as usize], &ports[port as usize], only);
                let on_port = streams.entry(port).or_default();
                if on_port.is_empty() {
                    next.push(port);
                }
                stream.join(on_port, pick);
            }
            if next.is_empty() {
                return None;
            }
            if message.spread && !only && pick == Pick::Fastest {
                let links = next.iter().map(|&port| (&ports[port as usize], 1));
                message.share(links, streams.values_mut().flatten());
            }
            let of_port = |port: u32| streams[&port].iter().map(move |&stream| (port, stream));
            layer = next.into_iter().flat_map(of_port).collect();
        }
        None
    }

    /// The slowest link, port by port.
    fn literal_rate((routes, ports): (&Routes, &[Port]), port: u32, goal: Goal) -> f64 {
        let node = routes.node_of(goal.host);
        let mut slowest = f64::INFINITY;
        let mut layer = vec![port];
        // as above, many more links than a shortest way has
        for _ in 0..ports.len() {
            let mut next = Vec::new();
            for &port in &layer {
                let port = &ports[port as usize];
                slowest = slowest.min(port.kind.rate.bytes_per_s());
                if port.to == node {
                    continue;
                }
                match goal.toward(routes, port.to) {
                    Next::Port(port) => next.push(port),
                    Next::Set(set) => next.extend(routes.members(port.to, set).ports()),
                    Next::Nowhere => {}
                }
            }
            if next.is_empty() {
                break;
            }
            next.sort_unstable();
            next.dedup();
            layer = next;
        }
        slowest
    }

    /// Compares what is remembered with each way followed by itself, and says how many shapes of `[alike, mixed]` ways there are.
    fn compare(topology: &Arc<Topology>, options: &str) -> [usize; 2] {
        let network = network(topology, options, 1).expect("a network");
        let engine = network.parts.any();
        let on = (&engine.routes, &engine.ports[..]);
        let mut ways = Ways::new(on.1, on.0, 64);
        let hosts = engine.routes.hosts() as u32;
        let messages =
            [(1, 64), (1, 4160), (2, 100), (2, 3968), (3, 4160), (17, 999)].map(|(packets, last)| {
                let of = |spread| Alone { packets, full: 4160, last, spread, held_up: false };
                [of(false), of(true), Alone { held_up: true, ..of(false) }]
            });
        for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
            let nics = engine.routes.nics_of(to) as u16;
            for nic in (0..nics).chain([ANY]).filter(|_| from != to) {
                let goal = Goal { host: to, nic };
                for port in engine.routes.choices(engine.routes.node_of(from), to) {
                    for message in messages.as_flattened() {
                        for pick in [Pick::Fastest, Pick::Slowest] {
                            let known = ways.alone(on, port, goal, *message, pick);
                            let literal = literal(&ways, on, port, goal, *message, pick);
                            assert_eq!(
                                known, literal,
                                "{from} to {to} at {nic} by {port}: {message:?} {pick:?}"
                            );
                        }
                    }
                    let slowest = ways.slowest_rate(on, port, goal);
                    assert_eq!(slowest, literal_rate(on, port, goal), "{from} to {to}");
                }
            }
        }
        let is_alike = |shape: &&Shape| shape.iter().all(|layer| layer.groups.len() == 1);
        let alike = ways.shapes.shapes.iter().filter(is_alike).count();
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
