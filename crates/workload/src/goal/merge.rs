//! Several schedules on one machine: jobs on nodes of their own, tenants on shared ones.
//!
//! Each rank of each job becomes a tenant of a node. The tenants of a node follow one another, job by
//! job and rank by rank; each has its own streams: the first tenant's cpus stay as they are, those of the
//! next begin behind them. NICs are shared, or as the [`NicPolicy`] says. Peers become nodes and tags
//! are kept apart (`merge/tags.rs` says how), so that a message reaches the rank that it was meant for. The
//! result is a schedule like any other, whose ranks are nodes.
//!
//! LogGOPSim charges a receiver on the sender's cpu and NIC. Under its semantics tenants that do not have
//! the same place on all their nodes take time on each other's streams; under ours they do not.

pub mod placement;
mod tags;

use std::ops::Range;

use stratasim_core::BuildError;

use self::tags::Tags;
use super::{ANY, Operation, OperationKind, Schedule, ScheduleBuilder};

/// A job and where its ranks run.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// How errors call it.
    pub name: &'a str,
    /// What it does.
    pub schedule: &'a Schedule,
    /// The node of each rank.
    pub nodes: Vec<u32>,
    /// Nanoseconds from the beginning during which its ranks do nothing: a computation on the first
    /// stream of each that all its operations wait for.
    pub start_offset_ns: u64,
    /// How often it runs. A rank begins again when all its own operations have ended, whatever the
    /// other ranks do.
    pub repetitions: u32,
    /// Computation of each rank between two repetitions, in nanoseconds, on its first stream.
    pub pause_ns: u64,
}

impl<'a> Job<'a> {
    /// `schedule` once, from the beginning, rank `r` on node `nodes[r]`.
    pub fn new(name: &'a str, schedule: &'a Schedule, nodes: Vec<u32>) -> Self {
        Self { name, schedule, nodes, start_offset_ns: 0, repetitions: 1, pause_ns: 0 }
    }
}

/// Which NIC of a node a tenant uses. Its schedule counts from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NicPolicy {
    /// The one that it says, as the other tenants.
    #[default]
    Shared,
    /// Its own: those of the second tenant of a node begin behind those of the first.
    Own,
    /// As `Own`, modulo so many.
    Modulo(u16),
}

/// The machine that jobs are merged on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeOptions {
    /// Number of nodes: ranks of the result.
    pub nodes: u32,
    /// NICs of tenants.
    pub nics: NicPolicy,
}

impl MergeOptions {
    /// `nodes` nodes whose tenants share the NICs.
    pub const fn new(nodes: u32) -> Self {
        Self { nodes, nics: NicPolicy::Shared }
    }
}

/// Several schedules as one, and what became of each.
#[derive(Debug, Clone)]
pub struct Merged {
    /// One rank per node.
    pub schedule: Schedule,
    /// The ranks of each job, in the order of the jobs.
    pub jobs: Vec<Vec<Tenant>>,
}

/// What became of a rank of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// The node that it runs on.
    pub node: u32,
    /// Its operations, counted over all nodes; all repetitions, and the computations before and between.
    pub operations: Range<u32>,
    /// Its streams. Nobody else uses them.
    pub cpus: Range<u32>,
    /// The first of its NICs.
    pub first_nic: u16,
}

/// Merges `jobs` on `options.nodes` nodes.
///
/// # Errors
/// A list of nodes that does not fit the job; a node or peer that does not exist; more streams or NICs than
/// 65536 on a node; a wildcard that could match another tenant's message; more operations than a schedule
/// holds.
pub fn merge(jobs: &[Job<'_>], options: &MergeOptions) -> Result<Merged, BuildError> {
    let mut machine = Machine::settle(jobs, options)?;
    let tags = Tags::choose(jobs, &machine.tenants, options.nodes)?;
    let mut builder = ScheduleBuilder::new(options.nodes);
    let (operations, edges) = jobs.iter().fold((0_u64, 0_u64), |(operations, edges), job| {
        let times = u64::from(job.repetitions);
        let extra = u64::from(job.schedule.ranks()) * times;
        (
            operations.saturating_add(times.saturating_mul(job.schedule.len().into()) + extra),
            edges.saturating_add(times.saturating_mul(job.schedule.edge_count().into())),
        )
    });
    if operations.max(edges) >= u64::from(u32::MAX) {
        let reason = format!("{operations} operations and {edges} dependencies; a schedule holds 2^32 - 2");
        return Err(BuildError::new("", reason));
    }
    builder.reserve(operations as usize, edges as usize);
    let mut copy = Copying::default();
    let mut written = 0;
    for node in 0..options.nodes {
        for at in machine.on_node(node) {
            let (job, rank) = machine.order[at];
            let first = written + builder.rank_len();
            copy.write(&jobs[job as usize], job, rank, &machine.tenants, &tags, &mut builder)?;
            let end = written + builder.rank_len();
            machine.tenants[job as usize][rank as usize].tenant.operations = first..end;
        }
        written += builder.rank_len();
        builder.close_rank()?;
    }
    let tenants = machine.tenants.into_iter().map(|job| job.into_iter().map(|place| place.tenant).collect());
    let mut schedule = builder.build()?;
    for remark in jobs.iter().flat_map(|job| job.schedule.remarks()) {
        // files may be there twice
        if !schedule.remarks.contains(remark) {
            schedule.remarks.push(remark.clone());
        }
    }
    Ok(Merged { jobs: tenants.collect(), schedule })
}

/// More nodes than any machine has; their number may come from a file.
const MOST_NODES: u32 = 1 << 26;

/// A tenant, and its number on the node.
#[derive(Debug)]
struct Settled {
    tenant: Tenant,
    slot: u32,
    /// NICs that it may use; more wrap around.
    nics: u32,
}

#[derive(Debug)]
struct Machine {
    tenants: Vec<Vec<Settled>>,
    /// (job, rank), node by node, and the first of each node, then the total.
    order: Vec<(u32, u32)>,
    first: Vec<usize>,
}

impl Machine {
    fn settle(jobs: &[Job<'_>], options: &MergeOptions) -> Result<Self, BuildError> {
        if options.nodes > MOST_NODES {
            let reason = format!("at most {MOST_NODES} nodes, got {}", options.nodes);
            return Err(BuildError::new("nodes", reason));
        }
        let mut on_node = vec![(0_u32, 0_u32, 0_u32); options.nodes as usize];
        let mut tenants = Vec::with_capacity(jobs.len());
        for job in jobs {
            let ranks = job.schedule.ranks();
            if job.nodes.len() != ranks as usize {
                let reason = format!("{} nodes for the {ranks} ranks of job `{}`", job.nodes.len(), job.name);
                return Err(BuildError::new("nodes", reason));
            }
            if job.repetitions == 0 {
                let reason = format!("job `{}` runs at least once, got 0", job.name);
                return Err(BuildError::new("repetitions", reason));
            }
            let (cpus, nics) = (job.schedule.cpus(), job.schedule.nics());
            let mut settled = Vec::with_capacity(job.nodes.len());
            for &node in &job.nodes {
                let Some((slot, first_cpu, first_nic)) = on_node.get_mut(node as usize) else {
                    let reason = format!(
                        "job `{}` has a rank on node {node}, the machine has nodes 0 to {}",
                        job.name,
                        u64::from(options.nodes).saturating_sub(1)
                    );
                    return Err(BuildError::new("nodes", reason));
                };
                let (first, most) = match options.nics {
                    NicPolicy::Shared => (0, nics),
                    NicPolicy::Own => (*first_nic, *first_nic + nics),
                    NicPolicy::Modulo(0) => {
                        return Err(BuildError::new("nics", "a node has at least one NIC, got 0"));
                    }
                    NicPolicy::Modulo(count) => (*first_nic % u32::from(count), count.into()),
                };
                let limit = 1 << 16;
                if *first_cpu + cpus > limit || most > limit {
                    let reason = format!(
                        "node {node} has {slot} tenants with {first_cpu} streams and {first_nic} NICs, and job `{}` needs {cpus} and {nics} more; a node has {limit} of each",
                        job.name
                    );
                    return Err(BuildError::new("nodes", reason));
                }
                let cpus = *first_cpu..*first_cpu + cpus;
                (*first_cpu, *first_nic) = (cpus.end, first_nic.saturating_add(nics));
                let tenant = Tenant { node, operations: 0..0, cpus, first_nic: first as u16 };
                settled.push(Settled { tenant, slot: *slot, nics: most });
                *slot += 1;
            }
            tenants.push(settled);
        }
        let mut first = Vec::with_capacity(on_node.len() + 1);
        let mut total = 0;
        for (slots, ..) in &on_node {
            first.push(total);
            total += *slots as usize;
        }
        first.push(total);
        let mut order = vec![(0, 0); total];
        for (job, ranks) in tenants.iter().enumerate() {
            for (rank, settled) in ranks.iter().enumerate() {
                order[first[settled.tenant.node as usize] + settled.slot as usize] =
                    (job as u32, rank as u32);
            }
        }
        Ok(Self { tenants, order, first })
    }

    fn on_node(&self, node: u32) -> Range<usize> {
        self.first[node as usize]..self.first[node as usize + 1]
    }
}

/// Scratch of copying one rank.
#[derive(Debug, Default)]
struct Copying {
    waits: Vec<u32>,
    sources: Vec<u32>,
    sinks: Vec<u32>,
}

impl Copying {
    fn write(
        &mut self,
        job: &Job<'_>,
        number: u32,
        rank: u32,
        tenants: &[Vec<Settled>],
        tags: &Tags,
        builder: &mut ScheduleBuilder,
    ) -> Result<(), BuildError> {
        let schedule = job.schedule;
        let range = schedule.of_rank(rank);
        if range.is_empty() {
            return Ok(());
        }
        let own = &tenants[number as usize];
        let here = &own[rank as usize];
        let first_cpu = here.tenant.cpus.start as u16;
        let idle = |ns| Operation::calc(ns).on_cpu(first_cpu);
        // what everything of the next repetition waits for
        let mut gates = Vec::new();
        if job.start_offset_ns > 0 {
            gates.push(builder.push(idle(job.start_offset_ns)));
        }
        if job.repetitions > 1 || !gates.is_empty() {
            self.find_ends(schedule, rank);
        }
        for repetition in 0..job.repetitions {
            let count = gates.len();
            let joined = count * self.sources.len() > count + self.sources.len();
            if repetition > 0 && (joined || job.pause_ns > 0) {
                let join = builder.push(idle(job.pause_ns));
                gates.drain(..).for_each(|before| builder.requires(join, before));
                gates.push(join);
            }
            let base = builder.rank_len();
            for operation in range.clone() {
                let mut copy = schedule.operation(rank, operation);
                copy.cpu += first_cpu;
                if copy.kind != OperationKind::Calc {
                    let peer = peer_of(job, rank, operation, copy.peer, own)?;
                    copy.tag = tags.of(&copy, here.slot, peer.map(|peer| peer.slot), number);
                    copy.peer = peer.map_or(ANY, |peer| peer.tenant.node);
                    copy.nic = ((u32::from(here.tenant.first_nic) + u32::from(copy.nic)) % here.nics) as u16;
                }
                builder.push(copy);
            }
            for operation in range.clone() {
                let before = base + (operation - range.start);
                for edge in schedule.edges(operation) {
                    let after = base + edge.after();
                    if edge.on_start() {
                        builder.requires_start(after, before);
                    } else {
                        builder.requires(after, before);
                    }
                }
            }
            for &gate in &gates {
                self.sources.iter().for_each(|source| builder.requires(base + source, gate));
            }
            gates.clear();
            gates.extend(self.sinks.iter().map(|sink| base + sink));
        }
        Ok(())
    }

    /// The operations that wait for nothing, and those for whose end nothing waits.
    fn find_ends(&mut self, schedule: &Schedule, rank: u32) {
        schedule.count_dependencies(rank, &mut self.waits);
        self.sources.clear();
        self.sources.extend((0..).zip(&self.waits).filter(|(_, count)| **count == 0).map(|(at, _)| at));
        self.sinks.clear();
        let range = schedule.of_rank(rank);
        let last = |at: &u32| schedule.edges(range.start + at).iter().all(|edge| edge.on_start());
        self.sinks.extend((0..range.len() as u32).filter(last));
    }
}

/// The tenant that a message goes to or comes from; `None` for anybody.
fn peer_of<'t>(
    job: &Job<'_>,
    rank: u32,
    operation: u32,
    peer: u32,
    own: &'t [Settled],
) -> Result<Option<&'t Settled>, BuildError> {
    let kind = || job.schedule.shape(operation).operation.kind;
    match own.get(peer as usize) {
        Some(settled) => Ok(Some(settled)),
        None if peer == ANY && kind() == OperationKind::Receive => Ok(None),
        None => {
            let reason = format!(
                "job `{}`, rank {rank}: operation {} names rank {peer}, the job has ranks 0 to {}",
                job.name,
                job.schedule.label(rank, operation),
                own.len() - 1
            );
            Err(BuildError::new("schedule", reason))
        }
    }
}
