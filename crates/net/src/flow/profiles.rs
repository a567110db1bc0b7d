//! Link rates, latencies and states that change at given instants.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use stratasim_core::model::NetworkDone;
use stratasim_core::{Cx, Duration, LinkId, Time};
use stratasim_topo::Topology;
use stratasim_topo::io::profile::Profile;

use super::network::{FlowNetwork, State};
use super::routes::Machine;

/// What a profile sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Bandwidth,
    Latency,
    State,
}

/// A profile event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) link: LinkId,
    pub(super) quantity: Quantity,
    pub(super) value: f64,
}

/// The profile events to come.
#[derive(Debug, Default)]
pub(super) struct ProfileEvents {
    profiles: Vec<(LinkId, Quantity, Profile)>,
    /// (instant, profile, index of the change)
    heap: BinaryHeap<Reverse<(Time, u32, u64)>>,
}

impl ProfileEvents {
    pub(super) fn new(topology: &Arc<Topology>) -> Self {
        let mut events = Self::default();
        for (&link, profiles) in &topology.profiles().links {
            let each = [
                (Quantity::Bandwidth, &profiles.bandwidth),
                (Quantity::Latency, &profiles.latency),
                (Quantity::State, &profiles.state),
            ];
            for (quantity, profile) in each {
                let Some(profile) = profile else { continue };
                if let Some((at, _)) = profile.change(0) {
                    events.heap.push(Reverse((at, events.profiles.len() as u32, 0)));
                }
                events.profiles.push((link, quantity, profile.clone()));
            }
        }
        events
    }

    pub(super) fn is_empty(&self) -> bool {
        self.profiles.is_empty()
    }

    /// When the next change comes.
    pub(super) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// The next change that is due at `now`.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<Change> {
        let &Reverse((at, profile, index)) = self.heap.peek()?;
        if at > now {
            return None;
        }
        self.heap.pop();
        let (link, quantity, points) = &self.profiles[profile as usize];
        let (_, value) = points.change(index).expect("queued changes exist");
        if let Some((next, _)) = points.change(index + 1) {
            self.heap.push(Reverse((next, profile, index + 1)));
        }
        Some(Change { link: *link, quantity: *quantity, value })
    }
}

impl FlowNetwork {
    /// Applies a change of a link. The flows on it feel a new rate at once, a new latency in their
    /// share of bottlenecks (cm02); with the link down they fail.
    pub(super) fn apply(&mut self, change: Change, cx: &mut Cx<'_, NetworkDone>) {
        let link = change.link.index();
        let resource = change.link.0;
        match change.quantity {
            Quantity::Bandwidth => {
                self.wake_solo_on(resource);
                let before = self.system.capacity(resource).max(change.value);
                let peak = self.peaks.entry(resource).or_insert(before);
                *peak = peak.max(change.value);
                // cm02: a flow keeps the bound that it had when it started
                let keep_caps = self.numbers.weight_s_bytes.is_some();
                self.system.set_capacity(resource, change.value, keep_caps);
            }
            Quantity::Latency => {
                let latency = Duration::from_secs_f64(change.value);
                let shift = latency.as_secs_f64() - self.latency[link].as_secs_f64();
                self.latency[link] = latency;
                if self.numbers.weight_s_bytes.is_some() {
                    self.wake_solo_on(resource);
                    self.shift_penalties(resource, shift);
                }
            }
            Quantity::State => {
                self.link_up[link] = change.value != 0.0;
                if !self.link_up[link] {
                    self.fail_users(resource, cx);
                }
            }
        }
        let machine = Machine {
            numbers: &self.numbers,
            latency: &self.latency,
            system: &self.system,
            loopback: self.loopback,
            ports: &self.ports,
        };
        self.routes.refresh(&machine);
    }

    fn wake_solo_on(&mut self, resource: u32) {
        let solo = self.occupancy[resource as usize].solo;
        if solo != super::system::NONE {
            self.wake_solo(solo);
        }
    }

    /// Flows that share a link feel its new latency in their penalty.
    fn shift_penalties(&mut self, resource: u32, shift: f64) {
        let flows: Vec<u32> = self.system.users_of(resource).iter().map(|user| user.flow).collect();
        for slot in flows {
            let flow = &self.flows[slot as usize];
            let penalty = self.system.flows[slot as usize].penalty + shift;
            self.system.disable(slot);
            self.system.enable(slot, self.routes.uses(flow.route), penalty.max(f64::MIN_POSITIVE), flow.cap);
        }
    }

    /// Every flow on a link that went down fails.
    fn fail_users(&mut self, resource: u32, cx: &mut Cx<'_, NetworkDone>) {
        for slot in 0..self.flows.len() as u32 {
            let flow = self.flows[slot as usize];
            let uses = flow.state != State::Free
                && self.routes.links(flow.route).iter().any(|link| link.0 == resource);
            if !uses {
                continue;
            }
            if flow.state == State::Active {
                self.system.disable(slot);
            }
            self.queue.remove(slot);
            self.release(slot);
            let name = self.topology.link_name(LinkId(resource));
            self.failures.push((flow.token, format!("link {name} went down")));
            cx.done.push(NetworkDone::Failed(flow.token));
        }
    }
}
