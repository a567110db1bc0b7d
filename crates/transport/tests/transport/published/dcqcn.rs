//! DCQCN: rates that fall by notifications and come back by timer and bytes.

use stratasim_core::Bytes;
use stratasim_transport::congestion::dcqcn::Dcqcn;

use super::*;

/// Zhu et al., SIGCOMM 2015, equations 1 to 4 and figure 7, with the QCN's hyper increase: rates in bytes per second, times in us.
#[test]
fn rates_are_those_of_the_paper() {
    let (additive, hyper, bytes) = (0.02 * LINE, 0.05 * LINE, 400_000_u64);
    let spec = Dcqcn {
        additive: Bandwidth(additive),
        hyper: Bandwidth(hyper),
        bytes: Bytes(bytes),
        ..Dcqcn::default()
    };
    let (mut sent_at, mut notified_at) = (1, 70_000_000);
    let next = |draws: &mut Draws, control: &Control, _: usize| {
        let timer = control.deadline();
        if timer.as_ps() <= sent_at.min(notified_at) {
            return Event::Timer(timer);
        }
        if notified_at <= sent_at {
            let now = Time::from_ps(notified_at);
            // notifications one after the other, and then a long time without
            notified_at += 1_000_003 * u64::from(if draws.below(6) > 0 { 1 + draws.below(80) } else { 3000 });
            return Event::Notified(now);
        }
        let now = Time::from_ps(sent_at);
        sent_at += control.gap(65_536).as_ps();
        Event::Sent(now, 65_536)
    };
    let (mut rt, mut rc, mut alpha, g) = (LINE, LINE, 1.0_f64, 1.0 / 256.0);
    let (mut t, mut bc, mut counted, mut period) = (0, 0, 0, u64::MAX);
    let rule = |event: &Event| {
        let mut branch = "";
        let now = match event {
            Event::Notified(now) | Event::Timer(now) => now.as_ps(),
            _ => 0,
        };
        let increases = match event {
            Event::Timer(_) => {
                assert_eq!(now, period + 55_000_000, "a period of the timer");
                t += 1;
                true
            }
            Event::Sent(_, sent) => {
                counted += sent;
                let whole = counted >= bytes;
                (bc, counted) = if whole { (bc + 1, 0) } else { (bc, counted) };
                whole
            }
            _ => false,
        };
        while period != u64::MAX && period + 55_000_000 <= now {
            (alpha, period) = ((1.0 - g) * alpha, period + 55_000_000);
        }
        if let Event::Notified(_) = event {
            rt = rc;
            rc = f64::max(rc * (1.0 - alpha / 2.0), LINE / 1000.0);
            alpha = (1.0 - g) * alpha + g;
            (t, bc, counted, period) = (0, 0, 0, now);
            branch = "cut";
        }
        if increases {
            (branch, rt) = match (t.max(bc), t.min(bc)) {
                (..=5, _) => ("fast recovery", rt),
                (_, ..=5) => ("additive", rt + additive),
                (_, both) => ("hyper", rt + f64::from(both - 5) * hyper),
            };
            rt = rt.min(LINE);
            rc = f64::midpoint(rt, rc);
        }
        (branch, Limit::Rate(rc))
    };
    side_by_side(&spec, 60_000, next, rule, &["cut", "fast recovery", "additive", "hyper"]);
}
