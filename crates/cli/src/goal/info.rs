//! `stratasim goal info`: what a schedule consists of.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use stratasim_core::words::counted;
use stratasim_experiment::Error;
use stratasim_report::style::Tone;
use stratasim_report::table::{Cell, Table};
use stratasim_report::{Style, Unit};
use stratasim_workload::goal::summary::{SizeClass, Summary};

use super::convert::per_operation;
use super::file::read_and_tell;
use crate::terminal::Terminal;

/// Columns of the labels on the left, with their margin.
const LABEL: usize = 18;
/// Columns of each file.
const COLUMN: usize = 18;
/// Columns of the bars.
const BAR: usize = 24;

#[derive(Args)]
pub(crate) struct Info {
    /// Schedules of any form; several are put side by side. - reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print JSON: an object for one file, a list for several
    #[arg(long)]
    json: bool,
    /// Print no progress
    #[arg(long, short)]
    quiet: bool,
}

/// A file and what stands in it.
#[derive(Serialize)]
struct Described {
    file: String,
    form: &'static str,
    file_bytes: u64,
    /// None without operations.
    bytes_per_operation: Option<f64>,
    #[serde(flatten)]
    summary: Summary,
}

impl Info {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let files: Vec<Described> =
            self.files.iter().map(|path| self.describe(path, terminal)).collect::<Result<_, _>>()?;
        let text = match files.as_slice() {
            [file] if self.json => serde_json::to_string_pretty(file).unwrap_or_default() + "\n",
            files if self.json => serde_json::to_string_pretty(files).unwrap_or_default() + "\n",
            [file] => alone(file, &terminal.style),
            files => side_by_side(files, &terminal.style),
        };
        terminal.print(&text);
        Ok(0)
    }

    fn describe(&self, path: &Path, terminal: &Terminal) -> Result<Described, Error> {
        let loaded = read_and_tell(path, terminal, self.quiet)?;
        let summary = Summary::of(&loaded.schedule);
        let operations = summary.operations();
        Ok(Described {
            file: path.display().to_string(),
            form: loaded.form.name(),
            file_bytes: loaded.bytes,
            bytes_per_operation: (operations > 0).then(|| loaded.bytes as f64 / operations as f64),
            summary,
        })
    }
}

fn count(number: impl Into<u64>) -> String {
    Unit::Count.format(number.into() as f64)
}

fn bytes(number: u64) -> String {
    if number < 10_000 { format!("{} B", count(number)) } else { Unit::Bytes.format(number as f64) }
}

fn seconds(ns: u128) -> String {
    if ns == 0 { "0 s".to_owned() } else { Unit::Seconds.format(ns as f64 * 1e-9) }
}

fn wildcards(summary: &Summary) -> String {
    let parts = [
        (summary.any_source, format!("{} from any rank", counted(summary.any_source, "receive"))),
        (summary.any_tag, format!("{} with any tag", counted(summary.any_tag, "operation"))),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(number, _)| *number > 0).map(|(_, words)| words).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// One file, in words.
fn alone(file: &Described, style: &Style) -> String {
    let Described { summary, .. } = file;
    let each = file
        .bytes_per_operation
        .map_or_else(String::new, |each| format!(", {} per operation", per_operation(each)));
    let idle = match summary.idle_ranks {
        0 => String::new(),
        idle => format!(", {} of them without operations", count(idle)),
    };
    let of_kinds = format!(
        "{}: {}, {}, {}",
        count(summary.operations()),
        counted(summary.sends, "send"),
        counted(summary.receives, "receive"),
        counted(summary.computations, "computation"),
    );
    let dependencies = summary.requires + summary.irequires;
    let (requires, irequires) = (count(summary.requires), count(summary.irequires));
    let chain = match &summary.longest_chain {
        None => "none: some operations wait for themselves".to_owned(),
        Some(chain) if chain.operations == 0 => "none".to_owned(),
        Some(chain) => format!("{} on rank {}", counted(chain.operations.into(), "operation"), chain.rank),
    };
    let mut facts = vec![
        ("form", format!("{}, {}{each}", file.form, bytes(file.file_bytes))),
        ("ranks", format!("{}{idle}", count(summary.ranks))),
        ("operations", of_kinds),
        (
            "dependencies",
            match dependencies {
                0 => "none".to_owned(),
                all => format!("{}: {requires} requires, {irequires} irequires", count(all)),
            },
        ),
        ("longest chain", chain),
        (
            "per rank",
            format!("{}, {}", counted(summary.streams.into(), "stream"), counted(summary.nics.into(), "NIC")),
        ),
        ("tags", count(summary.tags)),
        ("wildcards", wildcards(summary)),
    ];
    if let Some(sizes) = &summary.message_bytes {
        let itself = match summary.to_itself {
            0 => String::new(),
            some => format!(", {} of a rank to itself", counted(some, "message")),
        };
        facts.push(("bytes sent", format!("{}{itself}", Unit::Bytes.format(summary.bytes as f64))));
        let [least, median, most] = [sizes.least, sizes.median, sizes.most].map(bytes);
        facts.push((
            "message size",
            if sizes.least == sizes.most {
                format!("{most} each")
            } else {
                format!("{least} to {most}, median {median}")
            },
        ));
    }
    if summary.computations > 0 {
        let (all, most) = (seconds(summary.computation_ns), seconds(summary.most_computation_ns));
        facts.push(("computation", format!("{all} in all, at most {most} on a rank")));
    }
    facts.push(("digest", summary.digest.clone()));
    let mut text = format!("{}\n", style.paint(Tone::Strong, &file.file));
    for (label, words) in facts {
        text += &format!("  {}{words}\n", style.paint(Tone::Muted, &format!("{label:<15}")));
    }
    if summary.messages_by_size.len() > 1 {
        text += &format!("\n{}", histogram(&summary.messages_by_size, style));
    }
    text
}

fn histogram(classes: &[SizeClass], style: &Style) -> String {
    let most = classes.iter().map(|class| class.messages).max().unwrap_or(1) as f64;
    let mut table = Table::new(["message size", "messages", ""]);
    for class in classes {
        let (from, to) = (bytes(class.from_bytes), bytes(class.to_bytes));
        let size = if class.from_bytes == class.to_bytes { from } else { format!("{from} to {to}") };
        let bar = style.bar(class.messages as f64 / most, BAR).trim_end().to_owned();
        table.push([Cell::from(size), (class.messages as f64, Unit::Count).into(), bar.into()]);
    }
    table.to_text(style)
}

/// Several files, one per column.
fn side_by_side(files: &[Described], style: &Style) -> String {
    let letters: Vec<String> = (0..files.len()).map(crate::compare::letter).collect();
    let mut text = String::new();
    for (file, letter) in files.iter().zip(&letters) {
        text += &format!("  {}  {}\n", style.paint(Tone::Strong, letter), file.file);
    }
    let columns: Vec<Vec<(&str, String)>> = files.iter().map(cells).collect();
    let fitting = usize::max(1, (style.width - LABEL) / COLUMN);
    for (at, part) in letters.chunks(fitting).enumerate() {
        let heading: String = part.iter().map(|letter| format!("{letter:>COLUMN$}")).collect();
        let rule = style.choose("─", "-").repeat(LABEL - 2 + COLUMN * part.len());
        let heading = style.paint(Tone::Muted, &format!("{:LABEL$}{heading}", ""));
        text += &format!("\n{heading}\n  {}\n", style.paint(Tone::Muted, &rule));
        for (row, (label, _)) in columns[0].iter().enumerate() {
            let columns = columns[at * fitting..].iter().take(part.len());
            let cells: String = columns.map(|cells| format!("{:>COLUMN$}", cells[row].1)).collect();
            text += &format!("  {label:<width$}{cells}\n", width = LABEL - 2);
        }
    }
    text
}

/// What is compared of a file.
fn cells(file: &Described) -> Vec<(&'static str, String)> {
    let summary = &file.summary;
    let size = |part: fn(&stratasim_workload::goal::summary::Sizes) -> u64| {
        summary.message_bytes.as_ref().map_or_else(|| "-".to_owned(), |sizes| bytes(part(sizes)))
    };
    let chain = summary.longest_chain.as_ref();
    vec![
        ("form", file.form.to_owned()),
        ("file size", bytes(file.file_bytes)),
        ("per operation", file.bytes_per_operation.map_or_else(|| "-".to_owned(), per_operation)),
        ("ranks", count(summary.ranks)),
        ("idle ranks", count(summary.idle_ranks)),
        ("sends", count(summary.sends)),
        ("receives", count(summary.receives)),
        ("computations", count(summary.computations)),
        ("requires", count(summary.requires)),
        ("irequires", count(summary.irequires)),
        ("longest chain", chain.map_or_else(|| "circle".to_owned(), |chain| count(chain.operations))),
        ("streams", count(summary.streams)),
        ("NICs", count(summary.nics)),
        ("tags", count(summary.tags)),
        ("any source", count(summary.any_source)),
        ("any tag", count(summary.any_tag)),
        ("bytes sent", Unit::Bytes.format(summary.bytes as f64)),
        ("least message", size(|sizes| sizes.least)),
        ("median", size(|sizes| sizes.median)),
        ("largest", size(|sizes| sizes.most)),
        ("computation", seconds(summary.computation_ns)),
        ("digest", summary.digest.clone()),
    ]
}
