//! The clock of the routers, exact in picoseconds.

use stratasim_core::{Bandwidth, BuildError, Duration, Frequency, Time};

use super::FULL_WIDTH;

/// Cycles of equal length, the first at time zero. Cycle `c` starts at `c * period`, rounded down to a
/// picosecond; the period is a fraction, so that nothing drifts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// The period in picoseconds is `numerator / denominator`, in lowest terms.
    numerator: u128,
    denominator: u128,
}

/// Bits per second, at least one.
fn bits_per_s(rate: Bandwidth) -> u128 {
    (rate.bytes_per_s() * 8.0).round().max(1.0) as u128
}

impl Clock {
    /// The clock at which a link of `rate` (whole bits per second) carries one flit per cycle.
    pub fn of_link(rate: Bandwidth, flit_bytes: u32) -> Self {
        Self::new(u128::from(flit_bytes) * 8 * 1_000_000_000_000, bits_per_s(rate))
    }

    /// A clock of `frequency`, to a thousandth of a hertz.
    ///
    /// # Errors
    /// No frequency between a hertz and a terahertz.
    pub fn of_frequency(frequency: Frequency) -> Result<Self, BuildError> {
        if !(1.0..=1e12).contains(&frequency.hz()) {
            return Err(BuildError::new("clock", format!("{frequency}; 1 Hz to 1 THz are possible")));
        }
        Ok(Self::new(1_000_000_000_000_000, (frequency.hz() * 1000.0).round() as u128))
    }

    fn new(numerator: u128, denominator: u128) -> Self {
        let (mut a, mut b) = (numerator, denominator);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        Self { numerator: numerator / a, denominator: denominator / a }
    }

    /// Cycles per second.
    pub fn hz(&self) -> f64 {
        self.denominator as f64 / self.numerator as f64 * 1e12
    }

    /// Length of a cycle in seconds.
    pub fn period_s(&self) -> f64 {
        self.numerator as f64 / self.denominator as f64 * 1e-12
    }

    /// When `cycle` starts.
    pub fn start(&self, cycle: u64) -> Time {
        Time::from_ps(self.length(cycle).as_ps())
    }

    /// Length of `cycles` cycles from time zero on: never longer than they are later.
    pub fn length(&self, cycles: u64) -> Duration {
        let product = u128::from(cycles).checked_mul(self.numerator);
        let ps =
            product.map_or(u64::MAX, |product| u64::try_from(product / self.denominator).unwrap_or(u64::MAX));
        Duration::from_ps(ps)
    }

    /// The first cycle that starts at `time` or later.
    pub fn first_from(&self, time: Time) -> u64 {
        let cycles = (u128::from(time.as_ps()) * self.denominator).div_ceil(self.numerator);
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }

    /// Number of cycles that are over at `time`: the next one starts later.
    pub fn over_at(&self, time: Time) -> u64 {
        let cycles = ((u128::from(time.as_ps()) + 1) * self.denominator - 1) / self.numerator;
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }

    /// Cycles that `length` takes, rounded up.
    pub fn cycles(&self, length: Duration) -> u64 {
        self.first_from(Time::from_ps(length.as_ps()))
    }

    /// 256ths of a cycle from one flit of `flit_bytes` to the next on a link of `rate`, rounded up.
    pub fn spacing(&self, rate: Bandwidth, flit_bytes: u32) -> u64 {
        // (flit bits / rate) / (numerator / denominator)
        let bits = u128::from(flit_bytes) * 8 * 1_000_000_000_000;
        let above = bits * u128::from(FULL_WIDTH) * self.denominator;
        u64::try_from(above.div_ceil(bits_per_s(rate) * self.numerator)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn third() -> Clock {
        // 3 GB/s and flits of 16 bytes: 5333.33... ps
        Clock::of_link(Bandwidth(3e9), 16)
    }

    #[test]
    fn cycles_do_not_drift() {
        let clock = third();
        assert_eq!(clock.start(1).as_ps(), 5333);
        assert_eq!(clock.start(3).as_ps(), 16_000);
        assert_eq!(clock.start(3_000_000_000).as_ps(), 16_000_000_000_000);
        assert_eq!(clock.start(u64::MAX), Time::MAX);
    }

    #[test]
    fn starts_and_ends_agree_at_every_picosecond() {
        let clock = third();
        for ps in 0..40_000 {
            let time = Time::from_ps(ps);
            let first = clock.first_from(time);
            assert!(clock.start(first) >= time && (first == 0 || clock.start(first - 1) < time));
            let over = clock.over_at(time);
            assert!(clock.start(over) <= time && clock.start(over + 1) > time);
        }
    }

    #[test]
    fn a_link_at_half_the_rate_takes_a_flit_every_other_cycle() {
        assert_eq!(third().spacing(Bandwidth(3e9), 16), 256);
        assert_eq!(third().spacing(Bandwidth(1.5e9), 16), 512);
        // rounded so that a link is never faster than it is
        assert_eq!(third().spacing(Bandwidth(2.9e9), 16), 265);
        let clock = Clock::of_frequency(Frequency(1e9)).unwrap();
        assert_eq!(clock.spacing(Bandwidth(12.5e9), 16), 328);
        assert!(Clock::of_frequency(Frequency(0.0)).is_err());
    }
}
