//! LogGOPSim's semantics, with receives in the order in which they were posted.
//!
//! An event leaves the queue by (time, number). One whose resource is busy is due again when that is
//! free as far as is known then, see [`super::blocked`].

use stratasim_core::BuildError;
use stratasim_workload::goal::{Operation, OperationKind, Schedule};

use super::blocked::{Blocked, Resource};
use super::hosts::{Hosts, POSTED, UNEXPECTED};
use super::queue::{Event, EventQueue, GROUP, MESSAGE, OPERATION, RANK};
use super::{Outcome, Parameters, Watch};
use crate::fifo::Entry;

struct Simulation<'a> {
    hosts: Hosts<'a>,
    queue: EventQueue,
    blocked: Blocked,
    next_number: u64,
    parameters: Parameters,
    /// G as LogGOPSim has it: whole nanoseconds per byte.
    gap_per_byte: u64,
}

/// Refuses a gap per byte that is not a whole number of nanoseconds.
pub(super) fn check(gap: f64) -> Result<(), BuildError> {
    if gap.fract() == 0.0 && (0.0..9e15).contains(&gap) {
        return Ok(());
    }
    let reason =
        format!("LogGOPSim counts G in whole nanoseconds per byte, not {gap}; `atlahs-lgs` takes fractions");
    Err(BuildError::new("G", reason))
}

/// Runs `schedule`, whose gap per byte has been checked.
///
/// # Errors
/// A schedule that sends to a rank that does not exist.
pub(super) fn run(
    schedule: &Schedule,
    parameters: Parameters,
    watch: &mut dyn Watch,
) -> Result<Outcome, BuildError> {
    let mut simulation = Simulation {
        hosts: Hosts::new(schedule)?,
        queue: EventQueue::default(),
        blocked: Blocked::new(schedule.ranks()),
        next_number: 0,
        parameters,
        gap_per_byte: parameters.gap_per_byte_ns as u64,
    };
    let stopped = simulation.run(watch);
    let hosts = &simulation.hosts;
    let left = hosts.left(|size| size <= parameters.eager_limit_bytes);
    Ok(Outcome {
        finish_ns: hosts.finish(),
        events: simulation.next_number,
        left: left.len(),
        waiting: left.describe(),
        stopped,
    })
}

impl Simulation<'_> {
    fn run(&mut self, watch: &mut dyn Watch) -> bool {
        let schedule = self.hosts.schedule;
        let mut roots = Vec::new();
        let mut count = 0_u64;
        for rank in 0..schedule.ranks() {
            self.hosts.roots(rank, false, &mut roots);
            count += roots.len() as u64;
        }
        // operations that need nothing are due at 0, numbered rank by rank: before anything they cause
        let mut number = 0;
        self.next_number = count;
        for rank in 0..schedule.ranks() {
            self.hosts.roots(rank, true, &mut roots);
            for &operation in &roots {
                self.operation(0, Event { number, what: operation, on: rank });
                self.release();
                number += 1;
            }
        }
        let mut handled = 0_u64;
        while let Some((time, event)) = self.queue.pop() {
            self.hosts.ask_for(&self.queue);
            handled += 1;
            if handled.is_multiple_of(super::WATCH_EVERY) && watch.wants_stop(time, handled) {
                return true;
            }
            match event.kind() {
                GROUP => {
                    if let Some(first) = self.blocked.due(&mut self.queue, &self.hosts, time, event) {
                        self.dispatch(time, first);
                        self.blocked.handled(&mut self.queue, &self.hosts, time, event.what);
                    }
                }
                _ => self.dispatch(time, event),
            }
            self.release();
        }
        false
    }

    /// What the event enabled is due: rank by rank, sends before receives before computations.
    #[inline]
    fn release(&mut self) {
        if self.hosts.enabled.is_empty() {
            return;
        }
        let schedule = self.hosts.schedule;
        let mut enabled = std::mem::take(&mut self.hosts.enabled);
        if enabled.len() > 1 {
            enabled.sort_by_key(|&(rank, operation)| (rank, schedule.shape(operation).operation.kind));
        }
        for (rank, operation) in enabled.drain(..) {
            let Operation { kind, cpu, nic, .. } = schedule.shape(operation).operation;
            let mut time = *self.hosts.cpu(rank, cpu);
            let resource = match kind {
                OperationKind::Send => {
                    time = time.max(*self.hosts.send_nic(rank, nic));
                    Some(Resource::Send(cpu, nic))
                }
                OperationKind::Calc => Some(Resource::Cpu(cpu)),
                OperationKind::Receive => None,
            };
            let event = Event { number: self.next_number, what: operation, on: OPERATION | rank };
            self.next_number += 1;
            // behind those that wait for the same instant it could only be found blocked
            if !resource.is_some_and(|resource| self.blocked.join(rank, resource, time, event)) {
                self.queue.push(time, event);
            }
        }
        self.hosts.enabled = enabled;
    }

    fn dispatch(&mut self, time: u64, event: Event) {
        match event.kind() {
            OPERATION => self.operation(time, event),
            _ => self.message(time, event),
        }
    }

    fn block(&mut self, rank: u32, resource: Resource, free: u64, event: Event) {
        self.blocked.block(&mut self.queue, rank, resource, free, event);
    }

    #[inline]
    fn changed(&mut self, rank: u32, time: u64, event: Event) {
        self.blocked.changed(&mut self.queue, &self.hosts, rank, time, event.number);
    }

    fn operation(&mut self, time: u64, event: Event) {
        let (rank, operation) = (event.on & RANK, event.what);
        let schedule = self.hosts.schedule;
        let shape = schedule.shape(operation);
        let Operation { kind, size, tag, cpu, nic, .. } = shape.operation;
        let Parameters { latency_ns, overhead_ns, gap_ns, overhead_per_byte_ns, eager_limit_bytes, .. } =
            self.parameters;
        match kind {
            OperationKind::Calc => {
                let free = self.hosts.cpu(rank, cpu);
                if *free > time {
                    let free = *free;
                    return self.block(rank, Resource::Cpu(cpu), free, event);
                }
                *free = time.wrapping_add(size);
                self.changed(rank, time, event);
                self.resolve(rank, operation, true);
                self.resolve(rank, operation, false);
            }
            OperationKind::Send => {
                let free = (*self.hosts.cpu(rank, cpu)).max(*self.hosts.send_nic(rank, nic));
                if free > time {
                    return self.block(rank, Resource::Send(cpu, nic), free, event);
                }
                self.resolve(rank, operation, true);
                let further = size.wrapping_sub(1);
                let busy = further.wrapping_mul(overhead_per_byte_ns);
                *self.hosts.cpu(rank, cpu) = time.wrapping_add(overhead_ns).wrapping_add(busy);
                let gap = further.wrapping_mul(self.gap_per_byte);
                *self.hosts.send_nic(rank, nic) = time.wrapping_add(gap_ns).wrapping_add(gap);
                self.changed(rank, time, event);
                let message = Event { number: self.next_number, what: operation, on: MESSAGE | rank };
                self.next_number += 1;
                self.queue.push(time.wrapping_add(overhead_ns).wrapping_add(latency_ns), message);
                if size <= eager_limit_bytes {
                    self.resolve(rank, operation, false);
                }
            }
            OperationKind::Receive => {
                let source = shape.peer(rank, schedule.ranks());
                self.resolve(rank, operation, true);
                let queues = &mut self.hosts.queues[rank as usize];
                match self.hosts.fifos.take(&mut queues[UNEXPECTED], source, tag) {
                    Some(message) => {
                        if size > eager_limit_bytes {
                            self.free_sender(time, event, message, cpu, nic);
                        }
                        self.resolve(rank, operation, false);
                    }
                    None => {
                        let entry = Entry { source, tag, item: operation };
                        self.hosts.fifos.push(&mut queues[POSTED], entry);
                    }
                }
            }
        }
    }

    /// A message is at its receiver, whose clocks the sender's stream and NIC choose.
    fn message(&mut self, time: u64, event: Event) {
        let (from, operation) = (event.on & RANK, event.what);
        let schedule = self.hosts.schedule;
        let shape = schedule.shape(operation);
        let Operation { size, tag, cpu, nic, .. } = shape.operation;
        let to = shape.peer(from, schedule.ranks());
        let free = (*self.hosts.cpu(to, cpu)).max(*self.hosts.receive_nic(to, nic));
        if free > time {
            return self.block(to, Resource::Receive(cpu, nic), free, event);
        }
        let Parameters { overhead_ns, gap_ns, overhead_per_byte_ns, eager_limit_bytes, .. } = self.parameters;
        let further = size.wrapping_sub(1);
        let gap = further.wrapping_mul(self.gap_per_byte);
        let busy = further.wrapping_mul(overhead_per_byte_ns).max(gap);
        *self.hosts.cpu(to, cpu) = time.wrapping_add(overhead_ns).wrapping_add(busy);
        *self.hosts.receive_nic(to, nic) = time.wrapping_add(gap_ns).wrapping_add(gap);
        self.changed(to, time, event);
        let queues = &mut self.hosts.queues[to as usize];
        let sent = Entry { source: from, tag, item: operation };
        match self.hosts.fifos.take(&mut queues[POSTED], from, tag) {
            Some(posted) => {
                if size > eager_limit_bytes {
                    self.free_sender(time, event, sent, cpu, nic);
                }
                self.resolve(to, posted.item, false);
            }
            None => self.hosts.fifos.push(&mut queues[UNEXPECTED], sent),
        }
    }

    /// A rendezvous message was matched: its sender goes on.
    fn free_sender(&mut self, time: u64, event: Event, sent: Entry, cpu: u16, nic: u16) {
        self.resolve(sent.source, sent.item, false);
        let clock = self.hosts.cpu(sent.source, cpu);
        *clock = time.max(*clock);
        let clock = self.hosts.send_nic(sent.source, nic);
        *clock = time.max(*clock);
        self.changed(sent.source, time, event);
    }

    #[inline]
    fn resolve(&mut self, rank: u32, operation: u32, started: bool) {
        self.hosts.resolve(rank, operation, started, |_, _| ());
    }
}
