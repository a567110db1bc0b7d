//! Lines of packets that never move again, because links stop each other in a circle.
//!
//! The head of a line goes on when the other end of its link has room. What takes room there is on its way there or on its way
//! out, and so leaves sooner or later, or it waits in lines of the next node. So a line is stuck for good where what came by its
//! link and waits in lines that are stuck for good takes so much room that its head never gets enough, and where links have
//! pauses, where no word of room is on its way besides. Begun with all lines, and going over those that are not stuck, this
//! leaves the most lines of which it holds: they wait for nobody but each other.

use super::engine::Engine;
use super::port::{NOTHING, Waiting};
use super::queue::Backpressure;

/// A class of packets at a port, before a link that may stop it: the port and the class.
pub(super) type LaneId = (u32, u8);

/// The lines that never move again.
#[derive(Debug)]
pub(super) struct Stuck {
    /// By line: control and data by class of a port, port after port.
    stuck: Vec<bool>,
    lines_per_port: usize,
    /// Packets in them.
    pub(super) packets: u64,
}

impl Stuck {
    /// None where there are none.
    pub(super) fn of(engine: &Engine) -> Option<Self> {
        if !engine.rules.queue.holds() {
            return None;
        }
        let lines_per_port = usize::from(engine.rules.classes) + 1;
        let count = engine.ports.len() * lines_per_port;
        let mut it = Self { stuck: vec![false; count], lines_per_port, packets: 0 };
        let mut held_bytes = vec![0_u64; engine.ports.len() * usize::from(engine.rules.classes)];
        for place in 0..count {
            it.stuck[place] = !it.line(engine, place).is_empty();
            it.each(engine, place, |lane, bytes| held_bytes[engine.lane(lane) as usize] += bytes);
        }
        let mut asked: Vec<usize> = (0..count).filter(|&place| it.stuck[place]).collect();
        while let Some(place) = asked.pop() {
            let held = held_bytes[engine.lane(it.lane(place)) as usize];
            if it.stuck[place] && !it.is_stopped(engine, place, held) {
                it.stuck[place] = false;
                it.each(engine, place, |lane, bytes| {
                    held_bytes[engine.lane(lane) as usize] -= bytes;
                    asked.extend(it.lines_of(lane));
                });
            }
        }
        for place in (0..count).filter(|&place| it.stuck[place]) {
            it.packets += packets(engine, it.line(engine, place)).count() as u64;
        }
        (it.packets > 0).then_some(it)
    }

    /// Bytes at a port that never move again.
    pub(super) fn bytes_at(&self, engine: &Engine, port: usize) -> u64 {
        let lines = port * self.lines_per_port..(port + 1) * self.lines_per_port;
        lines.filter(|&place| self.stuck[place]).map(|place| self.line(engine, place).bytes).sum()
    }

    /// Lanes of which each waits for the next one, and the last for the first.
    pub(super) fn circle(&self, engine: &Engine) -> Option<Vec<LaneId>> {
        let mut next: Vec<Option<LaneId>> =
            vec![None; engine.ports.len() * usize::from(engine.rules.classes)];
        let stuck = || (0..self.stuck.len()).filter(|&place| self.stuck[place]);
        for place in stuck() {
            self.each(engine, place, |lane, _| {
                next[engine.lane(lane) as usize].get_or_insert(self.lane(place));
            });
        }
        let mut way = vec![self.lane(stuck().next()?)];
        let mut stands_at = vec![None; next.len()];
        loop {
            let last = way[way.len() - 1];
            if let Some(begin) = stands_at[engine.lane(last) as usize].replace(way.len() - 1) {
                way.pop();
                return Some(way.split_off(begin));
            }
            way.push(next[engine.lane(last) as usize]?);
        }
    }

    /// The lane of a line.
    fn lane(&self, place: usize) -> LaneId {
        let class = (place % self.lines_per_port).saturating_sub(1);
        ((place / self.lines_per_port) as u32, class as u8)
    }

    /// The lines of a lane: that of its data, and control has the first class.
    fn lines_of(&self, (port, class): LaneId) -> impl Iterator<Item = usize> + use<> {
        let first = port as usize * self.lines_per_port;
        [first + usize::from(class) + 1].into_iter().chain((class == 0).then_some(first))
    }

    fn line<'a>(&self, engine: &'a Engine, place: usize) -> &'a Waiting {
        let (port, class) = self.lane(place);
        if place.is_multiple_of(self.lines_per_port) {
            &engine.ports.service(port).high
        } else {
            engine.ports.line(port, class)
        }
    }

    /// Tells the lanes by which the packets of a line came, and their bytes.
    fn each(&self, engine: &Engine, place: usize, mut tell: impl FnMut(LaneId, u64)) {
        for packet in packets(engine, self.line(engine, place)) {
            let flying = &engine.packets[packet as usize];
            if flying.came_by != NOTHING {
                tell((flying.came_by, flying.class), u64::from(flying.bytes));
            }
        }
    }

    /// Whether the head of a line never goes on while so many bytes that came by its lane stay at the other end.
    fn is_stopped(&self, engine: &Engine, place: usize, held_bytes: u64) -> bool {
        let (port, class) = self.lane(place);
        let lane = engine.ports[port as usize].lanes.get(class);
        match engine.rules.queue.backpressure {
            Backpressure::None => false,
            Backpressure::Credit { .. } => {
                let head = &engine.packets[self.line(engine, place).head as usize];
                let room_bytes = engine.ports[port as usize].room_bytes;
                room_bytes.saturating_sub(held_bytes) < u64::from(head.bytes)
            }
            Backpressure::Pause { below_bytes, .. } => {
                let hears_of_room = !engine.returning[engine.lane((port, class)) as usize].is_empty();
                let below_bytes = below_bytes.saturating_add(engine.ports[port as usize].raised_bytes);
                lane.credit_bytes == 0 && lane.pausing && !hears_of_room && held_bytes >= below_bytes
            }
        }
    }
}

/// The packets of a line, in order.
fn packets<'a>(engine: &'a Engine, line: &Waiting) -> impl Iterator<Item = u32> + use<'a> {
    let some = |packet: u32| (packet != NOTHING).then_some(packet);
    std::iter::successors(some(line.head), move |&packet| some(engine.packets[packet as usize].next))
}

#[cfg(test)]
mod tests {
    use stratasim_core::model::{Cx, NetworkRequest, Transfer};
    use stratasim_core::observe::Blind;
    use stratasim_core::random::Draws;
    use stratasim_core::{Duration, Model as _, Time, Token};

    use super::*;
    use crate::packet::testing::{machine, network};

    /// Runs drawn messages and looks every now and then: what is stuck stays where it is, and nothing is where all arrive. Whether
    /// anything got stuck.
    fn gets_stuck(options: &str, seed: u64, most_bytes: u32) -> bool {
        let torus =
            r#"{"kind": "torus", "dimensions": [4, 4], "bandwidth": "100 Gbps", "latency": "500 ns"}"#;
        let topology = machine(torus);
        let hosts = topology.compute_nodes();
        let options = options.replacen('{', r#"{"congestion": {"kind": "fixed-window", "factor": 4}, "#, 1);
        let mut network = network(&topology, &options, seed).expect("a network");
        let mut draws = Draws::new(seed);
        for token in 0..150 {
            let [from, to] = [(); 2].map(|()| hosts[draws.below(hosts.len() as u32) as usize]);
            let bytes = 1 + u64::from(draws.below(most_bytes));
            let transfer = Transfer::new(Token(token), from, to, bytes);
            network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
        }
        let (mut done, mut now, mut stuck) = (Vec::new(), Time::ZERO, Vec::<bool>::new());
        let mut looks = 0;
        while network.next_event().is_some() && now < Time::from_ps(5_000_000_000) {
            let until = now + Duration::from_ps(1 + u64::from(draws.below(1_000_000)));
            while now < until && network.next_event().is_some() {
                now = network.advance(until, &mut Cx { done: &mut done, observer: &mut Blind });
            }
            looks += 1;
            let engine = network.parts.any();
            let here = Stuck::of(engine).map_or_else(Vec::new, |it| {
                assert!(it.circle(engine).is_some_and(|circle| circle.len() > 1), "{options}, {seed}");
                it.stuck
            });
            let stays = |(before, now): (&bool, &bool)| !before || *now;
            assert!(stuck.len() <= here.len() && stuck.iter().zip(&here).all(stays), "{options}, {seed}");
            stuck = here;
        }
        assert!(looks > 5, "{options}, {seed}: {looks} looks");
        assert!(stuck.is_empty() || done.len() < 150, "{options}, {seed}: all arrived, and some were stuck");
        !stuck.is_empty()
    }

    #[test]
    fn what_is_stuck_never_moves_again() {
        for options in [
            r#"{"queue": {"kind": "credit"}}"#,
            r#"{"queue": {"kind": "lossless"}}"#,
            r#"{"queue": {"kind": "lossless", "pause-above": "9 kB"}, "switching": "cut-through"}"#,
            r#"{"queue": {"kind": "credit"}, "classes": [{"up-to": "100 kB"}, {}]}"#,
            r#"{"queue": {"kind": "lossless", "pause-above": "20 kB"}, "classes": [{"up-to": "100 kB"}, {}]}"#,
            r#"{"queue": {"kind": "credit"}, "faults": {"reordering": {"probability": 0.01, "delay": "30 us"}}}"#,
        ] {
            let stuck = |most_bytes| (0..4).filter(|&seed| gets_stuck(options, seed, most_bytes)).count();
            assert!(stuck(2_000_000) > 0, "{options}: there is something to see");
            assert!(stuck(30_000) < 4, "{options}: and something else");
        }
    }
}
