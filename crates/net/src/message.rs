//! Message level: LogGOPS.
//!
//! A message costs its sender's host o, waits for the sender's NIC, which it keeps busy for
//! g + (s - 1) G, travels for L, keeps the receiver's NIC busy for as long again, and costs the
//! receiver's host o. Both NICs are first come, first served, each in its own direction: thirty-two
//! messages to one node take thirty-two times as long as one. (Alexandrov, Ionescu, Schauser and
//! Scheiman, "LogGP", 1995; Hoefler, Schneider and Lumsdaine, "LogGOPSim", 2010. Both charge the gap at
//! the receiver; peers that do not are too fast at incast, see the book.)

mod near;
mod pairs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::model::{self, BusyNic, HostCosts, NetworkDone, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::queue::RadixQueue;
use stratasim_core::{BuildError, Bytes, Cx, Duration, Model, NodeId, Slots, Time, TimePerByte, Token};

use crate::networks::{NetworkContext, NetworkKind};
pub use near::Near;
use pairs::{Pair, Pairs};

/// LogGOPS: overheads, gaps and latency per message, and every NIC serves one message at a time.
///
/// Defaults are those of LogGOPSim. A message of s bytes keeps a host busy for o + (s - 1) O at each
/// end, a NIC for g + (s - 1) G at each end, and is on its way for L. Where the workload has streams
/// (GOAL), o is spent on the stream of the operation; otherwise on one processor per node that does
/// nothing else.
///
/// ```toml
/// [network]
/// kind = "message"
/// latency = "3.7 us"
/// overhead = "200 ns"
/// gap = "5 ns"
/// gap-per-byte = "0.04 ns/B"
/// near = [{ within = "node", latency = "200 ns", gap-per-byte = "0.003 ns/B" }]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Message {
    /// L: time from NIC to NIC.
    pub latency: Duration,
    /// o: time that a message takes a processor of its sender, and one of its receiver.
    pub overhead: Duration,
    /// g: least time between two messages of a NIC.
    pub gap: Duration,
    /// G: time between two bytes of a message at a NIC, `"0.04 ns/B"` for 200 Gbps.
    pub gap_per_byte: TimePerByte,
    /// O: time that each byte but the first adds to o.
    pub overhead_per_byte: TimePerByte,
    /// S: larger messages wait for their receive (rendezvous), where they have one: those of collectives do not.
    pub eager_limit: Bytes,
    /// Adds the latency of the route to L, and takes the rate of the route's slowest link, or that of the memory at its end,
    /// where that is less than 1 / G.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_routes: bool,
    /// Other parameters between nodes that are near each other; the first that applies counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<Near>,
    /// NICs of each node, numbered from 0; a message by NIC k of its sender arrives at NIC k of its
    /// receiver. As many as the workload uses, when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nics: Option<u32>,
}

impl Default for Message {
    fn default() -> Self {
        Self {
            latency: Duration::from_ns(2500),
            overhead: Duration::from_ns(1500),
            gap: Duration::from_ns(1000),
            gap_per_byte: TimePerByte(6000.0),
            overhead_per_byte: TimePerByte(0.0),
            eager_limit: Bytes(65535),
            from_routes: false,
            near: Vec::new(),
            nics: None,
        }
    }
}

impl NetworkKind for Message {
    fn own_routing(&self) -> Option<&'static str> {
        (!self.from_routes).then_some("takes its times from its own numbers without `from-routes`")
    }

    fn in_short(&self) -> Option<String> {
        let Self { latency, overhead, gap, gap_per_byte, .. } = self;
        let host = format!("o={overhead} g={gap}");
        if !self.from_routes {
            return Some(format!("L={latency} {host} G={gap_per_byte}"));
        }
        let is_silent = *overhead == Duration::ZERO && *gap == Duration::ZERO;
        let host = if is_silent { String::new() } else { format!("{host}, ") };
        // what the routes add to, and what they are the limit of besides
        let delay = match *latency {
            Duration::ZERO => "L",
            _ => &format!("L={latency} and that"),
        };
        let rate = match gap_per_byte.0 {
            0.0 => "G",
            _ => &format!("G={gap_per_byte} or that"),
        };
        Some(format!("{host}{delay} and {rate} of the routes"))
    }

    fn build(&self, context: NetworkContext) -> Result<Box<dyn model::Network>, BuildError> {
        let pairs = Pairs::new(self, &context.topology, context.routing)?;
        let nics = self.nics.unwrap_or(context.nics).max(1);
        if self.nics == Some(0) {
            return Err(BuildError::new("nics", "a node needs at least one NIC"));
        }
        let nodes = context.topology.node_count();
        Ok(Box::new(MessageNetwork::of(self, nodes, nics, pairs, context.topology.link_count())?))
    }
}

impl Message {
    /// Constants of some cluster of 2010 are not what a machine was described for.
    fn note(&self) -> Option<&'static str> {
        let Self { from_routes, nics, .. } = *self;
        let is_plain = *self == Self { from_routes, nics, ..Self::default() };
        is_plain.then_some(if from_routes {
            "constants are LogGOPSim's: o = 1.5 us, g = 1 us and G = 6 ns/B, which is 167 MB/s, go before the rates of the \
             routes; `--network message` sets them to zero"
        } else {
            "constants are LogGOPSim's, not the machine's: L = 2.5 us, o = 1.5 us, g = 1 us and G = 6 ns/B, which is 167 MB/s; \
             `--network message`, or zeros in their place and from-routes, takes latencies and rates of the machine \
             instead"
        })
    }
}

/// The network in action.
pub struct MessageNetwork {
    costs: HostCosts,
    pairs: Pairs,
    /// NICs of a node; and one lane more, where messages within it have parameters of their own.
    nics: usize,
    lanes: usize,
    lane: Vec<Lane>,
    nodes: usize,
    /// Until when the processor for messages of each node is busy; empty until one is needed.
    hosts: Vec<u64>,
    queue: RadixQueue<Event>,
    /// Messages under way.
    flights: Slots<Flight>,
    links: usize,
    /// What the user is told.
    note: Option<&'static str>,
    messages: u64,
    /// The longest gap behind any of them.
    longest_gap_ps: u64,
    now: Time,
    /// Messages without a way; the first `told` have been told of.
    failures: Vec<(Token, String)>,
    told: usize,
}

/// One NIC of a node.
#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    sending: Side,
    receiving: Side,
}

/// One side of a NIC.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    /// Until when it is busy,
    until: u64,
    /// and for how long it was.
    busy: u64,
}

impl Side {
    /// It serves bytes from `begin` on. When it has, before the gap.
    #[inline]
    fn serve(&mut self, begin: u64, bytes_ps: u64, gap_ps: u64) -> u64 {
        let end = begin.saturating_add(bytes_ps);
        self.until = end.saturating_add(gap_ps);
        self.busy = self.busy.saturating_add(self.until - begin);
        end
    }
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    token: Token,
    /// The receiving lane.
    lane: u32,
    /// The receiving host's time for it, in picoseconds.
    host_ps: u64,
    /// Time of all bytes but the first at a NIC, and the gap behind it.
    bytes_ps: u64,
    gap_ps: u64,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    /// The first byte is at the receiver.
    Arrives(u32),
    /// The last one is, and the receiver's processor takes it up when it is free.
    Received(u32),
    /// The message is there, as a whole.
    Delivered(u32),
}

/// Most NICs of all nodes together.
const MOST_LANES: u64 = 1 << 28;

impl MessageNetwork {
    /// LogGOPS between `nodes` nodes with `nics` NICs each, without a topology.
    ///
    /// # Errors
    /// Options that need a topology; more NICs than can be held.
    pub fn between(spec: &Message, nodes: usize, nics: u32) -> Result<Self, BuildError> {
        if spec.from_routes || spec.near.iter().any(|near| !near.within_node()) {
            return Err(BuildError::new("", "routes and groups of nodes need a topology"));
        }
        Self::of(spec, nodes, nics.max(1), Pairs::same(spec), 0)
    }

    fn of(spec: &Message, nodes: usize, nics: u32, pairs: Pairs, links: usize) -> Result<Self, BuildError> {
        let lanes = u64::from(nics) + u64::from(pairs.within_nodes());
        if lanes * nodes as u64 > MOST_LANES {
            let reason = format!("{nics} NICs at each of {nodes} nodes are more than 2^28");
            return Err(BuildError::new("nics", reason));
        }
        Ok(Self {
            costs: HostCosts {
                overhead: spec.overhead,
                overhead_ps_per_byte: spec.overhead_per_byte.ps_per_byte(),
                eager_limit_bytes: Some(spec.eager_limit.count()),
            },
            pairs,
            nics: nics as usize,
            lanes: lanes as usize,
            lane: vec![Lane::default(); lanes as usize * nodes],
            nodes,
            hosts: Vec::new(),
            queue: RadixQueue::new(),
            flights: Slots::default(),
            links,
            note: spec.note(),
            messages: 0,
            longest_gap_ps: 0,
            now: Time::ZERO,
            failures: Vec::new(),
            told: 0,
        })
    }

    /// Time of all bytes but the first at a NIC.
    #[inline]
    fn bytes_ps(pair: &Pair, transfer: &Transfer) -> u64 {
        let further = transfer.bytes.saturating_sub(1) as f64;
        let own = transfer.rate_cap.map_or(0.0, |cap| transfer.bytes as f64 / cap.bytes_per_s() * 1e12);
        ((further * pair.ps_per_byte).max(own) + 0.5) as u64
    }

    /// The NIC that was busy for longest, of equal ones the first; none where no bytes and gaps take any time.
    fn busiest_nic(&self) -> Option<BusyNic> {
        let mut best: Option<(u64, usize)> = None;
        for (index, lane) in self.lane.iter().enumerate().filter(|(index, _)| index % self.lanes < self.nics)
        {
            let busy = lane.sending.busy.max(lane.receiving.busy);
            if best.is_none_or(|(most, _)| busy > most) {
                best = Some((busy, index));
            }
        }
        let (busy, index) = best?;
        let busy = busy.saturating_sub(self.longest_gap_ps);
        (busy > 0).then(|| BusyNic {
            node: NodeId::from_index(index / self.lanes),
            number: (self.nics > 1).then_some((index % self.lanes) as u32),
            busy: Duration::from_ps(busy),
        })
    }
}

impl Model for MessageNetwork {
    type Request = NetworkRequest;
    type Done = NetworkDone;

    fn submit(&mut self, now: Time, request: NetworkRequest) {
        let NetworkRequest::Transfer(transfer) = request else {
            unreachable!("the engine asks runs_pipelines first")
        };
        self.now = now;
        self.messages += 1;
        let pair = match self.pairs.get(transfer.src, transfer.dst) {
            Ok(pair) => pair,
            Err(error) => {
                self.failures.push((transfer.token, error.reason));
                return;
            }
        };
        // messages within a node that have parameters of their own do not pass a NIC
        let lane = if pair.own_lane { self.nics } else { transfer.nic as usize % self.nics };
        let host_ps = if transfer.overhead_charged { 0 } else { self.costs.of(transfer.bytes).as_ps() };
        let mut ready = now.as_ps();
        if host_ps > 0 {
            self.hosts.resize(self.nodes, 0);
            let host = &mut self.hosts[transfer.src.index()];
            ready = ready.max(*host).saturating_add(host_ps);
            *host = ready;
        }
        if !pair.own_lane {
            self.longest_gap_ps = self.longest_gap_ps.max(pair.gap_ps);
        }
        let bytes_ps = Self::bytes_ps(&pair, &transfer);
        let sender = &mut self.lane[transfer.src.index() * self.lanes + lane].sending;
        let injected = ready.max(sender.until);
        sender.serve(injected, bytes_ps, pair.gap_ps);
        let flight = Flight {
            token: transfer.token,
            lane: (transfer.dst.index() * self.lanes + lane) as u32,
            host_ps,
            bytes_ps,
            gap_ps: pair.gap_ps,
        };
        let slot = self.flights.insert(flight);
        self.queue.push(injected.saturating_add(pair.latency_ps), Event::Arrives(slot));
    }

    fn next_event(&mut self) -> Option<Time> {
        if self.told < self.failures.len() {
            return Some(self.now);
        }
        self.queue.earliest().map(Time::from_ps)
    }

    fn advance(&mut self, until: Time, cx: &mut Cx<'_, NetworkDone>) -> Time {
        if self.told < self.failures.len() {
            cx.done.extend(self.failures[self.told..].iter().map(|(token, _)| NetworkDone::Failed(*token)));
            self.told = self.failures.len();
            return self.now;
        }
        while let Some((at, event)) = self.queue.pop_until(until.as_ps()) {
            match event {
                Event::Arrives(slot) => {
                    let flight = self.flights[slot];
                    let receiver = &mut self.lane[flight.lane as usize].receiving;
                    let begin = at.max(receiver.until);
                    // without a gap, the one before may be due in this instant, and goes first
                    let follows = receiver.until >= at;
                    let end = receiver.serve(begin, flight.bytes_ps, flight.gap_ps);
                    if flight.host_ps > 0 {
                        self.queue.push(end, Event::Received(slot));
                    } else if end > at || follows {
                        self.queue.push(end, Event::Delivered(slot));
                    } else {
                        self.flights.release(slot);
                        cx.done.push(NetworkDone::Delivered(flight.token));
                    }
                }
                Event::Received(slot) => {
                    let flight = self.flights[slot];
                    let host = &mut self.hosts[flight.lane as usize / self.lanes];
                    *host = at.max(*host).saturating_add(flight.host_ps);
                    self.queue.push(*host, Event::Delivered(slot));
                }
                Event::Delivered(slot) => {
                    self.flights.release(slot);
                    cx.done.push(NetworkDone::Delivered(self.flights[slot].token));
                }
            }
            // everything of the instant that completes something
            if self.queue.earliest() != Some(at) && !cx.done.is_empty() {
                self.now = Time::from_ps(at);
                return self.now;
            }
        }
        self.now = until;
        until
    }
}

impl model::Network for MessageNetwork {
    fn host_costs(&self) -> HostCosts {
        self.costs
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn start_anew(&mut self) -> bool {
        self.lane.fill(Lane::default());
        self.hosts.clear();
        (self.queue, self.flights) = (RadixQueue::new(), Slots::default());
        (self.messages, self.longest_gap_ps, self.now) = (0, 0, Time::ZERO);
        self.failures.clear();
        self.told = 0;
        true
    }

    fn check_route(&mut self, src: NodeId, dst: NodeId) -> Result<(), BuildError> {
        self.pairs.get(src, dst).map(|_| ())
    }

    fn failure(&mut self) -> Option<(Token, String)> {
        self.told = self.told.saturating_sub(1);
        if self.failures.is_empty() { None } else { Some(self.failures.remove(0)) }
    }

    fn least_duration(&mut self, src: NodeId, dst: NodeId, bytes: u64) -> Duration {
        let Ok(pair) = self.pairs.get(src, dst) else { return Duration::ZERO };
        let bytes_ps = Self::bytes_ps(&pair, &Transfer::new(Token(0), src, dst, bytes));
        Duration::from_ps(pair.latency_ps.saturating_add(bytes_ps))
    }

    fn report(&mut self, _: Time) -> NetworkReport {
        NetworkReport {
            link_bytes: vec![0.0; self.links],
            link_busy_s: vec![0.0; self.links],
            counters: vec![("network.messages", self.messages)],
            notes: self.note.map(str::to_owned).into_iter().collect(),
            busiest_nic: self.busiest_nic(),
            ..NetworkReport::default()
        }
    }
}
