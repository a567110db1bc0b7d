//! Windows that every acknowledgement moves.

use stratasim_transport::congestion::mprdma;

use super::*;

/// A window that every acknowledgement moves, of packets that are marked, trimmed or wait too long by turns.
pub(super) fn of_windows(draws: &mut Draws, clock: &mut Clock, step: usize) -> Event {
    let now = clock.after(draws, 1_000_000);
    let (marked, late) = [(0, 0.0), (2, 20.0), (1, 8.0)][step / 60 % 3];
    match draws.below(60) {
        0 => lost(now, LossCause::Trimmed { last_hop: false }, true),
        1 => lost(now, LossCause::Gap, true),
        2 => lost(now, LossCause::Timeout, draws.below(2) == 0),
        // the shortest round trip is found after some time
        _ => {
            let rtt_us = if step < 1000 { 8.5 } else { 7.2 } + late * draws.unit();
            acked(now, rtt_us, u64::from(draws.below(3)), draws.below(4) < marked)
        }
    }
}

/// Lu et al., NSDI 2018, section 3.2, in packets: an acknowledgement adds 1 / cwnd, or takes 1 / 2 where it is marked.
#[test]
fn mprdma_published() {
    let spec = mprdma::Mprdma { initial_factor: 0.8, max_factor: 1.4, ..mprdma::Mprdma::default() };
    let bdp = LINE_US * 10.0 / MTU;
    let (mut clock, mut cwnd) = (Clock(0), 0.8 * bdp);
    let rule = |event: &Event| {
        let branch = match event {
            // it may be marked where it says nothing new
            Event::Acked(acked, _) if acked.ecn => {
                cwnd -= 0.5 * f64::max(acked.bytes as f64 / MTU, 1.0);
                "marked"
            }
            Event::Acked(acked, _) => {
                cwnd += acked.bytes as f64 / MTU / cwnd;
                "not marked"
            }
            Event::Lost(Lost { cause: LossCause::Timeout, first_of_window, .. }) => {
                cwnd = if *first_of_window { 1.0 } else { cwnd };
                if *first_of_window { "time-out" } else { "known" }
            }
            _ => {
                cwnd -= 0.5;
                "lost"
            }
        };
        cwnd = cwnd.clamp(1.0, 1.4 * bdp);
        (branch, window(cwnd * MTU))
    };
    let next = |draws: &mut Draws, _: &Control, step: usize| of_windows(draws, &mut clock, step);
    side_by_side(&spec, 6000, next, rule, &["marked", "not marked", "time-out", "known", "lost"]);
}

/// The senders of ATLAHS, with their whole bytes and nanoseconds.
#[test]
fn mprdma_htsim() {
    use mprdma::Preset::{Htsim, HtsimConstant, HtsimSwiftLike};
    for preset in [Htsim, HtsimSwiftLike, HtsimConstant] {
        let spec = mprdma::Mprdma { preset, ..mprdma::Mprdma::default() };
        // four hops of 1 us each way, and what 4,096 and 64 bytes take on each, whole nanoseconds: 9.328 us
        let mut base = 4 * (1000 + 327) + 4 * (1000 + 5);
        let mut bdp = f64::from(base) * 12.5;
        let mut cwnd = if preset == Htsim { bdp / 2.0 } else { bdp };
        let rule = |event: &Event| {
            let branch = match event {
                Event::Acked(acked, _) => {
                    let rtt = (acked.age.as_ps() / 1000) as i32;
                    if rtt < base {
                        (base, bdp) = (rtt, (f64::from(rtt) * 12.5).floor());
                        cwnd = cwnd.min(bdp);
                    }
                    let (more, target) = (MTU * MTU / cwnd, 1.5 * f64::from(base));
                    let part = f64::max(1.0 - (f64::from(rtt) - target) / f64::from(rtt), 0.75);
                    let (branch, changed) = match preset {
                        Htsim if acked.ecn => ("down", cwnd - MTU / 2.0),
                        Htsim => ("up", cwnd + more),
                        HtsimSwiftLike if f64::from(rtt) < target => ("up", cwnd + more),
                        HtsimSwiftLike => ("down", cwnd * part),
                        _ => ("constant", bdp),
                    };
                    cwnd = changed.floor();
                    branch
                }
                _ if preset == HtsimConstant => "constant",
                _ => {
                    cwnd /= 2.0;
                    "lost"
                }
            };
            cwnd = cwnd.min(bdp).max(MTU);
            (branch, window(cwnd))
        };
        let mut clock = Clock(0);
        let next = |draws: &mut Draws, _: &Control, step: usize| of_windows(draws, &mut clock, step);
        let branches: &[&str] = if preset == HtsimConstant { &["constant"] } else { &["down", "up", "lost"] };
        side_by_side(&spec, 6000, next, rule, branches);
    }
}
