//! What messages under way have carried so far, for a run that is stopped.

use stratasim_core::Time;
use stratasim_core::observe::{Event, Observer};

use super::life::State;
use super::network::FlowNetwork;
use super::pipeline::{Channel, Doing, Run, UnderWay};
use super::routes::RouteId;

/// What one that has not arrived, or a member of a pipeline, has carried.
pub(super) struct Carried {
    pub(super) route: RouteId,
    pub(super) bytes: u64,
    /// The part of them that observers do not know yet, and since when it was carried.
    untold: u64,
    since: Time,
}

impl FlowNetwork {
    /// What has been carried until `now` by messages that have not arrived and members of pipelines that are not over.
    pub(super) fn under_way(&mut self, now: Time) -> Vec<Carried> {
        let carried = |slot: u32, remaining: f64| {
            let flow = &self.flows[slot];
            // rounded down, so that thousands of them are together no more than a link can carry
            let bytes = flow.bytes - (remaining.ceil() as u64).min(flow.bytes);
            let untold = bytes.saturating_sub(flow.carried(flow.remaining));
            Carried { route: flow.route, bytes, untold, since: flow.last.min(now) }
        };
        let mut pieces = Vec::new();
        for (slot, flow) in self.flows.iter().enumerate() {
            if matches!(flow.state, State::Active | State::Solo) {
                pieces.push(carried(slot as u32, flow.left(now.max(flow.last))));
            }
        }
        for run in self.pipelines.runs.iter_mut().flatten() {
            for index in 0..run.components.len() as u32 {
                if run.components[index as usize].is_some() {
                    run.pass(index, now.as_ps());
                }
            }
            let beside = run.components.iter().flatten();
            // told already
            pieces.extend(beside.map(|component| {
                let flow = carried(component.flow, component.remaining);
                Carried { untold: 0, since: now, ..flow }
            }));
            pieces.extend(run.carried(now.as_ps()));
        }
        pieces
    }

    /// Tells observers of links what is under way.
    pub(super) fn tell_under_way(&mut self, now: Time, observer: &mut dyn Observer) {
        if !observer.interests().link_uses {
            return;
        }
        let under_way = self.under_way(now);
        self.tell_pieces(observer);
        for Carried { route, untold, since, .. } in under_way {
            if untold > 0 {
                for &link in self.routes.links(route) {
                    let bytes = untold as f64;
                    observer.on_event(&Event::LinkUse { link, start: since, end: now, bytes });
                }
            }
        }
    }
}

impl Run {
    /// What members that are not over have sent until `now`; messages on slow channels that have not arrived are flows.
    fn carried(&self, now: u64) -> impl Iterator<Item = Carried> {
        let members = self.members.iter().zip(&self.routes).enumerate();
        let sending =
            members.filter(|(_, (member, _))| !matches!(member.doing, Doing::Outside | Doing::Over));
        sending.map(move |(i, (member, state))| {
            let arrived: u64 = (0..member.step).map(|step| self.pipeline.bytes(i as u32, step)).sum();
            let is_on_its_way = member.doing == Doing::Sending && member.channel != Channel::Slow;
            if !is_on_its_way {
                return Carried { route: state.route, bytes: arrived, untold: 0, since: Time::from_ps(now) };
            }
            let carried = self.carried_of_message(i, now);
            let UnderWay { from, remaining, .. } = self.under_way(i);
            let told = self.bytes(i as u32).saturating_sub(remaining.round() as u64);
            let untold = carried.saturating_sub(told);
            let since = Time::from_ps(from.min(now));
            Carried { route: state.route, bytes: arrived + carried, untold, since }
        })
    }

    /// What the message of `i` under way on a fast channel has carried until `now`: at a steady rate since its last change.
    fn carried_of_message(&self, i: usize, now: u64) -> u64 {
        let (message, arrival) = (self.under_way(i), self.next[i]);
        let share = (arrival.saturating_sub(now)) as f64 / arrival.saturating_sub(message.from).max(1) as f64;
        let left = message.remaining * share.min(1.0);
        self.bytes(i as u32).saturating_sub(left.ceil() as u64)
    }
}
