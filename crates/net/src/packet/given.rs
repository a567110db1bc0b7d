//! Ways that connections take because `[routing]` says so, port by port.
//!
//! They are found once for each pair of hosts, or for each flow where flows of a pair differ, and each way is kept once. Packets
//! know their connection, and a switch looks up in its way by which port it leaves. Such a way is never left: what
//! meets a dead link on it is lost.

use rustc_hash::FxHashMap;
use stratasim_core::{Duration, NodeId};
use stratasim_topo::{Chosen, Routing, Topology};

use super::routes::{Next, Routes};

/// Where a way begins and ends among the steps of all ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Way {
    begin: u32,
    end: u32,
}

/// All ways that are taken: by which port they leave each of their nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct GivenWays {
    /// Node and port.
    steps: Vec<(u32, u32)>,
}

impl GivenWays {
    /// Adds a way of these steps.
    pub(super) fn add(&mut self, steps: &[(u32, u32)]) -> Way {
        let begin = self.steps.len() as u32;
        self.steps.extend_from_slice(steps);
        Way { begin, end: self.steps.len() as u32 }
    }

    /// Steps of a way, in order.
    pub(super) fn steps(&self, way: Way) -> &[(u32, u32)] {
        &self.steps[way.begin as usize..way.end as usize]
    }

    /// The ports of a way, in order.
    pub(super) fn ports(&self, way: Way) -> impl Iterator<Item = u32> {
        self.steps(way).iter().map(|&(_, port)| port)
    }

    /// The first port of a way.
    pub(super) fn first(&self, way: Way) -> u32 {
        self.steps[way.begin as usize].1
    }

    /// How a way goes on from a node.
    pub(super) fn toward(&self, way: Way, node: u32) -> Next {
        let step = self.steps(way).iter().find(|step| step.0 == node);
        step.map_or(Next::Nowhere, |&(_, port)| Next::Port(port))
    }
}

/// A way that was found.
pub(super) enum Found {
    /// One that is known.
    Known(Way),
    /// One of these steps, which [`Guide::keep`] takes.
    Steps(Vec<(u32, u32)>),
}

/// Finds ways by a routing.
pub(super) struct Guide {
    routing: Box<dyn Routing>,
    /// Pairs that the user did not ask for follow it, too.
    follows_all: bool,
    follows_some: bool,
    /// Ways that have been taken, by their steps.
    known: FxHashMap<Box<[(u32, u32)]>, Way>,
    /// The ways that messages of two hosts have taken; one where flows do not differ.
    of_pair: FxHashMap<(u32, u32), Vec<Way>>,
}

impl Guide {
    /// Follows `routing` for the pairs that it was asked for, or for all.
    pub(super) fn new(routing: Box<dyn Routing>, follows_all: bool) -> Self {
        Self {
            follows_some: follows_all || routing.chosen() != Chosen::NoPair,
            routing,
            follows_all,
            known: FxHashMap::default(),
            of_pair: FxHashMap::default(),
        }
    }

    /// Whether any pair has ways that are given.
    pub(super) const fn is_needed(&self) -> bool {
        self.follows_some
    }

    /// Ways that messages from one host to another have taken so far.
    pub(super) fn taken(&self, from: u32, to: u32) -> &[Way] {
        self.of_pair.get(&(from, to)).map_or(&[], |ways| ways)
    }

    /// The way of flow `key` from one host to another; none where the pair has none of its own.
    ///
    /// # Errors
    /// No way, or one that packets cannot take.
    pub(super) fn find(
        &mut self,
        (topology, routes): (&Topology, &Routes),
        (from, to): (u32, u32),
        key: u64,
    ) -> Result<Option<Found>, String> {
        let [src, dst] = [from, to].map(|host| NodeId(routes.node_of(host)));
        if !(self.follows_all || self.routing.chooses(src, dst)) {
            return Ok(None);
        }
        if !self.routing.per_flow()
            && let [way] = self.taken(from, to)
        {
            return Ok(Some(Found::Known(*way)));
        }
        let mut links = Vec::new();
        let extra = self.routing.route(src, dst, key, &mut links).map_err(|error| error.to_string())?;
        let refuse = |reason: String| {
            let [src, dst] = [src, dst].map(|node| topology.node_name(node));
            Err(format!("the route from {src} to {dst} {reason}"))
        };
        if extra != Duration::ZERO {
            return refuse(format!(
                "has {extra} of latency that belongs to no link, which no packet can wait for"
            ));
        }
        let mut at = src.0;
        let mut steps: Vec<(u32, u32)> = Vec::with_capacity(links.len());
        for link in links {
            let port = routes.ports_of(at).find(|&port| routes.wires()[port as usize].link == link);
            let Some(port) = port else {
                let (link, node) = (topology.link_name(link), topology.node_name(NodeId(at)));
                return refuse(format!("goes on from {node} by link {link}, which does not begin there"));
            };
            if steps.iter().any(|step| step.0 == at) {
                return refuse(format!("comes to {} twice", topology.node_name(NodeId(at))));
            }
            steps.push((at, port));
            at = routes.wires()[port as usize].to;
        }
        if at != dst.0 {
            return refuse(format!("ends at {}", topology.node_name(NodeId(at))));
        }
        Ok(Some(Found::Steps(steps)))
    }

    /// Keeps a way that was found between two hosts; one that no other pair has taken is put where it belongs by `add`.
    pub(super) fn keep(
        &mut self,
        pair: (u32, u32),
        found: Found,
        add: impl FnOnce(&[(u32, u32)]) -> Way,
    ) -> Way {
        let steps = match found {
            Found::Known(way) => return way,
            Found::Steps(steps) => steps,
        };
        let way = match self.known.get(&steps[..]) {
            Some(&known) => known,
            None => {
                let way = add(&steps);
                self.known.insert(steps.into(), way);
                way
            }
        };
        let taken = self.of_pair.entry(pair).or_default();
        if !taken.contains(&way) {
            taken.push(way);
        }
        way
    }
}
