//! Which nodes the ranks of each job run on.
//!
//! A policy deals whole nodes to jobs: a job of `r` ranks gets `ceil(r / ranks_per_node)` of them and fills
//! one after the other. Where nodes are shared, every job is placed as if it had the machine to itself.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Streams;
use stratasim_core::words::counted;
use stratasim_core::{BuildError, registry};

/// The machine that jobs are placed on.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    /// Number of nodes.
    pub count: u32,
    /// Ranks of one job per node.
    pub ranks_per_node: u32,
    /// Whether jobs share nodes (multi-tenant) or not (multi-job).
    pub shared: bool,
    /// The rack of each node; empty where nobody knows.
    pub rack_of: &'a [u32],
}

impl Nodes<'_> {
    /// `count` nodes for one rank each, none of them shared, no racks.
    pub const fn new(count: u32) -> Self {
        Self { count, ranks_per_node: 1, shared: false, rack_of: &[] }
    }
}

/// Deals nodes to jobs.
pub trait JobPlacement: std::fmt::Debug {
    /// The nodes of each job, `wanted` many; no node twice.
    ///
    /// # Errors
    /// Racks that are needed and not known. There are enough nodes.
    fn deal(&self, wanted: &[u32], nodes: &Nodes<'_>, streams: &Streams)
    -> Result<Vec<Vec<u32>>, BuildError>;

    /// The node of each rank of each job, where the policy names them itself.
    fn given(&self) -> Option<&[Vec<u32>]> {
        None
    }
}

registry! {
    /// Every way to place jobs, by its `kind`.
    pub enum JobPlacementSpec: dyn JobPlacement {
        "packed" => Packed(Packed),
        "round-robin" => RoundRobin(RoundRobin),
        "random" => Random(Random),
        "fill-racks" => FillRacks(FillRacks),
        "spread-racks" => SpreadRacks(SpreadRacks),
        "list" => List(List),
    }
}

impl Default for JobPlacementSpec {
    fn default() -> Self {
        Self::Packed(Packed::default())
    }
}

/// The node of each rank of each job, for jobs of `job_sizes` ranks.
///
/// # Errors
/// More ranks than the nodes hold; racks that are needed and not known, or not those of all nodes; a list
/// that does not fit.
pub fn placement(
    policy: &JobPlacementSpec,
    job_sizes: &[u32],
    nodes: &Nodes<'_>,
    streams: &Streams,
) -> Result<Vec<Vec<u32>>, BuildError> {
    if nodes.ranks_per_node == 0 {
        return Err(BuildError::new("ranks-per-node", "a node holds at least one rank of a job, got 0"));
    }
    if !nodes.rack_of.is_empty() && nodes.rack_of.len() != nodes.count as usize {
        let reason = format!("racks of {} nodes, the machine has {}", nodes.rack_of.len(), nodes.count);
        return Err(BuildError::new("racks", reason));
    }
    let plugin = policy.plugin();
    if let Some(lists) = plugin.given() {
        return check_lists(lists, job_sizes, nodes);
    }
    let wanted: Vec<u32> = job_sizes.iter().map(|ranks| ranks.div_ceil(nodes.ranks_per_node)).collect();
    let sum: u64 = wanted.iter().map(|&wanted| u64::from(wanted)).sum();
    let needed = if nodes.shared { wanted.iter().copied().max().unwrap_or(0).into() } else { sum };
    if needed > u64::from(nodes.count) {
        let reason = format!(
            "the jobs need {} with {} of a job on each, the machine has {}",
            counted(needed, "node"),
            counted(nodes.ranks_per_node.into(), "rank"),
            nodes.count
        );
        return Err(BuildError::new("nodes", reason));
    }
    let dealt = if nodes.shared {
        let mut dealt = Vec::with_capacity(wanted.len());
        for (job, &wanted) in (0_u64..).zip(&wanted) {
            // each job draws for itself
            let own = Streams::new(rand::Rng::next_u64(&mut streams.indexed("job", job)));
            dealt.append(&mut plugin.deal(&[wanted], nodes, &own)?);
        }
        dealt
    } else {
        plugin.deal(&wanted, nodes, streams)?
    };
    let per_node = nodes.ranks_per_node as usize;
    let ranks = job_sizes.iter().zip(&dealt).map(|(&ranks, nodes)| {
        nodes.iter().flat_map(|&node| std::iter::repeat_n(node, per_node)).take(ranks as usize).collect()
    });
    Ok(ranks.collect())
}

fn check_lists(
    lists: &[Vec<u32>],
    job_sizes: &[u32],
    nodes: &Nodes<'_>,
) -> Result<Vec<Vec<u32>>, BuildError> {
    if lists.len() != job_sizes.len() {
        let reason = format!("{} lists for {} jobs", lists.len(), job_sizes.len());
        return Err(BuildError::new("nodes", reason));
    }
    let mut job_of: BTreeMap<u32, usize> = BTreeMap::new();
    let at = |job: usize, reason: String| BuildError::new(format!("nodes.{job}"), reason);
    for (job, (list, &ranks)) in lists.iter().zip(job_sizes).enumerate() {
        if list.len() != ranks as usize {
            let reason = format!("{} nodes for the {ranks} ranks of job {job}", list.len());
            return Err(at(job, reason));
        }
        for &node in list {
            if node >= nodes.count {
                let reason = format!("job {job} names node {node}, the machine has {}", nodes.count);
                return Err(at(job, reason));
            }
            let other = *job_of.entry(node).or_insert(job);
            if other != job && !nodes.shared {
                let reason = format!("node {node} is given to jobs {other} and {job}, and is not shared");
                return Err(at(job, reason));
            }
        }
    }
    Ok(lists.to_vec())
}

/// Jobs one after the other, each on consecutive nodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Packed {}

impl JobPlacement for Packed {
    fn deal(&self, wanted: &[u32], _: &Nodes<'_>, _: &Streams) -> Result<Vec<Vec<u32>>, BuildError> {
        let mut next = 0..;
        Ok(wanted.iter().map(|&wanted| next.by_ref().take(wanted as usize).collect()).collect())
    }
}

/// Nodes dealt out to the jobs in turn, until each has what it needs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RoundRobin {}

impl JobPlacement for RoundRobin {
    fn deal(&self, wanted: &[u32], _: &Nodes<'_>, _: &Streams) -> Result<Vec<Vec<u32>>, BuildError> {
        let mut dealt: Vec<Vec<u32>> = wanted.iter().map(|_| Vec::new()).collect();
        let mut next = 0;
        for turn in 0..wanted.iter().copied().max().unwrap_or(0) {
            for (nodes, _) in dealt.iter_mut().zip(wanted).filter(|(_, wanted)| **wanted > turn) {
                nodes.push(next);
                next += 1;
            }
        }
        Ok(dealt)
    }
}

/// Nodes drawn at random.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Random {}

impl JobPlacement for Random {
    fn deal(
        &self,
        wanted: &[u32],
        nodes: &Nodes<'_>,
        streams: &Streams,
    ) -> Result<Vec<Vec<u32>>, BuildError> {
        let mut order: Vec<u32> = (0..nodes.count).collect();
        order.shuffle(&mut streams.stream("job placement"));
        let mut next = order.into_iter();
        Ok(wanted.iter().map(|&wanted| next.by_ref().take(wanted as usize).collect()).collect())
    }
}

/// Each job in as few racks as possible: in the fullest rack that still has room for what is left of it,
/// or else in the emptiest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct FillRacks {}

impl JobPlacement for FillRacks {
    fn deal(&self, wanted: &[u32], nodes: &Nodes<'_>, _: &Streams) -> Result<Vec<Vec<u32>>, BuildError> {
        let mut racks = racks(nodes)?;
        let mut dealt = Vec::with_capacity(wanted.len());
        for &wanted in wanted {
            let mut own = Vec::with_capacity(wanted as usize);
            while own.len() < wanted as usize {
                let left = wanted as usize - own.len();
                let fits = racks.iter_mut().filter(|rack| rack.len() >= left).min_by_key(|rack| rack.len());
                // of equal racks the first
                let rack = match fits {
                    Some(rack) => rack,
                    None => racks.iter_mut().rev().max_by_key(|rack| rack.len()).expect("nodes are left"),
                };
                let take = rack.len().min(left);
                own.extend(rack.drain(..take));
            }
            dealt.push(own);
        }
        Ok(dealt)
    }
}

/// Each job over all racks: its first node in the first rack, its second in the second, and so on; full
/// racks are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SpreadRacks {}

impl JobPlacement for SpreadRacks {
    fn deal(&self, wanted: &[u32], nodes: &Nodes<'_>, _: &Streams) -> Result<Vec<Vec<u32>>, BuildError> {
        let mut racks: Vec<_> = racks(nodes)?.into_iter().map(Vec::into_iter).collect();
        let mut dealt = Vec::with_capacity(wanted.len());
        for &wanted in wanted {
            let mut own = Vec::with_capacity(wanted as usize);
            while own.len() < wanted as usize {
                let left = wanted as usize - own.len();
                own.extend(racks.iter_mut().filter_map(Iterator::next).take(left));
            }
            dealt.push(own);
        }
        Ok(dealt)
    }
}

/// The nodes of each rack, ascending.
fn racks(nodes: &Nodes<'_>) -> Result<Vec<Vec<u32>>, BuildError> {
    if nodes.rack_of.is_empty() && nodes.count > 0 {
        return Err(BuildError::new("", "this placement needs to know the racks of the nodes"));
    }
    let mut racks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (node, rack) in (0..).zip(nodes.rack_of) {
        racks.entry(*rack).or_default().push(node);
    }
    Ok(racks.into_values().collect())
}

/// Nodes by their numbers: the compute nodes of the topology count from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct List {
    /// For each job, the node of each of its ranks. A node may stand several times.
    pub nodes: Vec<Vec<u32>>,
}

impl JobPlacement for List {
    fn deal(&self, _: &[u32], _: &Nodes<'_>, _: &Streams) -> Result<Vec<Vec<u32>>, BuildError> {
        Ok(self.nodes.clone())
    }

    fn given(&self) -> Option<&[Vec<u32>]> {
        Some(&self.nodes)
    }
}
