//! Values of arguments: plain numbers as schedgen takes them, or with a unit.

use stratasim_core::{Bandwidth, BuildError, Bytes, Duration};
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
        assert_eq!(bytes_per_ns("300"), Ok(300.0));
        assert!((bytes_per_ns("300 GB/s").unwrap() - 300.0).abs() < 1e-9);
        assert!((bytes_per_ns("200 Gbps").unwrap() - 25.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_number_is_refused_with_what_is_expected() {
        for (found, expected) in [
            (bytes("-1"), "write it like"),
            (bytes("4 m"), "or a bare number of bytes"),
            (bytes("99999999999999999999"), "2^64 - 1"),
            (nanoseconds("1 ps"), "whole number of nanoseconds"),
            (nanoseconds("later"), "or a bare number of nanoseconds"),
            (bytes_per_ns("0").map(|_| 0), "more than 0"),
            (bytes_per_ns("fast").map(|_| 0), "or a bare number"),
        ] {
            assert!(found.as_ref().is_err_and(|text| text.contains(expected)), "{found:?}");
        }
    }
}
