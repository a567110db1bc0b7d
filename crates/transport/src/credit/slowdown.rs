//! Credit on networks whose upper links carry less than those of their hosts: what arrives marked, or cut on its way, slows
//! the credit of a receiving host down.
//!
//! Source: uet-htsim's receivers on oversubscribed trees (its `OversubscribedCC`, on by default where credit alone limits senders);
//! no publication states the rule.

use stratasim_core::random::{Draws, key};
use stratasim_core::{Duration, Time};

use super::SlowdownRules;
use crate::packet::Mark;

/// Share of marked packets that is put up with.
const TARGET: f64 = 0.3;
/// Strength of the decrease by marks above it.
const BETA: f64 = 0.5;
/// Weight of an interval in the average share of marks.
const WEIGHT: f64 = 0.5;
/// First step up, in rates of the link; it doubles from interval to interval without any mark.
const STEP: f64 = 0.01;
/// Intervals without packets after which nothing of the past is left.
const FORGOTTEN: u32 = 64;

/// What came to a host since its last decision, and what it decided.
#[derive(Debug, Clone)]
pub(crate) struct Slowdown {
    rules: SlowdownRules,
    /// In rates of the link, above 0 and at most 1.
    rate: f64,
    /// Average share of packets with a mark.
    marks: f64,
    received: u32,
    marked: u32,
    trimmed: u32,
    /// Of these, those that were cut before the last switch.
    trimmed_on_the_way: u32,
    increases: u32,
    next_at: Time,
    draws: Draws,
}

impl Slowdown {
    /// That of a host which hears its first packet; `id` names its draws. It decides from the start of the run on.
    pub(crate) fn new(now: Time, rules: SlowdownRules, id: u32) -> Self {
        let mut slowdown = Self {
            rules,
            rate: 1.0,
            marks: 0.0,
            received: 0,
            marked: 0,
            trimmed: 0,
            trimmed_on_the_way: 0,
            increases: 0,
            next_at: Time::ZERO,
            draws: Draws::new(key(u64::from(id), now.as_ps())),
        };
        slowdown.wait();
        slowdown
    }

    /// Decisions of hosts are spread over half an interval, so that they do not fall into step.
    fn wait(&mut self) {
        let interval = self.rules.interval.as_ps() as f64 * (0.75 + 0.5 * self.draws.unit());
        self.next_at += Duration::from_ps((interval as u64).max(1));
    }

    /// A packet of any sort has come.
    pub(crate) fn on_packet(&mut self, now: Time, mark: Mark) {
        self.advance(now);
        self.received += 1;
        self.marked += u32::from(mark.ecn && !mark.trimmed);
        self.trimmed += u32::from(mark.trimmed);
        self.trimmed_on_the_way += u32::from(mark.trimmed && !mark.last_hop);
    }

    /// The rate of credit now, in rates of the link.
    pub(crate) fn rate(&mut self, now: Time) -> f64 {
        self.advance(now);
        self.rate
    }

    fn advance(&mut self, now: Time) {
        if now >= self.next_at + self.rules.interval * u64::from(FORGOTTEN) {
            self.decide();
            (self.rate, self.marks, self.increases) = (1.0, 0.0, FORGOTTEN);
            self.next_at = now;
            self.wait();
        }
        while now >= self.next_at {
            self.decide();
            self.wait();
        }
    }

    fn decide(&mut self) {
        let whole = self.received.saturating_sub(self.trimmed);
        let share = if whole == 0 { 0.0 } else { f64::from(self.marked) / f64::from(whole) };
        self.marks += WEIGHT * (share - self.marks);
        let mut down = false;
        if self.trimmed_on_the_way > 0 {
            self.rate -= f64::from(self.trimmed_on_the_way) / f64::from(self.received);
            down = true;
        }
        if self.marks > TARGET {
            self.rate *= 1.0 - BETA * (self.marks - TARGET);
            down = true;
        }
        if down {
            self.increases = 0;
        } else {
            let doublings = if self.marked == 0 { self.increases.min(16) as i32 } else { 0 };
            self.rate += STEP * 2_f64.powi(doublings);
            self.increases = self.increases.saturating_add(1);
        }
        self.rate = self.rate.clamp(self.rules.least_rate, 1.0);
        (self.received, self.marked, self.trimmed, self.trimmed_on_the_way) = (0, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: Mark = Mark { ecn: false, trimmed: false, last_hop: false };
    const MARKED: Mark = Mark { ecn: true, ..CLEAN };
    const TRIMMED: Mark = Mark { trimmed: true, ..CLEAN };

    /// The rates after intervals of ten packets with the given marks.
    fn rates(marks: &[[(usize, Mark); 2]]) -> Vec<f64> {
        let interval = Duration::from_ns(10_000);
        let rules = SlowdownRules { least_rate: 0.225, interval };
        let mut slowdown = Slowdown::new(Time::ZERO, rules, 1);
        let mut rates = Vec::new();
        for of_interval in marks {
            for &(count, mark) in of_interval {
                (0..count).for_each(|_| slowdown.on_packet(Time::ZERO, mark));
            }
            slowdown.decide();
            rates.push(slowdown.rate);
        }
        rates
    }

    #[test]
    fn cut_packets_take_their_share_and_clean_intervals_double_the_way_back() {
        let cut = [(8, CLEAN), (2, TRIMMED)];
        let clean = [(10, CLEAN), (0, CLEAN)];
        let found = rates(&[cut, cut, clean, clean, clean, clean]);
        let expected = [0.8, 0.6, 0.61, 0.63, 0.67, 0.75];
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12),
            "{found:?}"
        );
    }

    #[test]
    fn packets_cut_in_the_last_switch_change_nothing() {
        let last = Mark { last_hop: true, ..TRIMMED };
        assert_eq!(rates(&[[(1, CLEAN), (9, last)]]), [1.0]);
    }

    #[test]
    fn marks_above_the_target_take_half_of_the_excess_and_the_rate_has_a_floor() {
        let marked = [(0, CLEAN), (10, MARKED)];
        let found = rates(&[marked; 40]);
        // the average share of marks is 0.5, then 0.75
        assert!((found[0] - 0.9).abs() < 1e-12 && (found[1] - 0.9 * 0.775).abs() < 1e-12, "{found:?}");
        assert!((found[39] - 0.225).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_long_silence_is_forgotten_at_once() {
        let interval = Duration::from_ns(10_000);
        let mut slowdown = Slowdown::new(Time::ZERO, SlowdownRules { least_rate: 0.1, interval }, 1);
        (0..10).for_each(|_| slowdown.on_packet(Time::ZERO, TRIMMED));
        assert!(slowdown.rate(Time::ZERO + interval * 2) < 0.2);
        // a short one is not: four decisions since then, or five, double the way back from a tenth
        let rate = slowdown.rate(Time::ZERO + interval * 6);
        assert!((0.1 + 0.07..=0.1 + 0.63).contains(&rate), "{rate}");
        assert!((slowdown.rate(Time::ZERO + Duration::from_ns(1 << 40)) - 1.0).abs() < 1e-12);
    }

    /// `interval` is the mean, and hosts are apart by half of it: from three quarters to five, all as likely.
    #[test]
    fn decisions_are_an_interval_apart_on_average() {
        let interval = Duration::from_ns(10_000);
        let mut slowdown = Slowdown::new(Time::ZERO, SlowdownRules { least_rate: 0.1, interval }, 1);
        let mut apart = Vec::new();
        let mut before = Time::ZERO;
        for _ in 0..40_000 {
            let waited = slowdown.next_at.saturating_since(before);
            apart.push(waited.as_ps() as f64 / interval.as_ps() as f64);
            before = slowdown.next_at;
            slowdown.wait();
        }
        // uniform over a half: a variance of 1/48, and the mean of so many within three standard deviations
        let mean = apart.iter().sum::<f64>() / 40_000.0;
        assert!((mean - 1.0).abs() < 3.0 / (48.0 * 40_000.0_f64).sqrt(), "{mean}");
        let (least, most) = apart.iter().fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
        assert!((0.7499..0.7501).contains(&least) && (1.2499..1.2501).contains(&most), "{least} to {most}");
        let variance = apart.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 40_000.0;
        assert!((variance * 48.0 - 1.0).abs() < 0.03, "{variance}");
    }
}
