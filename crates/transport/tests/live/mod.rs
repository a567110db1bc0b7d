//! A connection whose wire holds packets until it is told what becomes of them. Tests and `fuzz/` have it in common.

use std::sync::Arc;

use stratasim_core::{Bandwidth, Duration, Time};
use stratasim_transport::{
    Header, Mark, Pacer, PacketSizes, Path, Poll, Profile, Readiness, Receiver, Sender, TransportSpec,
};

/// A window that nothing changes.
pub(crate) const WINDOW: &str = r#"{"kind": "fixed-window", "window": "1 kB"}"#;

/// A connection over a way of 10 us, of packets of 100 bytes.
pub(crate) fn profile(congestion: &str, recovery: &str) -> Arc<Profile> {
    let text = format!(r#"{{"congestion": {congestion}, "recovery": {recovery}}}"#);
    let packets =
        PacketSizes { payload_bytes: 100, header_bytes: 10, control_bytes: 10, ..PacketSizes::default() };
    let spec = TransportSpec { packets, ..serde_json::from_str(&text).unwrap() };
    let rtt = Duration::from_ns(10_000);
    let rate = Bandwidth(1.25e9);
    Profile::new(&spec, Path::of_equal_links(rtt, rate, 2, 50_000)).unwrap()
}

/// A connection whose wire is two heaps of packets.
pub(crate) struct Live {
    pub(crate) now: Time,
    pub(crate) sender: Sender,
    receiver: Receiver,
    pacer: Pacer,
    forward: Vec<Header>,
    back: Vec<Header>,
    arrived: Vec<bool>,
}

impl Live {
    pub(crate) fn new(profile: &Arc<Profile>) -> Self {
        Self {
            now: Time::ZERO,
            sender: Sender::new(profile, 1),
            receiver: Receiver::new(profile, 0),
            pacer: Pacer::new(),
            forward: Vec::new(),
            back: Vec::new(),
            arrived: Vec::new(),
        }
    }

    pub(crate) fn post(&mut self, bytes: u64) {
        self.arrived.resize(self.sender.post(self.now, bytes).end as usize, false);
    }

    pub(crate) fn send(&mut self) {
        if let Poll::Send(header) = self.sender.poll_send(self.now, 1) {
            self.forward.push(header);
        }
    }

    /// Gives a packet to the receiver; `honest` packets are counted.
    pub(crate) fn deliver(&mut self, header: &Header, mark: Mark, honest: bool) {
        let before = self.receiver.delivered_to();
        let back = &mut self.back;
        let arrival =
            self.receiver.on_packet(self.now, header, mark, &mut self.pacer, &mut |answer| back.push(answer));
        assert!(arrival.delivered_to >= before);
        if arrival.fresh && honest {
            let seen = &mut self.arrived[header.sequence as usize];
            assert!(!std::mem::replace(seen, true), "packet {} is delivered twice", header.sequence);
        }
    }

    fn feedback(&mut self, at: usize) {
        let header = self.back[at];
        self.sender.on_feedback(self.now, &header, None);
        assert!(self.sender.acknowledged_to() <= self.receiver.delivered_to());
        assert!(self.sender.window_bytes() > 0);
    }

    pub(crate) fn timers(&mut self) {
        self.sender.on_timer(self.now);
        let back = &mut self.back;
        self.receiver.on_timer(self.now, &mut |answer| back.push(answer));
        if self.pacer.next(self.now).is_some() {
            self.receiver.on_turn(self.now, &mut self.pacer, &mut |answer| back.push(answer));
        }
    }

    /// Everything that is under way arrives now, and so do the answers.
    pub(crate) fn exchange(&mut self) {
        for header in std::mem::take(&mut self.forward) {
            self.deliver(&header, Mark::default(), true);
        }
        for at in 0..self.back.len() {
            self.feedback(at);
        }
        self.back.clear();
    }

    /// Everything arrives in order from now on, within `limit`.
    pub(crate) fn finish_within(&mut self, limit: Duration) {
        let start = self.now;
        self.sender.on_room(u64::MAX);
        for _ in 0..20_000 {
            if self.sender.is_done() {
                break;
            }
            self.now += Duration::from_ns(20_000);
            self.timers();
            for _ in 0..50 {
                self.send();
            }
            let is_quiet = self.forward.is_empty() && self.back.is_empty();
            self.exchange();
            // a window of a thousandth of a packet waits for a thousand round trips
            if is_quiet {
                let paced = match self.sender.readiness(self.now) {
                    Readiness::Wait(at) => at,
                    _ => Time::MAX,
                };
                let next = paced.min(self.sender.deadline()).min(self.receiver.deadline());
                self.now = if next < Time::MAX { self.now.max(next) } else { self.now };
            }
        }
        let (acknowledged, all) = (self.sender.acknowledged_to(), self.arrived.len());
        assert!(self.sender.is_done(), "stuck at {acknowledged} of {all}");
        assert!(self.arrived.iter().all(|seen| *seen));
        assert!(self.now <= start + limit, "it takes until {:?} from {start:?} on", self.now);
    }
}

/// Does `operations`, each of which is what to do and with which packet, and then lets everything arrive.
///
/// # Panics
/// When something is delivered twice, acknowledged before it has come, or never delivered.
pub(crate) fn operate(profile: &Arc<Profile>, operations: &[(u8, u16)]) {
    let mut live = Live::new(profile);
    live.post(2_500);
    for &(what, draw) in operations {
        let draw = usize::from(draw);
        live.now += Duration::from_ns(draw as u64 % 3000);
        let marks = Mark { ecn: draw % 5 == 0, trimmed: draw % 7 == 0, last_hop: draw % 2 == 0 };
        match what {
            0..=3 => live.send(),
            4..=6 if !live.forward.is_empty() => {
                let header = live.forward.swap_remove(draw % live.forward.len());
                live.deliver(&header, marks, true);
            }
            7 if !live.forward.is_empty() => {
                // a copy: the packet itself is still on its way
                let header = live.forward[draw % live.forward.len()];
                live.deliver(&header, marks, true);
            }
            8 if !live.forward.is_empty() => drop(live.forward.swap_remove(draw % live.forward.len())),
            9 | 10 if !live.back.is_empty() => {
                let at = draw % live.back.len();
                live.feedback(at);
                live.back.swap_remove(at);
            }
            11 if !live.back.is_empty() => live.feedback(draw % live.back.len()),
            12 if !live.back.is_empty() => drop(live.back.swap_remove(draw % live.back.len())),
            13 => {
                live.now += Duration::from_ns(draw as u64 * 10);
                live.timers();
            }
            14 => live.post(draw as u64 % 700),
            // the receiver has room for a few more, or for none
            15 if draw % 4 == 0 => live.sender.on_room(live.sender.acknowledged_to() + draw as u64 / 4 % 20),
            _ => live.timers(),
        }
    }
    live.finish_within(Duration::from_ns(3_600_000_000_000));
}
