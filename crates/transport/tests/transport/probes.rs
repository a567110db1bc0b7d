//! RLTP's probes: when silence sends one, how often, and what their echoes tell.

use stratasim_core::{Duration, Time};
use stratasim_transport::{Flags, Header, Mark, Receiver, Sender};

use crate::repairs::{at, profile, said, sent};

/// RLTP: after 100 us of silence, or mean and four variations of the round trip where that is more (RFC 6298), the oldest packet goes again
/// as a probe, whatever the window; each that follows waits twice as long, up to 64-fold, and after eight in a row the sender gives up.
#[test]
fn probes_of_rltp_follow_silence_ever_more_rarely_and_come_to_an_end() {
    // measured once: the variation is half of the round trip
    for (rtt_us, timeout_us, most) in [(20, 100, 8), (40, 120, 8), (40, 120, 2), (20, 100, 1)] {
        let recovery = format!(r#"{{"kind": "rltp", "max-probes": {most}}}"#);
        let window = r#"{"kind": "fixed-window", "window": "41600 B"}"#;
        let profile = profile(&format!(r#"{{"congestion": {window}, "recovery": {recovery}}}"#), false);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        assert_eq!(sender.deadline(), Time::MAX, "nothing is under way");
        sender.post(Time::ZERO, 100 * 4096);
        let first = sent(&mut sender, Time::ZERO, 100);
        assert_eq!(first.len(), 10);
        assert_eq!(sender.deadline(), at(100_000), "20 us and four times 10 are assumed");
        let heard = at(1000 * rtt_us);
        for answer in said(&mut receiver, heard, &first[0], Mark::default()) {
            sender.on_feedback(heard, &answer, None);
        }
        assert_eq!(sent(&mut sender, heard, 100).len(), 1, "the window is full again");
        let mut now = heard;
        for probes in 0..most {
            now += Duration::from_ns(1000 * timeout_us) * (1 << probes.min(6));
            assert_eq!(sender.deadline(), now, "probe {probes}");
            sender.on_timer(Time::from_ps(now.as_ps() - 1));
            assert_eq!(sent(&mut sender, now, 100), [], "it is too early for probe {probes}");
            sender.on_timer(now);
            let again = sent(&mut sender, now, 100);
            let again: Vec<_> =
                again.iter().map(|probe| (probe.sequence, probe.flags.has(Flags::RETRANSMISSION))).collect();
            assert_eq!(again, [(1, true)], "probe {probes}");
            assert!(!sender.has_failed());
        }
        now += Duration::from_ns(1000 * timeout_us) * (1 << most.min(6));
        assert_eq!(sender.deadline(), now);
        sender.on_timer(now);
        assert!(sender.has_failed(), "{most} probes were in vain");
        assert_eq!((sent(&mut sender, now, 100), sender.deadline()), (Vec::new(), Time::MAX));
    }
}

/// Any answer ends a row of probes: the next silence is as short as the first. The echo of a probe tells what was lost before it, and
/// nothing under way needs no probe.
#[test]
fn an_answer_begins_the_silence_of_rltp_anew() {
    let profile = profile(r#"{"congestion": "fixed-window", "recovery": "rltp"}"#, false);
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    sender.post(Time::ZERO, 4 * 4096);
    assert_eq!(sent(&mut sender, Time::ZERO, 100).len(), 4);
    // all four are lost, and the first two probes are
    let mut probes = Vec::new();
    for now in [100_000, 300_000, 700_000].map(at) {
        assert_eq!(sender.deadline(), now);
        sender.on_timer(now);
        probes = sent(&mut sender, now, 100);
        assert_eq!(probes.len(), 1);
    }
    let mut hear = |sender: &mut Sender, now: Time, packet: &Header| {
        for answer in said(&mut receiver, now, packet, Mark::default()) {
            sender.on_feedback(now, &answer, None);
        }
    };
    hear(&mut sender, at(720_000), &probes[0]);
    let again = sent(&mut sender, at(720_000), 100);
    assert_eq!(again.iter().map(|header| header.sequence).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(sender.deadline(), at(820_000));
    sender.on_timer(at(820_000));
    assert_eq!(sent(&mut sender, at(820_000), 100)[0].sequence, 1);
    assert_eq!(sender.deadline(), at(1_020_000));
    hear(&mut sender, at(830_000), &again[0]);
    // 110 us after 20: a mean of 31.25 and a variation of 30
    assert_eq!(sender.deadline(), at(830_000 + 151_250));
    again[1..].iter().for_each(|packet| hear(&mut sender, at(830_000), packet));
    assert!(sender.is_done());
    assert_eq!(sender.deadline(), Time::MAX);
}

/// The first probe says nothing of congestion (RFC 9002, section 7.6); a second one in vain is a time-out, and the window falls once. A
/// probe that is due and has not gone asks nobody: silence goes on as before.
#[test]
fn a_second_probe_of_rltp_in_vain_is_a_time_out() {
    // cubic begins with ten packets and falls to one; hpcc with the round trip's 60, and falls to half of them
    for (congestion, before, after) in [("cubic", 10, 1), ("hpcc", 60, 30)] {
        let spec = format!(r#"{{"congestion": "{congestion}", "recovery": "rltp"}}"#);
        let mut sender = Sender::new(&profile(&spec, false), 1);
        sender.post(Time::ZERO, 100 * 4096);
        let last = (0..20_000).filter(|&ns| !sent(&mut sender, at(ns), 100).is_empty()).last().unwrap();
        let seen = |sender: &Sender| (sender.window_bytes() / 4160, sender.statistics().timeouts);
        let mut now = at(last + 100_000);
        assert_eq!(sender.deadline(), now, "{congestion}");
        sender.on_timer(now);
        assert_eq!(seen(&sender), (before, 1), "{congestion}");
        // the link has no time for the probe
        now += Duration::from_ns(200_000);
        sender.on_timer(now);
        assert_eq!(seen(&sender), (before, 1), "{congestion}: it has not gone");
        assert_eq!(
            sender.deadline(),
            now + Duration::from_ns(200_000),
            "{congestion}: no longer than before"
        );
        now += Duration::from_ns(10_000);
        assert_eq!(sent(&mut sender, now, 100).len(), 1);
        for (silence, timeouts) in [(200_000, 2), (400_000, 3), (800_000, 4)] {
            now += Duration::from_ns(silence);
            assert_eq!(sender.deadline(), now, "{congestion}");
            sender.on_timer(now);
            assert_eq!(seen(&sender), (after, timeouts), "{congestion}");
            assert_eq!(sent(&mut sender, now, 100).len(), 1);
        }
    }
}

/// What was sent before a probe whose echo, or that of anything later, has come is lost, however few have overtaken it; the probe itself
/// is not.
#[test]
fn the_echo_of_a_probe_of_rltp_tells_what_was_lost_before_it() {
    for is_of_the_probe in [true, false] {
        let window = r#"{"kind": "fixed-window", "window": "16640 B"}"#;
        let spec = format!(r#"{{"congestion": {window}, "recovery": {{"kind": "rltp", "reordering": 9}}}}"#);
        let profile = profile(&spec, false);
        let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
        sender.post(Time::ZERO, 5 * 4096);
        let first = sent(&mut sender, Time::ZERO, 100);
        assert_eq!(first.len(), 4);
        let due = sender.deadline();
        sender.on_timer(due);
        let probe = sent(&mut sender, due, 100)[0];
        let mut hear = |now: Time, packet: &Header| -> Vec<u64> {
            for answer in said(&mut receiver, now, packet, Mark::default()) {
                sender.on_feedback(now, &answer, None);
            }
            sent(&mut sender, now, 100).iter().map(|header| header.sequence).collect()
        };
        let late = due + Duration::from_ns(1000);
        if is_of_the_probe {
            assert_eq!(hear(late, &probe), [1, 2, 3, 4]);
        } else {
            // the packet before it was late, which says nothing of the others, and the fifth goes behind the probe
            assert_eq!(hear(late, &first[3]), [4]);
            let fifth = Header { sequence: 4, serial: probe.serial + 1, sent_at: late, ..probe };
            assert_eq!(hear(late + Duration::from_ns(1000), &fifth), [1, 2]);
        }
    }
}

/// An answer that comes before a probe could go makes it needless.
#[test]
fn a_probe_of_rltp_that_waits_when_an_answer_comes_does_not_go() {
    let window = r#"{"kind": "fixed-window", "window": "16640 B"}"#;
    let profile = profile(&format!(r#"{{"congestion": {window}, "recovery": "rltp"}}"#), false);
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    sender.post(Time::ZERO, 6 * 4096);
    let first = sent(&mut sender, Time::ZERO, 100);
    let due = sender.deadline();
    sender.on_timer(due);
    for answer in said(&mut receiver, due, &first[0], Mark::default()) {
        sender.on_feedback(due, &answer, None);
    }
    let next: Vec<u64> = sent(&mut sender, due, 100).iter().map(|header| header.sequence).collect();
    assert_eq!(next, [4]);
}

/// A packet that was taken for lost and comes late has others wait for as many transmissions as it was behind.
#[test]
fn rltp_learns_how_late_packets_may_be() {
    let spec = r#"{"congestion": {"kind": "fixed-window", "window": "1 MB"}, "recovery": {"kind": "rltp", "reordering": 1}}"#;
    let profile = profile(spec, false);
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    sender.post(Time::ZERO, 40 * 4096);
    let first = sent(&mut sender, Time::ZERO, 100);
    let mut hear = |packet: usize| {
        let now = at(20_000 + 10 * packet as u64);
        for answer in said(&mut receiver, now, &first[packet], Mark::default()) {
            sender.on_feedback(now, &answer, None);
        }
        sent(&mut sender, now, 100).iter().map(|header| header.sequence).collect::<Vec<_>>()
    };
    assert_eq!(hear(0), [0; 0]);
    // one that is one ahead has overtaken those before it
    assert_eq!(hear(4), [1, 2, 3]);
    // the echo of the second is four behind that of the fifth and itself: from now on so many must be ahead
    assert_eq!(hear(1), [0; 0]);
    assert_eq!(hear(8), [0; 0]);
    assert_eq!(hear(9), [5]);
    assert_eq!(hear(11), [6, 7]);
}
