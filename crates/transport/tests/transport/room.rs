//! RLTP's flow control: a receiver that has room for some packets only, says so, and is asked when it falls silent.

use std::sync::Arc;

use stratasim_core::{Duration, Time};
use stratasim_transport::harness::channel::{Impairment, Loss};
use stratasim_transport::harness::{Outcome, Reader, Setting, Violation, run};
use stratasim_transport::wire::{self, Acknowledgement, Body, Ends, NO_LIMIT, Refusal};
use stratasim_transport::{
    Flags, Header, Kind, Mark, Pacer, PacketSizes, Poll, Profile, Receiver, Sender, TransportSpec,
};

const PACKETS: u64 = 2000;

fn profile(setting: &Setting, max_probes: u32) -> Arc<Profile> {
    let sizes =
        PacketSizes { payload_bytes: 1000, header_bytes: 64, control_bytes: 64, ..PacketSizes::default() };
    let text = format!(
        r#"{{"congestion": {{"kind": "fixed-window", "factor": 8.0}}, "recovery": {{"kind": "rltp", "max-probes": {max_probes}}}}}"#
    );
    let spec = TransportSpec { packets: sizes, ..serde_json::from_str(&text).unwrap() };
    Profile::new(&spec, setting.path(sizes.wire_bytes(), 64)).unwrap()
}

fn read(setting: &Setting, max_probes: u32) -> Result<Outcome, Violation> {
    run(&profile(setting, max_probes), setting, &[PACKETS * 1000])
}

/// Reads a packet in four times what the link needs for one.
fn slow(room_packets: u64) -> Setting {
    let time_per_packet = Duration::from_ps(4 * 851_200);
    Setting {
        frames: true,
        reader: Some(Reader { room_packets, time_per_packet, from: Time::ZERO }),
        ..Setting::default()
    }
}

/// The harness fails where a packet comes without room.
#[test]
fn a_slow_reader_slows_its_sender_and_nothing_is_lost() {
    for room in [32, 64, 1024] {
        let outcome = read(&slow(room), 8).unwrap();
        assert_eq!((outcome.sender.retransmissions, outcome.lost), (0, 0), "{room}");
        // all but what fits into the buffer is in step with the reader; word of its room comes in units of 16 packets
        let reading = (PACKETS - room) as f64 * 4.0 * 851.2e-9;
        let took = outcome.delivered_at.as_secs_f64();
        assert!((reading * 0.99..reading * 1.03 + 1e-3).contains(&took), "{room}: {took} for {reading} s");
    }
}

#[test]
fn room_for_everything_changes_nothing() {
    let free = Setting { reader: None, ..slow(0) };
    assert_eq!(read(&free, 8), read(&slow(2016), 8));
}

#[test]
fn everything_arrives_where_word_of_room_is_lost_late_or_twice() {
    for seed in 0..200 {
        let some = |rate| Impairment {
            loss: Loss::Bernoulli(rate),
            duplication: 0.05,
            reordering: 0.1,
            late: Duration::from_ns(20_000),
            ..Impairment::default()
        };
        let setting = Setting { forward: some(0.02), back: some(0.3), seed, ..slow(32 + seed % 3 * 16) };
        read(&setting, 64).unwrap_or_else(|violation| panic!("seed {seed}: {violation:?}"));
    }
}

/// Probes are answered, so that they may be as many as they like; they come 4, 8, 16, ... round trips apart, up to 1,024.
#[test]
fn who_is_held_for_long_asks_more_and_more_seldom_and_does_not_give_up() {
    let mut setting = slow(32);
    let from = Time::ZERO + Duration::from_ps(1_000_000_000_000);
    setting.reader = Some(Reader { from, ..setting.reader.unwrap() });
    let outcome = read(&setting, 2).unwrap();
    assert!(outcome.delivered_at > from);
    // an answer is heard, and the next silence begins anew: four round trips
    let rtt = setting.path(1064, 64).network_rtt.as_secs_f64();
    let most = 1.0 / (4.0 * rtt);
    let requests = outcome.sender.requests as f64;
    assert!((0.5 * most..=most + 60.0).contains(&requests), "{requests} of {most}");
}

#[test]
fn a_receiver_that_is_gone_while_it_had_no_room_is_given_up() {
    let setting = Setting::default();
    let mut sender = Sender::new(&profile(&setting, 3), 1);
    sender.on_room(0);
    sender.post(Time::ZERO, 1000);
    let mut now = Time::ZERO;
    assert_eq!(sender.poll_send(now, 1), Poll::Blocked);
    let mut probes = 0;
    while !sender.has_failed() {
        let deadline = sender.deadline();
        assert!(deadline > now && deadline < Time::MAX);
        now = deadline;
        sender.on_timer(now);
        if let Poll::Send(header) = sender.poll_send(now, 1) {
            assert_eq!(header.kind, Kind::Probe);
            probes += 1;
        }
    }
    assert_eq!(probes, 4, "the fourth finds that three were in vain");
    assert_eq!((sender.poll_send(now, 1), sender.deadline()), (Poll::Blocked, Time::MAX));
}

const SENDER: Ends =
    Ends { destination: 2, source: 1, queue_pair: 17, own_queue_pair: 19, epoch: 3, checksum: true };
const RECEIVER: Ends =
    Ends { destination: 1, source: 2, queue_pair: 19, own_queue_pair: 17, epoch: 3, checksum: true };

#[test]
fn frames_of_others_are_not_accepted() {
    let frame = SENDER.frame(&Header::default(), Time::ZERO, 0, Body::Probe);
    assert!(RECEIVER.accepts(&frame));
    for other in [
        Ends { destination: 3, ..RECEIVER },
        Ends { source: 3, ..RECEIVER },
        Ends { own_queue_pair: 18, ..RECEIVER },
        Ends { epoch: 2, ..RECEIVER },
    ] {
        assert!(!other.accepts(&frame), "{other:?}");
    }
}

#[test]
fn room_is_counted_from_the_first_packet_that_is_missing() {
    assert_eq!([0, 15, 16, 100].map(wire::credit), [0, 0, 1, 6]);
    assert_eq!(wire::credit(u64::MAX), NO_LIMIT);
    // numbers have gone round the 32 bits twice
    let far = (2 << 32) + 5;
    let mut ack = Acknowledgement::new(7, 0, 0);
    ack.credit = 3;
    let header = Header { sequence: far + 1, ..Header::default() };
    let of = |body, credit| wire::room(&RECEIVER.frame(&header, Time::ZERO, credit, body), far);
    assert_eq!(of(Body::Ack(ack), 9), Some(far + 2 + 48));
    assert_eq!(of(Body::Credit, 9), Some(far + 1 + 144));
    assert_eq!(of(Body::Credit, NO_LIMIT), Some(u64::MAX));
    assert_eq!(of(Body::Probe, 9), None);
}

/// A connection of three packets of which the first has been sent and was not taken.
fn refused(syndrome: u8) -> (Sender, Arc<Profile>, Refusal) {
    let setting = Setting::default();
    let profile = profile(&setting, 8);
    let mut sender = Sender::new(&profile, 1);
    sender.post(Time::ZERO, 3000);
    let Poll::Send(header) = sender.poll_send(Time::ZERO, 1) else { panic!("there is room") };
    let mut ack = Acknowledgement::new(0, header.serial as u32, 0);
    ack.syndrome = syndrome;
    let frame = RECEIVER.frame(&header, Time::ZERO, NO_LIMIT, Body::Nack(ack));
    assert_eq!(wire::acknowledgement_header(&frame, Time::ZERO, 0, sender.transmissions()), None);
    let refusal = wire::refusal(&frame, 0).unwrap();
    sender.on_refusal(refusal);
    (sender, profile, refusal)
}

#[test]
fn who_may_not_or_says_nonsense_is_done() {
    for (syndrome, expected) in [(2, Refusal::NoAccess), (3, Refusal::Invalid)] {
        let (mut sender, _, refusal) = refused(syndrome);
        assert_eq!(refusal, expected);
        assert!(sender.has_failed());
        assert_eq!((sender.poll_send(Time::ZERO, 1), sender.deadline()), (Poll::Blocked, Time::MAX));
    }
}

#[test]
fn what_the_receiver_was_not_ready_for_goes_again() {
    let (mut sender, profile, refusal) = refused(1);
    assert_eq!(refusal, Refusal::NotReady { sequence: 0 });
    assert_eq!(sender.poll_send(Time::ZERO, 1), Poll::Blocked, "nothing goes behind it");
    let mut receiver = Receiver::new(&profile, 0);
    let mut now = sender.deadline();
    sender.on_timer(now);
    let Poll::Send(header) = sender.poll_send(now, 1) else { panic!("it is due") };
    assert_eq!((header.sequence, header.flags.has(Flags::RETRANSMISSION)), (0, true));
    let mut answers = Vec::new();
    receiver.on_packet(now, &header, Mark::default(), &mut Pacer::new(), &mut |answer| answers.push(answer));
    now += Duration::from_ns(1000);
    sender.on_room(u64::MAX);
    sender.on_feedback(now, &answers[0], None);
    assert_eq!(sender.acknowledged_to(), 1);
    assert!(
        matches!(sender.poll_send(now, 1), Poll::Send(Header { sequence: 1, .. })),
        "and what is behind it"
    );
}
