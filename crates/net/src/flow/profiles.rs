//! Link rates, latencies and states that change at given instants.

use stratasim_core::model::NetworkDone;
use stratasim_core::{Duration, LinkId};
use stratasim_topo::Topology;
use stratasim_topo::io::profile::ProfileEvents;

use super::life::State;
use super::network::FlowNetwork;
use super::routes::Machine;

/// What a profile sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Bandwidth,
    Latency,
    State,
}

/// The changes of links to come.
pub(super) fn link_changes(topology: &Topology) -> ProfileEvents<(LinkId, Quantity)> {
    let mut changes = ProfileEvents::default();
    for (&link, profiles) in &topology.profiles().links {
        let each = [
            (Quantity::Bandwidth, &profiles.bandwidth),
            (Quantity::Latency, &profiles.latency),
            (Quantity::State, &profiles.state),
        ];
        for (quantity, profile) in each {
            if let Some(profile) = profile {
                changes.add((link, quantity), profile);
            }
        }
    }
    changes
}

impl FlowNetwork {
    /// Applies a change of a link. The flows on it feel a new rate at once, a new latency in their
    /// share of bottlenecks (cm02); with the link down they fail.
    pub(super) fn apply(
        &mut self,
        (link, quantity): (LinkId, Quantity),
        value: f64,
        done: &mut Vec<NetworkDone>,
    ) {
        let resource = link.0;
        let link = link.index();
        match quantity {
            Quantity::Bandwidth => {
                self.wake_solo_on(resource);
                let before = self.system.capacity(resource).max(value);
                let peak = self.peaks.entry(resource).or_insert(before);
                *peak = peak.max(value);
                // cm02: a flow keeps the bound that it had when it started
                let keep_caps = self.numbers.weight_s_bytes.is_some();
                self.system.set_capacity(resource, value, keep_caps);
            }
            Quantity::Latency => {
                let latency = Duration::from_secs_f64(value);
                let shift = latency.as_secs_f64() - self.latency[link].as_secs_f64();
                self.latency[link] = latency;
                if self.numbers.weight_s_bytes.is_some() {
                    self.wake_solo_on(resource);
                    self.shift_penalties(resource, shift);
                }
            }
            Quantity::State => {
                self.link_up[link] = value != 0.0;
                if !self.link_up[link] {
                    self.fail_users(resource, done);
                }
            }
        }
    }

    /// Routes follow what has been applied to these resources.
    pub(super) fn refresh_routes(&mut self, changed: &[u32]) {
        let machine = Machine {
            numbers: &self.numbers,
            latency: &self.latency,
            system: &self.system,
            loopback: self.loopback,
            ports: &self.ports,
        };
        self.routes.refresh(changed, &machine);
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
            let flow = &self.flows[slot];
            let penalty = self.system.flows[slot as usize].penalty + shift;
            self.system.disable(slot);
            self.system.enable(slot, self.routes.uses(flow.route), penalty.max(f64::MIN_POSITIVE), flow.cap);
        }
    }

    /// Every flow on a link that went down fails.
    fn fail_users(&mut self, resource: u32, done: &mut Vec<NetworkDone>) {
        for slot in 0..self.flows.iter().len() as u32 {
            let flow = self.flows[slot];
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
            done.push(NetworkDone::Failed(flow.token));
        }
    }
}
