//! The bound of a schedule: the work of its busiest stream.

use stratasim_report::result::{Bound, BoundKind};
use stratasim_workload::goal::OperationKind;

use crate::build::Prepared;

/// What the busiest stream of a rank does, one thing after the other: its computations, and the overheads
/// of its messages, each by the size that it says itself. A stream of a job does nothing before the job's start.
pub(super) fn stream_bound(prepared: &Prepared) -> Option<Bound> {
    let work = prepared.schedule.as_deref()?;
    let schedule = &work.schedule;
    let (parts, job_of) = work.parts();
    let costs = prepared.network.host_costs();
    let mut best = (0, 0, 0, 0);
    // when the job of each begins, and what it does
    let mut streams = vec![(0_u64, 0_u128); schedule.cpus() as usize];
    for rank in 0..schedule.ranks() {
        streams.fill((0, 0));
        for number in schedule.of_rank(rank) {
            let operation = schedule.shape(number).operation;
            let (start_ps, busy_ps) = &mut streams[usize::from(operation.cpu)];
            if let Some(part) = parts.partition_point(|&first| first <= number).checked_sub(1) {
                *start_ps = work.jobs[job_of[part]].start.as_ps();
            }
            *busy_ps += match operation.kind {
                OperationKind::Calc => u128::from(operation.size) * 1000,
                OperationKind::Send | OperationKind::Receive => u128::from(costs.of(operation.size).as_ps()),
            };
        }
        for (cpu, &(start_ps, busy_ps)) in streams.iter().enumerate() {
            let end_ps = u128::from(start_ps) + busy_ps;
            if end_ps > best.0 {
                best = (end_ps, start_ps, rank as usize, cpu);
            }
        }
    }
    let (end_ps, start_ps, rank, cpu) = best;
    let node = prepared.topology.node_name(prepared.places.get(rank)?.node);
    (end_ps > 0).then(|| Bound {
        name: if start_ps > 0 { "start of a job, and work of a stream" } else { "work of a stream" }
            .to_owned(),
        kind: BoundKind::Compute,
        seconds: end_ps as f64 * 1e-12,
        place: if schedule.cpus() > 1 { format!("{node}, cpu {cpu}") } else { node.to_owned() },
    })
}
