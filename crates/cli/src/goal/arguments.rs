//! Values of arguments: plain numbers as schedgen takes them, or with a unit.

use stratasim_core::{Bandwidth, BuildError, Bytes, Duration, TimePerByte};
use stratasim_experiment::{ConfigError, Error};

/// `4096` or `4 MiB`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    if let Some(number) = plain(text) {
        return number;
    }
    text.parse().map(Bytes::count).map_err(|error| format!("{error}, or a bare number of bytes"))
}

/// `500`, which are nanoseconds, or `5 us`.
pub(super) fn nanoseconds(text: &str) -> Result<u64, String> {
    if let Some(number) = plain(text) {
        return number;
    }
    let time: Duration = text.parse().map_err(|error| format!("{error}, or a bare number of nanoseconds"))?;
    if time.as_ps().is_multiple_of(1000) {
        Ok(time.as_ps() / 1000)
    } else {
        Err(format!("`{text}` is no whole number of nanoseconds, which are the smallest time in a schedule"))
    }
}

/// `2500`, `0.5` or `2.5 us`: nanoseconds, a fraction or not.
pub(super) fn fractional_ns(text: &str) -> Result<f64, String> {
    bare_ns(text).unwrap_or_else(|| {
        let time: Result<Duration, _> = text.parse();
        let time = time.map_err(|error| format!("{error}, or a bare number of nanoseconds"))?;
        Ok(time.as_ps() as f64 / 1000.0)
    })
}

/// `0.04` or `0.04 ns/B`: nanoseconds per byte.
pub(super) fn ns_per_byte(text: &str) -> Result<f64, String> {
    bare_ns(text).unwrap_or_else(|| {
        let time: Result<TimePerByte, _> = text.parse();
        let time = time.map_err(|error| format!("{error}, or a bare number of nanoseconds per byte"))?;
        Ok(time.ps_per_byte() / 1000.0)
    })
}

/// `500`, which are nanoseconds, or `5 us`, as a time of our own.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    match bare_ns(text) {
        Some(ns) => Ok(Duration::from_ps((ns? * 1000.0).round() as u64)),
        None => text.parse().map_err(|error| format!("{error}, or a bare number of nanoseconds")),
    }
}

/// The same, where none would be none at all.
pub(super) fn time_above_zero(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("a time above zero is expected".to_owned()),
        time => Ok(time),
    }
}

/// A seed.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a whole number from 0 to {} is expected", u64::MAX))
}

/// A bare number of nanoseconds; none where there is something else.
fn bare_ns(text: &str) -> Option<Result<f64, String>> {
    let ns: f64 = text.trim().parse().ok()?;
    Some(if (0.0..9e15).contains(&ns) {
        Ok(ns)
    } else {
        Err("a number of nanoseconds from 0 to 9e15 is expected, or a time with its unit".to_owned())
    })
}

/// Bytes per nanosecond: `300`, or `300 GB/s`.
pub(super) fn bytes_per_ns(text: &str) -> Result<f64, String> {
    let rate = match text.trim().parse::<f64>() {
        Ok(rate) => rate,
        Err(_) => {
            let rate: Bandwidth =
                text.parse().map_err(|error| format!("{error}, or a bare number of bytes per nanosecond"))?;
            rate.bytes_per_s() * 1e-9
        }
    };
    if rate > 0.0 && rate.is_finite() {
        Ok(rate)
    } else {
        Err(format!("a rate is more than 0 bytes per nanosecond, got {text}"))
    }
}

/// A number without a unit; none where there is something else.
fn plain(text: &str) -> Option<Result<u64, String>> {
    let digits = text.trim().replace('_', "");
    if digits.parse().is_ok_and(|number: f64| number < 0.0) {
        return Some(Err(format!("a number that is not negative is expected, got `{text}`")));
    }
    let bare = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    bare.then(|| digits.parse().map_err(|_| format!("`{text}` is too large; at most 2^64 - 1 is expected")))
}

/// An error of a library, with the option that its field comes from in front.
pub(super) fn wrong(error: &BuildError, options: &[(&str, &str)]) -> Error {
    let option = options.iter().find(|(field, _)| *field == error.field);
    let message = match option {
        Some((_, "")) => error.reason.clone(),
        Some((_, option)) => format!("{option}: {}", error.reason),
        None => error.to_string(),
    };
    ConfigError::new(message, None).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_a_unit() {
        assert_eq!(bytes("1024"), Ok(1024));
        assert_eq!(bytes("1_000"), Ok(1000));
        assert_eq!(bytes("4 MiB"), Ok(4 << 20));
        assert_eq!(nanoseconds("70"), Ok(70));
        assert_eq!(nanoseconds("1.5 us"), Ok(1500));
        assert_eq!(fractional_ns("0.5"), Ok(0.5));
        assert_eq!(fractional_ns("1us"), Ok(1000.0));
        assert_eq!(fractional_ns("1500 ps"), Ok(1.5));
        assert_eq!(ns_per_byte("6"), Ok(6.0));
        assert_eq!(ns_per_byte("0.04 ns/B"), Ok(0.04));
        assert_eq!(time("100"), Ok(Duration::from_ns(100)));
        assert_eq!(time("2 us"), Ok(Duration::from_ns(2000)));
        assert_eq!(bytes_per_ns("300"), Ok(300.0));
        assert!((bytes_per_ns("300 GB/s").unwrap() - 300.0).abs() < 1e-9);
        assert!((bytes_per_ns("200 Gbps").unwrap() - 25.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_number_is_refused_with_what_is_expected() {
        for (found, expected) in [
            (bytes("-1"), "a number that is not negative is expected"),
            (nanoseconds("-0.5"), "a number that is not negative is expected"),
            (bytes("-1 B"), "must not be negative"),
            (bytes("one"), "write it like"),
            (bytes("4 m"), "or a bare number of bytes"),
            (bytes("99999999999999999999"), "2^64 - 1"),
            (nanoseconds("1 ps"), "whole number of nanoseconds"),
            (nanoseconds("later"), "or a bare number of nanoseconds"),
            (fractional_ns("-5").map(|_| 0), "from 0 to 9e15"),
            (fractional_ns("nan").map(|_| 0), "from 0 to 9e15"),
            (fractional_ns("-1 us").map(|_| 0), "must not be negative"),
            (ns_per_byte("1 ns").map(|_| 0), "a time per byte"),
            (time("soon").map(|_| 0), "or a bare number of nanoseconds"),
            (time_above_zero("0.0001").map(|_| 0), "a time above zero"),
            (seed("-1"), "a whole number from 0 to 18446744073709551615"),
            (bytes_per_ns("0").map(|_| 0), "more than 0"),
            (bytes_per_ns("fast").map(|_| 0), "or a bare number"),
        ] {
            assert!(found.as_ref().is_err_and(|text| text.contains(expected)), "{found:?}");
        }
    }
}
