//! Networks from a file, with shortest ways by latency.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use stratasim_core::BuildError;

use super::super::fabric::{Channel, End, Fabric};
use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use super::{MOST_NODES, check_ports, entry};

/// Most routers: ways are known from each of them to each.
const MOST_ROUTERS: usize = 1 << 12;

/// A network that a file describes: lines such as `router 0 node 0 node 1 router 1 15`.
///
/// A line names a router (or a node) and what is joined to it; a number behind a router is the latency of
/// the channel *to* it, in cycles, where the way back keeps its own. Ports of a router: its nodes
/// ascending, then the routers that it is joined to, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnyNet {
    /// Nodes of each router, ascending.
    nodes: Vec<Vec<u32>>,
    /// Cycles to each neighbour, by router.
    links: Vec<BTreeMap<u32, u32>>,
    /// The router of each node.
    router: Vec<u32>,
}

/// What stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Node,
    Router,
}

/// What a file says so far, as the simulator remembers it.
#[derive(Debug, Default)]
struct Draft {
    nodes: BTreeMap<u32, u32>,
    routers: BTreeMap<u32, BTreeMap<u32, u32>>,
}

impl AnyNet {
    /// Reads a file's text.
    ///
    /// # Errors
    /// The line, what was found there and what was expected; nodes or routers that are not numbered from 0
    /// without a gap; what is not connected.
    pub fn read(text: &str) -> Result<Self, BuildError> {
        let mut draft = Draft::default();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.trim_end().split(' ').filter(|word| !word.is_empty()).collect();
            if !words.is_empty() {
                draft.line(&words).map_err(|reason| wrong(format!("line {}: {reason}", index + 1)))?;
            }
        }
        draft.finish()
    }

    /// Terminals.
    pub fn node_count(&self) -> u32 {
        self.router.len() as u32
    }

    /// The routers and channels.
    pub fn fabric(&self) -> Fabric {
        let ports = |router: usize| (self.nodes[router].len() + self.links[router].len()) as u16;
        let mut fabric = Fabric::new((0..self.links.len()).map(|it| (ports(it), ports(it))).collect());
        let edge = Channel::default();
        for &router in &self.router {
            let port = (fabric.terminals().len() as u32, router as usize);
            let port = self.nodes[port.1].partition_point(|&node| node < port.0) as u16;
            fabric.attach(router, (port, port), edge, edge, None);
        }
        // inputs are in the order in which routers upstream are wired
        let mut inputs: Vec<u16> = self.nodes.iter().map(|nodes| nodes.len() as u16).collect();
        for (router, links) in self.links.iter().enumerate() {
            for (place, (&to, &latency)) in links.iter().enumerate() {
                let end = End::Router { router: to, port: inputs[to as usize] };
                inputs[to as usize] += 1;
                let output = (self.nodes[router].len() + place) as u16;
                let channel = Channel { end, latency, credit_latency: latency, ..Channel::default() };
                fabric.connect((router as u32, output), channel);
            }
        }
        fabric
    }

    /// The first hop from `start` to each router as an output, on the way of least latency (Dijkstra 1959).
    /// Of ways that are as short, the one stands that was found first, routers settled in the order of
    /// distance and then of number. `None` where there is no way.
    fn ways_from(&self, start: u32) -> Vec<Option<u16>> {
        let count = self.links.len();
        let mut distance = vec![u64::MAX; count];
        let mut way: Vec<Option<u16>> = vec![None; count];
        let mut settled = vec![false; count];
        let mut queue = BinaryHeap::from([Reverse((0, start))]);
        distance[start as usize] = 0;
        while let Some(Reverse((here, router))) = queue.pop() {
            if std::mem::replace(&mut settled[router as usize], true) {
                continue;
            }
            for (place, (&to, &latency)) in self.links[router as usize].iter().enumerate() {
                let there = here + u64::from(latency);
                if there < distance[to as usize] {
                    distance[to as usize] = there;
                    let first = (self.nodes[start as usize].len() + place) as u16;
                    way[to as usize] = if router == start { Some(first) } else { way[router as usize] };
                    queue.push(Reverse((there, to)));
                }
            }
        }
        way
    }
}

impl Draft {
    fn line(&mut self, words: &[&str]) -> Result<(), String> {
        let (head_kind, head) = item(words.get(..2).ok_or("expected `router N` or `node N` first")?)?;
        // the simulator makes a router of the number, also where a node stands first
        self.routers.entry(head).or_default();
        let mut rest = &words[2..];
        while !rest.is_empty() {
            let (kind, body) = item(rest.get(..2).ok_or("expected a number behind the last word")?)?;
            rest = &rest[2..];
            if kind == Kind::Router {
                self.routers.entry(body).or_default();
            }
            match (head_kind, kind) {
                (Kind::Node, Kind::Node) => return Err(format!("node {head} is joined to node {body}")),
                (Kind::Node, Kind::Router) => self.place(head, body)?,
                (Kind::Router, Kind::Node) => self.place(body, head)?,
                (Kind::Router, Kind::Router) => {
                    self.routers.entry(head).or_default().insert(body, 1);
                    self.routers.entry(body).or_default().entry(head).or_insert(1);
                }
            }
            let Some(latency) = rest.first().filter(|word| kind_of(word).is_none()) else { continue };
            rest = &rest[1..];
            let latency = latency
                .parse::<u32>()
                .ok()
                .filter(|cycles| (1..=1 << 16).contains(cycles))
                .ok_or_else(|| format!("found `{latency}`, expected a latency of 1 to 2^16 cycles"))?;
            if head_kind == Kind::Node {
                return Err(format!(
                    "the latency behind `router {body}`: BookSim2 takes it for a second place of node {body}"
                ));
            }
            // behind a node too: the simulator gives it to the channel to the router of that number
            self.routers.entry(head).or_default().insert(body, latency);
        }
        Ok(())
    }

    fn place(&mut self, node: u32, router: u32) -> Result<(), String> {
        match self.nodes.insert(node, router) {
            Some(other) if other != router => {
                Err(format!("node {node} is at router {other} and at router {router}"))
            }
            _ => Ok(()),
        }
    }

    fn finish(self) -> Result<AnyNet, BuildError> {
        let gap = |what, mut numbers: Vec<u32>| {
            numbers.sort_unstable();
            match numbers.iter().zip(0u32..).find(|&(&number, index)| number != index) {
                Some((_, index)) => Err(wrong(format!("there is no {what} {index}: {what}s count from 0"))),
                None => Ok(()),
            }
        };
        if self.nodes.is_empty() {
            return Err(wrong("there is no node in it".to_owned()));
        }
        gap("node", self.nodes.keys().copied().collect())?;
        gap("router", self.routers.keys().copied().collect())?;
        if self.routers.len() > MOST_ROUTERS {
            let reason = format!("{} routers; at most {MOST_ROUTERS} are possible", self.routers.len());
            return Err(wrong(reason));
        }
        for (&router, links) in &self.routers {
            for &to in links.keys() {
                if !self.routers.get(&to).is_some_and(|back| back.contains_key(&router)) {
                    return Err(wrong(format!(
                        "a latency stands behind `node {to}` of router {router}: BookSim2 gives it to the channel \
                         from router {router} to router {to}, and the two are not joined"
                    )));
                }
            }
        }
        let router: Vec<u32> = self.nodes.values().copied().collect();
        let mut nodes = vec![Vec::new(); self.routers.len()];
        for (&node, &router) in &self.nodes {
            nodes[router as usize].push(node);
        }
        let net = AnyNet { nodes, links: self.routers.into_values().collect(), router };
        let most = net.nodes.iter().zip(&net.links).map(|(nodes, links)| nodes.len() + links.len()).max();
        let most = most.unwrap_or(0);
        if most > usize::from(u16::MAX) {
            return Err(wrong("a router has more than 65,535 ports".to_owned()));
        }
        check_ports("network_file", net.links.len() as u64, most as u64)?;
        let ways = net.ways_from(0);
        if let Some(far) = (1..ways.len()).find(|&router| ways[router].is_none()) {
            return Err(wrong(format!("router {far} is not connected with router 0")));
        }
        Ok(net)
    }
}

fn wrong(reason: String) -> BuildError {
    BuildError::new("network_file", reason)
}

fn kind_of(word: &str) -> Option<Kind> {
    match word {
        "router" => Some(Kind::Router),
        "node" => Some(Kind::Node),
        _ => None,
    }
}

/// `router 3` or `node 3`.
fn item(words: &[&str]) -> Result<(Kind, u32), String> {
    let kind =
        kind_of(words[0]).ok_or_else(|| format!("found `{}`, expected `router` or `node`", words[0]))?;
    match words[1].parse::<u32>() {
        Ok(number) if u64::from(number) < MOST_NODES => Ok((kind, number)),
        _ => Err(format!("found `{}`, expected a number below {MOST_NODES}", words[1])),
    }
}

/// `min`: the way of least latency, fixed for each pair; all virtual channels, so that rings can deadlock.
#[derive(Debug, Clone)]
pub struct AnyNetRouting {
    net: AnyNet,
    /// First output by router and destination's router; that of a router to itself is not used.
    ways: Vec<u16>,
}

impl AnyNetRouting {
    /// The ways of a network.
    pub fn new(net: AnyNet) -> Self {
        let all = (0..net.links.len() as u32).flat_map(|start| net.ways_from(start));
        let ways = all.map(Option::unwrap_or_default).collect();
        Self { net, ways }
    }
}

impl FlitRouting for AnyNetRouting {
    fn only(&self, place: Place, head: &mut Head, _: &mut dyn Surroundings) -> Candidate {
        let to = self.net.router[head.dest as usize];
        let output = if to == place.router {
            self.net.nodes[to as usize].partition_point(|&node| node < head.dest) as u16
        } else {
            self.ways[place.router as usize * self.net.links.len() + to as usize]
        };
        entry(output, head.range)
    }

    fn draws(&self) -> bool {
        false
    }

    fn memory_bits(&self) -> u32 {
        0
    }

    fn knows_source(&self) -> bool {
        false
    }
}
