//! The flow network: flows come, pay their latency, share links, and go.
//!
//! Work is done only where something changes. A flow whose links nobody else uses has its end date at
//! once (`Solo`) and becomes an ordinary flow when somebody comes. Requests of one instant are solved
//! together. Rates are kept per flow; only flows whose rate changes are brought up to date.

use std::collections::BTreeMap;
use std::sync::Arc;

use stratasim_core::model::{Invariant, NetworkDone, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::observe::{Event, MessageSpan, Observer};
use stratasim_core::queue::GroupedQueue;
use stratasim_core::{BuildError, Cx, Duration, LinkId, Model, NodeId, Time, Token, model};
use stratasim_topo::io::profile::ProfileEvents;
use stratasim_topo::{NodeKind, Routing, Sharing, Topology};

use super::FlowShortcuts;
use super::levels::{ASKED_EVERY, Patience};
use super::lines::{Lines, Stand};
use super::pipeline::Piece;
use super::pipelines::Pipelines;
use super::profiles::{Quantity, link_changes};
use super::routes::{Machine, RouteId, Routes};
use super::rule::{RuleNumbers, done_at, stretch};
use super::system::{NONE, System};
use super::under_way::Carried;
use crate::checks;

/// Bytes per second in bytes per picosecond.
pub(super) const PER_PS: f64 = 1e-12;

/// So many instants at which nothing is done go by before others have a turn, such as who wants to stop the run: rates that change
/// every nanosecond keep it busy for long.
const MOST_ROUNDS: u64 = 1 << 16;
/// With so many uses of links a solve may take long: it waits until it can be asked whether somebody wants to stop the run.
const MANY_USES: usize = 1 << 16;
/// So many messages of a pipeline take as long as one of them, or less.
const MESSAGES_A_ROUND: u64 = 64;

/// Where a flow is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The slot is unused.
    Free,
    /// Paying its latency; takes no bandwidth. Its date is the end of the latency.
    Latency,
    /// Alone on all its resources: its date is its end, unless somebody comes.
    Solo,
    /// Sharing. Its date is its end at the present rates.
    Active,
    /// Sharing one link with one channel of a pipeline, which keeps its account. No date.
    Beside,
}

/// A flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub(super) token: Token,
    pub(super) state: State,
    pub(super) route: RouteId,
    pub(super) bytes: u64,
    /// Bytes left at `last`.
    pub(super) remaining: f64,
    /// Bytes per picosecond since `last`.
    pub(super) rate: f64,
    pub(super) last: Time,
    pub(super) start: Time,
    /// When it begins to take bandwidth.
    pub(super) enabled: Time,
    /// Own limit in bytes per second.
    pub(super) cap: f64,
    /// Payload rate over solver rate.
    pub(super) factor: f64,
    /// The pipeline and member whose message it is.
    pub(super) member: Option<(u32, u32)>,
    /// The connection that it is on, or `NONE`.
    pub(super) line: u32,
}

impl Flow {
    /// Bytes left at `now`, at its rate since its last date.
    pub(super) fn left(&self, now: Time) -> f64 {
        (self.remaining - self.rate * (now - self.last).as_ps() as f64).max(0.0)
    }

    /// Whole bytes that have been carried when `left` are left.
    pub(super) fn carried(&self, left: f64) -> u64 {
        self.bytes - (left.round() as u64).min(self.bytes)
    }
}

/// Who is registered on a resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occupancy {
    /// Flows in any state.
    pub(super) flows: u32,
    /// The flow that is alone here, or `NONE`.
    pub(super) solo: u32,
    /// The pipeline and member whose channel this belongs to (or whose component's flow), or `NONE`.
    pub(super) run: u32,
    pub(super) member: u32,
}

/// A flow-level network.
pub(super) struct FlowNetwork {
    pub(super) topology: Arc<Topology>,
    pub(super) numbers: RuleNumbers,
    pub(super) shortcuts: FlowShortcuts,
    /// From so many uses of links on, solves wait until somebody can be asked; [`MANY_USES`].
    pub(super) many_uses: usize,
    /// Uses that they look at before they ask, [`ASKED_EVERY`].
    pub(super) asked_every: usize,
    /// Whether there are links that only explicit routes know.
    has_detached_links: bool,
    /// Bandwidth and latency factors that do not depend on the size.
    constant_factors: Option<(f64, f64)>,
    /// Events closer than this to the clock happen at the clock (SimGrid's `precision/timing`).
    precision: Duration,
    pub(super) now: Time,
    pub(super) system: System,
    pub(super) routes: Routes,
    pub(super) latency: Vec<Duration>,
    pub(super) ports: Vec<u32>,
    pub(super) loopback: u32,
    pub(super) queue: GroupedQueue,
    pub(super) flows: Vec<Flow>,
    pub(super) free: Vec<u32>,
    /// Connections, where messages of a pair go one after the other.
    pub(super) lines: Option<Lines>,
    pub(super) occupancy: Vec<Occupancy>,
    pub(super) pipelines: Pipelines,
    pub(super) profiles: ProfileEvents<(LinkId, Quantity)>,
    pub(super) link_up: Vec<bool>,
    /// The highest capacity that each link had whose capacity changed.
    pub(super) peaks: BTreeMap<u32, f64>,
    changed: Vec<u32>,
    /// What is to be said at the next advance.
    pub(super) pending: Vec<NetworkDone>,
    /// From when until when observers want the messages of pipelines, and those not told yet.
    pub(super) record: Option<(u64, u64)>,
    pub(super) link_uses: bool,
    /// Messages of pipelines that arrived, not told yet.
    pub(super) spans: Vec<MessageSpan>,
    /// What flows and pipelines have carried, not told yet: on which route, from when until when, how many bytes.
    pub(super) pieces: Vec<Piece>,
    /// Why transfers failed.
    pub(super) failures: Vec<(Token, String)>,
    pub(super) violations: Vec<String>,
    /// What the user is told.
    pub(super) notes: Vec<String>,
    pub(super) counters: Counters,
}

/// What a run cost.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) flows: u64,
    pub(super) solo_flows: u64,
    pub(super) pipeline_messages: u64,
    pub(super) pipeline_windows: u64,
    pub(super) solves: u64,
    pub(super) rate_changes: u64,
    pub(super) events: u64,
    /// Transfers of which it was checked that they took their time.
    checked: u64,
}

impl FlowNetwork {
    /// A network on `topology` that takes routes from `routing`.
    pub(super) fn new(
        topology: Arc<Topology>,
        routing: Box<dyn Routing>,
        numbers: RuleNumbers,
        shortcuts: FlowShortcuts,
        precision: Duration,
        in_order: bool,
    ) -> Self {
        let mut system = System { snap: numbers.snap, ..System::default() };
        let memories = (0..topology.node_count())
            .filter(|&node| matches!(topology.kind(NodeId::from_index(node)), NodeKind::Memory(_)));
        system.resources.reserve_exact(topology.link_count() + memories.count() + 1);
        for link in topology.links() {
            system.add_resource(link.bandwidth.bytes_per_s(), link.sharing);
        }
        let mut ports = vec![NONE; topology.node_count()];
        for (index, port) in ports.iter_mut().enumerate() {
            let node = NodeId::from_index(index);
            if let NodeKind::Memory(_) = topology.kind(node)
                && let Some(rate) = topology.memory_type(node).and_then(|memory| memory.bandwidth)
            {
                *port = system.add_resource(rate.bytes_per_s(), Sharing::Shared);
            }
        }
        // with cm02 the loopback is a link like others, one for all nodes
        let loopback = match numbers.weight_s_bytes {
            Some(_) => system.add_resource(numbers.loopback_bandwidth, Sharing::FatPipe),
            None => NONE,
        };
        let resources = system.resources.len();
        Self {
            latency: topology.links().iter().map(|link| link.latency).collect(),
            routes: Routes::new(routing, topology.node_count()),
            profiles: link_changes(&topology),
            link_up: vec![true; topology.link_count()],
            has_detached_links: topology.links().iter().any(|link| link.ends.is_none()),
            topology,
            constant_factors: numbers.constant_factors(),
            numbers,
            shortcuts,
            many_uses: MANY_USES,
            asked_every: ASKED_EVERY,
            precision,
            now: Time::ZERO,
            system,
            ports,
            loopback,
            queue: GroupedQueue::new(),
            flows: Vec::new(),
            free: Vec::new(),
            lines: in_order.then(Lines::default),
            occupancy: vec![Occupancy { flows: 0, solo: NONE, run: NONE, member: NONE }; resources],
            pipelines: Pipelines::default(),
            peaks: BTreeMap::new(),
            changed: Vec::new(),
            pending: Vec::new(),
            // nobody knows yet who watches
            record: Some((0, u64::MAX)),
            link_uses: true,
            spans: Vec::new(),
            pieces: Vec::new(),
            failures: Vec::new(),
            violations: Vec::new(),
            notes: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// The route of a transfer.
    pub(super) fn route(
        &mut self,
        src: NodeId,
        dst: NodeId,
        key: u64,
    ) -> Result<RouteId, stratasim_topo::RouteError> {
        if self.routes.are_many() {
            self.forget_routes();
        }
        let machine = Machine {
            numbers: &self.numbers,
            latency: &self.latency,
            system: &self.system,
            loopback: self.loopback,
            ports: &self.ports,
        };
        self.routes.find(src, dst, key, &machine)
    }

    /// Forgets the routes that no flow and no channel takes: machines have many more pairs than messages under way.
    #[cold]
    fn forget_routes(&mut self) {
        self.gather_pieces();
        let mut taken = vec![false; self.routes.routes.len()];
        let mut each = |route: &mut RouteId| taken[*route as usize] = true;
        self.each_route(&mut each);
        let renamed = self.routes.forget(&taken);
        self.each_route(&mut |route| *route = renamed[*route as usize]);
    }

    /// Shows all numbers of routes that it has.
    fn each_route(&mut self, show: &mut dyn FnMut(&mut RouteId)) {
        let flows = self.flows.iter_mut().filter(|flow| flow.state != State::Free);
        flows.for_each(|flow| show(&mut flow.route));
        self.pieces.iter_mut().for_each(|(route, ..)| show(route));
        for run in self.pipelines.runs.iter_mut().flatten() {
            run.each_route(show);
        }
    }

    /// Starts a transfer on its way, or lets it wait for those before it.
    fn transfer(&mut self, transfer: &Transfer) {
        let now = self.now;
        let line = match &mut self.lines {
            None => NONE,
            Some(lines) => match lines.enter(transfer, now) {
                Some(line) => line,
                None => return,
            },
        };
        self.start(transfer, (line, now));
    }

    /// Starts a transfer on its way; it stands there for some time.
    pub(super) fn start(&mut self, transfer: &Transfer, stand: Stand) {
        if let Err(reason) = self.try_start(transfer, stand) {
            if let Some(lines) = &mut self.lines {
                lines.leave(stand.0);
            }
            self.refuse(transfer.token, reason);
        }
    }

    fn try_start(&mut self, transfer: &Transfer, stand: Stand) -> Result<(), String> {
        let route = self.route(transfer.src, transfer.dst, transfer.token.0);
        let route = route.map_err(|error| error.to_string())?;
        if let Some(link) = self.routes.links(route).iter().find(|link| !self.link_up[link.index()]) {
            return Err(format!("link {} is down", self.topology.link_name(*link)));
        }
        let cap = transfer.rate_cap.map_or(f64::INFINITY, |cap| cap.bytes_per_s());
        self.start_flow(transfer.token, None, route, transfer.bytes, cap, stand);
        Ok(())
    }

    /// Bandwidth and latency factors of a message.
    #[inline]
    pub(super) fn factors(&self, bytes: u64) -> (f64, f64) {
        match self.constant_factors {
            Some(factors) => factors,
            None => (self.numbers.bandwidth_factor.of(bytes), self.numbers.latency_factor.of(bytes)),
        }
    }

    /// How much more than its rate a link can carry, by the largest bandwidth factor; at least 1.
    fn payload_factor(&self) -> f64 {
        self.numbers.bandwidth_factor.largest().max(1.0)
    }

    /// Remembers that a transfer cannot start.
    pub(super) fn refuse(&mut self, token: Token, reason: String) {
        self.pending.push(NetworkDone::Failed(token));
        self.failures.push((token, reason));
    }

    /// Creates a flow on `route`.
    pub(super) fn start_flow(
        &mut self,
        token: Token,
        member: Option<(u32, u32)>,
        route: RouteId,
        bytes: u64,
        cap: f64,
        (line, start): Stand,
    ) -> u32 {
        self.counters.flows += 1;
        let (factor, stretched) = self.factors(bytes);
        let info = self.routes.get(route);
        let delay = stretch(info.latency, stretched);
        let enabled = (start + delay).max(self.now);
        let solo = bytes > 0 && self.finds_nobody(route);
        let cap = if cap == f64::INFINITY { info.bound } else { info.bound.min(cap / factor) };
        let mut flow = Flow {
            token,
            state: State::Latency,
            route,
            bytes,
            remaining: bytes as f64,
            rate: 0.0,
            last: enabled,
            start,
            enabled,
            cap,
            factor,
            member,
            line,
        };
        if solo {
            let rate = if cap == info.bound { info.alone } else { self.routes.alone_rate(route, cap) };
            flow.state = State::Solo;
            flow.rate = rate * factor * PER_PS;
            let end = done_at(enabled, flow.remaining, flow.rate);
            let slot = self.take_slot(flow);
            for &(resource, _) in self.routes.uses(route) {
                let occupancy = &mut self.occupancy[resource as usize];
                (occupancy.flows, occupancy.solo) = (1, slot);
            }
            self.counters.solo_flows += 1;
            self.queue.set(slot, end);
            return slot;
        }
        let slot = self.take_slot(flow);
        self.register(route);
        if enabled == self.now && self.takes_bandwidth(bytes) {
            self.enable(slot);
        } else {
            self.queue.set(slot, enabled);
        }
        slot
    }

    /// Whether a flow on `route` would be alone, and may have its end date at once.
    #[inline]
    fn finds_nobody(&self, route: RouteId) -> bool {
        let nobody = |&(resource, _): &(u32, f64)| {
            let occupancy = &self.occupancy[resource as usize];
            occupancy.flows == 0 && occupancy.run == NONE
        };
        self.shortcuts.solo_flows
            && self.precision == Duration::ZERO
            && self.routes.uses(route).iter().all(nobody)
    }

    /// Whether a message of `bytes` takes part in the sharing. An empty one need not, but with a
    /// timing precision its end is an event of its own, which others may be merged with.
    fn takes_bandwidth(&self, bytes: u64) -> bool {
        bytes > 0 || self.precision > Duration::ZERO
    }

    /// A slot for a new flow.
    #[inline]
    pub(super) fn take_slot(&mut self, flow: Flow) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.flows[slot as usize] = flow;
                slot
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        }
    }

    /// Enters a flow on its resources. Flows that were alone on one of them are from now on ordinary
    /// flows.
    pub(super) fn register(&mut self, route: RouteId) {
        for index in 0..self.routes.uses(route).len() {
            let resource = self.routes.uses(route)[index].0 as usize;
            let occupancy = &mut self.occupancy[resource];
            occupancy.flows += 1;
            let solo = occupancy.solo;
            if solo != NONE {
                self.wake_solo(solo);
            }
        }
    }

    /// Takes a flow off its resources.
    fn deregister(&mut self, route: RouteId) {
        for &(resource, _) in self.routes.uses(route) {
            let occupancy = &mut self.occupancy[resource as usize];
            occupancy.flows -= 1;
            occupancy.solo = NONE;
        }
    }

    /// Makes an ordinary flow of one that was alone.
    pub(super) fn wake_solo(&mut self, slot: u32) {
        let flow = self.flows[slot as usize];
        debug_assert_eq!(flow.state, State::Solo);
        for &(resource, _) in self.routes.uses(flow.route) {
            self.occupancy[resource as usize].solo = NONE;
        }
        if self.now < flow.enabled {
            let state = &mut self.flows[slot as usize];
            state.state = State::Latency;
            state.rate = 0.0;
            self.queue.set(slot, flow.enabled);
        } else {
            // its rate and date hold until the next solve says otherwise
            self.flows[slot as usize].state = State::Active;
            self.share(slot);
        }
    }

    /// A flow has paid its latency.
    pub(super) fn enable(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        flow.state = State::Active;
        flow.enabled = self.now;
        flow.last = self.now;
        self.share(slot);
        if self.pipelines.is_busy() {
            self.meet_channels(slot);
        }
    }

    /// Lets an active flow take part in the sharing.
    pub(super) fn share(&mut self, slot: u32) {
        let Flow { route, cap, .. } = self.flows[slot as usize];
        let info = self.routes.get(route);
        self.system.enable(slot, self.routes.uses(route), info.penalty, cap);
    }

    /// Whether the solve that is due may take long.
    ///
    /// With a timing precision none waits: what is due soon after the instant that was announced happens at it.
    fn solves_long(&self) -> bool {
        self.system.uses() >= self.many_uses && self.precision == Duration::ZERO && self.system.is_dirty()
    }

    /// Solves what changed and brings the flows with a new rate up to date; false, and all rates as they were, where it takes
    /// long and does not go on.
    fn solve(&mut self, goes_on: &mut dyn FnMut() -> bool) -> bool {
        if !self.system.is_dirty() {
            return true;
        }
        self.counters.solves += 1;
        let mut changed = std::mem::take(&mut self.changed);
        let patience = &mut Patience::new(self.asked_every, goes_on);
        let is_solved = match self.shortcuts.local_solve {
            true => self.system.solve(&mut changed, patience),
            false => self.system.solve_all(&mut changed, patience),
        };
        for slot in changed.drain(..) {
            let flow = &self.flows[slot as usize];
            let rate = self.system.rate(slot) * flow.factor * PER_PS;
            if rate == flow.rate {
                continue;
            }
            self.counters.rate_changes += 1;
            self.reach(slot, flow.left(self.now));
            let flow = &mut self.flows[slot as usize];
            flow.rate = rate;
            if rate > 0.0 {
                self.queue.set(slot, done_at(self.now, flow.remaining, rate));
            } else {
                self.queue.remove(slot);
            }
        }
        self.changed = changed;
        is_solved
    }

    /// A flow has `remaining` bytes left now. What it has carried since its last date is noted for observers.
    pub(super) fn reach(&mut self, slot: u32, remaining: f64) {
        let flow = &mut self.flows[slot as usize];
        if self.link_uses {
            let bytes = flow.carried(remaining).saturating_sub(flow.carried(flow.remaining));
            if bytes > 0 {
                self.pieces.push((flow.route, flow.last.min(self.now), self.now, bytes));
            }
        }
        flow.remaining = remaining;
        flow.last = self.now;
    }

    /// The date of a flow has come.
    fn flow_event(&mut self, slot: u32, cx: &mut Cx<'_, NetworkDone>) {
        self.counters.events += 1;
        let flow = self.flows[slot as usize];
        match flow.state {
            State::Latency if self.takes_bandwidth(flow.bytes) => self.enable(slot),
            State::Latency | State::Solo | State::Active => {
                self.finish(slot, cx);
            }
            State::Free | State::Beside => unreachable!("it has no date"),
        }
    }

    /// A flow has arrived.
    pub(super) fn finish(&mut self, slot: u32, cx: &mut Cx<'_, NetworkDone>) {
        let flow = self.flows[slot as usize];
        match flow.state {
            State::Active => {
                self.check_speed(&flow);
                self.system.disable(slot);
            }
            State::Beside => self.check_speed(&flow),
            // its date was worked out from its latency and serialization
            _ => {}
        }
        self.reach(slot, 0.0);
        self.release(slot);
        // what the members of a pipeline carry is counted when they are over
        if flow.member.is_none() {
            self.routes.routes[flow.route as usize].carried += flow.bytes as f64;
        }
        match flow.member {
            None => cx.done.push(NetworkDone::Delivered(flow.token)),
            Some((run, member)) => self.slow_message_arrived(run, member),
        }
    }

    /// Gives the slot of a flow back.
    pub(super) fn release(&mut self, slot: u32) {
        self.deregister(self.flows[slot as usize].route);
        if let Some(lines) = &mut self.lines {
            lines.leave(self.flows[slot as usize].line);
        }
        self.flows[slot as usize].state = State::Free;
        self.free.push(slot);
    }

    /// No transfer beats its latency and its serialization at the rate it could have alone.
    fn check_speed(&mut self, flow: &Flow) {
        if !self.profiles.is_empty() {
            return; // rates and latencies changed under way: the bound of the end does not hold
        }
        self.counters.checked += 1;
        let took = (self.now - flow.start).as_ps() + self.precision.as_ps() * 2 + 1;
        let rate = self.routes.alone_rate(flow.route, flow.cap) * flow.factor * PER_PS;
        let (_, stretched) = self.factors(flow.bytes);
        let delay = stretch(self.routes.get(flow.route).latency, stretched).as_ps();
        let floor = delay as f64 + flow.bytes as f64 / rate;
        if (took as f64) < floor * (1.0 - 1e-12) - 1.0 && self.violations.len() < checks::NAMED {
            self.violations.push(format!(
                "a transfer of {} bytes over {} took {} ps, its latency and serialization alone take {floor:.0} ps",
                flow.bytes,
                self.describe_route(flow.route),
                took
            ));
        }
    }

    /// The links of a route by name.
    pub(super) fn describe_route(&self, route: RouteId) -> String {
        let names: Vec<_> =
            self.routes.links(route).iter().map(|&link| self.topology.link_name(link)).collect();
        names.join(", ")
    }

    /// Applies the profile events up to this instant; of flows that fail it tells `done`.
    fn profile_events(&mut self, done: &mut Vec<NetworkDone>) {
        let mut changed = Vec::new();
        while let Some((what, value)) = self.profiles.pop_due(self.now) {
            self.apply(what, value, done);
            // routes do not know whether their links are up
            if what.1 != Quantity::State {
                changed.push(what.0.0);
            }
        }
        if !changed.is_empty() {
            changed.sort_unstable();
            changed.dedup();
            self.refresh_routes(&changed);
        }
    }

    /// Whether messages are on their way.
    pub(super) fn is_busy(&self) -> bool {
        self.flows.len() > self.free.len()
    }

    /// The next instant at which something happens by itself.
    fn next_date(&self) -> Option<Time> {
        let flows = self.queue.peek().map(|(at, _)| at);
        // without flows, profiles do not keep a run going
        let profiles = if self.is_busy() { self.profiles.next_at() } else { None };
        [flows, profiles, self.pipelines.bound()].into_iter().flatten().min()
    }
}

impl Model for FlowNetwork {
    type Request = NetworkRequest;
    type Done = NetworkDone;

    fn submit(&mut self, now: Time, request: NetworkRequest) {
        debug_assert!(now >= self.now, "requests come in time order");
        self.now = now;
        if !self.profiles.is_empty() && !self.is_busy() {
            // what has changed since the last message, which none can fail of
            self.profiles.skip_periods(now);
            self.profile_events(&mut Vec::new());
        }
        match request {
            NetworkRequest::Transfer(transfer) => self.transfer(&transfer),
            NetworkRequest::OpenPipeline { token, pipeline } => self.open_pipeline(token, pipeline),
            NetworkRequest::JoinPipeline { token, member } => self.join_pipeline(token, member),
            _ => unreachable!("every request is handled"),
        }
    }

    fn next_event(&mut self) -> Option<Time> {
        if !self.pending.is_empty() || self.lines.as_ref().is_some_and(Lines::is_due) {
            return Some(self.now);
        }
        if self.solves_long() {
            // not before, and `advance` knows whom to ask
            return Some(self.now);
        }
        self.solve(&mut || true);
        self.pipelines.refresh();
        self.next_date().map(|at| at.max(self.now))
    }

    fn advance(&mut self, until: Time, cx: &mut Cx<'_, NetworkDone>) -> Time {
        debug_assert!(until >= self.now);
        self.link_uses = self.watch(cx);
        // with a timing precision, what is due soon after `until` counts as due now, but not what
        // this brings about: other models have their turn first
        let merges = self.precision > Duration::ZERO;
        let mut rounds = 0;
        loop {
            self.go_on_lines();
            if !self.pending.is_empty() {
                cx.done.append(&mut self.pending);
                return self.now;
            }
            let now = self.now;
            let mut goes_on = || {
                cx.observer.on_event(&Event::Clock { at: now });
                !cx.observer.wants_stop()
            };
            if !self.solve(&mut goes_on) {
                return now;
            }
            self.pipelines.refresh();
            match self.next_date() {
                // what is due at the end of time never ends
                Some(at)
                    if at < Time::MAX && (at <= until || merges && at.is_within(self.precision, until)) =>
                {
                    self.now = self.now.max(at.min(until))
                }
                _ => {
                    self.now = until;
                    return until;
                }
            }
            rounds += self.advance_pipelines(cx) / MESSAGES_A_ROUND;
            self.profile_events(cx.done);
            while let Some((at, slot)) = self.queue.peek() {
                if at > self.now && !at.is_within(self.precision, self.now) {
                    break;
                }
                self.queue.pop();
                self.flow_event(slot, cx);
            }
            cx.done.append(&mut self.pending);
            if !self.spans.is_empty() || !self.pieces.is_empty() {
                self.tell(cx);
            }
            rounds += 1;
            if merges || !cx.done.is_empty() || rounds >= MOST_ROUNDS {
                return self.now;
            }
        }
    }
}

impl model::Network for FlowNetwork {
    fn runs_pipelines(&self) -> bool {
        // a timing precision moves messages together that are not at the same instant, and others may be before one
        self.shortcuts.pipelines
            && self.lines.is_none()
            && self.precision == Duration::ZERO
            && self.profiles.is_empty()
            && self.constant_factors.is_some()
    }

    fn start_anew(&mut self) -> bool {
        self.forget_run()
    }

    fn check_route(&mut self, src: NodeId, dst: NodeId) -> Result<(), BuildError> {
        self.route(src, dst, 0).map(|_| ()).map_err(|error| BuildError::new("", error.to_string()))
    }

    fn least_duration(&mut self, src: NodeId, dst: NodeId, bytes: u64) -> Duration {
        let Ok(route) = self.route(src, dst, 0) else { return Duration::ZERO };
        let info = self.routes.get(route);
        let delay = stretch(info.latency, self.numbers.latency_factor.of(bytes));
        let rate =
            self.routes.alone_rate(route, info.bound) * self.numbers.bandwidth_factor.of(bytes) * PER_PS;
        delay + Duration::from_ps((bytes as f64 / rate) as u64)
    }

    fn egress_bytes_per_s(&self, node: NodeId) -> f64 {
        // routes may start on links that only they know
        if self.has_detached_links || !self.profiles.is_empty() {
            return f64::INFINITY;
        }
        let links: f64 = (self.topology.ports(node).iter())
            .map(|port| self.topology.link(port.link))
            .map(|link| match link.sharing {
                Sharing::Shared => link.bandwidth.bytes_per_s(),
                Sharing::FatPipe => f64::INFINITY,
            })
            .sum();
        links * self.payload_factor()
    }

    fn failure(&mut self) -> Option<(Token, String)> {
        self.failures.pop()
    }

    fn look_back(&mut self, now: Time, observer: &mut dyn Observer) {
        self.tell_under_way(now, observer);
    }

    fn report(&mut self, now: Time) -> NetworkReport {
        let mut link_bytes = vec![0.0; self.topology.link_count()];
        self.routes.add_carried(&mut link_bytes);
        for Carried { route, bytes, .. } in self.under_way(now) {
            for link in self.routes.links(route) {
                link_bytes[link.index()] += bytes as f64;
            }
        }
        // at the highest rate that the link had, and that its payload can have there
        let factor = self.payload_factor();
        let full = |index: usize| {
            let capacity = self.system.resources[index].capacity;
            self.peaks.get(&(index as u32)).copied().unwrap_or(capacity) * factor
        };
        let link_busy_s: Vec<f64> =
            link_bytes.iter().enumerate().map(|(index, bytes)| bytes / full(index)).collect();
        // rounding, and what every transfer may end early with a timing precision
        let slack_s = 2e-9 + self.precision.as_secs_f64() * self.counters.flows as f64;
        let mut invariants = vec![Invariant {
            name: Invariant::TRANSFERS,
            checked: self.counters.checked,
            violations: std::mem::take(&mut self.violations),
        }];
        // more than that is given on purpose otherwise
        if self.numbers.snap == 0.0 {
            invariants.push(checks::links(&self.topology, &link_bytes, &link_busy_s, now, |_| slack_s));
        }
        let counters = &self.counters;
        NetworkReport {
            link_bytes,
            link_busy_s,
            invariants,
            memory_rates: Some(self.payload_factor()),
            counters: vec![
                ("network.flows", counters.flows),
                ("network.flows_alone", counters.solo_flows),
                ("network.pipeline_messages", counters.pipeline_messages),
                ("network.pipeline_windows", counters.pipeline_windows),
                ("network.events", counters.events),
                ("network.solves", counters.solves),
                ("network.rate_changes", counters.rate_changes),
                ("network.resources_recomputed", self.system.solver.recomputed),
            ],
            notes: self.notes.clone(),
            ..NetworkReport::default()
        }
    }
}
