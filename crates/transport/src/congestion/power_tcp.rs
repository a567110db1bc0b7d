//! PowerTCP: switches tell what comes to each link and what waits there, and the window follows the product of both.

use std::collections::VecDeque;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration, Time};

use super::{
    Acked, CongestionControl, CongestionKind, Control, LossCause, Lost, check_range, check_recorded,
    given_or_longest_rtt,
};
use crate::packet::Telemetry;
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, go_back_n::GoBackN};

/// PowerTCP, the variant with in-band telemetry: every packet collects queue, rate and bytes of the links on its way. What comes to a link
/// (its rate and the growth of its queue) times what the link holds (the queue and bandwidth x round trip) is its power; in units of a
/// full link without a queue it says how many times too large the windows of a round trip ago were. By the largest of the way, smoothed
/// over a round trip, the window in which the packet was sent is divided at every acknowledgement, and packets are paced to window /
/// round trip.
///
/// As published: power, its smoothing, and the rule of the window with the old one of each packet (equation 7; the authors remember one
/// per round trip in its place). Where nothing has come to any link, power stays as it was. All flows start with rate x round trip at the
/// rate of their link, the additive increase is a part of that, `gamma` is 0.9, and the longest round trip stands for all.
///
/// Ours, as the paper leaves it open: how many `expected-flows` there are; smoothed power begins at 1, which is a full link without a
/// queue; records further apart than a round trip count as if they were that far apart, and those of another way begin anew, as with
/// `hpcc`; windows are at least a packet, and at most what a flow alone has in balance (the first window and the additive
/// increase); a time-out halves them.
///
/// In balance, each flow of a link leaves its additive increase in the queue: `expected-flows` flows together leave there what is under
/// way in a round trip.
///
/// A packet records 15 switches, as with `hpcc`: machines with ways of more than 16 links are refused.
///
/// Source: Addanki, Michel and Schmid, "PowerTCP: pushing the performance limits of datacenter networks", NSDI 2022, algorithm 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PowerTcp {
    /// Weight of the new window in the mean with the one before, 0.01 to 1.
    pub gamma: f64,
    /// Flows that may share the link of a host, for which the paper gives no number: the additive increase is the first window divided by it.
    pub expected_flows: u32,
    /// Round trip that everything is measured by; the longest of the network when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rtt: Option<Duration>,
}

impl Default for PowerTcp {
    fn default() -> Self {
        Self { gamma: 0.9, expected_flows: 100, base_rtt: None }
    }
}

/// What connections share; times in picoseconds, amounts in bytes.
#[derive(Debug)]
struct Parameters {
    gamma: f64,
    base_rtt: f64,
    additive: f64,
    packet: f64,
    largest: f64,
}

/// State of a connection.
#[derive(Debug, Clone)]
pub struct State {
    parameters: Arc<Parameters>,
    window: f64,
    /// Windows of before, and until when each one held, while packets of that time are under way.
    past: VecDeque<(Time, f64)>,
    /// Power in that of a full link without a queue, smoothed.
    power: f64,
    /// The records of the last acknowledgement: allocated once, so that other transports stay small.
    last: Box<Telemetry>,
}

impl State {
    /// The window in which a packet of such an age was sent (`GetCwnd`). Those of before are forgotten, so that a packet that comes behind later ones finds theirs.
    fn window_ago(&mut self, now: Time, age: Duration) -> f64 {
        while self.past.front().is_some_and(|&(until, _)| now.saturating_since(until) >= age) {
            self.past.pop_front();
        }
        self.past.front().map_or(self.window, |&(_, window)| window)
    }

    /// Another window holds from now on.
    fn set_window(&mut self, now: Time, window: f64) {
        let p = &self.parameters;
        let window = window.min(p.largest).max(p.packet);
        if window != self.window {
            self.past.push_back((now, self.window));
            self.window = window;
        }
    }

    /// Takes the records of an acknowledgement (`NormPower`); whether they say anything.
    fn measure(&mut self, records: &Telemetry) -> bool {
        let base = self.parameters.base_rtt;
        let (mut most, mut spacing, mut any) = (0.0_f64, 0.0_f64, false);
        for (now, then, ps) in records.since(&self.last) {
            let bandwidth = now.bytes_per_s * 1e-12;
            let grown = f64::from(now.queue_bytes) - f64::from(then.queue_bytes);
            let sent = now.sent_bytes.saturating_sub(then.sent_bytes) as f64;
            let current = (grown + sent) / ps;
            let voltage = f64::from(now.queue_bytes) + bandwidth * base;
            let power = current * voltage / (bandwidth * bandwidth * base);
            // nothing comes while all wait for a queue to drain: taken for room, that would have all of them burst in again
            if power > most {
                (most, spacing) = (power, ps.min(base));
            }
            any = true;
        }
        self.last.follow(records);
        self.power = (self.power * (base - spacing) + most * spacing) / base;
        any
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        self.window as u64
    }

    #[inline]
    fn gap(&self, bytes: u64) -> Duration {
        Duration::from_ps((bytes as f64 * self.parameters.base_rtt / self.window) as u64)
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        let Some(records) = acked.telemetry else { return };
        let old = self.window_ago(acked.now, acked.age);
        if self.measure(records) {
            let Parameters { gamma, additive, .. } = *self.parameters;
            let window = gamma * (old / self.power + additive) + (1.0 - gamma) * self.window;
            self.set_window(acked.now, window);
        }
    }

    fn on_loss(&mut self, lost: &Lost) {
        // the paper runs on lossless fabrics; a time-out says that nothing got through
        if lost.cause == LossCause::Timeout && lost.first_of_window {
            self.set_window(lost.now, self.window / 2.0);
        }
    }
}

impl CongestionKind for PowerTcp {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        check_range("gamma", self.gamma, 0.01, 1.0)?;
        check_range("expected-flows", self.expected_flows, 1, 1_000_000)?;
        check_recorded("power-tcp", path)?;
        let base = given_or_longest_rtt(self.base_rtt, path)?;
        let packet = sizes.packet_bytes() as f64;
        let window = path.bytes_in(base).max(packet);
        let additive = window / f64::from(self.expected_flows);
        let parameters = Parameters {
            gamma: self.gamma,
            base_rtt: base.as_ps() as f64,
            additive,
            packet,
            largest: window + additive,
        };
        Ok(Control::PowerTcp(State {
            parameters: Arc::new(parameters),
            window,
            past: VecDeque::new(),
            power: 1.0,
            last: Box::default(),
        }))
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::GoBackN(GoBackN::default())
    }

    /// As with HPCC, and for its reason: a window of 1.9 packets lets two go, or short ways would stay half empty.
    fn fills_up(&self) -> bool {
        true
    }

    fn needs_telemetry(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ACKED, LOST};
    use super::*;
    use crate::packet::HopRecord;
    use stratasim_core::Bandwidth;
    use stratasim_core::random::{Draws, Streams, key};

    /// 100 Gb/s and 10 us: the first window is 125,000 bytes, and a hundredth of it is added.
    fn state(spec: &PowerTcp) -> State {
        let path = Path::of_equal_links(Duration::from_ns(10_000), Bandwidth(12.5e9), 4, 1_000_000);
        let Control::PowerTcp(state) = spec.build(&path, &PacketSizes::default()).unwrap() else {
            unreachable!()
        };
        state
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + Duration::from_ns(ns)
    }

    /// Rate in bytes per second, time in nanoseconds, bytes that wait, bytes that were sent.
    type Record = (f64, u64, u32, u64);

    fn telemetry(records: &[Record], first_port: u32) -> Telemetry {
        let mut telemetry = Telemetry::default();
        for (port, &(bytes_per_s, ns, queue_bytes, sent_bytes)) in (first_port..).zip(records) {
            telemetry.push(HopRecord { queue_bytes, bytes_per_s, at: at(ns), sent_bytes, port });
        }
        telemetry
    }

    fn ack(state: &mut State, now_ns: u64, sent_ns: u64, telemetry: &Telemetry) -> f64 {
        let age = Duration::from_ns(now_ns - sent_ns);
        state.on_ack(&Acked {
            now: at(now_ns),
            bytes: 4160,
            ecn: false,
            rtt: Some(age),
            age,
            in_flight: 100_000,
            sequence: 0,
            cumulative: 1,
            next: 2,
            telemetry: Some(telemetry),
            ..ACKED
        });
        state.window
    }

    /// Two links of 12,500 and 25,000 bytes per microsecond, which hold 125,000 and 250,000 in 10 us.
    #[test]
    fn windows_are_those_worked_out_by_hand() {
        let mut state = state(&PowerTcp::default());
        let mut next = |now: u64, sent: u64, first: (u64, u32, u64), second: (u64, u32, u64)| {
            let records = [(12.5e9, first.0, first.1, first.2), (25e9, second.0, second.1, second.2)];
            ack(&mut state, now, sent, &telemetry(&records, 0))
        };
        let close = |window: f64, expected: f64| assert!((window - expected).abs() < 0.001, "{window}");
        close(next(10_000, 0, (5_000, 0, 0), (6_000, 0, 0)), 125_000.0);
        // (25,000 + 12,500) x 150,000 / (12,500^2 x 10) = 3.6, and 0.8 at the second; (9 x 1 + 1 x 3.6) / 10 = 1.26;
        // 0.9 (125,000 / 1.26 + 1,250) + 0.1 x 125,000
        close(next(11_000, 1_000, (6_000, 25_000, 12_500), (7_000, 0, 20_000)), 102_910.714);
        // the second link, in 2 us: 30,000 x 260,000 / (25,000^2 x 10) = 1.248, and 0.672 at the first;
        // (8 x 1.26 + 2 x 1.248) / 10 = 1.2576; the packet was sent in the first window:
        // 0.9 (125,000 / 1.2576 + 1,250) + 0.1 x 102,910.714
        close(next(13_000, 4_000, (8_000, 15_000, 37_500), (9_000, 10_000, 70_000)), 100_872.178);
        // the first link, in 12 us, which count as 10: 15,000 x 170,000 / (12,500^2 x 10) = 1.632; sent in the second window:
        // 0.9 (102,910.714 / 1.632 + 1,250) + 0.1 x 100,872.178
        close(next(25_000, 12_000, (20_000, 45_000, 187_500), (21_000, 0, 220_000)), 67_964.450);
        // nothing has come to either for 1 us: power stays 1.632; sent in the third window:
        // 0.9 (100,872.178 / 1.632 + 1,250) + 0.1 x 67,964.450
        close(next(26_000, 13_000, (21_000, 32_500, 200_000), (22_000, 0, 220_000)), 63_549.485);
    }

    /// Equations 6 and 7 of the paper in bits and seconds, without normalising, on all windows that there ever were.
    #[test]
    fn windows_follow_equation_7_literally() {
        let rates = [12.5e9, 25e9, 6.25e9];
        let (tau, gamma, additive) = (10e-6, 0.6, 1e6 / 40.0);
        let mut state = state(&PowerTcp { gamma, expected_flows: 40, base_rtt: None });
        let mut draws = Draws::new(key(Streams::new(5).key("power"), 0));
        let mut windows = vec![(0_u64, 1e6)];
        let (mut last, mut smooth) = (Vec::<Record>::new(), 1.0);
        let (mut now, mut sent) = (20_000_u64, 0);
        let (mut inside, mut old_differs) = (0, 0);
        for step in 0..4000 {
            let mut some = |most: u32| u64::from(draws.below(most));
            now += 100 + some(2_000);
            sent = (now - 8_000 - some(6_000)).max(sent);
            let records: Vec<Record> = (0..3)
                .map(|link| {
                    let (_, at_ns, _, sent_bytes) = last.get(link).copied().unwrap_or_default();
                    // up to 1.2 round trips apart; more comes by larger windows, as if others came and went besides
                    let ns = 50 + if some(20) == 0 { some(12_000) } else { some(1_000) };
                    let load = [1.5, 3.0, 0.8, 2.0][step / 40 % 4] * state.window / 125e3;
                    let bytes = rates[link] * ns as f64 * 1e-12 * load * (500 + some(500)) as f64;
                    let queue = some(2) * some(3_000);
                    (rates[link], at_ns + ns, queue as u32, sent_bytes + bytes as u64)
                })
                .collect();
            let found = ack(&mut state, now, sent, &telemetry(&records, 0));
            let mut power_of_largest = (0.0, 0.0, 1.0);
            for (record, then) in records.iter().zip(&last) {
                let dt = (record.1 - then.1) as f64 * 1e-9;
                let (b, queue) = (8.0 * record.0, 8.0 * f64::from(record.2));
                let gradient = (queue - 8.0 * f64::from(then.2)) / dt;
                let mu = 8.0 * (record.3 - then.3) as f64 / dt;
                let (power, base) = ((queue + b * tau) * (gradient + mu), b * b * tau);
                if power * power_of_largest.2 > power_of_largest.0 * base {
                    power_of_largest = (power, dt, base);
                }
            }
            if !last.is_empty() {
                let (power, dt, base) = power_of_largest;
                let part = f64::min(dt / tau, 1.0);
                smooth = smooth * (1.0 - part) + power / base * part;
                let &(_, old) = windows.iter().rev().find(|window| window.0 <= sent).unwrap();
                let &(_, current) = windows.last().unwrap();
                let window = gamma * (old / smooth + additive) + (1.0 - gamma) * current;
                let limited = window.clamp(8.0 * 4160.0, 1e6 + additive);
                inside += u32::from(limited == window);
                old_differs += u32::from((old / current - 1.0).abs() > 0.05);
                windows.push((now, limited));
            }
            last = records;
            let &(_, expected) = windows.last().unwrap();
            assert!((8.0 * found / expected - 1.0).abs() < 1e-9, "step {step}: {found}, {}", expected / 8.0);
            assert!(state.past.len() < 300, "what is over is forgotten: {}", state.past.len());
        }
        assert!(inside > 1000 && inside < 3900 && old_differs > 1000, "{inside}, {old_differs}");
    }

    #[test]
    fn records_of_another_way_begin_anew() {
        let mut state = state(&PowerTcp::default());
        let full = |ns, queue, sent| [(12.5e9, ns, queue, sent)];
        ack(&mut state, 10_000, 0, &telemetry(&full(5_000, 0, 0), 0));
        // a longer queue than any, but behind another port
        let kept = ack(&mut state, 11_000, 1_000, &telemetry(&full(6_000, 900_000, 10_000_000), 7));
        assert_eq!((kept as u64, state.power), (125_000, 1.0));
        // there, in 1 us: 6,250 x 1,018,750 / (12,500^2 x 10) = 4.075
        ack(&mut state, 12_000, 2_000, &telemetry(&full(7_000, 893_750, 10_012_500), 7));
        assert!((state.power - (0.9 + 0.4075)).abs() < 1e-12, "{}", state.power);
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let refused = |spec: PowerTcp, links: u32| {
            let path = Path::of_equal_links(Duration::from_ns(10_000), Bandwidth(12.5e9), links, 1_000_000);
            spec.build(&path, &PacketSizes::default()).unwrap_err().to_string()
        };
        let default = PowerTcp::default;
        for (spec, links, expected) in [
            (PowerTcp { gamma: 0.0, ..default() }, 4, "gamma: 0; 0.01 to 1 are possible"),
            (PowerTcp { expected_flows: 0, ..default() }, 4, "expected-flows: 0; 1 to 1000000 are possible"),
            (PowerTcp { base_rtt: Some(Duration::ZERO), ..default() }, 4, "base-rtt: 0 ps; 1 ps to 1000 s"),
            (default(), 17, "`power-tcp` on ways of 17 links"),
        ] {
            let error = refused(spec, links);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn windows_keep_their_limits() {
        let mut state = state(&PowerTcp::default());
        let lost = |first_of_window, cause| Lost {
            now: at(1_000),
            bytes: 4160,
            cause,
            first_of_window,
            cumulative: 0,
            next: 9,
            in_flight: 4160,
            ..LOST
        };
        state.on_loss(&lost(true, LossCause::Gap));
        state.on_loss(&lost(false, LossCause::Timeout));
        assert_eq!(state.window_bytes(), 125_000);
        state.on_loss(&lost(true, LossCause::Timeout));
        assert_eq!(state.window_bytes(), 62_500);
        (0..9).for_each(|_| state.on_loss(&lost(true, LossCause::Timeout)));
        assert_eq!(state.window_bytes(), 4160);
        // a link to which next to nothing comes: its power is as little after a round trip
        for (now, record) in [(20_000, (12.5e9, 15_000, 0, 0)), (40_000, (12.5e9, 35_000, 0, 2_500))] {
            ack(&mut state, now, now - 10_000, &telemetry(&[record], 0));
        }
        assert_eq!((state.power, state.window_bytes()), (0.01, 126_250));
    }
}
