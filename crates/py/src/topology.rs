//! Topologies: built once, looked at, written in other formats, run on.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use numpy::IntoPyArray as _;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stratasim_core::{LinkId, NodeId, Precision};
use stratasim_experiment::{ConfigError, Document, Spec, build_context};
use stratasim_topo::graph::NO_GROUP;
use stratasim_topo::{NodeKind, Routing, RoutingSpec, Sharing, TopologySpec};

use crate::catalogue::read_section;
use crate::error::misfit;

/// A frozen graph of compute, memory and switch nodes, with its spec.
#[pyclass(frozen, module = "stratasim._core")]
pub(crate) struct Topology {
    pub(crate) graph: Arc<stratasim_topo::Topology>,
    spec: TopologySpec,
    seed: u64,
    base: PathBuf,
}

#[pymethods]
impl Topology {
    /// Builds the topology of a spec in JSON. `seed` feeds random choices, `base` is the folder that
    /// relative paths start from.
    #[new]
    fn new(py: Python<'_>, spec: &str, seed: u64, base: PathBuf) -> PyResult<Self> {
        py.detach(|| Self::build(spec, seed, base)).map_err(|error| misfit(py, error))
    }

    /// The spec as JSON text, with every default.
    fn spec(&self) -> String {
        serde_json::to_string(&self.spec).expect("a spec is written as JSON")
    }

    /// The seed that it was built with.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// The folder that relative paths start from.
    #[getter]
    fn base(&self) -> &OsStr {
        self.base.as_os_str()
    }

    /// Number of nodes.
    #[getter]
    fn node_count(&self) -> usize {
        self.graph.node_count()
    }

    /// Number of links; both directions of a full-duplex cable count.
    #[getter]
    fn link_count(&self) -> usize {
        self.graph.link_count()
    }

    /// Extents of the dimensions that the compute nodes fill, innermost first.
    #[getter]
    fn dimensions(&self) -> Vec<u32> {
        self.graph.dimensions().to_vec()
    }

    /// The nodes as a dict: lists of text, and arrays where -1 stands for none.
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let graph = &self.graph;
        let nodes = || (0..graph.node_count()).map(NodeId::from_index);
        let rate = |node| graph.compute_type(node).map(|compute| compute.rate_flop_per_s);
        let columns = PyDict::new(py);
        columns.set_item("name", nodes().map(|node| graph.node_name(node)).collect::<Vec<_>>())?;
        let kind = |node| match graph.kind(node) {
            NodeKind::Switch => "switch",
            NodeKind::Compute(_) => "compute",
            NodeKind::Memory(_) => "memory",
        };
        columns.set_item("kind", nodes().map(kind).collect::<Vec<_>>())?;
        let compute = |node| graph.compute_type(node).map_or("", |compute| compute.name.as_str());
        columns.set_item("compute", nodes().map(compute).collect::<Vec<_>>())?;
        for precision in Precision::ALL {
            let rates = nodes().map(|node| rate(node).map_or(0.0, |rates| rates[precision.index()]));
            let name = format!("{precision}_flop_per_s");
            columns.set_item(name, rates.collect::<Vec<f64>>().into_pyarray(py))?;
        }
        let memory = |node| -> Option<u64> {
            match graph.kind(node) {
                NodeKind::Switch => Some(0),
                NodeKind::Compute(_) => graph.compute_type(node)?.memory_bytes,
                NodeKind::Memory(_) => graph.memory_type(node)?.capacity_bytes,
            }
        };
        // memory without bound is infinite
        let memory = nodes().map(|node| memory(node).map_or(f64::INFINITY, |bytes| bytes as f64));
        columns.set_item("memory_bytes", memory.collect::<Vec<f64>>().into_pyarray(py))?;
        let home = nodes().map(|node| graph.home_memory(node).map_or(-1, |home| i64::from(home.0)));
        columns.set_item("home_memory", home.collect::<Vec<i64>>().into_pyarray(py))?;
        let forwards = nodes().map(|node| graph.forwards(node));
        columns.set_item("forwards", forwards.collect::<Vec<bool>>().into_pyarray(py))?;
        for grouping in graph.groupings() {
            let groups = graph.grouping(grouping).unwrap_or_default();
            let number = |&group: &u32| if group == NO_GROUP { -1 } else { i64::from(group) };
            columns.set_item(grouping, groups.iter().map(number).collect::<Vec<i64>>().into_pyarray(py))?;
        }
        Ok(columns)
    }

    /// The links as a dict: names and sharing as lists of text, the rest as arrays.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let graph = &self.graph;
        let links = || graph.links().iter();
        let columns = PyDict::new(py);
        let names = (0..graph.link_count()).map(|link| graph.link_name(LinkId::from_index(link)));
        columns.set_item("name", names.collect::<Vec<_>>())?;
        for (at, name) in ["from", "to"].into_iter().enumerate() {
            let end = links().map(|link| link.ends.map_or(-1, |ends| i64::from(ends[at].0)));
            columns.set_item(name, end.collect::<Vec<i64>>().into_pyarray(py))?;
        }
        let rates: Vec<f64> = links().map(|link| link.bandwidth.bytes_per_s()).collect();
        columns.set_item("bandwidth_bytes_per_s", rates.into_pyarray(py))?;
        let latencies: Vec<f64> = links().map(|link| link.latency.as_secs_f64()).collect();
        columns.set_item("latency_s", latencies.into_pyarray(py))?;
        let sharing = |link: &stratasim_topo::Link| match link.sharing {
            Sharing::Shared => "shared",
            Sharing::FatPipe => "fat-pipe",
        };
        columns.set_item("sharing", links().map(sharing).collect::<Vec<_>>())?;
        let half: Vec<bool> = links().map(|link| link.half_duplex).collect();
        columns.set_item("half_duplex", half.into_pyarray(py))?;
        let reverse = links().map(|link| link.reverse.map_or(-1, |reverse| i64::from(reverse.0)));
        columns.set_item("reverse", reverse.collect::<Vec<i64>>().into_pyarray(py))?;
        Ok(columns)
    }

    /// The links from node `src` to node `dst` and the route's latency in seconds. `routing` is a
    /// spec in JSON, `key` chooses among equal paths.
    #[pyo3(signature = (src, dst, routing, key=0))]
    fn route(
        &self,
        py: Python<'_>,
        src: &str,
        dst: &str,
        routing: &str,
        key: u64,
    ) -> PyResult<(Vec<u32>, f64)> {
        let end = |name: &str| {
            let unknown = || format!("the topology has no node `{name}`");
            self.graph.find_node(name).ok_or_else(|| misfit(py, ConfigError::new(unknown(), None)))
        };
        let (src, dst) = (end(src)?, end(dst)?);
        let mut routing = self.routing(routing).map_err(|error| misfit(py, error))?;
        let mut links = Vec::new();
        let beyond = routing.route(src, dst, key, &mut links);
        let beyond = beyond.map_err(|error| misfit(py, ConfigError::new(error.to_string(), None)))?;
        let latency: stratasim_core::Duration = links.iter().map(|&link| self.graph.link(link).latency).sum();
        Ok((links.iter().map(|link| link.0).collect(), (latency + beyond).as_secs_f64()))
    }

    /// The topology as text in one of the formats of `formats()`.
    fn export(&self, py: Python<'_>, format: &str, routing: &str) -> PyResult<String> {
        let write = || {
            let mut routing = self.routing(routing)?;
            stratasim_topo::io::write(format, &self.graph, routing.as_mut())
                .map_err(|error| ConfigError::new(error.to_string(), None))
        };
        py.detach(write).map_err(|error| misfit(py, error))
    }

    /// The formats that `export` writes.
    #[staticmethod]
    fn formats() -> Vec<&'static str> {
        stratasim_topo::io::FORMATS.to_vec()
    }
}

impl Topology {
    fn build(spec: &str, seed: u64, base: PathBuf) -> Result<Self, ConfigError> {
        let document = Document::from_json("", &format!("{{\"topology\": {spec}}}"))?;
        let spec: TopologySpec = read_section(&document)?;
        let context = build_context(&base, seed);
        let graph =
            stratasim_topo::build(&spec, &context).map_err(|error| document.locate(&error, "topology"))?;
        Ok(Self { graph: Arc::new(graph), spec, seed, base })
    }

    /// Whether the experiment would build just this.
    pub(crate) fn is_of(&self, spec: &Spec, base: &Path) -> bool {
        self.seed == spec.seed && self.base == base && self.spec == spec.topology
    }

    fn routing(&self, spec: &str) -> Result<Box<dyn Routing>, ConfigError> {
        let document = Document::from_json("", &format!("{{\"routing\": {spec}}}"))?;
        let spec: RoutingSpec = read_section(&document)?;
        spec.plugin().build(&self.graph).map_err(|error| document.locate(&error, "routing"))
    }
}
