//! A topology with parts removed.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Streams;
use stratasim_core::{BuildError, Duration, LinkId, NodeId};

use super::inline_graph::NodeRole;
use super::{BuildContext, Generator, TopologySpec, select};
use crate::graph::{Renumbered, Topology};
use crate::routing::RouteError;
use crate::structure::{RouteRule, Structure};

/// Another topology without some of its links and nodes: failed, or never bought.
///
/// ```toml
/// [topology]
/// kind = "without"
/// nodes = ["core-3"]
/// fraction-of-links = 0.02
/// seed = 7
/// of = { kind = "fat-tree", k = 16, bandwidth = "100 Gbps", latency = "1 us" }
/// ```
/// Parts are given by name or drawn by seed, as many as a fraction says, rounded; a drawn cable goes
/// with both directions, a node with all its links. What stays is numbered anew in the same order. Ways
/// of the topology's rule of routing that are whole stay as they are; the others take one of least latency, which a
/// hash of both ends chooses, unless the run says otherwise (`topology show` calls that `remaining-ways`). Parts that nothing
/// joins any more are only missed when something is sent there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Without {
    /// The topology.
    pub of: Box<TopologySpec>,
    /// Names of links; `*` stands for any text, `?` for one character.
    #[serde(default)]
    pub links: Vec<String>,
    /// Names of nodes, with the same signs.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// Part of all cables, from 0 to 1.
    #[serde(default)]
    pub fraction_of_links: f64,
    /// Part of all switches, from 0 to 1.
    #[serde(default)]
    pub fraction_of_switches: f64,
    /// Part of all compute nodes, from 0 to 1.
    #[serde(default)]
    pub fraction_of_compute_nodes: f64,
    /// Seed of the draw; the seed of the run when absent.
    #[serde(default)]
    pub seed: Option<u64>,
}

impl Generator for Without {
    fn of(&self) -> Option<&TopologySpec> {
        Some(&self.of)
    }

    fn build(&self, context: &BuildContext) -> Result<Topology, BuildError> {
        let depth = select::depth(self)? as u64;
        let topology = select::inner(&self.of, context)?;
        if topology.links().iter().any(|link| link.ends.is_none()) {
            let what = "some links of this topology have no ends, only routes that its file gives; \
                        without those routes nothing could be found";
            return Err(BuildError::new("of", what));
        }
        let mut no_links = select::links_by_name(&topology, "links", &self.links)?;
        let mut no_nodes = select::nodes_by_name(&topology, "nodes", &self.nodes)?;

        let streams = self.seed.map_or(context.streams, Streams::new);
        let mut random = streams.indexed("topology.without.links", depth);
        let cables = select::cables(&topology);
        for link in select::sample("fraction-of-links", &cables, self.fraction_of_links, &mut random)? {
            no_links[link.index()] = true;
            if let Some(reverse) = topology.link(link).reverse {
                no_links[reverse.index()] = true;
            }
        }
        for (field, stream, role, fraction) in [
            ("fraction-of-switches", "switches", NodeRole::Switch, self.fraction_of_switches),
            ("fraction-of-compute-nodes", "compute", NodeRole::Compute, self.fraction_of_compute_nodes),
        ] {
            let mut random = streams.indexed(&format!("topology.without.{stream}"), depth);
            let nodes: Vec<NodeId> = (0..topology.node_count())
                .map(NodeId::from_index)
                .filter(|&node| select::role(topology.kind(node)) == role)
                .collect();
            for node in select::sample(field, &nodes, fraction, &mut random)? {
                no_nodes[node.index()] = true;
            }
        }

        let stays = |removed: Vec<bool>| removed.into_iter().map(|removed| !removed).collect::<Vec<bool>>();
        let (nodes, links) = (stays(no_nodes), stays(no_links));
        if !topology.compute_nodes().iter().any(|node| nodes[node.index()]) {
            return Err(BuildError::new("nodes", "no compute node is left"));
        }
        let ruled = match topology.structure() {
            Structure::Ruled(rule) => Some((rule.clone(), topology.clone())),
            Structure::Irregular => None,
        };
        let mut builder = topology.into_builder();
        if let Some(Renumbered { nodes, links }) = builder.retain(&nodes, &links)
            && let Some((rule, whole)) = ruled
        {
            let stayed = (0..whole.node_count()).filter(|&node| nodes[node].is_some());
            let before = stayed.map(NodeId::from_index).collect();
            builder.set_structure(Structure::Ruled(Arc::new(Remaining { whole, rule, before, links })));
        }
        builder.build()
    }
}

/// The ways of a rule that are whole after parts have gone.
#[derive(Debug)]
struct Remaining {
    whole: Topology,
    rule: Arc<dyn RouteRule>,
    /// Ids in the whole, by node,
    before: Vec<NodeId>,
    /// and present ones by link of the whole.
    links: Vec<Option<LinkId>>,
}

impl Remaining {
    /// Appends the links of the way that the rule gives, and whether all are there; the latency that no link accounts for.
    fn way(&self, ends: [NodeId; 2], key: u64, out: &mut Vec<LinkId>) -> Option<Duration> {
        let [src, dst] = ends.map(|node| self.before.get(node.index()).copied());
        let (src, dst) = (src?, dst?);
        if !self.rule.covers(src, dst) {
            return None;
        }
        let start = out.len();
        let extra = self.rule.route(&self.whole, src, dst, key, out).ok()?;
        for link in &mut out[start..] {
            *link = self.links[link.index()]?;
        }
        Some(extra)
    }
}

impl RouteRule for Remaining {
    fn name(&self) -> &'static str {
        "remaining-ways"
    }

    fn is_given(&self) -> bool {
        self.rule.is_given()
    }

    fn routes_to_self(&self) -> bool {
        self.rule.routes_to_self()
    }

    fn covers(&self, src: NodeId, dst: NodeId) -> bool {
        // no rule chooses by key
        self.way([src, dst], 0, &mut Vec::new()).is_some()
    }

    fn route(
        &self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        let start = out.len();
        self.way([src, dst], key, out).ok_or_else(|| {
            out.truncate(start);
            RouteError::new(topology, src, dst, "parts of the way are gone")
        })
    }
}
