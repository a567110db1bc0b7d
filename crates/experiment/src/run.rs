//! Running what was prepared, and the account of it.

use std::collections::BTreeMap;
use std::time::Instant;

use stratasim_core::model::{Compute as _, NetworkReport};
use stratasim_core::observe::{Activity, Observer};
use stratasim_core::random::key;
use stratasim_core::words::counted;
use stratasim_core::{Bandwidth, LinkId, NodeId, Rank, Time};
use stratasim_engine::{Engine, RankAccount, RunError, Summary, VertexAccount};
use stratasim_report::flows::{FlowsResult, QueueResult};
use stratasim_report::result::{
    Check, Iteration, LinkResult, MemoryUse, RankResult, RunResult, Title, VertexResult,
};
use stratasim_report::{Labels, RunResult as Result_, Unit};
use stratasim_topo::Topology;
use stratasim_workload::goal::{ANY, Operation, OperationKind, Schedule};
use stratasim_workload::program::Program;

use crate::bounds::bounds;
use crate::build::Prepared;
use crate::jobs::ScheduleWork;

/// Links that a result lists; more are left to [`Prepared::busiest_links`].
const LISTED_LINKS: usize = 1000;

/// Names of what runs, for reports.
pub struct RunLabels<'a> {
    /// The machine.
    pub topology: &'a Topology,
    /// The program.
    pub program: &'a Program,
    /// Where each rank runs.
    pub places: &'a [stratasim_engine::Place],
    /// The schedule that runs in place of the program.
    pub schedule: Option<&'a ScheduleWork>,
}

impl Labels for RunLabels<'_> {
    fn rank(&self, rank: Rank) -> String {
        let mut about = self.node(rank);
        let tenants: Vec<_> = self.schedule.into_iter().flat_map(|work| work.tenants_of(rank.0)).collect();
        let jobs = 1 + tenants.windows(2).filter(|pair| pair[0].0.name != pair[1].0.name).count();
        // pictures have no room for more
        match (&tenants[..], jobs) {
            ([], _) => {}
            ([(job, of)], _) => about += &format!(", {} {of}", job.name),
            ([(job, _), ..], 1) => {
                about += &format!(", {} of {}", counted(tenants.len() as u64, "rank"), job.name);
            }
            ([(one, first), (other, second)], _) => {
                about += &format!(", {} {first}, {} {second}", one.name, other.name);
            }
            _ => about += &format!(", {}", counted(jobs as u64, "job")),
        }
        format!("rank {rank} ({about})")
    }

    fn node(&self, rank: Rank) -> String {
        self.places.get(rank.index()).map_or_else(String::new, |p| self.topology.node_name(p.node).to_owned())
    }

    fn place(&self, node: NodeId) -> String {
        self.topology.node_name(node).to_owned()
    }

    fn vertex(&self, vertex: u32) -> String {
        match self.schedule {
            Some(work) => operation_name(&work.schedule, vertex),
            None => self.program.name(vertex).to_owned(),
        }
    }

    fn link(&self, link: LinkId) -> String {
        self.topology.link_name(link)
    }

    fn link_rate(&self, link: LinkId) -> Option<Bandwidth> {
        Some(self.topology.link(link).bandwidth)
    }

    fn stream(&self, rank: Rank, stream: u16, activity: Activity) -> String {
        match self.schedule {
            Some(work) => {
                let mut tenants = work.tenants_of(rank.0);
                match tenants.find(|(job, of)| job.tenants[*of as usize].cpus.contains(&stream.into())) {
                    Some((job, of)) => format!("{} {of}, cpu {stream}", job.name),
                    None => format!("cpu {stream}"),
                }
            }
            None => stratasim_report::labels::stream_name(stream, activity),
        }
    }
}

/// An operation as a reader knows it, such as `l17: send to 3`.
pub(crate) fn operation_name(schedule: &Schedule, operation: u32) -> String {
    let rank = schedule.rank_of(operation);
    let label = schedule.label(rank, operation);
    let Operation { kind, peer, .. } = schedule.operation(rank, operation);
    match kind {
        OperationKind::Send => format!("{label}: send to {peer}"),
        OperationKind::Receive if peer == ANY => format!("{label}: receive"),
        OperationKind::Receive => format!("{label}: receive from {peer}"),
        OperationKind::Calc => format!("{label}: calc"),
    }
}

impl Prepared {
    /// Names of what runs.
    pub fn labels(&self) -> RunLabels<'_> {
        RunLabels {
            topology: &self.topology,
            program: &self.program,
            places: &self.places,
            schedule: self.schedule.as_deref(),
        }
    }

    /// Runs to the end, watched by `observer`. `started` is when the clock for `wall_s` began.
    ///
    /// # Errors
    /// A run that stalled, or a message that could not be carried.
    pub fn run(&mut self, observer: &mut dyn Observer, started: Instant) -> Result<RunResult, RunError> {
        if let Some(work) = self.schedule.clone() {
            let (summary, jobs) = self.run_schedule(&work, observer)?;
            let mut result = self.result(&summary.run, started);
            result.finish_ns = Some(finish_ns(&summary.run));
            result.jobs = jobs;
            result.notes.extend(remark_notes(&work.schedule));
            if summary.size_mismatches > 0 {
                result.notes.push(size_note(summary.size_mismatches));
            }
            result.wall_s = started.elapsed().as_secs_f64();
            return Ok(result);
        }
        let engine = Engine::new(
            &self.program,
            &self.places,
            self.network.as_mut(),
            &mut self.compute,
            observer,
            self.options,
        );
        let summary = engine.run()?;
        Ok(self.result(&summary, started))
    }

    fn result(&mut self, summary: &Summary, started: Instant) -> RunResult {
        let report = self.network.report(summary.makespan);
        let bounds = if summary.stopped { Vec::new() } else { bounds(self, &report) };
        let mut result = Result_ {
            stratasim: env!("CARGO_PKG_VERSION").to_owned(),
            title: self.title(),
            spec: serde_json::to_value(&self.spec).unwrap_or_default(),
            seed: self.spec.seed,
            digest: format!("{:016x}{:016x}", summary.digest[0], summary.digest[1]),
            makespan_s: summary.makespan.as_secs_f64(),
            stopped: false,
            iterations: summary
                .iterations
                .iter()
                .filter(|(start, end)| start <= end)
                .map(|(start, end)| Iteration { start_s: start.as_secs_f64(), end_s: end.as_secs_f64() })
                .collect(),
            batches_per_s: self
                .program
                .summary()
                .batches_per_iteration
                .filter(|_| summary.makespan.as_ps() > 0 && !summary.stopped)
                .map(|batches| {
                    batches * f64::from(self.program.iterations()) / summary.makespan.as_secs_f64()
                }),
            ranks: summary.ranks.iter().copied().map(rank_result).collect(),
            finish_ns: None,
            jobs: Vec::new(),
            vertices: self.vertices(summary),
            memory: self.program.summary().memory.map(|memory| {
                MemoryUse::grouped(self.places.iter().map(|_| (memory.local_bytes, memory.remote_bytes)))
            }),
            links: Some(self.busiest_links(&report, summary.makespan, LISTED_LINKS)),
            link_utilisation_cdf: LinkResult::utilisation_cdf(&report, summary.makespan),
            flows: FlowsResult::of(&report.flows, &self.labels()),
            queues: QueueResult::longest(&report.queues, &self.labels()),
            queue_most_bytes_cdf: QueueResult::cdf(&report.queues),
            queue_depths: Vec::new(),
            links_over_time: Vec::new(),
            queues_over_time: Vec::new(),
            bounds,
            binding: None,
            checks: self.checks(summary, &report),
            notes: {
                let network =
                    report.notes.iter().cloned().chain(self.unused_routing()).chain(self.unheeded.clone());
                let program = self.program.summary().notes.iter().cloned().chain(self.untold_vertices());
                program.chain(network).collect()
            },
            traffic: None,
            forecast: Vec::new(),
            counters: counters(summary, &report),
            wall_s: started.elapsed().as_secs_f64(),
            peak_rss_bytes: peak_rss_bytes(),
            events: summary.tasks,
        };
        if summary.stopped {
            result.stop();
        }
        result.bind();
        // dates are whole picoseconds: each message and task may be a fraction of one short
        let messages = ["network.flows", "network.pipeline_messages"].map(|name| result.counters.get(name));
        let roundings = summary.tasks + messages.into_iter().flatten().sum::<u64>();
        let longest_s = result.makespan_s * (1.0 + 1e-9) + roundings as f64 * 1e-12;
        let broken: Vec<String> = result
            .binding
            .iter()
            .filter(|binding| longest_s < binding.bound.seconds && self.options.timing_precision.as_ps() == 0)
            .map(|b| {
                format!(
                    "the run took {} s, {} ({}) alone takes {} s",
                    result.makespan_s, b.bound.name, b.bound.place, b.bound.seconds
                )
            })
            .collect();
        let count = result.bounds.len() as u64;
        result.checks.push(Check::of("no run beat its lower bounds", count, broken));
        result.checks.retain(|check| check.checked > 0 || !check.ok);
        self.report = report;
        result
    }

    /// How the tasks of each vertex fared, where that is told.
    fn vertices(&self, summary: &Summary) -> Vec<VertexResult> {
        let ranks = summary.ranks.len().max(1) as f64;
        let accounts = (0..).zip(&summary.vertices).filter(|(_, account)| account.tasks > 0);
        let result = |(vertex, account): (u32, &VertexAccount)| VertexResult {
            name: self.program.name(vertex).to_owned(),
            tasks: account.tasks,
            mean_s: account.total_ps as f64 / account.tasks as f64 * 1e-12,
            longest_s: account.longest.as_secs_f64(),
            comm_exposed_s: account.exposed_ps as f64 / ranks * 1e-12,
        };
        accounts.map(result).collect()
    }

    /// The account of the `most` links that were busiest, busiest first.
    pub fn busiest_links(&self, report: &NetworkReport, makespan: Time, most: usize) -> Vec<LinkResult> {
        let name = |node| self.topology.node_name(node).to_owned();
        LinkResult::of_network(report, makespan, most, |link| {
            let ends = self.topology.link(link).ends.map(|[from, to]| (name(from), name(to)));
            let (from, to) = ends.unwrap_or_default();
            (self.topology.link_name(link), from, to)
        })
    }

    fn title(&self) -> Title {
        let topology = &self.topology;
        let compute: BTreeMap<&str, usize> = topology
            .compute_nodes()
            .iter()
            .filter_map(|&node| topology.compute_type(node))
            .fold(BTreeMap::new(), |mut count, compute| {
                *count.entry(compute.name.as_str()).or_default() += 1;
                count
            });
        let nodes: Vec<_> = compute.iter().map(|(name, number)| called(name, *number)).collect();
        Title {
            experiment: self.name.clone(),
            topology: format!(
                "{}: {}, {}, {}",
                self.spec.topology.kind(),
                nodes.join(" + "),
                counted(topology.node_count() as u64, "node"),
                counted(topology.link_count() as u64, "link")
            ),
            workload: self.work_title(),
            network: match self.spec.network.plugin().in_short() {
                Some(words) => format!("{}, {words}", self.spec.network.kind()),
                None => self.spec.network.kind().to_owned(),
            },
        }
    }

    /// What to say of a `[routing]` that the network does not look at.
    fn unused_routing(&self) -> Option<String> {
        let ways = self.spec.network.plugin().own_routing()?;
        (self.spec.routing.kind() != "auto").then(|| {
            format!("`[routing]` does not count here: the {} level {ways}.", self.spec.network.kind())
        })
    }

    /// The work in a few words.
    fn work_title(&self) -> String {
        let kind = self.spec.workload.as_ref().map_or("jobs", |workload| workload.kind());
        match self.schedule.as_deref() {
            Some(ScheduleWork { schedule, jobs, .. }) if jobs.is_empty() => schedule_title(kind, schedule),
            Some(ScheduleWork { schedule, jobs, .. }) => format!(
                "{} on {}, {}",
                counted(jobs.len() as u64, "job"),
                counted(schedule.ranks().into(), "node"),
                counted(schedule.len().into(), "operation")
            ),
            None => format!(
                "{kind}: {}, {}, {}",
                counted(self.program.ranks().into(), "rank"),
                counted(
                    self.program.vertices().iter().map(|v| u64::from(self.program.scope_len(v.scope))).sum(),
                    "task"
                ),
                counted(self.program.iterations().into(), "iteration")
            ),
        }
    }

    /// The physics of the run.
    fn checks(&self, summary: &Summary, report: &NetworkReport) -> Vec<Check> {
        let mut checks: Vec<Check> = (report.invariants.iter())
            .map(|found| Check::of(found.name, found.checked, found.violations.clone()))
            .collect();
        checks.extend([
            Check::of(
                "no collective beat its bandwidth bound",
                summary.collectives,
                summary.violations.clone(),
            ),
            Check::of("no task beat the peak rate of its node", summary.tasks, self.compute.violations()),
        ]);
        if self.program.summary().memory.is_some() {
            let violations = self.overfull_memories();
            checks.push(Check::of(
                "no memory holds more than its capacity",
                2 * self.places.len() as u64,
                violations,
            ));
        }
        checks
    }
}

/// A schedule in a few words.
pub(crate) fn schedule_title(kind: &str, schedule: &Schedule) -> String {
    let ranks = counted(schedule.ranks().into(), "rank");
    format!("{kind}: {ranks}, {}", counted(schedule.len().into(), "operation"))
}

/// The account of a rank in seconds.
pub(crate) fn rank_result(rank: RankAccount) -> RankResult {
    RankResult {
        finish_s: rank.finish.as_secs_f64(),
        compute_s: rank.compute.as_secs_f64(),
        comm_exposed_s: rank.communication.as_secs_f64(),
        memory_s: rank.memory.as_secs_f64(),
        idle_s: rank.idle.as_secs_f64(),
    }
}

/// When each rank finished, in nanoseconds.
pub(crate) fn finish_ns(summary: &Summary) -> Vec<f64> {
    summary.ranks.iter().map(|rank| rank.finish.as_ps() as f64 / 1000.0).collect()
}

/// What a reader of the schedule's files must know.
pub(crate) fn remark_notes(schedule: &Schedule) -> impl Iterator<Item = String> {
    schedule.remarks().iter().map(|remark| format!("{remark}."))
}

/// What is said about receives whose size is not that of their message.
pub(crate) fn size_note(mismatches: u64) -> String {
    let (receives, own) =
        (counted(mismatches, "receive"), if mismatches == 1 { "its own" } else { "their own" });
    format!("{receives} took a message of another size than {own}; the message's counts.")
}

pub(crate) fn count(number: u64) -> String {
    Unit::Count.format(number as f64)
}

/// `8 H100`; a type without a name is described, which needs brackets.
fn called(name: &str, number: usize) -> String {
    let number = count(number as u64);
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("{number} ({name})")
    } else {
        format!("{number} {name}")
    }
}

fn counters(summary: &Summary, report: &NetworkReport) -> BTreeMap<String, u64> {
    let mut counters: BTreeMap<String, u64> =
        report.counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    counters.insert("engine.tasks".to_owned(), summary.tasks);
    counters.insert("engine.instants".to_owned(), summary.instants);
    let used = report.link_bytes.iter().filter(|bytes| **bytes > 0.0).count();
    counters.insert("network.links_used".to_owned(), used as u64);
    counters
}

/// A digest of numbers in their order, in hexadecimal.
pub(crate) fn digest_of(numbers: impl Iterator<Item = u64>) -> String {
    let both = numbers.fold([1, 2], |digest: [u64; 2], number| digest.map(|half| key(half, number)));
    format!("{:016x}{:016x}", both[1], both[0])
}

/// Largest resident memory of this process so far; 0 where the system does not say.
pub fn peak_rss_bytes() -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}
