//! The network in parts that run at the same time, a thread each.
//!
//! No packet gets from one node to another in less than the least delay of a link. So each part runs that far by
//! itself, and then all exchange the packets that have crossed (conservative parallel simulation: Chandy and Misra, 1979).
//! A window ends early where a message may become complete, because whoever waits for it may begin another at that very
//! instant. That is known in time, too: the packet that completes a message is on its last wire for at least the least
//! delay. Results are the same to the bit for any number of parts: `engine` says in which order things happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stratasim_core::{BuildError, Time};
use stratasim_transport::{Profile, Readiness, SenderStatistics};

use super::cut::{Cut, Plan};
use super::engine::{Engine, Totals};
use super::given::Way;
use super::host::{Connection, Ends};
use super::pool::Pool;
use super::port::Beyond;
use super::ports::PortView;

/// Events of a window from which on other threads are woken for it.
const WORTH_WAKING: u64 = 400;

/// A thread that is done asks so often whether the others are, before it sleeps.
const PATIENCE: u32 = 200;

/// The network, in one part or several.
#[derive(Debug)]
pub(super) struct Parts {
    engines: Vec<Engine>,
    plan: Arc<Plan>,
    /// By connection: the parts of its sender and of its receiver; empty where there is one part.
    ends: Vec<(u8, u8)>,
    /// Threads of all parts but the first, which runs in that of the caller; none where there is one part.
    pool: Option<rayon::ThreadPool>,
    /// Some link between parts ends at a host.
    crosses_to_hosts: bool,
    /// A message was complete at an instant that nobody had suspected.
    pub(super) is_surprised: bool,
    /// Events so far, and the time that they took, picoseconds.
    pace: (u64, u64),
}

impl Parts {
    /// One part, or as many as threads where the network has so many groups of hosts.
    pub(super) fn new(mut engine: Engine, threads: u32) -> Result<Self, BuildError> {
        let plan = Arc::new(Plan::new(&engine, threads.min(255) as u8));
        let mut parts = Self {
            engines: Vec::new(),
            plan: plan.clone(),
            ends: Vec::new(),
            pool: None,
            crosses_to_hosts: false,
            is_surprised: false,
            pace: (0, 0),
        };
        if plan.parts == 1 {
            engine.ports.open()?;
            engine.chain();
            parts.engines.push(engine);
            return Ok(parts);
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(plan.parts) - 1).build();
        parts.pool = Some(pool.map_err(|error| {
            BuildError::new("threads", format!("{threads} threads cannot be started: {error}"))
        })?);
        for (port, wire) in engine.ports.iter_mut().zip(engine.routes.wires()) {
            let crosses = plan.owner[wire.from as usize] != plan.owner[wire.to as usize];
            parts.crosses_to_hosts |= crosses && port.last_hop;
            if crosses {
                port.beyond = Beyond::Part;
            } else if port.last_hop {
                port.beyond = Beyond::Host;
            }
        }
        engine.ports.open()?;
        engine.chain();
        for part in 0..plan.parts {
            let mut engine = engine.clone();
            engine.cut = Some(Box::new(Cut::new(plan.clone(), part)));
            parts.engines.push(engine);
        }
        Ok(parts)
    }

    /// A part: for what is the same in all of them.
    pub(super) fn any(&self) -> &Engine {
        &self.engines[0]
    }

    /// The same, to be used up.
    pub(super) fn any_mut(&mut self) -> &mut Engine {
        &mut self.engines[0]
    }

    /// Ports, as their own parts have them.
    pub(super) fn ports(&self) -> impl Iterator<Item = PortView<'_>> {
        self.any().routes.wires().iter().enumerate().map(|(number, wire)| {
            let part = self.plan.owner.get(wire.from as usize).map_or(0, |&part| usize::from(part));
            self.engines[part].ports.view(number)
        })
    }

    /// The parts of the two ends of a connection.
    fn ends(&self, number: u32) -> (usize, usize) {
        self.ends.get(number as usize).map_or((0, 0), |&(from, to)| (usize::from(from), usize::from(to)))
    }

    /// Number of connections so far.
    pub(super) fn connection_count(&self) -> u32 {
        self.any().connections.len() as u32
    }

    /// A connection as its sender has it.
    pub(super) fn at_sender(&self, number: u32) -> Option<&Connection> {
        self.engines[self.ends(number).0].connections[number as usize].as_deref()
    }

    /// The same, to be changed.
    pub(super) fn at_sender_mut(&mut self, number: u32) -> Option<&mut Connection> {
        let (part, _) = self.ends(number);
        self.engines[part].connections[number as usize].as_deref_mut()
    }

    /// A connection as its receiver has it.
    pub(super) fn at_receiver(&self, number: u32) -> Option<&Connection> {
        self.engines[self.ends(number).1].connections[number as usize].as_deref()
    }

    /// The longest time for which a sender, receiver or pacer with something open waits by its own clock, if nothing comes;
    /// picoseconds.
    pub(super) fn longest_wait(&self) -> u64 {
        let now = Time::from_ps(self.now());
        let pacers = self.engines.iter().flat_map(|engine| &engine.pacers).map(|pacer| pacer.deadline());
        let connections = (0..self.connection_count()).filter_map(|number| {
            let connection = self.at_sender(number)?;
            connection.open_messages().next()?;
            let paced = match connection.sender.readiness(now) {
                Readiness::Wait(at) => at,
                _ => Time::MAX,
            };
            let receiver = self.at_receiver(number).map(|connection| connection.receiver.deadline());
            Some([connection.sender.last_deadline(), paced, receiver.unwrap_or(Time::MAX)])
        });
        // what is never is waited for by nobody
        let all = pacers.chain(connections.flatten()).filter(|&at| at < Time::MAX);
        all.map(|at| at.saturating_since(now).as_ps()).max().unwrap_or(0)
    }

    /// Every part knows a way that is given, by these nodes and ports.
    pub(super) fn learn(&mut self, steps: &[(u32, u32)]) -> Way {
        let ways = self.engines.iter_mut().map(|engine| engine.learn(steps));
        ways.last().expect("there is at least one part")
    }

    /// Opens a connection; see [`Engine::open`].
    pub(super) fn open(&mut self, ends: Ends, profile: &Arc<Profile>, key: u64) {
        let number = self.connection_count();
        let of = |host: u32| {
            let node = self.engines[0].routes.node_of(host);
            self.plan.owner.get(node as usize).copied().unwrap_or(0)
        };
        let (from, to) = (of(ends.from), of(ends.to));
        if self.engines.len() > 1 {
            self.ends.push((from, to));
        }
        let (from, to) = (usize::from(from), usize::from(to));
        let new = self.any().connection(ends, profile, key);
        let mut connection = Some(match self.engines[from.max(to)].over.pop() {
            Some(mut place) => {
                *place = new;
                place
            }
            None => Box::new(new),
        });
        for (part, engine) in self.engines.iter_mut().enumerate() {
            let own = match part {
                _ if part == from.max(to) => connection.take(),
                _ if part == from.min(to) => connection.clone(),
                _ => None,
            };
            engine.connections.push(own);
            engine.landings.push(ends.to, ends.landing);
            if engine.rules.queue.returns {
                engine.origins.push(ends.from);
            }
        }
        self.engines[from].after_sender(number);
    }

    /// What the connection that was opened last is called where ways are chosen by a hash.
    pub(super) fn call(&mut self, name: u32) {
        let number = self.connection_count() - 1;
        self.engines.iter_mut().for_each(|engine| engine.balancing.call(number, name));
    }

    /// A message begins on a connection that carries others; false where that is closed.
    pub(super) fn post(&mut self, number: u32, ends: &Ends) -> bool {
        let (from, _) = self.ends(number);
        let posted = self.engines[from].post(number, ends);
        self.align(number, true);
        posted
    }

    /// Takes up the next message of a connection, after one was reported: whether it is complete, too. None where there
    /// is none.
    pub(super) fn next_message(&mut self, number: u32) -> Option<bool> {
        let (from, to) = self.ends(number);
        let at_sender = self.any().rules.complete_at_sender;
        let part = if at_sender { from } else { to };
        let next = self.engines[part].connections[number as usize].as_mut()?.next_message(at_sender);
        self.align(number, at_sender);
        next
    }

    /// Sets whether the message of a connection is reported.
    pub(super) fn set_reported(&mut self, number: u32, reported: bool) {
        if let Some(connection) = self.at_sender_mut(number) {
            connection.reported = reported;
        }
        self.align(number, true);
    }

    /// Both ends of a connection know the same of its messages: what the sender's does, or the receiver's.
    fn align(&mut self, number: u32, by_sender: bool) {
        let (from, to) = self.ends(number);
        let Ok([sender, receiver]) = self.engines.get_disjoint_mut([from, to]) else { return };
        let [sender, receiver] =
            [sender, receiver].map(|engine| engine.connections[number as usize].as_mut());
        if let (Some(sender), Some(receiver)) = (sender, receiver) {
            if by_sender { receiver.follow(sender) } else { sender.follow(receiver) }
        }
    }

    /// A sender is done with all its messages, which have been told of.
    pub(super) fn end(&mut self, number: u32) {
        let (from, _) = self.ends(number);
        self.engines[from].end(number);
    }

    /// Both ends are done: what still comes for them finds nobody.
    pub(super) fn close(&mut self, number: u32) {
        let (from, to) = self.ends(number);
        self.engines[from].close(number);
        self.engines[to].forget(number);
    }

    /// Time of the next event.
    pub(super) fn next(&self) -> Option<u64> {
        let of = |engine: &Engine| {
            let crossing = engine.cut.as_ref().and_then(|cut| cut.next());
            engine.next().into_iter().chain(crossing).min()
        };
        self.engines.iter().filter_map(of).min()
    }

    /// Every event before `now` has happened.
    pub(super) fn reach(&mut self, now: u64) {
        self.engines.iter_mut().for_each(|engine| engine.reach(now));
    }

    /// Notes all that has happened at ports by now.
    pub(super) fn note_all(&mut self) {
        self.engines.iter_mut().for_each(Engine::note_all);
    }

    /// The present.
    pub(super) fn now(&self) -> u64 {
        self.any().now
    }

    /// When the last event was.
    pub(super) fn last(&self) -> u64 {
        self.engines.iter().map(|engine| engine.last).max().unwrap_or(0)
    }

    /// When a receiver got something for the last time that it had not.
    pub(super) fn fresh_at(&self) -> u64 {
        self.engines.iter().map(|engine| engine.fresh_at).max().unwrap_or(0)
    }

    /// Adds the connections whose message is complete, or has failed, in order.
    pub(super) fn take_complete(&mut self, complete: &mut Vec<u32>) {
        for engine in &mut self.engines {
            complete.append(&mut engine.complete);
        }
        complete.sort_unstable();
        complete.dedup();
    }

    /// Runs events through `until`; stops after the first instant in which a message is complete. Whether there is one.
    pub(super) fn run(&mut self, until: u64) -> bool {
        if let [engine] = &mut self.engines[..] {
            engine.run(until);
            return !engine.complete.is_empty();
        }
        while let Some(from) = self.next().filter(|&from| from <= until) {
            let to = self.run_window(from, until);
            if self.engines.iter().any(|engine| !engine.complete.is_empty()) {
                self.is_surprised |= self.engines.iter().any(|engine| engine.now != to);
                self.engines.iter_mut().for_each(|engine| engine.now = to);
                return true;
            }
        }
        self.engines.iter_mut().for_each(|engine| engine.now = until);
        false
    }

    /// Runs all parts from `from`, before which everything has happened, as far as they can by themselves, and at most
    /// through `until`; how far they got.
    fn run_window(&mut self, from: u64, until: u64) -> u64 {
        // mostly the last window ended just before
        for engine in &mut self.engines {
            if engine.cut.as_ref().is_some_and(|cut| cut.handed_over < from - 1) {
                engine.hand_over(from - 1);
            }
        }
        self.exchange();
        let window = self.any().rules.least_delay;
        let mut to = until.min(from.saturating_add(window - 1));
        for engine in &mut self.engines {
            if self.crosses_to_hosts {
                engine.suspect_arrivals();
            }
            to = engine.cut.as_mut().map_or(to, |cut| to.min(cut.candidate(from)));
        }
        let events = |engines: &[Engine]| engines.iter().map(|engine| engine.totals.events).sum::<u64>();
        let before = events(&self.engines);
        let run = |engine: &mut Engine| {
            engine.take_in();
            engine.run(to);
            engine.hand_over(to);
        };
        let (length, (past, took)) = (to - from + 1, self.pace);
        let expected = u128::from(past) * u128::from(length) / u128::from(took.max(1));
        match &self.pool {
            Some(pool) if expected >= u128::from(WORTH_WAKING) => {
                // this thread does its share: it would only wait, and be woken up
                let left = AtomicUsize::new(self.engines.len() - 1);
                pool.in_place_scope(|scope| {
                    let mut engines = self.engines.iter_mut();
                    let own = engines.next();
                    for engine in engines {
                        scope.spawn(|_| {
                            run(engine);
                            left.fetch_sub(1, Ordering::Release);
                        });
                    }
                    own.into_iter().for_each(run);
                    // the others are done soon: sooner than one is put to sleep and woken up
                    for _ in 0..PATIENCE {
                        if left.load(Ordering::Acquire) == 0 {
                            break;
                        }
                        std::thread::yield_now();
                    }
                });
            }
            _ => self.engines.iter_mut().for_each(run),
        }
        // the last windows count most
        self.pace = (past / 2 + events(&self.engines) - before, took / 2 + length);
        self.exchange();
        to
    }

    /// What has left one part comes to the other.
    fn exchange(&mut self) {
        for to in 1..self.engines.len() {
            let (before, rest) = self.engines.split_at_mut(to);
            for (from, engine) in before.iter_mut().enumerate() {
                if let (Some(one), Some(other)) = (&mut engine.cut, &mut rest[0].cut) {
                    other.inbox[from].append(&mut one.outbox[to]);
                    one.inbox[to].append(&mut other.outbox[from]);
                }
            }
        }
    }

    /// Counts of all parts.
    pub(super) fn totals(&self) -> Totals {
        self.engines.iter().map(|engine| engine.totals).fold(Totals::default(), |sum, totals| sum + totals)
    }

    /// Buffers that ports share, as their own parts have them.
    pub(super) fn pools(&self) -> impl Iterator<Item = &Pool> {
        self.engines.iter().flat_map(|engine| &engine.pools)
    }

    /// Packets that are somewhere.
    pub(super) fn in_flight(&self) -> u64 {
        let of = |engine: &Engine| engine.in_flight() + engine.cut.as_ref().map_or(0, |cut| cut.in_flight());
        self.engines.iter().map(of).sum()
    }

    /// What all senders have counted.
    pub(super) fn senders(&self) -> SenderStatistics {
        let mut sum = SenderStatistics::default();
        for engine in &self.engines {
            sum += &engine.senders;
        }
        for number in 0..self.connection_count() {
            if let Some(connection) = self.at_sender(number).filter(|connection| !connection.is_closed()) {
                sum += connection.sender.statistics();
            }
        }
        sum
    }
}
