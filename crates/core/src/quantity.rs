//! Quantities with units in their text form: `"400 Gbps"`, `"64 MiB"`, `"51.2 TFLOP/s"`, `"500 ns"`.
//!
//! A bare number is refused wherever a unit is expected, so that nobody has to remember which one
//! was meant. Every quantity reads what it prints.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::time::Duration;

/// Text that is not a quantity of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not {what}; write it like `{example}`{hint}")]
pub struct UnitError {
    found: String,
    what: &'static str,
    example: &'static str,
    hint: String,
}

/// One unit: name as written in files, and its size in base units.
type Unit = (&'static str, f64);

/// Splits `"12.5 GB/s"` into number and unit and scales; `fail` makes the error.
fn scan(text: &str, units: &[&[Unit]], fail: impl Fn(String) -> UnitError) -> Result<f64, UnitError> {
    let trimmed = text.trim();
    let split = trimmed
        .char_indices()
        .find(|&(at, c)| {
            let digit = c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | '_');
            // "1e9 B": an exponent belongs to the number
            let exponent = matches!(c, 'e' | 'E')
                && trimmed[at + 1..].starts_with(|n: char| n.is_ascii_digit() || matches!(n, '+' | '-'));
            !digit && !exponent
        })
        .map_or(trimmed.len(), |(at, _)| at);
    // the Greek letter looks like the sign for a millionth, and is what some keyboards write
    let (number, unit) =
        (trimmed[..split].replace('_', ""), &*trimmed[split..].trim().replace('\u{3bc}', "\u{b5}"));
    let value: f64 = number.parse().map_err(|_| fail(String::new()))?;
    if unit.is_empty() {
        return Err(fail("; the unit is missing".to_owned()));
    }
    let all = || units.iter().flat_map(|list| list.iter());
    let Some(&(_, scale)) = all().find(|(name, _)| *name == unit) else {
        let hint = match all().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
            Some((name, _)) => format!("; the unit `{unit}` is unknown, did you mean `{name}`?"),
            None => {
                let mut known: Vec<&str> = Vec::new();
                for (name, _) in all() {
                    if !known.contains(name) {
                        known.push(name);
                    }
                }
                format!("; the unit `{unit}` is unknown here (known: {})", known.join(", "))
            }
        };
        return Err(fail(hint));
    };
    if value < 0.0 {
        return Err(fail("; it must not be negative".to_owned()));
    }
    let scaled = value * scale;
    if scaled.is_finite() { Ok(scaled) } else { Err(fail("; it is too large".to_owned())) }
}

/// Prints `value` so that it reads back as the same number: in the largest fitting unit of each of `lists`
/// (descending), the shortest of these texts, the first of several. `64 MiB` and `64 MB` print as such.
fn print(value: f64, lists: &[&[Unit]]) -> String {
    let exact = |&&(_, scale): &&Unit| value >= scale && (value / scale) * scale == value;
    let text = |units: &&[Unit]| {
        let (name, scale) = units.iter().find(exact).or(units.last()).expect("a quantity has a unit");
        format!("{} {name}", value / scale)
    };
    lists.iter().map(text).min_by_key(String::len).expect("a quantity has units")
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty), $what:literal, $example:literal, $accessor:ident,
     print: $($print:expr),+; also: $also:expr $(; most: $most:expr, $limit:literal)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
        pub struct $name(pub $inner);

        impl $name {
            #[doc = concat!("The bare number, in the unit that the name says.")]
            #[inline]
            pub const fn $accessor(self) -> $inner {
                self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                let fail = |hint| UnitError { found: text.to_owned(), what: $what, example: $example, hint };
                let value = scan(text, &[$($print),+, $also], fail)?;
                $(if value > $most {
                    return Err(fail(concat!("; ", $limit, " is the largest").to_owned()));
                })?
                #[allow(clippy::cast_possible_truncation, reason = "a count is rounded to the nearest whole")]
                value.round_into().map(Self).ok_or_else(|| fail("; it is less than one".to_owned()))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&print(self.0 as f64, &[$($print),+]))
            }
        }

        text_form!($name, $what, $example);
    };
}

/// Serde and schema through `FromStr` and `Display`.
macro_rules! text_form {
    ($name:ident, $what:literal, $example:literal) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!($what, " as a string with a unit, such as \"", $example, "\""))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": concat!($what, " with its unit"),
                    "examples": [$example],
                })
            }
        }
    };
}

/// Rounds counts, leaves rates as they are; none for a part of one.
trait RoundInto<T> {
    fn round_into(self) -> Option<T>;
}
impl RoundInto<Self> for f64 {
    fn round_into(self) -> Option<Self> {
        Some(self)
    }
}
impl RoundInto<u64> for f64 {
    fn round_into(self) -> Option<u64> {
        (self == 0.0 || self >= 1.0).then(|| self.round() as u64)
    }
}

const BIT_RATES: &[Unit] = &[
    ("Tbps", 0.125e12),
    ("Gbps", 0.125e9),
    ("Mbps", 0.125e6),
    ("kbps", 0.125e3),
    ("B/s", 1.0),
    ("bps", 0.125),
];
const BYTE_RATES: &[Unit] = &[
    ("TB/s", 1e12),
    ("GB/s", 1e9),
    ("MB/s", 1e6),
    ("kB/s", 1e3),
    ("TBps", 1e12),
    ("GBps", 1e9),
    ("MBps", 1e6),
    ("kBps", 1e3),
    ("Bps", 1.0),
    ("TiB/s", (1_u64 << 40) as f64),
    ("GiB/s", (1_u64 << 30) as f64),
    ("MiB/s", (1_u64 << 20) as f64),
    ("KiB/s", 1024.0),
    ("Tb/s", 0.125e12),
    ("Gb/s", 0.125e9),
    ("Mb/s", 0.125e6),
    ("kb/s", 0.125e3),
    ("Tbit/s", 0.125e12),
    ("Gbit/s", 0.125e9),
    ("Mbit/s", 0.125e6),
    ("kbit/s", 0.125e3),
    ("bit/s", 0.125),
];
const BYTE_PRINT: &[Unit] = &[("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
const BYTE_BINARY: &[Unit] = &[
    ("PiB", (1_u64 << 50) as f64),
    ("TiB", (1_u64 << 40) as f64),
    ("GiB", (1_u64 << 30) as f64),
    ("MiB", (1_u64 << 20) as f64),
    ("KiB", 1024.0),
    ("B", 1.0),
];
const BYTE_ALSO: &[Unit] = &[("KB", 1e3)];
const RATE_PRINT: &[Unit] = &[
    ("EFLOP/s", 1e18),
    ("PFLOP/s", 1e15),
    ("TFLOP/s", 1e12),
    ("GFLOP/s", 1e9),
    ("MFLOP/s", 1e6),
    ("kFLOP/s", 1e3),
    ("FLOP/s", 1.0),
];
const RATE_ALSO: &[Unit] = &[
    ("EFLOPS", 1e18),
    ("PFLOPS", 1e15),
    ("TFLOPS", 1e12),
    ("GFLOPS", 1e9),
    ("MFLOPS", 1e6),
    ("FLOPS", 1.0),
    ("POP/s", 1e15),
    ("TOP/s", 1e12),
    ("GOP/s", 1e9),
    ("OP/s", 1.0),
];
const FLOP_PRINT: &[Unit] = &[
    ("EFLOP", 1e18),
    ("PFLOP", 1e15),
    ("TFLOP", 1e12),
    ("GFLOP", 1e9),
    ("MFLOP", 1e6),
    ("kFLOP", 1e3),
    ("FLOP", 1.0),
];
const FLOP_ALSO: &[Unit] =
    &[("EFLOPs", 1e18), ("PFLOPs", 1e15), ("TFLOPs", 1e12), ("GFLOPs", 1e9), ("FLOPs", 1.0)];

quantity! {
    /// Bytes per second. Bit rates and byte rates are both read; `Gbps` is 10^9 bits per second.
    Bandwidth(f64), "a bandwidth", "400 Gbps", bytes_per_s, print: BIT_RATES; also: BYTE_RATES;
    most: Bandwidth::MOST.0, "1,000,000 TB/s"
}
impl Bandwidth {
    /// The largest: a byte takes a millionth of a picosecond, and sums over all links of a machine stay finite.
    pub const MOST: Self = Self(1e18);
}
quantity! {
    /// A number of bytes.
    Bytes(u64), "an amount of data", "64 MiB", count, print: BYTE_PRINT, BYTE_BINARY; also: BYTE_ALSO;
    most: MOST_BYTES, "18,446 PB"
}
/// The largest amount of data: the last number below 2^64 that a text is read as.
const MOST_BYTES: f64 = (u64::MAX << 11) as f64;
quantity! {
    /// Floating-point operations per second (operations per second for int8).
    ComputeRate(f64), "a compute rate", "51.2 TFLOP/s", flop_per_s, print: RATE_PRINT; also: RATE_ALSO
}
quantity! {
    /// A number of floating-point operations.
    Flops(f64), "an amount of computation", "195 GFLOP", count, print: FLOP_PRINT; also: FLOP_ALSO
}

quantity! {
    /// Picoseconds per byte: the inverse of a bandwidth, as LogGP has it.
    TimePerByte(f64), "a time per byte", "0.04 ns/B", ps_per_byte,
    print: &[("us/B", 1e6), ("ns/B", 1e3), ("ps/B", 1.0)]; also: &[("s/B", 1e12), ("ms/B", 1e9)]
}

quantity! {
    /// Cycles per second.
    Frequency(f64), "a frequency", "1.25 GHz", hz,
    print: &[("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)]; also: &[("THz", 1e12)]
}

impl std::str::FromStr for Duration {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        const UNITS: &[Unit] = &[
            ("s", 1e12),
            ("ms", 1e9),
            ("us", 1e6),
            ("µs", 1e6),
            ("ns", 1e3),
            ("ps", 1.0),
            ("min", 60e12),
            ("h", 3600e12),
            ("d", 86400e12),
        ];
        let fail =
            |hint| UnitError { found: text.to_owned(), what: "a length of time", example: "500 ns", hint };
        let ps = scan(text, &[UNITS], fail)?.round();
        if ps >= u64::MAX as f64 {
            Err(fail("; 213 days is the longest".to_owned()))
        } else {
            Ok(Self::from_ps(ps as u64))
        }
    }
}
text_form!(Duration, "a length of time", "500 ns");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_mean_what_they_say() {
        assert_eq!("400 Gbps".parse::<Bandwidth>().unwrap().bytes_per_s(), 50e9);
        assert_eq!("12.5GB/s".parse::<Bandwidth>().unwrap().bytes_per_s(), 12.5e9);
        assert_eq!("64 MiB".parse::<Bytes>().unwrap().count(), 64 << 20);
        assert_eq!("1e3 B".parse::<Bytes>().unwrap().count(), 1000);
        assert_eq!("0.25 us".parse::<Duration>().unwrap(), Duration::from_ns(250));
        for mu in ['\u{b5}', '\u{3bc}'] {
            assert_eq!(format!("0.25 {mu}s").parse::<Duration>().unwrap(), Duration::from_ns(250));
        }
        assert_eq!("51.2 TFLOP/s".parse::<ComputeRate>().unwrap().flop_per_s(), 51.2e12);
    }

    #[test]
    fn a_wrong_unit_is_named_with_its_remedy() {
        let message = |text: &str| text.parse::<Bandwidth>().unwrap_err().to_string();
        assert_eq!(message("400"), "`400` is not a bandwidth; write it like `400 Gbps`; the unit is missing");
        assert_eq!(
            message("400 gbps"),
            "`400 gbps` is not a bandwidth; write it like `400 Gbps`; the unit `gbps` is unknown, did you mean `Gbps`?"
        );
        assert!(message("-1 Gbps").ends_with("it must not be negative"));
        assert!(message("fast").contains("is not a bandwidth"));
        assert_eq!("1e6 TB/s".parse::<Bandwidth>(), Ok(Bandwidth::MOST));
        assert!(message("1.1e6 TB/s").ends_with("; 1,000,000 TB/s is the largest"));
        assert!(message("1e300 Gbps").ends_with("; 1,000,000 TB/s is the largest"));
        assert!("1e300 d".parse::<Duration>().is_err());
        assert!(message("4 days").contains("the unit `days` is unknown here (known: "));
        // a part of a byte is none
        let bytes = |text: &str| text.parse::<Bytes>().map_err(|error| error.to_string());
        assert_eq!((bytes("0 B"), bytes("1.6 B")), (Ok(Bytes(0)), Ok(Bytes(2))));
        assert!(bytes("0.5 B").is_err_and(|error| error.ends_with("it is less than one")));
        assert_eq!(bytes("16383 PiB"), Ok(Bytes(16383 << 50)));
        assert_eq!(bytes("18446744073709549568 B"), Ok(Bytes(u64::MAX - 2047)));
        for many in ["16384 PiB", "18446744073709551616 B", "1e200 PB"] {
            assert!(bytes(many).is_err_and(|error| error.ends_with("; 18,446 PB is the largest")), "{many}");
        }
        // a unit of two lists is named once
        let known = "(known: PB, TB, GB, MB, kB, B, PiB, TiB, GiB, MiB, KiB, KB)";
        assert!(bytes("1 parsec").is_err_and(|error| error.ends_with(known)));
    }

    #[test]
    fn bytes_print_in_the_shorter_of_their_decimal_and_binary_forms() {
        for text in
            ["64 MiB", "16 MB", "2 GB", "15 KiB", "31.25 MB", "1.5 KiB", "512 B", "1 PB", "0 B", "1001 B"]
        {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        assert_eq!("4194304 B".parse::<Bytes>().unwrap().to_string(), "4 MiB");
        assert_eq!("15625 KiB".parse::<Bytes>().unwrap().to_string(), "16 MB");
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(rate in 0.0..1e18_f64, bytes in 0..1_u64 << 53, ps in 0..1_u64 << 53) {
            prop_assert_eq!(Bandwidth(rate).to_string().parse::<Bandwidth>().unwrap(), Bandwidth(rate));
            prop_assert_eq!(Bytes(bytes).to_string().parse::<Bytes>().unwrap(), Bytes(bytes));
            prop_assert_eq!(Duration::from_ps(ps).to_string().parse::<Duration>().unwrap(), Duration::from_ps(ps));
        }
    }
}
