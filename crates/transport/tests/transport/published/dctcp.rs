//! DCTCP: a window cut by the share of marks.

use stratasim_transport::congestion::dctcp;

use super::windows::of_windows;
use super::*;

/// Alizadeh et al., SIGCOMM 2010, section 3.1, and RFC 8257 on top of RFC 5681, in packets: every window of data ends with
/// `alpha <- (1 - g) alpha + g F`, and with `cwnd <- cwnd (1 - alpha / 2)` where anything of it was marked.
#[test]
fn windows_are_those_of_the_rfc() {
    let mut clock = Clock(0);
    let (mut base, mut sent, mut flight_was) = (0, 10, 10);
    let next = |draws: &mut Draws, control: &Control, step: usize| {
        let now = clock.after(draws, 1_000_000);
        let timed_out = draws.below(1500) == 0;
        if timed_out || draws.below(500) == 0 {
            let cause = if timed_out { LossCause::Timeout } else { LossCause::Gap };
            let Event::Lost(lost) = lost(now, cause, draws.below(3) > 0) else { unreachable!() };
            return Event::Lost(Lost { cumulative: base, next: sent, ..lost });
        }
        let marked = draws.below(8) < [0, 1, 4][step / 400 % 3];
        let Event::Acked(acked, _) = acked(now, 12.0, 1, marked) else { unreachable!() };
        // what the window lets go, or, now and then, less
        let used = if (step / 60).is_multiple_of(7) { 0.3 } else { 1.0 };
        base += 1;
        sent =
            sent.max(base + (control.window_bytes() as f64 / MTU * used) as u64).min(base + flight_was + 1);
        flight_was = sent - base;
        let in_flight = (flight_was.max(1) - 1) * 4160;
        Event::Acked(Acked { in_flight, sequence: base - 1, cumulative: base, next: sent, ..acked }, None)
    };
    let g = 1.0 / 16.0;
    let (mut cwnd, mut ssthresh, mut alpha) = (10.0_f64, f64::INFINITY, 1.0);
    let (mut acked_packets, mut marked_packets, mut cut, mut end) = (0.0, 0.0, false, None);
    let rule = |event: &Event| {
        let branch = match event {
            Event::Acked(acked, _) => {
                let mut branch = "unused";
                acked_packets += 1.0;
                if acked.ecn {
                    (marked_packets, ssthresh, branch) = (marked_packets + 1.0, ssthresh.min(cwnd), "marked");
                }
                let slow_start = cwnd < ssthresh;
                let flight = acked.in_flight as f64 / MTU + 1.0;
                let used = if slow_start { flight >= cwnd / 2.0 } else { flight >= cwnd - 2.0 };
                if used && !acked.ecn {
                    cwnd += if slow_start { 1.0 } else { 1.0 / cwnd };
                    branch = if slow_start { "slow start" } else { "avoidance" };
                }
                if end.is_some_and(|end| acked.cumulative >= end) {
                    alpha = (1.0 - g) * alpha + g * marked_packets / acked_packets;
                    if marked_packets > 0.0 && !cut {
                        cwnd *= 1.0 - alpha / 2.0;
                        (ssthresh, branch) = (cwnd, "cut");
                    }
                    (acked_packets, marked_packets, cut, end) = (0.0, 0.0, false, None);
                }
                end = end.or(Some(acked.next));
                branch
            }
            Event::Lost(lost) if lost.first_of_window => {
                (cut, end) = (true, end.max(Some(lost.next)));
                if lost.cause == LossCause::Timeout {
                    ssthresh = if cwnd > 1.0 { f64::max(cwnd / 2.0, 2.0) } else { ssthresh };
                    cwnd = 1.0;
                    "time-out"
                } else {
                    cwnd /= 2.0;
                    ssthresh = cwnd;
                    "lost"
                }
            }
            _ => "known",
        };
        cwnd = cwnd.max(1.0);
        (branch, window(cwnd * MTU))
    };
    let branches = ["unused", "marked", "slow start", "avoidance", "cut", "time-out", "lost", "known"];
    side_by_side(&dctcp::Dctcp::default(), 80_000, next, rule, &branches);
}

/// DCTCP of uet-htsim: no share of marks, each takes a third of its bytes.
#[test]
fn dctcp_htsim() {
    let spec = dctcp::Dctcp { preset: dctcp::Preset::Htsim, ..dctcp::Dctcp::default() };
    let most = 1.5 * LINE_US * 14.0;
    let (mut clock, mut cwnd) = (Clock(0), most);
    let rule = |event: &Event| {
        let branch = match event {
            Event::Acked(acked, _) => {
                let bytes = acked.bytes as f64;
                cwnd += if acked.ecn { -bytes / 3.0 } else { bytes * MTU / cwnd };
                if acked.ecn { "marked" } else { "not marked" }
            }
            _ => {
                cwnd -= 4160.0;
                "lost"
            }
        };
        cwnd = cwnd.clamp(MTU, most);
        (branch, window(cwnd))
    };
    let next = |draws: &mut Draws, _: &Control, step: usize| of_windows(draws, &mut clock, step);
    side_by_side(&spec, 6000, next, rule, &["marked", "not marked", "lost"]);
}
