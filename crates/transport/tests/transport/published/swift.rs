//! Swift: a window that follows a delay towards its target.

use stratasim_transport::congestion::swift::{Preset, Swift};

use super::*;

/// Kumar et al., SIGCOMM 2020, algorithm 1 and equation 2, in packets and us; htsim's cuts the window that scales the target to
/// whole packets.
#[test]
fn windows_are_those_of_the_paper() {
    for preset in [Preset::Published, Preset::Htsim] {
        let spec = Swift {
            preset,
            base_target: Some(Duration::from_ns(20_000)),
            flow_scaling_windows: [0.2, 50.0],
            window_limits: [0.1, 60.0],
            additive_increase: 0.5,
            ..Swift::default()
        };
        let mut clock = Clock(0);
        let next = |draws: &mut Draws, _: &Control, step: usize| {
            let now = clock.after(draws, 8_000_000);
            match (step / 200 % 5, draws.below(8)) {
                // nothing but time-outs, apart and together
                (4, 1..) => {
                    clock.0 += u64::from(draws.below(2) * 100_000_000);
                    lost(now, LossCause::Timeout, true)
                }
                (3, 0) => lost(now, LossCause::Gap, true),
                (busy, _) => {
                    let rtt_us = 15.0 + [10.0, 40.0, 90.0, 30.0, 10.0][busy] * draws.unit();
                    acked(now, rtt_us, 1 + u64::from(draws.below(2)), false)
                }
            }
        };
        let (range, small, large) = (50.0, f64::sqrt(0.2), f64::sqrt(50.0));
        let alpha = range / (1.0 / small - 1.0 / large);
        let beta = -alpha / large;
        let (mut cwnd, mut decreased, mut rtt, mut timeouts) = (10.0_f64, None, 10_000_000, 0);
        let rule = |event: &Event| {
            let now = match event {
                Event::Acked(acked, _) => acked.now,
                Event::Lost(lost) => lost.now,
                _ => unreachable!(),
            }
            .as_ps();
            if let Event::Acked(acked, _) = event {
                rtt = acked.rtt.unwrap().as_ps();
            }
            let can_decrease = decreased.is_none_or(|at| now - at >= rtt);
            let mut kept = None;
            let branch = match event {
                Event::Acked(acked, _) => {
                    timeouts = 0;
                    let delay = rtt as f64 / 1e6;
                    let fcwnd = if preset == Preset::Htsim { cwnd.floor() } else { cwnd };
                    // three switches on the way
                    let scaling = f64::max(0.0, f64::min(alpha / fcwnd.sqrt() + beta, range));
                    let target = 20.0 + 3.0 + scaling;
                    let number = acked.bytes as f64 / MTU;
                    if delay >= target {
                        kept = Some(f64::max(1.0 - 0.8 * (delay - target) / delay, 0.5));
                        if can_decrease { "too late" } else { "too late again" }
                    } else if cwnd >= 1.0 {
                        cwnd += 0.5 / cwnd * number;
                        "in time"
                    } else {
                        cwnd += 0.5 * number;
                        "in time below a packet"
                    }
                }
                Event::Lost(Lost { cause: LossCause::Timeout, .. }) => {
                    timeouts += u32::from(can_decrease);
                    if timeouts >= 5 {
                        (cwnd, decreased) = (0.1, Some(now));
                        "reset"
                    } else {
                        kept = Some(0.5);
                        "time-out"
                    }
                }
                _ => {
                    timeouts = 0;
                    kept = Some(0.5);
                    "fast recovery"
                }
            };
            if let Some(kept) = kept.filter(|_| can_decrease) {
                (cwnd, decreased) = (cwnd * kept, Some(now));
            }
            cwnd = cwnd.clamp(0.1, 60.0);
            // below a packet it is paced at cwnd / rtt
            let gap = if cwnd < 1.0 { rtt as f64 / cwnd } else { 0.0 };
            (branch, Limit::Window(cwnd * MTU, gap))
        };
        let branches = [
            "too late",
            "too late again",
            "in time",
            "in time below a packet",
            "time-out",
            "fast recovery",
            "reset",
        ];
        side_by_side(&spec, 20_000, next, rule, &branches);
    }
}
