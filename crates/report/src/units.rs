//! Numbers with units as people read them: `7.982 s`, `12.3 GB`, `400 Gbit/s`, `1,024`.

use stratasim_core::words::thousands;

/// What a number measures. The number itself is always in the base unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// A bare number, written with thousands separators when it is whole.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes, with decimal prefixes.
    Bytes,
    /// Bytes per second, with decimal prefixes.
    BytesPerSecond,
    /// Operations per second.
    FlopPerSecond,
    /// Operations.
    Flop,
    /// Something per second, such as events.
    PerSecond,
    /// A share between 0 and 1, written in percent.
    Share,
    /// A factor, written `1.12x`.
    Factor,
    /// A difference relative to something, written in percent with its sign.
    Difference,
}

/// Decimal prefixes from large to small.
const PREFIXES: [(&str, f64); 11] = [
    ("E", 1e18),
    ("P", 1e15),
    ("T", 1e12),
    ("G", 1e9),
    ("M", 1e6),
    ("k", 1e3),
    ("", 1.0),
    ("m", 1e-3),
    ("u", 1e-6),
    ("n", 1e-9),
    ("p", 1e-12),
];

impl Unit {
    /// The symbol of the base unit; empty for bare numbers.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Count | Self::Factor => "",
            Self::Seconds => "s",
            Self::Bytes => "B",
            Self::BytesPerSecond => "B/s",
            Self::FlopPerSecond => "FLOP/s",
            Self::Flop => "FLOP",
            Self::PerSecond => "/s",
            Self::Share | Self::Difference => "%",
        }
    }

    /// `value` with four significant digits and its unit; a dash when it is not a number.
    pub fn format(self, value: f64) -> String {
        if value.is_nan() {
            return "-".to_owned();
        }
        if value.is_infinite() {
            return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
        }
        match self {
            Self::Count => count(value),
            Self::Share => percent(100.0 * value, ""),
            Self::Difference => percent(100.0 * value, "+"),
            Self::Factor => format!("{}x", digits(value, 3)),
            Self::PerSecond if value.abs() < 1e4 => format!("{}/s", thousands(&digits(value, 4))),
            Self::PerSecond => {
                let (number, prefix) = engineering(value, 4, 0);
                format!("{number} {prefix}/s")
            }
            // less than a byte or an operation is a rounding error, not a milli-byte
            Self::Bytes | Self::Flop | Self::BytesPerSecond | Self::FlopPerSecond => {
                let (number, prefix) = engineering(value, 4, 0);
                format!("{number} {prefix}{}", self.symbol())
            }
            Self::Seconds => {
                // no kiloseconds: 5,400.0 s says more than 5.4 ks
                if value.abs() >= 999.95 {
                    return format!("{} s", thousands(&digits(value, 5)));
                }
                let (number, prefix) = engineering(value, 4, 4);
                format!("{number} {prefix}s")
            }
        }
    }
}

impl Unit {
    /// Formats each of `values` so that they compare at a glance: with the prefix and the number of
    /// decimals that give the largest one four digits and the smallest three. Where they differ by more than a
    /// factor of a thousand, each for itself.
    pub fn format_all(self, values: &[f64]) -> Vec<String> {
        let sizes = values.iter().map(|value| value.abs()).filter(|size| *size > 0.0 && size.is_finite());
        let most = sizes.clone().fold(0.0, f64::max);
        let least = sizes.fold(f64::INFINITY, f64::min);
        let alike = most > 0.0 && most <= 1000.0 * least && most < 999.5e18;
        let small = if self == Self::Seconds { 4 } else { 0 };
        let prefixed = matches!(
            self,
            Self::Seconds | Self::Bytes | Self::BytesPerSecond | Self::Flop | Self::FlopPerSecond
        );
        if !prefixed || !alike || (self == Self::Seconds && most >= 999.95) {
            return values.iter().map(|&value| self.format(value)).collect();
        }
        let (prefix, scale) = prefix_of(most, 4, small);
        let whole = small == 0 && values.iter().all(|value| (value / scale).fract() == 0.0);
        // the largest with four digits, the smallest with three
        let needed = |value: f64, significant| {
            digits(value / scale, significant).split('.').nth(1).map_or(0, str::len)
        };
        let decimals = if whole { 0 } else { needed(most, 4).max(needed(least, 3)) };
        let one = |value: &f64| {
            if value.is_finite() {
                format!("{:.decimals$} {prefix}{}", value / scale, self.symbol())
            } else {
                self.format(*value)
            }
        };
        values.iter().map(one).collect()
    }
}

/// `value` scaled to a prefix, with `significant` digits; at most `small` prefixes below one.
fn engineering(value: f64, significant: usize, small: usize) -> (String, &'static str) {
    if value == 0.0 {
        return ("0".to_owned(), "");
    }
    let (prefix, scale) = prefix_of(value, significant, small);
    let scaled = value / scale;
    // what is exact by nature stays short: 80 GB, but 7.000 s
    let whole = small == 0 && scaled == scaled.trunc() && scaled.abs() < 10f64.powi(significant as i32);
    (if whole { format!("{scaled:.0}") } else { digits(scaled, significant) }, prefix)
}

/// The prefix with which `value` has one to three digits before the point, and its size.
fn prefix_of(value: f64, significant: usize, small: usize) -> (&'static str, f64) {
    let usable = &PREFIXES[..7 + small];
    // a number that rounds up to 1000 takes the next prefix: 999.96 kB is 1.000 MB, and 999.9 kB stays
    let whole = 10f64.powi(significant as i32);
    let reaches = |scale: f64| (value.abs() / scale * whole).round() >= whole;
    usable.iter().copied().find(|(_, scale)| reaches(*scale)).unwrap_or(usable[usable.len() - 1])
}

/// `value` with `significant` significant digits, in positional notation.
fn digits(value: f64, significant: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // how many digits stand before the point, after rounding
    let exponent = |v: f64| v.abs().log10().floor() as i32;
    let mut decimals = significant as i32 - 1 - exponent(value);
    let text = format!("{value:.*}", decimals.clamp(0, 12) as usize);
    let again = text.parse::<f64>().map_or(0, exponent);
    if again > exponent(value) && decimals > 0 {
        decimals -= 1;
        return format!("{value:.*}", decimals.clamp(0, 12) as usize);
    }
    text
}

/// A bare number: whole numbers with thousands separators, others with four significant digits.
fn count(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        thousands(&format!("{value:.0}"))
    } else if value.abs() >= 1e15 || (value != 0.0 && value.abs() < 1e-6) {
        format!("{value:.3e}")
    } else {
        thousands(&digits(value, 4))
    }
}

/// A percentage; `sign` is written before positive ones.
fn percent(value: f64, sign: &str) -> String {
    let decimals = if value.abs() >= 999.95 {
        0
    } else if value.abs() >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    match (zero, value > 0.0) {
        (true, _) => "0 %".to_owned(),
        (false, true) => format!("{sign}{text} %"),
        (false, false) => format!("{text} %"),
    }
}

/// `value` as one of a series of tick labels: `step` apart, scaled by `scale`, no more digits than
/// the step needs.
pub(crate) fn tick(value: f64, step: f64, scale: f64) -> String {
    let (value, step) = (value / scale, step / scale);
    let decimals = (-(step.abs().log10() + 1e-9).floor()).clamp(0.0, 12.0) as usize;
    // 2.5 needs one digit more than its power of ten
    let decimals = if is_whole(step * 10f64.powi(decimals as i32)) { decimals } else { decimals + 1 };
    let text = format!("{value:.decimals$}");
    let text = if text.starts_with('-') && text[1..].chars().all(|c| c == '0' || c == '.') {
        text[1..].to_owned()
    } else {
        text
    };
    thousands(&text)
}

fn is_whole(value: f64) -> bool {
    (value - value.round()).abs() <= 1e-6
}

/// The prefix that suits an axis that reaches `most`, and its size.
pub(crate) fn axis_prefix(unit: Unit, most: f64) -> (&'static str, f64) {
    let lowest = match unit {
        Unit::Seconds => 11,
        Unit::Bytes | Unit::BytesPerSecond | Unit::Flop | Unit::FlopPerSecond | Unit::PerSecond => 7,
        _ => return ("", 1.0),
    };
    let highest = if unit == Unit::Seconds { 6 } else { 0 };
    PREFIXES[highest..lowest]
        .iter()
        .copied()
        .find(|(_, scale)| most >= 0.999 * scale)
        .unwrap_or(PREFIXES[lowest - 1])
}

/// Words with a capital letter in front.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_choose_the_prefix_that_leaves_four_digits() {
        for (seconds, text) in [
            (7.981_52, "7.982 s"),
            (0.0, "0 s"),
            (1.5e-6, "1.500 us"),
            (200e-9, "200.0 ns"),
            (1e-12, "1.000 ps"),
            (0.999_96, "1.000 s"),
            (0.999_94, "999.9 ms"),
            (986e-6, "986.0 us"),
            (0.123_456, "123.5 ms"),
            (5400.0, "5,400.0 s"),
            (123_456.789, "123,457 s"),
            (-0.25, "-250.0 ms"),
        ] {
            assert_eq!(Unit::Seconds.format(seconds), text);
        }
    }

    #[test]
    fn bytes_and_rates_have_decimal_prefixes() {
        assert_eq!(Unit::Bytes.format(0.0), "0 B");
        assert_eq!(Unit::Bytes.format(1023.0), "1.023 kB");
        assert_eq!(Unit::Bytes.format(977_600.0), "977.6 kB");
        assert_eq!(Unit::Bytes.format(999_960.0), "1.000 MB");
        assert_eq!(Unit::Bytes.format(80e9), "80 GB");
        assert_eq!(Unit::BytesPerSecond.format(12.5e9), "12.50 GB/s");
        assert_eq!(Unit::FlopPerSecond.format(51.2e12), "51.20 TFLOP/s");
        assert_eq!(Unit::PerSecond.format(6.72e6), "6.720 M/s");
        assert_eq!(Unit::PerSecond.format(128.3), "128.3/s");
        assert_eq!(Unit::PerSecond.format(5339.0), "5,339/s");
    }

    #[test]
    fn counts_shares_factors_and_differences_read_as_text() {
        assert_eq!(Unit::Count.format(85_500_000.0), "85,500,000");
        assert_eq!(Unit::Count.format(0.125), "0.1250");
        assert_eq!(Unit::Share.format(0.767), "76.7 %");
        assert_eq!(Unit::Share.format(0.0), "0 %");
        assert_eq!(Unit::Share.format(1.0), "100.0 %");
        assert_eq!(Unit::Factor.format(1.118), "1.12x");
        assert_eq!(Unit::Difference.format(0.0123), "+1.23 %");
        assert_eq!(Unit::Difference.format(-0.25), "-25.0 %");
        assert_eq!(Unit::Seconds.format(f64::NAN), "-");
    }

    #[test]
    fn numbers_of_a_column_share_prefix_and_decimals() {
        let seconds = |values: &[f64]| Unit::Seconds.format_all(values);
        assert_eq!(seconds(&[6.054, 0.5, 0.0, -0.01]), ["6.0540 s", "0.5000 s", "0.0000 s", "-0.0100 s"]);
        assert_eq!(seconds(&[7.982, 200e-9]), ["7.982 s", "200.0 ns"]);
        assert_eq!(seconds(&[0.0, f64::NAN]), ["0 s", "-"]);
        assert_eq!(Unit::Bytes.format_all(&[80e9, 204e9]), ["80 GB", "204 GB"]);
        assert_eq!(Unit::Bytes.format_all(&[1e12, 333.3e9]), ["1.000 TB", "0.333 TB"]);
    }

    #[test]
    fn ticks_have_the_digits_that_their_step_needs() {
        assert_eq!(tick(2.5, 2.5, 1.0), "2.5");
        assert_eq!(tick(0.000_25, 0.000_05, 1e-3), "0.25");
        assert_eq!(tick(1.025e-3, 5e-6, 1e-3), "1.025");
        assert_eq!(tick(-1e-20, 1.0, 1.0), "0");
        assert_eq!(tick(20_000.0, 5000.0, 1.0), "20,000");
        assert_eq!(axis_prefix(Unit::Seconds, 0.0031), ("m", 1e-3));
        assert_eq!(axis_prefix(Unit::Bytes, 0.5), ("", 1.0));
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_within_half_a_unit_of_the_fourth_digit(value in 1e-12_f64..1e15) {
            let text = Unit::Seconds.format(value);
            let (number, unit) = text.split_once(' ').unwrap();
            let scale = match unit { "s" => 1.0, "ms" => 1e-3, "us" => 1e-6, "ns" => 1e-9, _ => 1e-12 };
            let back: f64 = number.replace(',', "").parse::<f64>().unwrap() * scale;
            proptest::prop_assert!((back - value).abs() <= 0.501e-3 * value, "{value} -> {text}");
        }
    }
}
