//! F1: tasks with fixed costs and flows of bytes, ports shared max-min fairly.
//!
//! A copy moves all of its bytes at the rate of the narrowest of its ports. Where no two copies use a port at
//! once, this is the closed form.

use super::description::Card;
use super::fluid::{self, Job};
use super::ports::Ports;
use super::schedule::{Family, Schedule, Task, Work};

/// When a task ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Seconds from the start of the schedule.
    pub start_s: f64,
    /// Seconds from the start of the schedule.
    pub end_s: f64,
}

/// When every task of a schedule ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// In the order of the tasks.
    pub spans: Vec<Span>,
    /// Seconds of the whole.
    pub total_s: f64,
}

/// Runs a schedule on a card.
///
/// # Panics
/// When the schedule is for another number of groups.
pub fn run(card: &Card, schedule: &Schedule) -> Timeline {
    assert_eq!(card.core_groups, schedule.groups, "a schedule of this card");
    let ports = Ports::new(card, schedule.family);
    let jobs: Vec<Job> = schedule.tasks.iter().map(|task| job(card, schedule.family, &ports, task)).collect();
    Timeline::of(fluid::run(&jobs, ports.capacities()).into_iter())
}

impl Timeline {
    pub(super) fn of(spans: impl Iterator<Item = fluid::Span>) -> Self {
        let spans: Vec<Span> = spans.map(|span| Span { start_s: span.start_s, end_s: span.end_s }).collect();
        let total_s = spans.iter().map(|span| span.end_s).fold(0.0, f64::max);
        Self { spans, total_s }
    }
}

/// A task as one job.
pub(super) fn job(card: &Card, family: Family, ports: &Ports, task: &Task) -> Job {
    let after = task.after.clone();
    match &task.work {
        Work::Launch => Job { latency_s: launch_s(card), after, ..Job::default() },
        Work::Sync => Job { latency_s: card.cost.sync.as_secs_f64(), after, ..Job::default() },
        Work::Calculate { group, flops } => {
            Job { latency_s: 0.0, bytes: *flops, uses: ports.compute(*group), after }
        }
        Work::Copy(copy) => {
            let latency_s = if copy.step { step_s(card, family) } else { 0.0 };
            Job { latency_s, bytes: copy.bytes as f64, uses: ports.whole(copy), after }
        }
    }
}

/// Seconds until a kernel that the host starts moves its first byte.
pub(super) fn launch_s(card: &Card) -> f64 {
    card.cost.launch.as_secs_f64() + card.cost.kernel.as_secs_f64()
}

/// Seconds of a step.
pub(super) fn step_s(card: &Card, family: Family) -> f64 {
    match family {
        Family::Ring => card.cost.ring_step.as_secs_f64(),
        Family::Csc => card.cost.csc_step.as_secs_f64(),
    }
}
