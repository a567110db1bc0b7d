//! What must hold between any two events, worked out from what is there instead of counted along: debug builds look at it all the
//! time, and stop at the first event after which it does not.

use super::engine::{Engine, Flying};
use super::lane::Lane;
use super::port::{NOTHING, Waiting};

/// What is known of each class at each port by looking at all packets.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Bytes that go onto the link or are on it.
    under_way: u64,
    /// Bytes that came by the link and wait in the switch behind it.
    waiting: u64,
}

impl Engine {
    /// A look at everything takes as long as so many events, more or less.
    pub(super) fn events_between_looks(&self) -> u64 {
        (self.ports.len() + self.packets.len()).max(1024) as u64
    }

    /// Stops where something is wrong.
    ///
    /// # Panics
    /// With what is wrong.
    pub(super) fn look_at_everything(&self) {
        let wrong = self.wrong_counts().or_else(|| self.wrong_queue()).or_else(|| self.wrong_room());
        if let Some(wrong) = wrong {
            panic!("after {} events, at {} ps: {wrong}", self.totals.events, self.now);
        }
    }

    /// Packets that came into being are those that have ended and those that are here. Parts exchange packets: they are counted
    /// together, at the end.
    fn wrong_counts(&self) -> Option<String> {
        let totals = &self.totals;
        let made = totals.sent + self.fault_counts.duplicated;
        let (ended, here) = (totals.delivered + totals.dropped, self.in_flight());
        (self.cut.is_none() && made != ended + here)
            .then(|| format!("{made} packets are {ended} that have ended and {here} in flight"))
    }

    /// Lines hold what they say, and no more than they may.
    fn wrong_queue(&self) -> Option<String> {
        let mut shared = vec![0; self.pools.len()];
        for number in 0..self.ports.len() as u32 {
            let port = &self.ports[number as usize];
            let of = |what: &str| format!("port {number}: {what}");
            let high = &self.ports.service(number).high;
            if self.bytes_in(high) != high.bytes {
                return Some(of("control waits that was not counted"));
            }
            // what hosts say themselves is let in whatever waits
            if port.nic == NOTHING && high.bytes > port.kind.control_capacity {
                return Some(of(&format!("{} B of control, more than there is room for", high.bytes)));
            }
            for class in 0..self.rules.classes {
                let line = self.ports.line(number, class);
                if self.bytes_in(line) != line.bytes {
                    return Some(of("data waits that was not counted"));
                }
                if port.nic == NOTHING && line.bytes > port.kind.capacity {
                    return Some(of(&format!("{} B of data, more than there is room for", line.bytes)));
                }
                if port.pool != NOTHING {
                    shared[port.pool as usize] += line.bytes;
                }
            }
        }
        let mut pools = self.pools.iter().zip(shared);
        pools
            .find(|(pool, waiting)| pool.waiting_bytes() != *waiting || !pool.is_within())
            .map(|(pool, waiting)| format!("of a shared buffer of {} B, {waiting} wait", pool.total_bytes))
    }

    /// Bytes of the packets of a line.
    fn bytes_in(&self, line: &Waiting) -> u64 {
        let first = (line.head != NOTHING).then_some(line.head);
        let after = |&packet: &u32| {
            let next = self.packets[packet as usize].next;
            (next != NOTHING).then_some(next)
        };
        std::iter::successors(first, after).map(|packet| u64::from(self.packets[packet as usize].bytes)).sum()
    }

    /// Where switches keep others from sending: what they hold for a link is what came by it and has not left, and room is
    /// free, taken, or on its way one way or the other.
    fn wrong_room(&self) -> Option<String> {
        // word of room that comes from another part is there
        if !self.rules.queue.holds() || self.cut.is_some() {
            return None;
        }
        let seen = self.seen();
        for (number, port) in (0_u32..).zip(self.ports.iter()) {
            for (class, lane) in (0..).zip(port.lanes.iter()) {
                let name = self.lane((number, class));
                let Seen { under_way, waiting } = seen[name as usize];
                let Lane { held_bytes, credit_bytes, .. } = *lane;
                if waiting != held_bytes {
                    let what = format!("{held_bytes} B are held for the link, {waiting} are there");
                    return Some(format!("port {number}, class {class}: {what}"));
                }
                let back: u64 = self.returning[name as usize].iter().map(|&bytes| u64::from(bytes)).sum();
                if port.room_bytes < u64::MAX
                    && credit_bytes + under_way + held_bytes + back != port.room_bytes
                {
                    let what = format!(
                        "of {} B of room, {credit_bytes} may be used, {under_way} are on the link, {held_bytes} held, and word of {back} is on its way",
                        port.room_bytes
                    );
                    return Some(format!("port {number}, class {class}: {what}"));
                }
            }
        }
        None
    }

    /// By lane: where the bytes are.
    fn seen(&self) -> Vec<Seen> {
        let mut seen = vec![Seen::default(); self.ports.len() * usize::from(self.rules.classes)];
        let mut is_free = vec![false; self.packets.len()];
        for &packet in self.free() {
            is_free[packet as usize] = true;
        }
        for (flying, _) in self.packets.iter().zip(&is_free).filter(|(_, is_free)| !**is_free) {
            let Flying { came_by, port, class, bytes, .. } = *flying;
            let (by, is_here) = if came_by == NOTHING { (port, false) } else { (came_by, true) };
            if by != NOTHING {
                let seen = &mut seen[self.lane((by, class)) as usize];
                *(if is_here { &mut seen.waiting } else { &mut seen.under_way }) += u64::from(bytes);
            }
        }
        // what is on its way out of a switch counts for the link by which it came, too
        for (number, port) in (0..).zip(self.ports.iter()).filter(|(_, port)| port.leaving_from != NOTHING) {
            let class = self.ports.service(number).class();
            seen[self.lane((port.leaving_from, class)) as usize].waiting += u64::from(port.leaving_bytes);
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::model::{Cx, Model, NetworkRequest, Transfer};
    use stratasim_core::observe::Blind;
    use stratasim_core::{Time, Token};

    use super::*;
    use crate::packet::network::PacketNetwork;
    use crate::packet::testing::{machine, network};

    /// An incast over a switch, when packets are everywhere.
    fn under_way(queue: &str) -> PacketNetwork {
        let star =
            machine(r#"{"kind": "single-switch", "nodes": 5, "bandwidth": "100 Gbps", "latency": "500 ns"}"#);
        let options = format!(r#"{{"congestion": {{"kind": "constant-rate"}}, {queue}}}"#);
        let mut network = network(&star, &options, 1).unwrap();
        let hosts = star.compute_nodes();
        for (token, &from) in (0..).zip(&hosts[1..]) {
            let transfer = Transfer::new(Token(token), from, hosts[0], 400_000);
            network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
        }
        let mut done = Vec::new();
        network.advance(Time::from_ps(20_000_000), &mut Cx { done: &mut done, observer: &mut Blind });
        assert!(done.is_empty(), "they take longer");
        network
    }

    /// What is wrong after something was changed behind the back of everybody.
    fn wrong_after(queue: &str, change: impl FnOnce(&mut Engine)) -> String {
        let mut network = under_way(queue);
        let engine = network.parts.any_mut();
        engine.look_at_everything();
        change(engine);
        let wrong = engine.wrong_counts().or_else(|| engine.wrong_queue()).or_else(|| engine.wrong_room());
        wrong.expect("it is found")
    }

    /// The port to the first host, before which all wait.
    fn busiest(engine: &Engine) -> u32 {
        (0..engine.ports.len() as u32).max_by_key(|&port| engine.ports.line(port, 0).bytes).unwrap()
    }

    const TRIMMING: &str = r#""queue": {"kind": "trimming"}, "buffer": "40 kB""#;
    const SHARED: &str =
        r#""queue": {"kind": "drop-tail"}, "buffer": "40 kB", "buffer-sharing": {"alpha": 1.0}"#;
    const PAUSES: &str = r#""queue": {"kind": "lossless"}"#;
    const CREDIT: &str = r#""queue": {"kind": "credit"}"#;

    #[test]
    fn nothing_is_changed_unnoticed() {
        let lost = wrong_after(TRIMMING, |engine| {
            engine.release(engine.in_flight() as u32 - 1);
        });
        assert!(lost.contains("in flight"), "{lost}");
        let longer = wrong_after(TRIMMING, |engine| {
            let port = busiest(engine);
            engine.ports.service_mut(port).line.bytes += 1;
        });
        assert!(longer.contains("data waits that was not counted"), "{longer}");
        let more = wrong_after(TRIMMING, |engine| {
            let port = busiest(engine);
            engine.ports[port as usize].kind.capacity = 1;
        });
        assert!(more.contains("more than there is room for"), "{more}");
        let shared = wrong_after(SHARED, |engine| engine.pools[0].take(1));
        assert!(shared.contains("shared buffer"), "{shared}");
        for queue in [PAUSES, CREDIT] {
            let held = wrong_after(queue, |engine| {
                let holds = |port: &&mut crate::packet::port::Port| port.lanes.get(0).held_bytes > 0;
                engine.ports.iter_mut().find(holds).unwrap().lanes.get_mut(0).held_bytes -= 1;
            });
            assert!(held.contains("held for the link"), "{held}");
        }
        let credit = wrong_after(CREDIT, |engine| {
            let port = engine.ports.iter_mut().find(|port| port.room_bytes < u64::MAX).unwrap();
            port.lanes.get_mut(0).credit_bytes += 1;
        });
        assert!(credit.contains("B of room"), "{credit}");
    }

    /// Where the newest of a line makes room for the one that arrives, each keeps what was recorded on its own way there; what
    /// comes back carries that, and nothing of the way back.
    #[test]
    fn records_of_packets_are_of_their_own_ways() {
        let machine = machine(
            r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 2, "bandwidth": "100 Gbps", "latency": "500 ns"}"#,
        );
        for queue in [
            r#"{"kind": "drop-tail", "spares-newcomers": true}"#,
            r#"{"kind": "drop-tail", "spares-newcomers": true, "control-first": false}"#,
            r#"{"kind": "trimming"}"#,
        ] {
            let options = format!(
                r#"{{"congestion": "hpcc", "recovery": "irn", "queue": {queue}, "buffer": "20 kB",
                    "faults": {{"duplication": {{"probability": 0.01}}}}}}"#
            );
            let mut network = network(&machine, &options, 1).unwrap();
            let hosts = machine.compute_nodes();
            // one of the other leaf and one of the same leaf meet before the third host
            for (token, from) in [0, 3].into_iter().enumerate() {
                let transfer = Transfer::new(Token(token as u64), hosts[from], hosts[2], 1_000_000);
                network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
            }
            let (mut done, mut ways, mut seen) = (Vec::new(), Vec::new(), [0; 2]);
            for us in 1..=100 {
                network.advance(
                    Time::from_ps(us * 1_000_000),
                    &mut Cx { done: &mut done, observer: &mut Blind },
                );
                let engine = network.parts.any_mut();
                if ways.is_empty() {
                    let connections = (0..).zip(engine.connections.iter().flatten());
                    ways.extend(
                        connections.map(|(number, connection)| engine.common_path(number, connection)),
                    );
                    assert_eq!(ways.iter().map(|way| way.len()).collect::<Vec<_>>(), [4, 2]);
                }
                for (flying, telemetry) in engine.packets.iter().zip(&engine.telemetry) {
                    let ports = telemetry.records().iter().map(|record| record.port);
                    let links: Vec<_> = ports.map(|port| engine.ports[port as usize].link).collect();
                    // the port of the sender's host is no queue
                    let way = &ways[flying.connection as usize][1..];
                    assert!(way.starts_with(&links), "{queue}: {links:?} on the way {way:?}");
                    seen[flying.connection as usize] += usize::from(links.len() == way.len());
                }
            }
            let lost = |port: &crate::packet::port::Port| port.counts.drops + port.counts.trims;
            let lost: u64 = network.parts.any().ports.iter().map(lost).sum();
            assert!(lost > 10 && seen.iter().all(|&seen| seen > 100), "{queue}: {lost} and {seen:?}");
        }
    }
}
