//! Running a schedule that was prepared, and each of its jobs alone.

use std::collections::BTreeSet;

use stratasim_core::model::{HostCosts, Network};
use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_core::{BuildError, NodeId, Time};
use stratasim_engine::schedule::noise::Noise;
use stratasim_engine::{RunError, ScheduleEngine, ScheduleOptions, ScheduleSummary};
use stratasim_report::result::JobResult;
use stratasim_workload::goal::Schedule;

use crate::build::Prepared;
use crate::jobs::{Lone, ScheduleWork};

/// What is the same for all runs of an experiment's schedules.
pub(crate) struct Common<'a> {
    pub(crate) nodes: &'a [NodeId],
    /// By which number others know each rank; its own, where `None`.
    pub(crate) numbers: Option<&'a [u32]>,
    pub(crate) host: Option<HostCosts>,
    pub(crate) noise: &'a dyn Fn() -> Option<Noise>,
}

/// Runs `schedule` once; what is told apart has its first operations and its starts.
pub(crate) fn run<N: Network + ?Sized>(
    schedule: &Schedule,
    network: &mut N,
    observer: &mut dyn Observer,
    common: &Common<'_>,
    (parts, starts): (&[u32], &[Time]),
) -> Result<ScheduleSummary, RunError> {
    let Common { host, numbers, .. } = *common;
    let options = ScheduleOptions { host, numbers, noise: (common.noise)(), parts, starts };
    let engine = ScheduleEngine::new(schedule, common.nodes, network, observer, options);
    engine.map_err(refused)?.run()
}

/// A schedule that cannot run at all.
pub(crate) fn refused(error: BuildError) -> RunError {
    RunError::Refused { reason: error.reason }
}

impl Prepared {
    /// Runs the schedule, watched by `observer`, and then each job alone, which `observer` may stop.
    pub(crate) fn run_schedule(
        &mut self,
        work: &ScheduleWork,
        observer: &mut dyn Observer,
    ) -> Result<(ScheduleSummary, Vec<JobResult>), RunError> {
        let nodes: Vec<NodeId> = self.places.iter().map(|place| place.node).collect();
        let network_costs = self.network.host_costs();
        let host = self
            .options
            .eager_limit_bytes
            .map(|limit| HostCosts { eager_limit_bytes: Some(limit), ..network_costs });
        let noise = self.noise.take();
        let make = || noise.as_ref().map(|noise| noise.fresh());
        let common = Common { nodes: &nodes, numbers: None, host, noise: &make };
        let (first, job_of) = work.parts();
        let starts: Vec<Time> = job_of.iter().map(|&job| work.jobs[job].start).collect();
        if !work.jobs.is_empty() {
            self.network.draw_by_source();
        }
        let mut summary = run(&work.schedule, self.network.as_mut(), observer, &common, (&first, &starts))?;
        let mut finishes = vec![Time::ZERO; work.jobs.len()];
        for (&end, &job) in summary.part_ends.iter().zip(&job_of) {
            finishes[job] = finishes[job].max(end);
        }
        let mut jobs = Vec::with_capacity(work.jobs.len());
        let mut free = None;
        for (job, finish) in work.jobs.iter().zip(finishes) {
            let since = |end: Time| end.saturating_since(job.start).as_secs_f64();
            let alone = match &job.alone {
                Some(lone) if !summary.run.stopped => {
                    let end = self.run_alone(lone, job.start, (&mut free, &mut *observer), &common)?;
                    summary.run.stopped = end.is_none();
                    end.map(since)
                }
                _ => None,
            };
            let on: BTreeSet<u32> = job.tenants.iter().map(|tenant| tenant.node).collect();
            let duration_s = since(finish);
            jobs.push(JobResult {
                name: job.name.clone(),
                ranks: job.tenants.len() as u32,
                nodes: on.len() as u32,
                start_s: job.start.as_secs_f64(),
                finish_s: finish.as_secs_f64(),
                duration_s,
                alone_s: alone,
                slowdown: alone.filter(|alone| *alone > 0.0).map(|alone| duration_s / alone),
            });
        }
        Ok((summary, jobs))
    }

    /// When a job that starts at `start` has finished without the others; none where `observer` has stopped it. In `free` lies the
    /// network of the one before.
    fn run_alone(
        &self,
        lone: &Lone,
        start: Time,
        (free, observer): (&mut Option<Box<dyn Network>>, &mut dyn Observer),
        common: &Common<'_>,
    ) -> Result<Option<Time>, RunError> {
        // what does nothing takes no part: the time is that of the job, however large the machine
        let (own, schedule) = lone.merged_on_its_nodes().map_err(refused)?;
        let nodes: Vec<NodeId> = own.iter().map(|&node| common.nodes[node as usize]).collect();
        let again = free.take().and_then(|mut used| used.start_anew().then_some(used));
        let mut network = match again {
            Some(network) => network,
            None => self.fresh_network().map_err(refused)?,
        };
        network.draw_by_source();
        let part = Common { nodes: &nodes, numbers: Some(&own), ..*common };
        if let Ok(alone) = run(&schedule, network.as_mut(), &mut Unseen(observer), &part, (&[0], &[start])) {
            *free = Some(network);
            return Ok((!alone.run.stopped).then_some(alone.run.makespan));
        }
        // its error is to name the node as everybody does
        let schedule = lone.merged().map_err(refused)?;
        let mut network = self.fresh_network().map_err(refused)?;
        network.draw_by_source();
        let alone = run(&schedule, network.as_mut(), &mut Unseen(observer), common, (&[0], &[start]))?;
        Ok((!alone.run.stopped).then_some(alone.run.makespan))
    }
}

/// What happens in a run of which nobody is told, and which stops when the one before was to.
struct Unseen<'a>(&'a mut dyn Observer);

impl Observer for Unseen<'_> {
    fn interests(&self) -> Interests {
        Interests::default()
    }
    fn on_event(&mut self, _: &Event) {}
    fn wants_stop(&self) -> bool {
        self.0.wants_stop()
    }
}
