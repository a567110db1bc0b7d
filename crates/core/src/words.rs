//! Numbers as parts of sentences.

/// Digits that a number in a sentence has.
const DIGITS: u32 = 4;

/// A number of anything, rounded to four digits: what a sentence says, not what is computed with.
pub fn rounded(number: u64) -> u64 {
    let unit = 10_u64.pow((number.checked_ilog10().unwrap_or(0) + 1).saturating_sub(DIGITS));
    let rest = number % unit;
    let up = if rest >= unit.div_ceil(2) && rest > 0 { unit } else { 0 };
    (number - rest).saturating_add(up)
}

/// A number that need not be whole, to three digits and without zeros that say nothing: `0.167`, `60.6`, `100`. Powers of ten stand
/// only where it is below a millionth.
pub fn three_digits(number: f64) -> String {
    let scientific = format!("{number:.2e}");
    match scientific.parse::<f64>() {
        Ok(rounded) if rounded == 0.0 || rounded.abs() >= 1e-6 => rounded.to_string(),
        Ok(rounded) => format!("{rounded:e}"),
        Err(_) => scientific,
    }
}

/// A number of things: `1 rank`, `2,048 ranks`.
pub fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", thousands(&number.to_string()), if number == 1 { "" } else { "s" })
}

/// Commas between groups of three digits of the whole part.
pub fn thousands(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(w, f)| (w, Some(f)));
    let mut grouped = String::with_capacity(text.len() + whole.len() / 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_things() {
        assert_eq!([0, 1, 2048].map(|number| counted(number, "rank")), ["0 ranks", "1 rank", "2,048 ranks"]);
    }

    #[test]
    fn numbers_in_sentences_have_four_digits() {
        for (number, text) in [
            (0, 0),
            (9999, 9999),
            (12_344, 12_340),
            (12_345, 12_350),
            (99_995, 100_000),
            (3_956_974_849, 3_957_000_000),
            (6_345_475_711, 6_345_000_000),
        ] {
            assert_eq!(rounded(number), text);
        }
        for (number, text) in [
            (1.0 / 6.0, "0.167"),
            (60.6, "60.6"),
            (100.0, "100"),
            (0.0, "0"),
            (1234.0, "1230"),
            (99.96, "100"),
            (-0.000_001, "-0.000001"),
            (2.345e-9, "2.35e-9"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(three_digits(number), text);
        }
        assert_eq!(thousands("4000"), "4,000");
        assert_eq!(thousands("-1234567.8901"), "-1,234,567.8901");
        assert_eq!(thousands("999"), "999");
    }
}
