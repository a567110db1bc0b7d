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
mod by_class;
mod calendar;
mod channels;
mod curve;
mod histogram;
mod joined;
mod kept;
mod loads;
mod measure;
pub(crate) mod notes;
mod open_loop;
mod parts;
#[cfg(test)]
mod parts_test;
mod pictures;
mod plan;
mod result;
mod saturation;
mod search;
mod sources;
pub mod spec;
mod stall;
mod verdict;
mod watch;
mod written;

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use stratasim_core::random::Streams;
use stratasim_core::words::counted;
use stratasim_core::{Bandwidth, BuildError, NodeId};
use stratasim_net::NetworkSpec;
use stratasim_net::flit::Prepared;
use stratasim_net::flit::dependency::Verdict;
use stratasim_net::flit::fabric::{Channel, End};
use stratasim_net::flit::fast::Fast;
use stratasim_net::flit::full::Full;
use stratasim_net::flit::network::Flit;
use stratasim_net::flit::network::zero_load::{ZeroLoad, router_cycles};
use stratasim_report::result::{Check, RunResult, Title};
use stratasim_report::traffic::TrafficResult;
use stratasim_topo::{RoutingSpec, Topology};
use stratasim_workload::pattern::Layout;

pub use account::ProbeSink;
pub(crate) use channels::channel_summary;
pub(crate) use verdict::{fairness_of, mean_and_half_width};

pub use curve::{Curve, CurvePoint, Point, Progress, Subject};
pub use kept::Kept;
pub use loads::Loads;
pub use spec::{KernelChoice, Load, PRECISIONS, TrafficSpec};
pub use watch::{Phase, Stage, Watch};

use joined::Joined;
use measure::Run;
use parts::{InParts, Parts};
use plan::{Ground, Plan, Purpose};

use crate::build::build_topology;
use crate::document::Document;
use crate::error::{ConfigError, Error};
use crate::layout::layout;
use crate::placement::PlacementSpec;
use crate::run::{count, peak_rss_bytes};
use crate::spec::Execution;
use crate::spec::Spec;

/// Flits through routers in a cycle, for each thread of a run: with fewer, threads wait for each other longer
/// than they work.
const LEAST_FLIT_HOPS: f64 = 500.0;

/// Loads in place of one that the sources cannot make, where it is not run: they have to be able to make one of them.
const INSTEAD: [f64; 3] = [saturation::FIRST_LOAD, 0.01, 1e-4];

/// Traffic and the network that it runs on, ready to run any number of times.
pub struct Traffic {
    /// What was asked for.
    pub spec: Spec,
    /// Name for titles.
    pub name: String,
    /// The machine.
    pub topology: Arc<Topology>,
    /// Where that stands.
    document: Arc<Document>,
    /// Where relative paths start from.
    base: PathBuf,
    /// With the load that a search begins with, where one is asked for.
    traffic: TrafficSpec,
    /// How near to the saturation load a run has to come, where it looks for that.
    search: Option<f64>,
    network: Prepared,
    layout: Layout,
    joined: Option<Joined>,
    plan: Arc<Plan>,
}

impl Traffic {
    /// Whether a document is about open-loop traffic.
    pub fn is_in(document: &Document) -> bool {
        document.get("traffic").is_some()
    }

    /// The load of a document for all classes, the usual one where it gives none; absent where it is about no traffic.
    pub fn load_in(document: &Document) -> Option<Load> {
        Some(document.read::<Spec>().ok()?.traffic?.load)
    }

    /// How near to the saturation load a document wants to come, if it looks for that.
    pub fn search_in(document: &Document) -> Option<f64> {
        document.read::<Spec>().ok()?.traffic?.searched()
    }

    /// Whether the load of a document can be another one; `run` is what runs those of which it cannot.
    ///
    /// # Errors
    /// Why no other load changes anything: it is a batch, or every class has a load of its own.
    pub fn check_loads(document: &Document, run: &str) -> Result<(), ConfigError> {
        let traffic = document.read::<Spec>().ok().and_then(|spec| spec.traffic);
        let message = if document.get("traffic.batch").is_some() {
            format!("a batch has no load: `{run}` says how long it takes")
        } else if traffic.is_some_and(|it| it.check_common_load().is_err()) {
            format!(
                "every class of `traffic.class` has a `load` of its own, so that there is no other: `{run}` runs these; with a \
                 `share` in place of its `load`, a class has that part of all loads"
            )
        } else {
            return Ok(());
        };
        Err(ConfigError::new(message, None))
    }

    /// Builds machine, network and sources of `document`. Relative paths start from `base`.
    ///
    /// # Errors
    /// What does not fit, with its place.
    pub fn new(document: &Document, base: &Path) -> Result<Self, ConfigError> {
        Self::build(document, base, true)
    }

    /// The same for a curve of other loads: that of the document, which is not run, may be one that the sources cannot make.
    ///
    /// # Errors
    /// As [`Traffic::new`].
    pub fn for_loads(document: &Document, base: &Path) -> Result<Self, ConfigError> {
        Self::build(document, base, false)
    }

    fn build(document: &Document, base: &Path, own_load: bool) -> Result<Self, ConfigError> {
        let mut spec: Spec = document.read()?;
        if document.get("network").is_none() {
            spec.network = document.usual_network();
        }
        let at = |section: &'static str| move |error: BuildError| document.locate(&error, section);
        let Some(mut traffic) = spec.traffic.clone() else {
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
            return Err(document.locate(&BuildError::new("", reason), "network"));
        };
        // a whole spec, such as that of a result, has the defaults
        for (section, is_default, instead) in [
            (
                "placement",
                spec.placement == PlacementSpec::default(),
                "terminals send by their own numbers, and mappings are options of patterns",
            ),
            (
                "routing",
                spec.routing.kind() == RoutingSpec::default().kind(),
                "the flit level has its own, `network.routing`",
            ),
            ("execution", spec.execution == Execution::default(), "it has no tasks"),
            ("jobs", document.get("jobs").is_none(), "it has no jobs"),
        ] {
            if !is_default {
                let reason = format!("open-loop traffic does not look at `[{section}]`: {instead}");
                return Err(document.locate(&BuildError::new("", reason), section));
            }
        }
        let usual = Flit::default();
        for (field, is_usual) in [
            ("packet-flits", flit.packet_flits == usual.packet_flits),
            ("header-flits", flit.header_flits == usual.header_flits),
        ] {
            if !is_usual {
                let reason = "it is about messages of programs; `traffic.flits` are the flits of a packet, its head among them";
                return Err(document.locate(&BuildError::new(field, reason), "network"));
            }
        }
        traffic.measure.check().map_err(|error| document.locate(&error.within("measure"), "traffic"))?;
        traffic.check_search().map_err(|error| document.locate(&error, "traffic"))?;
        let search = traffic.searched();
        if search.is_some() {
            let first = Load::FlitsPerCycle(saturation::FIRST_LOAD);
            (traffic.load, traffic.saturation_precision) = (first, None);
        }
        let topology = build_topology(&spec, document, base)?;
        let network = flit.prepare(&topology).map_err(at("network"))?;
        let nodes: Option<Vec<NodeId>> =
            network.fabric.terminals().iter().map(|terminal| terminal.node).collect();
        let layout = match nodes {
            Some(nodes) => layout(&topology, &nodes),
            None => Layout::flat(network.fabric.terminals().len() as u32),
        };
        let joined = joined(&network, &topology);
        let make = |traffic: &TrafficSpec| plan(traffic, &layout, &network, joined.clone(), spec.seed);
        let mut plan = make(&traffic);
        // sources that cannot make a load that is not run may be able to make another
        let instead = match search {
            Some(precision) if precision < saturation::FIRST_LOAD => vec![precision],
            None if !own_load && traffic.check_common_load().is_ok() => INSTEAD.to_vec(),
            _ => Vec::new(),
        };
        for load in instead {
            if plan.is_err() {
                let other = TrafficSpec { load: Load::FlitsPerCycle(load), ..traffic.clone() };
                let made = make(&other);
                // of a search the least load is told
                if made.is_ok() || search.is_some() {
                    (plan, traffic) = (made, other);
                }
            }
        }
        let plan = plan.map_err(at("traffic"))?;
        // kernels check what they cannot run before time starts
        if choose(traffic.kernel, &network, &plan).map_err(at("traffic"))? {
            Fast::check(&network.fabric, &network.router, &*network.routing)
        } else {
            Full::new(network.fabric.clone(), &network.router, network.routing.clone(), spec.seed).map(drop)
        }
        .map_err(|error| at("network")(error.within("router")))?;
        let stem = Path::new(document.name()).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = spec.name.clone().or(stem).unwrap_or_default();
        let base = base.to_owned();
        Ok(Self {
            spec,
            document: Arc::new(document.clone()),
            name,
            topology,
            base,
            traffic,
            search,
            network,
            layout,
            joined,
            plan: Arc::new(plan),
        })
    }

    /// The same machine and traffic at another load and seed.
    ///
    /// # Errors
    /// A load that the sources cannot make.
    fn at(&self, load: f64, seed: u64) -> Result<Self, BuildError> {
        let mut traffic = self.traffic.clone();
        traffic.check_common_load()?;
        traffic.load = Load::FlitsPerCycle(load);
        let plan = Arc::new(plan(&traffic, &self.layout, &self.network, self.joined.clone(), seed)?);
        let mut spec = self.spec.clone();
        (spec.seed, spec.traffic) = (seed, Some(traffic.clone()));
        Ok(Self {
            spec,
            document: self.document.clone(),
            search: None,
            name: self.name.clone(),
            topology: self.topology.clone(),
            base: self.base.clone(),
            traffic,
            network: self.network.clone(),
            layout: self.layout.clone(),
            joined: self.joined.clone(),
            plan,
        })
    }

    /// Runs, and says what came of it. `started` is when the clock for `wall_s` began; probes of all pairs go to
    /// `sink` one by one.
    ///
    /// # Errors
    /// A network that stands still; [`Error::Stopped`] when `watch` says so and there is nothing to tell yet. A run that is
    /// stopped later has [`RunResult::stopped`].
    pub fn run(
        &self,
        watch: &dyn Watch,
        sink: Option<&mut dyn ProbeSink>,
        started: Instant,
    ) -> Result<RunResult, Error> {
        self.run_on_threads(1, watch, sink, started)
    }

    /// As [`Traffic::run`], with the network cut into parts that run on a thread each, at most `threads`. The
    /// result is the same, bit for bit. What cannot be cut, and what is too small to gain from it, runs on one.
    ///
    /// # Errors
    /// As [`Traffic::run`].
    pub fn run_on_threads(
        &self,
        threads: usize,
        watch: &dyn Watch,
        sink: Option<&mut dyn ProbeSink>,
        started: Instant,
    ) -> Result<RunResult, Error> {
        if let Some(precision) = self.search {
            return self.find_saturation(precision, threads, watch, started);
        }
        let parts = if threads == 1 || sink.is_some() { 1 } else { threads.min(self.most_threads()) };
        self.run_cut(parts, watch, sink, started)
    }

    /// Runs with the network cut into at most `parts` parts.
    fn run_cut(
        &self,
        parts: usize,
        watch: &dyn Watch,
        sink: Option<&mut dyn ProbeSink>,
        started: Instant,
    ) -> Result<RunResult, Error> {
        let Prepared { fabric, router, routing, .. } = &self.network;
        let (fabric, routing, seed) = (fabric.clone(), routing.clone(), self.spec.seed);
        let broken = |error: BuildError| Error::Broken(error.to_string());
        if choose(self.traffic.kernel, &self.network, &self.plan).map_err(broken)? {
            let kernel = Fast::with_parts(fabric, router, routing, seed, parts).map_err(broken)?;
            let ranges = kernel.terminals_of_parts();
            self.run_on(kernel, ranges, watch, sink, started)
        } else {
            let kernel = Full::new(fabric, router, routing, seed).map_err(broken)?;
            self.run_on(kernel, std::iter::once(0..self.plan.terminals).collect(), watch, sink, started)
        }
    }

    /// Threads beyond which a run does not become faster, or 1 where it cannot be cut: packets that wait for
    /// others to arrive look at terminals of other parts.
    fn most_threads(&self) -> usize {
        let alone = self.plan.batch.is_some()
            || self.plan.reply_queue.is_some()
            || self.probes_all_pairs()
            || self.plan.queues.len() > 1;
        if alone { 1 } else { ((self.flit_hops_per_cycle() / LEAST_FLIT_HOPS) as usize).max(1) }
    }

    /// About how many flits go through routers in a cycle: from the load, and the hops of some packets that
    /// take a shortest way.
    fn flit_hops_per_cycle(&self) -> f64 {
        const SAMPLED: u32 = 16;
        let plan = &self.plan;
        let fabric = &self.network.fabric;
        let latency = |channel: &Channel| u64::from(channel.latency);
        let channels = fabric.channels().iter().filter(|channel| channel.end != End::Nothing);
        let (count, cycles) =
            channels.fold((0_u64, 0_u64), |(count, sum), it| (count + 1, sum + latency(it)));
        let of_hop = router_cycles(&self.network.router) as f64 + 1.0 + cycles as f64 / count.max(1) as f64;
        let mut zero_load = ZeroLoad::new(fabric.clone(), &self.network.router);
        let load_lane = |lane: &plan::Lane| plan.classes[lane.class as usize].purpose == Purpose::Load;
        let Some(lane) = plan.lanes.iter().position(load_lane) else { return 0.0 };
        let (mut packets, mut hops) = (0_u32, 0.0);
        for number in 0..SAMPLED {
            let source = (u64::from(number) * u64::from(plan.terminals) / u64::from(SAMPLED)) as u32;
            if let Some((dest, _)) = plan.packet(lane, source, 0)
                && let Some(cycles) = zero_load.cycles(source, dest, 1)
            {
                packets += 1;
                hops += cycles as f64 / of_hop;
            }
        }
        plan.load() * f64::from(plan.terminals) * hops / f64::from(packets.max(1))
    }

    /// Cycles to the farthest terminal of any in an idle network, by those from some of them: half of it at least.
    fn longest_way(&self) -> u64 {
        const SAMPLED: u32 = 4;
        let mut zero_load = ZeroLoad::new(self.network.fabric.clone(), &self.network.router);
        let sources = (0..SAMPLED)
            .map(|number| u64::from(number) * u64::from(self.plan.terminals) / u64::from(SAMPLED));
        sources.map(|source| zero_load.longest(source as u32)).max().unwrap_or(0)
    }

    fn run_on<K: InParts>(
        &self,
        mut kernel: K,
        ranges: Vec<Range<u32>>,
        watch: &dyn Watch,
        sink: Option<&mut dyn ProbeSink>,
        started: Instant,
    ) -> Result<RunResult, Error> {
        let mut traffic = Parts::new(&self.plan, self.traffic.measure.window, ranges, sink);
        let fabric = &self.network.fabric;
        let longest = fabric.channels().iter().map(|it| it.latency.max(it.credit_latency)).max().unwrap_or(1);
        let nodes = &self.network.wiring.nodes;
        let name = |router: u32| self.topology.node_name(nodes[router as usize]).to_owned();
        let explain =
            |kernel: &K| stall::report(fabric, &name, &kernel.waiting(), kernel.now(), kernel.in_flight());
        let longest_way = LazyCell::new(|| self.longest_way());
        let mut run = Run {
            kernel: &mut kernel,
            traffic: &mut traffic,
            watch,
            stage: Stage { phase: Phase::WarmUp, cycle: 0, cycles: 0, least: None, most: None },
            since: 0,
            patience: 10_000 + 4 * u64::from(longest),
            longest_way: &|| *longest_way,
            explain: &explain,
        };
        let course = match self.traffic.batch {
            Some(_) => run.batch(&self.traffic.measure)?,
            None => run.measure(&self.traffic.measure)?,
        };
        let cycles = kernel.now();
        let hops: u64 = kernel.channel_flits().iter().sum();
        // what is told of a large network takes as much memory as a part of it
        drop(kernel);
        let account = traffic.account();
        let statistics = result::result(&traffic, &account, &course, &self.network, &self.topology);
        let flits: u64 = account.totals.accepted.iter().sum();
        let digest = result::digest(&account, &course);
        let counters = BTreeMap::from([
            ("network.cycles".to_owned(), cycles),
            ("network.flit_hops".to_owned(), hops),
            ("traffic.flits".to_owned(), flits),
            ("traffic.packets".to_owned(), account.totals.packets),
        ]);
        let mut notes: Vec<String> = self.unchecked().into_iter().collect();
        notes.extend_from_slice(&self.network.notes);
        if self.traffic.kernel == KernelChoice::Auto {
            notes.extend(refusal(&self.network, &self.plan).map(Fast::note));
        }
        notes.extend(notes::unmapped(&statistics.channels, self.network.fabric.router_count()));
        notes.extend(notes::unfilled(&statistics, self.network.fabric.extremes().most_spacing));
        notes.extend(notes::unprobed(&self.traffic, &statistics));
        notes.extend(notes::uncounted(&self.traffic));
        notes.extend(notes::unheeded(&self.traffic, &self.network.router));
        if self.plan.classes.iter().any(|class| class.load > 0.0) {
            notes.extend(notes::silent(&self.traffic, traffic.senders(), self.plan.terminals));
            notes.extend(notes::partial(&self.traffic, self.plan.partial_senders(), self.plan.terminals));
        }
        let mut checks = Vec::new();
        if course.stopped.is_none() {
            notes.extend(notes::imprecise(&self.traffic, &statistics));
        }
        match course.stopped {
            Some(open) => notes.push(format!(
                "Stopped before the end: {} cycles of the sample had been simulated, and {} of its packets were under way, \
                 which do not count.",
                count(statistics.sample_cycles),
                count(open)
            )),
            None => checks.push(Check::of(
                "every flit that entered the network came out, and every credit",
                flits,
                course.violations,
            )),
        }
        Ok(RunResult {
            stratasim: env!("CARGO_PKG_VERSION").to_owned(),
            title: self.title(),
            spec: self.resolved(),
            seed: self.spec.seed,
            digest,
            makespan_s: cycles as f64 * self.network.clock.period_s(),
            stopped: course.stopped.is_some(),
            checks,
            notes,
            counters,
            traffic: Some(statistics),
            wall_s: started.elapsed().as_secs_f64(),
            peak_rss_bytes: peak_rss_bytes(),
            events: hops,
            ..RunResult::default()
        })
    }

    /// The spec with every default, as in its result.
    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.spec).unwrap_or_default()
    }

    /// What a reader should know where only a part has been looked at for deadlock before the run.
    fn unchecked(&self) -> Option<String> {
        let Verdict::Sampled { destinations } = self.network.deadlock else { return None };
        Some(format!(
            "Too large to be checked whole for deadlock before the run: {destinations} of {} destinations were; had \
             packets waited in a circle, the run would have stopped and named it.",
            self.network.fabric.terminals().len()
        ))
    }

    /// The traffic that was asked for.
    pub(crate) fn traffic(&self) -> &TrafficSpec {
        &self.traffic
    }

    /// The network that it runs on.
    pub(crate) fn network(&self) -> &Prepared {
        &self.network
    }

    /// Seconds of a cycle.
    pub fn period_s(&self) -> f64 {
        self.network.clock.period_s()
    }

    /// Load of all classes, flits per cycle and terminal.
    pub fn load(&self) -> f64 {
        self.plan.load()
    }

    /// Whether its runs look for the load at which the network saturates. No probes of theirs go to a sink.
    pub fn is_search(&self) -> bool {
        self.search.is_some()
    }

    /// Whether probes of every pair are asked for, which [`Traffic::run`] hands to its sink.
    pub fn probes_all_pairs(&self) -> bool {
        self.traffic.probes.as_ref().is_some_and(|probes| probes.pairs.is_none())
    }

    fn title(&self) -> Title {
        let (pattern, injection) = (self.traffic.pattern.kind(), self.traffic.injection.kind());
        // a sum of loads is a number of few digits again
        let load = (self.plan.load() * 1e9).round() / 1e9;
        let what = match (&self.traffic.batch, self.traffic.classes.len()) {
            (Some(batch), _) => {
                format!("batch of {} packets per terminal, {pattern}", count(batch.packets.into()))
            }
            (None, 0) => format!("traffic: {pattern}, {injection}, load {load}"),
            (None, 1) => format!("traffic: 1 class, load {load}"),
            (None, classes) => format!("traffic: {classes} classes, load {load}"),
        };
        let router = &self.network.router;
        Title {
            experiment: self.name.clone(),
            topology: format!(
                "{}: {}, {}",
                self.spec.topology.kind(),
                counted(self.network.fabric.terminals().len() as u64, "terminal"),
                counted(self.network.fabric.router_count() as u64, "router")
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

/// Who reaches whom, where not all reach each other.
fn joined(network: &Prepared, topology: &Arc<Topology>) -> Option<Joined> {
    (!network.all_joined()).then(|| {
        let (network, topology) = (Arc::new(network.clone()), topology.clone());
        let node = |terminal: u32, network: &Prepared| network.fabric.terminal(terminal).node;
        let named = network.clone();
        Joined {
            joined: Arc::new(move |from, to| network.joined(from, to)),
            name: Arc::new(move |terminal| {
                node(terminal, &named).map_or_else(String::new, |node| topology.node_name(node).to_owned())
            }),
        }
    })
}

/// The rate of a terminal that injects a flit in every cycle.
fn flit_rate(network: &Prepared) -> Bandwidth {
    Bandwidth(network.clock.hz() * f64::from(network.flit_bytes))
}

fn plan(
    spec: &TrafficSpec,
    layout: &Layout,
    network: &Prepared,
    joined: Option<Joined>,
    seed: u64,
) -> Result<Plan, BuildError> {
    let ground = Ground {
        flit_rate: flit_rate(network),
        router: &network.router,
        is_checked: network.deadlock != Verdict::NotAsked,
    };
    Plan::new(spec, layout, ground, joined, Streams::new(seed))
}

/// Whether the fast kernel runs it.
///
/// # Errors
/// It is asked for and does not know something.
fn choose(choice: KernelChoice, network: &Prepared, plan: &Plan) -> Result<bool, BuildError> {
    match (choice, refusal(network, plan)) {
        (KernelChoice::Auto, refusal) => Ok(refusal.is_none()),
        (KernelChoice::Full, _) => Ok(false),
        (KernelChoice::Fast, None) => Ok(true),
        (KernelChoice::Fast, Some(what)) => {
            Err(BuildError::new("kernel", format!("the fast kernel does not know {what}; use `auto`")))
        }
    }
}

/// What the fast kernel does not know of it.
fn refusal(network: &Prepared, plan: &Plan) -> Option<&'static str> {
    Fast::refuses(&network.fabric, &network.router, &*network.routing, plan.queues.len() as u8)
}
