//! TIMELY: a rate that follows the gradient of the round trip.

use stratasim_transport::congestion::timely::Timely;

use super::*;

/// Mittal et al., SIGCOMM 2015, algorithm 1; a gradient counts as 1 at most, and a time-out halves the rate.
#[test]
fn rates_are_those_of_the_paper() {
    let spec =
        Timely { step: Bandwidth(0.01 * LINE), high: Some(Duration::from_ns(90_000)), ..Timely::default() };
    let (mut clock, mut rtt_us) = (Clock(0), 60.0_f64);
    let next = |draws: &mut Draws, _: &Control, step: usize| {
        let now = clock.after(draws, 20_000_000);
        let drift = [-0.8, 1.2, -0.1, 0.3, -0.6][step / 30 % 5];
        rtt_us = (rtt_us + drift + draws.unit() - 0.5).clamp(12.0, 120.0);
        if draws.below(100) == 0 {
            return lost(now, LossCause::Timeout, draws.below(2) == 0);
        }
        acked(now, rtt_us, 1 + u64::from(draws.below(4)), false)
    };
    let (mut rate, mut previous, mut difference, mut negative, mut bytes) = (LINE, None, 0.0, 0, 0);
    let rule = |event: &Event| {
        let branch = match event {
            Event::Acked(acked, _) => 'acked: {
                bytes += acked.bytes;
                if bytes < 16_000 {
                    break 'acked "within a segment";
                }
                bytes = 0;
                let rtt = acked.rtt.unwrap().as_ps() as f64 / 1e6;
                let new_difference = rtt - previous.unwrap_or(rtt);
                previous = Some(rtt);
                difference = (1.0 - 0.875) * difference + 0.875 * new_difference;
                let gradient = difference / 10.0;
                let flat = (50.0..=90.0).contains(&rtt) && gradient <= 0.0;
                negative = if flat { negative + 1 } else { 0 };
                if rtt < 50.0 {
                    rate += 0.01 * LINE;
                    "low"
                } else if rtt > 90.0 {
                    rate *= 1.0 - 0.8 * (1.0 - 90.0 / rtt);
                    "high"
                } else if gradient <= 0.0 {
                    rate += if negative >= 5 { 5.0 } else { 1.0 } * 0.01 * LINE;
                    if negative >= 5 { "hyperactive" } else { "additive" }
                } else {
                    rate *= 1.0 - 0.8 * gradient.min(1.0);
                    "gradient"
                }
            }
            Event::Lost(Lost { first_of_window: true, .. }) => {
                rate /= 2.0;
                "time-out"
            }
            _ => "",
        };
        rate = rate.clamp(1e-4 * LINE, LINE);
        (branch, Limit::Rate(rate))
    };
    let branches = ["within a segment", "low", "high", "hyperactive", "additive", "gradient", "time-out"];
    side_by_side(&spec, 20_000, next, rule, &branches);
}
