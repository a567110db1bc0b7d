//! Simulated time: instants and lengths in integer picoseconds.

use std::ops::{Add, AddAssign, Mul, Sub};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Picoseconds per second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// An instant, in picoseconds since the start of the simulation (213 days fit).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Time(u64);

/// A length of time in picoseconds. In files it is a string with a unit, such as `"500 ns"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Time {
    /// The start of the simulation.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for display and statistics.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        secs(self.0)
    }

    /// Length since `earlier`; zero when `earlier` is later.
    #[inline]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Whether `self`, after `earlier`, is less than `precision` away from it. Compared in seconds as
    /// floating-point numbers: a distance of exactly `precision` falls to the side to which it falls
    /// for simulators that count so.
    pub fn is_within(self, precision: Duration, earlier: Self) -> bool {
        precision > Duration::ZERO && self.as_secs_f64() - earlier.as_secs_f64() < precision.as_secs_f64()
    }

    /// `self + length`, or [`Time::MAX`] when that does not fit.
    #[inline]
    pub const fn saturating_add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest length.
    pub const MAX: Self = Self(u64::MAX);

    /// A length of `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A length of `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1000)
    }

    /// The length nearest to `seconds`; too long, negative or not a number saturates.
    #[inline]
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * PS_PER_S as f64).round() as u64)
    }

    /// Picoseconds.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds, for display and statistics.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        secs(self.0)
    }
}

/// `ps` picoseconds in seconds, correctly rounded: one division of two exact numbers up to 2^53.
fn secs(ps: u64) -> f64 {
    ps as f64 / PS_PER_S as f64
}

impl Add<Duration> for Time {
    type Output = Self;
    /// [`Time::MAX`] when the sum does not fit: what happens then never happens.
    #[inline]
    fn add(self, length: Duration) -> Self {
        self.saturating_add(length)
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, length: Duration) {
        *self = *self + length;
    }
}

impl Sub for Time {
    type Output = Duration;
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0.checked_sub(earlier.0).expect("time ran backwards"))
    }
}

impl Add for Duration {
    type Output = Self;
    /// [`Duration::MAX`] when the sum does not fit.
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("a negative length of time"))
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    /// [`Duration::MAX`] when the product does not fit.
    #[inline]
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl std::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(lengths: I) -> Self {
        lengths.fold(Self::ZERO, |a, b| a + b)
    }
}

impl Time {
    /// The same to so many digits, for people.
    #[must_use]
    pub const fn rounded(self, digits: u32) -> Self {
        let Some(most) = self.0.checked_ilog10() else { return self };
        let unit = 10_u64.pow((most + 1).saturating_sub(digits));
        Self(self.0.saturating_add(unit / 2) / unit * unit)
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Duration(self.0).fmt(f)
    }
}

impl std::fmt::Display for Duration {
    /// The exact length in the largest unit of which it has at least one: `1.5 us`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [(&str, u64); 5] =
            [("s", PS_PER_S), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1000), ("ps", 1)];
        let (unit, scale) = *UNITS.iter().find(|&&(_, scale)| self.0 >= scale).unwrap_or(&UNITS[4]);
        // beyond 15 digits a decimal fraction would not read back: use a unit that divides
        let (unit, scale) = match self.0 {
            ..1_000_000_000_000_000 => (unit, scale),
            _ => *UNITS.iter().find(|&&(_, scale)| self.0.is_multiple_of(scale)).expect("1 divides"),
        };
        let (whole, rest) = (self.0 / scale, self.0 % scale);
        if rest == 0 {
            return write!(f, "{whole} {unit}");
        }
        let width = scale.ilog10() as usize;
        let digits = format!("{rest:0width$}");
        write!(f, "{whole}.{} {unit}", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_print_exactly() {
        for (ps, text) in
            [(0, "0 ps"), (1500, "1.5 ns"), (200_000, "200 ns"), (1_000_000_000_001, "1.000000000001 s")]
        {
            assert_eq!(Duration::from_ps(ps).to_string(), text);
        }
    }

    #[test]
    #[should_panic(expected = "time ran backwards")]
    fn time_never_runs_backwards() {
        let _ = Time::ZERO - Time::from_ps(1);
    }
}
