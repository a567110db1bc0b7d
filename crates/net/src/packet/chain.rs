//! Ports whose services need no event at their end.
//!
//! What a port of a switch does next depends on nothing but what waits there. So all that it has done meanwhile can be
//! worked out later, when somebody looks: when a packet comes to it, and when a packet behind which others waited arrives
//! at the other end of the link. None of those can be there any sooner, as the next one was on the link after it.
//!
//! Where a network runs in several parts, ports that lead to hosts or into other parts are looked at when a window ends, too:
//! nothing that has begun in it arrives before the next one, in which it has to be known of (see `cut`).
//!
//! Ports of hosts ask their senders for packets, which depends on what these have heard by then; and what holds back, shares
//! buffers or looks at queues of others needs to know at once. Those have events.

use super::engine::Engine;
use super::port::{Beyond, NOTHING};

/// Chained ports at which packets wait that go to hosts or into other parts.
#[derive(Debug, Clone, Default)]
pub(super) struct Followed {
    /// A port may stand here several times.
    ports: Vec<u32>,
    /// By port, in which round it was looked at last.
    rounds: Vec<u32>,
    round: u32,
}

impl Engine {
    /// Says which ports need no events. The network is whole, and nothing has happened.
    pub(super) fn chain(&mut self) {
        let tells_others = self.rules.queue.holds()
            || self.balancing.looks_at_queues()
            || self.ports.iter().any(|port| port.beyond == Beyond::Header);
        for number in 0..self.ports.len() as u32 {
            let port = &self.ports[number as usize];
            let chained = !tells_others && port.nic == NOTHING && port.pool == NOTHING && port.kind.delay > 0;
            self.ports.service_mut(number).set_chained(chained);
        }
    }

    /// Notes the services that began before `until`, where the port is a chained one.
    #[inline]
    pub(super) fn go_on(&mut self, number: u32, until: u64) {
        // mostly there is nothing to note
        if self.ports.service(number).goes_on_before(until) {
            self.catch_up(number, until);
        }
    }

    /// Notes the services that began before `until`, of which there is at least one.
    #[inline(never)]
    pub(super) fn catch_up(&mut self, number: u32, until: u64) {
        loop {
            let mut at_work = self.ports.at_work(number);
            let start = at_work.service.busy_until;
            self.totals.events += 1;
            // nobody keeps count of the room that it took
            at_work.finish(&mut self.packets, &mut self.telemetry);
            let line = if at_work.control_goes(self.rules.queue.control_in_a_row) {
                &mut at_work.service.high
            } else {
                let Some(class) = at_work.first_class() else { return };
                at_work.line_mut(class)
            };
            let packet = Self::take(&self.packets, line);
            // no host's port is chained
            let begun = at_work.begin(packet, &mut self.packets[packet as usize], start, |_| false);
            let goes_on = at_work.service.goes_on_before(until);
            self.follow(number, packet, begun);
            if !goes_on {
                return;
            }
        }
    }

    /// Packets wait at a chained port, of which others are to be told in time.
    pub(super) fn follow_up(&mut self, port: u32) {
        if let Some(cut) = &mut self.cut {
            cut.followed.ports.push(port);
        }
    }

    /// Notes what has begun by `now` at chained ports that lead to hosts or into other parts.
    pub(super) fn go_on_with_followed(&mut self, now: u64) {
        let Some(cut) = &mut self.cut else { return };
        if cut.followed.ports.is_empty() {
            return;
        }
        let mut followed = std::mem::take(&mut cut.followed);
        let Followed { ports, rounds, round } = &mut followed;
        rounds.resize(self.ports.len(), 0);
        *round = round.wrapping_add(1);
        ports.retain(|&port| {
            if std::mem::replace(&mut rounds[port as usize], *round) == *round {
                return false;
            }
            self.go_on(port, now.saturating_add(1));
            self.ports.service(port).is_noted()
        });
        if let Some(cut) = &mut self.cut {
            cut.followed = followed;
        }
    }

    /// Notes all that has happened at ports by now: for those who look at all of them.
    pub(super) fn note_all(&mut self) {
        for number in 0..self.ports.len() as u32 {
            self.go_on(number, self.now.saturating_add(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::model::{Cx, Network as _, NetworkRequest, Transfer};
    use stratasim_core::observe::Blind;
    use stratasim_core::random::Draws;
    use stratasim_core::{Duration, LinkId, Model as _, Time, Token};

    use crate::packet::service::Service;
    use crate::packet::testing::{machine, network};

    /// All that can be seen of a run of 300 messages, with an event at the end of every service or without.
    fn seen(options: &str, chained: bool) -> String {
        let fat_tree = r#"{"kind": "fat-tree", "k": 4, "bandwidth": "100 Gbps", "latency": "1 us"}"#;
        let topology = machine(fat_tree);
        let hosts = topology.compute_nodes();
        let name = topology.link_name(LinkId(40));
        let mut network = network(&topology, &options.replace("NAME", &name), 1).expect("a network");
        let ports = &mut network.parts.any_mut().ports;
        let all = 0..ports.len() as u32;
        let mut services = all.clone().map(|port| ports.service(port));
        assert!(services.any(Service::is_chained), "{options}: there is something to compare");
        if !chained {
            all.for_each(|port| ports.service_mut(port).set_chained(false));
        }
        let mut draws = Draws::new(7);
        let (mut done, mut log, mut now) = (Vec::new(), Vec::new(), Time::ZERO);
        for token in 0..300 {
            // some of them all at once, and half of them to one host
            let target = if token % 2 == 0 { 0 } else { draws.below(hosts.len() as u32) };
            let [from, to] = [draws.below(hosts.len() as u32), target].map(|host| hosts[host as usize]);
            let transfer = Transfer::new(Token(token), from, to, u64::from(draws.below(200_000)));
            network.submit(now, NetworkRequest::Transfer(transfer));
            if token % 40 == 39 {
                let until = now + Duration::from_ps(u64::from(draws.below(50_000_000)));
                while now < until {
                    now = network.advance(until, &mut Cx { done: &mut done, observer: &mut Blind });
                }
                log.push((now, std::mem::take(&mut done)));
            }
        }
        while network.next_event().is_some() {
            now = network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut Blind });
        }
        log.push((now, done));
        format!("{log:?} {:?}", network.report(now))
    }

    #[test]
    fn services_are_what_they_are_with_an_event_each() {
        for options in [
            r#"{"queue": {"kind": "trimming"}}"#,
            r#"{"queue": {"kind": "trimming", "headers-in-a-row": 2}, "buffer": "20 kB"}"#,
            r#"{"queue": {"kind": "drop-tail", "spares-newcomers": true}, "buffer": "50 kB"}"#,
            r#"{"queue": {"kind": "drop-tail", "control-first": false}, "congestion": {"kind": "swift"}}"#,
            r#"{"congestion": {"kind": "hpcc"}, "queue": {"kind": "drop-tail"}, "recovery": {"kind": "irn"}, "balancing": {"kind": "round-robin"}}"#,
            r#"{"congestion": {"kind": "dctcp"}, "queue": {"kind": "drop-tail"}, "recovery": {"kind": "irn"}, "loss": {"probability": 0.01}}"#,
            r#"{"congestion": {"kind": "ndp"}, "faults": {"duplication": {"probability": 0.01},
                "reordering": {"probability": 0.01, "delay": "3 us"}}}"#,
            r#"{"classes": [{"up-to": "64 KiB"}, {}], "connections": "per-pair"}"#,
            r#"{"faults": {"down": [{"link": "NAME", "from": "3 us", "to": "400 us"}]}}"#,
        ] {
            assert!(seen(options, true) == seen(options, false), "{options}");
        }
    }
}
