//! A topology with other compute nodes in some places.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, KernelCosts, NodeId};

use super::{BuildContext, Generator, TopologySpec, select};
use crate::catalogue::ComputeChoice;
use crate::graph::{ComputeType, NodeKind, Topology};

/// Another topology with the type of some of its compute nodes replaced.
///
/// ```toml
/// [topology]
/// kind = "with-compute"
/// compute = "A100"
/// grouping = "rack"
/// groups = [1]
/// of = { kind = "hcsim-cxl", xpus = 256, compute = "H100" }
/// ```
/// The nodes are those of some groups (`rack`, `server`, `pod`, ...) or are given by name. Links and
/// routes stay as they are; so do the memory and the fixed costs of core groups of [cards](#cards).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WithCompute {
    /// The topology.
    pub of: Box<TopologySpec>,
    /// The new type: a name of the catalogue or a table of properties.
    pub compute: ComputeChoice,
    /// The grouping that `groups` are of, such as `rack`.
    #[serde(default)]
    pub grouping: Option<String>,
    /// Numbers of the groups, from 0.
    #[serde(default)]
    pub groups: Vec<u32>,
    /// Names of compute nodes; `*` stands for any text, `?` for one character.
    #[serde(default)]
    pub nodes: Vec<String>,
}

impl Generator for WithCompute {
    fn of(&self) -> Option<&TopologySpec> {
        Some(&self.of)
    }

    fn build(&self, context: &BuildContext) -> Result<Topology, BuildError> {
        select::depth(self)?;
        let compute = self.compute.resolve().map_err(|e| e.within("compute"))?;
        let topology = select::inner(&self.of, context)?;
        let mut chosen = select::nodes_by_name(&topology, "nodes", &self.nodes)?;
        match (&self.grouping, self.groups.is_empty()) {
            (Some(grouping), false) => self.choose_groups(&topology, grouping, &mut chosen)?,
            (Some(_), true) => {
                return Err(BuildError::new("groups", "say which groups, such as `groups = [1]`"));
            }
            (None, false) => {
                return Err(BuildError::new(
                    "grouping",
                    "say what the groups are, such as `grouping = \"rack\"`",
                ));
            }
            (None, true) if self.nodes.is_empty() => {
                return Err(BuildError::new(
                    "nodes",
                    "say which nodes: by `nodes` or by `grouping` and `groups`",
                ));
            }
            (None, true) => {}
        }
        let chosen: Vec<NodeId> =
            topology.compute_nodes().iter().copied().filter(|node| chosen[node.index()]).collect();
        if chosen.is_empty() {
            return Err(BuildError::new("", "none of the chosen nodes computes"));
        }
        // what nodes of one kind become is worked out once
        let kinds: Vec<NodeKind> = chosen.iter().map(|&node| topology.kind(node)).collect();
        let mut became: Vec<(NodeKind, ComputeType)> = Vec::new();
        for (&node, &kind) in chosen.iter().zip(&kinds) {
            if became.iter().all(|(known, _)| *known != kind) {
                became.push((kind, replaced(&topology, node, &compute)));
            }
        }
        let mut builder = topology.into_builder();
        for (old, compute) in became {
            let new = NodeKind::Compute(builder.compute_type(compute));
            let of_kind = chosen.iter().zip(&kinds).filter(|(_, kind)| **kind == old);
            of_kind.for_each(|(&node, _)| builder.set_kind(node, new));
        }
        builder.build()
    }
}

/// What `node` is with the rates of `compute`: the whole type but whether it forwards, or, for a core group of a card, whose memory and costs stay the
/// card's, the rates alone.
fn replaced(topology: &Topology, node: NodeId, compute: &ComputeType) -> ComputeType {
    match topology.compute_type(node) {
        Some(group) if group.kernels != KernelCosts::default() => group.with_rates(compute),
        Some(old) => ComputeType { forwards: old.forwards, ..compute.clone() },
        None => compute.clone(),
    }
}

impl WithCompute {
    fn choose_groups(
        &self,
        topology: &Topology,
        grouping: &str,
        chosen: &mut [bool],
    ) -> Result<(), BuildError> {
        let Some(column) = topology.grouping(grouping) else {
            let known: Vec<&str> = topology.groupings().collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let what = format!("this topology has no grouping `{grouping}` (it has: {known})");
            return Err(BuildError::new("grouping", what));
        };
        for (index, group) in self.groups.iter().enumerate() {
            let mut found = false;
            for (chosen, _) in chosen.iter_mut().zip(column).filter(|&(_, of)| of == group) {
                *chosen = true;
                found = true;
            }
            if !found {
                return Err(BuildError::new(
                    format!("groups.{index}"),
                    format!("there is no {grouping} {group}"),
                ));
            }
        }
        Ok(())
    }
}
