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
use stratasim_core::{BuildError, Cx, Duration, LinkId, Model, NodeId, Slots, Time, Token, model};
use stratasim_topo::io::profile::ProfileEvents;
use stratasim_topo::{NodeKind, Routing, Sharing, Topology};

use super::FlowShortcuts;
use super::levels::{ASKED_EVERY, Patience};
use super::life::{Flow, State};
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
    pub(super) precision: Duration,
    pub(super) now: Time,
    pub(super) system: System,
    pub(super) routes: Routes,
    pub(super) latency: Vec<Duration>,
    pub(super) ports: Vec<u32>,
    pub(super) loopback: u32,
    pub(super) queue: GroupedQueue,
    pub(super) flows: Slots<Flow>,
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
    pub(super) checked: u64,
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
            flows: Slots::default(),
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
            let flow = &self.flows[slot];
            let rate = self.system.rate(slot) * flow.factor * PER_PS;
            if rate == flow.rate {
                continue;
            }
            self.counters.rate_changes += 1;
            self.reach(slot, flow.left(self.now));
            let flow = &mut self.flows[slot];
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
        !self.flows.is_empty()
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
