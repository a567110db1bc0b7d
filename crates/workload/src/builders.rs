//! Builders: what writes a program from a spec. One per file, one line in the list.

pub mod collective;
pub mod goal;
pub mod graph;
pub mod traffic;

use std::path::{Path, PathBuf};

use stratasim_core::random::Streams;
use stratasim_core::{BuildError, NodeId, registry};

use crate::goal::Schedule;
use crate::pattern::Layout;
use crate::program::Program;

/// What a builder may know about the machine.
pub struct WorkloadContext<'a> {
    /// Folder that relative paths start from.
    pub base: PathBuf,
    /// Random streams of the run.
    pub streams: Streams,
    /// Ranks that are placed on the machine.
    pub ranks: u32,
    /// Local memory of the node of rank 0..ranks that has least, in bytes; `None` is unbounded.
    pub local_memory_bytes: Option<u64>,
    /// Sizes of the topology's dimensions, innermost first, for hierarchical collectives.
    pub dimensions: Vec<u32>,
    /// How the ranks lie to each other, for patterns.
    pub layout: Layout,
    /// The node called by a name, for programs that name nodes.
    pub find_node: &'a dyn Fn(&str) -> Option<NodeId>,
    /// The rank placed on a node.
    pub rank_of: &'a dyn Fn(NodeId) -> Option<u32>,
}

/// Writes a program.
pub trait WorkloadGenerator {
    /// Builds the program for the context's ranks.
    ///
    /// # Errors
    /// Parameters that make no program.
    fn build(&self, context: &WorkloadContext<'_>) -> Result<Program, BuildError>;

    /// The schedule, of workloads that are one instead of a program; relative paths start from `base`.
    ///
    /// # Errors
    /// A file that cannot be read, parameters that make no schedule.
    fn schedule(&self, base: &Path, streams: Streams) -> Result<Option<Schedule>, BuildError> {
        let _ = (base, streams);
        Ok(None)
    }

    /// Whether it counts on messages of a pair of ranks going one after the other, as its pipelines do.
    fn in_order(&self) -> bool {
        false
    }

    /// Ranks that the program needs, when it is not simply one per compute node.
    fn ranks(&self) -> Option<u32> {
        None
    }
}

registry! {
    /// Every workload, by its `kind`.
    pub enum WorkloadSpec: dyn WorkloadGenerator {
        "collective" | "all-reduce" => Collective(collective::CollectiveWorkload),
        "goal" => Goal(goal::GoalWorkload),
        "graph" => Graph(graph::GraphWorkload),
        "traffic" => Traffic(traffic::TrafficWorkload),
        "transformer" | "llm" => Transformer(crate::training::transformer::TransformerWorkload),
    }
}
