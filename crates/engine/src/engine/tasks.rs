//! Tasks: what is ready starts, what ends releases others.

use std::cmp::Reverse;

use stratasim_core::model::{Execute, NetworkRequest, Transfer};
use stratasim_core::observe::{Activity, Event, TaskSpan};
use stratasim_core::random::mix;
use stratasim_core::{Duration, NodeId, Rank, Time, Token};
use stratasim_workload::program::{Compute, MemoryPlace, Op, Stream, VertexId};

use super::{Engine, MemoryMode};
use crate::instances::Instance;
use crate::token::{Part, pack_task, task_of};

impl Engine<'_> {
    /// A dependency of an instance was the last one: it starts, or waits for its time.
    pub(super) fn release(&mut self, vertex: VertexId, index: u32) {
        let not_before = Time::ZERO + self.program.vertex(vertex).not_before;
        let instance = self.instances.number(vertex, index);
        if not_before > self.now && self.instances.iteration(instance) == 0 {
            self.timers.push(Reverse((not_before, vertex, index, false)));
        } else {
            self.enqueue(vertex, index);
        }
    }

    /// Puts a ready instance on its stream.
    pub(super) fn enqueue(&mut self, vertex: VertexId, index: u32) {
        let stream = self.program.vertex(vertex).stream;
        if stream != Stream::NONE {
            let rank = self.instances.rank(self.program, vertex, index);
            let state = &mut self.streams[rank.index() * self.streams_per_rank + stream.0 as usize];
            if state.running.is_some() {
                state.queue.push_back((vertex, index));
                return;
            }
            state.running = Some((vertex, index));
        }
        self.start(vertex, index);
    }

    /// Starts everything that became ready, until nothing ends at once any more.
    pub(super) fn start_ready(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        loop {
            if !self.next.is_empty() {
                std::mem::swap(&mut batch, &mut self.next);
                self.begin_all(&mut batch, Self::start);
            } else if !self.ready.is_empty() {
                std::mem::swap(&mut batch, &mut self.ready);
                // what becomes ready together takes its stream by vertex
                batch.sort_unstable();
                self.begin_all(&mut batch, Self::release);
            } else {
                break;
            }
            if self.summary.stopped {
                break;
            }
        }
        self.batch = batch;
    }

    /// Lets all of a batch `begin`, until the run is to stop: each may send as many messages as there are ranks.
    #[inline]
    fn begin_all(&mut self, batch: &mut Vec<(VertexId, u32)>, begin: impl Fn(&mut Self, VertexId, u32)) {
        const ASKED_EVERY: usize = 64;
        for (number, (vertex, index)) in (1..).zip(batch.drain(..)) {
            begin(self, vertex, index);
            if number % ASKED_EVERY == 0 && self.observer.wants_stop() {
                self.summary.stopped = true;
                break;
            }
        }
    }

    fn start(&mut self, vertex: VertexId, index: u32) {
        let program = self.program;
        let instance = self.instances.number(vertex, index);
        self.instances.begin(program, vertex, index);
        let rank = self.instances.rank(program, vertex, index);
        if !self.starts.is_empty() {
            self.starts[instance as usize] = self.now;
        }
        if let Some(vertices) = &mut self.vertices {
            vertices.start(instance, self.now);
        }
        let iteration = self.instances.iteration(instance);
        let begun = &mut self.summary.iterations[iteration as usize].0;
        *begun = (*begun).min(self.now);
        match &program.vertex(vertex).op {
            Op::Join => self.finish(vertex, index),
            Op::Delay(length) => {
                self.begin_part(rank, vertex, Activity::Compute);
                self.timers.push(Reverse((self.now + *length, vertex, index, true)));
            }
            Op::Compute(compute) => {
                let place = self.memory_node(rank, compute.place);
                let memory = if compute.remote_bytes > 0 { place } else { None };
                match memory {
                    Some(node) => {
                        self.access(vertex, index, rank, node, compute);
                        if self.options.memory == MemoryMode::Coherent
                            && (compute.flops > 0.0 || self.reads_local_memory(vertex, index, rank, compute))
                        {
                            self.execute(vertex, index, rank);
                        }
                    }
                    None => self.execute(vertex, index, rank),
                }
            }
            &Op::Transfer { to, bytes, rate_cap } => {
                let to = program.peer(rank, to).expect("checked when the program was built");
                self.begin_part(rank, vertex, Activity::Communication);
                let token = pack_task(Part::Message, vertex, index);
                let (src, dst) = (self.nodes[rank.index()], self.nodes[to.index()]);
                let transfer = Transfer { rate_cap, ..Transfer::new(token, src, dst, bytes) };
                self.network.submit(self.now, NetworkRequest::Transfer(transfer));
            }
            &Op::Send { to, tag, bytes } => {
                let to = program.peer(rank, to).expect("checked when the program was built");
                self.begin_part(rank, vertex, Activity::Communication);
                let met = self.matching.send(to, rank, tag, instance).is_some();
                if met || self.options.eager_limit_bytes.is_none_or(|limit| bytes <= limit) {
                    self.message(vertex, index, rank, to, bytes);
                }
            }
            &Op::Receive { from, tag } => {
                let from = program.peer(rank, from);
                self.begin_part(rank, vertex, Activity::Communication);
                let met = self.matching.receive(rank, from, tag, instance);
                if let Some(envelope) = met {
                    if envelope.arrived {
                        self.finish(vertex, index);
                    } else {
                        self.meet(envelope.send);
                    }
                }
            }
            Op::Collective(collective) => {
                self.begin_part(rank, vertex, Activity::Communication);
                let mut asks = std::mem::take(&mut self.asks);
                self.collectives.join(
                    vertex,
                    iteration,
                    collective,
                    collective.seat(index, self.instances.len(vertex)),
                    self.network.runs_pipelines(),
                    self.now,
                    &mut asks,
                );
                self.asks = asks;
                self.serve();
            }
            _ => unreachable!("every operation is handled"),
        }
    }

    /// A rank begins something.
    #[inline]
    fn begin_part(&mut self, rank: Rank, vertex: VertexId, activity: Activity) {
        let exposed_ps = self.clocks[rank.index()].begin(self.now, activity);
        if let Some(vertices) = &mut self.vertices {
            vertices.begin(rank, vertex, activity, exposed_ps);
        }
    }

    /// What a rank began ends.
    #[inline]
    fn finish_part(&mut self, rank: Rank, vertex: VertexId, activity: Activity) {
        let exposed_ps = self.clocks[rank.index()].end(self.now, activity);
        if let Some(vertices) = &mut self.vertices {
            vertices.end(rank, vertex, activity, exposed_ps);
        }
    }

    /// A receive met a send whose message has not arrived: a rendezvous message travels now.
    fn meet(&mut self, send: Instance) {
        let (vertex, index) = self.instances.locate(send);
        let Op::Send { to, bytes, .. } = self.program.vertex(vertex).op else { unreachable!("it sends") };
        if self.options.eager_limit_bytes.is_some_and(|limit| bytes > limit) {
            let rank = self.instances.rank(self.program, vertex, index);
            let to = self.program.peer(rank, to).expect("checked when the program was built");
            self.message(vertex, index, rank, to, bytes);
        }
    }

    fn message(&mut self, vertex: VertexId, index: u32, from: Rank, to: Rank, bytes: u64) {
        let token = pack_task(Part::Message, vertex, index);
        let (src, dst) = (self.nodes[from.index()], self.nodes[to.index()]);
        let transfer = Transfer::new(token, src, dst, bytes);
        self.network.submit(self.now, NetworkRequest::Transfer(transfer));
    }

    /// The node whose memory is meant; `None` for the rank's own.
    fn memory_node(&self, rank: Rank, place: MemoryPlace) -> Option<NodeId> {
        let node = place.node(self.places[rank.index()].home_memory, |other| self.nodes[other.index()]);
        node.filter(|&node| node != self.nodes[rank.index()])
    }

    fn access(&mut self, vertex: VertexId, index: u32, rank: Rank, memory: NodeId, compute: &Compute) {
        self.parts[self.instances.number(vertex, index) as usize] += 1;
        self.begin_part(rank, vertex, Activity::Memory);
        let token = pack_task(Part::Memory, vertex, index);
        let transfer = Transfer {
            rate_cap: compute.access_cap,
            overhead_charged: true, // no host takes part
            ..Transfer::new(token, memory, self.nodes[rank.index()], compute.remote_bytes)
        };
        self.network.submit(self.now, NetworkRequest::Transfer(transfer));
    }

    fn execute(&mut self, vertex: VertexId, index: u32, rank: Rank) {
        let Op::Compute(compute) = &self.program.vertex(vertex).op else { unreachable!("it computes") };
        self.parts[self.instances.number(vertex, index) as usize] += 1;
        self.begin_part(rank, vertex, Activity::Compute);
        let execution = self.execution(vertex, index, rank, compute);
        self.compute.submit(self.now, execution);
    }

    /// Whether an access beside which nothing is computed takes time in local memory, too, as the roofline has it.
    fn reads_local_memory(&self, vertex: VertexId, index: u32, rank: Rank, compute: &Compute) -> bool {
        let execution = self.execution(vertex, index, rank, compute);
        self.compute.least_duration(&execution) > Duration::ZERO
    }

    /// What `compute` asks of the cores and the local memory of its node.
    fn execution(&self, vertex: VertexId, index: u32, rank: Rank, compute: &Compute) -> Execute {
        // what was moved, or lives here after all, is read from local memory
        let moved = match (self.options.memory, self.memory_node(rank, compute.place)) {
            (MemoryMode::Coherent, Some(_)) => 0,
            _ => compute.remote_bytes,
        };
        Execute {
            token: pack_task(Part::Compute, vertex, index),
            node: self.nodes[rank.index()],
            flops: compute.flops,
            precision: compute.precision,
            local_bytes: compute.local_bytes + moved,
            priority: compute.priority,
            threads: compute.threads,
            rate_cap: compute.rate_cap,
        }
    }

    /// The computation or memory access of an instance ended.
    pub(super) fn end_part(&mut self, number: u64, activity: Activity, token: Token) {
        let (vertex, index) = task_of(number);
        let instance = self.instances.number(vertex, index);
        let rank = self.instances.rank(self.program, vertex, index);
        self.finish_part(rank, vertex, activity);
        self.note(token.0);
        let Op::Compute(compute) = &self.program.vertex(vertex).op else { unreachable!("it has parts") };
        if self.interests.tasks {
            let bytes = if activity == Activity::Memory { compute.remote_bytes } else { 0 };
            self.emit(vertex, instance, rank, activity, bytes);
        }
        self.parts[instance as usize] -= 1;
        let moved = activity == Activity::Memory && self.options.memory == MemoryMode::MoveThenCompute;
        if moved && (compute.flops > 0.0 || compute.remote_bytes > 0) {
            if !self.starts.is_empty() {
                self.starts[instance as usize] = self.now;
            }
            self.execute(vertex, index, rank);
        } else if self.parts[instance as usize] == 0 {
            self.complete(vertex, index, rank);
        }
    }

    /// A task without parts ended.
    pub(super) fn finish(&mut self, vertex: VertexId, index: u32) {
        let instance = self.instances.number(vertex, index);
        let rank = self.instances.rank(self.program, vertex, index);
        let (activity, bytes) = match self.program.vertex(vertex).op {
            Op::Join => (None, 0),
            Op::Delay(_) => (Some(Activity::Compute), 0),
            Op::Transfer { bytes, .. } | Op::Send { bytes, .. } => (Some(Activity::Communication), bytes),
            Op::Collective(ref collective) => (Some(Activity::Communication), collective.bytes),
            _ => (Some(Activity::Communication), 0),
        };
        self.note(pack_task(Part::Message, vertex, index).0);
        if let Some(activity) = activity {
            self.finish_part(rank, vertex, activity);
            if self.interests.tasks {
                self.emit(vertex, instance, rank, activity, bytes);
            }
        }
        self.complete(vertex, index, rank);
    }

    fn emit(&mut self, vertex: VertexId, instance: Instance, rank: Rank, activity: Activity, bytes: u64) {
        let span = TaskSpan {
            rank,
            stream: self.program.vertex(vertex).stream.0,
            vertex,
            iteration: self.instances.iteration(instance),
            activity,
            start: self.starts[instance as usize],
            end: self.now,
            bytes,
        };
        self.observer.on_event(&Event::Task(span));
    }

    #[inline]
    fn note(&mut self, what: u64) {
        let hash = mix(what ^ mix(self.now.as_ps()));
        self.summary.digest[0] = self.summary.digest[0].wrapping_add(hash);
        self.summary.digest[1] =
            self.summary.digest[1].wrapping_add(hash.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }

    /// An instance ended: its stream goes on, its successors may begin.
    fn complete(&mut self, vertex: VertexId, index: u32, rank: Rank) {
        let instance = self.instances.number(vertex, index);
        if let Some(vertices) = &mut self.vertices {
            vertices.complete(vertex, instance, self.now);
        }
        let iteration = self.instances.iteration(instance);
        let ended = &mut self.summary.iterations[iteration as usize].1;
        *ended = (*ended).max(self.now);
        self.summary.makespan = self.now;
        self.summary.tasks += 1;
        self.left -= 1;
        self.instances.end(self.program, vertex, index, &mut self.ready);
        let stream = self.program.vertex(vertex).stream;
        if stream != Stream::NONE {
            let state = &mut self.streams[rank.index() * self.streams_per_rank + stream.0 as usize];
            state.running = state.queue.pop_front();
            self.next.extend(state.running);
        }
    }
}
