//! Congestion controls side by side with their rules, which are written down here once more as their sources have them, in their
//! units and without what makes them fast; both are told the same.

mod credit;
mod cubic;
mod dcqcn;
mod dctcp;
mod defaults;
mod hpcc;
mod nscc;
mod swift;
mod timely;
mod windows;

use std::collections::BTreeMap;

use stratasim_core::random::{Draws, Streams, key};
use stratasim_core::{Bandwidth, Duration, Time};
use stratasim_transport::congestion::{Acked, CongestionControl, CongestionKind, Control, LossCause, Lost};
use stratasim_transport::{CongestionSpec, PacketSizes, Path, Telemetry};

/// 100 Gb/s, 10 us on the own way and 14 on the longest, four links.
const PATH: Path = Path {
    network_rtt: Duration::from_ns(14_000),
    ..Path::of_equal_links(Duration::from_ns(10_000), Bandwidth(12.5e9), 4, 1_000_000)
};
/// Bytes per second, and per microsecond.
const LINE: f64 = 12.5e9;
const LINE_US: f64 = 12_500.0;
const MTU: f64 = 4160.0;
const MSS: f64 = 4096.0;

/// What a control is told.
enum Event {
    Acked(Acked<'static>, Option<Box<Telemetry>>),
    Lost(Lost),
    Sent(Time, u64),
    Notified(Time),
    Timer(Time),
    Rest,
}

/// What lets a control send: the window in bytes and the picoseconds from a full packet to the next, or a rate in bytes per second.
enum Limit {
    Window(f64, f64),
    Rate(f64),
}

/// A window that nothing paces.
const fn window(bytes: f64) -> Limit {
    Limit::Window(bytes, 0.0)
}

/// Tells a control so often what `next` thinks of, and compares what it lets go with what `rule` does. Every branch of the rule, which
/// it names, has to be taken often.
fn side_by_side(
    spec: &dyn CongestionKind,
    steps: usize,
    mut next: impl FnMut(&mut Draws, &Control, usize) -> Event,
    mut rule: impl FnMut(&Event) -> (&'static str, Limit),
    branches: &[&str],
) {
    let mut control = spec.build(&PATH, &PacketSizes::default()).unwrap();
    let mut draws = Draws::new(key(Streams::new(3).key("published"), 0));
    let mut taken = BTreeMap::new();
    for step in 0..steps {
        let event = next(&mut draws, &control, step);
        match &event {
            Event::Acked(acked, telemetry) => {
                control.on_ack(&Acked { telemetry: telemetry.as_deref(), ..*acked });
            }
            Event::Lost(lost) => control.on_loss(lost),
            Event::Sent(now, bytes) => control.on_sent(*now, *bytes),
            Event::Notified(now) => control.on_notification(*now),
            Event::Timer(now) => control.on_timer(*now),
            Event::Rest => control.on_rest(),
        }
        let (branch, expected) = rule(&event);
        *taken.entry(branch).or_insert(0) += 1;
        let (found, gap) = (control.window_bytes(), control.gap(4160).as_ps());
        match expected {
            Limit::Window(bytes, ps) => {
                let close = (found as f64 + 0.5 - bytes).abs() < 0.501 && (gap as f64 - ps).abs() < 1.5;
                assert!(close, "step {step}, {branch}: {found} each {gap} ps, not {bytes} each {ps}");
            }
            Limit::Rate(rate) => {
                let close = (gap as f64 * rate / 4160e12 - 1.0).abs() < 1e-5;
                assert!(close && found == u64::MAX, "step {step}, {branch}: {gap} ps at {rate}");
            }
        }
    }
    for branch in branches {
        assert!(taken.get(branch).is_some_and(|times| *times >= 20), "{branch}: {taken:?}");
    }
}

/// One event after the other, up to so many picoseconds later.
struct Clock(u64);

impl Clock {
    fn after(&mut self, draws: &mut Draws, most_ps: u32) -> Time {
        self.0 += 1 + u64::from(draws.below(most_ps));
        Time::from_ps(self.0)
    }
}

fn acked(now: Time, rtt_us: f64, packets: u64, ecn: bool) -> Event {
    let rtt = Duration::from_ps((rtt_us * 1e6) as u64);
    let acked = Acked {
        now,
        bytes: packets * 4160,
        ecn,
        rtt: Some(rtt),
        age: rtt,
        endpoint_delay: Duration::ZERO,
        in_flight: 1 << 30,
        sequence: 0,
        cumulative: 1,
        next: 1,
        telemetry: None,
    };
    Event::Acked(acked, None)
}

fn lost(now: Time, cause: LossCause, first_of_window: bool) -> Event {
    let (bytes, in_flight, age) = (4160, 20 * 4160, Duration::from_ns(12_000));
    Event::Lost(Lost {
        now,
        bytes,
        cause,
        first_of_window,
        again: false,
        cumulative: 0,
        next: 0,
        in_flight,
        age,
    })
}
