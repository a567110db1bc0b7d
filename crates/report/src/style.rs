//! What a terminal can show: Unicode or ASCII, colour or none, and how many columns.

use std::borrow::Cow;

/// Columns below which bars would all look the same.
const LEAST_BAR: usize = 3;

/// How text for a terminal is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Box lines, blocks and arrows from Unicode; otherwise plain ASCII.
    pub unicode: bool,
    /// ANSI colours.
    pub colour: bool,
    /// Columns.
    pub width: usize,
}

impl Style {
    /// Plain ASCII without colour, 80 columns wide.
    pub const PLAIN: Self = Self { unicode: false, colour: false, width: 80 };

    /// Unicode without colour, 80 columns wide: for files and golden tests.
    pub const UNICODE: Self = Self { unicode: true, colour: false, width: 80 };

    /// Columns of the narrowest terminal that tables fit on.
    pub const NARROWEST: usize = 40;

    /// `text` as it may reach a terminal: names in it must not drive that, so that of control characters only line breaks, tabs
    /// and, where there are colours, these stay.
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let stays = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
        if text.chars().all(stays) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let colour = rest.strip_prefix("\x1b[").filter(|_| self.colour).and_then(|after| {
                let end = after.find(|c: char| !c.is_ascii_digit() && c != ';')?;
                after[end..].starts_with('m').then_some(2 + end + 1)
            });
            let length = colour.unwrap_or(c.len_utf8());
            if colour.is_some() || stays(c) {
                out.push_str(&rest[..length]);
            } else {
                out.push(char::REPLACEMENT_CHARACTER);
            }
            rest = &rest[length..];
        }
        Cow::Owned(out)
    }

    /// `text` without the signs of reports where Unicode cannot be shown: those that have a stand-in in ASCII. Letters stay.
    pub fn without_signs<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.unicode || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '×' | '✗' => out.push('x'),
                '–' | '−' | '—' | '─' => out.push('-'),
                '±' => out.push_str("+-"),
                '…' => out.push_str(".."),
                '→' => out.push_str("->"),
                '≥' => out.push_str(">="),
                '≤' => out.push_str("<="),
                '≈' => out.push('~'),
                'µ' => out.push('u'),
                '·' => out.push('.'),
                '•' => out.push('*'),
                '│' => out.push('|'),
                '╭' | '╰' | '├' | '┬' | '┴' => out.push('+'),
                '▲' => out.push('^'),
                c => out.push(c),
            }
        }
        Cow::Owned(out)
    }

    /// What the environment asks for.
    ///
    /// `variable` looks up an environment variable; `is_terminal` says whether the text goes to a
    /// terminal. Unicode needs a UTF-8 locale (`LC_ALL`, else `LC_CTYPE`, else `LANG`); colour needs
    /// a terminal that is not `dumb` and no `NO_COLOR` (<https://no-color.org>). The width is that of
    /// `COLUMNS`, from [`NARROWEST`](Self::NARROWEST) to 200, and 80 otherwise.
    pub fn from_environment(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        let colour =
            is_terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb");
        let width = set("COLUMNS").and_then(|columns| columns.parse().ok()).unwrap_or(80);
        Self {
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
            colour,
            width: usize::clamp(width, Self::NARROWEST, 200),
        }
    }

    /// `text` in a tone, where colours are allowed.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", tone.code())
        } else {
            text.to_owned()
        }
    }

    /// `unicode` where that can be shown, `ascii` elsewhere.
    pub const fn choose(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }

    /// A horizontal bar of at most `width` columns for a share between 0 and 1, padded with blanks. Nothing where there is
    /// no room for a difference to be seen.
    pub fn bar(&self, share: f64, width: usize) -> String {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        if width < LEAST_BAR {
            return " ".repeat(width);
        }
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        let mut bar = String::new();
        if self.unicode {
            // something that is there is never drawn as nothing
            let eighths = (share * 8.0 * width as f64).round().max(f64::from(share > 0.0)) as usize;
            bar.push_str(&"█".repeat(eighths / 8));
            bar.push_str(EIGHTHS[eighths % 8]);
        } else {
            bar.push_str(&"#".repeat((share * width as f64).round() as usize));
        }
        pad_right(&bar, width)
    }
}

/// The role of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Titles and the numbers that matter most.
    Strong,
    /// Labels and rules.
    Muted,
    /// Computation.
    Compute,
    /// Memory access.
    Memory,
    /// Communication.
    Communication,
    /// Something that is as it should be.
    Good,
    /// Something that is wrong.
    Bad,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Muted => "2",
            Self::Compute => "34",
            Self::Memory => "36",
            Self::Communication => "33",
            Self::Good => "32",
            Self::Bad => "1;31",
        }
    }
}

/// Columns that `text` takes on a terminal: two for East Asian wide characters, none for colours and
/// combining marks, one for all others.
pub fn display_width(text: &str) -> usize {
    let mut width = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            // an ANSI sequence ends with a letter
            '\x1b' => while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {},
            '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' => {}
            '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{303e}'
            | '\u{3041}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe6f}'
            | '\u{ff00}'..='\u{ff60}'
            | '\u{ffe0}'..='\u{ffe6}'
            | '\u{1f300}'..='\u{1faff}'
            | '\u{20000}'..='\u{3fffd}' => width += 2,
            c if c.is_control() => {}
            _ => width += 1,
        }
    }
    width
}

/// `text` followed by blanks up to `width` columns.
pub fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(display_width(text))))
}

/// `text` preceded by blanks up to `width` columns.
pub(crate) fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(display_width(text))))
}

/// `text` cut to `width` columns, with `mark` in place of what is missing in the middle: both ends of
/// a name tell it from its neighbours.
pub fn shorten(text: &str, width: usize, mark: &str) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(display_width(mark));
    let take = |chars: &mut dyn Iterator<Item = char>, most: usize| {
        let mut taken = Vec::new();
        let mut used = 0;
        for c in chars {
            used += display_width(c.encode_utf8(&mut [0; 4]));
            if used > most {
                break;
            }
            taken.push(c);
        }
        taken
    };
    let head: String = take(&mut text.chars(), room.div_ceil(2)).into_iter().collect();
    let tail: String = take(&mut text.chars().rev(), room / 2).into_iter().rev().collect();
    format!("{head}{mark}{tail}")
}

/// Names, each in at most `width` columns; of several that would then read the same, the part is shown in which they differ, or each
/// ends with its place among all.
pub fn shorten_apart(names: &[&str], width: usize, mark: &str) -> Vec<String> {
    let mut short: Vec<String> = names.iter().map(|name| shorten(name, width, mark)).collect();
    let same: Vec<usize> = (0..names.len())
        .filter(|&at| (0..names.len()).any(|other| short[other] == short[at] && names[other] != names[at]))
        .collect();
    let parted = part_of(&same.iter().map(|&at| names[at]).collect::<Vec<_>>(), width, mark);
    same.iter().zip(parted).for_each(|(&at, part)| short[at] = part);
    let apart = |(at, name): (usize, &&str)| {
        let alike = |other: usize| short[other] == short[at] && names[other] != *name;
        if !(0..names.len()).any(alike) {
            return short[at].clone();
        }
        let place = format!(" {}", at + 1);
        shorten(name, width.saturating_sub(place.len()), mark) + &place
    };
    names.iter().enumerate().map(apart).collect()
}

/// Of names with a beginning and an end in common, what lies between, with as much of both as there is room for.
fn part_of(names: &[&str], width: usize, mark: &str) -> Vec<String> {
    let letters: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    let Some((first, others)) = letters.split_first() else { return Vec::new() };
    let shortest = letters.iter().map(Vec::len).min().unwrap_or(0);
    let before = (0..shortest).take_while(|&at| others.iter().all(|it| it[at] == first[at])).count();
    let from_end = |it: &[char], at: usize| it[it.len() - 1 - at];
    let behind = (0..shortest - before)
        .take_while(|&at| others.iter().all(|it| from_end(it, at) == from_end(first, at)))
        .count();
    let part = |name: &Vec<char>| {
        let core = name.len() - before - behind;
        let extra = width.saturating_sub(core + 2 * display_width(mark));
        let left = before.min(extra / 2);
        let right = behind.min(extra - left);
        let shown: String = name[before - left..before + core + right].iter().collect();
        let [start, end] =
            [(left, before), (right, behind)].map(|(some, all)| if some < all { mark } else { "" });
        shorten(&format!("{start}{shown}{end}"), width, mark)
    };
    letters.iter().map(part).collect()
}

/// `text` in lines of at most `width` columns, broken at blanks; the lines after the first begin with
/// `indent` blanks.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = display_width(word);
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// `text` in lines of at most `width` columns, all of which stand `margin` columns to the right; the first of these margins
/// is left to the caller.
pub fn hanging(text: &str, width: usize, margin: usize) -> String {
    wrap(text, width.saturating_sub(margin), 0).replace('\n', &format!("\n{:margin$}", ""))
}

/// `text` in pieces of at most `width` columns, for words that no line has room for.
pub(crate) fn pieces(text: &str, width: usize) -> Vec<String> {
    if display_width(text) <= width {
        return vec![text.to_owned()];
    }
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for c in text.chars() {
        let columns = display_width(c.encode_utf8(&mut [0; 4]));
        if used > 0 && used + columns > width {
            pieces.push(String::new());
            used = 0;
        }
        used += columns;
        pieces.last_mut().expect("there is a piece").push(c);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
        move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn colour_needs_a_terminal_and_no_objection() {
        let utf8 = [("LANG", "C.UTF-8"), ("TERM", "xterm")].as_slice();
        assert_eq!(
            Style::from_environment(true, environment(&[("LANG", "C.UTF-8"), ("TERM", "xterm")])),
            Style { unicode: true, colour: true, width: 80 }
        );
        assert!(
            !Style::from_environment(false, move |n| utf8.iter().find(|p| p.0 == n).map(|p| p.1.to_owned()))
                .colour
        );
        assert!(!Style::from_environment(true, environment(&[("NO_COLOR", "1")])).colour);
        assert!(!Style::from_environment(true, environment(&[("TERM", "dumb")])).colour);
    }

    #[test]
    fn the_first_locale_variable_that_is_set_decides_about_unicode() {
        assert!(
            !Style::from_environment(true, environment(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")])).unicode
        );
        assert!(
            Style::from_environment(true, environment(&[("LC_ALL", ""), ("LANG", "de_DE.utf8")])).unicode
        );
        assert!(!Style::from_environment(true, environment(&[])).unicode);
        assert_eq!(Style::from_environment(true, environment(&[("COLUMNS", "7")])).width, 40);
    }

    #[test]
    fn signs_have_stand_ins_where_there_is_no_unicode() {
        let text = "× 3 – 5 ± 1 µs → é … │ ╭─▲ · ≥ x";
        assert_eq!(Style::PLAIN.without_signs(text), "x 3 - 5 +- 1 us -> é .. | +-^ . >= x");
        assert_eq!(Style::UNICODE.without_signs(text), text);
    }

    #[test]
    fn bars_have_the_same_width_whatever_they_show() {
        for style in [Style::PLAIN, Style::UNICODE] {
            for share in [0.0, 0.001, 0.3, 0.999, 1.0, 2.0, f64::NAN] {
                assert_eq!(display_width(&style.bar(share, 12)), 12);
            }
        }
        assert_eq!(Style::UNICODE.bar(0.5, 3), "█▌ ");
        assert_eq!(Style::UNICODE.bar(1e-9, 3), "▏  ");
        assert_eq!(Style::PLAIN.bar(0.5, 4), "##  ");
        // 90 % and 10 % look different, or like nothing
        for (width, style) in (0..12).flat_map(|width| [(width, Style::UNICODE), (width, Style::PLAIN)]) {
            let [much, little] = [0.9, 0.1].map(|share| style.bar(share, width));
            assert!(much != little || much.trim().is_empty(), "{width}: {much}");
            assert_eq!(display_width(&much), width);
        }
    }

    #[test]
    fn names_are_told_apart_where_they_differ() {
        let names = [1, 2, 13].map(|slot| format!("rack-with-a-long-name.slot-{slot}.cluster.example.org"));
        let names = names.each_ref().map(String::as_str);
        let short = shorten_apart(&names, 16, "…");
        assert_eq!(short, ["….slot-1.cluste…", "….slot-2.cluste…", "….slot-13.clust…"]);
        assert!(short.iter().all(|name| display_width(name) <= 16));
        // no room for what differs
        let short = shorten_apart(&["abcdefghijklmnop", "aBcdefghijklmnOp"], 8, "…");
        assert_ne!(short[0], short[1]);
        assert!(short.iter().all(|name| display_width(name) <= 8), "{short:?}");
        assert_eq!(shorten_apart(&["same", "same"], 3, "…"), ["s…e", "s…e"]);
        assert_eq!(shorten_apart(&["one", "two"], 8, "…"), ["one", "two"]);
    }

    #[test]
    fn names_do_not_drive_the_terminal() {
        let (plain, coloured) = (Style::PLAIN, Style { colour: true, ..Style::PLAIN });
        let text = "\x1b[1;32mok\x1b[0m\tµ\n\x1b]0;title\x07\x1b[2J\x1b[";
        let shown = "\x1b[1;32mok\x1b[0m\tµ\n\u{fffd}]0;title\u{fffd}\u{fffd}[2J\u{fffd}[";
        assert_eq!(coloured.shown(text), shown);
        assert_eq!(plain.shown("\x1b[1mx"), "\u{fffd}[1mx");
        assert!(matches!(plain.shown("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("rack-12.server-3.xpu-7", 11, "..."), "rack...pu-7");
        assert_eq!(shorten("short", 11, "..."), "short");
        assert_eq!(display_width("\x1b[1m机架\x1b[0m"), 4);
        assert_eq!(wrap("one two three", 8, 2), "one two\n  three");
        assert_eq!(hanging("one two three", 10, 3), "one two\n   three");
        assert_eq!(pieces("spine-0->leaf-0", 7), ["spine-0", "->leaf-", "0"]);
    }
}
