//! HPCC: a window that follows the fullest link.

use stratasim_transport::HopRecord;
use stratasim_transport::congestion::hpcc::Hpcc;

use super::*;

/// Li et al., SIGCOMM 2019, algorithm 1, in bits and seconds; a time-out halves the window.
#[test]
fn windows_are_those_of_the_paper() {
    let rates = [12.5e9, 25e9, 6.25e9];
    let (t, eta, most) = (14e-6, 0.95, 1.4e6);
    let additive = most * (1.0 - eta) / 100.0;
    let mut records = [HopRecord::default(); 3];
    let (mut clock, mut sequence) = (Clock(20_000_000), 0);
    let next = |draws: &mut Draws, control: &Control, step: usize| {
        let now = clock.after(draws, 2_000_000);
        if draws.below(200) == 0 {
            return lost(now, LossCause::Timeout, draws.below(2) == 0);
        }
        let load = [1.1, 0.5, 1.6, 0.9][step / 300 % 4] * control.window_bytes() as f64 / 175e3;
        // some bring nothing new, and some come after more than a round trip
        let (none, late) = (draws.below(30) == 0, draws.below(30) == 0);
        for (port, record) in (0..).zip(&mut records) {
            let ps = if none {
                0
            } else {
                50_000 + u64::from(draws.below(if late { 30_000_000 } else { 1_000_000 }))
            };
            let sent = rates[port as usize] * ps as f64 * 1e-12 * (load * (0.5 + draws.unit())).min(1.0);
            *record = HopRecord {
                queue_bytes: draws.below(2) * draws.below(30_000),
                bytes_per_s: rates[port as usize],
                at: record.at + Duration::from_ps(ps),
                sent_bytes: record.sent_bytes + sent as u64,
                port,
            };
        }
        let mut telemetry = Telemetry::default();
        records.iter().for_each(|record| telemetry.push(*record));
        sequence += 1;
        let Event::Acked(acked, _) = acked(now, 12.0, 1, false) else { unreachable!() };
        Event::Acked(Acked { sequence, next: sequence + 40, ..acked }, Some(Box::new(telemetry)))
    };
    let (mut w, mut wc, mut u_smooth, mut stage, mut last_update) = (most, most, 1.0, 0, 0);
    let mut last: Option<[HopRecord; 3]> = None;
    let rule = |event: &Event| {
        let mut branch = "";
        match event {
            Event::Acked(acked, Some(telemetry)) => {
                let records: [HopRecord; 3] = telemetry.records().try_into().unwrap();
                let (mut u, mut tau) = (0.0, 0.0);
                for (link, then) in records.iter().zip(last.iter().flatten()) {
                    let dt = (link.at.as_ps() - then.at.as_ps()) as f64 * 1e-12;
                    let tx_rate = (link.sent_bytes - then.sent_bytes) as f64 * 8.0 / dt;
                    let (b, qlen) = (link.bytes_per_s * 8.0, link.queue_bytes.min(then.queue_bytes));
                    let of_link = f64::from(qlen) * 8.0 / (b * t) + tx_rate / b;
                    if dt > 0.0 && of_link > u {
                        (u, tau) = (of_link, f64::min(dt, t));
                    }
                }
                last = Some(records);
                if tau > 0.0 {
                    u_smooth = (1.0 - tau / t) * u_smooth + tau / t * u;
                    let decreases = u_smooth >= eta || stage >= 5;
                    branch = match (u_smooth >= eta, decreases) {
                        (true, _) => "too full",
                        (false, true) => "after five stages",
                        _ => "additive",
                    };
                    w = additive + if decreases { wc / (u_smooth / eta) } else { wc };
                    w = w.clamp(MTU * 8.0, most);
                    if acked.sequence + 1 > last_update {
                        (wc, stage, last_update) = (w, if decreases { 0 } else { stage + 1 }, acked.next);
                    }
                }
            }
            Event::Lost(Lost { first_of_window: true, .. }) => {
                w = f64::max(w / 2.0, MTU * 8.0);
                (wc, branch) = (w, "time-out");
            }
            _ => {}
        }
        // paced at W / T
        (branch, Limit::Window(w / 8.0, MTU * 8.0 / w * t * 1e12))
    };
    side_by_side(
        &Hpcc::default(),
        20_000,
        next,
        rule,
        &["too full", "after five stages", "additive", "time-out"],
    );
}
