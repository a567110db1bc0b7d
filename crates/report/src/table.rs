//! A table with aligned columns, for the terminal, Markdown, HTML and CSV.
//!
//! Numbers stay numbers until they are drawn: they are written with their unit where people read
//! them and as bare numbers, in the base unit that the heading names, in CSV.

mod fit;

use std::borrow::Cow;

use self::fit::Fit;
use crate::style::{Style, Tone, display_width, pad_left, pad_right, shorten, wrap};
use crate::units::Unit;

/// Letters of a cell above which it may take several lines of a page.
const LONG: usize = 48;

/// One entry of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words, aligned to the left.
    Text(String),
    /// A number in the base unit of its kind, aligned to the right.
    Number(f64, Unit),
    /// Nothing known.
    Missing,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<(f64, Unit)> for Cell {
    fn from((value, unit): (f64, Unit)) -> Self {
        Self::Number(value, unit)
    }
}

impl From<Option<(f64, Unit)>> for Cell {
    fn from(number: Option<(f64, Unit)>) -> Self {
        number.map_or(Self::Missing, Self::from)
    }
}

/// A table: headings and rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<Cell>>,
    /// Columns after the first that say what a row is about.
    more_keys: usize,
}

impl Table {
    /// A table with these headings and no rows.
    pub fn new<T: Into<String>>(headings: impl IntoIterator<Item = T>) -> Self {
        Self { headings: headings.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The same, whose first `keys` columns say what a row is about; only the first one does otherwise.
    #[must_use]
    pub fn keyed_by(self, keys: usize) -> Self {
        Self { more_keys: keys.saturating_sub(1), ..self }
    }

    /// Appends a row; what it lacks at its end is missing.
    ///
    /// # Panics
    /// When the row is longer than the table is wide.
    pub fn push<C: Into<Cell>>(&mut self, row: impl IntoIterator<Item = C>) {
        let mut row: Vec<Cell> = row.into_iter().map(Into::into).collect();
        assert!(row.len() <= self.headings.len(), "a row of {} in {:?}", row.len(), self.headings);
        row.resize(self.headings.len(), Cell::Missing);
        self.rows.push(row);
    }

    /// The headings.
    pub fn headings(&self) -> &[String] {
        &self.headings
    }

    /// The rows, each as long as the headings.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Whether the column holds numbers, so that it is aligned to the right.
    fn numeric(&self, column: usize) -> bool {
        let mut cells =
            self.rows.iter().map(|row| &row[column]).filter(|cell| **cell != Cell::Missing).peekable();
        cells.peek().is_some() && cells.all(|cell| matches!(cell, Cell::Number(..)))
    }

    /// The texts of all rows; numbers of one column and unit share their prefix.
    fn texts(&self, missing: &str) -> Vec<Vec<String>> {
        let mut texts: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                let text = |cell: &Cell| match cell {
                    Cell::Text(text) => text.clone(),
                    Cell::Number(value, unit) => unit.format(*value),
                    Cell::Missing => missing.to_owned(),
                };
                row.iter().map(text).collect()
            })
            .collect();
        for column in 0..self.headings.len() {
            let mut numbers = self.rows.iter().enumerate().filter_map(|(at, row)| match row[column] {
                Cell::Number(value, unit) => Some((at, value, unit)),
                _ => None,
            });
            let Some((_, _, unit)) = numbers.clone().next() else { continue };
            if numbers.clone().all(|(_, _, other)| other == unit) {
                let values: Vec<f64> = numbers.clone().map(|(_, value, _)| value).collect();
                for text in unit.format_all(&values) {
                    let (row, _, _) = numbers.next().expect("a text per number");
                    texts[row][column] = text;
                }
            }
        }
        texts
    }

    /// For a terminal: headings over a rule, columns two blanks apart, every line ended.
    ///
    /// Where the table is too wide for the style, the widest columns of words and headings give way: sentences take
    /// several lines, single words are shortened. Columns that still have no room stand below the others, beside the
    /// columns that say what a row is about once more.
    pub fn to_text(&self, style: &Style) -> String {
        if !style.unicode && self.has_signs() {
            return self.without_signs(style).to_text(style);
        }
        let missing = style.choose("–", "-");
        let cells = self.texts(missing);
        let numeric: Vec<bool> = (0..self.headings.len()).map(|column| self.numeric(column)).collect();
        let fits: Vec<Fit> = (0..self.headings.len())
            .map(|column| {
                let cells = cells.iter().map(|row| display_width(&row[column])).max().unwrap_or(0);
                Fit::new(&self.headings[column], cells, numeric[column])
            })
            .collect();
        let keys = 1 + self.more_keys;
        if fit::keys_with_room(&fits, keys, style.width) < keys.min(fits.len()) {
            // what a row is about stands in one part alone: a number says which rows are the same
            return self.numbered().to_text(style);
        }
        let fits = fit::with_names(&fits, keys, style.width);
        let part = |columns: &Vec<usize>| self.part(columns, &fits, &cells, &numeric, style);
        fit::parts(&fits, keys, style.width).iter().map(part).collect::<Vec<_>>().join("\n")
    }

    /// Whether there is a sign for which [`Style::without_signs`] has a stand-in.
    fn has_signs(&self) -> bool {
        let has =
            |text: &String| matches!(Style::PLAIN.without_signs(text), Cow::Owned(plain) if plain != *text);
        let mut cells = self.rows.iter().flatten();
        self.headings.iter().any(has) || cells.any(|cell| matches!(cell, Cell::Text(text) if has(text)))
    }

    /// The same without them: columns are as wide as what stands for them.
    fn without_signs(&self, style: &Style) -> Self {
        let plain = |text: &String| style.without_signs(text).into_owned();
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => Cell::Text(plain(text)),
            cell => cell.clone(),
        };
        let rows = self.rows.iter().map(|row| row.iter().map(cell).collect());
        let headings = self.headings.iter().map(plain).collect();
        Self { headings, rows: rows.collect(), more_keys: self.more_keys }
    }

    /// The same, whose rows are told apart by a number.
    fn numbered(&self) -> Self {
        let headings = std::iter::once("row".to_owned()).chain(self.headings.iter().cloned());
        let number = |(at, row): (usize, &Vec<Cell>)| {
            std::iter::once(Cell::Number((at + 1) as f64, Unit::Count)).chain(row.iter().cloned()).collect()
        };
        Self {
            headings: headings.collect(),
            rows: self.rows.iter().enumerate().map(number).collect(),
            more_keys: 0,
        }
    }

    /// Some of the columns for a terminal.
    fn part(
        &self,
        columns: &[usize],
        fits: &[Fit],
        cells: &[Vec<String>],
        numeric: &[bool],
        style: &Style,
    ) -> String {
        let widths = fit::widths(columns.iter().map(|&column| fits[column]), style.width);
        let mark = style.choose("…", "..");
        let line = |texts: &[String], tone: Option<Tone>| {
            let parts: Vec<Vec<String>> = columns
                .iter()
                .zip(&widths)
                .map(|(&column, &width)| {
                    wrap(&texts[column], width, 0).lines().map(|part| shorten(part, width, mark)).collect()
                })
                .collect();
            let mut out = String::new();
            for at in 0..parts.iter().map(Vec::len).max().unwrap_or(0) {
                let start = out.len();
                for (column, part) in parts.iter().enumerate() {
                    let numeric = numeric[columns[column]];
                    let text = part.get(at).map_or("", String::as_str);
                    let painted = tone.map_or_else(|| text.to_owned(), |tone| style.paint(tone, text));
                    out.push_str(if column == 0 { "" } else { "  " });
                    out.push_str(&if numeric {
                        pad_left(&painted, widths[column])
                    } else {
                        pad_right(&painted, widths[column])
                    });
                }
                out.truncate(start + out[start..].trim_end().len());
                out.push('\n');
            }
            out
        };
        let mut rule = vec![String::new(); self.headings.len()];
        for (&column, &width) in columns.iter().zip(&widths) {
            rule[column] = style.choose("─", "-").repeat(width);
        }
        let mut out = line(&self.headings, Some(Tone::Muted));
        out.push_str(&line(&rule, Some(Tone::Muted)));
        for row in cells {
            out.push_str(&line(row, None));
        }
        out
    }

    /// As a Markdown table (GitHub's).
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        let mut line = |cells: Vec<String>| {
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        };
        line(self.headings.iter().map(|heading| crate::page::escape_markdown(heading)).collect());
        line(
            (0..self.headings.len())
                .map(|column| if self.numeric(column) { "---:" } else { "---" }.to_owned())
                .collect(),
        );
        for row in self.texts("–") {
            line(row.iter().map(|text| crate::page::escape_markdown(text)).collect());
        }
        out
    }

    /// As an HTML table.
    pub fn to_html(&self) -> String {
        let mut out = String::from("<div class=\"wide\"><table>\n<thead><tr>");
        let class: Vec<&str> = (0..self.headings.len())
            .map(|column| if self.numeric(column) { " class=\"number\"" } else { "" })
            .collect();
        for (heading, class) in self.headings.iter().zip(&class) {
            out.push_str(&format!("<th{class}>{}</th>", crate::page::escape_html(heading)));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in self.texts("–") {
            out.push_str("<tr>");
            for (text, class) in row.iter().zip(&class) {
                let class = if text.chars().count() > LONG { " class=\"long\"" } else { class };
                out.push_str(&format!("<td{class}>{}</td>", crate::page::escape_html(text)));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        out
    }

    /// As CSV: numbers in full and in base units, which the headings name; missing cells are empty.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write_csv(&self, out: impl std::io::Write) -> std::io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(self.headings.iter().enumerate().map(|(column, heading)| {
            let units = self.rows.iter().filter_map(|row| match row[column] {
                Cell::Number(_, unit) => Some(unit),
                _ => None,
            });
            // shares and factors are bare numbers here
            match units.map(Unit::symbol).find(|symbol| !symbol.is_empty() && *symbol != "%") {
                Some(symbol) => format!("{heading} [{symbol}]"),
                None => heading.clone(),
            }
        }))?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|cell| match cell {
                Cell::Text(text) => text.clone(),
                Cell::Number(value, _) => value.to_string(),
                Cell::Missing => String::new(),
            }))?;
        }
        writer.flush()
    }
}

/// What another source says about a number of ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is compared, one text per leading column.
    pub labels: Vec<String>,
    /// Our number, in the base unit.
    pub ours: f64,
    /// Theirs; `None` where they say nothing.
    pub theirs: Option<f64>,
    /// What both measure.
    pub unit: Unit,
}

/// Our numbers beside those of `source` (such as `paper`), with the relative difference.
pub fn comparison(labels: &[&str], source: &str, rows: &[Comparison]) -> Table {
    let mut table =
        Table::new(labels.iter().copied().chain(["ours", source, "difference"])).keyed_by(labels.len());
    for row in rows {
        let mut cells: Vec<Cell> = row.labels.iter().map(|label| label.as_str().into()).collect();
        cells.resize(labels.len(), Cell::Missing);
        cells.push((row.ours, row.unit).into());
        cells.push(row.theirs.map(|theirs| (theirs, row.unit)).into());
        let difference = row.theirs.filter(|theirs| *theirs != 0.0).map(|theirs| row.ours / theirs - 1.0);
        cells.push(difference.map(|difference| (difference, Unit::Difference)).into());
        table.push(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(["machine", "accelerators", "step time", "note"]);
        table.push([
            Cell::from("fabric"),
            (64.0, Unit::Count).into(),
            (7.982, Unit::Seconds).into(),
            "a|b".into(),
        ]);
        table.push([Cell::from("ethernet"), (1024.0, Unit::Count).into(), Cell::Missing]);
        table
    }

    #[test]
    fn numbers_stand_to_the_right_under_their_heading() {
        assert_eq!(
            sample().to_text(&Style::UNICODE),
            "\
machine   accelerators  step time  note
────────  ────────────  ─────────  ────
fabric              64    7.982 s  a|b
ethernet         1,024          –  –
"
        );
        assert!(sample().to_text(&Style::PLAIN).is_ascii());
    }

    #[test]
    fn a_table_that_is_too_wide_gives_up_letters_of_its_longest_words() {
        let mut table = Table::new(["name", "bytes"]);
        table.push([Cell::from("x".repeat(100)), (1.0, Unit::Bytes).into()]);
        let text = table.to_text(&Style::PLAIN);
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(text.contains("xx..xx") && text.ends_with("  1 B\n"));
    }

    #[test]
    fn columns_without_room_stand_below_the_others() {
        let style = Style { width: 34, ..Style::PLAIN };
        assert_eq!(
            sample().to_text(&style),
            "\
machine   accelerators  step time
--------  ------------  ---------
fabric              64    7.982 s
ethernet         1,024          -

machine   note
--------  ----
fabric    a|b
ethernet  -
"
        );
    }

    /// Where no part has room for all that says what a row is about, a number does.
    #[test]
    fn rows_without_room_for_their_keys_are_numbered() {
        let mut table = Table::new(["first setting", "second setting", "third", "time", "share"]).keyed_by(3);
        for at in ["one", "two"] {
            let words = [at, "something", "else"].map(Cell::from);
            let numbers = [(1.5, Unit::Seconds), (0.5, Unit::Share)].map(Cell::from);
            table.push(words.into_iter().chain(numbers));
        }
        let text = table.to_text(&Style { width: 30, ..Style::PLAIN });
        let parts: Vec<&str> = text.split("\n\n").collect();
        assert!(parts.len() > 1 && text.contains("share"), "{text}");
        for part in parts {
            let rows: Vec<&str> =
                part.trim_start().lines().filter(|line| line.trim_start().starts_with(['1', '2'])).collect();
            assert!(part.trim_start().starts_with("row ") && rows.len() == 2, "{text}");
        }
    }

    #[test]
    fn sentences_take_several_lines() {
        let mut table = Table::new(["kind", "what it is", "nodes"]);
        let words = "Switches in a grid of any number of dimensions, whose ends are connected";
        table.push([Cell::from("torus"), words.into(), (64.0, Unit::Count).into()]);
        table.push([Cell::from("ring"), "".into(), (8.0, Unit::Count).into()]);
        let style = Style { width: 60, ..Style::PLAIN };
        assert_eq!(
            table.to_text(&style),
            "\
kind   what it is                                      nodes
-----  ----------------------------------------------  -----
torus  Switches in a grid of any number of                64
       dimensions, whose ends are connected
ring                                                       8
"
        );
    }

    #[test]
    fn signs_without_unicode_take_the_room_of_their_stand_ins() {
        let mut table = Table::new(["mean", "± 95 %", "p50"]);
        table.push([
            Cell::Number(35.0, Unit::Count),
            Cell::Text("a→b".to_owned()),
            Cell::Number(7.0, Unit::Count),
        ]);
        assert_eq!(
            table.to_text(&Style::PLAIN),
            "mean  +- 95 %  p50\n----  -------  ---\n  35  a->b       7\n"
        );
        assert_eq!(
            table.to_text(&Style::UNICODE),
            "mean  ± 95 %  p50\n────  ──────  ───\n  35  a→b       7\n"
        );
    }

    #[test]
    fn markup_is_escaped() {
        assert!(sample().to_markdown().contains("| fabric | 64 | 7.982 s | a\\|b |"));
        assert!(sample().to_markdown().contains("| --- | ---: | ---: | --- |"));
        let mut table = Table::new(["<b>"]);
        table.push(["&"]);
        assert!(table.to_html().contains("<th>&lt;b&gt;</th>") && table.to_html().contains("<td>&amp;</td>"));
    }

    #[test]
    fn a_cell_with_a_long_text_takes_several_lines_of_a_page() {
        let mut table = Table::new(["case"]);
        table.push(["a name of a case, longer than a column of a table should be"]);
        table.push(["short"]);
        let html = table.to_html();
        assert!(html.contains("<td class=\"long\">a name of") && html.contains("<td>short</td>"), "{html}");
    }

    #[test]
    fn csv_has_bare_numbers_in_base_units() {
        let mut out = Vec::new();
        sample().write_csv(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "machine,accelerators,step time [s],note\nfabric,64,7.982,a|b\nethernet,1024,,\n"
        );
    }

    #[test]
    fn a_comparison_says_how_far_we_are_off() {
        let row =
            |ours, theirs| Comparison { labels: vec!["64 H100".into()], ours, theirs, unit: Unit::Count };
        let table = comparison(&["machine"], "paper", &[row(8.08, Some(8.0)), row(1.0, None)]);
        assert_eq!(table.headings(), ["machine", "ours", "paper", "difference"]);
        let Cell::Number(difference, Unit::Difference) = table.rows()[0][3] else { panic!("no difference") };
        assert!((difference - 0.01).abs() < 1e-12);
        assert_eq!(table.rows()[1][2..], [Cell::Missing, Cell::Missing]);
    }
}
