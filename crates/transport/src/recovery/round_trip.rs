//! Round trips: smoothed mean and variation, and the time-out that follows from them.

use stratasim_core::Duration;

/// Smoothed round trip (RFC 6298, section 2).
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundTrip {
    mean_ps: u64,
    variation_ps: u64,
    measured: bool,
}

impl RoundTrip {
    /// Nothing was measured; `assumed` stands for the mean.
    pub(crate) const fn new(assumed: Duration) -> Self {
        Self { mean_ps: assumed.as_ps(), variation_ps: assumed.as_ps() / 2, measured: false }
    }

    /// Takes a measured round trip.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        let ps = rtt.as_ps();
        if !self.measured {
            *self = Self { mean_ps: ps, variation_ps: ps / 2, measured: true };
            return;
        }
        let error = self.mean_ps.abs_diff(ps);
        self.variation_ps = self.variation_ps - self.variation_ps / 4 + error / 4;
        self.mean_ps = self.mean_ps - self.mean_ps / 8 + ps / 8;
    }

    /// Mean and four variations, or `margin` where they are less (RFC 6298, 2.3).
    pub(crate) fn timeout_beyond(&self, margin: Duration) -> Duration {
        Duration::from_ps(
            self.mean_ps.saturating_add(self.variation_ps.saturating_mul(4).max(margin.as_ps())),
        )
    }

    /// Mean and four variations, at least `least`.
    pub(crate) fn timeout(&self, least: Duration) -> Duration {
        Duration::from_ps(self.mean_ps.saturating_add(self.variation_ps.saturating_mul(4))).max(least)
    }
}

/// A time-out that doubles with every one in a row, at most 64-fold.
pub(crate) fn backed_off(timeout: Duration, in_a_row: u32) -> Duration {
    timeout * (1 << in_a_row.min(6))
}
