//! What is sent again, and when: the rules of recoveries and of receivers, from one report to the next.

use std::collections::BTreeSet;
use std::sync::Arc;

use stratasim_core::{Bandwidth, Duration, Time};
use stratasim_transport::{
    Flags, Header, Kind, Mark, Pacer, Path, Poll, Profile, Receiver, Sender, TransportSpec,
};

/// Two links of 100 Gb/s, a round trip of 20 us, of 60 packets.
pub(super) fn profile(spec: &str, trims: bool) -> Arc<Profile> {
    let spec: TransportSpec = serde_json::from_str(spec).unwrap();
    let path = Path::of_equal_links(Duration::from_ns(20_000), Bandwidth(12.5e9), 2, 250_000);
    Profile::new(&spec, Path { trims, ..path }).unwrap()
}

pub(super) fn at(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

/// What the sender lets go now, of all kinds, up to so many.
pub(super) fn sent(sender: &mut Sender, now: Time, most: usize) -> Vec<Header> {
    let next = || match sender.poll_send(now, 1) {
        Poll::Send(header) => Some(header),
        Poll::Wait(_) | Poll::Blocked => None,
    };
    std::iter::from_fn(next).take(most).collect()
}

/// What the receiver says to a packet.
pub(super) fn said(receiver: &mut Receiver, now: Time, header: &Header, mark: Mark) -> Vec<Header> {
    let mut said = Vec::new();
    receiver.on_packet(now, header, mark, &mut Pacer::new(), &mut |answer| said.push(answer));
    said
}

/// RFC 6675 with the rule of forward acknowledgement: lost is what is `reordering` packets behind one that has arrived. IRN (section
/// 3.1): what any packet has overtaken. Neither takes a packet for lost twice.
#[test]
fn a_packet_is_sent_again_once_when_enough_have_overtaken_it() {
    let arrivals = [0, 2, 3, 4, 8, 9, 7, 14, 20, 19, 30, 31, 32, 33, 39];
    for (recovery, apart) in [
        (r#""sack""#, 3),
        (r#"{"kind": "sack", "reordering": 1}"#, 1),
        (r#"{"kind": "sack", "reordering": 6}"#, 6),
        (r#""irn""#, 1),
    ] {
        let window = r#"{"kind": "fixed-window", "window": "1 MB"}"#;
        let profile = profile(&format!(r#"{{"congestion": {window}, "recovery": {recovery}}}"#), false);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        sender.post(Time::ZERO, 40 * 4096);
        let first = sent(&mut sender, Time::ZERO, 100);
        assert_eq!(first.len(), 40);
        let (mut arrived, mut again) = (BTreeSet::new(), BTreeSet::new());
        for (step, sequence) in (0..).zip(arrivals) {
            let now = at(20_000 + 100 * step);
            for answer in said(&mut receiver, now, &first[sequence], Mark::default()) {
                sender.on_feedback(now, &answer, None);
            }
            arrived.insert(sequence as u64);
            let highest = *arrived.last().unwrap();
            let lost = (0..highest).filter(|open| open + apart <= highest && !arrived.contains(open));
            let expected: Vec<u64> = lost.filter(|open| again.insert(*open)).collect();
            let found: Vec<u64> = sent(&mut sender, now, 100).iter().map(|header| header.sequence).collect();
            assert_eq!(found, expected, "{recovery}: packet {sequence} has arrived");
        }
    }
}

/// IRN, section 3.1 and table 1: 100 us where up to three packets are under way, or else 320 us; and go-back-N's of InfiniBand,
/// 4.096 us times 2^14. Both begin with the last progress.
#[test]
fn time_outs_are_those_of_their_sources() {
    for (recovery, packets, timeout_ns) in [
        (r#""irn""#, 3, 100_000),
        (r#""irn""#, 4, 320_000),
        (r#"{"kind": "irn", "few-packets": 5, "low-timeout": "70 us"}"#, 5, 70_000),
        (r#"{"kind": "irn", "few-packets": 5, "high-timeout": "500 us"}"#, 6, 500_000),
        (r#""go-back-n""#, 3, 4096 << 14),
        (r#"{"kind": "go-back-n", "timeout": "200 us"}"#, 9, 200_000),
    ] {
        let window = r#"{"kind": "fixed-window", "window": "1 MB"}"#;
        let profile = profile(&format!(r#"{{"congestion": {window}, "recovery": {recovery}}}"#), false);
        let timeout = Duration::from_ns(timeout_ns);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        // one arrives, and of the others nothing is heard
        sender.post(at(1000), 4096 * (packets + 1));
        let first = sent(&mut sender, at(1000), 100);
        for answer in said(&mut receiver, at(10_000), &first[0], Mark::default()) {
            sender.on_feedback(at(20_000), &answer, None);
        }
        let mut due = at(20_000) + timeout;
        for round in 0..3 {
            assert_eq!(sender.deadline(), due, "{recovery}, round {round}");
            sender.on_timer(due);
            let again: Vec<u64> = sent(&mut sender, due, 100).iter().map(|header| header.sequence).collect();
            let expected = if recovery.contains("irn") { 1..2 } else { 1..packets + 1 };
            assert_eq!(again, expected.collect::<Vec<_>>(), "{recovery}, round {round}");
            due += timeout;
        }
    }
}

/// DCQCN, section 3.1: a mark is told at once, and at most one notification goes in 50 us, for all that were marked meanwhile.
#[test]
fn marks_are_told_at_once_and_then_once_per_interval() {
    let mut receiver = Receiver::new(&profile(r#"{"congestion": "dcqcn"}"#, false), 0);
    let mut notified = Vec::new();
    for (sequence, (ns, marked)) in (0..).zip([
        (1_000, false),
        (2_000, true),
        (30_000, true),
        (40_000, true),
        (60_000, false),
        (110_000, false),
        (160_000, true),
        (209_999, false),
        (210_000, true),
        (400_000, true),
    ]) {
        while receiver.deadline() <= at(ns) {
            let due = receiver.deadline();
            receiver.on_timer(due, &mut |answer| notified.push((due, answer.kind)));
        }
        let header = Header { kind: Kind::Data, sequence, payload_bytes: 4096, ..Header::default() };
        let mark = Mark { ecn: marked, ..Mark::default() };
        let answers = said(&mut receiver, at(ns), &header, mark);
        notified.extend(answers.iter().map(|answer| (at(ns), answer.kind)));
    }
    notified.retain(|(_, kind)| *kind == Kind::CongestionNotification);
    let times: Vec<Time> = notified.into_iter().map(|(time, _)| time).collect();
    // those of 30 and 40 us together at 52 us
    assert_eq!(times, [2_000, 52_000, 160_000, 210_000, 400_000].map(at));
}

/// uet-htsim's SLEEK: so many packets out of order as one and a half windows hold, or five, tell of a loss; one probe asks after three
/// round trips without an answer, and the next each five later.
#[test]
fn sleek_waits_for_many_packets_out_of_order_and_asks_after_silence() {
    let recovery = r#"{"kind": "trimming", "sleek": true, "timeout": "10 ms"}"#;
    // the window of 20 packets holds 20.3 payloads; that of 80 more than 1.5 round trips do, 91.5 of them
    for (window, threshold) in [(2, 5), (20, 30), (80, 91)] {
        let congestion = format!(r#"{{"kind": "fixed-window", "window": "{} B"}}"#, 4160 * window);
        let spec = format!(r#"{{"congestion": {congestion}, "recovery": {recovery}}}"#);
        for out_of_order in [threshold - 1, threshold] {
            let mut sender = Sender::new(&profile(&spec, false), 1);
            sender.post(Time::ZERO, 4096 * 1000);
            let first = sent(&mut sender, Time::ZERO, 1000);
            assert_eq!(first.len(), window);
            // nothing has arrived but the second packet, and it says what many others might
            let answer = Header {
                kind: Kind::Ack,
                cumulative: 0,
                sack_offset: 1,
                sack: 1,
                out_of_order,
                payload_bytes: 0,
                ..first[1]
            };
            sender.on_feedback(at(20_000), &answer, None);
            let next = sent(&mut sender, at(20_000), 1);
            let again = next.iter().any(|header| header.flags.has(Flags::RETRANSMISSION));
            assert_eq!(again, out_of_order >= threshold, "{window}, {out_of_order}: {next:?}");
            if again || window != 20 {
                continue;
            }
            let mut due = at(80_000);
            for _ in 0..2 {
                assert_eq!(sender.deadline(), due);
                sender.on_timer(due);
                let probes =
                    sent(&mut sender, due, 1000).into_iter().filter(|header| header.kind == Kind::Probe);
                assert_eq!(probes.count(), 1);
                due += Duration::from_ns(100_000);
            }
        }
    }
}

/// RFC 6298, section 2, with gains of 1/8 and 1/4, and 5.5: mean and four variations, or `min-timeout` where that is more, doubled with
/// each time-out in a row, at most 64-fold.
#[test]
fn time_outs_of_sack_follow_the_round_trip() {
    for (margin, least_us) in [("1 us", 1.0), ("1 ms", 1000.0)] {
        let recovery = format!(r#"{{"kind": "sack", "min-timeout": "{margin}"}}"#);
        let profile = profile(&format!(r#"{{"congestion": "fixed-window", "recovery": {recovery}}}"#), false);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        let (mut now_us, mut mean, mut variation) = (0, 20.0, 10.0);
        let us = |us: u64| at(1000 * us);
        for (round, rtt_us) in (0..).zip([30_u64, 30, 90, 25, 25, 25, 400, 20, 20]) {
            sender.post(us(now_us), 1);
            let packet = sent(&mut sender, us(now_us), 1)[0];
            let timeout = mean + f64::max(4.0 * variation, least_us);
            let found = (sender.deadline().as_ps() as f64) * 1e-6 - now_us as f64;
            assert!((found - timeout).abs() < 1e-4, "{margin}, round {round}: {found}, not {timeout}");
            now_us += rtt_us;
            // though it comes after the time-out, its time is known
            for answer in said(&mut receiver, us(now_us), &packet, Mark::default()) {
                sender.on_feedback(us(now_us), &answer, None);
            }
            assert_eq!(sender.deadline(), Time::MAX);
            let rtt = rtt_us as f64;
            (mean, variation) = match round {
                0 => (rtt, rtt / 2.0),
                _ => (0.875 * mean + 0.125 * rtt, 0.75 * variation + 0.25 * f64::abs(mean - rtt)),
            };
        }
        sender.post(us(now_us), 1);
        let mut last = us(now_us);
        let timeout = (mean + f64::max(4.0 * variation, least_us)) * 1e6;
        for round in 0..9 {
            sent(&mut sender, last, 1);
            let found = sender.deadline().saturating_since(last).as_ps() as f64;
            let factor = f64::from(1 << round.min(6));
            assert!(
                (found / timeout / factor - 1.0).abs() < 1e-6,
                "{margin}: {found} after {round} time-outs"
            );
            last = sender.deadline();
            sender.on_timer(last);
        }
    }
}

/// A report of a gap is progress: go-back-N waits for its time-out anew, and from a trimmed packet it starts again at that.
#[test]
fn a_report_starts_the_time_out_of_go_back_n_anew() {
    for (is_trimmed, from) in [(false, 1), (true, 3)] {
        let spec =
            r#"{"congestion": "fixed-window", "recovery": {"kind": "go-back-n", "timeout": "200 us"}}"#;
        let profile = profile(spec, true);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        sender.post(Time::ZERO, 4096 * 6);
        let first = sent(&mut sender, Time::ZERO, 10);
        let mut hear = |now: Time, packet: usize, mark: Mark| {
            let answers = said(&mut receiver, now, &first[packet], mark);
            answers.iter().for_each(|answer| sender.on_feedback(now, answer, None));
            let again = sent(&mut sender, now, 10);
            (answers[0].kind, sender.deadline(), again)
        };
        let (kind, deadline, _) = hear(at(20_000), 0, Mark::default());
        assert_eq!((kind, deadline), (Kind::Ack, at(220_000)));
        // the first but one is lost, and one behind it comes, or only its header
        let mark = Mark { trimmed: is_trimmed, ..Mark::default() };
        let (kind, deadline, again) = hear(at(90_000), 3, mark);
        assert_eq!((kind, deadline), (Kind::Nack, at(290_000)));
        let again: Vec<u64> = again.iter().map(|header| header.sequence).collect();
        assert_eq!(again, (from..6).collect::<Vec<_>>());
    }
}

/// A sender without credit asks for some after four round trips of the longest way without a word, and each time after twice as long,
/// up to 256-fold.
#[test]
fn who_has_no_credit_asks_ever_more_rarely() {
    for congestion in ["rccc", "eqds"] {
        let recovery = r#"{"kind": "trimming", "timeout": "1000 s"}"#;
        let profile = profile(&format!(r#"{{"congestion": "{congestion}", "recovery": {recovery}}}"#), true);
        let mut sender = Sender::new(&profile, 1);
        sender.post(Time::ZERO, 10_000_000);
        let guessed = sent(&mut sender, Time::ZERO, 1000);
        // all of it arrives, and the credit for more is lost
        let last = guessed[guessed.len() - 1];
        let answer =
            Header { kind: Kind::Ack, cumulative: last.sequence + 1, pull: 0, payload_bytes: 0, ..last };
        sender.on_feedback(at(20_000), &answer, None);
        assert_eq!(sent(&mut sender, at(20_000), 10).len(), 0);
        let mut now = at(20_000);
        for round in 0..12_u64 {
            now += Duration::from_ns(20_000) * (4 << round.min(8));
            assert_eq!(sender.deadline(), now, "{congestion}, round {round}");
            sender.on_timer(now);
            let asked: Vec<Kind> = sent(&mut sender, now, 10).iter().map(|header| header.kind).collect();
            assert_eq!(asked, [Kind::RequestToSend], "{congestion}, round {round}");
        }
    }
}

/// An acknowledgement that names packets beyond a gap names the one that caused it, and 63 before it.
#[test]
fn an_acknowledgement_names_its_own_packet_beyond_any_gap() {
    for recovery in ["sack", "rltp", "trimming"] {
        let spec = format!(r#"{{"congestion": "fixed-window", "recovery": "{recovery}"}}"#);
        let mut receiver = Receiver::new(&profile(&spec, false), 0);
        for sequence in 1..200 {
            let header = Header { kind: Kind::Data, sequence, payload_bytes: 4096, ..Header::default() };
            let [answer] = said(&mut receiver, at(sequence), &header, Mark::default())[..] else {
                panic!("{recovery}: one answer to each")
            };
            let first = answer.cumulative + u64::from(answer.sack_offset);
            assert_eq!((answer.cumulative, first), (0, sequence.saturating_sub(63).max(1)), "{recovery}");
            let named = sequence.min(64);
            assert_eq!(answer.sack, u64::MAX >> (64 - named), "{recovery}, {sequence}");
        }
    }
}

/// A receiver that speaks of few packets speaks of each that a probe has overtaken.
#[test]
fn what_a_probe_has_overtaken_is_acknowledged_packet_by_packet() {
    let spec = r#"{"congestion": "nscc", "recovery": {"kind": "trimming", "acknowledge-every": "16 kB"}}"#;
    let profile = profile(spec, true);
    let answers = |overtaken_to: u64| -> Vec<u64> {
        let mut receiver = Receiver::new(&profile, 0);
        if overtaken_to > 0 {
            let probe = Header { kind: Kind::Probe, cumulative: overtaken_to, ..Header::default() };
            assert_eq!(said(&mut receiver, at(1), &probe, Mark::default()).len(), 1);
        }
        let packets = (0..20).map(|sequence| Header {
            kind: Kind::Data,
            sequence,
            payload_bytes: 4096,
            ..Header::default()
        });
        let heard = packets.filter(|header| !said(&mut receiver, at(2), header, Mark::default()).is_empty());
        heard.map(|header| header.sequence).collect()
    };
    // the first at once, and then four packets are more than 16 kB
    assert_eq!(answers(0), [0, 4, 8, 12, 16]);
    assert_eq!(answers(6), [0, 1, 2, 3, 4, 5, 9, 13, 17]);
}

/// A packet that was cut is sent again once, however often that transmission is reported.
#[test]
fn a_cut_packet_that_is_reported_twice_is_sent_again_once() {
    for (congestion, recovery) in [
        ("eqds", "trimming"),
        ("fixed-window", "trimming"),
        ("fixed-window", "sack"),
        ("fixed-window", "irn"),
        ("fixed-window", "rltp"),
    ] {
        let spec = format!(r#"{{"congestion": "{congestion}", "recovery": "{recovery}"}}"#);
        let profile = profile(&spec, true);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        sender.post(Time::ZERO, 4096 * 8);
        let first = sent(&mut sender, Time::ZERO, 8);
        let cut = Mark { trimmed: true, ..Mark::default() };
        let report = said(&mut receiver, at(20_000), &first[2], cut)[0];
        let pull = Header { kind: Kind::Pull, pull: 1000, ..Header::default() };
        let mut again = || {
            sender.on_feedback(at(20_000), &report, None);
            sender.on_feedback(at(20_000), &report, None);
            sender.on_feedback(at(20_000), &pull, None);
            let going = sent(&mut sender, at(20_000), 100);
            going.iter().map(|header| (header.sequence, header.serial)).collect::<Vec<_>>()
        };
        assert_eq!(again(), [(2, 8)], "{congestion} {recovery}");
        assert_eq!(again(), [], "{congestion} {recovery}");
    }
}

/// From the first missing packet to the last that was sent are so many at most as IRN caps and the bitmap of RLTP covers, whatever the
/// window is.
#[test]
fn so_many_packets_are_under_way_at_most() {
    for (kind, key) in [("irn", "cap-packets"), ("rltp", "window-packets")] {
        for most in [3, 9] {
            let recovery = format!(r#"{{"kind": "{kind}", "{key}": {most}}}"#);
            let window = r#"{"kind": "fixed-window", "window": "1 MB"}"#;
            let profile = profile(&format!(r#"{{"congestion": {window}, "recovery": {recovery}}}"#), false);
            let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
            sender.post(Time::ZERO, 40 * 4096);
            let first = sent(&mut sender, Time::ZERO, 100);
            assert_eq!(first.len(), most, "{kind}");
            // the second leaves the first missing, and both together make room for two
            for (packet, more) in [(1, 0), (0, 2)] {
                for answer in said(&mut receiver, at(20_000), &first[packet], Mark::default()) {
                    sender.on_feedback(at(20_000), &answer, None);
                }
                let mut going = sent(&mut sender, at(20_000), 100);
                going.retain(|header| !header.flags.has(Flags::RETRANSMISSION));
                assert_eq!(going.len(), more, "{kind}, {most}: {going:?}");
            }
        }
    }
}
