//! Changes of a text that leave it almost as it was.

use rand::RngExt as _;
use stratasim_core::random::Stream;

/// Numbers and words that have broken programs before.
const EVIL: &[&str] = &[
    "0",
    "-1",
    "1",
    "3",
    "0.5",
    "-0.0",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "1000000000000",
    "99999999999999999999999999",
    "\"\"",
    "\"0 B\"",
    "\"-1 GB/s\"",
    "\"0 Gbps\"",
    "\"1e300 TB/s\"",
    "\"1e-300 B/s\"",
    "\"0 ns\"",
    "\"1e9 s\"",
    "\"400 Gbps\"",
    "\"16 EB\"",
    "\"nan s\"",
    "\"ring\"",
    "\"all\"",
    "\"\\u0000\"",
    "\"ä\"",
    "[]",
    "{}",
    "[[[[]]]]",
    "true",
    "1979-05-27",
];

/// Where values of a text begin and end: what stands between `=`, `:`, `,`, `[`, `{` and the next `,`,
/// `;`, `]`, `}` or end of the line; in XML between quotes.
fn values(text: &str) -> Vec<(usize, usize)> {
    let xml = text.trim_start().starts_with('<');
    let (open, close): (&[char], &[char]) =
        if xml { (&['"'], &['"']) } else { (&['=', ':', ',', '[', '{'], &[',', ';', ']', '}', '\n']) };
    let mut found = Vec::new();
    for (at, c) in text.char_indices() {
        if open.contains(&c) {
            let start = at + c.len_utf8();
            let end = text[start..].find(close).map_or(text.len(), |length| start + length);
            if !text[start..end].trim().is_empty() {
                found.push((start, end));
            }
        }
    }
    found
}

/// One change of a text, or two.
pub(crate) fn damage(text: &str, random: &mut Stream) -> String {
    let once = damage_once(text, random);
    if random.random_range(0..4) == 0 { damage_once(&once, random) } else { once }
}

fn damage_once(text: &str, random: &mut Stream) -> String {
    let boundary = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let places = values(text);
    let somewhere = boundary(random.random_range(0..=text.len()));
    let cut = |start: usize, end: usize, with: &str| format!("{}{with}{}", &text[..start], &text[end..]);
    let numbers: Vec<usize> = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at).collect();
    match random.random_range(0..13) {
        // most changes are of values: they get past the parser
        0..=2 if !places.is_empty() => {
            let (start, end) = places[random.random_range(0..places.len())];
            let evil = EVIL[random.random_range(0..EVIL.len())];
            let evil = if text.trim_start().starts_with('<') { evil.trim_matches('"') } else { evil };
            cut(start, end, evil)
        }
        3 if !places.is_empty() => {
            let (start, end) = places[random.random_range(0..places.len())];
            let (other_start, other_end) = places[random.random_range(0..places.len())];
            cut(start, end, &text[other_start..other_end])
        }
        // most small numbers are as good as others
        11..=12 if !numbers.is_empty() => {
            let start = numbers[random.random_range(0..numbers.len())];
            let end =
                text[start..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |length| start + length);
            cut(start, end, &random.random_range(1..20).to_string())
        }
        4 => text[..somewhere].to_owned(),
        5 if !text.is_empty() => {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let (from, to) = (random.random_range(0..lines.len()), random.random_range(0..=lines.len()));
            let mut lines = lines.clone();
            let line = lines.remove(from);
            // gone, twice, or somewhere else
            match random.random_range(0..3) {
                0 => {}
                1 => {
                    lines.insert(from, line);
                    lines.insert(from, line);
                }
                _ => lines.insert(to.min(lines.len()), line),
            }
            lines.concat()
        }
        6 => {
            let byte = char::from(random.random_range(0_u8..128));
            cut(somewhere, somewhere, &byte.to_string())
        }
        7..=9 if !numbers.is_empty() => {
            let at = numbers[random.random_range(0..numbers.len())];
            let digits = ["0", "1", "9", "12", "7.", "-3", "1e", ""];
            cut(at, at + 1, digits[random.random_range(0..digits.len())])
        }
        _ => {
            let end = boundary((somewhere + random.random_range(1_usize..=4)).min(text.len()));
            cut(somewhere, end.max(somewhere), "")
        }
    }
}
