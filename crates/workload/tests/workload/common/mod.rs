//! What the tests of builders share.
pub(crate) mod goal_text;
pub(crate) mod schedules;

use std::path::PathBuf;

use stratasim_core::random::Streams;
use stratasim_core::{BuildError, NodeId};
use stratasim_workload::pattern::{Layout, Shape};
use stratasim_workload::{Program, WorkloadContext, WorkloadSpec};

/// A machine of `ranks` compute nodes `xpu-0`, `xpu-1`, ... that hold rank 0, 1, ..., followed by as
/// many memory nodes `mem-0`, ... and a switch `switch`.
pub(crate) struct Machine {
    pub(crate) ranks: u32,
    pub(crate) local_memory_bytes: Option<u64>,
    pub(crate) dimensions: Vec<u32>,
    pub(crate) shape: Shape,
    pub(crate) seed: u64,
    pub(crate) base: PathBuf,
}

impl Machine {
    pub(crate) fn new(ranks: u32) -> Self {
        Self {
            ranks,
            local_memory_bytes: None,
            dimensions: Vec::new(),
            shape: Shape::Unknown,
            seed: 1,
            base: PathBuf::new(),
        }
    }

    pub(crate) fn build_spec(&self, spec: &WorkloadSpec) -> Result<Program, BuildError> {
        let ranks = self.ranks;
        let find_node = move |name: &str| {
            let number = |prefix| name.strip_prefix(prefix).and_then(|n: &str| n.parse::<u32>().ok());
            match (number("xpu-"), number("mem-")) {
                (Some(n), _) if n < ranks => Some(NodeId(n)),
                (_, Some(n)) if n < ranks => Some(NodeId(ranks + n)),
                _ => (name == "switch").then_some(NodeId(2 * ranks)),
            }
        };
        let rank_of = move |node: NodeId| (node.0 < ranks).then_some(node.0);
        let context = WorkloadContext {
            base: self.base.clone(),
            streams: Streams::new(self.seed),
            ranks,
            local_memory_bytes: self.local_memory_bytes,
            dimensions: self.dimensions.clone(),
            layout: Layout { ranks, shape: self.shape.clone() },
            find_node: &find_node,
            rank_of: &rank_of,
        };
        spec.plugin().build(&context)
    }

    /// Builds the workload that the JSON text `spec` describes.
    pub(crate) fn build(&self, spec: &str) -> Result<Program, BuildError> {
        let spec = serde_json::from_str(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
        self.build_spec(&spec)
    }

    /// The error of building it.
    pub(crate) fn error(&self, spec: &str) -> String {
        match self.build(spec) {
            Ok(_) => panic!("{spec} was built"),
            Err(error) => error.to_string(),
        }
    }
}
