//! Schedules written as GOAL text, networks under observation, and what a run shows.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

pub mod peers;
pub mod random;

use std::sync::Arc;

use stratasim_core::model::{HostCosts, Network, NetworkDone, NetworkReport, NetworkRequest};
use stratasim_core::observe::{Event, Interests, MessageSpan, Observer, TaskSpan};
use stratasim_core::random::Streams;
use stratasim_core::{BuildError, Bytes, Cx, Duration, Model, NodeId, Time, TimePerByte, Token};
use stratasim_engine::schedule::noise::Noise;
use stratasim_engine::{RunError, ScheduleEngine, ScheduleOptions, ScheduleSummary};
use stratasim_net::message::{Message, MessageNetwork};
use stratasim_net::{NetworkContext, NetworkSpec};
use stratasim_topo::{BuildContext, RoutingSpec, Topology, TopologySpec};
use stratasim_workload::goal::{Schedule, text};

/// The schedule that `text` says.
pub fn goal(source: &str) -> Schedule {
    text::read(source.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// An instant in nanoseconds, to the picosecond.
pub fn ns(ns: f64) -> Time {
    Time::from_ps((ns * 1000.0).round() as u64)
}

/// LogGOPS: L, o, g, G, O in nanoseconds (per byte), S in bytes.
pub fn parameters([latency, overhead, gap, per_byte, overhead_per_byte]: [f64; 5], eager: u64) -> Message {
    let time = |ns: f64| Duration::from_ps((ns * 1000.0).round() as u64);
    Message {
        latency: time(latency),
        overhead: time(overhead),
        gap: time(gap),
        gap_per_byte: TimePerByte(per_byte * 1000.0),
        overhead_per_byte: TimePerByte(overhead_per_byte * 1000.0),
        eager_limit: Bytes(eager),
        ..Message::default()
    }
}

/// A machine, written as JSON.
pub fn machine(spec: &str) -> Arc<Topology> {
    let spec: TopologySpec = serde_json::from_str(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    Arc::new(spec.plugin().build(&BuildContext::default()).expect("a machine"))
}

/// A network on `topology`, written as JSON, for schedules that use `nics` NICs.
pub fn network(spec: &str, topology: &Arc<Topology>, nics: u32) -> Box<dyn Network> {
    let spec: NetworkSpec = serde_json::from_str(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let routing = RoutingSpec::default().plugin().build(topology).expect("a routing");
    let context = NetworkContext {
        topology: topology.clone(),
        routing,
        streams: Streams::new(1),
        timing_precision: Duration::ZERO,
        nics,
        in_order: false,
    };
    spec.plugin().build(context).expect("a network")
}

/// A message as the network saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    pub token: Token,
    pub from: NodeId,
    pub to: NodeId,
    pub nic: u16,
    pub bytes: u64,
    pub submitted: Time,
    pub delivered: Option<Time>,
}

/// A network that writes down what it carries.
pub struct Spy {
    inner: Box<dyn Network>,
    pub carried: Vec<Carried>,
}

impl Spy {
    pub fn on(inner: Box<dyn Network>) -> Self {
        Self { inner, carried: Vec::new() }
    }
}

impl Model for Spy {
    type Request = NetworkRequest;
    type Done = NetworkDone;

    fn submit(&mut self, now: Time, request: NetworkRequest) {
        if let NetworkRequest::Transfer(transfer) = &request {
            assert!(transfer.overhead_charged, "streams of the schedule pay the overheads");
            self.carried.push(Carried {
                token: transfer.token,
                from: transfer.src,
                to: transfer.dst,
                nic: transfer.nic,
                bytes: transfer.bytes,
                submitted: now,
                delivered: None,
            });
        }
        self.inner.submit(now, request);
    }

    fn next_event(&mut self) -> Option<Time> {
        self.inner.next_event()
    }

    fn advance(&mut self, until: Time, cx: &mut Cx<'_, NetworkDone>) -> Time {
        let before = cx.done.len();
        let now = self.inner.advance(until, cx);
        for done in &cx.done[before..] {
            if let NetworkDone::Delivered(token) = done {
                let carried = self.carried.iter_mut().rev().find(|carried| carried.token == *token);
                let carried = carried.expect("what arrives was sent");
                assert_eq!(carried.delivered.replace(now), None, "a message arrives once");
            }
        }
        now
    }
}

impl Network for Spy {
    fn host_costs(&self) -> HostCosts {
        self.inner.host_costs()
    }
    fn keeps_order(&self) -> bool {
        self.inner.keeps_order()
    }
    fn check_route(&mut self, src: NodeId, dst: NodeId) -> Result<(), BuildError> {
        self.inner.check_route(src, dst)
    }
    fn least_duration(&mut self, src: NodeId, dst: NodeId, bytes: u64) -> Duration {
        self.inner.least_duration(src, dst, bytes)
    }
    fn failure(&mut self) -> Option<(Token, String)> {
        self.inner.failure()
    }
    fn report(&mut self, now: Time) -> NetworkReport {
        self.inner.report(now)
    }
}

#[derive(Default)]
struct Watcher {
    tasks: Vec<TaskSpan>,
    messages: Vec<MessageSpan>,
}

impl Observer for Watcher {
    fn interests(&self) -> Interests {
        Interests { tasks: true, messages: true, ..Interests::default() }
    }
    fn on_event(&mut self, event: &Event) {
        match event {
            Event::Task(task) => self.tasks.push(*task),
            Event::Message(message) => self.messages.push(message.clone()),
            _ => {}
        }
    }
}

/// What a run showed.
#[derive(Debug)]
pub struct Run {
    pub summary: ScheduleSummary,
    /// In order of their ends.
    pub tasks: Vec<TaskSpan>,
    pub messages: Vec<MessageSpan>,
    pub carried: Vec<Carried>,
    labels: Vec<(u32, String)>,
}

impl Run {
    fn task(&self, name: &str) -> &TaskSpan {
        let (rank, label) = name.split_once('.').expect("RANK.LABEL");
        let rank: u32 = rank.parse().expect("RANK.LABEL");
        let operation = self.labels.iter().position(|(on, own)| *on == rank && own == label);
        let operation = operation.unwrap_or_else(|| panic!("no operation {name}"));
        let mut found = self.tasks.iter().filter(|task| task.vertex as usize == operation);
        let task = found.next().unwrap_or_else(|| panic!("{name} has not ended"));
        assert!(found.next().is_none(), "{name} ends once");
        task
    }

    /// When the operation `"RANK.LABEL"` started.
    pub fn start(&self, name: &str) -> Time {
        self.task(name).start
    }

    /// When it ended.
    pub fn end(&self, name: &str) -> Time {
        self.task(name).end
    }

    /// When the last operation ended.
    pub fn makespan(&self) -> Time {
        self.summary.run.makespan
    }
}

/// Runs a schedule with rank `r` on `nodes[r]`.
pub fn run_on(
    schedule: &Schedule,
    nodes: &[NodeId],
    network: Box<dyn Network>,
    noise: Option<Noise>,
) -> Result<Run, RunError> {
    let mut spy = Spy::on(network);
    let mut watcher = Watcher::default();
    let options = ScheduleOptions { noise, ..ScheduleOptions::default() };
    let engine = ScheduleEngine::new(schedule, nodes, &mut spy, &mut watcher, options).expect("an engine");
    let summary = engine.run()?;
    let labels = (0..schedule.ranks())
        .flat_map(|rank| schedule.of_rank(rank).map(move |at| (rank, schedule.label(rank, at))))
        .collect();
    Ok(Run { summary, tasks: watcher.tasks, messages: watcher.messages, carried: spy.carried, labels })
}

/// Rank `r` on node `r`.
pub fn one_to_one(schedule: &Schedule) -> Vec<NodeId> {
    (0..schedule.ranks()).map(NodeId).collect()
}

/// The network that `spec` says, without a topology, for a schedule with a node per rank.
pub fn message_network(schedule: &Schedule, spec: &Message) -> Box<dyn Network> {
    let nodes = schedule.ranks() as usize;
    Box::new(MessageNetwork::between(spec, nodes, schedule.nics()).expect("a network"))
}

/// Runs a schedule on the message network, a node per rank.
pub fn try_message(schedule: &Schedule, spec: &Message) -> Result<Run, RunError> {
    run_on(schedule, &one_to_one(schedule), message_network(schedule, spec), None)
}

/// The same, for one that comes to its end.
pub fn message(source: &str, spec: &Message) -> Run {
    try_message(&goal(source), spec).unwrap_or_else(|error| panic!("{error}\n{source}"))
}
