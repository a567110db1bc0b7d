//! The contract of everything that takes simulated time: networks, compute, memories, cards.

use std::sync::Arc;

use crate::observe::{MessageCounts, Observer};
use crate::{Bandwidth, BuildError, Duration, LinkId, NodeId, Precision, Rank, Time};

/// A part of the machine that accepts requests and, later, completes them.
///
/// Performs no I/O, reads no clock, draws no global randomness. The three calls are true for every
/// level of detail: message level knows the completion when the message is sent, flow level can be
/// asked but its answer moves with every new flow, packet and flit levels must run to find out.
pub trait Model: Send {
    /// What it is asked to do.
    type Request;
    /// What it says when that is done.
    type Done;

    /// Accepts `request` at `now`. Time does not move; `now` is never before the last instant that
    /// [`Model::advance`] returned.
    fn submit(&mut self, now: Time, request: Self::Request);

    /// A lower bound on the next instant at which this model acts on its own; `None` when idle.
    ///
    /// Requests of one instant are gathered, and what they change is solved here, once.
    fn next_event(&mut self) -> Option<Time>;

    /// Runs own events in time order, through `until` at the latest, and stops after the first
    /// instant that completes something, or earlier where the observer wants to stop. Returns the instant reached.
    fn advance(&mut self, until: Time, cx: &mut Cx<'_, Self::Done>) -> Time;
}

/// What a model writes to while it advances.
pub struct Cx<'a, Done> {
    /// Completions of the instant that `advance` returns, in a fixed order.
    pub done: &'a mut Vec<Done>,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
}

/// Chosen by the requester and handed back with the completion; a model never looks into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// What a network is asked to do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NetworkRequest {
    /// Carry one message.
    Transfer(Transfer),
    /// Get ready for a pipeline; its members join one by one. Only for networks that
    /// [run pipelines](Network::runs_pipelines).
    OpenPipeline {
        /// Names the pipeline in `JoinPipeline` and in completions.
        token: Token,
        /// Members and message sizes.
        pipeline: Arc<Pipeline>,
    },
    /// `member` of the pipeline `token` may send from now on.
    JoinPipeline {
        /// The pipeline.
        token: Token,
        /// Index of the member.
        member: u32,
    },
}

/// One message from node to node.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Handed back when it has arrived.
    pub token: Token,
    /// Where it starts.
    pub src: NodeId,
    /// Where it ends.
    pub dst: NodeId,
    /// Payload.
    pub bytes: u64,
    /// The sender's own limit, if it has one.
    pub rate_cap: Option<Bandwidth>,
    /// The NIC that carries it, of both nodes; 0 unless the program says.
    pub nic: u16,
    /// The connection between the two that carries it, where a run keeps some: messages of one go one after the other.
    pub line: u16,
    /// Whether the requester charged what a host does for a message ([`HostCosts`]) to a stream of its own.
    pub overhead_charged: bool,
    /// Whether it only announces a message or answers an announcement (rendezvous): no message of its own.
    pub handshake: bool,
}

impl Transfer {
    /// A message without a limit of its own, by the first NIC, whose overheads nobody has charged.
    pub const fn new(token: Token, src: NodeId, dst: NodeId, bytes: u64) -> Self {
        Self {
            token,
            src,
            dst,
            bytes,
            rate_cap: None,
            nic: 0,
            line: 0,
            overhead_charged: false,
            handshake: false,
        }
    }
}

/// What a host does for a message, beside the network: o, O and S of LogGOPS.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostCosts {
    /// o: time of a message on a processor, at each end.
    pub overhead: Duration,
    /// O: picoseconds that each byte but the first adds to it.
    pub overhead_ps_per_byte: f64,
    /// S: larger messages wait for their receive (rendezvous); `None`: none does.
    pub eager_limit_bytes: Option<u64>,
}

impl HostCosts {
    /// Time that a message of `bytes` takes a processor at one end.
    #[inline]
    pub fn of(&self, bytes: u64) -> Duration {
        if self.overhead_ps_per_byte == 0.0 {
            return self.overhead;
        }
        let further = bytes.saturating_sub(1) as f64 * self.overhead_ps_per_byte;
        Duration::from_ps(self.overhead.as_ps().saturating_add((further + 0.5) as u64))
    }
}

/// A ring of members, each of which sends `steps` messages to the next one.
///
/// Message `s` of member `i` starts when message `s - 1` of `i` and message `s - 1` of `i - 1` have
/// arrived (and, for `s = 0`, when `i` has joined): the schedule of ring all-reduce, reduce-scatter
/// and all-gather. A member is done when its own messages and all messages to it have arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// The ring; member `i` sends to member `i + 1` modulo the number of members.
    pub members: Vec<Member>,
    /// Messages per member.
    pub steps: u32,
    /// The data is cut into as many chunks as there are members; every chunk has this many bytes,
    pub chunk_bytes: u64,
    /// and the first `longer_chunks` have one more. Member `i` sends chunk `i - s` at step `s`.
    pub longer_chunks: u32,
}

/// A member of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The process.
    pub rank: Rank,
    /// Where it runs.
    pub node: NodeId,
}

impl Pipeline {
    /// Bytes of the message that `member` sends at `step`.
    #[inline]
    pub fn bytes(&self, member: u32, step: u32) -> u64 {
        let n = self.members.len() as u32;
        let chunk = (member + n - step % n) % n;
        self.chunk_bytes + u64::from(chunk < self.longer_chunks)
    }

    /// `member` and the one it sends to.
    pub fn ends(&self, member: u32) -> [Member; 2] {
        let next = (member as usize + 1) % self.members.len();
        [self.members[member as usize], self.members[next]]
    }

    /// Bytes of all messages that `member` sends.
    pub fn bytes_sent(&self, member: u32) -> u64 {
        let n = self.members.len() as u32;
        let (turns, rest) = (self.steps / n, self.steps % n);
        // after whole turns of the ring, the chunks `member`, `member - 1`, ... down to 0, and on from the top
        let down = self.longer_chunks.min(member + 1).saturating_sub((member + 1).saturating_sub(rest));
        let top = self.longer_chunks.min(n).saturating_sub(n - rest.saturating_sub(member + 1));
        let longer = u64::from(turns) * u64::from(self.longer_chunks.min(n)) + u64::from(down + top);
        u64::from(self.steps) * self.chunk_bytes + longer
    }
}

/// What a network says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkDone {
    /// The message has arrived.
    Delivered(Token),
    /// The member has sent and received everything.
    MemberDone {
        /// The pipeline.
        token: Token,
        /// Index of the member.
        member: u32,
    },
    /// The message cannot arrive: there is no way, or a link on it failed.
    Failed(Token),
}

/// A network: any level of detail.
pub trait Network: Model<Request = NetworkRequest, Done = NetworkDone> {
    /// Whether it accepts pipelines as one request; otherwise the engine sends every message.
    fn runs_pipelines(&self) -> bool {
        false
    }

    /// What hosts do for each message; nothing unless the network says so.
    fn host_costs(&self) -> HostCosts {
        HostCosts::default()
    }

    /// Whether messages from one node to another by one NIC arrive in the order in which they were sent.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Whether a message can be carried from `src` to `dst`; the reason when not.
    fn check_route(&mut self, src: NodeId, dst: NodeId) -> Result<(), BuildError>;

    /// The least time in which `bytes` can get from `src` to `dst` on an idle network.
    fn least_duration(&mut self, src: NodeId, dst: NodeId, bytes: u64) -> Duration;

    /// The least time in which `bytes` can get from `src` to `dst` whatever else is under way: a bound that no message beats. That on
    /// an idle network, but where waiting for others can save more than it takes.
    fn least_beside_others(&mut self, src: NodeId, dst: NodeId, bytes: u64) -> Duration {
        self.least_duration(src, dst, bytes)
    }

    /// The most bytes per second that can leave `node`; infinite where nothing limits them or where
    /// the limit is not known.
    fn egress_bytes_per_s(&self, _node: NodeId) -> f64 {
        f64::INFINITY
    }

    /// Why a transfer failed, for each [`NetworkDone::Failed`] in turn.
    fn failure(&mut self) -> Option<(Token, String)> {
        None
    }

    /// How the message of `token` fared, where the network knows. Asked for at once when it is delivered, and only
    /// where somebody watches messages.
    fn flow(&mut self, _token: Token) -> Option<FlowRecord> {
        None
    }

    /// From now on what is drawn for a message depends on its source and its number among those of the source, not on those
    /// that others send: so that several programs on one network draw what each draws alone.
    fn draw_by_source(&mut self) {}

    /// Forgets all that happened, so that what comes next fares as on a network that was just built, to the bit. Nothing is under
    /// way. False where it cannot: then nothing has changed.
    fn start_anew(&mut self) -> bool {
        false
    }

    /// Tells who watches what it has not told yet, at the end of a run.
    fn look_back(&mut self, _now: Time, _observer: &mut dyn Observer) {}

    /// What it carried and what it cost, at the end of a run.
    fn report(&mut self, now: Time) -> NetworkReport;
}

/// How one message fared, where the network knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRecord {
    /// Where it began.
    pub src: NodeId,
    /// Where it ended.
    pub dst: NodeId,
    /// Payload.
    pub bytes: u64,
    /// When it was handed to the network.
    pub start: Time,
    /// When it was complete.
    pub end: Time,
    /// What it would have taken alone on an idle network, at least.
    pub least: Duration,
    /// The links that all its packets took, in order, from the one by which it left its node: its whole way, or as far
    /// as its packets may part.
    pub path: Box<[LinkId]>,
    /// What its transport counted.
    pub counts: MessageCounts,
}

/// What waited for one link, where the network has queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueRecord {
    /// The link.
    pub link: LinkId,
    /// The node at which it waits, where the link is a cable with a queue at either end.
    pub from: Option<NodeId>,
    /// Bytes that may wait; `u64::MAX` where nothing limits them.
    pub capacity_bytes: u64,
    /// Most bytes that did; 0 where a host sends nothing but its own, which waits in no queue.
    pub most_bytes: u64,
    /// Packets dropped here, or behind the link where those who sent on were asked to pause.
    pub drops: u64,
    /// Packets trimmed here.
    pub trims: u64,
    /// Packets marked here.
    pub marks: u64,
    /// Times that the link was told to pause.
    pub pauses: u64,
}

/// Something that holds in every run, whatever it simulates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invariant {
    /// As a sentence.
    pub name: &'static str,
    /// How many things it was found of, or not.
    pub checked: u64,
    /// Where it does not hold; empty unless there is a bug.
    pub violations: Vec<String>,
}

impl Invariant {
    /// The name of that of links.
    pub const LINKS: &'static str = "no link carried more than its rate times the time";
    /// The name of that of transfers.
    pub const TRANSFERS: &'static str = "no transfer beat its latency and serialization";
}

/// The account of a network at the end of a run.
#[derive(Debug, Clone, Default)]
pub struct NetworkReport {
    /// Bytes that each link carried, by link.
    pub link_bytes: Vec<f64>,
    /// Seconds at which each link could have carried them at its full rate, by link.
    pub link_busy_s: Vec<f64>,
    /// What was checked.
    pub invariants: Vec<Invariant>,
    /// Sentences that a reader of the result must know.
    pub notes: Vec<String>,
    /// What it cost: events, solves, ...
    pub counters: Vec<(&'static str, u64)>,
    /// Messages that are complete, in the order in which they became so; empty where none were followed.
    pub flows: Vec<FlowRecord>,
    /// Queues where anything ever waited, by link.
    pub queues: Vec<QueueRecord>,
    /// What links must carry at least, where that is not what they carried; empty where it is, or nobody knows.
    pub needed: Vec<Needed>,
    /// How many times the rate that a memory has of its own it gives at most; `None` where the network does not keep to it.
    pub memory_rates: Option<f64>,
    /// The NIC that was busy for longest; `None` where NICs serve no message at a time of its own.
    pub busiest_nic: Option<BusyNic>,
}

impl NetworkReport {
    /// Where invariants do not hold; empty unless there is a bug.
    pub fn violations(&self) -> Vec<&str> {
        self.invariants.iter().flat_map(|invariant| &invariant.violations).map(String::as_str).collect()
    }
}

/// How long one side of a NIC served messages, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusyNic {
    /// Its node.
    pub node: NodeId,
    /// Its number, where a node has several.
    pub number: Option<u32>,
    /// The gap behind the last message is not counted.
    pub busy: Duration,
}

/// What must cross a group of links.
#[derive(Debug, Clone, PartialEq)]
pub struct Needed {
    /// Links of which any will do.
    pub links: Box<[LinkId]>,
    /// Seconds that they need together at their full rates.
    pub busy_s: f64,
}

/// What a compute model is asked to do.
#[derive(Debug, Clone, Copy)]
pub struct Execute {
    /// Handed back at the end.
    pub token: Token,
    /// The node that computes.
    pub node: NodeId,
    /// Operations per thread.
    pub flops: f64,
    /// Number format, which chooses the node's rate.
    pub precision: Precision,
    /// Bytes of local memory touched, for the roofline; 0 when that does not count.
    pub local_bytes: u64,
    /// Share relative to others on the same node (1 is normal).
    pub priority: f64,
    /// Threads, each on a core of its own (1 is normal).
    pub threads: u32,
    /// The task's own limit in operations per second and task.
    pub rate_cap: Option<f64>,
}

/// A compute model: every compute node of the machine. Completes tokens.
pub trait Compute: Model<Request = Execute, Done = Token> {
    /// Whether `node` can compute in `precision`; the reason when not.
    fn check(&self, node: NodeId, precision: Precision) -> Result<(), BuildError>;

    /// The least time in which the request can be done on an idle node.
    fn least_duration(&self, request: &Execute) -> Duration;

    /// Broken invariants; empty unless there is a bug.
    fn violations(&self) -> Vec<String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_member_are_those_of_its_messages() {
        for n in 1..9 {
            let members: Vec<Member> = (0..n).map(|i| Member { rank: Rank(i), node: NodeId(i) }).collect();
            for (steps, longer_chunks) in (0..3 * n).flat_map(|steps| (0..=n).map(move |l| (steps, l))) {
                let pipeline = Pipeline { members: members.clone(), steps, chunk_bytes: 7, longer_chunks };
                for member in 0..n {
                    let sum: u64 = (0..steps).map(|step| pipeline.bytes(member, step)).sum();
                    assert_eq!(pipeline.bytes_sent(member), sum, "{pipeline:?}, member {member}");
                }
            }
        }
    }
}
