//! The network as the engine of programs sees it: messages in, deliveries out.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use stratasim_core::model::{self, FlowRecord, NetworkDone, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::observe::Observer;
use stratasim_core::random::key;
use stratasim_core::{Bandwidth, BuildError, Bytes, Cx, Duration, Model, NodeId, Time, Token};
use stratasim_topo::Topology;
use stratasim_transport::{Path, Profile, TransportSpec};

use super::breath::Breath;
use super::engine::{Engine, Event};
use super::given::{Guide, Way};
use super::host::{Ends, Message};
use super::interfaces::Turns;
use super::landing::ANY;
use super::parts::Parts;
use super::patience::Patience;
use super::port::NOTHING;
use super::routes::Routes;
use super::sampling::Sampling;
use super::stall;
use super::ways::{Alone, Goal, Pick, Ways};
use crate::cables;
use crate::outcomes::Outcomes;

/// Events are not later: what they add to their date is a date, too.
const LAST: u64 = u64::MAX - (1 << 58);

/// What connections are made of.
#[derive(Debug)]
pub(super) struct Transports {
    pub(super) spec: TransportSpec,
    /// Round trip on the longest way.
    pub(super) network_rtt: Duration,
    /// Bytes that the largest buffer of a switch holds.
    pub(super) buffer_bytes: u64,
    /// Seconds in which the slowest of these queues drains.
    pub(super) drain_s: f64,
    /// Names the draws of connections.
    pub(super) seed: u64,
}

/// Which messages share a connection: of the same hosts, ports, class, limit of the rate and line.
type Pair = ([u32; 4], u8, u64, u16);

/// The ports at both ends of connections and their receiver, the NIC where data arrives, and the ways there and back.
type ProfileKey = ([u32; 3], [u16; 2], [Option<Way>; 2]);

/// The packet level in action.
pub(super) struct PacketNetwork {
    pub(super) topology: Arc<Topology>,
    /// As another network on the topology may have them.
    _tables: Arc<Routes>,
    pub(super) parts: Parts,
    pub(super) transports: Transports,
    ways: Ways,
    guide: Guide,
    pub(super) turns: Turns,
    profiles: Vec<Arc<Profile>>,
    /// Which profile ways of these values have: round trip, links, rates.
    by_values: FxHashMap<(u64, u32, [u64; 3]), u32>,
    /// The profile of the ports at both ends, the host and its NIC, and of the ways there and back where they are given.
    by_pair: FxHashMap<ProfileKey, u32>,
    /// Connections that are kept.
    kept: FxHashMap<Pair, u32>,
    pub(super) now: Time,
    pub(super) outcomes: Outcomes,
    /// Connections of which a message is complete; empty between calls, but for its memory.
    complete: Vec<u32>,
    /// Messages that are complete; the report fills in the least time of each.
    pub(super) flows: Vec<FlowRecord>,
    /// Which of them a message is that was not asked about yet; empty where nobody watches messages.
    untold: FxHashMap<Token, u32>,
    sampling: Sampling,
    pub(super) patience: Patience,
    breath: Breath,
    /// Messages on connections that are not complete.
    pub(super) open: u64,
    pub(super) messages: u64,
    /// Messages of each source, where what is drawn for them depends on those only.
    sent_by: Option<Vec<u64>>,
    /// Announcements and answers that are under way.
    handshakes: FxHashSet<Token>,
}

impl PacketNetwork {
    pub(super) fn new(
        (topology, tables): (Arc<Topology>, Arc<Routes>),
        parts: Parts,
        ways: Ways,
        guide: Guide,
        transports: Transports,
        patience: Patience,
        nics: u32,
    ) -> Self {
        Self {
            turns: Turns::new(nics),
            topology,
            _tables: tables,
            parts,
            transports,
            ways,
            guide,
            profiles: Vec::new(),
            by_values: FxHashMap::default(),
            by_pair: FxHashMap::default(),
            complete: Vec::new(),
            kept: FxHashMap::default(),
            now: Time::ZERO,
            outcomes: Outcomes::default(),
            flows: Vec::new(),
            untold: FxHashMap::default(),
            sampling: Sampling::new(),
            patience,
            breath: Breath::new(),
            open: 0,
            messages: 0,
            sent_by: None,
            handshakes: FxHashSet::default(),
        }
    }

    fn no_way(&self, src: NodeId, dst: NodeId) -> String {
        let [from, to] = [src, dst].map(|node| self.topology.node_name(node));
        let routes = &self.parts.any().routes;
        if self.hosts(src, dst).is_some_and(|(from, to)| routes.lead(from, to)) {
            return format!(
                "no route from {to} back to {from}: links lead from {from} to {to}, and none return for its acknowledgements"
            );
        }
        format!("no route from {from} to {to}: no chain of links joins them{}", cables::hint(&self.topology))
    }

    /// The hosts of a message.
    fn hosts(&self, src: NodeId, dst: NodeId) -> Option<(u32, u32)> {
        let routes = &self.parts.any().routes;
        Some((routes.host_of(src)?, routes.host_of(dst)?))
    }

    /// The profile of connections that leave by `port` and come back by `back`.
    fn profile(&mut self, ends: &Ends) -> Result<Arc<Profile>, BuildError> {
        let given = [ends.landing.way_there, ends.landing.way_back];
        let nics = [ends.landing.there, ends.landing.back];
        let pair = ([ends.port, ends.back, ends.to], nics, given);
        if let Some(&known) = self.by_pair.get(&pair) {
            return Ok(self.profiles[known as usize].clone());
        }
        let sizes = &self.transports.spec.packets;
        let (full, control) = (sizes.wire_bytes() as u32, sizes.control_bytes);
        // packets may take any of the shortest ways, and the whole flow the slowest of them
        let goals = [(ends.to, nics[0]), (ends.from, nics[1])].map(|(host, nic)| Goal { host, nic });
        let there = self.time(given[0], ends.port, goals[0], full, Pick::Slowest);
        let back = self.time(given[1], ends.back, goals[1], control, Pick::Slowest);
        let (Some((there, hops)), Some((back, _))) = (there, back) else {
            return Err(BuildError::new("", "no way leads there and back"));
        };
        let base_rtt = Duration::from_ps(there + back);
        let slowest_rate = self.slowest_rate(given[0], ends.port, goals[0]);
        let engine = self.parts.any();
        let rate_of = |port: u32| engine.ports[port as usize].kind.rate.bytes_per_s();
        let arrival = match given[0] {
            Some(way) => engine.landings.ways.ports(way).last(),
            None => Some(engine.arrivals.port_to(&engine.routes, &engine.ports, ends.to, ends.landing.there)),
        };
        let rate = rate_of(ends.port);
        let receiver_rate = arrival.filter(|&port| port != NOTHING).map_or(rate, rate_of);
        let slowest_rate = slowest_rate.unwrap_or(rate).min(rate);
        // the largest queue may be before a faster link
        let Transports { buffer_bytes: largest, drain_s, .. } = self.transports;
        let buffer_bytes = largest.min((drain_s * slowest_rate).round() as u64);
        if given != [None; 2] {
            self.patience.stretch(engine, base_rtt.as_ps(), hops);
        }
        let path = Path {
            base_rtt,
            network_rtt: self.transports.network_rtt.max(base_rtt),
            rate: Bandwidth(rate),
            receiver_rate: Bandwidth(receiver_rate),
            slowest_rate: Bandwidth(slowest_rate),
            hops,
            buffer_bytes,
            is_lossless: engine.is_lossless(),
            trims: engine.rules.queue.trims,
        };
        let values = (base_rtt.as_ps(), hops, [rate, receiver_rate, slowest_rate].map(f64::to_bits));
        let number = match self.by_values.get(&values) {
            Some(&known) => known,
            None => {
                self.profiles.push(Profile::new(&self.transports.spec, path)?);
                let number = self.profiles.len() as u32 - 1;
                self.by_values.insert(values, number);
                number
            }
        };
        self.by_pair.insert(pair, number);
        Ok(self.profiles[number as usize].clone())
    }

    /// The time of a packet from `port` to `goal`, by its way where that is given, and the number of links.
    fn time(
        &mut self,
        given: Option<Way>,
        port: u32,
        goal: Goal,
        bytes: u32,
        pick: Pick,
    ) -> Option<(u64, u32)> {
        let Engine { routes, ports, landings, .. } = self.parts.any();
        let message = Alone::packet(bytes);
        match given {
            Some(way) => Some(self.ways.along(ports, landings.ways.ports(way), message)),
            None => self.ways.alone((routes, ports), port, goal, message, pick),
        }
    }

    /// Bytes per second of the slowest link on any way to `goal`, or on the one that is given; none where all links are alike.
    fn slowest_rate(&mut self, given: Option<Way>, port: u32, goal: Goal) -> Option<f64> {
        if self.ways.have_equal_links() {
            return None;
        }
        let Engine { routes, ports, landings, .. } = self.parts.any();
        Some(match given {
            Some(way) => {
                let rates = landings.ways.ports(way).map(|port| ports[port as usize].kind.rate.bytes_per_s());
                rates.fold(f64::INFINITY, f64::min)
            }
            None => self.ways.slowest_rate((routes, ports), port, goal),
        })
    }

    /// The way of a flow from one host to another, where it is given.
    fn given(&mut self, from: u32, to: u32, flow: u64) -> Result<Option<Way>, String> {
        if !self.guide.is_needed() {
            return Ok(None);
        }
        let found = self.guide.find((&self.topology, &self.parts.any().routes), (from, to), flow)?;
        Ok(found.map(|found| self.guide.keep((from, to), found, |steps| self.parts.learn(steps))))
    }

    fn send(&mut self, transfer: &Transfer, mut not_before: u64) -> Result<(), String> {
        let Transfer { token, src, dst, bytes, rate_cap, nic, line, .. } = *transfer;
        let name = match &mut self.sent_by {
            None => key(self.transports.seed, self.messages),
            Some(counts) => {
                let count = &mut counts[src.index()];
                *count += 1;
                key(key(self.transports.seed, src.0.into()), *count)
            }
        };
        if transfer.handshake {
            self.handshakes.insert(token);
        }
        let Some((from, to)) = self.hosts(src, dst) else { return Err(self.no_way(src, dst)) };
        // a connection that is kept has one way for all of its messages
        let flow = if self.parts.any().rules.keeps_connections { 0 } else { token.0 };
        let given = [self.given(from, to, flow)?, self.given(to, from, flow)?];
        let interfaces = self.interfaces(from, to, nic, name, given);
        let Some((port, back, landing)) = interfaces else { return Err(self.no_way(src, dst)) };
        if self.parts.connection_count() >= Event::MOST {
            return Err("more than 2^28 messages in one run are not possible".into());
        }
        if rate_cap.is_some() {
            // its last byte leaves when its own limit lets it go, and word of that comes back where it is waited for
            let there = (given[0], port, Goal { host: to, nic: landing.there }, 0);
            let control = self.transports.spec.packets.control_bytes;
            let word = (given[1], back, Goal { host: from, nic: landing.back }, control);
            let waits = self.parts.any().rules.complete_at_sender;
            for (given, port, goal, bytes) in std::iter::once(there).chain(waits.then_some(word)) {
                let delay = self.time(given, port, goal, bytes, Pick::Fastest).map_or(0, |(time, _)| time);
                not_before = not_before.saturating_add(delay);
            }
        }
        let ends = Ends { token, from, to, port, back, landing, bytes, rate_cap, not_before };
        if self.parts.any().rules.keeps_connections {
            let limit = rate_cap.map_or(0, |cap| cap.bytes_per_s().to_bits());
            let pair = ([port, back, from, to], self.parts.any().class_of(bytes), limit, line);
            let next = self.parts.connection_count();
            let kept = *self.kept.entry(pair).or_insert(next);
            if kept != next && self.parts.post(kept, &ends) {
                self.open += 1;
                return Ok(());
            }
            self.kept.insert(pair, next);
        }
        let profile = self.profile(&ends).map_err(|error| error.reason)?;
        profile.counts(0, bytes).map_err(|most| {
            let [bytes, most] = [bytes, most].map(Bytes);
            format!("a message of {bytes}: credit for {most} at most can be counted on one connection")
        })?;
        self.parts.open(ends, &profile, name);
        if self.sent_by.is_some() {
            self.parts.call(name as u32);
        }
        self.open += 1;
        Ok(())
    }

    /// Lets packets move that nobody waits for any more, up to an instant that has been reached.
    fn catch_up(&mut self, now: Time) {
        if self.open == 0 && now > Time::ZERO && self.parts.next().is_some_and(|at| at < now.as_ps()) {
            self.parts.run(now.as_ps() - 1);
        }
    }

    /// What is complete now.
    fn collect(&mut self) {
        let (rules, now) = (self.parts.any().rules, self.parts.now());
        let mut complete = std::mem::take(&mut self.complete);
        self.parts.take_complete(&mut complete);
        for number in complete.drain(..) {
            let Some(connection) = self.parts.at_sender(number) else { continue };
            if connection.sender.has_failed() {
                self.fail(number);
                continue;
            }
            self.parts.set_reported(number, true);
            while let Some(connection) = self.parts.at_sender(number) {
                let engine = self.parts.any();
                let ends = [connection.from, connection.to].map(|host| NodeId(engine.routes.node_of(host)));
                let path = engine.common_path(number, connection);
                let Some(connection) = self.parts.at_sender_mut(number) else { break };
                self.open -= 1;
                let Message { token, not_before, .. } = connection.message;
                let end = Time::from_ps(not_before.max(now));
                self.outcomes.deliver(end, token);
                let record = connection.finish(end, ends, path);
                // a handshake is part of its message
                if !self.handshakes.remove(&token) {
                    if self.sampling.tells_messages() {
                        self.untold.insert(token, self.flows.len() as u32);
                    }
                    self.flows.push(record);
                }
                if self.parts.next_message(number) != Some(true) {
                    break;
                }
            }
            let is_done = self.parts.at_sender(number).is_none_or(|connection| connection.sender.is_done());
            if rules.keeps_connections {
                continue;
            }
            if rules.complete_at_sender {
                // as where it is told of receivers, which go on answering until word of it could have come
                self.parts.end(number);
            } else if is_done {
                self.parts.close(number);
            }
        }
        self.complete = complete;
        self.rest();
    }

    /// Notes when nothing is under way any more.
    fn rest(&mut self) {
        if self.open == 0 {
            self.sampling.rest(self.parts.now());
        }
    }

    /// The sender of a connection has given up.
    fn fail(&mut self, number: u32) {
        // the message that it was asked about, and those behind it
        self.parts.set_reported(number, false);
        let Some(connection) = self.parts.at_sender(number) else { return };
        let routes = &self.parts.any().routes;
        let ends = [connection.from, connection.to].map(|host| NodeId(routes.node_of(host)));
        let [from, to] = ends.map(|node| self.topology.node_name(node));
        let why = stall::silence(&self.parts, &self.topology);
        let reason =
            format!("the transport from {from} to {to} gave up: it heard nothing for too long; {why}");
        let tokens: Vec<Token> = connection.open_messages().collect();
        self.parts.close(number);
        self.open -= tokens.len() as u64;
        for token in tokens {
            self.outcomes.fail(token, reason.clone());
        }
        self.rest();
    }

    /// Whether packets of one message may go different ways, where there are any, in a run of so many picoseconds, from and to.
    pub(super) fn spreads(&self, (begin, end): (u64, u64)) -> bool {
        let Engine { balancing, outages, .. } = self.parts.any();
        !balancing.keeps_flows(self.transports.spec.keeps_entropy()) || outages.touch(begin, end)
    }

    /// The account of a message knows what its own limit asks for; this is what the network needs at least.
    fn fill_in(&mut self, flow: &mut FlowRecord) {
        let spread = self.spreads((flow.start.as_ps(), flow.end.as_ps().saturating_add(1)));
        flow.least = flow.least.max(self.least_between(flow.src, flow.dst, flow.bytes, spread, false));
    }

    /// Whether a message has taken less than is possible, even where others that held it up kept it from being stored.
    pub(super) fn is_beaten(&mut self, flow: &FlowRecord) -> bool {
        let took = flow.end.saturating_since(flow.start);
        took < flow.least && {
            let spread = self.spreads((flow.start.as_ps(), flow.end.as_ps().saturating_add(1)));
            let mut least = |held_up| self.least_between(flow.src, flow.dst, flow.bytes, spread, held_up);
            // more than it takes alone is what its own limit asks for
            took < least(true) || flow.least > least(false)
        }
    }

    /// Least time of a message between two nodes; whether its packets may be spread over several ways, and whether others may
    /// hold it up.
    fn least_between(
        &mut self,
        src: NodeId,
        dst: NodeId,
        bytes: u64,
        spread: bool,
        held_up: bool,
    ) -> Duration {
        if src == dst {
            return Duration::ZERO;
        }
        let least = self.hosts(src, dst).and_then(|(from, to)| self.least(from, to, bytes, spread, held_up));
        least.map_or(Duration::ZERO, Duration::from_ps)
    }

    /// Least time of a message, over the ports of its sender: that of the message alone on the network, where its packets
    /// go one way.
    fn least(&mut self, from: u32, to: u32, bytes: u64, spread: bool, held_up: bool) -> Option<u64> {
        for (from, to) in [(from, to), (to, from)] {
            if self.guide.taken(from, to).is_empty() {
                self.given(from, to, 0).ok()?;
            }
        }
        let sizes = &self.transports.spec.packets;
        let payload = u64::from(sizes.payload_bytes);
        let packets = bytes.div_ceil(payload).max(1);
        let last = if sizes.full_packets { payload } else { bytes.max(1) - (packets - 1) * payload };
        let message = Alone {
            packets,
            full: sizes.wire_bytes() as u32,
            last: last as u32 + sizes.header_bytes,
            spread,
            held_up,
        };
        let Self { parts, guide, ways, .. } = self;
        let Engine { routes, ports, rules, landings, .. } = parts.any();
        let mut fastest = |from: u32, to: u32, message: Alone| {
            let given = guide.taken(from, to).iter().map(|&way| {
                let way = landings.ways.ports(way);
                ways.along(ports, way, Alone { spread: false, ..message }).0
            });
            if let Some(least) = given.min() {
                return Some(least);
            }
            // all packets go to one NIC, whichever that is
            let nics = routes.nics_of(to) as u16;
            let mut least: Option<u64> = None;
            for port in routes.choices(routes.node_of(from), to) {
                let mut try_nic = |nic| {
                    let goal = Goal { host: to, nic };
                    let found = ways.alone((routes, ports), port, goal, message, Pick::Fastest);
                    least = least.into_iter().chain(found.map(|(time, _)| time)).min();
                };
                let mut lands =
                    (0..nics).filter(|&nic| nics > 1 && routes.lands(port, to, nic.into())).peekable();
                if lands.peek().is_none() {
                    try_nic(ANY);
                }
                lands.for_each(try_nic);
            }
            least
        };
        let there = fastest(from, to, message)?;
        if !rules.complete_at_sender {
            return Some(there);
        }
        let control = sizes.control_bytes;
        let back = Alone { packets: 1, full: control, last: control, ..message };
        Some(there.saturating_add(fastest(to, from, back)?))
    }
}

impl Model for PacketNetwork {
    type Request = NetworkRequest;
    type Done = NetworkDone;

    fn submit(&mut self, now: Time, request: NetworkRequest) {
        let NetworkRequest::Transfer(transfer) = request else {
            unreachable!("the engine asks runs_pipelines first")
        };
        self.catch_up(now);
        self.now = now;
        if self.open == 0 {
            self.patience.go_on(now.as_ps());
            self.breath.go_on(now.as_ps(), self.parts.totals().events);
            self.sampling.wake(now.as_ps(), &mut self.parts);
        }
        self.parts.reach(now.as_ps());
        self.messages += 1;
        let own_ps =
            transfer.rate_cap.map_or(0.0, |cap| (transfer.bytes as f64 / cap.bytes_per_s() * 1e12).ceil());
        let not_before = now.as_ps().saturating_add(own_ps as u64);
        if transfer.src == transfer.dst {
            return self.outcomes.deliver(Time::from_ps(not_before), transfer.token);
        }
        if let Err(reason) = self.send(&transfer, not_before) {
            self.outcomes.fail(transfer.token, reason);
        }
    }

    fn next_event(&mut self) -> Option<Time> {
        if self.outcomes.have_failures() {
            return Some(self.now);
        }
        let engine = match self.open {
            0 => Time::MAX,
            _ => Time::from_ps(self.parts.next().unwrap_or(self.parts.now())),
        };
        let next = self.outcomes.next().min(engine);
        (next < Time::MAX).then(|| next.max(self.now))
    }

    fn advance(&mut self, until: Time, cx: &mut Cx<'_, NetworkDone>) -> Time {
        let watched = self.sampling.watch(cx.observer);
        loop {
            if self.outcomes.have_failures() {
                self.outcomes.report_failures(cx);
                return self.now;
            }
            let mut to = until.min(self.outcomes.next()).as_ps();
            let is_endless = to > LAST;
            to = to.min(LAST);
            if watched {
                to = to.min(self.sampling.next());
            }
            if self.open > 0 {
                to = to.min(self.patience.next()).min(self.breath.next());
                match self.parts.next() {
                    None => {
                        self.stand_still();
                        continue;
                    }
                    Some(at) if at > LAST && is_endless => return Time::MAX,
                    Some(at) if at <= to => {
                        let complete = self.parts.run(to);
                        if complete {
                            self.now = Time::from_ps(self.parts.now());
                            self.collect();
                        } else if watched && to == self.sampling.next() {
                            self.sampling.look(&mut self.parts, cx.observer);
                        }
                        if !complete && to == self.patience.next() {
                            self.look();
                        }
                        if !complete && to == self.breath.next() {
                            let events = self.parts.totals().events;
                            if self.breath.take(to, events, cx.observer) && !self.outcomes.have_failures() {
                                self.now = Time::from_ps(self.parts.now());
                                return self.now;
                            }
                        }
                        continue;
                    }
                    Some(_) if watched && to == self.sampling.next() => {
                        self.parts.reach(to);
                        self.sampling.look(&mut self.parts, cx.observer);
                        continue;
                    }
                    Some(_) if to == self.patience.next() => {
                        self.parts.reach(to);
                        self.look();
                        continue;
                    }
                    Some(at) if to == self.breath.next() => {
                        let events = self.parts.totals().events;
                        if self.breath.pass(at, events, cx.observer) && !self.outcomes.have_failures() {
                            self.now = self.now.max(Time::from_ps(self.parts.now()));
                            return self.now;
                        }
                        continue;
                    }
                    Some(_) => {}
                }
            }
            self.now = until.min(self.outcomes.next());
            self.outcomes.report_until(self.now, cx);
            return self.now;
        }
    }
}

impl model::Network for PacketNetwork {
    fn draw_by_source(&mut self) {
        self.sent_by = Some(vec![0; self.topology.node_count()]);
    }

    fn check_route(&mut self, src: NodeId, dst: NodeId) -> Result<(), BuildError> {
        if src == dst {
            return Ok(());
        }
        let refuse = |reason| Err(BuildError::new("", reason));
        let Some((from, to)) = self.hosts(src, dst) else { return refuse(self.no_way(src, dst)) };
        for (from, to) in [(from, to), (to, from)] {
            match self.given(from, to, 0) {
                Ok(Some(_)) => {}
                Ok(None) if self.parts.any().routes.lead(from, to) => {}
                Ok(None) => return refuse(self.no_way(src, dst)),
                Err(reason) => return refuse(reason),
            }
        }
        Ok(())
    }

    fn least_duration(&mut self, src: NodeId, dst: NodeId, bytes: u64) -> Duration {
        self.least_between(src, dst, bytes, self.spreads((0, u64::MAX)), false)
    }

    fn least_beside_others(&mut self, src: NodeId, dst: NodeId, bytes: u64) -> Duration {
        self.least_between(src, dst, bytes, self.spreads((0, u64::MAX)), true)
    }

    fn egress_bytes_per_s(&self, node: NodeId) -> f64 {
        let engine = self.parts.any();
        let ports = engine.routes.ports_of(node.0);
        ports.map(|port| engine.ports[port as usize].kind.rate.bytes_per_s()).sum()
    }

    fn failure(&mut self) -> Option<(Token, String)> {
        self.outcomes.failure()
    }

    fn flow(&mut self, token: Token) -> Option<FlowRecord> {
        let number = self.untold.remove(&token)?;
        let mut flow = self.flows[number as usize].clone();
        self.fill_in(&mut flow);
        Some(flow)
    }

    fn look_back(&mut self, now: Time, observer: &mut dyn Observer) {
        self.catch_up(now);
        if self.open == 0 {
            // the last acknowledgement may be on its link yet
            self.parts.reach(self.parts.now().max(now.as_ps()));
        }
        self.sampling.look_back(&mut self.parts, self.open == 0, observer);
    }

    fn report(&mut self, now: Time) -> NetworkReport {
        self.catch_up(now);
        self.parts.note_all();
        let mut report = self.account(now);
        report.flows = std::mem::take(&mut self.flows);
        report.needed = self.parts.any().needed(&report.flows, &self.transports.spec.packets);
        report.flows.iter_mut().for_each(|flow| self.fill_in(flow));
        report.invariants.push(self.check_messages(&report.flows));
        report
    }
}
