//! A fixed cost and a rate: what the closed forms of all schedules are in the length of the vector.

/// Seconds of a vector: `fixed_s + bytes * s_per_byte`. Equations 3 and 4 of SW-IntraCC have this form for a given number
/// of groups: launches, synchronisations and steps on one side, what moves over the rate on the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Affine {
    /// Not negative.
    pub(super) fixed_s: f64,
    /// Not negative.
    pub(super) s_per_byte: f64,
}

impl Affine {
    /// The one with the least sum of squared relative errors over (bytes, seconds), with nothing below 0.
    pub(super) fn fit(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        // with u = 1 / seconds: fixed * u + s_per_byte * bytes * u = 1, by normal equations
        let (mut uu, mut ub, mut bb, mut u1, mut b1) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (bytes, seconds) in points {
            let (u, b) = (1.0 / seconds, bytes / seconds);
            uu += u * u;
            ub += u * b;
            bb += b * b;
            u1 += u;
            b1 += b;
        }
        let determinant = uu * bb - ub * ub;
        let only =
            |numerator: f64, denominator: f64| if denominator > 0.0 { numerator / denominator } else { 0.0 };
        let (fixed_s, s_per_byte) = if determinant > 1e-12 * uu * bb {
            ((u1 * bb - b1 * ub) / determinant, (b1 * uu - u1 * ub) / determinant)
        } else {
            // one size: all of it is fixed, for want of a second
            (only(u1, uu), 0.0)
        };
        if fixed_s < 0.0 {
            Self { fixed_s: 0.0, s_per_byte: only(b1, bb) }
        } else if s_per_byte < 0.0 {
            Self { fixed_s: only(u1, uu), s_per_byte: 0.0 }
        } else {
            Self { fixed_s, s_per_byte }
        }
    }

    pub(super) fn seconds(&self, bytes: f64) -> f64 {
        self.fixed_s + self.s_per_byte * bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_cost_and_a_rate_are_found_again() {
        let exact = Affine { fixed_s: 40e-6, s_per_byte: 1e-10 };
        let points = [16e3, 256e3, 1e6, 16e6].map(|bytes| (bytes, exact.seconds(bytes)));
        let found = Affine::fit(points);
        assert!((found.fixed_s / exact.fixed_s - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.s_per_byte / exact.s_per_byte - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn nothing_is_negative_and_one_point_is_met() {
        let found = Affine::fit([(1e3, 1e-6), (1e6, 2e-3)]);
        assert!(found.fixed_s >= 0.0 && found.s_per_byte > 0.0, "{found:?}");
        let falling = Affine::fit([(1e3, 2e-6), (1e6, 1e-6)]);
        assert!(falling.s_per_byte >= 0.0, "{falling:?}");
        assert!((Affine::fit([(5.0, 3e-6)]).seconds(5.0) - 3e-6).abs() < 1e-18);
    }

    #[test]
    fn no_other_choice_has_a_smaller_relative_error() {
        let points = [(16e3, 45e-6), (1e6, 60e-6), (4e6, 200e-6), (16e6, 1500e-6)];
        let error = |model: Affine| -> f64 {
            points.iter().map(|&(bytes, seconds)| (model.seconds(bytes) / seconds - 1.0).powi(2)).sum()
        };
        let found = Affine::fit(points);
        for (a, b) in [(1.01, 1.0), (0.99, 1.0), (1.0, 1.01), (1.0, 0.99)] {
            let other = Affine { fixed_s: found.fixed_s * a, s_per_byte: found.s_per_byte * b };
            assert!(error(found) <= error(other), "{found:?} {other:?}");
        }
    }
}
