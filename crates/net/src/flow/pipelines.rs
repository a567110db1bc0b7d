//! Pipelines inside the flow network: who owns which channel, and what happens when flows meet them.

use std::sync::Arc;

use stratasim_core::model::{NetworkDone, Pipeline};
use stratasim_core::observe::{Event, MessageSpan, Observer};
use stratasim_core::water_level::water_level;
use stratasim_core::{Cx, Time, Token};

use super::life::{Flow, State};
use super::network::{FlowNetwork, PER_PS};
use super::pipeline::{Channel, Component, Doing, NEVER, Outcome, Piece, Run, UnderWay};
use super::routes::RouteId;
use super::rule::stretch;
use super::system::NONE;

/// A member whose messages take longer than this, one after another and alone, is refused: 13 days of
/// the 213 that can be told, so that dates stay apart from the end of time.
const LONGEST_PS: f64 = (1_u64 << 60) as f64;

/// All pipelines under way.
#[derive(Debug, Default)]
pub(super) struct Pipelines {
    pub(super) runs: Vec<Option<Run>>,
    /// Finished runs, to be used again.
    spare: Vec<Run>,
    busy: u32,
    /// Bound of each run; `NEVER` for an empty slot.
    bounds: Vec<u64>,
    /// Runs whose bound is out of date.
    stale: Vec<u32>,
}

impl Pipelines {
    /// Whether there was ever one.
    pub(super) fn have_run(&self) -> bool {
        !self.runs.is_empty()
    }

    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.busy > 0
    }

    /// The earliest instant at which a pipeline may have something to say.
    #[inline]
    pub(super) fn bound(&self) -> Option<Time> {
        let first = self.bounds.iter().copied().min().unwrap_or(NEVER);
        (first != NEVER).then(|| Time::from_ps(first))
    }

    fn find(&self, token: Token) -> u32 {
        let at = self.runs.iter().position(|run| run.as_ref().is_some_and(|run| run.token == token));
        at.expect("members join pipelines that were opened") as u32
    }

    fn run(&mut self, slot: u32) -> &mut Run {
        self.runs[slot as usize].as_mut().expect("the pipeline is under way")
    }

    /// A component of a run whose foreign flow ends at `at` at the latest; none when the run is over.
    fn ended(&self, slot: u32, at: u64) -> Option<u32> {
        self.runs[slot as usize].as_ref()?.ended(at)
    }

    /// The oldest outcome that is not settled; none when the run is over.
    fn next_outcome(&mut self, slot: u32) -> Option<Outcome> {
        self.runs[slot as usize].as_mut()?.outcomes.pop_front()
    }

    /// The bound of a run is out of date.
    fn touch(&mut self, slot: u32) {
        if self.stale.last() != Some(&slot) {
            self.stale.push(slot);
        }
    }

    /// Brings all bounds up to date: once per instant, however many members joined.
    #[inline]
    pub(super) fn refresh(&mut self) {
        while let Some(slot) = self.stale.pop() {
            if let Some(run) = &self.runs[slot as usize] {
                self.bounds[slot as usize] = run.bound();
            }
        }
    }
}

impl FlowNetwork {
    pub(super) fn open_pipeline(&mut self, token: Token, pipeline: Arc<Pipeline>) {
        let now = self.now.as_ps();
        let same = |run: &Run| Arc::ptr_eq(&run.pipeline, &pipeline);
        let mut run = match self.pipelines.spare.iter().position(same) {
            Some(at) => {
                let mut run = self.pipelines.spare.swap_remove(at);
                run.reset(token, now);
                run
            }
            None => Run::new(token, pipeline, now),
        };
        run.record = self.record;
        self.pipelines.busy += 1;
        match self.pipelines.runs.iter().position(Option::is_none) {
            Some(free) => self.pipelines.runs[free] = Some(run),
            None => {
                self.pipelines.runs.push(Some(run));
                self.pipelines.bounds.push(NEVER);
            }
        }
    }

    pub(super) fn join_pipeline(&mut self, token: Token, member: u32) {
        let slot = self.pipelines.find(token);
        let [from, to] = self.pipelines.run(slot).pipeline.ends(member);
        let route = match self.route(from.node, to.node, token.0) {
            Ok(route) => route,
            Err(error) => return self.refuse(token, error.to_string()),
        };
        let info = self.routes.get(route);
        let (latency, factor) = (info.latency, self.numbers.bandwidth_factor.of(1));
        let latency = stretch(latency, self.numbers.latency_factor.of(1));
        let rate = self.routes.alone_rate(route, info.bound) * factor * PER_PS;
        let now = self.now.as_ps();
        let run = self.pipelines.run(slot);
        let alone_ps = latency.as_ps() as f64 + run.pipeline.chunk_bytes as f64 / rate;
        if alone_ps * f64::from(run.pipeline.steps) > LONGEST_PS
            || now as f64 > u64::MAX as f64 - 2.0 * LONGEST_PS
        {
            return self.refuse(token, "its messages take longer than can be simulated".to_owned());
        }
        // what is refused holds no channel
        let mut met = Vec::new();
        let channel = self.acquire(slot, member, route, &mut met);
        let run = self.pipelines.run(slot);
        run.members[member as usize].channel = channel;
        if channel == Channel::Slow {
            run.slow += 1;
        }
        run.join(member, route, latency, rate, now);
        self.classify(slot, member);
        self.settle_run(slot);
        for run in met {
            self.settle_run(run);
        }
    }

    /// Takes possession of a member's channel. A channel that meets another one is slow, and so is
    /// the other; other runs so met have outcomes to be settled.
    fn acquire(&mut self, slot: u32, member: u32, route: RouteId, met: &mut Vec<u32>) -> Channel {
        let mut channel = Channel::Cold;
        for index in 0..self.routes.uses(route).len() {
            let resource = self.routes.uses(route)[index].0 as usize;
            let solo = self.occupancy[resource].solo;
            if solo != NONE {
                self.wake_solo(solo);
            }
            let occupancy = &mut self.occupancy[resource];
            if occupancy.run == NONE {
                (occupancy.run, occupancy.member) = (slot, member);
            } else if (occupancy.run, occupancy.member) != (slot, member) {
                channel = Channel::Slow;
                let (run, other) = (occupancy.run, occupancy.member);
                self.catch_up(run);
                self.slow_down(run, other);
                if run != slot && !met.contains(&run) {
                    met.push(run);
                }
            }
        }
        channel
    }

    /// Gives up what a member's channel possesses.
    fn give_up(&mut self, slot: u32, member: u32) {
        let route = self.pipelines.run(slot).routes[member as usize].route;
        for &(resource, _) in self.routes.uses(route) {
            let occupancy = &mut self.occupancy[resource as usize];
            if (occupancy.run, occupancy.member) == (slot, member) {
                (occupancy.run, occupancy.member) = (NONE, NONE);
            }
        }
    }

    /// An active flow meets the channels on its way, now.
    pub(super) fn meet_channels(&mut self, flow: u32) {
        let route = self.flows[flow].route;
        let mut met: Vec<(u32, u32)> = Vec::new();
        for &(resource, _) in self.routes.uses(route) {
            let occupancy = &self.occupancy[resource as usize];
            let owner = (occupancy.run, occupancy.member);
            if owner.0 != NONE && !met.contains(&owner) && self.flows[flow].member != Some(owner) {
                met.push(owner);
            }
        }
        for &(slot, member) in &met {
            // what was settled for the one before may have been the end of this one
            let is_there = |&(resource, _): &(u32, f64)| {
                let occupancy = &self.occupancy[resource as usize];
                (occupancy.run, occupancy.member) == (slot, member)
            };
            if !self.routes.uses(route).iter().any(is_there) {
                continue;
            }
            self.catch_up(slot);
            if met.len() > 1 {
                self.slow_down(slot, member);
            } else {
                self.classify(slot, member);
            }
            self.settle_run(slot);
        }
    }

    /// Works a pipeline off until now. By its bound nobody outside notices anything.
    fn catch_up(&mut self, slot: u32) {
        let now = self.now.as_ps();
        let run = self.pipelines.run(slot);
        if run.time < now {
            run.run_to(now);
        }
    }

    /// Decides how a member's messages travel from now on, by who else uses its channel.
    fn classify(&mut self, slot: u32, member: u32) {
        let route = self.pipelines.run(slot).routes[member as usize].route;
        match self.pipelines.run(slot).members[member as usize].channel {
            Channel::Slow => return,
            // a component ends when another flow comes
            Channel::Hot(component) => self.dissolve(slot, component),
            Channel::Cold => {}
        }
        let mut foreign = NONE;
        let mut shared = NONE;
        let mut simple = true;
        for &(resource, _) in self.routes.uses(route) {
            for user in self.system.users_of(resource) {
                simple &= foreign == NONE;
                (foreign, shared) = (user.flow, resource);
            }
        }
        if foreign == NONE {
            return;
        }
        simple &= self.numbers.snap == 0.0;
        let other = self.flows[foreign].route;
        for &(resource, _) in self.routes.uses(other) {
            let alone = self.system.users_of(resource).len() == 1;
            let occupancy = &self.occupancy[resource as usize];
            let unowned = occupancy.run == NONE || resource == shared;
            simple &= alone && unowned;
        }
        if simple { self.heat(slot, member, foreign, shared) } else { self.slow_down(slot, member) }
    }

    /// Makes a component of a channel and the only flow on it, which share `resource`.
    fn heat(&mut self, slot: u32, member: u32, flow: u32, resource: u32) {
        let now = self.now;
        let state = &self.flows[flow];
        if now > state.last {
            self.reach(flow, state.left(now));
        }
        let state = &mut self.flows[flow];
        let Flow { route, cap, factor, remaining, .. } = *state;
        state.state = State::Beside;
        self.queue.remove(flow);
        self.system.disable(flow);
        let own_route = self.pipelines.run(slot).routes[member as usize].route;
        let own_cap = self.routes.get(own_route).bound;
        let (own_share, own_offer, own_penalty) = self.offer(own_route, own_cap, resource);
        let (share, offer, penalty) = self.offer(route, cap, resource);
        let capacity = self.system.capacity(resource);
        let level = water_level(capacity, own_share + share, &[(own_share, own_offer), (share, offer)], 0.0);
        let own_factor = self.numbers.bandwidth_factor.of(1);
        let component = Component {
            member,
            flow,
            route,
            remaining,
            last: now.as_ps(),
            rate_beside: offer.min(level) / penalty * factor * PER_PS,
            rate_alone: self.routes.alone_rate(route, cap) * factor * PER_PS,
            channel_rate: own_offer.min(level) / own_penalty * own_factor * PER_PS,
        };
        // whoever comes to the flow's other links meets the channel
        for &(resource, _) in self.routes.uses(route) {
            let occupancy = &mut self.occupancy[resource as usize];
            if occupancy.run == NONE {
                (occupancy.run, occupancy.member) = (slot, member);
            }
        }
        self.pipelines.run(slot).heat(component, now.as_ps());
    }

    /// Share on `resource`, level elsewhere, and penalty of a flow on `route` with `cap`: the
    /// same floating-point operations as in the solver.
    fn offer(&self, route: RouteId, cap: f64, resource: u32) -> (f64, f64, f64) {
        let penalty = self.routes.get(route).penalty;
        let (mut share, mut offer) = (0.0, cap * penalty);
        for &(used, weight) in self.routes.uses(route) {
            offer = offer.min(self.system.capacity(used) / (weight / penalty));
            if used == resource {
                share = weight / penalty;
            }
        }
        (share, offer, penalty)
    }

    /// Ends a component: its flow is an ordinary one again, its channel cold.
    fn dissolve(&mut self, slot: u32, component: u32) {
        let Component { flow, member, .. } = self.cool(slot, component);
        let state = &mut self.flows[flow];
        state.state = State::Active;
        state.rate = 0.0; // its date is set by the next solve
        debug_assert!(self.pipelines.run(slot).members[member as usize].channel == Channel::Cold);
        self.share(flow);
    }

    /// Takes a component apart. The flow's links are not the channel's any more.
    fn cool(&mut self, slot: u32, component: u32) -> Component {
        let now = self.now.as_ps();
        let component = self.pipelines.run(slot).cool(component, now);
        // observers are told of what it has carried
        let flow = &mut self.flows[component.flow];
        (flow.remaining, flow.last) = (component.remaining, self.now);
        let own = self.pipelines.run(slot).routes[component.member as usize].route;
        for index in 0..self.routes.uses(self.flows[component.flow].route).len() {
            let resource = self.routes.uses(self.flows[component.flow].route)[index].0;
            let is_own = self.routes.uses(own).iter().any(|(used, _)| *used == resource);
            let occupancy = &mut self.occupancy[resource as usize];
            if !is_own && (occupancy.run, occupancy.member) == (slot, component.member) {
                (occupancy.run, occupancy.member) = (NONE, NONE);
            }
        }
        component
    }

    /// Each message of a member is a flow of its own from now on, the one under way included.
    fn slow_down(&mut self, slot: u32, member: u32) {
        match self.pipelines.run(slot).members[member as usize].channel {
            Channel::Slow => return,
            Channel::Hot(component) => self.dissolve(slot, component),
            Channel::Cold => {}
        }
        let now = self.now.as_ps();
        let run = self.pipelines.run(slot);
        if !run.slow_down(member, now) {
            return;
        }
        let bytes = run.bytes(member);
        let token = run.token;
        let route = run.routes[member as usize].route;
        let UnderWay { sent, from, remaining } = run.under_way(member as usize);
        let from = Time::from_ps(from);
        let in_latency = from > self.now;
        // `from` moves when a foreign flow leaves the channel; the message had its latency paid before
        let enabled = from.min(Time::from_ps(sent + run.routes[member as usize].latency));
        let flow = Flow {
            token,
            state: if in_latency { State::Latency } else { State::Active },
            route,
            bytes,
            remaining,
            rate: 0.0,
            last: from,
            start: Time::from_ps(sent),
            enabled,
            cap: self.routes.get(route).bound,
            factor: self.numbers.bandwidth_factor.of(1),
            member: Some((slot, member)),
            line: NONE,
        };
        let flow = self.flows.insert(flow);
        self.register(route);
        if in_latency { self.queue.set(flow, from) } else { self.share(flow) }
    }

    /// What is to be told of a pipeline.
    fn collect(run: &mut Run, spans: &mut Vec<MessageSpan>, pieces: &mut Vec<Piece>) {
        spans.append(&mut run.seen);
        pieces.append(&mut run.pieces);
    }

    /// Does what a pipeline's window left to the network, and notes its new bound.
    fn settle_run(&mut self, slot: u32) {
        let Some(run) = &mut self.pipelines.runs[slot as usize] else { return };
        Self::collect(run, &mut self.spans, &mut self.pieces);
        // In order: a channel is over before its member is done. One by one: a slow message without
        // latency meets channels at once, and settles what is left before this returns.
        while let Some(outcome) = self.pipelines.next_outcome(slot) {
            match outcome {
                Outcome::Over(member) => {
                    self.give_up(slot, member);
                    let run = self.pipelines.run(slot);
                    let (route, carried) =
                        (run.routes[member as usize].route, run.pipeline.bytes_sent(member));
                    self.counters.pipeline_messages += u64::from(run.pipeline.steps);
                    match run.members[member as usize].channel {
                        Channel::Slow => run.speed_up(member),
                        Channel::Hot(component) => self.dissolve(slot, component),
                        Channel::Cold => {}
                    }
                    self.routes.routes[route as usize].carried += carried as f64;
                }
                Outcome::Done(member) => {
                    let run = self.pipelines.run(slot);
                    run.left -= 1;
                    let (token, left) = (run.token, run.left);
                    self.pending.push(NetworkDone::MemberDone { token, member });
                    if left == 0 {
                        self.retire(slot);
                    }
                }
                Outcome::StartSlow(member) => self.start_slow(slot, member),
            }
        }
        self.pipelines.touch(slot);
    }

    /// A pipeline is finished.
    fn retire(&mut self, slot: u32) {
        let mut run = self.pipelines.runs[slot as usize].take().expect("it was under way");
        Self::collect(&mut run, &mut self.spans, &mut self.pieces);
        debug_assert!(run.outcomes.is_empty(), "nothing happens after the last member is done");
        run.outcomes.clear();
        self.pipelines.bounds[slot as usize] = NEVER;
        self.pipelines.busy -= 1;
        if self.pipelines.spare.len() < 4 {
            self.pipelines.spare.push(run);
        }
    }

    /// A message of a slow channel starts: as a flow, or fast if nobody is there any more.
    fn start_slow(&mut self, slot: u32, member: u32) {
        let run = self.pipelines.run(slot);
        debug_assert_eq!(run.members[member as usize].doing, Doing::Sending);
        let route = run.routes[member as usize].route;
        let (token, bytes) = (run.token, run.bytes(member));
        let owned = |&(resource, _): &(u32, f64)| {
            let occupancy = &self.occupancy[resource as usize];
            occupancy.flows == 0 && (occupancy.run, occupancy.member) == (slot, member)
        };
        if self.routes.uses(route).iter().all(owned) {
            let run = self.pipelines.run(slot);
            run.speed_up(member);
            run.start_fast(member);
            return;
        }
        let cap = self.routes.get(route).bound;
        let flow = self.start_flow(token, Some((slot, member)), route, bytes, cap, (NONE, self.now));
        self.flows[flow].member = Some((slot, member));
    }

    /// The message of a slow channel has arrived.
    pub(super) fn slow_message_arrived(&mut self, slot: u32, member: u32) {
        self.catch_up(slot);
        let now = self.now;
        let run = self.pipelines.run(slot);
        if run.records(run.under_way(member as usize).sent, now.as_ps()) {
            run.note(member as usize, now.as_ps(), true);
        }
        run.arrive_slow(member, now.as_ps());
        self.settle_run(slot);
    }

    /// Works off the pipelines that have something to say now; how many messages that may have been, at most.
    pub(super) fn advance_pipelines(&mut self, cx: &mut Cx<'_, NetworkDone>) -> u64 {
        let now = self.now.as_ps();
        let mut messages = 0;
        for slot in 0..self.pipelines.bounds.len() as u32 {
            if self.pipelines.bounds[slot as usize] > now {
                continue;
            }
            self.counters.pipeline_windows += 1;
            messages = self.pipelines.run(slot).messages_until(now).saturating_add(messages);
            self.pipelines.run(slot).run_to(now);
            // a flow that ends may be a message of this very run, and its last one
            while let Some(component) = self.pipelines.ended(slot, now) {
                let flow = self.cool(slot, component).flow;
                self.counters.events += 1;
                self.finish(flow, cx);
            }
            self.settle_run(slot);
        }
        messages
    }

    /// Asks observers, at each advance, whether they want messages of pipelines, and when. Returns
    /// whether they want the use of links.
    pub(super) fn watch(&mut self, cx: &Cx<'_, NetworkDone>) -> bool {
        let interests = cx.observer.interests();
        let record = (interests.messages || interests.link_uses)
            .then(|| cx.observer.span())
            .map(|(from, until)| (from.as_ps(), until.as_ps()));
        if record != self.record {
            self.record = record;
            for run in self.pipelines.runs.iter_mut().flatten() {
                run.record = record;
            }
        }
        interests.link_uses
    }

    /// Tells observers of the messages of pipelines that arrived, and of what flows have carried.
    pub(super) fn tell(&mut self, cx: &mut Cx<'_, NetworkDone>) {
        let interests = cx.observer.interests();
        for span in self.spans.drain(..) {
            if interests.messages {
                cx.observer.on_event(&Event::Message(span));
            }
        }
        self.tell_pieces(cx.observer);
    }

    /// Takes what runs know of what links have carried.
    pub(super) fn gather_pieces(&mut self) {
        for run in self.pipelines.runs.iter_mut().flatten() {
            self.pieces.append(&mut run.pieces);
        }
    }

    /// The part of it that links have carried.
    pub(super) fn tell_pieces(&mut self, observer: &mut dyn Observer) {
        self.gather_pieces();
        let is_wanted = observer.interests().link_uses;
        for (route, start, end, bytes) in self.pieces.drain(..) {
            if is_wanted {
                let bytes = bytes as f64;
                for &link in self.routes.links(route) {
                    observer.on_event(&Event::LinkUse { link, start, end, bytes });
                }
            }
        }
    }
}
