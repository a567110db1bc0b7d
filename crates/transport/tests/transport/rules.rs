//! Rules that whole runs would hide: what is stamped when, what a report of a trimmed packet does, what credit is asked for.

use std::sync::Arc;

use stratasim_core::{Bandwidth, Duration, Time};
use stratasim_transport::congestion::{Acked, CongestionControl, Control, LossCause, Lost};
use stratasim_transport::{
    CongestionSpec, Flags, Header, Kind, Mark, Pacer, Path, Poll, Profile, Readiness, Receiver, Sender,
    TransportSpec, presets,
};

const RATE: Bandwidth = Bandwidth(25e9);

/// Two links of 500 ns at 200 Gb/s.
fn atlahs(protocol: &str) -> Arc<Profile> {
    let rtt = Duration::from_ps(2 * (4160 + 64) * 40 + 4 * 500_000);
    let path = Path::of_equal_links(rtt, RATE, 2, 216_500);
    Profile::new(&presets::htsim(protocol, RATE).unwrap(), path).unwrap()
}

/// Six links of 1 us at 100 Gb/s.
fn ultra_ethernet(protocol: &str) -> Arc<Profile> {
    let rate = Bandwidth(12.5e9);
    let rtt = Duration::from_ps(14_022_720);
    let path = Path::of_equal_links(rtt, rate, 6, 178_450);
    Profile::new(&presets::htsim(protocol, rate).unwrap(), path).unwrap()
}

fn at(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

fn data(sender: &mut Sender, now: Time) -> Option<Header> {
    match sender.poll_send(now, 1) {
        Poll::Send(header) => Some(header),
        _ => None,
    }
}

/// The acknowledgement of one packet, or the report that it came without its payload.
fn answer(of: &Header, kind: Kind, cumulative: u64) -> Header {
    let flags = if kind == Kind::Nack { Flags::TRIMMED } else { Flags::default() };
    let beyond = kind == Kind::Ack && of.sequence >= cumulative;
    let (sack_offset, sack) = if beyond { ((of.sequence - cumulative) as u32, 1) } else { (0, 0) };
    Header { kind, flags, cumulative, sack_offset, sack, payload_bytes: 0, ..*of }
}

#[test]
fn a_window_is_stamped_when_it_is_handed_over_and_not_when_the_link_takes_it() {
    let mut sender = Sender::new(&atlahs("atlahs_swift"), 1);
    sender.post(at(1000), 1 << 20);
    // the assumed network holds 216,500 bytes: 52 packets of 4,096
    let sent: Vec<Header> = (0..100).map_while(|turn| data(&mut sender, at(1000 + 166 * turn))).collect();
    assert_eq!(sent.len(), 52);
    assert!(sent.iter().all(|header| header.sent_at == at(1000)));
}

#[test]
fn what_is_handed_over_at_the_instant_zero_is_stamped_behind_its_first_link() {
    let mut sender = Sender::new(&atlahs("atlahs_swift"), 1);
    sender.post(Time::ZERO, 1 << 20);
    let first_link = Duration::from_ps(4160 * 40 + 500_000);
    for turn in 0..52 {
        let now = at(166 * turn);
        assert_eq!(data(&mut sender, now).unwrap().sent_at, now + first_link);
    }
}

#[test]
fn the_wait_in_its_own_queue_costs_a_delay_based_window_most_of_its_packets() {
    let mut sender = Sender::new(&atlahs("atlahs_swift"), 1);
    sender.post(at(1000), 1 << 20);
    let sent: Vec<Header> = (0..52).map(|_| data(&mut sender, at(1000)).unwrap()).collect();
    // nothing else on the way: each is acknowledged a packet's time after the one before
    for (turn, header) in (0..).zip(&sent) {
        let now = Time::from_ps(1_000_000 + 2_337_920 + turn * 166_400);
        sender.on_feedback(now, &answer(header, Kind::Ack, turn + 1), None);
    }
    assert_eq!(sender.window_bytes(), 4096, "44 round trips above 1.5 times the shortest, a quarter each");
}

#[test]
fn a_report_of_a_trimmed_packet_has_it_sent_again_and_nothing_new() {
    let mut sender = Sender::new(&atlahs("atlahs_mprdma"), 1);
    sender.post(at(1000), 1 << 20);
    let sent: Vec<Header> = (0..).map_while(|_| data(&mut sender, at(1000))).collect();
    assert_eq!(sent.len(), 26, "half of what fills the assumed network");
    // the window of 108,250 bytes is halved, and 25 packets are under way: the cut one must wait
    sender.on_feedback(at(9000), &answer(&sent[0], Kind::Nack, 0), None);
    assert_eq!(sender.window_bytes(), 54_125);
    assert_eq!(sender.readiness(at(9000)), Readiness::Blocked);
    // eleven acknowledgements leave 14 packets under way, and the window has grown to 14.02: less than a packet is free, which
    // is enough for what is lost
    for header in &sent[1..11] {
        sender.on_feedback(at(12_000), &answer(header, Kind::Ack, 0), None);
        assert_eq!(sender.readiness(at(12_000)), Readiness::Blocked);
    }
    sender.on_feedback(at(12_000), &answer(&sent[11], Kind::Ack, 0), None);
    let again = data(&mut sender, at(12_000)).unwrap();
    assert_eq!((again.sequence, again.sent_at), (0, at(12_000)));
    assert!(again.flags.has(Flags::RETRANSMISSION));
    assert_eq!(sender.readiness(at(12_000)), Readiness::Blocked);
}

/// The window after a packet is trimmed, after another is that was sent with it, and after the repetition of the first is.
fn windows_of_trims(congestion: &str, recovery: &str) -> [u64; 3] {
    let spec = format!(r#"{{"congestion": "{congestion}", "recovery": "{recovery}"}}"#);
    let spec: TransportSpec = serde_json::from_str(&spec).unwrap();
    let rtt = Duration::from_ns(10_000);
    let mut sender =
        Sender::new(&Profile::new(&spec, Path::of_equal_links(rtt, RATE, 2, 250_000)).unwrap(), 1);
    sender.post(at(1000), 1 << 20);
    let sent: Vec<Header> =
        (0..).map_while(|turn| data(&mut sender, at(1000 + 166 * turn))).take(8).collect();
    let trim = |sender: &mut Sender, header: &Header| {
        sender.on_feedback(at(20_000), &answer(header, Kind::Nack, 0), None);
        sender.window_bytes()
    };
    let first = trim(&mut sender, &sent[0]);
    let second = trim(&mut sender, &sent[1]);
    for header in &sent[3..] {
        sender.on_feedback(at(20_000), &answer(header, Kind::Ack, 0), None);
    }
    let again = data(&mut sender, at(21_000)).unwrap();
    assert_eq!((again.sequence, again.flags.has(Flags::RETRANSMISSION)), (0, true));
    [first, second, trim(&mut sender, &again)]
}

#[test]
fn the_loss_of_a_repetition_is_a_sign_of_congestion_of_its_own() {
    for congestion in ["cubic", "dctcp"] {
        for recovery in ["trimming", "sack", "rltp", "irn"] {
            let [first, second, again] = windows_of_trims(congestion, recovery);
            assert_eq!(first, second, "{congestion} {recovery}: of one window of data");
            assert!(again < first, "{congestion} {recovery}: {again} after {first}");
        }
    }
}

fn nscc() -> Control {
    let spec: CongestionSpec = serde_json::from_str(r#"{"kind": "nscc"}"#).unwrap();
    let profile = ultra_ethernet("uec_nscc");
    spec.plugin().build(profile.path(), profile.sizes()).unwrap()
}

#[test]
fn a_header_is_faster_than_what_the_window_is_for_and_reports_of_older_packets_are_ignored() {
    let mut control = nscc();
    let most = control.window_bytes();
    let lost = |now, age| Lost {
        now,
        bytes: 4150,
        cause: LossCause::Trimmed { last_hop: true },
        first_of_window: true,
        again: false,
        cumulative: 0,
        next: 0,
        in_flight: 20 * 4150,
        age,
    };
    let acked = |now, ecn| Acked {
        now,
        bytes: 4150,
        ecn,
        rtt: Some(Duration::from_ns(60_000)),
        age: Duration::from_ns(60_000),
        endpoint_delay: Duration::ZERO,
        in_flight: 20 * 4150,
        sequence: 0,
        cumulative: 0,
        next: 60,
        telemetry: None,
    };
    // 13.7 us instead of 14.02, which full packets take: the largest window stays, and a packet is taken
    control.on_loss(&lost(at(14_000), Duration::from_ns(13_700)));
    assert!(control.window_bytes().abs_diff(most - 4150) <= 1, "{}", control.window_bytes());
    // a round trip and a target later the window falls to what has arrived, one packet at least
    control.on_loss(&lost(at(60_000), Duration::from_ns(50_000)));
    assert_eq!(control.window_bytes(), 4150);
    control.on_ack(&acked(at(60_100), false));
    let window = control.window_bytes();
    // what was under way then says nothing new, whether it was marked or trimmed
    for turn in 0..9 {
        control.on_loss(&lost(at(60_200 + turn), Duration::from_ns(50_000)));
        control.on_ack(&acked(at(60_200 + turn), true));
        assert_eq!(control.window_bytes(), window);
    }
}

#[test]
fn a_guess_asks_for_what_it_has_spent_and_one_packet_at_least() {
    let profile = ultra_ethernet("uec_rccc");
    let (mut sender, mut receiver, mut pacer) =
        (Sender::new(&profile, 1), Receiver::new(&profile, 0), Pacer::new());
    sender.post(Time::ZERO, 2_000_000);
    let first = data(&mut sender, Time::ZERO).unwrap();
    let second = data(&mut sender, at(332)).unwrap();
    // 4,150 and 8,300 bytes in quanta of 256
    assert_eq!((first.pull, second.pull), (17, 33));
    // a turn gives what was asked for, and later four payloads at most: 64 quanta
    let mut given = Vec::new();
    for header in [first, Header { pull: 1000, ..second }] {
        receiver.on_packet(at(6000), &header, Mark::default(), &mut pacer, &mut |_| {});
        while pacer.deadline() < at(9000) {
            let now = pacer.deadline().max(at(6000));
            assert_eq!(pacer.next(now), Some(0));
            receiver.on_turn(now, &mut pacer, &mut |pull| given.push(pull.pull));
            if given.len() > 3 {
                break;
            }
        }
    }
    assert_eq!(given[..3], [17, 81, 145]);
}

/// The pulls that a receiver sends on its own from `now` on.
fn pulls(receiver: &mut Receiver, pacer: &mut Pacer, now: Time) -> Vec<u32> {
    let mut given = Vec::new();
    while pacer.deadline() < Time::MAX && given.len() < 1000 {
        let now = pacer.deadline().max(now);
        assert_eq!(pacer.next(now), Some(0));
        receiver.on_turn(now, pacer, &mut |pull| given.push(pull.pull));
    }
    given
}

#[test]
fn htsims_receivers_give_what_is_left_over_to_senders_that_are_done() {
    let of_htsim = ultra_ethernet("uec_rccc");
    let spec = TransportSpec {
        congestion: serde_json::from_str(r#"{"kind": "rccc"}"#).unwrap(),
        packets: *of_htsim.sizes(),
        ..TransportSpec::default()
    };
    let own = Profile::new(&spec, *of_htsim.path()).unwrap();
    for (profile, expected) in [(own, 1), (of_htsim, 18)] {
        let (mut sender, mut receiver, mut pacer) =
            (Sender::new(&profile, 1), Receiver::new(&profile, 0), Pacer::new());
        sender.post(Time::ZERO, 8172);
        for ns in [0, 332] {
            let header = data(&mut sender, at(ns)).unwrap();
            receiver.on_packet(at(6000), &header, Mark::default(), &mut pacer, &mut |_| {});
        }
        // 17 quanta were asked for; 64 at a time follow until 1,027 are left over
        let given = pulls(&mut receiver, &mut pacer, at(6000));
        assert_eq!(given.len(), expected, "{given:?}");
        assert_eq!(given[0], 17);
        assert!(!receiver.outlives_its_sender());
        if expected > 1 {
            // who asks for more than before has a turn, though that was given long ago, and another of what is left over
            let more = Header { pull: 20, ..Header::default() };
            receiver.on_packet(at(90_000), &more, Mark::default(), &mut pacer, &mut |_| {});
            let last = given[given.len() - 1];
            assert_eq!(pulls(&mut receiver, &mut pacer, at(90_000)), [last, last + 64]);
        }
    }
}

#[test]
fn messages_shorter_than_the_guess_ask_htsims_eqds_for_more_than_they_will_get() {
    for (leftovers, endless) in [(false, false), (true, true)] {
        let spec = format!(r#"{{"congestion": {{"kind": "eqds", "htsim-leftovers": {leftovers}}}}}"#);
        let profile =
            Profile::new(&serde_json::from_str(&spec).unwrap(), *ultra_ethernet("eqds").path()).unwrap();
        let (mut sender, mut receiver, mut pacer) =
            (Sender::new(&profile, 1), Receiver::new(&profile, 0), Pacer::new());
        sender.post(Time::ZERO, 100);
        let header = data(&mut sender, Time::ZERO).unwrap();
        assert_eq!(header.pull == u32::MAX, endless, "{}", header.pull);
        receiver.on_packet(at(6000), &header, Mark::default(), &mut pacer, &mut |_| {});
        // it waits in vain as soon as it had a turn, and keeps nobody awake
        assert_eq!(pulls(&mut receiver, &mut pacer, at(6000)).len(), usize::from(endless));
        assert_eq!(receiver.outlives_its_sender(), endless);
    }
}

/// What a receiver says to a packet that has come.
fn said(receiver: &mut Receiver, now: Time, header: &Header) -> Vec<Header> {
    let mut said = Vec::new();
    receiver.on_packet(now, header, Mark::default(), &mut Pacer::new(), &mut |header| said.push(header));
    said
}

#[test]
fn a_sender_whose_window_is_full_of_lost_packets_asks_what_has_arrived_once() {
    let profile = ultra_ethernet("uec_nscc_notrim");
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    sender.post(Time::ZERO, 2_000_000);
    let sent: Vec<Header> = (0..).map_while(|turn| data(&mut sender, at(332 * turn))).collect();
    assert_eq!(sent.len(), 63, "one and a half times what the way holds, 63.35 packets");
    // two arrive; the acknowledgement of the first to come is lost, the other needs none yet
    assert_eq!(said(&mut receiver, at(12_000), &sent[10]).len(), 1);
    assert!(said(&mut receiver, at(12_000), &sent[11]).is_empty());
    // 15 us and six times what the queue takes to drain; window and bytes under way fall alike
    let first = at(15_000) + Duration::from_ps(6 * 178_450 * 80);
    assert_eq!(sender.deadline(), first);
    sender.on_timer(first);
    assert_eq!(sender.window_bytes() / 4150, 62);
    assert_eq!(sender.in_flight_bytes(), 62 * 4150);
    let request = data(&mut sender, first).unwrap();
    assert_eq!(request.kind, Kind::RequestToSend);
    // the next two time out while the answer is on its way, and ask for nothing
    for _ in 0..2 {
        let now = sender.deadline();
        sender.on_timer(now);
        assert_eq!(sender.readiness(now), Readiness::Blocked);
    }
    let back = first + Duration::from_ns(12_000);
    let answer = said(&mut receiver, back, &request);
    assert_eq!((answer.len(), answer[0].kind, answer[0].received_bytes), (1, Kind::Ack, 2 * 4150));
    sender.on_feedback(back, &answer[0], None);
    let again = data(&mut sender, back).unwrap();
    assert_eq!((again.kind, again.sequence), (Kind::Data, 0));
}

#[test]
fn who_asks_by_probes_or_is_given_credit_asks_for_no_word() {
    for protocol in ["uec_nscc_notrim_sleek", "uec_rccc"] {
        let mut sender = Sender::new(&ultra_ethernet(protocol), 1);
        sender.post(Time::ZERO, 2_000_000);
        while data(&mut sender, Time::ZERO).is_some() {}
        let now = sender.deadline();
        sender.on_timer(now);
        let asked = data(&mut sender, now).filter(|header| header.kind == Kind::RequestToSend);
        // a guess that is spent asks for credit
        assert_eq!(asked.is_some(), protocol == "uec_rccc", "{protocol}");
    }
    // where credit is given, a request is answered by credit alone
    let request = Header { kind: Kind::RequestToSend, ..Header::default() };
    for (protocol, answers) in [("uec_nscc", 1), ("uec_dctcp", 1), ("uec_rccc", 0), ("ndp", 0)] {
        let mut receiver = Receiver::new(&ultra_ethernet(protocol), 0);
        assert_eq!(said(&mut receiver, at(9000), &request).len(), answers, "{protocol}");
    }
}

/// Whose turns come, and what they have got by then, when the first of two senders asks for six packets, the second for one,
/// and two packets of the second come without their payload.
fn turns(profile: &Arc<Profile>) -> Vec<(u32, u32)> {
    let mut pacer = Pacer::new();
    let mut receivers = [0, 1].map(|id| Receiver::new(profile, id));
    let packet = |sequence, pull| Header { sequence, pull, payload_bytes: 4086, ..Header::default() };
    let cut = Mark { trimmed: true, ..Mark::default() };
    for (id, header, mark) in [
        (0, packet(0, 48), Mark::default()),
        (1, packet(0, 8), Mark::default()),
        (1, packet(1, 8), cut),
        (1, packet(2, 8), cut),
    ] {
        receivers[id].on_packet(at(6000), &header, mark, &mut pacer, &mut |_| {});
    }
    let mut turns = Vec::new();
    while turns.len() < 10 && pacer.waiting() > 0 {
        let now = pacer.deadline().max(at(6000));
        let id = pacer.next(now).unwrap();
        receivers[id as usize].on_turn(now, &mut pacer, &mut |pull| turns.push((id, pull.pull)));
    }
    turns
}

#[test]
fn eqds_gives_credit_first_to_who_must_send_again() {
    let path = *ultra_ethernet("eqds").path();
    let spec =
        |kind: &str| serde_json::from_str(&format!(r#"{{"congestion": {{"kind": "{kind}"}}}}"#)).unwrap();
    let profile = |kind: &str| Profile::new(&spec(kind), path).unwrap();
    // two packets of 4,160 bytes are 18 quanta of 512, and a turn gives eight: three turns before all others, and then the
    // second has more than it asked for, but keeps its place in the round
    let expected = [(1, 8), (1, 16), (1, 24), (0, 8), (1, 32), (0, 16), (0, 24), (0, 32), (0, 40), (0, 48)];
    assert_eq!(turns(&profile("eqds")), expected);
    // Ultra Ethernet's receivers give every sender its turn
    assert_eq!(turns(&profile("rccc"))[..2], [(0, 48), (1, 8)]);
}

#[test]
fn eqds_asks_for_no_credit_for_what_was_trimmed() {
    let spec = serde_json::from_str(r#"{"congestion": {"kind": "eqds"}}"#).unwrap();
    let profile = Profile::new(&spec, *ultra_ethernet("eqds").path()).unwrap();
    let mut sender = Sender::new(&profile, 1);
    sender.post(Time::ZERO, 8192);
    let sent = [0, 332].map(|ns| data(&mut sender, at(ns)).unwrap());
    assert_eq!(sent.map(|header| header.pull), [9, 9], "a packet of 4,160 bytes in quanta of 512");
    for header in &sent {
        sender.on_feedback(at(12_000), &answer(header, Kind::Nack, 0), None);
    }
    let pull = Header { kind: Kind::Pull, pull: 8, ..Header::default() };
    sender.on_feedback(at(12_100), &pull, None);
    // eight quanta lack 64 bytes of a packet, and nothing new waits: nine in all; the other packet's credit comes by itself
    assert_eq!(data(&mut sender, at(12_100)).unwrap().pull, 9);
}

#[test]
fn eqds_asks_for_credit_for_what_vanished() {
    let spec = serde_json::from_str(r#"{"congestion": {"kind": "eqds"}}"#).unwrap();
    let profile = Profile::new(&spec, *ultra_ethernet("eqds").path()).unwrap();
    let mut sender = Sender::new(&profile, 1);
    sender.post(Time::ZERO, 5 * 4096);
    let sent: Vec<Header> = (0..5).map(|turn| data(&mut sender, at(332 * turn)).unwrap()).collect();
    // the guess is void with the first word
    sender.on_feedback(at(12_000), &answer(&sent[0], Kind::Ack, 1), None);
    let mut now = Time::ZERO;
    for turn in 0..4 {
        now = sender.deadline();
        sender.on_timer(now);
        // the first to time out asks for its own 4,160 bytes, the others come too soon after it
        let asked = data(&mut sender, now).map(|header| (header.kind, header.pull));
        assert_eq!(asked, (turn == 0).then_some((Kind::RequestToSend, 9)));
    }
    // a turn is a little short of a packet, which asks for what is missing: so turns go on until all have gone again
    for turn in 1..5 {
        now += Duration::from_ns(20_000);
        sender.on_feedback(now, &Header { kind: Kind::Pull, pull: 8 * turn, ..Header::default() }, None);
        let again = data(&mut sender, now).unwrap();
        assert_eq!((again.sequence, again.pull), (u64::from(turn), 8 * turn + 1));
        assert_eq!(data(&mut sender, now), None);
    }
}

/// A packet's round trip that has grown by three of the base from one segment to the next: the gradient is far above 1.
#[test]
fn a_steep_gradient_leaves_timely_at_least_what_one_decrease_leaves() {
    let spec: TransportSpec = serde_json::from_str(r#"{"congestion": {"kind": "timely"}}"#).unwrap();
    let rtt = Duration::from_ns(20_000);
    let path = Path::of_equal_links(rtt, RATE, 2, 1 << 20);
    let sizes = spec.packets;
    let mut control: Control = spec.congestion.plugin().build(&path, &sizes).unwrap();
    let line = control.gap(16_000).as_ps();
    let mut acked = |number: u64, rtt_ns: u64| {
        control.on_ack(&Acked {
            now: at(number * 10_000),
            bytes: 16_000,
            ecn: false,
            rtt: Some(Duration::from_ns(rtt_ns)),
            age: Duration::from_ns(rtt_ns),
            endpoint_delay: Duration::ZERO,
            in_flight: 1 << 20,
            sequence: number,
            cumulative: number + 1,
            next: number + 100,
            telemetry: None,
        });
        control.gap(16_000).as_ps() as f64 / line as f64
    };
    acked(0, 60_000);
    let after = acked(1, 120_000);
    assert!((4.99..5.01).contains(&after), "1 - beta = 0.2 of the rate is left, not {after}");
}

/// A message that begins where no credit is left is told of, also where a probe is due in the same instant.
#[test]
fn the_word_of_a_message_goes_out_behind_a_probe() {
    let spec = r#"{"congestion": {"kind": "eqds", "htsim-leftovers": true},
                   "recovery": {"kind": "trimming", "sleek": true}}"#;
    let path = Path::of_equal_links(Duration::from_ns(10_000), Bandwidth(12.5e9), 4, 10_000_000);
    let profile = Profile::new(&serde_json::from_str(spec).unwrap(), path).unwrap();
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    sender.post(Time::ZERO, 10_000_000);
    let send = |sender: &mut Sender, now: Time| -> Vec<Header> {
        let next = || match sender.poll_send(now, 1) {
            Poll::Send(header) => Some(header),
            Poll::Wait(_) | Poll::Blocked => None,
        };
        std::iter::from_fn(next).collect()
    };
    // of the first packets one arrives, and nothing else is ever heard
    let first = send(&mut sender, Time::ZERO)[0];
    let mut now = Time::from_ps(10_000_000);
    receiver.on_packet(now, &first, Mark::default(), &mut Pacer::new(), &mut |answer| {
        sender.on_feedback(now + Duration::from_ns(10_000), &answer, None);
    });
    let mut behind_probes = 0;
    for _ in 0..20 {
        now = sender.deadline();
        send(&mut sender, now);
        sender.post(now, 1);
        sender.on_timer(now);
        let kinds: Vec<Kind> = send(&mut sender, now).iter().map(|header| header.kind).collect();
        assert!(kinds.contains(&Kind::RequestToSend), "{kinds:?}");
        behind_probes += usize::from(kinds.contains(&Kind::Probe));
    }
    assert!(behind_probes > 0, "no probe was due");
}

/// Most that was under way behind a trimmed packet arrives as headers, too: each report is of a transmission that was made again.
#[test]
fn reports_of_what_was_sent_again_do_not_make_go_back_n_start_again() {
    let text =
        r#"{"congestion": {"kind": "fixed-window", "window": "100 kB"}, "recovery": {"kind": "go-back-n"}}"#;
    let spec: TransportSpec = serde_json::from_str(text).unwrap();
    let path = Path::of_equal_links(Duration::from_ns(14_000), RATE, 2, 250_000);
    let mut sender = Sender::new(&Profile::new(&spec, path).unwrap(), 1);
    sender.post(Time::ZERO, 40_960);
    let first: Vec<Header> = (0..100).map_while(|turn| data(&mut sender, at(turn))).collect();
    let sequences = |sent: &[Header]| sent.iter().map(|header| header.sequence).collect::<Vec<_>>();
    let count = first.len() as u64;
    assert!(count >= 10);
    // packets 3 and those behind it were trimmed, and what is sent again after the first report as well, from 6 on
    sender.on_feedback(at(20_000), &answer(&first[3], Kind::Nack, 3), None);
    let second: Vec<Header> = (0..4).map_while(|turn| data(&mut sender, at(20_000 + turn))).collect();
    assert_eq!(sequences(&second), [3, 4, 5, 6]);
    first[4..].iter().for_each(|header| sender.on_feedback(at(21_000), &answer(header, Kind::Nack, 3), None));
    assert_eq!(sequences(&[data(&mut sender, at(22_000)).unwrap()]), [7]);
    // a report of the last transmission does, and those of the ones before do not even then
    sender.on_feedback(at(23_000), &answer(&second[3], Kind::Nack, 3), None);
    sender.on_feedback(at(23_000), &answer(&first[3], Kind::Nack, 3), None);
    sender.on_feedback(at(23_000), &answer(&first[6], Kind::Nack, 3), None);
    let third: Vec<Header> = (0..100).map_while(|turn| data(&mut sender, at(24_000 + turn))).collect();
    assert!(sequences(&third).into_iter().eq(6..count));
    // what was sent before is still known by its own number
    sender.on_feedback(at(25_000), &answer(&second[2], Kind::Nack, 3), None);
    assert!(sequences(&[data(&mut sender, at(26_000)).unwrap()]) == [5]);
}
