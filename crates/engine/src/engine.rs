//! The loop: what is ready starts, models advance, what they complete releases more.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use stratasim_core::model::{Compute, Execute, Network, NetworkDone, NetworkRequest, Transfer};
use stratasim_core::observe::{Activity, Event, Interests, MessageSpan, Observer, TaskSpan};
use stratasim_core::random::mix;
use stratasim_core::{Bandwidth, Cx, Duration, KernelCosts, NodeId, Rank, Time, Token};
use stratasim_workload::collective::kernel::Held;
use stratasim_workload::program::{MemoryPlace, Op, Program, Stream, VertexId};

use crate::account::{Clock, RankAccount};
use crate::collectives::{Access, Ask, Collectives, Way};
use crate::error::RunError;
use crate::instances::{Instance, Instances};
use crate::kernel;
use crate::matching::Matching;
use crate::token::{Part, pack, pack_task, task_of, unpack};

/// How remote memory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryMode {
    /// Coherent: access and computation overlap; the task ends when both have (HCSim, figure 3c).
    #[default]
    Coherent,
    /// Not coherent: remote data is moved to local memory first, then the computation runs
    /// (HCSim, figure 3b).
    MoveThenCompute,
}

/// Options of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// How remote memory is used.
    pub memory: MemoryMode,
    /// Events closer than this to the clock happen at the clock; zero is exact.
    pub timing_precision: Duration,
    /// Sends of more bytes wait for their receive before the message travels (rendezvous); `None`:
    /// what the network says, and without a word of it every message travels at once (eager).
    pub eager_limit_bytes: Option<u64>,
}

/// Where a rank runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Its compute node.
    pub node: NodeId,
    /// The memory node that extends its memory.
    pub home_memory: Option<NodeId>,
    /// Rate of the rank's own memory, as far as collectives read and write it; unlimited when absent.
    pub local_bandwidth: Option<Bandwidth>,
    /// What kernels of collectives cost there.
    pub kernels: KernelCosts,
}

impl Place {
    /// On a compute node that has nothing but itself.
    pub fn of(node: NodeId) -> Self {
        Self { node, home_memory: None, local_bandwidth: None, kernels: KernelCosts::default() }
    }
}

/// What a run came to.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// When the last task ended.
    pub makespan: Time,
    /// First start and last end of each iteration.
    pub iterations: Vec<(Time, Time)>,
    /// Where the time of each rank went.
    pub ranks: Vec<RankAccount>,
    /// Tasks that ended.
    pub tasks: u64,
    /// Instants at which something happened.
    pub instants: u64,
    /// Two sums of hashed (part, instance, instant of its end): equal runs have equal digests,
    /// whatever the order within an instant.
    pub digest: [u64; 2],
    /// The observer wanted the run to stop before its end.
    pub stopped: bool,
    /// Members of collectives whose time was checked against their bandwidth bound.
    pub collectives: u64,
    /// Collectives that beat that bound; empty unless there is a bug.
    pub violations: Vec<String>,
}

/// Runs one program once.
pub struct Engine<'a> {
    program: &'a Program,
    places: &'a [Place],
    nodes: Vec<NodeId>,
    network: &'a mut dyn Network,
    compute: &'a mut dyn Compute,
    observer: &'a mut dyn Observer,
    interests: Interests,
    options: Options,
    now: Time,
    instances: Instances,
    /// Parts of a running instance that are not done.
    parts: Vec<u8>,
    /// Start of a running instance; empty when nobody asks.
    starts: Vec<Time>,
    streams: Vec<StreamState>,
    streams_per_rank: usize,
    clocks: Vec<Clock>,
    matching: Matching,
    collectives: Collectives,
    /// (instant, vertex, index, whether it runs: a delay; otherwise it waits for its time)
    timers: BinaryHeap<Reverse<(Time, VertexId, u32, bool)>>,
    /// Fixed times of collectives: (instant, collective, member).
    waits: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Instances whose dependencies are met.
    ready: Vec<(VertexId, u32)>,
    /// Instances to which their stream has come.
    next: Vec<(VertexId, u32)>,
    /// `ready` or `next` in hand.
    batch: Vec<(VertexId, u32)>,
    asks: Vec<Ask>,
    network_done: Vec<NetworkDone>,
    compute_done: Vec<Token>,
    left: u64,
    /// Most bytes per second that can leave the node of each rank.
    egress_bytes_per_s: Vec<f64>,
    summary: Summary,
}

/// A stream: one task at a time, in order of readiness.
#[derive(Debug, Default)]
struct StreamState {
    running: Option<(VertexId, u32)>,
    queue: VecDeque<(VertexId, u32)>,
}

/// How often the observer hears of progress and is asked whether to stop, in instants.
const PROGRESS_EVERY: u64 = 1 << 12;

impl<'a> Engine<'a> {
    /// An engine for `program` with rank `r` at `places[r]`.
    ///
    /// # Panics
    /// When there is not one place per rank.
    pub fn new(
        program: &'a Program,
        places: &'a [Place],
        network: &'a mut dyn Network,
        compute: &'a mut dyn Compute,
        observer: &'a mut dyn Observer,
        options: Options,
    ) -> Self {
        assert_eq!(places.len(), program.ranks() as usize, "one place per rank");
        let instances = Instances::new(program);
        let total = instances.total();
        let interests = observer.interests();
        let streams_per_rank = program
            .vertices()
            .iter()
            .filter(|vertex| vertex.stream != Stream::NONE)
            .map(|vertex| vertex.stream.0 as usize + 1)
            .max()
            .unwrap_or(0);
        Self {
            nodes: places.iter().map(|place| place.node).collect(),
            parts: vec![0; total as usize],
            starts: if interests.tasks || interests.messages {
                vec![Time::ZERO; total as usize]
            } else {
                Vec::new()
            },
            streams: std::iter::repeat_with(StreamState::default)
                .take(streams_per_rank * places.len())
                .collect(),
            streams_per_rank,
            clocks: vec![Clock::default(); places.len()],
            matching: Matching::default(),
            collectives: Collectives::default(),
            timers: BinaryHeap::new(),
            waits: BinaryHeap::new(),
            ready: Vec::new(),
            next: Vec::new(),
            batch: Vec::new(),
            asks: Vec::new(),
            network_done: Vec::new(),
            compute_done: Vec::new(),
            left: total * u64::from(program.iterations()),
            summary: Summary {
                iterations: vec![(Time::MAX, Time::ZERO); program.iterations() as usize],
                ..Summary::default()
            },
            egress_bytes_per_s: places.iter().map(|place| network.egress_bytes_per_s(place.node)).collect(),
            now: Time::ZERO,
            program,
            places,
            compute,
            observer,
            interests,
            options: Options {
                eager_limit_bytes: options.eager_limit_bytes.or(network.host_costs().eager_limit_bytes),
                ..options
            },
            network,
            instances,
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// [`RunError`]; what was observed until then stays with the observer.
    pub fn run(mut self) -> Result<Summary, RunError> {
        for vertex in 0..self.program.vertices().len() as VertexId {
            // of a vertex that waits for others on some ranks, the instances on the rest may begin, too
            for index in 0..self.instances.len(vertex) {
                if self.instances.is_ready(self.instances.number(vertex, index)) {
                    self.release(vertex, index);
                }
            }
        }
        self.start_ready();
        while self.step()? {
            self.summary.instants += 1;
            if self.summary.instants.is_multiple_of(PROGRESS_EVERY) {
                let tasks = self.summary.tasks + self.left;
                self.observer.on_event(&Event::Progress { at: self.now, done: self.summary.tasks, tasks });
                if self.observer.wants_stop() {
                    self.summary.stopped = true;
                    break;
                }
            }
        }
        if self.left > 0 && !self.summary.stopped {
            return Err(self.stalled());
        }
        let end = self.summary.makespan;
        self.summary.ranks = self.clocks.iter().map(|clock| clock.close(end.max(self.now))).collect();
        Ok(self.summary)
    }

    /// Advances to the next instant and handles what ends there; false when nothing will happen.
    fn step(&mut self) -> Result<bool, RunError> {
        let precision = self.options.timing_precision;
        let timer = self.timers.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        let timer = self.waits.peek().map_or(timer, |Reverse((at, ..))| timer.min(*at));
        let compute = self.compute.next_event().unwrap_or(Time::MAX);
        let network = self.network.next_event().unwrap_or(Time::MAX);
        let others = timer.min(compute);
        if network == Time::MAX && others == Time::MAX {
            return Ok(false);
        }
        let mut reached = others;
        if network <= others || network.is_within(precision, others) {
            // with a timing precision, everything due soon after the earliest date is due with it
            let until = if precision > Duration::ZERO { others.min(network) } else { others };
            let cx = &mut Cx { done: &mut self.network_done, observer: &mut *self.observer };
            reached = self.network.advance(until, cx);
        }
        if reached == Time::MAX {
            // what is left would end after the end of time
            return Ok(false);
        }
        self.now = reached;
        if compute <= reached || compute.is_within(precision, reached) {
            let cx = &mut Cx { done: &mut self.compute_done, observer: &mut *self.observer };
            self.compute.advance(reached, cx);
        }
        self.handle_timers();
        self.handle_compute();
        self.handle_network()?;
        self.start_ready();
        Ok(true)
    }

    fn handle_timers(&mut self) {
        while let Some(&Reverse((at, vertex, index, running))) = self.timers.peek() {
            if at > self.now && !at.is_within(self.options.timing_precision, self.now) {
                break;
            }
            self.timers.pop();
            if running { self.finish(vertex, index) } else { self.enqueue(vertex, index) }
        }
        while let Some(&Reverse((at, run, member))) = self.waits.peek() {
            if at > self.now && !at.is_within(self.options.timing_precision, self.now) {
                break;
            }
            self.waits.pop();
            let mut asks = std::mem::take(&mut self.asks);
            self.collectives.close(run, member, self.now, &mut asks);
            self.asks = asks;
            self.serve();
        }
    }

    fn handle_compute(&mut self) {
        let mut done = std::mem::take(&mut self.compute_done);
        done.sort_unstable();
        for token in done.drain(..) {
            let (_, number) = unpack(token);
            self.end_part(number, Activity::Compute, token);
        }
        self.compute_done = done;
    }

    fn handle_network(&mut self) -> Result<(), RunError> {
        let mut done = std::mem::take(&mut self.network_done);
        done.sort_unstable_by_key(|done| match *done {
            NetworkDone::Delivered(token) | NetworkDone::Failed(token) => (token, 0),
            NetworkDone::MemberDone { token, member } => (token, member),
            _ => unreachable!("every completion has a token"),
        });
        for completion in done.drain(..) {
            match completion {
                NetworkDone::Delivered(token) => self.delivered(token),
                NetworkDone::MemberDone { token, member } => {
                    self.leave(unpack(token).1 as u32, member);
                }
                NetworkDone::Failed(_) => return Err(self.failed()),
                _ => unreachable!("every completion is handled"),
            }
        }
        self.network_done = done;
        Ok(())
    }

    fn delivered(&mut self, token: Token) {
        let (part, number) = unpack(token);
        match part {
            Part::Memory => self.end_part(number, Activity::Memory, token),
            Part::Message => {
                let (vertex, index) = task_of(number);
                let instance = self.instances.number(vertex, index);
                let rank = self.instances.rank(self.program, vertex, index);
                let (to, bytes) = match self.program.vertex(vertex).op {
                    Op::Send { to, bytes, .. } | Op::Transfer { to, bytes, .. } => (to, bytes),
                    _ => unreachable!("only sends and transfers have messages"),
                };
                let to = self.program.peer(rank, to).expect("checked when the program was built");
                if self.interests.messages {
                    let start = self.starts[instance as usize];
                    let span = MessageSpan { src: rank, dst: to, start, end: self.now, bytes };
                    self.observer.on_event(&Event::Message(span));
                }
                if let Op::Send { .. } = self.program.vertex(vertex).op
                    && let Some(receive) = self.matching.arrived(instance)
                {
                    let (vertex, index) = self.instances.locate(receive);
                    self.finish(vertex, index);
                }
                self.finish(vertex, index);
            }
            Part::Round => {
                let mut asks = std::mem::take(&mut self.asks);
                let message = self.collectives.delivered(number as u32, self.now, &mut asks);
                if self.interests.messages {
                    let group = &self.program.groups()[self.collectives.run(message.run).group as usize];
                    let span = MessageSpan {
                        src: group[message.from as usize],
                        dst: group[message.to as usize],
                        start: message.start,
                        end: self.now,
                        bytes: message.bytes,
                    };
                    self.observer.on_event(&Event::Message(span));
                }
                self.asks = asks;
                self.serve();
            }
            Part::Access => {
                let mut asks = std::mem::take(&mut self.asks);
                self.collectives.accessed(number as u32, self.now, &mut asks);
                self.asks = asks;
                self.serve();
            }
            Part::Compute | Part::Pipeline => unreachable!("networks complete messages and members"),
        }
    }

    /// A dependency of an instance was the last one: it starts, or waits for its time.
    fn release(&mut self, vertex: VertexId, index: u32) {
        let not_before = Time::ZERO + self.program.vertex(vertex).not_before;
        let instance = self.instances.number(vertex, index);
        if not_before > self.now && self.instances.iteration(instance) == 0 {
            self.timers.push(Reverse((not_before, vertex, index, false)));
        } else {
            self.enqueue(vertex, index);
        }
    }

    /// Puts a ready instance on its stream.
    fn enqueue(&mut self, vertex: VertexId, index: u32) {
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
    fn start_ready(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        loop {
            if !self.next.is_empty() {
                std::mem::swap(&mut batch, &mut self.next);
                for (vertex, index) in batch.drain(..) {
                    self.start(vertex, index);
                }
            } else if !self.ready.is_empty() {
                std::mem::swap(&mut batch, &mut self.ready);
                for (vertex, index) in batch.drain(..) {
                    self.release(vertex, index);
                }
            } else {
                break;
            }
        }
        self.batch = batch;
    }

    fn start(&mut self, vertex: VertexId, index: u32) {
        let program = self.program;
        let instance = self.instances.number(vertex, index);
        self.instances.begin(program, vertex, index);
        let rank = self.instances.rank(program, vertex, index);
        if !self.starts.is_empty() {
            self.starts[instance as usize] = self.now;
        }
        let iteration = self.instances.iteration(instance);
        let begun = &mut self.summary.iterations[iteration as usize].0;
        *begun = (*begun).min(self.now);
        match &program.vertex(vertex).op {
            Op::Join => self.finish(vertex, index),
            Op::Delay(length) => {
                self.clocks[rank.index()].begin(self.now, Activity::Compute);
                self.timers.push(Reverse((self.now + *length, vertex, index, true)));
            }
            Op::Compute(compute) => {
                let place = self.memory_node(rank, compute.place);
                let memory = if compute.remote_bytes > 0 { place } else { None };
                match memory {
                    Some(node) => {
                        self.access(vertex, index, rank, node, compute.remote_bytes);
                        if self.options.memory == MemoryMode::Coherent && compute.flops > 0.0 {
                            self.execute(vertex, index, rank);
                        }
                    }
                    None => self.execute(vertex, index, rank),
                }
            }
            &Op::Transfer { to, bytes, rate_cap } => {
                let to = program.peer(rank, to).expect("checked when the program was built");
                self.clocks[rank.index()].begin(self.now, Activity::Communication);
                let token = pack_task(Part::Message, vertex, index);
                let (src, dst) = (self.nodes[rank.index()], self.nodes[to.index()]);
                let transfer = Transfer { rate_cap, ..Transfer::new(token, src, dst, bytes) };
                self.network.submit(self.now, NetworkRequest::Transfer(transfer));
            }
            &Op::Send { to, tag, bytes } => {
                let to = program.peer(rank, to).expect("checked when the program was built");
                self.clocks[rank.index()].begin(self.now, Activity::Communication);
                let met = self.matching.send(to, rank, tag, instance).is_some();
                if met || self.options.eager_limit_bytes.is_none_or(|limit| bytes <= limit) {
                    self.message(vertex, index, rank, to, bytes);
                }
            }
            &Op::Receive { from, tag } => {
                let from = program.peer(rank, from);
                self.clocks[rank.index()].begin(self.now, Activity::Communication);
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
                self.clocks[rank.index()].begin(self.now, Activity::Communication);
                let mut asks = std::mem::take(&mut self.asks);
                self.collectives.join(
                    vertex,
                    iteration,
                    collective,
                    self.instances.len(vertex),
                    index,
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

    fn access(&mut self, vertex: VertexId, index: u32, rank: Rank, memory: NodeId, bytes: u64) {
        self.parts[self.instances.number(vertex, index) as usize] += 1;
        self.clocks[rank.index()].begin(self.now, Activity::Memory);
        let token = pack_task(Part::Memory, vertex, index);
        let transfer = Transfer {
            overhead_charged: true, // no host takes part
            ..Transfer::new(token, memory, self.nodes[rank.index()], bytes)
        };
        self.network.submit(self.now, NetworkRequest::Transfer(transfer));
    }

    fn execute(&mut self, vertex: VertexId, index: u32, rank: Rank) {
        let Op::Compute(compute) = &self.program.vertex(vertex).op else { unreachable!("it computes") };
        self.parts[self.instances.number(vertex, index) as usize] += 1;
        self.clocks[rank.index()].begin(self.now, Activity::Compute);
        // what was moved, or lives here after all, is read from local memory
        let moved = match (self.options.memory, self.memory_node(rank, compute.place)) {
            (MemoryMode::Coherent, Some(_)) => 0,
            _ => compute.remote_bytes,
        };
        let request = Execute {
            token: pack_task(Part::Compute, vertex, index),
            node: self.nodes[rank.index()],
            flops: compute.flops,
            precision: compute.precision,
            local_bytes: compute.local_bytes + moved,
            priority: compute.priority,
            threads: compute.threads,
            rate_cap: compute.rate_cap,
        };
        self.compute.submit(self.now, request);
    }

    /// The computation or memory access of an instance ended.
    fn end_part(&mut self, number: u64, activity: Activity, token: Token) {
        let (vertex, index) = task_of(number);
        let instance = self.instances.number(vertex, index);
        let rank = self.instances.rank(self.program, vertex, index);
        self.clocks[rank.index()].end(self.now, activity);
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
    fn finish(&mut self, vertex: VertexId, index: u32) {
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
            self.clocks[rank.index()].end(self.now, activity);
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
        let iteration = self.instances.iteration(self.instances.number(vertex, index));
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

    /// Does what collectives ask for.
    fn serve(&mut self) {
        let mut asks = std::mem::take(&mut self.asks);
        for ask in asks.drain(..) {
            match ask {
                Ask::Send(slot) => {
                    let message = self.collectives.messages[slot];
                    let group = &self.program.groups()[self.collectives.run(message.run).group as usize];
                    let node = |member: u32| self.nodes[group[member as usize].index()];
                    let token = pack(Part::Round, u64::from(slot));
                    let ends = [message.from, message.to].map(node);
                    let transfer = Transfer::new(token, ends[0], ends[1], message.bytes);
                    if transfer.src != transfer.dst {
                        self.collectives.sends(message.run, message.from, 1, message.bytes);
                    }
                    self.network.submit(self.now, NetworkRequest::Transfer(transfer));
                }
                Ask::Access(slot) => self.begin_access(slot),
                Ask::Fixed { run, member, fixed } => {
                    let length = kernel::fixed(&self.member_place(run, member).kernels, fixed);
                    self.waits.push(Reverse((self.now + length, run, member)));
                }
                Ask::Local { run, member, bytes } => {
                    let length = kernel::local(&self.member_place(run, member), bytes);
                    self.waits.push(Reverse((self.now + length, run, member)));
                }
                Ask::Done { run, member } => self.leave(run, member),
                Ask::Open { run } => {
                    let pipeline = self.collectives.pipeline(run, self.program, &self.nodes);
                    for member in 0..pipeline.members.len() as u32 {
                        let [own, next] = pipeline.ends(member);
                        if own.node != next.node {
                            self.collectives.sends(run, member, pipeline.steps, pipeline.bytes_sent(member));
                        }
                    }
                    let token = pack(Part::Pipeline, u64::from(run));
                    self.network.submit(self.now, NetworkRequest::OpenPipeline { token, pipeline });
                }
                Ask::Join { run, member } => {
                    let token = pack(Part::Pipeline, u64::from(run));
                    self.network.submit(self.now, NetworkRequest::JoinPipeline { token, member });
                }
            }
        }
        if self.asks.is_empty() {
            self.asks = asks;
        }
    }

    /// Where a member of a collective runs.
    fn member_place(&mut self, run: u32, member: u32) -> Place {
        let group = self.collectives.run(run).group;
        self.places[self.program.groups()[group as usize][member as usize].index()]
    }

    /// A member of a collective stores or loads: no host takes part.
    fn begin_access(&mut self, slot: u32) {
        let Access { run, member, bytes, way } = self.collectives.accesses[slot];
        let place = self.member_place(run, member);
        let shared = || place.home_memory.expect("checked: members of a card have a shared memory");
        let (src, dst) = match way {
            Way::Store => {
                self.collectives.sends(run, member, 1, bytes);
                (place.node, shared())
            }
            Way::Load { at: Held::InShared, .. } => (shared(), place.node),
            Way::Load { from, .. } => (self.member_place(run, from).node, place.node),
        };
        let token = pack(Part::Access, u64::from(slot));
        let rate_cap = kernel::cap(&place, way);
        let transfer = Transfer { rate_cap, overhead_charged: true, ..Transfer::new(token, src, dst, bytes) };
        self.network.submit(self.now, NetworkRequest::Transfer(transfer));
    }

    /// A member of a collective is done.
    fn leave(&mut self, run: u32, member: u32) {
        let vertex = self.collectives.run(run).vertex;
        self.check_member(run, vertex, member);
        self.collectives.left(run);
        self.finish(vertex, member);
    }

    /// What a member sent cannot have left its node faster than the node's links allow.
    fn check_member(&mut self, run: u32, vertex: VertexId, member: u32) {
        const NAMED: usize = 20;
        let rank = self.instances.rank(self.program, vertex, member);
        let effort = self.collectives.effort(run, member);
        let least_s = effort.bytes as f64 / self.egress_bytes_per_s[rank.index()];
        let took = self.now - effort.since;
        // every message may end as much early as time is rounded
        let rounding_s =
            (self.options.timing_precision.as_secs_f64() + 1e-12) * f64::from(effort.messages + 1);
        self.summary.collectives += 1;
        let beaten = took.as_secs_f64() * (1.0 + 1e-9) + rounding_s < least_s;
        if beaten && self.summary.violations.len() < NAMED {
            let name = self.name(vertex, rank);
            let bytes = effort.bytes;
            self.summary.violations.push(format!(
                "{name} sent {bytes} bytes in {took}, its node's links take {least_s:.9} s for them"
            ));
        }
    }

    fn name(&self, vertex: VertexId, rank: Rank) -> String {
        format!("`{}` on rank {rank}", self.program.name(vertex))
    }

    fn failed(&mut self) -> RunError {
        let (token, reason) = self.network.failure().unwrap_or((Token(0), "unknown".to_owned()));
        let (part, number) = unpack(token);
        let (vertex, rank) = match part {
            Part::Round => {
                let message = self.collectives.messages[number as u32];
                let run = self.collectives.run(message.run);
                (run.vertex, self.program.groups()[run.group as usize][message.from as usize])
            }
            Part::Pipeline => {
                let run = self.collectives.run(number as u32);
                (run.vertex, self.program.groups()[run.group as usize][0])
            }
            Part::Access => {
                let access = self.collectives.accesses[number as u32];
                let run = self.collectives.run(access.run);
                (run.vertex, self.program.groups()[run.group as usize][access.member as usize])
            }
            _ => {
                let (vertex, index) = task_of(number);
                (vertex, self.instances.rank(self.program, vertex, index))
            }
        };
        RunError::Failed { at: self.now, task: self.name(vertex, rank), reason }
    }

    /// Names the first tasks that wait, and what for.
    fn stalled(&self) -> RunError {
        const NAMED: usize = 12;
        let mut waiting = Vec::new();
        'all: for vertex in 0..self.program.vertices().len() as VertexId {
            for index in 0..self.instances.len(vertex) {
                let instance = self.instances.number(vertex, index);
                if self.instances.is_over(instance) {
                    continue;
                }
                let rank = self.instances.rank(self.program, vertex, index);
                let name = self.name(vertex, rank);
                let unmet = self.instances.waits_for(self.program, vertex, index);
                waiting.push(match unmet.first() {
                    Some(&(before, on)) => format!("  {name} waits for {}", self.name(before, on)),
                    None => format!("  {name} waits for {}", self.waits_inside(vertex, index, rank)),
                });
                if waiting.len() == NAMED {
                    waiting.push("  ...".to_owned());
                    break 'all;
                }
            }
        }
        RunError::Stalled { at: self.now, count: self.left, waiting }
    }

    /// What a task waits for whose dependencies are met.
    fn waits_inside(&self, vertex: VertexId, index: u32, rank: Rank) -> String {
        let stream = self.program.vertex(vertex).stream;
        if stream != Stream::NONE {
            let state = &self.streams[rank.index() * self.streams_per_rank + stream.0 as usize];
            if let Some((other, _)) = state.running
                && state.queue.contains(&(vertex, index))
            {
                let other = self.program.name(other);
                return format!("stream {} of the rank, on which `{other}` runs", stream.0);
            }
        }
        match self.program.vertex(vertex).op {
            Op::Receive { from, tag } => {
                let from =
                    self.program.peer(rank, from).map_or("any rank".to_owned(), |r| format!("rank {r}"));
                let tag = tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
                format!("a message from {from} with {tag}")
            }
            Op::Send { to, tag, .. } => {
                let to = self.program.peer(rank, to).map_or("any rank".to_owned(), |r| format!("rank {r}"));
                format!("{to} to receive tag {tag}")
            }
            Op::Collective(_) => {
                let iteration = self.instances.iteration(self.instances.number(vertex, index));
                self.collectives.describe(vertex, iteration, index)
            }
            Op::Compute(_) | Op::Transfer { .. } => {
                "a node or link without rate, or takes longer than 213 days".to_owned()
            }
            _ => "its stream".to_owned(),
        }
    }
}
