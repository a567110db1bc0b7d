//! Several jobs on one machine: `[[job]]` and `[jobs]`.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Streams;
use stratasim_core::{BuildError, Duration, Time};
use stratasim_topo::Topology;
use stratasim_workload::WorkloadSpec;
use stratasim_workload::goal::Schedule;
use stratasim_workload::goal::merge::placement::{JobPlacementSpec, Nodes, placement};
use stratasim_workload::goal::merge::{Job, MergeOptions, NicPolicy, Tenant, merge};

/// One of several jobs that share the machine: `[[job]]`, instead of `[workload]`.
///
/// A job is a schedule (workload `goal`). Section `jobs` says where the jobs run.
///
/// ```toml
/// [[job]]
/// name = "training"
/// workload = { kind = "goal", pattern = { kind = "ring-allreduce" }, ranks = 8, bytes = "64 MB" }
///
/// [[job]]
/// name = "storage"
/// workload = { kind = "goal", pattern = { kind = "incast" }, ranks = 4, bytes = "1 MB" }
/// start = "1 ms"
/// repetitions = 10
///
/// [jobs]
/// placement = { kind = "random" }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct JobSpec {
    /// Its name in tables; `job 0`, `job 1`, ... when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does: a workload that is a schedule, such as `goal`.
    pub workload: WorkloadSpec,
    /// When it starts.
    #[serde(default)]
    pub start: Duration,
    /// How often it runs. A rank begins again when it has finished, whatever the others do.
    #[serde(default = "one")]
    pub repetitions: u32,
    /// Computation of each rank between two repetitions.
    #[serde(default)]
    pub pause: Duration,
}

const fn one() -> u32 {
    1
}

/// Which NIC a job uses on nodes that it shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobNics {
    /// The one that its schedule says, as the other jobs do.
    #[default]
    Shared,
    /// Its own, behind those of the jobs before it; several ranks of a job on a node have their own, too.
    Own,
}

/// How several jobs share the machine: `[jobs]`, beside `[[job]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct JobsSpec {
    /// Which nodes each job gets: `packed`, `round-robin`, `random`, `fill-racks`, `spread-racks` or `list`.
    pub placement: JobPlacementSpec,
    /// Ranks of one job on each of its nodes; not with `list`, which says where each rank is.
    pub ranks_per_node: u32,
    /// Whether jobs may share nodes (several tenants); each then has streams of its own.
    pub shared: bool,
    /// NICs of jobs on shared nodes.
    pub nics: JobNics,
    /// Grouping of the topology that `fill-racks` and `spread-racks` mean.
    pub racks: String,
    /// Runs each job alone on the same nodes, too, and tells its slowdown.
    pub alone: bool,
}

impl Default for JobsSpec {
    fn default() -> Self {
        Self {
            placement: JobPlacementSpec::default(),
            ranks_per_node: 1,
            shared: false,
            nics: JobNics::Shared,
            racks: "rack".to_owned(),
            alone: true,
        }
    }
}

impl JobsSpec {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A schedule that runs in place of a program.
pub struct ScheduleWork {
    /// What the ranks do; with several jobs, a rank is a compute node.
    pub schedule: Schedule,
    /// The jobs in it; empty when it is one.
    pub jobs: Vec<PlacedJob>,
    /// Node, job and rank of every tenant, ascending.
    tenants: Vec<(u32, u32, u32)>,
}

/// A job and where it runs.
pub struct PlacedJob {
    /// Its name.
    pub name: String,
    /// When it starts.
    pub start: Time,
    /// Its ranks: node, operations, streams.
    pub tenants: Vec<Tenant>,
    /// The same job without the others, on the same nodes; where wanted.
    pub alone: Option<Lone>,
}

/// A job alone on the machine. Of many jobs only one schedule at a time is made.
pub struct Lone {
    schedule: Schedule,
    nodes: Vec<u32>,
    repetitions: u32,
    pause_ns: u64,
    options: MergeOptions,
}

impl Lone {
    /// What the nodes do.
    ///
    /// # Errors
    /// As those of [`merge`].
    pub fn merged(&self) -> Result<Schedule, BuildError> {
        merge(&[self.job("", self.nodes.clone())], &self.options).map(|merged| merged.schedule)
    }

    /// The nodes of the job, ascending, and what they do: the same without all others, which do nothing.
    ///
    /// # Errors
    /// As those of [`merge`].
    pub fn merged_on_its_nodes(&self) -> Result<(Vec<u32>, Schedule), BuildError> {
        let mut own = self.nodes.clone();
        own.sort_unstable();
        own.dedup();
        let place = |node: &u32| own.partition_point(|other| other < node) as u32;
        let job = self.job("", self.nodes.iter().map(place).collect());
        let options = MergeOptions { nodes: own.len() as u32, ..self.options };
        let schedule = merge(&[job], &options)?.schedule;
        Ok((own, schedule))
    }

    fn job<'a>(&'a self, name: &'a str, nodes: Vec<u32>) -> Job<'a> {
        Job {
            name,
            schedule: &self.schedule,
            nodes,
            // whoever runs it lets nothing of the job begin before its start: a computation before it would be work
            start_offset_ns: 0,
            repetitions: self.repetitions,
            pause_ns: self.pause_ns,
        }
    }
}

impl ScheduleWork {
    /// A schedule of no or several jobs, whose ranks then are compute nodes.
    pub fn new(schedule: Schedule, jobs: Vec<PlacedJob>) -> Self {
        let mut tenants: Vec<(u32, u32, u32)> = Vec::new();
        for (number, job) in (0..).zip(&jobs) {
            tenants.extend((0..).zip(&job.tenants).map(|(rank, tenant)| (tenant.node, number, rank)));
        }
        tenants.sort_unstable();
        Self { schedule, jobs, tenants }
    }

    /// The jobs that run on a compute node, and which of their ranks do.
    pub fn tenants_of(&self, node: u32) -> impl Iterator<Item = (&PlacedJob, u32)> {
        let first = self.tenants.partition_point(|&(at, ..)| at < node);
        let here = self.tenants[first..].iter().take_while(move |&&(at, ..)| at == node);
        here.map(|&(_, job, rank)| (&self.jobs[job as usize], rank))
    }

    /// First operation and job of each part of the schedule that belongs to one rank of one job,
    /// ascending; only with several jobs.
    pub fn parts(&self) -> (Vec<u32>, Vec<usize>) {
        let mut parts: Vec<(u32, usize)> = Vec::new();
        for (number, job) in self.jobs.iter().enumerate() {
            let filled = job.tenants.iter().filter(|tenant| !tenant.operations.is_empty());
            parts.extend(filled.map(|tenant| (tenant.operations.start, number)));
        }
        parts.sort_unstable();
        parts.into_iter().unzip()
    }
}

/// Reads the jobs, places them on the compute nodes of `topology` and merges them.
///
/// # Errors
/// A job that is no schedule; jobs that do not fit on the machine or beside each other.
pub fn build(
    jobs: &[JobSpec],
    how: &JobsSpec,
    topology: &Topology,
    streams: Streams,
    base: &Path,
) -> Result<ScheduleWork, BuildError> {
    check(jobs)?;
    let mut schedules = Vec::with_capacity(jobs.len());
    for (number, job) in jobs.iter().enumerate() {
        let own = Streams::new(rand::Rng::next_u64(&mut streams.indexed("workload of job", number as u64)));
        let schedule = job
            .workload
            .plugin()
            .schedule(base, own)
            .map_err(|error| error.within("workload").within(&number.to_string()).within("job"))?;
        let Some(schedule) = schedule else {
            let reason = format!("`{}` is no schedule; jobs are of kind `goal`", job.workload.kind());
            return Err(BuildError::new(format!("job.{number}.workload.kind"), reason));
        };
        schedules.push(schedule);
    }
    let names: Vec<String> = (0..jobs.len())
        .map(|number| jobs[number].name.clone().unwrap_or_else(|| format!("job {number}")))
        .collect();
    let nodes = topology.compute_nodes();
    if matches!(how.placement, JobPlacementSpec::List(_)) && how.ranks_per_node != 1 {
        let reason = "the list says where each rank is; leave one of the two out";
        return Err(BuildError::new("jobs.ranks-per-node", reason));
    }
    let racks = racks(how, topology)?;
    let count = nodes.len() as u32;
    let machine = Nodes { count, ranks_per_node: how.ranks_per_node, shared: how.shared, rack_of: &racks };
    let sizes: Vec<u32> = schedules.iter().map(Schedule::ranks).collect();
    let within = |error: BuildError| error.within("jobs");
    let placed = placement(&how.placement, &sizes, &machine, &streams);
    let placed = placed.map_err(|error| match (&how.placement, error.field.split('.').next()) {
        // what the list says stands in the list; that there are too few nodes stands nowhere
        (JobPlacementSpec::List(_), Some("nodes")) => error.within("placement").within("jobs"),
        (_, Some("nodes")) => BuildError::new("job", error.reason),
        _ => within(error),
    })?;
    let nics = match how.nics {
        JobNics::Shared => NicPolicy::Shared,
        JobNics::Own => NicPolicy::Own,
    };
    let options = MergeOptions { nodes: count, nics };
    let lone: Vec<Lone> = schedules
        .into_iter()
        .zip(placed)
        .zip(jobs)
        .map(|((schedule, nodes), job)| Lone {
            schedule,
            nodes,
            repetitions: job.repetitions,
            pause_ns: ns(job.pause),
            options,
        })
        .collect();
    let merging: Vec<Job<'_>> =
        lone.iter().zip(&names).map(|(lone, name)| lone.job(name, lone.nodes.clone())).collect();
    let merged = merge(&merging, &options).map_err(within)?;
    drop(merging);
    let is_wanted = how.alone && jobs.len() > 1;
    let placed_jobs = names.into_iter().zip(merged.jobs).zip(lone).zip(jobs);
    let placed_jobs = placed_jobs.map(|(((name, tenants), lone), job)| {
        let start = Time::ZERO + job.start;
        PlacedJob { name, start, tenants, alone: is_wanted.then_some(lone) }
    });
    let placed_jobs = placed_jobs.collect();
    Ok(ScheduleWork::new(merged.schedule, placed_jobs))
}

/// What is wrong with a job by itself.
fn check(jobs: &[JobSpec]) -> Result<(), BuildError> {
    for (number, job) in jobs.iter().enumerate() {
        if job.repetitions == 0 {
            return Err(BuildError::new(format!("job.{number}.repetitions"), "at least once, got 0"));
        }
        let same = jobs[..number].iter().position(|other| job.name.is_some() && other.name == job.name);
        if let (Some(name), Some(same)) = (&job.name, same) {
            let reason = format!("`{name}` is the name of job {same}, too");
            return Err(BuildError::new(format!("job.{number}.name"), reason));
        }
    }
    Ok(())
}

/// The rack of each compute node, where the placement asks for it.
fn racks(how: &JobsSpec, topology: &Topology) -> Result<Vec<u32>, BuildError> {
    if !matches!(how.placement, JobPlacementSpec::FillRacks(_) | JobPlacementSpec::SpreadRacks(_)) {
        if how.racks != JobsSpec::default().racks {
            let kind = how.placement.kind();
            let reason =
                format!("`{kind}` does not look at racks: it goes with `fill-racks` and `spread-racks`");
            return Err(BuildError::new("jobs.racks", reason));
        }
        return Ok(Vec::new());
    }
    let Some(groups) = topology.grouping(&how.racks) else {
        let known: Vec<&str> = topology.groupings().collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let reason = format!(
            "`{}` needs to know the racks, and this topology has no grouping `{}` (it has: {known})",
            how.placement.kind(),
            how.racks
        );
        return Err(BuildError::new("jobs.racks", reason));
    };
    Ok(topology.compute_nodes().iter().map(|node| groups[node.index()]).collect())
}

/// Whole nanoseconds, as schedules count.
fn ns(duration: Duration) -> u64 {
    duration.as_ps().div_ceil(1000)
}
