//! How ATLAHS drives its packet level (htsim) with a schedule, on any network.
//!
//! Its front end is LogGOPSim with L = g = O = S = 0. Every send starts a flow of its own as soon as what it requires is
//! done, its stream is free, and its NIC is: a NIC is held for the packets of a message and one more, at G. Both
//! the send and the receive end when the network says that the message is complete and the receive has been posted.
//! A computation of nothing and a message to oneself take a nanosecond.
//!
//! One thing is not repeated. What the end of one flow releases at times waits in the front end until something else
//! happens anywhere: another flow ends, or another host's NIC becomes free. That costs some runs a third of their time, and
//! it has no rule that its authors state.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stratasim_core::model::{Network, NetworkDone, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::{BuildError, Cx, Duration, NodeId, Time, Token};
use stratasim_workload::goal::{OperationKind, Schedule};

use super::hosts::{Hosts, POSTED, UNEXPECTED};
use crate::error::RunError;
use crate::fifo::Entry;

/// Payload of a packet, as the front end counts packets.
const PAYLOAD_BYTES: u64 = 4096;
/// The same with headers.
const PACKET_BYTES: u64 = 4160;

/// A message as the network carried it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Rank that sends.
    pub source: u32,
    /// Rank that receives.
    pub destination: u32,
    /// Payload.
    pub bytes: u64,
    /// When it was handed to the network.
    pub start: Time,
    /// When the network called it complete.
    pub finish: Time,
}

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowOutcome {
    /// Messages in the order in which they were complete.
    pub flows: Vec<Flow>,
    /// When the last operation of each rank ended.
    pub finish: Vec<Time>,
}

/// What is due at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A computation ends.
    End,
    /// An operation may start.
    Start,
}

/// Something to do; earlier first, and of one time what was made first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Task {
    time: u64,
    made: u64,
    due: Due,
    rank: u32,
    operation: u32,
}

struct Simulation<'a> {
    hosts: Hosts<'a>,
    nodes: &'a [NodeId],
    gap_ps_per_byte: f64,
    queue: BinaryHeap<Reverse<Task>>,
    made: u64,
    /// When each send was handed over.
    starts: Vec<u64>,
    outcome: FlowOutcome,
    left: u64,
}

/// Runs `schedule`, rank `r` on `nodes[r]`; G is `gap_ps_per_byte` (40 with ATLAHS, whatever the links are).
///
/// # Errors
/// A schedule that sends to a rank that does not exist or uses several NICs, messages that cannot be carried, and
/// operations that never end.
///
/// # Panics
/// When there is not one node per rank.
pub fn on_network(
    schedule: &Schedule,
    nodes: &[NodeId],
    network: &mut dyn Network,
    gap_ps_per_byte: f64,
) -> Result<FlowOutcome, RunError> {
    assert_eq!(nodes.len(), schedule.ranks() as usize, "one node per rank");
    let refused = |error: BuildError| RunError::Refused { reason: error.reason };
    if schedule.nics() > 1 {
        let reason = format!("{} NICs per rank; these rules are for one", schedule.nics());
        return Err(RunError::Refused { reason });
    }
    let mut simulation = Simulation {
        hosts: Hosts::new(schedule).map_err(refused)?,
        nodes,
        gap_ps_per_byte,
        queue: BinaryHeap::new(),
        made: 0,
        starts: vec![0; schedule.len() as usize],
        outcome: FlowOutcome { flows: Vec::new(), finish: vec![Time::ZERO; nodes.len()] },
        left: u64::from(schedule.len()),
    };
    simulation.run(network)?;
    if simulation.left > 0 {
        let left = simulation.hosts.left(|_| false);
        let at = simulation.outcome.finish.iter().copied().max().unwrap_or(Time::ZERO);
        return Err(RunError::Stalled { at, count: left.len(), waiting: left.describe() });
    }
    Ok(simulation.outcome)
}

impl Simulation<'_> {
    fn run(&mut self, network: &mut dyn Network) -> Result<(), RunError> {
        let mut roots = Vec::new();
        for rank in 0..self.hosts.schedule.ranks() {
            self.hosts.roots(rank, false, &mut roots);
            for &operation in &roots {
                self.push(0, Due::Start, rank, operation);
            }
        }
        let mut done = Vec::new();
        let mut now = Time::ZERO;
        loop {
            while let Some(&Reverse(Task { time, due, rank, operation, .. })) = self.queue.peek()
                && time <= now.as_ps()
            {
                self.queue.pop();
                match due {
                    Due::End => self.end(rank, operation, time),
                    Due::Start => self.start(rank, operation, time, network),
                }
            }
            let own = self.queue.peek().map(|Reverse(next)| Time::from_ps(next.time));
            let until = match (own, network.next_event()) {
                (None, None) => return Ok(()),
                (own, _) => own.unwrap_or(Time::MAX),
            };
            now = network.advance(until, &mut Cx { done: &mut done, observer: &mut Blind });
            for ended in done.drain(..) {
                match ended {
                    NetworkDone::Delivered(token) => self.complete(token.0 as u32, now.as_ps()),
                    _ => {
                        let reason = network.failure().map_or_else(String::new, |(_, reason)| reason);
                        return Err(RunError::Refused { reason });
                    }
                }
            }
        }
    }

    fn push(&mut self, time: u64, due: Due, rank: u32, operation: u32) {
        self.queue.push(Reverse(Task { time, made: self.made, due, rank, operation }));
        self.made += 1;
    }

    fn start(&mut self, rank: u32, operation: u32, now: u64, network: &mut dyn Network) {
        let schedule = self.hosts.schedule;
        let shape = schedule.shape(operation);
        let own = shape.operation;
        let peer = shape.peer(rank, schedule.ranks());
        match own.kind {
            OperationKind::Receive => {
                let queues = &mut self.hosts.queues[rank as usize];
                match self.hosts.fifos.take(&mut queues[UNEXPECTED], peer, own.tag) {
                    Some(message) => {
                        self.started(rank, operation, now);
                        self.end(message.source, message.item, now);
                        self.end(rank, operation, now);
                    }
                    None => {
                        let entry = Entry { source: peer, tag: own.tag, item: operation };
                        self.hosts.fifos.push(&mut queues[POSTED], entry);
                        self.started(rank, operation, now);
                    }
                }
            }
            OperationKind::Send if peer != rank => {
                let free = (*self.hosts.cpu(rank, own.cpu)).max(*self.hosts.send_nic(rank, own.nic));
                if free > now {
                    return self.push(free, Due::Start, rank, operation);
                }
                let packets = own.size.div_ceil(PAYLOAD_BYTES) + 1;
                let held = (packets * PACKET_BYTES) as f64 * self.gap_ps_per_byte;
                *self.hosts.send_nic(rank, own.nic) = now.saturating_add(held as u64);
                self.starts[operation as usize] = now;
                let [from, to] = [rank, peer].map(|rank| self.nodes[rank as usize]);
                let transfer = Transfer::new(Token(u64::from(operation)), from, to, own.size);
                network.submit(Time::from_ps(now), NetworkRequest::Transfer(transfer));
                self.started(rank, operation, now);
            }
            _ => {
                let free = *self.hosts.cpu(rank, own.cpu);
                if free > now {
                    return self.push(free, Due::Start, rank, operation);
                }
                let own_message = own.kind == OperationKind::Send;
                let ns = if own_message { 1 } else { own.size.max(1) };
                let end = now.saturating_add(Duration::from_ns(ns).as_ps());
                *self.hosts.cpu(rank, own.cpu) = end;
                self.started(rank, operation, now);
                if own_message {
                    // its receive finds it when both are there
                    self.arrived(operation, end);
                } else {
                    self.push(end, Due::End, rank, operation);
                }
            }
        }
    }

    /// The network calls the message of a send complete.
    fn complete(&mut self, operation: u32, now: u64) {
        let schedule = self.hosts.schedule;
        let source = schedule.rank_of(operation);
        let shape = schedule.shape(operation);
        self.outcome.flows.push(Flow {
            source,
            destination: shape.peer(source, schedule.ranks()),
            bytes: shape.operation.size,
            start: Time::from_ps(self.starts[operation as usize]),
            finish: Time::from_ps(now),
        });
        self.arrived(operation, now);
    }

    /// A message is there: its receive takes it, or will.
    fn arrived(&mut self, operation: u32, now: u64) {
        let schedule = self.hosts.schedule;
        let source = schedule.rank_of(operation);
        let shape = schedule.shape(operation);
        let (to, tag) = (shape.peer(source, schedule.ranks()), shape.operation.tag);
        let queues = &mut self.hosts.queues[to as usize];
        match self.hosts.fifos.take(&mut queues[POSTED], source, tag) {
            Some(posted) => {
                self.end(source, operation, now);
                self.end(to, posted.item, now);
            }
            None => {
                let entry = Entry { source, tag, item: operation };
                self.hosts.fifos.push(&mut queues[UNEXPECTED], entry);
            }
        }
    }

    fn started(&mut self, rank: u32, operation: u32, now: u64) {
        self.hosts.resolve(rank, operation, true, |_, _| {});
        self.release(now);
    }

    fn end(&mut self, rank: u32, operation: u32, now: u64) {
        self.left -= 1;
        let finish = &mut self.outcome.finish[rank as usize];
        *finish = (*finish).max(Time::from_ps(now));
        self.hosts.resolve(rank, operation, false, |_, _| {});
        self.release(now);
    }

    fn release(&mut self, now: u64) {
        for (rank, operation) in std::mem::take(&mut self.hosts.enabled) {
            self.push(now, Due::Start, rank, operation);
        }
    }
}
