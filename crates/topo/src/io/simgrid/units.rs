//! Quantities as SimGrid writes them: `1.25GBps`, `100Mbps`, `50us`, `98.095Mf`.
//!
//! A bare number is bytes per second, seconds or FLOP per second. The value is the number times
//! the unit in double precision, as SimGrid computes it.

use stratasim_core::{Bandwidth, Duration};

/// A kind of quantity: what it is called, its units, an example.
struct Quantity {
    what: &'static str,
    example: &'static str,
    scale: fn(&str) -> Option<f64>,
}

const DECIMAL: [&str; 8] = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
const BINARY: [&str; 8] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"];
const LONG: [&str; 8] = ["kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta"];

/// `base^(place + 1)` for the place of `prefix` in `prefixes`; 1 for no prefix.
fn power(prefix: &str, prefixes: &[&str; 8], base: f64) -> Option<f64> {
    if prefix.is_empty() {
        return Some(1.0);
    }
    let place = prefixes.iter().position(|known| *known == prefix)?;
    Some(base.powi(place as i32 + 1))
}

fn bandwidth_scale(unit: &str) -> Option<f64> {
    let (prefix, bytes) = match unit.strip_suffix("Bps") {
        Some(prefix) => (prefix, 1.0),
        None => (unit.strip_suffix("bps")?, 0.125),
    };
    let power = power(prefix, &DECIMAL, 1000.0).or_else(|| power(prefix, &BINARY, 1024.0))?;
    Some(power * bytes)
}

fn speed_scale(unit: &str) -> Option<f64> {
    match unit.strip_suffix("flops") {
        // SimGrid itself spells the sixth with one t, its documentation with two
        Some("zeta") => Some(1e21),
        Some(prefix) => power(prefix, &LONG, 1000.0),
        None => power(unit.strip_suffix('f')?, &DECIMAL, 1000.0),
    }
}

fn time_scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "w" => 604_800.0,
        "d" => 86_400.0,
        "h" => 3600.0,
        "m" => 60.0,
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        "ps" => 1e-12,
        _ => return None,
    })
}

impl Quantity {
    fn read(&self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let Self { what, example, scale } = self;
        let digits = number_length(text);
        let (number, unit) = (&text[..digits], text[digits..].trim());
        let number: f64 = number.parse().map_err(|_| {
            format!("`{text}` is not {what}: no number at its start; write it like `{example}`")
        })?;
        let factor = if unit.is_empty() {
            1.0
        } else {
            scale(unit).ok_or_else(|| {
                format!("`{text}` is not {what}: the unit `{unit}` is unknown; write it like `{example}`")
            })?
        };
        let value = number * factor;
        if !value.is_finite() {
            return Err(format!("`{text}` is too large for {what}"));
        }
        if value < 0.0 {
            return Err(format!("`{text}` is negative; {what} must not be"));
        }
        Ok(value)
    }
}

/// How many bytes at the start of `text` are a decimal number.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    while digit(at) || bytes.get(at) == Some(&b'.') {
        at += 1;
    }
    // an exponent has digits; the E of `1Ef` is a prefix
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if digit(at + 1 + sign) {
            at += 1 + sign;
            while digit(at) {
                at += 1;
            }
        }
    }
    at
}

/// A bandwidth, in bytes per second.
pub(super) fn bandwidth(text: &str) -> Result<Bandwidth, String> {
    let quantity = Quantity { what: "a bandwidth", example: "1.25GBps", scale: bandwidth_scale };
    quantity.read(text).and_then(possible)
}

/// So many bytes per second, where links can carry that.
pub(super) fn possible(bytes_per_s: f64) -> Result<Bandwidth, String> {
    let found = Bandwidth(bytes_per_s);
    if found <= Bandwidth::MOST {
        return Ok(found);
    }
    Err(format!("a bandwidth of {found}; at most 1,000,000 TB/s are possible"))
}

/// A compute rate, in FLOP per second.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    Quantity { what: "a compute rate", example: "100Gf", scale: speed_scale }.read(text)
}

/// A length of time, to the nearest picosecond.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let seconds = Quantity { what: "a length of time", example: "50us", scale: time_scale }.read(text)?;
    picoseconds(seconds).ok_or_else(|| format!("`{text}` is longer than 213 days, which is the longest"))
}

/// `seconds` to the nearest picosecond; `None` when negative, not a number, or too long.
pub(super) fn picoseconds(seconds: f64) -> Option<Duration> {
    (0.0..1.8e7).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_times_units() {
        assert_eq!(bandwidth("125MBps"), Ok(Bandwidth(125e6)));
        assert_eq!(bandwidth("10Gbps"), Ok(Bandwidth(1.25e9)));
        assert_eq!(bandwidth("1GiBps"), Ok(Bandwidth(1_073_741_824.0)));
        assert_eq!(bandwidth("8 Kibps"), Ok(Bandwidth(1024.0)));
        assert_eq!(bandwidth("1e9"), Ok(Bandwidth(1e9)));
        assert_eq!(speed("98.095Mf"), Ok(98.095e6));
        assert_eq!(speed("1Ef"), Ok(1e18));
        assert_eq!(speed("2e3kf"), Ok(2e6));
        assert_eq!(speed("3megaflops"), Ok(3e6));
        assert_eq!((speed("1zetaflops"), speed("1zettaflops")), (Ok(1e21), Ok(1e21)));
        assert_eq!(time("10us"), Ok(Duration::from_ns(10_000)));
        assert_eq!(time("0"), Ok(Duration::ZERO));
        assert_eq!(time("0.5w").unwrap().as_secs_f64(), 302_400.0);
        assert_eq!(time("1.5ps"), Ok(Duration::from_ps(2)));
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        assert_eq!(bandwidth("1000000TBps"), Ok(Bandwidth::MOST));
        assert!(bandwidth("1000001TBps").unwrap_err().contains("at most 1,000,000 TB/s are possible"));
        assert!(bandwidth("fast").unwrap_err().contains("no number"));
        assert!(bandwidth("1GBit").unwrap_err().contains("`GBit` is unknown"));
        assert!(bandwidth("1Kbps").unwrap_err().contains("`Kbps` is unknown"));
        assert!(speed("-1Gf").unwrap_err().contains("negative"));
        assert!(speed("1Kif").is_err());
        assert!(time("1e9d").unwrap_err().contains("213 days"));
        assert!(speed("1e300Yf").unwrap_err().contains("too large"));
        assert!(speed("inf").is_err() && speed("nanf").is_err());
    }
}
