//! The workload graph as the user draws it: vertices, edges, and where each vertex runs.

pub mod node_link;
mod place;
mod read;
mod resolve;
pub mod spec;
pub mod values;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes, Precision};

use self::spec::{EdgeSpec, VertexSpec};
use super::{WorkloadContext, WorkloadGenerator};
use crate::program::Program;

/// A workload graph (table 3 of the HCSim paper): compute and communication vertices, and edges
/// that make one wait for another, this iteration or some iterations back.
///
/// ```toml
/// [workload]
/// kind = "graph"
/// iterations = 10
/// vertices = [
///   { name = "work", kind = "compute", ranks = "all", flops = "1 TFLOP" },
///   { name = "sum", kind = "communication", collective = "all-reduce", bytes = "64 MB" },
/// ]
/// edges = [
///   { from = "work", to = "sum" },
///   { from = "sum", to = "work", distance = 1 },
/// ]
/// ```
/// The graph stands in the experiment itself (`vertices` and `edges`), in a JSON file (`path`), or
/// inline as JSON (`data`). JSON is either the same two lists or what NetworkX writes for a directed
/// graph with `node_link_data`; attributes of nodes and edges have the names of the fields here, with
/// `_` or `-`.
///
/// With a `unit` amounts of bytes may be multiples of it, as in `bytes = "0.25 unit"`, so that one number makes the
/// whole graph larger or smaller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GraphWorkload {
    /// How often every vertex runs.
    #[serde(default = "one")]
    pub iterations: u32,
    /// Number format of vertices that name none.
    #[serde(default = "fp32")]
    pub precision: Precision,
    /// Ranks of the program; one per compute node of the machine when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// What vertices mean by `"1 unit"` of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Bytes>,
    /// The vertices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vertices: Vec<VertexSpec>,
    /// The edges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<EdgeSpec>,
    /// JSON file that holds the graph, relative to the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"))]
    pub path: Option<PathBuf>,
    /// The graph as a JSON value, as `networkx.node_link_data` returns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

fn one() -> u32 {
    1
}

fn fp32() -> Precision {
    Precision::Fp32
}

impl Default for GraphWorkload {
    fn default() -> Self {
        Self {
            iterations: one(),
            precision: fp32(),
            ranks: None,
            unit: None,
            vertices: Vec::new(),
            edges: Vec::new(),
            path: None,
            data: None,
        }
    }
}

impl GraphWorkload {
    /// The vertices and edges, wherever they stand; paths start from `base`.
    ///
    /// # Errors
    /// A graph that is given twice or not at all, a file that cannot be read, and what makes no graph.
    pub fn lists(&self, base: &Path) -> Result<Lists<'_>, BuildError> {
        Ok(self.read(base)?.0)
    }

    fn read(&self, base: &Path) -> Result<(Lists<'_>, read::Origin), BuildError> {
        let inline = !self.vertices.is_empty() || !self.edges.is_empty();
        let given = usize::from(inline) + usize::from(self.path.is_some()) + usize::from(self.data.is_some());
        if given != 1 {
            let reason =
                "give the graph once: as `vertices` and `edges`, as `path` of a JSON file, or as `data`";
            return Err(BuildError::new("", reason));
        }
        let read = match (&self.path, &self.data) {
            (Some(path), _) => read::file(base, path)?,
            (_, Some(data)) => read::value(data.clone(), read::Source::Data)?,
            _ => {
                let (vertices, edges) = (self.vertices.as_slice().into(), self.edges.as_slice().into());
                return Ok((Lists { vertices, edges }, read::Origin::INLINE));
            }
        };
        Ok((Lists { vertices: read.vertices.into(), edges: read.edges.into() }, read.origin))
    }
}

/// The lists of a graph.
#[derive(Debug)]
pub struct Lists<'a> {
    /// The vertices.
    pub vertices: Cow<'a, [VertexSpec]>,
    /// The edges.
    pub edges: Cow<'a, [EdgeSpec]>,
}

impl WorkloadGenerator for GraphWorkload {
    fn build(&self, context: &WorkloadContext<'_>) -> Result<Program, BuildError> {
        let (lists, origin) = self.read(&context.base)?;
        resolve::program(self, &lists.vertices, &lists.edges, &origin, context)
    }

    fn ranks(&self) -> Option<u32> {
        self.ranks
    }
}
