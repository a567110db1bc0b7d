//! Placements: which rank runs on which compute node.

use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Streams;
use stratasim_core::{BuildError, NodeId, registry};
use stratasim_topo::graph::NO_GROUP;
use stratasim_topo::{NodeKind, Topology};

/// Places ranks on compute nodes.
pub trait Placement {
    /// The node of each rank. `wanted` is the number of ranks that the workload asks for; `None`
    /// leaves it to the placement, which then uses every compute node.
    ///
    /// # Errors
    /// More ranks than nodes, unknown nodes, nodes that do not compute.
    fn place(
        &self,
        topology: &Topology,
        streams: &Streams,
        wanted: Option<u32>,
    ) -> Result<Vec<NodeId>, BuildError>;
}

registry! {
    /// Every placement, by its `kind`.
    pub enum PlacementSpec: dyn Placement {
        "linear" | "block" => Linear(Linear),
        "random" => Random(Random),
        "spread" | "round-robin" | "cyclic" => Spread(Spread),
        "list" => List(List),
    }
}

impl Default for PlacementSpec {
    fn default() -> Self {
        Self::Linear(Linear::default())
    }
}

/// Rank r on the r-th compute node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Linear {
    /// Number of ranks; as many as the workload asks for, or as compute nodes, when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
}

impl Placement for Linear {
    fn place(
        &self,
        topology: &Topology,
        _: &Streams,
        wanted: Option<u32>,
    ) -> Result<Vec<NodeId>, BuildError> {
        let count = count(topology, self.ranks, wanted)?;
        Ok(topology.compute_nodes()[..count].to_vec())
    }
}

/// Ranks on compute nodes drawn at random, one rank per node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Random {
    /// Number of ranks; as many as the workload asks for, or as compute nodes, when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
}

impl Placement for Random {
    fn place(
        &self,
        topology: &Topology,
        streams: &Streams,
        wanted: Option<u32>,
    ) -> Result<Vec<NodeId>, BuildError> {
        let count = count(topology, self.ranks, wanted)?;
        let mut nodes = topology.compute_nodes().to_vec();
        nodes.shuffle(&mut streams.stream("placement"));
        nodes.truncate(count);
        Ok(nodes)
    }
}

/// Ranks dealt out over groups: the first to the first rack, the second to the second, and so on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spread {
    /// Grouping of the topology to spread over, such as `rack` or `server`.
    pub over: String,
    /// Number of ranks; as many as the workload asks for, or as compute nodes, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
}

impl Placement for Spread {
    fn place(
        &self,
        topology: &Topology,
        _: &Streams,
        wanted: Option<u32>,
    ) -> Result<Vec<NodeId>, BuildError> {
        let count = count(topology, self.ranks, wanted)?;
        let Some(groups) = topology.grouping(&self.over) else {
            let known: Vec<_> = topology.groupings().collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(BuildError::new(
                "over",
                format!("this topology has no grouping `{}` (it has: {known})", self.over),
            ));
        };
        // (how many of the group came before, group, node): sorting deals them out
        let mut before = std::collections::BTreeMap::new();
        let mut dealt: Vec<(u32, u32, NodeId)> = topology
            .compute_nodes()
            .iter()
            .map(|&node| {
                let group = groups.get(node.index()).copied().unwrap_or(NO_GROUP);
                let place: &mut u32 = before.entry(group).or_default();
                *place += 1;
                (*place, group, node)
            })
            .collect();
        dealt.sort_unstable();
        Ok(dealt.into_iter().take(count).map(|(_, _, node)| node).collect())
    }
}

/// Rank r on the r-th node of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct List {
    /// Names of compute nodes, one per rank. A node may carry several ranks.
    pub nodes: Vec<String>,
}

impl Placement for List {
    fn place(
        &self,
        topology: &Topology,
        _: &Streams,
        wanted: Option<u32>,
    ) -> Result<Vec<NodeId>, BuildError> {
        if self.nodes.is_empty() {
            return Err(BuildError::new("nodes", "the list is empty; give it at least one node"));
        }
        if let Some(wanted) = wanted
            && wanted as usize != self.nodes.len()
        {
            let found = self.nodes.len();
            return Err(BuildError::new(
                "nodes",
                format!("the workload has {wanted} ranks, the list {found} nodes"),
            ));
        }
        let place = |(rank, name): (usize, &String)| {
            let field = format!("nodes.{rank}");
            let Some(node) = topology.find_node(name) else {
                return Err(BuildError::new(field, format!("the topology has no node `{name}`")));
            };
            match topology.kind(node) {
                NodeKind::Compute(_) => Ok(node),
                kind => {
                    let kind = if kind == NodeKind::Switch { "switch" } else { "memory" };
                    let reason = format!(
                        "rank {rank} is placed on `{name}`, which is a {kind}; ranks run on compute nodes"
                    );
                    Err(BuildError::new(field, reason))
                }
            }
        };
        self.nodes.iter().enumerate().map(place).collect()
    }
}

/// How many ranks to place.
fn count(topology: &Topology, ranks: Option<u32>, wanted: Option<u32>) -> Result<usize, BuildError> {
    let nodes = topology.compute_nodes().len();
    if let (Some(ranks), Some(wanted)) = (ranks, wanted)
        && ranks != wanted
    {
        return Err(BuildError::new(
            "ranks",
            format!("the workload has {wanted} ranks, the placement {ranks}"),
        ));
    }
    let count = ranks.or(wanted).map_or(nodes, |count| count as usize);
    match count {
        0 if nodes > 0 => Err(BuildError::new("ranks", "at least one rank is needed, got 0")),
        0 => Err(BuildError::new("ranks", "no rank to place: the topology has no compute node")),
        count if count > nodes => Err(BuildError::new(
            "ranks",
            format!("{count} ranks need as many compute nodes, the topology has {nodes}"),
        )),
        count => Ok(count),
    }
}
