//! The loop: what is ready starts, models advance, what they complete releases more.

mod members;
mod reasons;
mod tasks;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use stratasim_core::model::{Compute, Network, NetworkDone};
use stratasim_core::observe::{Activity, Event, Interests, MessageSpan, Observer};
use stratasim_core::{Bandwidth, Cx, Duration, KernelCosts, NodeId, Time, Token};
use stratasim_workload::program::{Op, Program, Stream, VertexId};

use crate::account::{Clock, RankAccount};
use crate::collectives::{Ask, Collectives};
use crate::error::RunError;
use crate::instances::Instances;
use crate::matching::Matching;
use crate::token::{Part, task_of, unpack};
use crate::vertices::{VertexAccount, Vertices};

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
    /// Whether the time is told by vertex, too.
    pub by_vertex: bool,
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
    /// How the tasks of each vertex fared, in order; empty where nobody asked ([`Options::by_vertex`]) and of a run that was stopped.
    pub vertices: Vec<VertexAccount>,
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
    vertices: Option<Vertices>,
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
    /// The network came back with nothing before its time: the observer may want to stop.
    paused: bool,
    /// Instants and what ended at them since the observer was asked.
    unasked: u64,
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

/// How often the observer hears of progress and is asked whether to stop, in instants and what ends at them.
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
            vertices: options
                .by_vertex
                .then(|| Vertices::new(program.vertices().len(), total as usize, places.len())),
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
            paused: false,
            unasked: 0,
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
                    // not started yet: what ends at once would make others ready that are still to be looked at
                    self.ready.push((vertex, index));
                }
            }
        }
        self.start_ready();
        // there are never so many again
        self.batch = Vec::new();
        self.tell_progress();
        while !self.summary.stopped && self.step()? {
            self.summary.instants += 1;
            self.unasked += 1;
            if self.paused || self.unasked >= PROGRESS_EVERY {
                self.unasked = 0;
                self.tell_progress();
                if self.observer.wants_stop() {
                    self.summary.stopped = true;
                    break;
                }
            }
        }
        if self.summary.stopped {
            // what the network did until now belongs to the account
            self.summary.makespan = self.now;
        }
        let end = self.summary.makespan;
        self.network.look_back(end, self.observer);
        if self.left > 0 && !self.summary.stopped {
            return Err(self.stalled());
        }
        self.summary.ranks = self.clocks.iter().map(|clock| clock.close(end.max(self.now))).collect();
        if !self.summary.stopped {
            self.summary.vertices = self.vertices.map_or_else(Vec::new, Vertices::close);
        }
        Ok(self.summary)
    }

    fn tell_progress(&mut self) {
        let done = self.summary.tasks;
        self.observer.on_event(&Event::Progress { at: self.now, done, tasks: done + self.left });
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
            return self.end_of_time();
        }
        let mut reached = others;
        self.paused = false;
        if network <= others || network.is_within(precision, others) {
            // with a timing precision, everything due soon after the earliest date is due with it
            let until = if precision > Duration::ZERO { others.min(network) } else { others };
            let cx = &mut Cx { done: &mut self.network_done, observer: &mut *self.observer };
            reached = self.network.advance(until, cx);
            self.paused = self.network_done.is_empty() && reached < until;
        }
        if reached == Time::MAX {
            return self.end_of_time();
        }
        self.now = reached;
        if compute <= reached || compute.is_within(precision, reached) {
            let cx = &mut Cx { done: &mut self.compute_done, observer: &mut *self.observer };
            self.compute.advance(reached, cx);
        }
        self.unasked += (self.compute_done.len() + self.network_done.len()) as u64;
        self.handle_timers();
        self.handle_compute();
        self.handle_network()?;
        self.start_ready();
        Ok(true)
    }

    /// Nothing happens before the last instant that a time can say: what is left takes longer, or waits for ever.
    fn end_of_time(&mut self) -> Result<bool, RunError> {
        let is_left = !self.timers.is_empty()
            || !self.waits.is_empty()
            || self.compute.next_event().is_some()
            || self.network.next_event().is_some()
            || !self.network_done.is_empty();
        if is_left { Err(RunError::TooLong { at: self.now }) } else { Ok(false) }
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
                    let flow = self.network.flow(token).map(Box::new);
                    let span = MessageSpan { src: rank, dst: to, start, end: self.now, bytes, flow };
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
                        flow: self.network.flow(token).map(Box::new),
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
}
