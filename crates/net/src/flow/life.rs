//! The life of a flow: it comes, pays its latency, shares links, and goes.
//!
//! A flow that is alone on its links knows its end at once; when somebody comes it becomes one of those that share, whose rates
//! and dates are worked out anew wherever something changes.

use stratasim_core::model::NetworkDone;
use stratasim_core::{Cx, Duration, Time, Token};

use super::lines::Stand;
use super::network::{FlowNetwork, PER_PS};
use super::routes::RouteId;
use super::rule::{done_at, stretch};
use super::system::NONE;
use crate::checks;

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

impl FlowNetwork {
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
            let slot = self.flows.insert(flow);
            for &(resource, _) in self.routes.uses(route) {
                let occupancy = &mut self.occupancy[resource as usize];
                (occupancy.flows, occupancy.solo) = (1, slot);
            }
            self.counters.solo_flows += 1;
            self.queue.set(slot, end);
            return slot;
        }
        let slot = self.flows.insert(flow);
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
    pub(super) fn takes_bandwidth(&self, bytes: u64) -> bool {
        bytes > 0 || self.precision > Duration::ZERO
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
        let flow = self.flows[slot];
        debug_assert_eq!(flow.state, State::Solo);
        for &(resource, _) in self.routes.uses(flow.route) {
            self.occupancy[resource as usize].solo = NONE;
        }
        if self.now < flow.enabled {
            let state = &mut self.flows[slot];
            state.state = State::Latency;
            state.rate = 0.0;
            self.queue.set(slot, flow.enabled);
        } else {
            // its rate and date hold until the next solve says otherwise
            self.flows[slot].state = State::Active;
            self.share(slot);
        }
    }

    /// A flow has paid its latency.
    pub(super) fn enable(&mut self, slot: u32) {
        let flow = &mut self.flows[slot];
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
        let Flow { route, cap, .. } = self.flows[slot];
        let info = self.routes.get(route);
        self.system.enable(slot, self.routes.uses(route), info.penalty, cap);
    }

    /// A flow has `remaining` bytes left now. What it has carried since its last date is noted for observers.
    pub(super) fn reach(&mut self, slot: u32, remaining: f64) {
        let flow = &mut self.flows[slot];
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
    pub(super) fn flow_event(&mut self, slot: u32, cx: &mut Cx<'_, NetworkDone>) {
        self.counters.events += 1;
        let flow = self.flows[slot];
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
        let flow = self.flows[slot];
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
        self.deregister(self.flows[slot].route);
        if let Some(lines) = &mut self.lines {
            lines.leave(self.flows[slot].line);
        }
        self.flows[slot].state = State::Free;
        self.flows.release(slot);
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
}
