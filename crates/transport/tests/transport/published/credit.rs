//! Credit of receivers: how much of it, how often, and what senders ask for.

use stratasim_transport::{Flags, Header, Kind, Mark, Pacer, Poll, Profile, Receiver, Sender, TransportSpec};

use super::*;

/// What a turn gives, and picoseconds from one to the next where senders ask for more than they get.
fn turns(congestion: &str) -> (u32, f64) {
    let text = format!(r#"{{"congestion": {congestion}}}"#);
    let spec: TransportSpec = serde_json::from_str(&text).unwrap();
    let mut receiver = Receiver::new(&Profile::new(&spec, PATH).unwrap(), 0);
    let mut pacer = Pacer::new();
    for sequence in 0..40 {
        let header =
            Header { kind: Kind::Data, sequence, pull: 1 << 20, payload_bytes: 4096, ..Header::default() };
        receiver.on_packet(Time::from_ps(1), &header, Mark::default(), &mut pacer, &mut |_| {});
    }
    let mut given = Vec::new();
    while given.len() < 21 {
        let now = pacer.deadline().max(Time::from_ps(1));
        assert_eq!(pacer.next(now), Some(0), "{congestion}");
        receiver.on_turn(now, &mut pacer, &mut |pull| given.push((now.as_ps(), pull.pull)));
    }
    let ((first_at, first), (last_at, last)) = (given[0], given[20]);
    ((last - first) / 20, (last_at - first_at) as f64 / 20.0)
}

/// RCCC and EQDS give bytes in units, NDP a packet each, all at 0.99 of the link, 80 ps a byte; htsim's RCCC counts whole picoseconds
/// per unit of 256 bytes, and its EQDS gives a pull in 0.99 times what a full packet and 38 bytes of framing take.
#[test]
fn credit_comes_at_the_rate_of_the_link() {
    for (congestion, units, ps) in [
        (r#""rccc""#, 64, 4.0 * 4096.0 * 80.0 / 0.99),
        (r#"{"kind": "rccc", "packets-per-pull": 2, "credit-rate": 0.5}"#, 32, 2.0 * 4096.0 * 160.0),
        (r#"{"kind": "rccc", "htsim-leftovers": true}"#, 64, 64.0 * (256.0 * 80.0 / 0.99_f64).floor()),
        (r#""eqds""#, 8, 4096.0 * 80.0 / 0.99),
        (r#"{"kind": "eqds", "quantum-bytes": 256, "credit-rate": 0.5}"#, 8, 2048.0 * 160.0),
        (r#"{"kind": "eqds", "htsim-pace": true}"#, 8, 0.99 * (4160.0 + 38.0) * 80.0),
        (r#""ndp""#, 1, 4160.0 * 80.0 / 0.99),
        (r#"{"kind": "ndp", "pull-rate": 0.5}"#, 1, 4160.0 * 160.0),
    ] {
        let (given, apart) = turns(congestion);
        assert_eq!(given, units, "{congestion}");
        assert!((apart - ps).abs() <= 1.0, "{congestion}: {apart} ps, not {ps}");
    }
}

/// A sender of EQDS with a message of so many full packets.
fn sender(packets: u64) -> Sender {
    let spec: TransportSpec = serde_json::from_str(r#"{"congestion": "eqds"}"#).unwrap();
    let mut sender = Sender::new(&Profile::new(&spec, PATH).unwrap(), 1);
    sender.post(Time::from_ps(1), packets * 4096);
    sender
}

/// Its next packet, while so many connections of its host would like to send.
fn sent(sender: &mut Sender, sharing: u32) -> Header {
    match sender.poll_send(Time::from_ps(200_000_000), sharing) {
        Poll::Send(header) => header,
        poll => panic!("{poll:?}"),
    }
}

/// Connections that share a host ask for a share each of what they lack, in whole quanta, and never for less than before.
#[test]
fn senders_of_one_host_ask_for_their_shares() {
    // the guess is worth 1.5 round trips of the longest way, and each packet of 4,160 bytes is missed of it
    let most = 1.5 * LINE * 14e-6;
    for sharing in [1_u32, 2, 3, 8, 9, 67, 100] {
        let mut sender = sender(1000);
        for packets in 1..=(most / MTU) as u32 {
            let missed = f64::from(packets) * MTU / f64::from(sharing);
            let quanta = (missed.ceil() / 512.0).ceil() as u32;
            assert_eq!(sent(&mut sender, sharing).pull, quanta, "{packets} packets, one of {sharing}");
        }
    }
    // three packets alone, two beside nine others, and one alone again: the share of five is 4 quanta
    let mut sender = sender(1000);
    let asked = [1, 1, 1, 10, 10, 1].map(|sharing| sent(&mut sender, sharing).pull);
    assert_eq!(asked, [9, 17, 25, 25, 25, 49]);
}

/// What is only guessed will be void when the receiver speaks: whoever lives on a guess, and has more to send, asks for a packet at
/// least, though the guess is enough for all. Who holds credit asks for what is missing.
#[test]
fn a_guess_that_is_enough_asks_for_a_packet_and_credit_that_is_enough_for_nothing() {
    // nothing waits behind the last packet
    assert_eq!(sent(&mut sender(1), 1).pull, 0);
    let mut short = sender(3);
    assert_eq!([0; 3].map(|_| sent(&mut short, 1).pull), [9, 9, 9]);
    // a packet of four connections is 1,040 bytes
    assert_eq!(sent(&mut sender(2), 4).pull, 3);
    let mut sender = sender(10);
    let first = sent(&mut sender, 1);
    let ack = Header { kind: Kind::Ack, flags: Flags::default(), cumulative: 1, payload_bytes: 0, ..first };
    sender.on_feedback(Time::from_ps(2), &ack, None);
    // 100 quanta of real credit for nine packets of nine quanta each
    sender.on_feedback(Time::from_ps(2), &Header { kind: Kind::Pull, pull: 100, ..Header::default() }, None);
    assert_eq!([0; 9].map(|_| sent(&mut sender, 1).pull), [100; 9]);
}

/// Where the sender has a control of its own, it asks for no more than its window and a packet, though it may hold more (RCCC).
#[test]
fn a_window_limits_what_is_asked_for() {
    let spec: TransportSpec =
        serde_json::from_str(r#"{"congestion": {"kind": "rccc", "sender": {}}}"#).unwrap();
    let mut sender = Sender::new(&Profile::new(&spec, PATH).unwrap(), 1);
    let at = |us: u64| Time::ZERO + Duration::from_ns(1000 * us);
    sender.post(at(1), 1000 * 4096);
    let first = [0; 30].map(|_| sent(&mut sender, 1));
    // they come marked and late: the window falls below what the guess was worth, of which nothing is left
    for header in first {
        let ack = Header {
            kind: Kind::Ack,
            flags: Flags::ECN_ECHO,
            cumulative: header.sequence + 1,
            payload_bytes: 0,
            ..header
        };
        sender.on_feedback(at(300), &ack, None);
    }
    let window = sender.window_bytes();
    assert!(window + 2 * 4160 < 262_500, "{window}");
    sender.on_feedback(at(301), &Header { kind: Kind::Pull, pull: 33, ..Header::default() }, None);
    for packets in 1..=3 {
        let left = 33 * 256 - packets * 4160;
        let quanta = (window as i64 + 4160 - left).unsigned_abs().div_ceil(256);
        assert_eq!(u64::from(sent(&mut sender, 1).pull), 33 + quanta);
    }
}

/// NDP: a packet that comes brings a pull for another one, but the last that there is brings none, nor do those that wait for their
/// turn when it comes.
#[test]
fn nobody_is_pulled_for_what_there_is_not() {
    let spec: TransportSpec = serde_json::from_str(r#"{"congestion": "ndp"}"#).unwrap();
    let profile = Profile::new(&spec, PATH).unwrap();
    for (packets, pulls) in [(1, 0), (2, 1), (3, 1), (9, 1)] {
        let (mut receiver, mut pacer) = (Receiver::new(&profile, 0), Pacer::new());
        let mut said = Vec::new();
        // all at once: the first is answered at once, the others wait
        for sequence in 0..packets {
            let flags = Flags::when(sequence + 1 == packets, Flags::LAST);
            let header =
                Header { kind: Kind::Data, sequence, flags, payload_bytes: 4096, ..Header::default() };
            receiver.on_packet(Time::from_ps(1), &header, Mark::default(), &mut pacer, &mut |answer| {
                said.push(answer);
            });
        }
        while pacer.deadline() < Time::MAX {
            let now = pacer.deadline();
            assert_eq!(pacer.next(now), Some(0));
            receiver.on_turn(now, &mut pacer, &mut |pull| said.push(pull));
        }
        let given = said.iter().map(|answer| answer.pull).max();
        assert_eq!(given, Some(pulls), "{packets}");
        let carries = |answer: &&Header| answer.kind == Kind::Pull || answer.flags.has(Flags::PULL);
        assert_eq!(said.iter().filter(carries).count(), pulls as usize, "{packets}");
    }
}

/// What is left over goes to senders that are done, until they hold all that they may: 1.5 round trips.
#[test]
fn senders_hold_so_much_credit_and_no_more() {
    let mut sender = sender(1);
    let first = sent(&mut sender, 1);
    let ack = Header { kind: Kind::Ack, flags: Flags::default(), cumulative: 1, payload_bytes: 0, ..first };
    let at = Time::from_ps(200_000_001);
    sender.on_feedback(at, &ack, None);
    for turn in 1..=200 {
        sender.on_feedback(at, &Header { kind: Kind::Pull, pull: 8 * turn, ..Header::default() }, None);
    }
    sender.post(at, 1000 * 4096);
    let going = std::iter::from_fn(|| match sender.poll_send(at, 1) {
        Poll::Send(header) => (header.kind == Kind::Data).then_some(header),
        Poll::Wait(_) | Poll::Blocked => None,
    });
    assert_eq!(going.count(), (1.5 * LINE * 14e-6 / MTU).ceil() as usize);
}

/// What comes to receivers of EQDS: to which, which packet, what it asks for, whether it is the last, and whether all of it comes.
type Coming = (u32, u64, u32, bool, bool);

/// Whose turns follow, so many at most, and what they have got by then.
fn turns_of_eqds(
    receivers: &mut [Receiver],
    pacer: &mut Pacer,
    coming: &[Coming],
    most: usize,
) -> Vec<(u32, u32)> {
    for &(id, sequence, pull, is_last, is_whole) in coming {
        let flags = Flags::when(is_last, Flags::LAST);
        let header =
            Header { kind: Kind::Data, sequence, pull, flags, payload_bytes: 4096, ..Header::default() };
        let mark = Mark { trimmed: !is_whole, ..Mark::default() };
        receivers[id as usize].on_packet(Time::from_ps(1), &header, mark, pacer, &mut |_| {});
    }
    let mut turns = Vec::new();
    while turns.len() < most && pacer.deadline() < Time::MAX {
        let now = pacer.deadline().max(Time::from_ps(1));
        let id = pacer.next(now).expect("somebody waits");
        receivers[id as usize].on_turn(now, pacer, &mut |pull| turns.push((id, pull.pull)));
    }
    turns
}

/// EQDS: whoever has to send again has turns before all others, in turn with others that have, and one place among these and one among
/// those that wait: nobody gets credit for the same packets twice.
#[test]
fn who_must_send_again_has_one_place_in_each_list() {
    let spec: TransportSpec = serde_json::from_str(r#"{"congestion": "eqds"}"#).unwrap();
    let profile = Profile::new(&spec, PATH).unwrap();
    let start = || ([0, 1].map(|id| Receiver::new(&profile, id)), Pacer::new());
    let of = |coming: &[Coming]| {
        let (mut receivers, mut pacer) = start();
        turns_of_eqds(&mut receivers, &mut pacer, coming, 8)
    };
    // a packet of 4,160 bytes is worth two turns of 8 units of 512, and two packets are worth three; both wait in between for what is left
    let both = [(1, 0, 0, false, false), (1, 1, 0, false, false), (0, 0, 0, false, false)];
    assert_eq!(of(&both), [(1, 8), (0, 8), (1, 16), (0, 16), (1, 24)]);
    // who asks for more meanwhile waits behind those that ask already, and not when it has got that with the rest
    let asks = |pull| [(1, 0, 0, false, false), (1, 1, pull, false, true), (0, 0, 8, false, true)];
    assert_eq!(of(&asks(24))[..4], [(1, 8), (1, 16), (0, 8), (1, 24)]);
    assert_eq!(of(&asks(16))[2..], of(&asks(0))[2..]);
    // a sender that is done meanwhile gets nothing, and the next message what it asks for
    let (mut receivers, mut pacer) = start();
    let over = [(1, 0, 0, true, false), (1, 0, 0, true, true)];
    assert_eq!(turns_of_eqds(&mut receivers, &mut pacer, &over, 8), []);
    assert_eq!(turns_of_eqds(&mut receivers, &mut pacer, &[(1, 1, 8, false, true)], 8)[0], (1, 8));
    // nor does another receiver of its number
    let (mut receivers, mut pacer) = start();
    receivers[1].on_packet(
        Time::from_ps(1),
        &Header { kind: Kind::Data, payload_bytes: 4096, ..Header::default() },
        Mark { trimmed: true, ..Mark::default() },
        &mut pacer,
        &mut |_| {},
    );
    receivers[1] = Receiver::new(&profile, 1);
    assert_eq!(turns_of_eqds(&mut receivers, &mut pacer, &[], 20), []);
}

/// EQDS: what is left over goes in turn to senders that have all they asked for, up to what they may hold, and to each once a round.
#[test]
fn what_is_left_over_is_given_in_turn() {
    // 80 units are 10 turns
    let spec = r#"{"congestion": {"kind": "eqds", "max-window": "40960 B"}}"#;
    let spec: TransportSpec = serde_json::from_str(spec).unwrap();
    let profile = Profile::new(&spec, PATH).unwrap();
    let start = || ([0, 1].map(|id| Receiver::new(&profile, id)), Pacer::new());
    let asks = |id| (id, 0, 8, false, true);
    let (mut receivers, mut pacer) = start();
    let given: Vec<_> = (1..=11).map(|turn| (0, 8 * turn)).collect();
    assert_eq!(turns_of_eqds(&mut receivers, &mut pacer, &[asks(0)], 20), given);
    // both have what they asked for
    let idle = || {
        let (mut receivers, mut pacer) = start();
        turns_of_eqds(&mut receivers, &mut pacer, &[asks(0), asks(1)], 2);
        (receivers, pacer)
    };
    let (mut receivers, mut pacer) = idle();
    let more = turns_of_eqds(&mut receivers, &mut pacer, &[(1, 1, 24, false, true)], 6);
    assert_eq!(more, [(1, 16), (1, 24), (0, 16), (1, 32), (0, 24), (1, 40)]);
    // one that is done gets nothing, nor does another one of its number
    let (mut receivers, mut pacer) = idle();
    let alone = turns_of_eqds(&mut receivers, &mut pacer, &[(1, 1, 8, true, true)], 20);
    assert_eq!(alone, given[1..]);
    let (mut receivers, mut pacer) = idle();
    receivers[1] = Receiver::new(&profile, 1);
    assert_eq!(turns_of_eqds(&mut receivers, &mut pacer, &[], 20), given[1..]);
}
