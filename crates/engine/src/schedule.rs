//! Runs a GOAL schedule on any network.
//!
//! - A stream of a rank runs one thing at a time, in the order in which they became ready: computations,
//!   and what the host does for sends and receives (o of LogGOPS).
//! - A send starts when its stream takes it up. After the host's overhead the message is handed to the
//!   network, and the send ends, if the message is eager. A larger one announces itself, waits until the
//!   receiver answers that a receive has been matched, and ends when the data has arrived; announcement
//!   and answer are messages without payload.
//! - A receive is posted as soon as it is ready and holds no stream while it waits. When it has been
//!   matched and the message is there, its stream spends the overhead, and it ends.
//! - Messages are matched in the order in which they arrive; those from one rank to another never
//!   overtake each other. Wildcards take the first that fits.
//! - `requires` waits for the end of an operation, `irequires` for its start, on any stream.
//!
//! Time never goes back, nothing starts before what it requires, and a run that cannot go on says so.

pub mod noise;
mod order;
mod streams;

use std::collections::VecDeque;

use stratasim_core::model::{HostCosts, Network, NetworkDone, NetworkRequest, Transfer};
use stratasim_core::observe::{Activity, Event, Interests, MessageSpan, Observer, TaskSpan};
use stratasim_core::queue::RadixQueue;
use stratasim_core::random::mix;
use stratasim_core::{BuildError, Cx, Duration, NodeId, Rank, Time, Token};
use stratasim_workload::goal::{Operation, OperationKind, Schedule};

use crate::account::SmallClock;
use crate::ahead::{Columns, Coming, pays};
use crate::dependencies::Missing;
use crate::engine::Summary;
use crate::error::RunError;
use crate::fifo::{Entry, Fifo, Fifos};
use crate::stall::{Left, Waits};
use noise::Noise;
use order::Order;
use streams::Streams;

/// What a message is, in the two highest bits of its token; then the rank that sends the data and the
/// send.
const EAGER: u64 = 0;
const ANNOUNCEMENT: u64 = 1;
const ANSWER: u64 = 2;
const DATA: u64 = 3;
const KIND_SHIFT: u32 = 62;
const RANK_SHIFT: u32 = 32;
/// Most ranks that fit between them.
const MOST_RANKS: u32 = 1 << 30;

const POSTED: usize = 0;
const UNEXPECTED: usize = 1;

/// How often the observer is asked whether to stop, in instants and what ends at them.
const PROGRESS_EVERY: u64 = 1 << 12;

/// Options of a run.
#[derive(Debug, Default)]
pub struct ScheduleOptions<'a> {
    /// What hosts do for each message; the network's own, where `None`.
    pub host: Option<HostCosts>,
    /// By which number the network and the noise know each rank, ascending; its own, where `None`. So a part of the ranks can run
    /// as it would among all. Errors count ranks as the schedule does.
    pub numbers: Option<&'a [u32]>,
    /// What the system takes from computations and overheads.
    pub noise: Option<Noise>,
    /// First operation of each part whose end is wanted, ascending ([`ScheduleSummary::part_ends`]).
    pub parts: &'a [u32],
    /// Before when nothing of each part begins; empty: all begin at once. Nothing of one part waits for something of another.
    pub starts: &'a [Time],
}

/// What a run came to.
#[derive(Debug, Clone, Default)]
pub struct ScheduleSummary {
    /// As for a program.
    pub run: Summary,
    /// Receives whose size was not that of their message.
    pub size_mismatches: u64,
    /// When the last operation of each part ended.
    pub part_ends: Vec<Time>,
}

/// Runs one schedule once.
pub struct ScheduleEngine<'a, N: Network + ?Sized> {
    schedule: &'a Schedule,
    nodes: &'a [NodeId],
    /// By which number others know each rank; its own, where `None`.
    numbers: Option<&'a [u32]>,
    network: &'a mut N,
    observer: &'a mut dyn Observer,
    interests: Interests,
    costs: HostCosts,
    now: Time,
    /// Whether what comes soon is asked for.
    looks_ahead: bool,
    /// Dependencies that each operation misses.
    missing: Missing,
    /// Start of each operation; empty when nobody asks.
    starts: Vec<Time>,
    streams: Streams,
    clocks: Vec<SmallClock>,
    queues: Vec<[Fifo; 2]>,
    fifos: Fifos,
    /// (send, receive) of rendezvous messages under way.
    partners: rustc_hash::FxHashMap<u32, u32>,
    /// Keeps messages in order where the network does not.
    order: Option<Order>,
    noise: Option<Noise>,
    parts: &'a [u32],
    starts_of_parts: &'a [Time],
    /// What waits for nothing but the start of its part: (when, rank, operation), ascending.
    later: VecDeque<(Time, u32, u32)>,
    /// Ends of what streams do: (rank, operation).
    ends: RadixQueue<(u32, u32)>,
    /// Operations whose dependencies are met: (rank, operation).
    ready: Vec<(u32, u32)>,
    done: Vec<NetworkDone>,
    left: u64,
    /// The network came back with nothing before its time: the observer may want to stop.
    paused: bool,
    /// Instants and what ended at them since the observer was asked.
    unasked: u64,
    summary: ScheduleSummary,
}

impl<'a, N: Network + ?Sized> ScheduleEngine<'a, N> {
    /// An engine for `schedule` with rank `r` on `nodes[r]`.
    ///
    /// # Errors
    /// A send to a rank that does not exist; more ranks or streams than can be held.
    ///
    /// # Panics
    /// When there is not one node per rank, or numbers are not one per rank and ascending.
    pub fn new(
        schedule: &'a Schedule,
        nodes: &'a [NodeId],
        network: &'a mut N,
        observer: &'a mut dyn Observer,
        options: ScheduleOptions<'a>,
    ) -> Result<Self, BuildError> {
        let ranks = schedule.ranks();
        assert_eq!(nodes.len(), ranks as usize, "one node per rank");
        let is_numbered =
            |numbers: &[u32]| numbers.len() == nodes.len() && numbers.is_sorted_by(|a, b| a < b);
        assert!(options.numbers.is_none_or(is_numbered), "one number per rank, ascending");
        let most =
            options.numbers.and_then(|numbers| numbers.last()).map_or(ranks, |last| last.saturating_add(1));
        if most > MOST_RANKS {
            return Err(BuildError::new("", format!("{most} ranks; at most 2^30 can run")));
        }
        let missing = Missing::of(schedule)?;
        let interests = observer.interests();
        let order = (!network.keeps_order() || schedule.nics() > 1).then(Order::default);
        Ok(Self {
            costs: options.host.unwrap_or_else(|| network.host_costs()),
            starts: if interests.tasks || interests.messages {
                vec![Time::ZERO; schedule.len() as usize]
            } else {
                Vec::new()
            },
            streams: Streams::new(ranks, schedule.cpus())?,
            clocks: vec![SmallClock::default(); ranks as usize],
            queues: vec![[Fifo::default(); 2]; ranks as usize],
            fifos: Fifos::default(),
            partners: rustc_hash::FxHashMap::default(),
            order,
            noise: options.noise,
            parts: options.parts,
            starts_of_parts: options.starts,
            later: VecDeque::new(),
            ends: RadixQueue::new(),
            ready: Vec::new(),
            done: Vec::new(),
            left: u64::from(schedule.len()),
            paused: false,
            unasked: 0,
            summary: ScheduleSummary {
                part_ends: vec![Time::ZERO; options.parts.len()],
                ..ScheduleSummary::default()
            },
            now: Time::ZERO,
            schedule,
            nodes,
            numbers: options.numbers,
            network,
            observer,
            interests,
            looks_ahead: pays(schedule),
            missing,
        })
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// Operations that can never run, messages that nobody receives, messages that cannot be carried.
    pub fn run(mut self) -> Result<ScheduleSummary, RunError> {
        let mut roots = Vec::new();
        for rank in 0..self.schedule.ranks() {
            // what becomes ready here belongs to the rank in hand, and is not yet among its roots
            roots.clear();
            let free = |operation: &u32| self.missing.is_free(*operation);
            roots.extend(self.schedule.of_rank(rank).filter(free));
            for &operation in &roots {
                match self.start_of_part(operation) {
                    Time::ZERO => self.begin(rank, operation),
                    start => self.later.push_back((start, rank, operation)),
                }
            }
            self.begin_ready();
        }
        self.later.make_contiguous().sort_by_key(|&(start, ..)| start);
        self.tell_progress();
        while self.step()? {
            self.summary.run.instants += 1;
            self.unasked += 1;
            if self.paused || self.unasked >= PROGRESS_EVERY {
                self.unasked = 0;
                self.tell_progress();
                if self.observer.wants_stop() {
                    self.summary.run.stopped = true;
                    break;
                }
            }
        }
        if self.summary.run.stopped {
            // what the network did until now belongs to the account
            self.summary.run.makespan = self.now;
        }
        self.network.look_back(self.summary.run.makespan, self.observer);
        if !self.summary.run.stopped && (self.left > 0 || self.unmatched() > 0) {
            return Err(self.stalled());
        }
        let Self { mut summary, clocks, now, missing, streams, queues, fifos, ends, .. } = self;
        drop((missing, streams, queues, fifos, ends)); // before the accounts take their place
        let end = summary.run.makespan;
        summary.run.iterations = vec![(Time::ZERO, end)];
        summary.run.ranks = clocks.iter().map(|clock| clock.close(end.max(now))).collect();
        Ok(summary)
    }

    /// Before when an operation does not begin.
    fn start_of_part(&self, operation: u32) -> Time {
        let part = self.parts.partition_point(|&first| first <= operation).checked_sub(1);
        part.and_then(|part| self.starts_of_parts.get(part)).copied().unwrap_or(Time::ZERO)
    }

    fn tell_progress(&mut self) {
        let done = self.summary.run.tasks;
        self.observer.on_event(&Event::Progress { at: self.now, done, tasks: done + self.left });
    }

    /// Advances to the next instant and handles what ends there; false when nothing will happen.
    fn step(&mut self) -> Result<bool, RunError> {
        let end = self.ends.earliest().map_or(Time::MAX, Time::from_ps);
        let own = self.later.front().map_or(end, |&(start, ..)| end.min(start));
        let network = self.network.next_event().unwrap_or(Time::MAX);
        if own == Time::MAX && network == Time::MAX {
            return self.end_of_time();
        }
        let mut reached = own;
        self.paused = false;
        if network <= own {
            let cx = &mut Cx { done: &mut self.done, observer: &mut *self.observer };
            reached = self.network.advance(own, cx);
            self.paused = self.done.is_empty() && reached < own;
        }
        if reached == Time::MAX {
            return self.end_of_time();
        }
        self.now = reached;
        while let Some((_, (rank, operation))) = self.ends.pop_until(self.now.as_ps()) {
            self.unasked += 1;
            let coming = |&(rank, operation): &(u32, u32)| Coming::Operation { rank, operation };
            self.ask_for(|places| self.ends.later(places).map(coming));
            self.stream_done(rank, operation);
        }
        while let Some(&(start, rank, operation)) = self.later.front()
            && start <= self.now
        {
            self.later.pop_front();
            self.ready.push((rank, operation));
        }
        self.unasked += self.done.len() as u64;
        if !self.done.is_empty() {
            let mut done = std::mem::take(&mut self.done);
            for at in 0..done.len() {
                self.ask_for(|places| done.get(at + places).and_then(|done| self.coming(done)));
                match done[at] {
                    NetworkDone::Delivered(token) => self.delivered(token),
                    NetworkDone::Failed(_) => return Err(self.failed()),
                    _ => unreachable!("a schedule sends messages only"),
                }
            }
            done.clear();
            self.done = done;
        }
        self.begin_ready();
        Ok(true)
    }

    /// Nothing happens before the last instant that a time can say: what is left takes longer, or waits for ever.
    fn end_of_time(&mut self) -> Result<bool, RunError> {
        let is_left = self.ends.earliest().is_some()
            || self.network.next_event().is_some()
            || !self.done.is_empty()
            || !self.later.is_empty();
        if is_left { Err(RunError::TooLong { at: self.now }) } else { Ok(false) }
    }

    /// Asks for what events will read that come soon.
    #[inline]
    fn ask_for(&self, later: impl Fn(usize) -> Option<Coming>) {
        if self.looks_ahead {
            let columns = Columns {
                schedule: self.schedule,
                missing: &self.missing,
                queues: &self.queues,
                fifos: &self.fifos,
            };
            columns.ask_for(later);
        }
    }

    fn begin_ready(&mut self) {
        let mut at = 0;
        while let Some(&(rank, operation)) = self.ready.get(at) {
            let coming = |&(rank, operation): &(u32, u32)| Coming::Operation { rank, operation };
            self.ask_for(|places| self.ready.get(at + places).map(coming));
            at += 1;
            self.begin(rank, operation);
        }
        self.ready.clear();
    }

    /// Everything that an operation waited for has happened.
    fn begin(&mut self, rank: u32, operation: u32) {
        let shape = self.schedule.shape(operation);
        let Operation { kind, tag, cpu, .. } = shape.operation;
        if kind != OperationKind::Receive {
            if self.streams.take(rank, cpu, operation) {
                self.start_on_stream(rank, operation);
            }
            return;
        }
        let source = shape.peer(rank, self.schedule.ranks());
        self.note_start(operation);
        self.clocks[rank as usize].begin(self.now, Activity::Communication);
        self.release(rank, operation, true);
        let queues = &mut self.queues[rank as usize];
        match self.fifos.take(&mut queues[UNEXPECTED], source, tag) {
            Some(sent) => self.matched(sent.source, sent.item, rank, operation),
            None => {
                let entry = Entry { source, tag, item: operation };
                self.fifos.push(&mut queues[POSTED], entry);
            }
        }
    }

    /// A stream takes up an operation.
    fn start_on_stream(&mut self, rank: u32, operation: u32) {
        let Operation { kind, size, .. } = self.schedule.shape(operation).operation;
        let (length, activity) = match kind {
            OperationKind::Calc => (Duration::from_ps(size.saturating_mul(1000)), Some(Activity::Compute)),
            OperationKind::Send => (self.costs.of(size), Some(Activity::Communication)),
            // its wait counts as communication already
            OperationKind::Receive => (self.costs.of(size), None),
        };
        if let Some(activity) = activity {
            self.note_start(operation);
            self.clocks[rank as usize].begin(self.now, activity);
            self.release(rank, operation, true);
        }
        let length = match &mut self.noise {
            Some(noise) if length > Duration::ZERO => {
                let number = self.numbers.map_or(rank, |numbers| numbers[rank as usize]);
                noise.stretch(number, self.now, length)
            }
            _ => length,
        };
        self.ends.push((self.now + length).as_ps(), (rank, operation));
    }

    /// A stream has done what an operation asked of it.
    fn stream_done(&mut self, rank: u32, operation: u32) {
        let shape = self.schedule.shape(operation);
        let Operation { kind, size, cpu, .. } = shape.operation;
        match kind {
            OperationKind::Calc => self.end(rank, operation, Activity::Compute, 0),
            OperationKind::Receive => self.end(rank, operation, Activity::Communication, size),
            OperationKind::Send => {
                if self.is_eager(size) {
                    self.send(EAGER, rank, operation);
                    self.end(rank, operation, Activity::Communication, size);
                } else {
                    self.send(ANNOUNCEMENT, rank, operation);
                }
            }
        }
        if let Some(next) = self.streams.release(rank, cpu) {
            self.start_on_stream(rank, next);
        }
    }

    /// Whether a message of `size` bytes travels without waiting for its receive.
    #[inline]
    fn is_eager(&self, size: u64) -> bool {
        self.costs.eager_limit_bytes.is_none_or(|limit| size <= limit)
    }

    /// Hands a message to the network.
    fn send(&mut self, kind: u64, rank: u32, operation: u32) {
        let shape = self.schedule.shape(operation);
        let Operation { size, nic, cpu, .. } = shape.operation;
        let to = shape.peer(rank, self.schedule.ranks());
        let number = self.numbers.map_or(rank, |numbers| numbers[rank as usize]);
        let token = kind << KIND_SHIFT | u64::from(number) << RANK_SHIFT | u64::from(operation);
        let (from, to) = if kind == ANSWER { (to, rank) } else { (rank, to) };
        let bytes = if kind == EAGER || kind == DATA { size } else { 0 };
        if let Some(order) = &mut self.order
            && matches!(kind, EAGER | ANNOUNCEMENT)
        {
            order.sent(from, to, operation);
        }
        let transfer = Transfer {
            nic,
            line: cpu,
            overhead_charged: true,
            handshake: !matches!(kind, EAGER | DATA),
            ..Transfer::new(Token(token), self.nodes[from as usize], self.nodes[to as usize], bytes)
        };
        self.network.submit(self.now, NetworkRequest::Transfer(transfer));
    }

    /// The rank whose message has this token.
    #[inline]
    fn rank_of(&self, token: Token) -> u32 {
        let number = (token.0 >> RANK_SHIFT) as u32 & (MOST_RANKS - 1);
        match self.numbers {
            None => number,
            Some(numbers) => numbers.partition_point(|&known| known < number) as u32,
        }
    }

    /// What the end of a transfer is about.
    #[inline]
    fn coming(&self, done: &NetworkDone) -> Option<Coming> {
        let NetworkDone::Delivered(token) = *done else { return None };
        let (rank, operation) = (self.rank_of(token), token.0 as u32);
        Some(match token.0 >> KIND_SHIFT {
            EAGER | ANNOUNCEMENT => Coming::Message { from: rank, send: operation },
            _ => Coming::Operation { rank, operation },
        })
    }

    fn delivered(&mut self, token: Token) {
        let operation = token.0 as u32;
        let rank = self.rank_of(token);
        match token.0 >> KIND_SHIFT {
            ANSWER => self.send(DATA, rank, operation),
            DATA => {
                let to = self.schedule.shape(operation).peer(rank, self.schedule.ranks());
                let receive = self.partners.remove(&operation).expect("data follows a match");
                self.note_message(token, rank, to, operation);
                self.end(
                    rank,
                    operation,
                    Activity::Communication,
                    self.schedule.shape(operation).operation.size,
                );
                self.received(to, receive);
            }
            kind => {
                if kind == EAGER && self.interests.messages {
                    let to = self.schedule.shape(operation).peer(rank, self.schedule.ranks());
                    self.note_message(token, rank, to, operation);
                }
                match self.order.take() {
                    None => self.arrived(rank, operation),
                    Some(mut order) => {
                        let to = self.schedule.shape(operation).peer(rank, self.schedule.ranks());
                        order.arrived(rank, to, operation, |operation| self.arrived(rank, operation));
                        self.order = Some(order);
                    }
                }
            }
        }
    }

    /// A message, or its announcement, is at its receiver, after all that were sent before.
    fn arrived(&mut self, from: u32, send: u32) {
        let shape = self.schedule.shape(send);
        let to = shape.peer(from, self.schedule.ranks());
        let tag = shape.operation.tag;
        let queues = &mut self.queues[to as usize];
        match self.fifos.take(&mut queues[POSTED], from, tag) {
            Some(posted) => self.matched(from, send, to, posted.item),
            None => {
                let entry = Entry { source: from, tag, item: send };
                self.fifos.push(&mut queues[UNEXPECTED], entry);
            }
        }
    }

    /// A message and a receive have found each other.
    fn matched(&mut self, from: u32, send: u32, to: u32, receive: u32) {
        let size = self.schedule.shape(send).operation.size;
        self.summary.size_mismatches += u64::from(size != self.schedule.shape(receive).operation.size);
        if self.is_eager(size) {
            self.received(to, receive);
        } else {
            self.partners.insert(send, receive);
            self.send(ANSWER, from, send);
        }
    }

    /// The message of a receive is there: the host takes it up.
    fn received(&mut self, rank: u32, receive: u32) {
        let Operation { size, cpu, .. } = self.schedule.shape(receive).operation;
        if self.costs.of(size) == Duration::ZERO {
            self.end(rank, receive, Activity::Communication, size);
        } else if self.streams.take(rank, cpu, receive) {
            self.start_on_stream(rank, receive);
        }
    }

    /// An operation has ended.
    fn end(&mut self, rank: u32, operation: u32, activity: Activity, bytes: u64) {
        self.clocks[rank as usize].end(self.now, activity);
        let summary = &mut self.summary.run;
        summary.makespan = self.now;
        summary.tasks += 1;
        self.left -= 1;
        let hash = mix(self.now.as_ps().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(operation));
        summary.digest[0] = summary.digest[0].wrapping_add(hash);
        summary.digest[1] =
            summary.digest[1].wrapping_add(hash.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if !self.parts.is_empty() {
            let part = self.parts.partition_point(|&first| first <= operation);
            if let Some(part) = part.checked_sub(1) {
                self.summary.part_ends[part] = self.now;
            }
        }
        if self.interests.tasks {
            let span = TaskSpan {
                rank: Rank(rank),
                stream: self.schedule.shape(operation).operation.cpu,
                vertex: operation,
                iteration: 0,
                activity,
                start: self.starts[operation as usize],
                end: self.now,
                bytes,
            };
            self.observer.on_event(&Event::Task(span));
        }
        self.release(rank, operation, false);
    }

    /// What waits for the start or the end of an operation misses one thing less.
    #[inline]
    fn release(&mut self, rank: u32, operation: u32, started: bool) {
        self.missing.resolve(self.schedule, rank, operation, started, |after, missing| {
            if missing == 0 {
                self.ready.push((rank, after));
            }
        });
    }

    #[inline]
    fn note_start(&mut self, operation: u32) {
        if !self.starts.is_empty() {
            self.starts[operation as usize] = self.now;
        }
    }

    fn note_message(&mut self, token: Token, from: u32, to: u32, operation: u32) {
        if self.interests.messages {
            let span = MessageSpan {
                src: Rank(from),
                dst: Rank(to),
                start: self.starts[operation as usize],
                end: self.now,
                bytes: self.schedule.shape(operation).operation.size,
                flow: self.network.flow(token).map(Box::new),
            };
            self.observer.on_event(&Event::Message(span));
        }
    }

    /// Messages that nobody received, but whose sends have ended.
    fn unmatched(&self) -> u64 {
        if self.fifos.len() == 0 {
            return 0;
        }
        self.queues.iter().map(|[_, unexpected]| self.fifos.entries(*unexpected).len() as u64).sum()
    }

    fn failed(&mut self) -> RunError {
        let (token, reason) = self.network.failure().unwrap_or((Token(0), "unknown".to_owned()));
        let (rank, operation) = (self.rank_of(token), token.0 as u32);
        let task = format!("rank {rank} `{}`", self.schedule.label(rank, operation));
        RunError::Failed { at: self.now, task, reason }
    }

    fn stalled(&self) -> RunError {
        let mut left = Left::new(self.schedule);
        for (rank, [posted, unexpected]) in (0..).zip(&self.queues) {
            for entry in self.fifos.entries(*posted) {
                left.add(rank, entry.item, Waits::Message);
            }
            for entry in self.fifos.entries(*unexpected) {
                let over = self.is_eager(self.schedule.shape(entry.item).operation.size);
                left.add(entry.source, entry.item, if over { Waits::Nothing } else { Waits::Receive });
            }
        }
        for rank in 0..self.schedule.ranks() {
            for operation in self.schedule.of_rank(rank) {
                if !self.missing.is_free(operation) {
                    left.add(rank, operation, Waits::Others);
                }
            }
        }
        RunError::Stalled { at: self.now, count: left.len(), waiting: left.describe() }
    }
}
