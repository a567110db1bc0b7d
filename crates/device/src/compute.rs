//! Compute nodes: tasks share the cores of their node.
//!
//! A task takes flops / rate (HCSim, equation 1) on a core of its own; with the roofline it takes no
//! less than its local bytes / local bandwidth. When the running tasks ask for more cores than the
//! node has, they share them by max-min fairness weighted by priority; a task of `n` threads counts
//! `n` times and uses `n` cores at most. So `k` plain tasks on `c` cores run at min(1, c / k) each.

use std::sync::Arc;

use stratasim_core::model::{Compute, Execute};
use stratasim_core::queue::GroupedQueue;
use stratasim_core::time::PS_PER_S;
use stratasim_core::water_level::water_level;
use stratasim_core::{BuildError, Cx, Duration, Model, NodeId, Precision, Slots, Time, Token};
use stratasim_topo::Topology;

use crate::profiles::SpeedEvents;

/// How tasks use their node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ComputeOptions {
    /// A task takes no less than its local bytes / local memory bandwidth.
    pub roofline: bool,
    /// Events closer than this to the clock happen at the clock; zero is exact.
    pub timing_precision: Duration,
}

/// All compute nodes of a topology.
pub struct ComputeModel {
    topology: Arc<Topology>,
    options: ComputeOptions,
    now: Time,
    queue: GroupedQueue,
    tasks: Slots<Task>,
    nodes: Vec<Node>,
    dirty: Vec<NodeId>,
    speed_events: SpeedEvents,
    violations: Vec<String>,
    scratch: Vec<(f64, f64)>,
}

/// A running task. Work is measured in picoseconds of one core at nominal speed.
#[derive(Debug, Clone, Copy)]
struct Task {
    token: Token,
    node: NodeId,
    remaining: f64,
    /// Cores' worth of progress per picosecond.
    rate: f64,
    last: Time,
    /// Most cores that it can use.
    bound: f64,
    /// Weight when cores are short.
    weight: f64,
    start: Time,
    least: f64,
}

#[derive(Debug, Clone, Default)]
struct Node {
    /// Cores times the present fraction of nominal speed.
    capacity: f64,
    /// Present fraction of nominal speed.
    speed: f64,
    running: Vec<u32>,
    /// Sum of bounds of the running tasks: while it fits, nobody slows anybody down.
    asked: f64,
    dirty: bool,
}

impl ComputeModel {
    /// The compute nodes of `topology`.
    pub fn new(topology: Arc<Topology>, options: ComputeOptions) -> Self {
        let mut nodes = vec![Node::default(); topology.node_count()];
        for &node in topology.compute_nodes() {
            let compute = topology.compute_type(node).expect("compute nodes have a type");
            nodes[node.index()] = Node { capacity: f64::from(compute.cores), speed: 1.0, ..Node::default() };
        }
        Self {
            speed_events: SpeedEvents::new(&topology),
            topology,
            options,
            now: Time::ZERO,
            queue: GroupedQueue::new(),
            tasks: Slots::default(),
            nodes,
            dirty: Vec::new(),
            violations: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Picoseconds that one thread of the request takes on a core of its own.
    fn core_ps(&self, request: &Execute) -> f64 {
        let compute =
            self.topology.compute_type(request.node).expect("the engine places ranks on compute nodes");
        let rate = compute.rate_flop_per_s[request.precision.index()];
        let mut seconds = if request.flops == 0.0 { 0.0 } else { request.flops / rate };
        if self.options.roofline
            && request.local_bytes > 0
            && let Some(bandwidth) = compute.memory_bandwidth
        {
            seconds = seconds.max(request.local_bytes as f64 / bandwidth.bytes_per_s());
        }
        seconds * PS_PER_S as f64
    }

    /// Gives the tasks of a node their rates.
    fn share(&mut self, node: NodeId) {
        let state = &mut self.nodes[node.index()];
        state.dirty = false;
        let fits = state.asked <= state.capacity;
        let mut level = f64::INFINITY;
        if !fits {
            self.scratch.clear();
            let mut all = 0.0;
            for &slot in &state.running {
                let task = &self.tasks[slot];
                // level x gives weight * x cores, up to the bound
                self.scratch.push((task.weight, task.bound * state.speed / task.weight));
                all += task.weight;
            }
            level = water_level(state.capacity, all, &self.scratch, 0.0);
        }
        for index in 0..self.nodes[node.index()].running.len() {
            let slot = self.nodes[node.index()].running[index];
            let speed = self.nodes[node.index()].speed;
            let task = &mut self.tasks[slot];
            let rate = (task.weight * level).min(task.bound * speed);
            if rate == task.rate {
                continue;
            }
            task.remaining = (task.remaining - task.rate * (self.now - task.last).as_ps() as f64).max(0.0);
            task.last = self.now;
            task.rate = rate;
            if rate > 0.0 {
                let ps = (task.remaining / rate + 0.5) as u64;
                self.queue.set(slot, self.now.saturating_add(Duration::from_ps(ps)));
            } else {
                self.queue.remove(slot);
            }
        }
    }

    fn mark(&mut self, node: NodeId) {
        let state = &mut self.nodes[node.index()];
        if !state.dirty {
            state.dirty = true;
            self.dirty.push(node);
        }
    }

    fn settle(&mut self) {
        while let Some(node) = self.dirty.pop() {
            self.share(node);
        }
    }

    fn finish(&mut self, slot: u32, cx: &mut Cx<'_, Token>) {
        let task = self.tasks[slot];
        let took = (self.now - task.start + self.options.timing_precision * 2 + Duration::from_ps(1)).as_ps();
        if (took as f64) < task.least * (1.0 - 1e-12) - 1.0
            && self.speed_events.is_empty()
            && self.violations.len() < 20
        {
            let node = self.topology.node_name(task.node);
            self.violations
                .push(format!("a task on {node} took {took} ps, its peak rate allows {:.0} ps", task.least));
        }
        let state = &mut self.nodes[task.node.index()];
        let crowded = state.asked > state.capacity;
        let at =
            state.running.iter().position(|&other| other == slot).expect("a running task is on its node");
        state.running.swap_remove(at);
        state.asked = if state.running.is_empty() { 0.0 } else { state.asked - task.bound * state.speed };
        if crowded && !state.running.is_empty() {
            self.mark(task.node);
        }
        self.tasks.release(slot);
        cx.done.push(task.token);
    }

    /// Applies speed changes that are due.
    fn speed_changes(&mut self) {
        while let Some((node, speed)) = self.speed_events.pop_due(self.now) {
            let cores = self.topology.compute_type(node).map_or(0.0, |compute| f64::from(compute.cores));
            let state = &mut self.nodes[node.index()];
            state.capacity = cores * speed;
            state.asked = state.running.iter().map(|&slot| self.tasks[slot].bound * speed).sum();
            state.speed = speed;
            self.mark(node);
        }
        self.settle();
    }

    fn next_date(&self) -> Option<Time> {
        let tasks = self.queue.peek().map(|(at, _)| at);
        let busy = !self.tasks.is_empty();
        let speeds = if busy { self.speed_events.next() } else { None };
        [tasks, speeds].into_iter().flatten().min()
    }
}

impl Model for ComputeModel {
    type Request = Execute;
    type Done = Token;

    fn submit(&mut self, now: Time, request: Execute) {
        self.now = now;
        if !self.speed_events.is_empty() && self.nodes[request.node.index()].running.is_empty() {
            // speed changes while the node was idle
            if self.tasks.is_empty() {
                self.speed_events.skip_periods(now);
            }
            self.speed_changes();
        }
        let core_ps = self.core_ps(&request);
        let threads = f64::from(request.threads);
        let work = core_ps * threads;
        let mut bound = threads;
        if let Some(cap) = request.rate_cap {
            let compute = self.topology.compute_type(request.node).expect("checked by core_ps");
            bound = bound.min(cap / compute.rate_flop_per_s[request.precision.index()]);
        }
        let weight = if request.threads > 1 { threads } else { request.priority };
        let task = Task {
            token: request.token,
            node: request.node,
            remaining: work,
            rate: 0.0,
            last: now,
            bound,
            weight,
            start: now,
            least: core_ps,
        };
        let slot = self.tasks.insert(task);
        let state = &mut self.nodes[request.node.index()];
        state.running.push(slot);
        state.asked += bound * state.speed;
        if work == 0.0 {
            self.queue.set(slot, now);
        } else if state.asked <= state.capacity && !state.dirty && state.speed > 0.0 {
            // room for everybody: nobody else is concerned
            let rate = bound * state.speed;
            self.tasks[slot].rate = rate;
            let ps = (work / rate + 0.5) as u64;
            self.queue.set(slot, now.saturating_add(Duration::from_ps(ps)));
        } else {
            self.mark(request.node);
        }
    }

    fn next_event(&mut self) -> Option<Time> {
        self.settle();
        self.next_date().map(|at| at.max(self.now))
    }

    fn advance(&mut self, until: Time, cx: &mut Cx<'_, Token>) -> Time {
        // with a timing precision, what is due soon after `until` counts as due now, but not what
        // this brings about: other models have their turn first
        let merges = self.options.timing_precision > Duration::ZERO;
        loop {
            self.settle();
            match self.next_date() {
                Some(at) if at <= until || merges && at.is_within(self.options.timing_precision, until) => {
                    self.now = self.now.max(at.min(until))
                }
                _ => {
                    self.now = until;
                    return until;
                }
            }
            if !self.speed_events.is_empty() {
                self.speed_changes();
            }
            while let Some((at, slot)) = self.queue.peek() {
                if at > self.now && !at.is_within(self.options.timing_precision, self.now) {
                    break;
                }
                self.queue.pop();
                self.finish(slot, cx);
            }
            if merges || !cx.done.is_empty() {
                return self.now;
            }
        }
    }
}

impl Compute for ComputeModel {
    fn check(&self, node: NodeId, precision: Precision) -> Result<(), BuildError> {
        let name = self.topology.node_name(node);
        let Some(compute) = self.topology.compute_type(node) else {
            return Err(BuildError::new("", format!("node {name} is not a compute node")));
        };
        if compute.rate_flop_per_s[precision.index()] > 0.0 {
            return Ok(());
        }
        let can: Vec<_> = Precision::ALL
            .iter()
            .filter(|p| compute.rate_flop_per_s[p.index()] > 0.0)
            .map(|p| p.name())
            .collect();
        Err(BuildError::new(
            "",
            format!(
                "{} ({name}) cannot compute in {precision}; it has rates for: {}",
                compute.name,
                can.join(", ")
            ),
        ))
    }

    fn least_duration(&self, request: &Execute) -> Duration {
        let peak = self.topology.node_profiles(request.node).map_or(1.0, |profiles| profiles.peak_speed());
        let compute =
            self.topology.compute_type(request.node).expect("the engine places ranks on compute nodes");
        // threads that have no core of their own wait for one
        let rounds = (f64::from(request.threads) / f64::from(compute.cores)).max(1.0);
        Duration::from_ps((self.core_ps(request) * rounds / peak) as u64)
    }

    fn violations(&self) -> Vec<String> {
        self.violations.clone()
    }
}
