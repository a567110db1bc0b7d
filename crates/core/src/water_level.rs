//! The level at which one capacity is full.

/// The level `x` with `sum of share * min(x, offer) = capacity`; infinite when the users, limited
/// elsewhere, leave room. `users` are (share, offer): a user takes `share` times its level, which
/// never passes `offer`; `all` is the sum of shares.
///
/// With `snap` above zero, users limited elsewhere that leave less than that fraction of the capacity
/// (or users whose shares are below it) end the limitation of the rest: SimGrid's work precision.
#[inline]
pub fn water_level(capacity: f64, all: f64, users: &[(f64, f64)], snap: f64) -> f64 {
    let mut level = capacity / all;
    let mut limited = 0;
    loop {
        let (mut taken, mut open, mut count) = (0.0, 0.0, 0);
        for &(share, offer) in users {
            if offer < level {
                taken += share * offer;
                count += 1;
            } else {
                open += share;
            }
        }
        if count == users.len() {
            return f64::INFINITY;
        }
        // never fewer than before but for rounding, which must not keep this going
        if count <= limited {
            let left = capacity - taken;
            let dropped = snap > 0.0 && count > 0 && (left <= capacity * snap || open <= snap);
            return if dropped { f64::INFINITY } else { level };
        }
        limited = count;
        level = (capacity - taken) / open;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_limited_elsewhere_leave_the_rest_to_the_others() {
        // 10 = 1 + 1 * x + 2 * x
        assert_eq!(water_level(10.0, 4.0, &[(1.0, 1.0), (1.0, 100.0), (2.0, 50.0)], 0.0), 3.0);
        assert_eq!(water_level(10.0, 2.0, &[(1.0, 1.0), (1.0, 2.0)], 0.0), f64::INFINITY);
    }

    #[test]
    fn the_snap_lets_go_of_what_is_nearly_full() {
        let users = [(1.0, 9.99999), (1.0, 20.0)];
        assert!((water_level(10.0, 2.0, &[(1.0, 0.5), (1.0, 20.0)], 1e-5) - 9.5).abs() < 1e-12);
        // one share of 1e-6 is all that is left open
        assert!(water_level(10.0, 1.000001, &[(1.0, 9.99999), (1e-6, 100.0)], 1e-5) == f64::INFINITY);
        assert_eq!(water_level(10.0, 2.0, &users, 1e-5), 5.0);
    }
}
