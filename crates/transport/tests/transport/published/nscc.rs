//! NSCC: marks and delay together.

use stratasim_transport::congestion::nscc::Nscc;

use super::*;

/// Ultra Ethernet's rule as uet-htsim has it, in bytes and ps.
#[test]
fn windows_are_those_of_uet_htsim() {
    let (rtt, rate) = (14e6, LINE * 1e-12);
    let (t, a) = (0.75 * rtt, rtt * rate / 150_000.0);
    let (alpha, fair, eta, fast) = (4.0 * MSS * a * (t / 12e6) / t, 5.0 * MSS * a, 0.15 * MSS * a, 0.25 * a);
    let mut clock = Clock(0);
    let trims = |step: usize| (step / 900).is_multiple_of(2);
    let next = |draws: &mut Draws, _: &Control, step: usize| {
        let phase = step / 150 % 6;
        // in the last, little comes: of that, the window is adapted
        let now = clock.after(draws, if phase == 5 { 16_000_000 } else { 900_000 });
        let wait_us = [0.5, 5.0, 10.0, 25.0, 40.0, 80.0][phase] * draws.unit();
        let rtt_us = (if step < 3000 { 13.0 } else { 11.0 }) + wait_us;
        match draws.below(if phase == 5 && trims(step) { 6 } else { 60 }) {
            0 if trims(step) => lost(now, LossCause::Trimmed { last_hop: draws.below(2) == 0 }, true),
            1 if phase == 4 => lost(now, LossCause::Timeout, true),
            2 => lost(now, LossCause::Gap, true),
            3 if phase == 5 => Event::Rest,
            turn => {
                let marked = wait_us > 6.0 && draws.below(3) > 0 || draws.below(20) == 0;
                let Event::Acked(acked, _) = acked(now, rtt_us, 1 + u64::from(draws.below(3)), marked) else {
                    unreachable!()
                };
                let in_flight = u64::from(draws.below(20)) * 4160;
                Event::Acked(Acked { rtt: acked.rtt.filter(|_| turn > 5), in_flight, ..acked }, None)
            }
        }
    };
    let most = |base: f64| f64::max(1.5 * base * rate, (base * rate / MTU).ceil() * MTU);
    let (mut cwnd, mut maxwnd, mut base, mut avg) = (most(rtt), most(rtt), rtt, 0.0);
    let (mut inc, mut received, mut achieved, mut ignored, mut to_ignore) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let (mut adjusted, mut decreased, mut qa_end, mut trigger) = (0.0, 0.0, 0.0, false);
    let (mut count, mut is_fast) = (0.0, false);
    let rule = |event: &Event| {
        if let Event::Rest = event {
            // what comes next begins a round trip
            (qa_end, trigger) = (0.0, false);
            return ("rest", window(cwnd));
        }
        let average = |avg: f64, base: f64, delay: f64, ecn: bool| {
            let sample = if !ecn && delay > t { 0.25 * base } else { delay };
            0.0125 * sample + (1.0 - 0.0125) * avg
        };
        let (now, bytes, in_flight, sample) = match event {
            Event::Acked(acked, _) => (acked.now, acked.bytes, acked.in_flight, acked.rtt),
            Event::Lost(lost) if matches!(lost.cause, LossCause::Trimmed { .. }) => {
                (lost.now, lost.bytes, lost.in_flight, Some(lost.age))
            }
            Event::Lost(lost) => (lost.now, lost.bytes, lost.in_flight, None),
            _ => unreachable!(),
        };
        let (now, bytes) = (now.as_ps() as f64, bytes as f64);
        let (mut delay, mut loss, ecn) =
            (avg, false, matches!(event, Event::Acked(Acked { ecn: true, .. }, _) | Event::Lost(_)));
        if let Some(rtt) = sample {
            // no full packet is faster than 10 us
            let rtt = f64::max(rtt.as_ps() as f64, 10e6);
            if rtt < base {
                (base, maxwnd) = (rtt, most(rtt));
            }
            delay = rtt - base;
        }
        match event {
            Event::Acked(..) => {
                (achieved, received, ignored) = (achieved + bytes, received + bytes, ignored + bytes);
                avg = if sample.is_some() { average(avg, base, delay, ecn) } else { avg };
            }
            Event::Lost(Lost { cause: LossCause::Trimmed { .. }, .. }) => {
                ignored += bytes;
                delay = rtt;
                avg = average(avg, base, delay, true);
                (loss, trigger) = (true, true);
            }
            Event::Lost(Lost { cause: LossCause::Timeout, .. }) => {
                cwnd = f64::max(cwnd - bytes, MTU).min(maxwnd);
                return ("time-out", window(cwnd));
            }
            _ => return ("gap", window(cwnd)),
        }
        if ecn && ignored < to_ignore {
            (inc, received) = (0.0, 0.0);
            return ("ignored", window(cwnd));
        }
        if now > qa_end {
            let acts = qa_end != 0.0 && (trigger || loss || delay > 4.0 * t) && achieved < maxwnd / 8.0;
            let of_trigger = trigger || loss;
            if acts {
                (cwnd, to_ignore, ignored) = (achieved.max(MTU), in_flight as f64, 0.0);
                (trigger, inc, received) = (false, 0.0, 0.0);
            }
            (achieved, qa_end) = (0.0, (now + base + t).floor());
            if acts {
                return (if of_trigger { "adapts to loss" } else { "adapts to delay" }, window(cwnd));
            }
        }
        if loss {
            cwnd = f64::max(cwnd - bytes, MTU).min(maxwnd);
            return ("trimmed", window(cwnd));
        }
        let mut branch = "path only";
        if !ecn && delay >= t {
            inc += fair * bytes;
            branch = "fair increase";
        } else if !ecn {
            branch = "proportional increase";
            if delay < 1e6 {
                count += bytes;
                if count > cwnd || is_fast {
                    (cwnd, is_fast, branch) = (cwnd + bytes * fast, true, "fast increase");
                }
            } else {
                (count, is_fast) = (0.0, false);
            }
            if branch != "fast increase" {
                inc += alpha * bytes * (t - delay);
            }
        } else if delay >= t {
            (count, is_fast, branch) = (0.0, false, "too soon to decrease");
            if avg > t && now - decreased > base {
                cwnd *= f64::max(1.0 - 0.8 * (avg - t) / avg, 0.5);
                (decreased, branch) = (now, "decrease");
            }
        }
        cwnd = cwnd.clamp(MTU, maxwnd);
        if received > 8.0 * MTU || now - adjusted > rtt {
            cwnd += inc / cwnd;
            if now - adjusted >= rtt {
                (cwnd, adjusted) = (cwnd + eta, now);
            }
            (inc, received) = (0.0, 0.0);
        }
        cwnd = cwnd.clamp(MTU, maxwnd);
        (branch, window(cwnd))
    };
    let branches = [
        "ignored",
        "adapts to loss",
        "adapts to delay",
        "trimmed",
        "time-out",
        "gap",
        "rest",
        "path only",
        "fair increase",
        "proportional increase",
        "fast increase",
        "too soon to decrease",
        "decrease",
    ];
    side_by_side(&Nscc::default(), 60_000, next, rule, &branches);
}
