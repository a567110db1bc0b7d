//! Schedules at packet level: mean time of the messages, and time of the whole run.
//!
//! The schedule itself is run by the rules of ATLAHS' front end on our packets. At times that front end lets what the end of a
//! message released wait until something else happens anywhere (`engine::compat::htsim`), and which of two sends that become ready
//! together goes first is the order of a heap. Both change which messages meet, and have nothing to do with packets. So whole
//! runs, and how long their messages take, are compared with what the reference's messages, each as long as it was there, take on
//! the schedule by the same rules; but only where that is what the reference took, and where every host sent its messages in the
//! same order. Elsewhere messages are compared at the starts that the reference recorded. That says less: a message that is late
//! here meets those that would have waited for it, and makes them late.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use stratasim_core::model::{Model, Network, NetworkDone, NetworkReport, NetworkRequest};
use stratasim_core::queue::IndexedQueue;
use stratasim_core::{BuildError, Cx, Duration, NodeId, Slots, Time, Token};
use stratasim_engine::compat::htsim::{self, FlowOutcome};
use stratasim_workload::goal::{self, Schedule};

use super::CaseReport;
use super::packet::{Outcome, network_of};
use super::packet_cases::{File, Flow, Run};

/// G of ATLAHS, whatever the links are: 0.04 ns/B.
const GAP_PS_PER_BYTE: f64 = 40.0;
/// Share by which means and times of whole runs may differ.
const SHARE: f64 = 0.05;
/// Share of a run that waits in the reference's front end may change where the whole run is compared.
const WAITS: f64 = 0.01;

/// Compares; `runs` are the same flows at recorded starts.
pub(super) fn compare(case: &File, report: &mut CaseReport, runs: &[(Vec<Flow>, Outcome)]) {
    let schedule = match schedule(case) {
        Ok(schedule) => schedule,
        Err(reason) => return report.differ(reason),
    };
    let (mut ours, mut theirs) = (Sum::default(), Sum::default());
    let (mut waits, mut in_order) = (0.0_f64, true);
    let mut recorded = [0.0; 2];
    for (run, (flows, outcome)) in case.runs.iter().zip(runs) {
        match of_run(case, run, &schedule) {
            Ok(([here, there], same_order)) => {
                in_order &= same_order;
                let last = flows.iter().filter_map(|flow| flow.finish_us).fold(0.0, f64::max);
                waits = waits.max((last / there.whole - 1.0).abs());
                ours.add(&here);
                theirs.add(&there);
            }
            Err(reason) => return report.differ(format!("seed {}: {reason}", run.seed)),
        }
        for (flow, finish) in flows.iter().zip(&outcome.finish_ps) {
            if let (Some(finish), Some(expected)) = (finish, flow.finish_us) {
                let start = flow.start_ps as f64 * 1e-6;
                recorded[0] += *finish as f64 * 1e-6 - start;
                recorded[1] += expected - start;
            }
        }
    }
    let mut look = |name: &str, ours: f64, theirs: f64| {
        report.compare(&format!("{name}, us"), Some(ours), theirs, SHARE * theirs);
    };
    let (runs, messages) = (case.runs.len().max(1) as f64, ours.messages.max(1.0));
    if in_order && waits <= WAITS {
        look("mean of messages", ours.messages_us / messages, theirs.messages_us / messages);
        look("whole run", ours.whole / runs, theirs.whole / runs);
    } else {
        look("mean, at recorded starts", recorded[0] / messages, recorded[1] / messages);
    }
}

/// What runs of a schedule took, microseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    whole: f64,
    messages_us: f64,
    messages: f64,
}

impl Sum {
    fn of(outcome: &FlowOutcome) -> Self {
        let us = |flow: &htsim::Flow| flow.finish.saturating_since(flow.start).as_ps() as f64 * 1e-6;
        Self {
            whole: end(outcome).as_ps() as f64 * 1e-6,
            messages_us: outcome.flows.iter().map(us).sum(),
            messages: outcome.flows.len() as f64,
        }
    }

    fn add(&mut self, other: &Self) {
        self.whole += other.whole;
        self.messages_us += other.messages_us;
        self.messages += other.messages;
    }
}

/// The schedule that a case names: a file of `inputs/` beside the case.
fn schedule(case: &File) -> Result<Schedule, String> {
    let words = || case.description.split([' ', ';', ',']);
    let name = words().find(|word| word.ends_with(".goal") && !word.contains(".."));
    let name = name.ok_or("the description names no schedule")?;
    let path = case.folder.join(Path::new(name));
    goal::file::read(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// What a run of the schedule takes, here and with the messages of the reference; and whether hosts sent their messages in the
/// same order as there.
fn of_run(case: &File, run: &Run, schedule: &Schedule) -> Result<([Sum; 2], bool), String> {
    let (mut network, hosts) = network_of(case, run)?;
    let nodes = hosts.get(..schedule.ranks() as usize);
    let nodes = nodes.ok_or_else(|| format!("{} ranks on {} hosts", schedule.ranks(), hosts.len()))?;
    let ours = htsim::on_network(schedule, nodes, network.as_mut(), GAP_PS_PER_BYTE).map_err(words)?;
    let mut replay = Replay::of(run, hosts.len(), nodes)?;
    let theirs = htsim::on_network(schedule, nodes, &mut replay, GAP_PS_PER_BYTE).map_err(words)?;
    if let Some(violation) = network.report(end(&ours)).violations().first() {
        return Err(format!("broken invariant: {violation}"));
    }
    if ours.flows.len() != run.flows.len() {
        return Err(format!("{} messages, the reference had {}", ours.flows.len(), run.flows.len()));
    }
    let starts = ours.flows.iter().map(|flow| (flow.source, flow.start.as_ps(), flow.destination));
    let theirs_starts = run.flows(hosts.len())?;
    let recorded = theirs_starts.iter().map(|flow| (flow.src as u32, flow.start_ps, flow.dst as u32));
    let same_order = order(starts) == order(recorded);
    Ok(([&ours, &theirs].map(Sum::of), same_order))
}

/// Where the messages of each host go to, in order of their starts; a message is its source, start and destination.
fn order(messages: impl Iterator<Item = (u32, u64, u32)>) -> Vec<(u32, u32)> {
    let mut messages: Vec<_> = messages.collect();
    messages.sort_unstable();
    messages.into_iter().map(|(source, _, destination)| (source, destination)).collect()
}

fn words(error: stratasim_engine::RunError) -> String {
    error.to_string()
}

fn end(outcome: &FlowOutcome) -> Time {
    outcome.finish.iter().copied().max().unwrap_or(Time::ZERO)
}

/// A network on which every message takes as long as it did in a run of the reference.
struct Replay {
    /// Times of the messages from one node to another, in order of their starts.
    times: BTreeMap<(NodeId, NodeId), VecDeque<Duration>>,
    queue: IndexedQueue,
    tokens: Slots<Token>,
    now: Time,
}

impl Replay {
    fn of(run: &Run, hosts: usize, nodes: &[NodeId]) -> Result<Self, String> {
        let mut times: BTreeMap<_, VecDeque<Duration>> = BTreeMap::new();
        for flow in run.flows(hosts)? {
            let finish = flow.finish_us.ok_or("a message that the reference never finished")?;
            let (Some(&from), Some(&to)) = (nodes.get(flow.src), nodes.get(flow.dst)) else {
                return Err(format!("a message from {} to {}, where no rank is", flow.src, flow.dst));
            };
            let ps = (finish * 1e6).round() as u64;
            let time = Duration::from_ps(ps.saturating_sub(flow.start_ps));
            times.entry((from, to)).or_default().push_back(time);
        }
        Ok(Self { times, queue: IndexedQueue::new(), tokens: Slots::default(), now: Time::ZERO })
    }
}

impl Model for Replay {
    type Request = NetworkRequest;
    type Done = NetworkDone;

    fn submit(&mut self, now: Time, request: NetworkRequest) {
        let NetworkRequest::Transfer(transfer) = request else {
            unreachable!("schedules send messages only")
        };
        self.now = now;
        let ends = (transfer.src, transfer.dst);
        let time = self.times.get_mut(&ends).and_then(VecDeque::pop_front).unwrap_or(Duration::ZERO);
        let slot = self.tokens.insert(transfer.token);
        self.queue.set(slot, now + time);
    }

    fn next_event(&mut self) -> Option<Time> {
        self.queue.peek().map(|(at, _)| at)
    }

    fn advance(&mut self, until: Time, cx: &mut Cx<'_, NetworkDone>) -> Time {
        self.now = self.next_event().map_or(until, |at| at.min(until));
        while let Some((at, slot)) = self.queue.peek()
            && at == self.now
        {
            self.queue.pop();
            self.tokens.release(slot);
            cx.done.push(NetworkDone::Delivered(self.tokens[slot]));
        }
        self.now
    }
}

impl Network for Replay {
    fn check_route(&mut self, _: NodeId, _: NodeId) -> Result<(), BuildError> {
        Ok(())
    }

    fn least_duration(&mut self, _: NodeId, _: NodeId, _: u64) -> Duration {
        Duration::ZERO
    }

    fn report(&mut self, _: Time) -> NetworkReport {
        NetworkReport::default()
    }
}
