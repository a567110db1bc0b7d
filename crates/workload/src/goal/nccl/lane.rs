//! Slices as operations, in the order in which a channel handles them.

use std::collections::VecDeque;

use stratasim_core::Bandwidth;

use super::protocol::Cut;
use super::{NcclProtocol, NcclSpec};
use crate::goal::{Operation, ScheduleBuilder};

/// What a channel does with a slice besides moving it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Adds what comes to what is there.
    Reduce,
    /// Copies between the user's buffer and a connection's.
    Copy,
}

/// An operation of the rank, and whether its start or its end is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    operation: u32,
    start: bool,
}

impl Moment {
    const fn end(operation: u32) -> Self {
        Self { operation, start: false }
    }

    const fn start(operation: u32) -> Self {
        Self { operation, start: true }
    }
}

/// One direction of the connection to a peer.
#[derive(Debug)]
struct Connection {
    peer: u32,
    receives: bool,
    last: u32,
    /// When the places of the latest slices in the buffer become free.
    freed: VecDeque<Moment>,
}

/// A row of steps that follow each other: the threads that work on one direction of a channel.
#[derive(Debug, Default)]
pub(super) struct Lane {
    connections: Vec<Connection>,
    /// Nothing starts before this.
    after: Option<Moment>,
    /// The lane is past its latest slice.
    past: Option<Moment>,
}

impl Lane {
    /// A lane that starts when `operation` has ended.
    pub(super) fn after(operation: Option<u32>) -> Self {
        let after = operation.map(Moment::end);
        Self { connections: Vec::new(), after, past: after }
    }

    fn connection(&mut self, peer: u32, receives: bool) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|known| (known.peer, known.receives) == (peer, receives))
    }

    /// Notes the latest slice of a connection.
    fn note(&mut self, peer: u32, receives: bool, last: u32, freed: Moment, window: usize) {
        let index = match self.connections.iter().position(|c| (c.peer, c.receives) == (peer, receives)) {
            Some(index) => index,
            None => {
                self.connections.push(Connection { peer, receives, last, freed: VecDeque::new() });
                self.connections.len() - 1
            }
        };
        let connection = &mut self.connections[index];
        connection.last = last;
        if connection.freed.len() == window {
            connection.freed.pop_front();
        }
        connection.freed.push_back(freed);
    }
}

/// Writes the operations of one rank.
pub(super) struct Writer<'a> {
    builder: &'a mut ScheduleBuilder,
    protocol: NcclProtocol,
    element_bytes: u64,
    reduce: Option<Bandwidth>,
    copy: Option<Bandwidth>,
    nics: u32,
    first_tag: u32,
    channel: u32,
    cut: Cut,
    received: Vec<u32>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(builder: &'a mut ScheduleBuilder, spec: &NcclSpec, cut: Cut) -> Self {
        Self {
            builder,
            protocol: spec.protocol,
            element_bytes: spec.element_bytes.into(),
            reduce: spec.reduce_bandwidth,
            copy: spec.copy_bandwidth,
            nics: spec.nics,
            first_tag: spec.tag,
            channel: 0,
            cut,
            received: Vec::new(),
        }
    }

    /// What follows belongs to `channel`.
    pub(super) fn on_channel(&mut self, channel: u32) {
        self.channel = channel;
    }

    /// A step of `lane`: takes a chunk of `elements` in from each of `from`, works on it, and sends it to
    /// each of `to`, slice by slice.
    pub(super) fn step(&mut self, lane: &mut Lane, from: &[u32], to: &[u32], work: Work, elements: u64) {
        self.cut.slices(elements, |slice| self.slice(lane, from, to, work, slice * self.element_bytes));
    }

    /// An operation that ends when all of `lanes` are past their latest slices.
    pub(super) fn join(&mut self, lanes: &[Lane]) -> u32 {
        let join = self.push(Operation::calc(0));
        for past in lanes.iter().filter_map(|lane| lane.past) {
            self.wait(join, past);
        }
        join
    }

    /// A copy of `elements` that stay on the rank; nothing where copies cost nothing.
    pub(super) fn local_copy(&mut self, elements: u64) {
        let ns = time_ns(self.copy, elements * self.element_bytes);
        if ns > 0 {
            self.push(Operation::calc(ns));
        }
    }

    fn slice(&mut self, lane: &mut Lane, from: &[u32], to: &[u32], work: Work, bytes: u64) {
        let (size, tag) = (self.protocol.wire_bytes(bytes), self.first_tag + self.channel);
        let mut received = std::mem::take(&mut self.received);
        received.clear();
        for &peer in from {
            let receive = self.push(Operation::receive(size, peer, tag));
            // posted in order, when a place in the buffer is free
            match lane.connection(peer, true) {
                Some(connection) => {
                    let (last, window) = (connection.last, self.cut.window);
                    let freed =
                        connection.freed.front().filter(|_| connection.freed.len() == window).copied();
                    self.wait(receive, Moment::start(last));
                    freed.into_iter().for_each(|freed| self.wait(receive, freed));
                }
                None => lane.after.into_iter().for_each(|after| self.wait(receive, after)),
            }
            received.push(receive);
        }
        let (rate, worked_bytes) = match work {
            Work::Reduce => (self.reduce, bytes * from.len().max(1) as u64),
            Work::Copy => (self.copy, bytes),
        };
        let ns = time_ns(rate, worked_bytes);
        let mut past = received.last().map(|&receive| Moment::end(receive));
        let mut worked = None;
        if ns > 0 {
            let calc = self.push(Operation::calc(ns));
            received.iter().for_each(|&receive| self.wait(calc, Moment::end(receive)));
            lane.past.into_iter().for_each(|past| self.wait(calc, past));
            worked = Some(Moment::end(calc));
        }
        for &peer in to {
            let send = self.push(Operation::send(size, peer, tag));
            match worked {
                Some(worked) => self.wait(send, worked),
                None => {
                    received.iter().for_each(|&receive| self.wait(send, Moment::end(receive)));
                    lane.past.into_iter().for_each(|past| self.wait(send, past));
                }
            }
            if let Some(connection) = lane.connection(peer, false) {
                let (last, window) = (connection.last, self.cut.window);
                let freed = connection.freed.front().filter(|_| connection.freed.len() == window).copied();
                if worked.is_some() || lane.past != Some(Moment::start(last)) {
                    self.wait(send, Moment::start(last));
                }
                freed.into_iter().for_each(|freed| self.wait(send, freed));
            }
            lane.note(peer, false, send, Moment::end(send), self.cut.window);
            past = Some(Moment::start(send));
        }
        lane.past = worked.or(past);
        let done = lane.past.expect("a slice is received or sent");
        for (&peer, &receive) in from.iter().zip(&received) {
            lane.note(peer, true, receive, done, self.cut.window);
        }
        self.received = received;
    }

    fn push(&mut self, operation: Operation) -> u32 {
        let is_calc = operation.kind == crate::goal::OperationKind::Calc;
        let nic = if is_calc { 0 } else { self.channel % self.nics };
        self.builder.push(operation.on_cpu(self.channel as u16).on_nic(nic as u16))
    }

    fn wait(&mut self, operation: u32, moment: Moment) {
        if moment.start {
            self.builder.requires_start(operation, moment.operation);
        } else {
            self.builder.requires(operation, moment.operation);
        }
    }
}

/// Nanoseconds that `bytes` take at `rate`, rounded up.
fn time_ns(rate: Option<Bandwidth>, bytes: u64) -> u64 {
    rate.map_or(0, |rate| (bytes as f64 / rate.bytes_per_s() * 1e9).ceil() as u64)
}
