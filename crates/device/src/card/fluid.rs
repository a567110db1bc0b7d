//! Jobs that wait for each other and share ports max-min fairly, in continuous time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that takes a fixed time and then moves bytes through ports.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    /// Seconds before the first byte.
    pub(super) latency_s: f64,
    pub(super) bytes: f64,
    /// Ports, each with the bytes of it that a byte of the job takes; none where nothing limits the job.
    pub(super) uses: Vec<(u32, f64)>,
    /// Jobs that must have ended; their indices are smaller.
    pub(super) after: Vec<u32>,
}

/// Begin and end of a job in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Span {
    pub(super) start_s: f64,
    pub(super) end_s: f64,
}

/// Flows that end within this part of the time that they took are one event: sums of equal parts differ in
/// their last digits.
const TOGETHER: f64 = 1e-12;

/// An instant, ordered.
#[derive(PartialEq)]
struct At(f64);

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Runs all jobs. `capacities` are bytes per second of the ports.
pub(super) fn run(jobs: &[Job], capacities: &[f64]) -> Vec<Span> {
    let mut spans = vec![Span::default(); jobs.len()];
    let mut missing: Vec<u32> = jobs.iter().map(|job| job.after.len() as u32).collect();
    let mut successors: Vec<Vec<u32>> = vec![Vec::new(); jobs.len()];
    for (at, job) in jobs.iter().enumerate() {
        job.after.iter().for_each(|&before| successors[before as usize].push(at as u32));
    }
    let mut share = Shares::new(capacities);
    // jobs in their latency, by its end; jobs that move bytes, with what is left of them
    let mut waiting: BinaryHeap<Reverse<(At, u32)>> = BinaryHeap::new();
    let mut moving: Vec<(u32, f64)> = Vec::new();
    let mut ended: Vec<u32> = Vec::new();
    let mut now = 0.0;
    for (at, job) in jobs.iter().enumerate().filter(|(_, job)| job.after.is_empty()) {
        waiting.push(Reverse((At(job.latency_s), at as u32)));
    }
    loop {
        let rates = share.rates(moving.iter().map(|&(at, _)| jobs[at as usize].uses.as_slice()));
        let until_end = |(&(_, left), rate): (&(u32, f64), &f64)| left / rate;
        let flow_s = moving.iter().zip(rates).map(until_end).fold(f64::INFINITY, f64::min);
        let next = waiting.peek().map_or(f64::INFINITY, |Reverse((at, _))| at.0);
        if flow_s.is_infinite() && next.is_infinite() {
            return spans;
        }
        let step_s = flow_s.min(next - now);
        let mut kept = 0;
        for at in 0..moving.len() {
            let (job, left) = moving[at];
            let left = left - rates[at] * step_s;
            if left <= jobs[job as usize].bytes * TOGETHER {
                ended.push(job);
            } else {
                moving[kept] = (job, left);
                kept += 1;
            }
        }
        moving.truncate(kept);
        now = if flow_s < next - now { now + flow_s } else { next };
        while let Some(Reverse((at, job))) = waiting.peek() {
            if at.0 > now + now * TOGETHER {
                break;
            }
            let (job, idle) = (*job, jobs[*job as usize].bytes <= 0.0 || jobs[*job as usize].uses.is_empty());
            waiting.pop();
            if idle { ended.push(job) } else { moving.push((job, jobs[job as usize].bytes)) }
        }
        ended.sort_unstable();
        for job in ended.drain(..) {
            spans[job as usize].end_s = now;
            for &next in &successors[job as usize] {
                missing[next as usize] -= 1;
                if missing[next as usize] == 0 {
                    spans[next as usize].start_s = now;
                    waiting.push(Reverse((At(now + jobs[next as usize].latency_s), next)));
                }
            }
        }
    }
}

/// Progressive filling: all rates grow alike until a port is full, which fixes those that use it.
struct Shares<'a> {
    capacities: &'a [f64],
    left: Vec<f64>,
    load: Vec<f64>,
    rates: Vec<f64>,
}

impl<'a> Shares<'a> {
    fn new(capacities: &'a [f64]) -> Self {
        let count = capacities.len();
        Self { capacities, left: vec![0.0; count], load: vec![0.0; count], rates: Vec::new() }
    }

    fn rates<'b>(&mut self, flows: impl Iterator<Item = &'b [(u32, f64)]>) -> &[f64] {
        let flows: Vec<_> = flows.collect();
        self.rates.clear();
        self.rates.resize(flows.len(), f64::INFINITY);
        self.left.copy_from_slice(self.capacities);
        let mut open = flows.len();
        while open > 0 {
            self.load.fill(0.0);
            for (flow, rate) in flows.iter().zip(&self.rates) {
                if rate.is_infinite() {
                    flow.iter().for_each(|&(port, weight)| self.load[port as usize] += weight);
                }
            }
            let level = |(left, load): (&f64, &f64)| if *load > 0.0 { left / load } else { f64::INFINITY };
            let level = self.left.iter().zip(&self.load).map(level).fold(f64::INFINITY, f64::min).max(0.0);
            let full = |port: u32| {
                let load = self.load[port as usize];
                load > 0.0 && self.left[port as usize] / load <= level * (1.0 + TOGETHER)
            };
            let fixed: Vec<usize> = (0..flows.len())
                .filter(|&at| self.rates[at].is_infinite() && flows[at].iter().any(|&(port, _)| full(port)))
                .collect();
            if fixed.is_empty() {
                break;
            }
            for at in fixed {
                self.rates[at] = level;
                flows[at].iter().for_each(|&(port, weight)| self.left[port as usize] -= weight * level);
                open -= 1;
            }
        }
        &self.rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(latency_s: f64, bytes: f64, ports: &[u32], after: &[u32]) -> Job {
        Job { latency_s, bytes, uses: ports.iter().map(|&port| (port, 1.0)).collect(), after: after.to_vec() }
    }

    #[test]
    fn a_flow_takes_what_the_others_leave() {
        // two flows share port 0; one of them also crosses the narrow port 1
        let jobs = [job(0.0, 90.0, &[0], &[]), job(0.0, 10.0, &[0, 1], &[])];
        let spans = run(&jobs, &[10.0, 1.0]);
        assert!((spans[0].end_s - 10.0).abs() < 1e-12, "9 per second: {spans:?}");
        assert!((spans[1].end_s - 10.0).abs() < 1e-12, "1 per second: {spans:?}");
    }

    #[test]
    fn a_job_waits_for_its_predecessors_and_then_for_its_latency() {
        let jobs = [job(1.0, 10.0, &[0], &[]), job(0.5, 0.0, &[], &[0]), job(0.0, 5.0, &[0], &[0, 1])];
        let spans = run(&jobs, &[10.0]);
        let ends: Vec<f64> = spans.iter().map(|span| span.end_s).collect();
        assert_eq!(ends, [2.0, 2.5, 3.0]);
        assert_eq!(spans[2].start_s, 2.5);
    }

    #[test]
    fn a_weight_is_what_a_byte_takes_of_a_port() {
        let jobs = [Job { bytes: 10.0, uses: vec![(0, 0.25)], ..Job::default() }];
        assert!((run(&jobs, &[10.0])[0].end_s - 0.25).abs() < 1e-15);
    }
}
