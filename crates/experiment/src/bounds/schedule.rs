//! Bounds of a schedule: the work of its busiest stream and, at the message level, of the busiest NIC.

use stratasim_core::{Duration, NodeId};
use stratasim_net::NetworkSpec;
use stratasim_net::message::{Message, Near};
use stratasim_report::result::{Bound, BoundKind};
use stratasim_workload::goal::{OperationKind, Schedule};

use crate::build::Prepared;
use crate::jobs::ScheduleWork;

/// The bounds that a schedule has of itself.
pub(super) fn bounds(prepared: &Prepared) -> Vec<Bound> {
    let Some(work) = &prepared.schedule else { return Vec::new() };
    let mut bounds = Vec::new();
    bounds.extend(stream_bound(prepared, work));
    if let NetworkSpec::Message(message) = &prepared.spec.network {
        bounds.extend(nic_bound(prepared, &work.schedule, message));
    }
    bounds
}

/// What the busiest stream of a rank does, one thing after the other: its computations, and the overheads
/// of its messages, each by the size that it says itself. A stream of a job does nothing before the job's start.
fn stream_bound(prepared: &Prepared, work: &ScheduleWork) -> Option<Bound> {
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

/// The messages through the busiest side of a NIC, one after the other, with the least G and g that any of
/// them can have; no gap follows the last one.
fn nic_bound(prepared: &Prepared, schedule: &Schedule, message: &Message) -> Option<Bound> {
    let classes = || message.near.iter().filter(|near| !near.within_node());
    let ps_per_byte = classes()
        .map(|near| near.gap_per_byte.ps_per_byte())
        .fold(message.gap_per_byte.ps_per_byte(), f64::min);
    let gap_ps = classes().map(|near| near.gap).fold(message.gap, Duration::min).as_ps();
    // messages of a node to itself with parameters of their own pass no NIC
    let skips_own = message.near.iter().any(Near::within_node);
    let nics = message.nics.unwrap_or(schedule.nics()).max(1) as usize;
    // the sending and the receiving side of each
    let mut busy_ps = vec![[0_u64; 2]; nics * prepared.topology.node_count()];
    for rank in 0..schedule.ranks() {
        let from = prepared.places.get(rank as usize)?.node;
        for operation in schedule.of_rank(rank) {
            let shape = schedule.shape(operation);
            if shape.operation.kind != OperationKind::Send {
                continue;
            }
            let to = prepared.places.get(shape.peer(rank, schedule.ranks()) as usize)?.node;
            if skips_own && from == to {
                continue;
            }
            // rounded as the network does
            let further = shape.operation.size.saturating_sub(1) as f64;
            let busy = ((further * ps_per_byte).round() as u64).saturating_add(gap_ps);
            let nic = usize::from(shape.operation.nic) % nics;
            for (side, node) in [from, to].into_iter().enumerate() {
                let busy_ps = &mut busy_ps[node.index() * nics + nic][side];
                *busy_ps = busy_ps.saturating_add(busy);
            }
        }
    }
    let busiest = busy_ps.iter().enumerate().map(|(lane, sides)| (sides[0].max(sides[1]), lane));
    // of equal ones the first
    let (busy_ps, lane) = busiest.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let busy_ps = busy_ps.saturating_sub(gap_ps);
    let node = prepared.topology.node_name(NodeId::from_index(lane / nics));
    (busy_ps > 0).then(|| Bound {
        name: "bytes through a NIC".to_owned(),
        kind: BoundKind::Link,
        seconds: busy_ps as f64 * 1e-12,
        place: if nics > 1 { format!("{node}, NIC {}", lane % nics) } else { node.to_owned() },
    })
}
