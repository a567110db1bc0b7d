//! From a spec to everything that runs: topology, places, program, network, compute.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stratasim_core::model::{Compute, Network, NetworkReport};
use stratasim_core::random::Streams;
use stratasim_core::words::{counted, thousands};
use stratasim_core::{BuildError, Bytes, NodeId, Rank};
use stratasim_device::{ComputeModel, ComputeOptions};
use stratasim_engine::schedule::noise::Noise;
use stratasim_engine::{MemoryMode, Options, Place};
use stratasim_net::networks::{Connections, NetworkContext};
use stratasim_report::Unit;
use stratasim_topo::{BuildContext, NodeKind, Routing, Topology};
use stratasim_workload::WorkloadContext;
use stratasim_workload::program::{MemoryPlace, MemorySummary, Op, Program, ProgramBuilder};

use crate::card_nodes;
use crate::document::Document;
use crate::error::{ConfigError, Error};
use crate::files;
use crate::forecast::Forecast;
use crate::jobs::{self, ScheduleWork};
use crate::mistaken;
use crate::placement::PlacementSpec;
use crate::spec::{MemoryAccess, Spec};

/// Vertices of a graph whose tasks are told of one by one; of more, only what they come to on each rank.
const MOST_VERTICES: usize = 256;

/// Whether the workload is a graph of somebody's vertices: others have one for each message or layer.
fn is_graph(spec: &Spec) -> bool {
    spec.workload.as_ref().is_some_and(|workload| workload.kind() == "graph")
}

/// A machine and a program, ready to run.
pub struct Prepared {
    /// What was asked for.
    pub spec: Spec,
    /// Name for titles.
    pub name: String,
    /// The machine.
    pub topology: Arc<Topology>,
    /// Where each rank runs.
    pub places: Vec<Place>,
    /// What it does; shared, so that names outlive the borrow that a run takes. Without a vertex where a
    /// schedule runs.
    pub program: Arc<Program>,
    /// The schedule that runs in place of a program.
    pub schedule: Option<Arc<ScheduleWork>>,
    /// What the system takes from its streams.
    pub noise: Option<Noise>,
    /// The network.
    pub network: Box<dyn Network>,
    /// Whether messages of a pair go one after the other on it.
    in_order: bool,
    /// The compute nodes.
    pub compute: ComputeModel,
    /// Options of the engine.
    pub options: Options,
    /// Whether messages between the same two nodes may take different ways.
    pub spread_routes: bool,
    /// What to say of options of the network that have no effect beside `[routing]`.
    pub(crate) unheeded: Option<String>,
    /// The network's account of the last run.
    pub report: NetworkReport,
}

/// Reads the experiment at `path` and applies `sets` (`key=value`).
///
/// # Errors
/// A file that cannot be read or does not parse, an assignment that does not fit.
pub fn load(path: &Path, sets: &[String]) -> Result<(Document, PathBuf), Error> {
    let name = path.display().to_string();
    let mistaken = |reason| Error::File { path: name.clone(), reason };
    let text = files::read_text(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            mistaken::bytes(path).map_or_else(|| Error::file(path, &error), mistaken)
        }
        _ => Error::file(path, &error),
    })?;
    let mut document = Document::parse(&name, &text)
        .map_err(|error| mistaken::text(path, &text).map_or_else(|| error.into(), mistaken))?;
    if let Some(reason) = mistaken::result(&document) {
        return Err(document.error(reason).into());
    }
    for set in sets {
        document.set(set)?;
    }
    let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
    Ok((document, base))
}

/// Builds the topology of a spec.
///
/// # Errors
/// Parameters that make no topology, with their place in `document`.
pub fn build_topology(spec: &Spec, document: &Document, base: &Path) -> Result<Arc<Topology>, ConfigError> {
    let topology = stratasim_topo::build(&spec.topology, &build_context(base, spec.seed));
    topology.map(Arc::new).map_err(|error| document.locate(&error, "topology"))
}

/// What generators of topologies may use: files from `base` on, the streams of `seed`, cards.
pub fn build_context(base: &Path, seed: u64) -> BuildContext {
    BuildContext { base: base.to_owned(), streams: Streams::new(seed), cards: card_nodes::parts }
}

fn place(topology: &Topology, node: NodeId) -> Place {
    let compute = topology.compute_type(node);
    Place {
        home_memory: topology.home_memory(node),
        local_bandwidth: compute.and_then(|compute| compute.memory_bandwidth),
        kernels: compute.map(|compute| compute.kernels).unwrap_or_default(),
        ..Place::of(node)
    }
}

impl Prepared {
    /// Builds everything that `document` asks for. Relative paths start from `base`.
    ///
    /// # Errors
    /// What does not fit, with its place.
    pub fn new(document: &Document, base: &Path) -> Result<Self, ConfigError> {
        if Forecast::is_in(document) {
            let reason = "this is a forecast in closed form, which `stratasim run` makes: nothing in it runs";
            return Err(document.locate(&BuildError::new("", reason), "forecast"));
        }
        let spec: Spec = document.read()?;
        let topology = build_topology(&spec, document, base)?;
        Self::on(spec, topology, document, base)
    }

    /// Builds everything else on a topology that exists.
    ///
    /// # Errors
    /// What does not fit, with its place.
    pub fn on(
        spec: Spec,
        topology: Arc<Topology>,
        document: &Document,
        base: &Path,
    ) -> Result<Self, ConfigError> {
        let at = |section: &'static str| move |error: BuildError| document.locate(&error, section);
        if spec.traffic.is_some() {
            let reason = "this is open-loop traffic: `stratasim run`, `traffic` and `sweep` run it";
            return Err(document.locate(&BuildError::new("", reason), "traffic"));
        }
        let streams = Streams::new(spec.seed);
        let routing = spec.routing.plugin().build(&topology).map_err(at("routing"))?;
        let (spread_routes, chosen) = (routing.per_flow(), routing.chosen());
        let schedule = read_schedule(&spec, &topology, base, document)?;
        let wanted = match (&schedule, &spec.workload) {
            (Some(work), _) => Some(work.schedule.ranks()),
            (None, Some(workload)) => workload.plugin().ranks(),
            (None, None) => None,
        };
        let nodes = spec.placement.plugin().place(&topology, &streams, wanted);
        let nodes = nodes.map_err(|error| match &schedule {
            // nobody placed the ranks: there are more than the machine has nodes
            Some(_) if document.get("placement").is_none() => {
                document.locate(&BuildError::new("", error.reason), "workload")
            }
            // a program that says how many ranks it has
            None if error.field == "ranks"
                && wanted.is_some()
                && document.get("placement.ranks").is_none() =>
            {
                document.locate(&error, "workload")
            }
            _ => document.locate(&error, "placement"),
        })?;
        let places: Vec<Place> = nodes.iter().map(|&node| place(&topology, node)).collect();
        let program = Arc::new(build_program(&spec, &topology, &nodes, base).map_err(at("workload"))?);
        let nics = schedule.as_ref().map_or(1, |work| work.schedule.nics());
        let in_order = is_in_order(&spec);
        let context = network_context(&spec, &topology, routing, nics, in_order);
        let network = spec.network.plugin().build(context).map_err(at("network"))?;
        let unheeded = spec.network.plugin().unheeded_beside(chosen);
        let written_out = spec.network.plugin().written_out(&topology);
        let spec = Spec { network: written_out.unwrap_or_else(|| spec.network.clone()), ..spec };
        let noise = match (&spec.execution.noise, &schedule) {
            (Some(noise), Some(work)) => {
                let noise = noise.build(work.schedule.ranks(), streams, base);
                Some(noise.map_err(|error| document.locate(&error.within("noise"), "execution"))?)
            }
            (Some(_), None) => {
                let reason = "noise is for the streams of schedules (workload `goal`)";
                return Err(document.locate(&BuildError::new("noise", reason), "execution"));
            }
            (None, _) => None,
        };
        let options = ComputeOptions {
            roofline: spec.execution.roofline,
            timing_precision: spec.execution.timing_precision,
        };
        let compute = ComputeModel::new(topology.clone(), options);
        let options = Options {
            memory: match spec.execution.memory {
                MemoryAccess::Coherent => MemoryMode::Coherent,
                MemoryAccess::MoveThenCompute => MemoryMode::MoveThenCompute,
            },
            timing_precision: spec.execution.timing_precision,
            eager_limit_bytes: spec.execution.eager_limit.map(Bytes::count),
            by_vertex: is_graph(&spec) && program.vertices().len() <= MOST_VERTICES,
        };
        let stem = Path::new(document.name()).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = spec.name.clone().or(stem).unwrap_or_default();
        let mut prepared = Self {
            spec,
            name,
            topology,
            places,
            program,
            schedule,
            noise,
            network,
            in_order,
            compute,
            options,
            spread_routes,
            unheeded,
            report: NetworkReport::default(),
        };
        prepared.check().map_err(at("workload"))?;
        Ok(prepared)
    }

    /// The network again, as if nothing had happened on it.
    ///
    /// # Errors
    /// None that did not come when the first one was built.
    pub(crate) fn fresh_network(&self) -> Result<Box<dyn Network>, BuildError> {
        let routing = self.spec.routing.plugin().build(&self.topology)?;
        let nics = self.schedule.as_ref().map_or(1, |work| work.schedule.nics());
        let context = network_context(&self.spec, &self.topology, routing, nics, self.in_order);
        self.spec.network.plugin().build_again(context)
    }

    /// What the program asks of the machine must exist: rates, memories, ways to them.
    fn check(&mut self) -> Result<(), BuildError> {
        let mut types: Vec<(u32, NodeId)> = Vec::new();
        for place in &self.places {
            if let NodeKind::Compute(kind) = self.topology.kind(place.node)
                && !types.iter().any(|(known, _)| *known == kind)
            {
                types.push((kind, place.node));
            }
        }
        let mut checked_home = false;
        for (id, vertex) in self.program.vertices().iter().enumerate() {
            let named = |error: BuildError| {
                BuildError::new(error.field, format!("`{}`: {}", self.program.name(id as u32), error.reason))
            };
            if let Op::Collective(collective) = &vertex.op {
                card_nodes::check(&self.topology, &self.program, &self.places, collective).map_err(named)?;
            }
            let Op::Compute(compute) = &vertex.op else { continue };
            if compute.flops > 0.0 {
                // one node per type stands for all; a program for all ranks meets every type
                let nodes: Vec<NodeId> = match self.program.scope_len(vertex.scope) {
                    1 => vec![self.places[self.program.scope_rank(vertex.scope, 0).index()].node],
                    _ => types.iter().map(|(_, node)| *node).collect(),
                };
                for node in nodes {
                    self.compute.check(node, compute.precision).map_err(named)?;
                }
            }
            if compute.remote_bytes == 0 || (compute.place == MemoryPlace::Home && checked_home) {
                continue;
            }
            for index in 0..self.program.scope_len(vertex.scope) {
                let rank = self.program.scope_rank(vertex.scope, index);
                let place = self.places[rank.index()];
                let node_of = |other: Rank| self.places[other.index()].node;
                let Some(memory) = compute.place.node(place.home_memory, node_of) else {
                    if compute.place == MemoryPlace::Local {
                        continue;
                    }
                    let node = self.topology.node_name(place.node);
                    let size = |bytes: u64| Unit::Bytes.format(bytes as f64);
                    let reason = match self.program.summary().memory {
                        // what is more than local memory cannot go there
                        Some(MemorySummary { local_bytes, remote_bytes }) if local_bytes > 0 => format!(
                            "a rank keeps {}, of which its local memory holds {}, and {node} has no memory node of its own for the rest; choose a topology that gives it one, make the model or the batch smaller, or the local memory larger",
                            size(local_bytes.saturating_add(remote_bytes)),
                            size(local_bytes)
                        ),
                        _ => format!(
                            "{node} has no memory node of its own to extend its memory; choose a topology that gives it one, or `memory = \"local\"`"
                        ),
                    };
                    return Err(named(BuildError::new("", reason)));
                };
                if self.topology.kind(memory) == NodeKind::Switch {
                    let name = self.topology.node_name(memory);
                    let reason =
                        format!("{name} is a switch and has no memory; name a memory or compute node");
                    return Err(named(BuildError::new("", reason)));
                }
                if memory != place.node {
                    self.network.check_route(memory, place.node).map_err(|error| {
                        named(BuildError::new("", format!("the memory cannot be reached: {}", error.reason)))
                    })?;
                }
            }
            checked_home |= compute.place == MemoryPlace::Home && self.program.scope_len(vertex.scope) > 1;
        }
        match self.overfull_memories().into_iter().next() {
            Some(reason) => Err(BuildError::new("memory", reason)),
            None => Ok(()),
        }
    }

    /// That the vertices of a graph are too many to be told of one by one.
    pub(crate) fn untold_vertices(&self) -> Option<String> {
        (is_graph(&self.spec) && !self.options.by_vertex).then(|| {
            let count = thousands(&self.program.vertices().len().to_string());
            format!("Of {count} vertices none has times of its own; of up to {MOST_VERTICES} all have.")
        })
    }

    /// The memories in which the workload places more than they hold, each with a sentence about it.
    /// A memory that several ranks use holds what all of them place there.
    pub(crate) fn overfull_memories(&self) -> Vec<String> {
        let Some(each) = self.program.summary().memory else { return Vec::new() };
        let mut used: BTreeMap<NodeId, (u128, u64)> = BTreeMap::new();
        for place in &self.places {
            let parts = [(Some(place.node), each.local_bytes), (place.home_memory, each.remote_bytes)];
            for (node, bytes) in parts {
                if let Some(node) = node.filter(|_| bytes > 0) {
                    let (total, ranks) = used.entry(node).or_default();
                    *total += u128::from(bytes);
                    *ranks += 1;
                }
            }
        }
        let over = used.into_iter().filter_map(|(node, (total, ranks))| {
            let room = match self.topology.compute_type(node) {
                Some(compute) => compute.memory_bytes,
                None => self.topology.memory_type(node)?.capacity_bytes,
            }?;
            let size = |bytes: f64| Unit::Bytes.format(bytes);
            (total > u128::from(room)).then(|| {
                format!(
                    "the memory of {} holds {}, the workload places {} of {} there; make the model or the batch smaller, or the memory larger",
                    self.topology.node_name(node),
                    size(room as f64),
                    size(total as f64),
                    counted(ranks, "rank")
                )
            })
        });
        over.take(20).collect()
    }
}

/// What the network is built on.
fn network_context(
    spec: &Spec,
    topology: &Arc<Topology>,
    routing: Box<dyn Routing>,
    nics: u32,
    in_order: bool,
) -> NetworkContext {
    NetworkContext {
        topology: topology.clone(),
        routing,
        streams: Streams::new(spec.seed),
        timing_precision: spec.execution.timing_precision,
        nics,
        in_order,
    }
}

/// Whether messages of a pair go one after the other: as asked for, or because all that runs counts on it.
fn is_in_order(spec: &Spec) -> bool {
    if let Some(kind) = spec.execution.connections {
        return kind == Connections::PerPair;
    }
    let jobs = spec.job.iter().map(|job| &job.workload);
    let mut all = spec.workload.iter().chain(jobs).peekable();
    all.peek().is_some() && all.all(|workload| workload.plugin().in_order())
}

/// The schedule of the workload or of the jobs, if that is what they are.
fn read_schedule(
    spec: &Spec,
    topology: &Topology,
    base: &Path,
    document: &Document,
) -> Result<Option<Arc<ScheduleWork>>, ConfigError> {
    let streams = Streams::new(spec.seed);
    if spec.job.is_empty() && document.get("jobs").is_some() && spec.workload.is_some() {
        let reason = "this is about jobs, and there is no `[[job]]`";
        return Err(document.locate(&BuildError::new("", reason), "jobs"));
    }
    if !spec.job.is_empty() && spec.placement != PlacementSpec::default() {
        let reason = "jobs are placed by `jobs.placement`";
        return Err(document.locate(&BuildError::new("", reason), "placement"));
    }
    match (&spec.workload, spec.job.is_empty()) {
        (Some(workload), true) => {
            let schedule = workload.plugin().schedule(base, streams);
            let schedule = schedule.map_err(|error| document.locate(&error, "workload"))?;
            Ok(schedule.map(|schedule| Arc::new(ScheduleWork::new(schedule, Vec::new()))))
        }
        (None, false) => {
            let work = jobs::build(&spec.job, &spec.jobs, topology, streams, base);
            work.map(|work| Some(Arc::new(work))).map_err(|error| document.locate(&error, ""))
        }
        (Some(_), false) => {
            let reason = "there is a `workload` beside `[[job]]`; one of the two is expected";
            Err(document.locate(&BuildError::new("", reason), "workload"))
        }
        (None, true) => {
            let reason = "what should run? `[workload]`, `[[job]]`, `[traffic]` or `[forecast]` is expected";
            Err(document.locate(&BuildError::new("", reason), ""))
        }
    }
}

fn build_program(
    spec: &Spec,
    topology: &Topology,
    nodes: &[NodeId],
    base: &Path,
) -> Result<Program, BuildError> {
    // ranks on one node share its memory
    let mut ranks_on: BTreeMap<NodeId, u64> = BTreeMap::new();
    for &node in nodes {
        *ranks_on.entry(node).or_default() += 1;
    }
    let part = |(&node, ranks): (&NodeId, &u64)| Some(topology.compute_type(node)?.memory_bytes? / ranks);
    let local = ranks_on.iter().filter_map(part).min();
    let mut rank_of = BTreeMap::new();
    for (rank, &node) in nodes.iter().enumerate() {
        rank_of.entry(node).or_insert(rank as u32);
    }
    let dimensions: Vec<u32> = topology.dimensions().to_vec();
    let covers = dimensions.iter().map(|&extent| u64::from(extent)).product::<u64>() == nodes.len() as u64;
    let context = WorkloadContext {
        base: base.to_owned(),
        streams: Streams::new(spec.seed),
        ranks: nodes.len() as u32,
        local_memory_bytes: local,
        dimensions: if covers { dimensions } else { Vec::new() },
        layout: crate::layout::layout(topology, nodes),
        find_node: &|name| topology.find_node(name),
        rank_of: &|node| rank_of.get(&node).copied(),
    };
    match &spec.workload {
        Some(workload) => workload.plugin().build(&context),
        None => ProgramBuilder::new(context.ranks).build(),
    }
}
