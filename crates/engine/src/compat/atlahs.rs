//! The semantics of ATLAHS' LGS, with events of one instant in the order in which they were made and
//! receives kept at the head of their queue while their rank is busy.
//!
//! It differs from LogGOPSim: the gap per byte counts in flight, the receiver pays one gap and one
//! overhead per message, and operations carry the date from which they may start. Clocks of a rank are
//! assigned, not only advanced, when a receive finds its message: they may go back.

use rustc_hash::FxHashMap;
use stratasim_core::BuildError;
use stratasim_workload::goal::{ANY, Operation, OperationKind, Schedule};

use super::blocked::{Blocked, Resource};
use super::hosts::{Hosts, POSTED, UNEXPECTED};
use super::queue::{Event, EventQueue, GROUP, MESSAGE, OPERATION, RANK};
use super::{Outcome, Parameters, Watch};
use crate::fifo::Entry;

struct Simulation<'a> {
    hosts: Hosts<'a>,
    queue: EventQueue,
    next_number: u64,
    parameters: Parameters,
    /// Date from which each operation may start; the largest of what it waited for.
    start: Vec<u64>,
    /// Ranks that the event in hand concerns, as they were met.
    touched: Vec<u32>,
    enabled: Vec<(u32, u32)>,
    /// When each unexpected message came.
    arrived: FxHashMap<u32, u64>,
    blocked: Blocked,
    /// Blocked messages by receiver, source and tag as they are compared.
    waiting: FxHashMap<(u32, u32, u32), u32>,
}

/// Source and tag as they are compared: wildcards are equal to themselves only, so they are written as
/// values that no rank and no tag has.
fn key(source: u32, tag: u32) -> (u32, u32) {
    const TAG_IS_ANY: u32 = 1 << 30;
    const SOURCE_IS_ANY: u32 = 1 << 31;
    let source = if source == ANY { SOURCE_IS_ANY } else { source };
    if tag == ANY { (source | TAG_IS_ANY, 0) } else { (source, tag) }
}

/// Refuses a gap per byte that is no time.
pub(super) fn check(gap: f64) -> Result<(), BuildError> {
    if (0.0..9e15).contains(&gap) {
        return Ok(());
    }
    let reason = format!("a gap of zero or more nanoseconds per byte is expected, not {gap}");
    Err(BuildError::new("G", reason))
}

/// Runs `schedule`.
///
/// # Errors
/// A schedule that sends to a rank that does not exist, or whose receives match a message that has not been sent
/// (where the peer gives up).
pub(super) fn run(
    schedule: &Schedule,
    parameters: Parameters,
    watch: &mut dyn Watch,
) -> Result<Outcome, BuildError> {
    let mut simulation = Simulation {
        hosts: Hosts::new(schedule)?,
        queue: EventQueue::default(),
        next_number: 0,
        parameters,
        start: vec![0; schedule.len() as usize],
        touched: Vec::new(),
        enabled: Vec::new(),
        arrived: FxHashMap::default(),
        blocked: Blocked::new(schedule.ranks()),
        waiting: FxHashMap::default(),
    };
    let stopped = simulation.run(watch)?;
    let hosts = &simulation.hosts;
    let left = hosts.left(|size| size.max(1) <= parameters.eager_limit_bytes).without_wildcards();
    Ok(Outcome {
        finish_ns: hosts.finish(),
        events: simulation.next_number,
        left: left.len(),
        waiting: left.describe(),
        stopped,
    })
}

impl Simulation<'_> {
    fn run(&mut self, watch: &mut dyn Watch) -> Result<bool, BuildError> {
        let schedule = self.hosts.schedule;
        let mut roots = Vec::new();
        for rank in 0..schedule.ranks() {
            self.hosts.roots(rank, false, &mut roots);
            for &operation in &roots {
                self.queue.push(0, Event { number: self.next_number, what: operation, on: rank });
                self.next_number += 1;
            }
        }
        let mut handled = 0_u64;
        while let Some((time, event)) = self.queue.pop() {
            self.hosts.ask_for(&self.queue);
            handled += 1;
            if handled.is_multiple_of(super::WATCH_EVERY) && watch.wants_stop(time, handled) {
                return Ok(true);
            }
            match event.kind() {
                GROUP => {
                    if let Some(first) = self.blocked.due(&mut self.queue, &self.hosts, time, event) {
                        self.dispatch(time, first, true)?;
                        self.blocked.handled(&mut self.queue, &self.hosts, time, event.what);
                    }
                }
                _ => self.dispatch(time, event, false)?,
            }
            self.release();
        }
        Ok(false)
    }

    /// `waited` when the event was blocked until now.
    fn dispatch(&mut self, time: u64, event: Event, waited: bool) -> Result<(), BuildError> {
        match event.kind() {
            OPERATION => self.operation(time, event),
            _ => {
                self.message(time, event, waited);
                Ok(())
            }
        }
    }

    #[inline]
    fn changed(&mut self, rank: u32, time: u64, event: Event) {
        self.blocked.changed(&mut self.queue, &self.hosts, rank, time, event.number);
    }

    /// What the event enabled is due: the rank that was met last first, in the order of enabling.
    fn release(&mut self) {
        if self.hosts.enabled.is_empty() {
            self.touched.clear();
            return;
        }
        let mut enabled = std::mem::take(&mut self.enabled);
        std::mem::swap(&mut enabled, &mut self.hosts.enabled);
        let mut ranks: [Option<u32>; 2] = [None; 2];
        for &rank in &self.touched {
            match ranks {
                [None, _] => ranks[0] = Some(rank),
                [Some(first), None] if first != rank => ranks[1] = Some(rank),
                _ => {}
            }
        }
        for rank in ranks.into_iter().rev().flatten() {
            for &(_, operation) in enabled.iter().filter(|(on, _)| *on == rank) {
                let Operation { kind, cpu, nic, .. } = self.hosts.schedule.shape(operation).operation;
                let start = self.start[operation as usize];
                let time = match kind {
                    OperationKind::Calc => start.max(*self.hosts.cpu(rank, cpu)),
                    OperationKind::Send => start.max(*self.hosts.send_nic(rank, nic)),
                    OperationKind::Receive => start,
                };
                self.queue.push(time, Event { number: self.next_number, what: operation, on: rank });
                self.next_number += 1;
            }
        }
        enabled.clear();
        self.enabled = enabled;
        self.touched.clear();
    }

    /// `operation` started: what that enables may start at any date, whatever else it waited for.
    fn started(&mut self, rank: u32, operation: u32) {
        let start = &mut self.start;
        self.hosts.resolve(rank, operation, true, |after, missing| {
            if missing == 0 {
                start[after as usize] = 0;
            }
        });
    }

    /// `operation` ended at `time`. What had been enabled before keeps its date: a message that its sender took for eager and
    /// its receiver does not ends twice.
    fn done(&mut self, rank: u32, operation: u32, time: u64) {
        let start = &mut self.start;
        self.hosts.resolve(rank, operation, false, |after, missing| {
            if missing >= 0 {
                let start = &mut start[after as usize];
                *start = time.max(*start);
            }
        });
    }

    fn operation(&mut self, time: u64, event: Event) -> Result<(), BuildError> {
        let (rank, operation) = (event.on & RANK, event.what);
        let schedule = self.hosts.schedule;
        let shape = schedule.shape(operation);
        let Operation { kind, size, tag, cpu, nic, .. } = shape.operation;
        let Parameters {
            latency_ns,
            overhead_ns,
            gap_ns,
            overhead_per_byte_ns,
            gap_per_byte_ns,
            eager_limit_bytes,
        } = self.parameters;
        match kind {
            OperationKind::Calc => {
                let free = self.hosts.cpu(rank, cpu);
                if *free > time {
                    let free = *free;
                    self.blocked.block(&mut self.queue, rank, Resource::Cpu(cpu), free, event);
                    return Ok(());
                }
                let end = time.wrapping_add(size);
                *free = end;
                self.changed(rank, time, event);
                self.touched.push(rank);
                self.started(rank, operation);
                self.done(rank, operation, end);
            }
            OperationKind::Send => {
                let free = (*self.hosts.cpu(rank, cpu)).max(*self.hosts.send_nic(rank, nic));
                if free > time {
                    self.blocked.block(&mut self.queue, rank, Resource::Send(cpu, nic), free, event);
                    return Ok(());
                }
                self.started(rank, operation);
                self.touched.push(rank);
                let size = size.max(1);
                let busy = (size - 1).wrapping_mul(overhead_per_byte_ns);
                let end = time.wrapping_add(overhead_ns).wrapping_add(busy);
                *self.hosts.cpu(rank, cpu) = end;
                let gap = ((size - 1) as f64 * gap_per_byte_ns) as u64;
                *self.hosts.send_nic(rank, nic) = time.wrapping_add(gap_ns).wrapping_add(gap);
                self.changed(rank, time, event);
                let message = Event { number: self.next_number, what: operation, on: MESSAGE | rank };
                self.next_number += 1;
                self.queue.push(end.wrapping_add(latency_ns).wrapping_add(gap), message);
                if size <= eager_limit_bytes {
                    self.done(rank, operation, end);
                }
            }
            OperationKind::Receive => {
                let source = shape.peer(rank, schedule.ranks());
                self.started(rank, operation);
                self.touched.push(rank);
                let size = size.max(1);
                let (source, tag) = key(source, tag);
                let queues = &mut self.hosts.queues[rank as usize];
                match self.hosts.fifos.take(&mut queues[UNEXPECTED], source, tag) {
                    Some(message) => {
                        let (from, sent) = (message.source & RANK, message.item);
                        let arrived = self.arrived.remove(&sent).unwrap_or(0);
                        if time < arrived {
                            let label = schedule.label(rank, operation);
                            let reason = format!(
                                "rank {rank}: `{label}` would take at {time} ns what arrives at {arrived} ns; ATLAHS gives up here, too"
                            );
                            return Err(BuildError::new("", reason));
                        }
                        let gap_end = (*self.hosts.send_nic(rank, nic)).max(time).wrapping_add(gap_ns);
                        let busy = (size - 1).wrapping_mul(overhead_per_byte_ns);
                        let end = gap_end.wrapping_add(overhead_ns).wrapping_add(busy);
                        *self.hosts.cpu(rank, cpu) = end;
                        *self.hosts.receive_nic(rank, nic) = gap_end;
                        self.changed(rank, time, event);
                        if size > eager_limit_bytes {
                            self.free_sender(from, sent, [end, gap_end], cpu, nic);
                            self.changed(from, time, event);
                        }
                        self.done(rank, operation, end);
                        self.touched.push(rank);
                    }
                    None => {
                        let entry = Entry { source, tag, item: operation };
                        self.hosts.fifos.push(&mut queues[POSTED], entry);
                    }
                }
            }
        }
        Ok(())
    }

    fn message(&mut self, time: u64, event: Event, waited: bool) {
        let (from, operation) = (event.on & RANK, event.what);
        let schedule = self.hosts.schedule;
        let shape = schedule.shape(operation);
        let Operation { size, tag, cpu, nic, .. } = shape.operation;
        let to = shape.peer(from, schedule.ranks());
        let size = size.max(1);
        let queues = &mut self.hosts.queues[to as usize];
        let (source, tag) = key(from, tag);
        let Some(posted) = self.hosts.fifos.take(&mut queues[POSTED], source, tag) else {
            let entry = Entry { source, tag, item: operation };
            self.arrived.insert(operation, time);
            return self.hosts.fifos.push(&mut queues[UNEXPECTED], entry);
        };
        let receiving_cpu = schedule.shape(posted.item).operation.cpu;
        let free = (*self.hosts.cpu(to, receiving_cpu)).max(*self.hosts.receive_nic(to, nic));
        if free > time {
            let queues = &mut self.hosts.queues[to as usize];
            self.hosts.fifos.put_back(&mut queues[POSTED], posted);
            if !waited {
                *self.waiting.entry((to, source, tag)).or_insert(0) += 1;
            }
            let resource = Resource::Receive(receiving_cpu, nic);
            return self.blocked.block(&mut self.queue, to, resource, free, event);
        }
        let Parameters { overhead_ns, gap_ns, overhead_per_byte_ns, eager_limit_bytes, .. } = self.parameters;
        let gap_end = (*self.hosts.receive_nic(to, nic)).max(time).wrapping_add(gap_ns);
        let end =
            gap_end.wrapping_add(overhead_ns).wrapping_add((size - 1).wrapping_mul(overhead_per_byte_ns));
        *self.hosts.cpu(to, receiving_cpu) = end;
        *self.hosts.receive_nic(to, nic) = gap_end;
        self.changed(to, time, event);
        self.matched((to, source, tag), receiving_cpu, (time, event.number), waited);
        if size > eager_limit_bytes {
            self.free_sender(from, operation, [end, gap_end], cpu, nic);
            self.changed(from, time, event);
        }
        self.done(to, posted.item, end);
        self.touched.push(to);
    }

    /// A message took the first receive of its source and tag. Others of the same kind that wait for that
    /// receive's stream have to look for another one, each on its date.
    fn matched(&mut self, key_of: (u32, u32, u32), cpu: u16, reached: (u64, u64), waited: bool) {
        if self.waiting.is_empty() {
            return;
        }
        let Some(count) = self.waiting.get_mut(&key_of) else { return };
        if waited {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&key_of);
                return;
            }
        }
        let (to, source, tag) = key_of;
        let queues = &mut self.hosts.queues[to as usize];
        let next = self.hosts.fifos.take(&mut queues[POSTED], source, tag);
        if let Some(next) = next {
            self.hosts.fifos.put_back(&mut queues[POSTED], next);
            if self.hosts.schedule.shape(next.item).operation.cpu == cpu {
                return;
            }
        }
        self.waiting.remove(&key_of);
        let schedule = self.hosts.schedule;
        self.blocked.extract(&mut self.queue, to, reached, |event| {
            let shape = schedule.shape(event.what).operation;
            event.kind() == MESSAGE && key(event.on & RANK, shape.tag) == (source, tag)
        });
    }

    /// A rendezvous message was matched: its sender goes on.
    fn free_sender(&mut self, from: u32, operation: u32, until: [u64; 2], cpu: u16, nic: u16) {
        self.done(from, operation, until[0]);
        self.touched.push(from);
        let clock = self.hosts.cpu(from, cpu);
        *clock = until[0].max(*clock);
        let clock = self.hosts.send_nic(from, nic);
        *clock = until[1].max(*clock);
    }
}
