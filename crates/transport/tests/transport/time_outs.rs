//! Time-outs in recoveries that go on already: what goes again then, and what windows hear of it.

use stratasim_core::{Duration, Time};
use stratasim_transport::{Header, Mark, Receiver, Sender};

use crate::repairs::{at, profile, said, sent};

/// Numbers of the packets that go now.
fn numbers(sender: &mut Sender, now: Time) -> Vec<u64> {
    sent(sender, now, 100).iter().map(|header| header.sequence).collect()
}

/// IRN, section 3.1: a time-out begins a recovery of its own, in which everything goes again that a later packet has overtaken, sent again
/// before or not, and cut or lost without a word. The first goes whatever the window is, the others in their turn.
#[test]
fn a_time_out_of_irn_repeats_what_was_repeated() {
    for (congestion, is_cut, again, after) in [
        (r#"{"kind": "fixed-window", "window": "1 MB"}"#, false, &[0, 1, 2, 3, 4][..], &[0, 1, 2, 3, 4][..]),
        (r#"{"kind": "fixed-window", "window": "1 MB"}"#, true, &[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4]),
        // seven of ten packets after a loss, of which four are under way, and one after a time-out
        (r#""cubic""#, false, &[0, 1, 2], &[0]),
    ] {
        let spec = format!(r#"{{"congestion": {congestion}, "recovery": "irn"}}"#);
        let profile = profile(&spec, true);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        sender.post(Time::ZERO, 10 * 4096);
        let first = sent(&mut sender, Time::ZERO, 10);
        assert_eq!(first.len(), 10);
        let cut = Mark { trimmed: true, ..Mark::default() };
        let arrivals = if is_cut { 0..6 } else { 5..6 };
        let mut now = at(20_000);
        for packet in arrivals {
            let mark = if packet < 5 { cut } else { Mark::default() };
            for answer in said(&mut receiver, now, &first[packet], mark) {
                sender.on_feedback(now, &answer, None);
            }
        }
        assert_eq!(numbers(&mut sender, now), again, "{congestion}, {is_cut}");
        for _ in 0..2 {
            now = sender.deadline();
            sender.on_timer(now);
            assert_eq!(numbers(&mut sender, now), after, "{congestion}, {is_cut}");
        }
    }
}

/// RFC 6675: a packet that was sent again is not taken for lost because later ones arrive, neither after a gap nor after a time-out; its
/// time begins when it goes (RFC 6298, 5.1).
#[test]
fn a_repetition_of_sack_waits_for_its_time_out() {
    for times_out in [false, true] {
        let spec = r#"{"congestion": "fixed-window", "recovery": {"kind": "sack", "min-timeout": "1 ms"}}"#;
        let profile = profile(spec, false);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        sender.post(Time::ZERO, 12 * 4096);
        let mut going = sent(&mut sender, Time::ZERO, 100);
        assert_eq!(going.len(), 12);
        // 20 us are assumed, and measured below
        let (mut now, mut timeout) = (at(20_000), Duration::from_ns(1_020_000));
        if times_out {
            now = at(1_020_000);
            assert_eq!(sender.deadline(), now);
            sender.on_timer(now);
            going = sent(&mut sender, now, 100);
            assert_eq!(going.len(), 12);
            timeout = timeout * 2;
            assert_eq!(sender.deadline(), now + timeout);
            now += Duration::from_ns(20_000);
        }
        let mut again = Vec::new();
        for packet in &going[1..] {
            for answer in said(&mut receiver, now, packet, Mark::default()) {
                sender.on_feedback(now, &answer, None);
            }
            again.extend(numbers(&mut sender, now));
        }
        if times_out {
            assert_eq!(again, [0; 0]);
        } else {
            assert_eq!((again, sender.deadline()), (vec![0], now + timeout));
        }
        sender.on_timer(sender.deadline());
        assert_eq!(numbers(&mut sender, now), [0]);
    }
}

/// A time-out tells of the loss of what was sent again, and so of congestion once more, though a gap has told before (RFC 5681, sections 3.1
/// and 4.3); those that follow it before anything arrives tell nothing new, and the next one after that does.
#[test]
fn windows_hear_of_a_time_out_that_follows_a_gap() {
    // in packets, at the start, after a gap, after a time-out, and after another one: hpcc halves the 60 of the round trip, and looks at no
    // gaps
    for (congestion, [whole, cut, least, again]) in
        [("cubic", [10, 7, 1, 1]), ("dctcp", [10, 5, 1, 1]), ("hpcc", [60, 60, 30, 15])]
    {
        let profile = profile(&format!(r#"{{"congestion": "{congestion}", "recovery": "irn"}}"#), false);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        sender.post(Time::ZERO, 9 * 4096);
        let first: Vec<_> = (0..20_000).flat_map(|ns| sent(&mut sender, at(ns), 10)).collect();
        let window = |sender: &Sender| sender.window_bytes() / 4160;
        assert_eq!((first.len(), window(&sender)), (9, whole), "{congestion}");
        let mut hear = |sender: &mut Sender, now: Time, packets: &[Header]| {
            for packet in packets {
                for answer in said(&mut receiver, now, packet, Mark::default()) {
                    sender.on_feedback(now, &answer, None);
                }
            }
        };
        // the first is lost, and so is its repetition
        hear(&mut sender, at(20_000), &first[1..]);
        assert_eq!(window(&sender), cut, "{congestion}: the gap");
        assert_eq!(numbers(&mut sender, at(40_000)), [0]);
        let mut repetitions = Vec::new();
        for round in 0..3 {
            let now = sender.deadline();
            sender.on_timer(now);
            assert_eq!(window(&sender), least, "{congestion}: time-out {round}");
            repetitions = sent(&mut sender, now, 10);
            assert_eq!(repetitions.len(), 1);
        }
        let mut now = sender.deadline();
        hear(&mut sender, now, &repetitions);
        assert!(sender.is_done());
        sender.post(now, 4096);
        assert_eq!(numbers(&mut sender, now), [9]);
        now = sender.deadline();
        sender.on_timer(now);
        assert_eq!(window(&sender), again, "{congestion}: a later time-out");
    }
}

/// Whether the window falls when these packets come to the receiver, all of them or their headers alone. Those of dctcp grow otherwise
/// where nothing is marked.
fn falls(
    (sender, receiver): (&mut Sender, &mut Receiver),
    now: Time,
    packets: &[Header],
    trimmed: bool,
) -> bool {
    let before = sender.window_bytes();
    for packet in packets {
        for answer in said(receiver, now, packet, Mark { trimmed, ..Mark::default() }) {
            sender.on_feedback(now, &answer, None);
        }
    }
    sender.window_bytes() < before
}

/// IRN, section 3.1: a recovery goes on until all has arrived that was sent before its last time-out. Another one in it tells nothing
/// new, though something has arrived meanwhile, and the first one behind it does.
#[test]
fn a_recovery_of_irn_ends_with_what_was_sent_before_its_last_time_out() {
    // hpcc halves its window of 60 packets at time-outs that tell something, and looks at no gaps
    let profile = profile(r#"{"congestion": "hpcc", "recovery": "irn"}"#, false);
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    let all = |sender: &mut Sender, from: u64| -> Vec<Header> {
        (from..from + 20_000).flat_map(|ns| sent(sender, at(ns), 10)).collect()
    };
    sender.post(Time::ZERO, 9 * 4096);
    let first = all(&mut sender, 0);
    falls((&mut sender, &mut receiver), at(20_000), &first[1..], false);
    // the repetition of the first is lost, and what is sent behind it
    sender.post(at(20_000), 2 * 4096);
    let again: Vec<u64> = all(&mut sender, 20_000).iter().map(|header| header.sequence).collect();
    assert_eq!(again, [0, 9, 10]);
    for (missing, window) in [(0, 30), (9, 30), (10, 30), (11, 15)] {
        if missing == 11 {
            let now = sender.deadline().min(at(2_000_000));
            sender.post(now, 4096);
            assert_eq!(numbers(&mut sender, now), [11]);
        }
        let now = sender.deadline();
        sender.on_timer(now);
        assert_eq!(sender.window_bytes() / 4160, window, "{missing} is missing");
        let again = sent(&mut sender, now, 10);
        assert_eq!(again.iter().map(|header| header.sequence).collect::<Vec<_>>(), [missing]);
        falls((&mut sender, &mut receiver), now, &again, false);
    }
}

/// Losses of one window of data are one sign of congestion, be its packets silent, overtaken or cut.
#[test]
fn a_gap_of_irn_behind_another_loss_of_its_window_tells_nothing_new() {
    let profile = profile(r#"{"congestion": "dctcp", "recovery": "irn"}"#, true);
    let start = || {
        let (mut sender, receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        sender.post(Time::ZERO, 8 * 4096);
        let first = sent(&mut sender, Time::ZERO, 10);
        assert_eq!(first.len(), 8);
        (sender, receiver, first)
    };
    // the window grows again while late ones arrive; then one is missing, and one is cut
    let (mut sender, mut receiver, first) = start();
    let now = sender.deadline();
    sender.on_timer(now);
    assert_eq!(sender.window_bytes(), 4160);
    let again = sent(&mut sender, now, 10);
    for (packets, trimmed) in
        [(&again[..], false), (&first[1..4], false), (&first[5..6], false), (&first[6..7], true)]
    {
        assert!(!falls((&mut sender, &mut receiver), now, packets, trimmed), "{:?}", packets[0]);
    }
    assert!(sender.window_bytes() > 4 * 4160);
    // the first is cut, and the second lost without a word
    let (mut sender, mut receiver, first) = start();
    assert!(falls((&mut sender, &mut receiver), at(20_000), &first[..1], true));
    assert!(!falls((&mut sender, &mut receiver), at(20_000), &first[2..], false));
    assert_eq!(numbers(&mut sender, at(20_000)), [0, 1]);
}

/// RFC 6675, section 5: a window of data ends where everything has arrived that was sent when its first loss was found (`RecoveryPoint`).
/// What is lost until then belongs to it, whenever it was sent, and what is lost after that does not.
#[test]
fn losses_up_to_the_recovery_point_are_one() {
    for recovery in ["sack", "irn", "rltp"] {
        let profile = profile(&format!(r#"{{"congestion": "dctcp", "recovery": "{recovery}"}}"#), false);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        let mut falls = |sender: &mut Sender, packets: &[Header]| {
            falls((sender, &mut receiver), at(20_000), packets, false)
        };
        sender.post(Time::ZERO, 8 * 4096);
        let first = sent(&mut sender, Time::ZERO, 10);
        assert!(falls(&mut sender, &first[1..4]), "{recovery}: the first");
        assert!(!falls(&mut sender, &first[5..]), "{recovery}: sent with it");
        sender.post(at(20_000), 20 * 4096);
        let mut second = sent(&mut sender, at(20_000), 100);
        assert!(!falls(&mut sender, &second[..1]));
        second.extend(sent(&mut sender, at(20_000), 100));
        let numbers: Vec<u64> = second.iter().map(|header| header.sequence).collect();
        assert!(numbers.starts_with(&[0, 4, 8, 9, 10, 11]), "{recovery}: {numbers:?}");
        assert!(!falls(&mut sender, &second[3..6]), "{recovery}: sent after it, while the fifth is missing");
        // with that everything of the window has arrived
        assert!(!falls(&mut sender, &second[1..2]));
        let third: Vec<Header> = sent(&mut sender, at(20_000), 100);
        let new = third.iter().position(|header| header.sequence >= 12).unwrap();
        assert!(falls(&mut sender, &third[new + 1..]), "{recovery}: of another window");
    }
}

/// A time-out of SACK begins a window of data of its own, to which losses belong that are found before its end.
#[test]
fn losses_behind_a_time_out_of_sack_are_of_its_window() {
    let profile = profile(r#"{"congestion": "dctcp", "recovery": "sack"}"#, false);
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    sender.post(Time::ZERO, 8 * 4096);
    assert_eq!(sent(&mut sender, Time::ZERO, 10).len(), 8);
    let now = sender.deadline();
    sender.on_timer(now);
    sender.post(now, 20 * 4096);
    // slow start sends all of it again, of which the fourth is lost, and new ones, of which the first is
    let mut lost = Vec::new();
    while lost.len() < 2 {
        let mut going = sent(&mut sender, now, 100);
        assert!(!going.is_empty());
        going.retain(|header| {
            let is_lost = [3, 8].contains(&header.sequence);
            lost.extend(is_lost.then_some(header.sequence));
            !is_lost
        });
        assert!(!falls((&mut sender, &mut receiver), now, &going, false), "{lost:?} are lost");
    }
    let going = sent(&mut sender, now, 100);
    assert!(!falls((&mut sender, &mut receiver), now, &going, false), "the fourth is missing");
    assert_eq!(numbers(&mut sender, now)[0], 8, "its loss was found");
}

/// RFC 5681, section 4.3: the loss of a repetition is a sign of congestion of its own, and with it begins a window of data: the next
/// one belongs to that. What was sent for the first time since belongs to the window before, while some of it is missing.
#[test]
fn cuts_of_repetitions_are_one_once_more() {
    for recovery in ["sack", "irn", "rltp"] {
        let profile = profile(&format!(r#"{{"congestion": "dctcp", "recovery": "{recovery}"}}"#), true);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        let mut falls = |sender: &mut Sender, packets: &[Header], trimmed: bool| {
            falls((sender, &mut receiver), at(20_000), packets, trimmed)
        };
        sender.post(Time::ZERO, 8 * 4096);
        let first = sent(&mut sender, Time::ZERO, 10);
        assert!(falls(&mut sender, &first[..1], true), "{recovery}");
        assert!(!falls(&mut sender, &first[1..2], true), "{recovery}");
        assert!(!falls(&mut sender, &first[2..], false), "{recovery}");
        sender.post(at(20_000), 20 * 4096);
        let again = sent(&mut sender, at(20_000), 3);
        let numbers: Vec<u64> = again.iter().map(|header| header.sequence).collect();
        assert_eq!(numbers, [0, 1, 8], "{recovery}");
        assert!(!falls(&mut sender, &again[2..], true), "{recovery}: a new one");
        assert!(falls(&mut sender, &again[..1], true), "{recovery}: a repetition");
        assert!(!falls(&mut sender, &again[1..2], true), "{recovery}: another one");
    }
}

/// What leaves the first missing packet missing does not put a time-out off, neither word of others nor that others are sent again
/// (RFC 6298, 5.3; RFC 6675, section 6).
#[test]
fn time_outs_wait_for_the_first_missing_packet() {
    for recovery in ["irn", "sack"] {
        let window = r#"{"kind": "fixed-window", "window": "1 MB"}"#;
        let profile = profile(&format!(r#"{{"congestion": {window}, "recovery": "{recovery}"}}"#), false);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        sender.post(Time::ZERO, 12 * 4096);
        let first = sent(&mut sender, Time::ZERO, 100);
        let mut hear = |sender: &mut Sender, packets: &[Header]| {
            falls((sender, &mut receiver), at(20_000), packets, false)
        };
        let due = sender.deadline();
        hear(&mut sender, &first[1..5]);
        assert_eq!(sender.deadline(), due, "{recovery}");
        assert_eq!(numbers(&mut sender, at(20_000)), [0], "{recovery}");
        let due = sender.deadline();
        hear(&mut sender, &first[6..10]);
        assert_eq!(numbers(&mut sender, at(40_000)), [5], "{recovery}");
        assert_eq!(sender.deadline(), due, "{recovery}");
    }
}

/// A time-out is a sign of congestion for all that had been sent: a header without payload of one of those tells nothing new.
#[test]
fn cuts_behind_a_time_out_of_irn_are_of_its_window() {
    let profile = profile(r#"{"congestion": "dctcp", "recovery": "irn"}"#, true);
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    sender.post(Time::ZERO, 30 * 4096);
    let first = sent(&mut sender, Time::ZERO, 10);
    let now = sender.deadline();
    sender.on_timer(now);
    let again = sent(&mut sender, now, 10);
    assert!(!falls((&mut sender, &mut receiver), now, &again, false));
    assert!(!falls((&mut sender, &mut receiver), now, &first[1..4], false));
    assert!(!falls((&mut sender, &mut receiver), now, &first[6..7], true), "it was sent before the time-out");
}

/// RFC 6298, 5.7: a time-out is doubled until something new is acknowledged, and not after that.
#[test]
fn progress_of_sack_ends_the_doubling_of_its_time_out() {
    let profile = profile(r#"{"congestion": "fixed-window", "recovery": "sack"}"#, false);
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    sender.post(Time::ZERO, 2 * 4096);
    sent(&mut sender, Time::ZERO, 10);
    // 20 us and at least 1 ms
    let timeout = Duration::from_ns(1_020_000);
    let now = sender.deadline();
    sender.on_timer(now);
    let again = sent(&mut sender, now, 10);
    assert_eq!((again.len(), sender.deadline()), (2, now + timeout * 2));
    let now = now + Duration::from_ns(20_000);
    falls((&mut sender, &mut receiver), now, &again[..1], false);
    assert_eq!(sender.deadline(), now + timeout);
}

/// Go-back-N sends all of a window of data again, and what is lost of that belongs to it; the first packet behind it does not.
#[test]
fn a_window_of_go_back_n_is_what_had_been_sent_when_a_loss_was_found() {
    let profile = profile(r#"{"congestion": "dctcp", "recovery": "go-back-n"}"#, false);
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    sender.post(Time::ZERO, 30 * 4096);
    let mut going = sent(&mut sender, Time::ZERO, 8);
    let mut fallen = Vec::new();
    for lost in [0, 2, 7, 8] {
        while going.iter().all(|header| header.sequence <= lost) {
            let whole: Vec<Header> = going.drain(..).filter(|header| header.sequence != lost).collect();
            assert!(!falls((&mut sender, &mut receiver), at(20_000), &whole, false), "{lost}");
            going = sent(&mut sender, at(20_000), 100);
        }
        going.retain(|header| header.sequence != lost);
        if falls((&mut sender, &mut receiver), at(20_000), &going, false) {
            fallen.push(lost);
        }
        going = sent(&mut sender, at(20_000), 100);
        assert_eq!(going[0].sequence, lost, "it is sent again");
    }
    assert_eq!(fallen, [0, 8]);
}

/// After a rest, the time-out begins with the first packet that goes.
#[test]
fn time_outs_begin_anew_on_an_empty_way() {
    for (recovery, timeout_ns) in [("irn", 100_000), ("sack", 1_020_000), ("go-back-n", 4096 << 14)] {
        let spec = format!(r#"{{"congestion": "fixed-window", "recovery": "{recovery}"}}"#);
        let profile = profile(&spec, false);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        for now in [0, 700_000] {
            sender.post(at(now), 4096);
            let going = sent(&mut sender, at(now), 10);
            assert_eq!(sender.deadline(), at(now + timeout_ns), "{recovery}");
            falls((&mut sender, &mut receiver), at(now + 20_000), &going, false);
            assert_eq!(sender.deadline(), Time::MAX, "{recovery}");
        }
    }
}
