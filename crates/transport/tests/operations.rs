//! Any order of operations on a live connection: packets and feedback in any order, twice or never, timers early, messages
//! posted in between, and headers that nobody ever sent. Nothing panics, nothing is delivered twice, and once the way is
//! clean everything arrives.

use std::sync::Arc;

use proptest::prelude::*;
use stratasim_core::{Bandwidth, Duration, Time};
use stratasim_transport::{
    Flags, Header, Kind, Mark, Pacer, PacketSizes, Path, Poll, Profile, Receiver, Sender, TransportSpec,
};

fn profile(congestion: &str, recovery: &str) -> Arc<Profile> {
    let text = format!(r#"{{"congestion": {congestion}, "recovery": {recovery}}}"#);
    let packets =
        PacketSizes { payload_bytes: 100, header_bytes: 10, control_bytes: 10, ..PacketSizes::default() };
    let spec = TransportSpec { packets, ..serde_json::from_str(&text).unwrap() };
    let rtt = Duration::from_ns(10_000);
    let rate = Bandwidth(1.25e9);
    Profile::new(&spec, Path::of_equal_links(rtt, rate, 2, 50_000)).unwrap()
}

/// A connection whose wire is two heaps of packets.
struct Live {
    now: Time,
    sender: Sender,
    receiver: Receiver,
    pacer: Pacer,
    forward: Vec<Header>,
    back: Vec<Header>,
    arrived: Vec<bool>,
}

impl Live {
    fn new(profile: &Arc<Profile>) -> Self {
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

    fn post(&mut self, bytes: u64) {
        self.arrived.resize(self.sender.post(self.now, bytes).end as usize, false);
    }

    fn send(&mut self) {
        if let Poll::Send(header) = self.sender.poll_send(self.now, 1) {
            self.forward.push(header);
        }
    }

    /// Gives a packet to the receiver; `honest` packets are counted.
    fn deliver(&mut self, header: &Header, mark: Mark, honest: bool) {
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

    fn timers(&mut self) {
        self.sender.on_timer(self.now);
        let back = &mut self.back;
        self.receiver.on_timer(self.now, &mut |answer| back.push(answer));
        if self.pacer.next(self.now).is_some() {
            self.receiver.on_turn(self.now, &mut self.pacer, &mut |answer| back.push(answer));
        }
    }

    /// Everything arrives in order from now on.
    fn finish(&mut self) {
        for _ in 0..20_000 {
            if self.sender.is_done() {
                break;
            }
            self.now += Duration::from_ns(20_000);
            self.timers();
            for _ in 0..50 {
                self.send();
            }
            for header in std::mem::take(&mut self.forward) {
                self.deliver(&header, Mark::default(), true);
            }
            for at in 0..self.back.len() {
                self.feedback(at);
            }
            self.back.clear();
        }
        assert!(
            self.sender.is_done(),
            "stuck at {} of {}",
            self.sender.acknowledged_to(),
            self.arrived.len()
        );
        assert!(self.arrived.iter().all(|seen| *seen));
    }
}

fn operate(profile: &Arc<Profile>, operations: &[(u8, u16)]) {
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
            _ => live.timers(),
        }
    }
    live.finish();
}

fn header() -> impl Strategy<Value = Header> {
    let near = || prop_oneof![0_u64..100, any::<u64>()];
    (0_usize..7, any::<u8>(), (near(), near(), near()), any::<(u32, u32, u64, u64)>()).prop_map(
        |(kind, flags, (sequence, cumulative, serial), (pull, sack_offset, sack, sent_at))| Header {
            kind: [
                Kind::Data,
                Kind::Ack,
                Kind::Nack,
                Kind::Pull,
                Kind::CongestionNotification,
                Kind::RequestToSend,
                Kind::Probe,
            ][kind],
            flags: Flags(flags),
            payload_bytes: pull as u16,
            out_of_order: sack_offset as u16,
            sequence,
            cumulative,
            serial,
            pull,
            sack_offset,
            sack,
            sent_at: Time::from_ps(sent_at),
            received_bytes: sent_at,
            ..Header::default()
        },
    )
}

const WINDOW: &str = r#"{"kind": "fixed-window", "window": "1 kB"}"#;

macro_rules! live {
    ($($name:ident: $congestion:expr, $recovery:literal;)+) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]
            $(#[test]
            fn $name(operations in prop::collection::vec((0_u8..16, any::<u16>()), 0..400)) {
                operate(&profile($congestion, $recovery), &operations);
            })+
        }
    };
}

live! {
    rltp_survives: WINDOW, r#"{"kind": "rltp", "max-probes": 64}"#;
    rltp_with_few_acknowledgements_survives: WINDOW, r#"{"kind": "rltp", "max-probes": 64, "acknowledge-every": 5, "window-packets": 9}"#;
    irn_survives: WINDOW, r#"{"kind": "irn"}"#;
    sack_survives: WINDOW, r#"{"kind": "sack"}"#;
    go_back_n_survives: WINDOW, r#"{"kind": "go-back-n", "timeout": "100 us"}"#;
    trimming_survives: r#"{"kind": "nscc"}"#, r#"{"kind": "trimming", "acknowledge-every": "400 B"}"#;
    sleek_survives: r#"{"kind": "nscc"}"#, r#"{"kind": "trimming", "sleek": true}"#;
    committed_windows_survive: r#"{"kind": "mprdma", "preset": "htsim"}"#, r#"{"kind": "trimming"}"#;
    committed_windows_on_go_back_n_survive: r#"{"kind": "mprdma", "preset": "htsim-constant"}"#, r#"{"kind": "go-back-n", "timeout": "100 us"}"#;
    ndp_survives: r#"{"kind": "ndp", "initial-packets": 4}"#, r#"{"kind": "trimming"}"#;
    rccc_survives: r#"{"kind": "rccc"}"#, r#"{"kind": "trimming"}"#;
    eqds_survives: r#"{"kind": "eqds", "max-window": "1 kB"}"#, r#"{"kind": "trimming"}"#;
    rccc_of_htsim_survives: r#"{"kind": "rccc", "htsim-leftovers": true}"#, r#"{"kind": "trimming"}"#;
    eqds_of_htsim_survives: r#"{"kind": "eqds", "max-window": "1 kB", "htsim-leftovers": true}"#, r#"{"kind": "trimming"}"#;
}

proptest! {
    /// RLTP meets the world: headers of any content change nothing but what they say.
    #[test]
    fn headers_that_nobody_sent_do_no_harm(headers in prop::collection::vec((header(), any::<bool>()), 0..100)) {
        let mut live = Live::new(&profile(WINDOW, r#"{"kind": "rltp"}"#));
        live.post(3_000);
        for (header, forward) in headers {
            live.now += Duration::from_ns(777);
            live.send();
            if forward {
                live.deliver(&header, Mark::default(), false);
            } else {
                live.sender.on_feedback_with_words(live.now, &header, &[header.sack, !header.sack], None);
            }
            prop_assert!(live.sender.acknowledged_to() <= 30);
            prop_assert!(live.sender.in_flight_bytes() <= 30 * 110);
            live.timers();
        }
    }
}
