//! Open-loop traffic on a network at flit level: one load, or a curve of them.
//!
//! ```text
//!  [traffic] ─→ plan (classes, lanes) ─→ sources ─┐
//!                                                 ├─ open loop ←→ kernel     measure: warm-up, sample, drain
//!                                       account ──┘                               │
//!                                          └──────────→ verdict, result ←─────────┘
//! ```
//! Numbers do not depend on threads, on the order in which points run, or on the kernel.

mod account;
mod calendar;
mod curve;
mod histogram;
mod measure;
mod open_loop;
mod pictures;
mod plan;
mod result;
mod sources;
pub mod spec;
mod stall;
mod verdict;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use stratasim_core::random::Streams;
use stratasim_core::{BuildError, NodeId};
use stratasim_net::NetworkSpec;
use stratasim_net::flit::Prepared;
use stratasim_net::flit::fast::Fast;
use stratasim_net::flit::full::Full;
use stratasim_net::flit::kernel::Kernel;
use stratasim_report::result::{Check, RunResult, Title};
use stratasim_report::traffic::TrafficResult;
use stratasim_topo::Topology;
use stratasim_workload::pattern::Layout;

pub use account::ProbeSink;
pub use curve::{Curve, CurvePoint, Loads, Progress};
pub use spec::{KernelChoice, TrafficSpec};

use account::Account;
use measure::Run;
use open_loop::OpenLoop;
use plan::{Ground, Plan};
use sources::Sources;

use crate::build::build_topology;
use crate::document::Document;
use crate::error::{ConfigError, Error};
use crate::layout::layout;
use crate::run::{count, peak_rss_bytes};
use crate::spec::Spec;

/// Traffic and the network that it runs on, ready to run any number of times.
pub struct Traffic {
    /// What was asked for.
    pub spec: Spec,
    /// Name for titles.
    pub name: String,
    /// The machine.
    pub topology: Arc<Topology>,
    traffic: TrafficSpec,
    network: Prepared,
    layout: Layout,
    plan: Arc<Plan>,
}

impl Traffic {
    /// Whether a document is about open-loop traffic.
    pub fn is_in(document: &Document) -> bool {
        document.get("traffic").is_some()
    }

    /// Builds machine, network and sources of `document`. Relative paths start from `base`.
    ///
    /// # Errors
    /// What does not fit, with its place.
    pub fn new(document: &Document, base: &Path) -> Result<Self, ConfigError> {
        let spec: Spec = document.read()?;
        let at = |section: &'static str| move |error: BuildError| document.locate(&error, section);
        let Some(traffic) = spec.traffic.clone() else {
            return Err(document.error("what should run? a section `[traffic]` is expected"));
        };
        if spec.workload.is_some() || !spec.job.is_empty() {
            let other = if spec.workload.is_some() { "workload" } else { "job" };
            let reason = format!("there is a `{other}` beside `[traffic]`; one of the two is expected");
            return Err(document.locate(&BuildError::new("", reason), other));
        }
        let NetworkSpec::Flit(flit) = &spec.network else {
            let reason = format!(
                "open-loop traffic runs at flit level: `kind = \"flit\"` is expected, found `{}`",
                spec.network.kind()
            );
            let section = if document.get("network").is_some() { "network" } else { "traffic" };
            return Err(document.locate(&BuildError::new("", reason), section));
        };
        traffic.measure.check().map_err(|error| document.locate(&error.within("measure"), "traffic"))?;
        let topology = build_topology(&spec, document, base)?;
        let network = flit.prepare(&topology).map_err(at("network"))?;
        let nodes: Option<Vec<NodeId>> =
            network.fabric.terminals().iter().map(|terminal| terminal.node).collect();
        let layout = match nodes {
            Some(nodes) => layout(&topology, &nodes),
            None => Layout::flat(network.fabric.terminals().len() as u32),
        };
        let plan = plan(&traffic, &layout, &network, spec.seed).map_err(at("traffic"))?;
        // kernels check what they cannot run before time starts
        if choose(traffic.kernel, &network, &plan).map_err(at("traffic"))? {
            Fast::new(network.fabric.clone(), &network.router, network.routing.clone(), spec.seed).map(drop)
        } else {
            Full::new(network.fabric.clone(), &network.router, network.routing.clone(), spec.seed).map(drop)
        }
        .map_err(at("network"))?;
        let stem = Path::new(document.name()).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = spec.name.clone().or(stem).unwrap_or_default();
        Ok(Self { spec, name, topology, traffic, network, layout, plan: Arc::new(plan) })
    }

    /// The same machine and traffic at another load and seed.
    ///
    /// # Errors
    /// A load that the sources cannot make.
    fn at(&self, load: f64, seed: u64) -> Result<Self, BuildError> {
        let mut traffic = self.traffic.clone();
        traffic.load = spec::Load::FlitsPerCycle(load);
        let plan = Arc::new(plan(&traffic, &self.layout, &self.network, seed)?);
        let mut spec = self.spec.clone();
        (spec.seed, spec.traffic) = (seed, Some(traffic.clone()));
        Ok(Self {
            spec,
            name: self.name.clone(),
            topology: self.topology.clone(),
            traffic,
            network: self.network.clone(),
            layout: self.layout.clone(),
            plan,
        })
    }

    /// Runs, and says what came of it. `started` is when the clock for `wall_s` began; probes of all pairs go to
    /// `sink` one by one.
    ///
    /// # Errors
    /// A network that stands still; [`Error::Stopped`] when `stop` says so.
    pub fn run(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
        sink: Option<&mut dyn ProbeSink>,
        started: Instant,
    ) -> Result<RunResult, Error> {
        let Prepared { fabric, router, routing, .. } = &self.network;
        let broken = |error: BuildError| Error::Broken(error.to_string());
        if choose(self.traffic.kernel, &self.network, &self.plan).map_err(broken)? {
            let kernel = Fast::new(fabric.clone(), router, routing.clone(), self.spec.seed);
            self.run_on(kernel.map_err(broken)?, stop, sink, started)
        } else {
            let kernel = Full::new(fabric.clone(), router, routing.clone(), self.spec.seed);
            self.run_on(kernel.map_err(broken)?, stop, sink, started)
        }
    }

    fn run_on<K: Kernel>(
        &self,
        mut kernel: K,
        stop: &(dyn Fn() -> bool + Sync),
        sink: Option<&mut dyn ProbeSink>,
        started: Instant,
    ) -> Result<RunResult, Error> {
        let (terminals, classes) = (self.plan.terminals as usize, self.plan.classes.len());
        let mut traffic = OpenLoop {
            sources: Sources::new(self.plan.clone()),
            account: Account::new(terminals, classes, self.traffic.measure.window, sink),
        };
        let fabric = &self.network.fabric;
        let longest = fabric.channels().iter().map(|it| it.latency.max(it.credit_latency)).max().unwrap_or(1);
        let explain = |kernel: &K| stall::report(fabric, &kernel.waiting(), kernel.now(), kernel.in_flight());
        let mut run = Run {
            kernel: &mut kernel,
            traffic: &mut traffic,
            stop,
            patience: 10_000 + 4 * u64::from(longest),
            explain: &explain,
        };
        let course = match self.traffic.batch {
            Some(_) => run.batch(&self.traffic.measure)?,
            None => run.measure(&self.traffic.measure)?,
        };
        let cycles = kernel.now();
        let statistics = result::result(&traffic, &course, &self.network, &self.topology);
        let flits: u64 = traffic.account.totals.accepted.iter().sum();
        let digest = result::digest(&traffic.account, &course);
        let hops: u64 = kernel.channel_flits().iter().sum();
        let counters = BTreeMap::from([
            ("network.cycles".to_owned(), cycles),
            ("network.flit_hops".to_owned(), hops),
            ("traffic.flits".to_owned(), flits),
            ("traffic.packets".to_owned(), traffic.account.totals.packets),
        ]);
        let check = Check::of(
            "every flit that entered the network came out, and every credit",
            flits,
            course.violations,
        );
        Ok(RunResult {
            stratasim: env!("CARGO_PKG_VERSION").to_owned(),
            title: self.title(),
            spec: serde_json::to_value(&self.spec).unwrap_or_default(),
            seed: self.spec.seed,
            digest,
            makespan_s: cycles as f64 * self.network.clock.period_s(),
            iterations: Vec::new(),
            batches_per_s: None,
            ranks: Vec::new(),
            finish_ns: None,
            jobs: Vec::new(),
            memory: None,
            links: None,
            bounds: Vec::new(),
            binding: None,
            checks: vec![check],
            notes: Vec::new(),
            counters,
            traffic: Some(statistics),
            wall_s: started.elapsed().as_secs_f64(),
            peak_rss_bytes: peak_rss_bytes(),
            events: hops,
        })
    }

    /// Whether probes of every pair are asked for, which [`Traffic::run`] hands to its sink.
    pub fn probes_all_pairs(&self) -> bool {
        self.traffic.probes.as_ref().is_some_and(|probes| probes.pairs.is_none())
    }

    fn title(&self) -> Title {
        let (pattern, injection) = (self.traffic.pattern.kind(), self.traffic.injection.kind());
        let what = match (&self.traffic.batch, self.traffic.classes.len()) {
            (Some(batch), _) => {
                format!("batch of {} packets per terminal, {pattern}", count(batch.packets.into()))
            }
            (None, 0) => format!("traffic: {pattern}, {injection}, load {}", self.plan.load()),
            (None, classes) => format!("traffic: {classes} classes, load {}", self.plan.load()),
        };
        let router = &self.network.router;
        Title {
            experiment: self.name.clone(),
            topology: format!(
                "{}: {} terminals, {} routers",
                self.spec.topology.kind(),
                count(self.network.fabric.terminals().len() as u64),
                count(self.network.fabric.router_count() as u64)
            ),
            workload: what,
            network: format!(
                "flit: {} virtual channels of {} flits",
                router.virtual_channels, router.buffer_flits
            ),
        }
    }
}

/// Statistics of a result of open-loop traffic.
pub fn statistics(result: &RunResult) -> &TrafficResult {
    result.traffic.as_ref().expect("results of traffic have statistics")
}

fn plan(spec: &TrafficSpec, layout: &Layout, network: &Prepared, seed: u64) -> Result<Plan, BuildError> {
    let router = &network.router;
    let ground = Ground {
        clock_hz: network.clock.hz(),
        flit_bytes: network.flit_bytes,
        ranges: router.ranges.len(),
        most_flits: router.virtual_cut_through.then_some(router.buffer_flits),
    };
    Plan::new(spec, layout, ground, Streams::new(seed))
}

/// Whether the fast kernel runs it.
///
/// # Errors
/// It is asked for and does not know something.
fn choose(choice: KernelChoice, network: &Prepared, plan: &Plan) -> Result<bool, BuildError> {
    let refusal = match plan.queues.len() {
        1 => Fast::refuses(&network.fabric, &network.router, &*network.routing),
        _ => Some("several queues per terminal, which priorities and replies need"),
    };
    match (choice, refusal) {
        (KernelChoice::Auto, refusal) => Ok(refusal.is_none()),
        (KernelChoice::Full, _) => Ok(false),
        (KernelChoice::Fast, None) => Ok(true),
        (KernelChoice::Fast, Some(what)) => {
            Err(BuildError::new("kernel", format!("the fast kernel does not know {what}; use `auto`")))
        }
    }
}
