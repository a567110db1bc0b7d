//! CUBIC: a window that grows as a cubic of the time since it was cut.

use stratasim_transport::congestion::cubic::Cubic;

use super::*;

/// RFC 9438, sections 4.1 to 4.8 and 5.8, in packets and seconds.
#[test]
fn windows_are_those_of_the_rfc() {
    let (mut clock, mut sent) = (Clock(0), 100);
    let next = |draws: &mut Draws, control: &Control, step: usize| {
        // a round trip of 20 to 30 ms, and an acknowledgement of a few packets each 10 ms: cubics take seconds
        let now = clock.after(draws, 20_000_000);
        clock.0 += [1_000_000, 10_000_000_000][usize::from((step / 2000).is_multiple_of(2))];
        sent += 40;
        let timed_out = draws.below(1500) == 0;
        if timed_out || draws.below(400) == 0 {
            let cause = if timed_out { LossCause::Timeout } else { LossCause::Gap };
            let Event::Lost(lost) = lost(now, cause, draws.below(4) > 0) else { unreachable!() };
            // nothing of the window before is under way any more, or some of it
            return Event::Lost(Lost { cumulative: sent - 60, next: sent, ..lost });
        }
        let rests = (step / 40).is_multiple_of(6);
        let Event::Acked(acked, _) = acked(
            now,
            20_000.0 + 10_000.0 * draws.unit(),
            1 + u64::from(draws.below(4)),
            draws.below(600) == 0,
        ) else {
            unreachable!()
        };
        let in_flight = if rests { 0 } else { control.window_bytes() };
        Event::Acked(Acked { in_flight, sequence: sent - 50, next: sent, ..acked }, None)
    };
    let (c, beta) = (0.4, 0.7);
    let (mut cwnd, mut ssthresh, mut w_max, mut prior, mut w_est) = (10.0_f64, f64::INFINITY, 0.0, 0.0, 0.0);
    // time in congestion avoidance while the window was used
    let (mut avoids, mut used_for, mut k, mut last, mut rested) = (false, 0.0, 0.0, 0.0, false);
    let (mut of_timeout, mut window_end) = (false, 0);
    let rule = |event: &Event| {
        let (now, next, bytes, known, timed_out) = match event {
            Event::Acked(acked, _) => {
                (acked.now, acked.next, acked.bytes, acked.sequence < window_end, false)
            }
            Event::Lost(lost) => {
                let timed_out = lost.cause == LossCause::Timeout;
                let known = !lost.first_of_window || lost.cumulative < window_end && !timed_out;
                (lost.now, lost.next, lost.bytes, known, timed_out)
            }
            _ => unreachable!(),
        };
        let now = now.as_ps() as f64 * 1e-12;
        let (is_loss, marked) = match event {
            Event::Acked(acked, _) => (false, acked.ecn),
            _ => (true, false),
        };
        let mut branch = if known { "known" } else { "cut" };
        if (is_loss || marked) && !known {
            window_end = next;
            // a second time-out in a row finds nothing new
            if !timed_out || cwnd > 1.0 {
                if cwnd < w_max {
                    (w_max, branch) = (cwnd * (1.0 + beta) / 2.0, "fast convergence");
                } else {
                    w_max = cwnd;
                }
                prior = cwnd;
                cwnd = f64::max(cwnd * beta, if is_loss { 2.0 } else { 1.0 });
                ssthresh = cwnd.max(2.0);
                (avoids, of_timeout) = (false, false);
            }
            if timed_out {
                (cwnd, of_timeout, branch) = (1.0, true, "time-out");
            }
        } else if let Event::Acked(Acked { in_flight, rtt, ecn: false, .. }, _) = event {
            let packets = bytes as f64 / MTU;
            let flight = *in_flight as f64 / MTU + packets;
            if cwnd < ssthresh {
                let used = flight >= cwnd / 2.0;
                cwnd += if used { packets } else { 0.0 };
                (rested, branch) = (rested || !used, if used { "slow start" } else { "unused" });
            } else if flight + 2.0 < cwnd {
                (rested, branch) = (true, "unused");
            } else {
                if !avoids {
                    w_max = if of_timeout { cwnd } else { w_max.max(cwnd) };
                    (avoids, k, w_est, used_for) = (true, f64::cbrt((w_max - cwnd) / c), cwnd, 0.0);
                } else if !rested {
                    used_for += now - last;
                }
                (rested, last) = (false, now);
                let w_cubic = |t: f64| c * (t - k).powi(3) + w_max;
                let alpha = if w_est < prior { 3.0 * (1.0 - beta) / (1.0 + beta) } else { 1.0 };
                w_est += alpha * packets / cwnd;
                if w_cubic(used_for) < w_est {
                    (cwnd, branch) = (w_est, "as Reno");
                } else {
                    let target = w_cubic(used_for + rtt.unwrap().as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
                    branch = if used_for < k { "concave" } else { "convex" };
                    cwnd += (target - cwnd) / cwnd * packets;
                }
            }
        }
        (branch, window(cwnd * MTU))
    };
    let branches = [
        "known",
        "cut",
        "fast convergence",
        "time-out",
        "slow start",
        "unused",
        "as Reno",
        "concave",
        "convex",
    ];
    side_by_side(&Cubic::default(), 60_000, next, rule, &branches);
}

/// RFC 9438, section 4.2: the target is at most 1.5 times the window, so that each packet that is acknowledged opens it by half a
/// packet, and those of a round trip by half of it, however steep the cubic is.
#[test]
fn a_steep_cubic_opens_the_window_by_half_in_a_round_trip() {
    let sizes = PacketSizes::default();
    let spec = Cubic { initial_packets: 1000.0, ..Cubic::default() };
    let mut control = spec.build(&PATH, &sizes).unwrap();
    let Event::Lost(lost) = lost(Time::from_ps(1), LossCause::Gap, true) else { unreachable!() };
    control.on_loss(&lost);
    let mut hear = |second: u64, packets: u64| {
        let Event::Acked(acked, _) = acked(Time::from_ps(second * 1_000_000_000_000), 1e6, packets, false)
        else {
            unreachable!()
        };
        control.on_ack(&Acked { in_flight: control.window_bytes(), ..acked });
        control.window_bytes() as f64 / MTU
    };
    // the curve begins where the window was cut to 700 packets, and a little above it Reno does
    let cut = hear(1, 1);
    assert!((700.0..701.0).contains(&cut), "{cut}");
    // half a minute and a round trip later it is 0.4 (31 - 9.1)^3 = 4,200 packets above the old window
    let after: Vec<f64> = [700, 1050, 1575, 2363].map(|packets| hear(31, packets)).into();
    let expected = [350.0, 525.0, 787.5, 1181.5].iter().scan(cut, |window, half| {
        *window += half;
        Some(*window)
    });
    for (found, expected) in after.iter().zip(expected) {
        assert!((found - expected).abs() < 0.01, "{after:?}, not {expected}");
    }
    // a packet for each of the window brings it to the curve, which is nearer than half of it
    let last = after[3].round() as u64;
    let curve = 0.4 * (31.0 - (300.0_f64 / 0.4).cbrt()).powi(3) + 1000.0;
    let reached = hear(31, last);
    assert!((reached - curve).abs() < 1.0, "{reached}, not {curve}");
}
