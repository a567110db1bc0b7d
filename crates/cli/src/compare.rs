//! `stratasim compare`: one experiment several ways, side by side.

mod messages;
mod notes;
mod traffic;

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use stratasim_experiment::{ConfigError, Document, Error, Prepared, Sweep};
use stratasim_report::result::{JobResult, RankResult, RunResult};
use stratasim_report::style::{Tone, display_width, hanging, pad_right, shorten_apart};
use stratasim_report::{Style, Unit};

use crate::INTERRUPTED;
use crate::by_size::BySize;
use crate::cdf::Together;
use crate::input::{Input, choose_network, network_has};
use crate::output::{Output, Unwritten};
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Columns of the labels on the left, with their margin.
const LABEL: usize = 16;
/// Columns of each result.
const COLUMN: usize = 12;
/// Between the cells of two of them, where they are wider.
const GAP: usize = 1;
/// Jobs of which times are shown.
const COMPARED_JOBS: usize = 8;

#[derive(Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    input: Input,
    /// Networks to compare, separated by commas; the file's own when absent. A change of `network.KEY` counts for
    /// those that have such an option
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    networks: Vec<String>,
    /// A variant to compare with: changes as in --set, several separated by ";", with a name in
    /// front if wanted, as in "fast: topology.bandwidth=1 TB/s"; may be repeated
    #[arg(long = "with", value_name = "KEY=VALUE")]
    variants: Vec<String>,
    /// Write the results as a JSON list
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
    #[command(flatten)]
    by_size: BySize,
    #[command(flatten)]
    cdf: Together,
    /// Print no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Compare {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        if let Some(set) = self.input.sets.iter().find(|set| network_option(set) == Some("kind"))
            && !self.networks.is_empty()
        {
            let message = format!(
                "`--networks` chooses the networks to compare, and `--set {set}` another one; leave one out"
            );
            return Err(ConfigError::new(message, None).into());
        }
        let files = [
            ("--json", self.json.as_ref()),
            ("--by-size", self.by_size.out.as_ref()),
            ("--cdf", self.cdf.out.as_ref()),
        ];
        // everything is read before anything runs, so that a typo costs no time
        let mut inputs = vec![self.input.file.clone()];
        let mut cases = Vec::new();
        let networks: Vec<Option<&str>> = match self.networks.as_slice() {
            [] => vec![None],
            kinds => kinds.iter().map(|kind| Some(kind.trim())).collect(),
        };
        let variants: Vec<Option<&str>> =
            std::iter::once(None).chain(self.variants.iter().map(|text| Some(text.as_str()))).collect();
        for network in networks {
            for variant in &variants {
                let words: Vec<&str> = network.into_iter().chain(variant.map(|text| named(text).0)).collect();
                let name = if words.is_empty() { "as it is".to_owned() } else { words.join(", ") };
                if cases.iter().any(|(other, _)| *other == name) {
                    let message = format!(
                        "`{name}` would be there twice: name each network once, and give each `--with` a name of its own"
                    );
                    return Err(ConfigError::new(message, None).into());
                }
                let prepared = self.case(network, *variant).and_then(|(document, base)| {
                    inputs.extend(document.files(&base));
                    Ok(Prepared::new(&document, &base)?)
                });
                // the place in the file may be one that others change otherwise
                let named = |_: &Error| {
                    if !words.is_empty() {
                        terminal.say(&format!("  `{name}` cannot run:"))
                    }
                };
                let prepared = prepared.inspect_err(named)?;
                cases.push((name, prepared));
            }
        }
        let [output, by_size, cdf] = Output::begin_all(&inputs, files)?;
        self.by_size.check(&cases)?;
        self.cdf.check(&cases)?;
        let title = cases[0].1.name.clone();
        let names: Vec<String> = cases.iter().map(|(name, _)| name.clone()).collect();
        let (mut results, mut failures) = (Vec::new(), Vec::new());
        for (name, mut prepared) in cases {
            #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
            let started = Instant::now();
            let mut progress = Progress::new(terminal, self.quiet);
            let result = prepared.run(&mut progress, started);
            progress.clear();
            match result {
                Ok(result) if result.stopped => break,
                Ok(result) => results.push((name, result)),
                // those that ran are shown all the same
                Err(error) => failures.push((name, Error::from(error))),
            }
            if crate::interrupt::wanted() {
                break;
            }
        }
        if !results.is_empty() {
            terminal.print(&side_by_side(&title, &results, &terminal.style));
        }
        let mut unwritten = Unwritten::default();
        unwritten.keep(output, |output| {
            let list: Vec<&RunResult> = results.iter().map(|(_, result)| result).collect();
            output.text(&serde_json::to_string_pretty(&list).unwrap_or_default())
        });
        unwritten.keep(by_size, |picture| BySize::together(picture, &title, &results, terminal));
        unwritten.keep(cdf, |picture| self.cdf.write(picture, &title, &results, terminal));
        for (name, error) in &failures {
            terminal.say(&format!("  `{name}` failed:"));
            terminal.fail(error);
        }
        let failed = failures.iter().map(|(_, error)| error.exit_code());
        let codes = results.iter().map(|(_, result)| crate::run::exit_code(result, terminal, true));
        let worst = unwritten.tell(terminal, codes.chain(failed).max().unwrap_or(0));
        if !crate::interrupt::wanted() {
            return Ok(worst);
        }
        // they run in order
        let finished = results.len() + failures.len();
        let left = match &names[finished..] {
            [] => String::new(),
            left => format!("; not finished: {}", left.join(", ")),
        };
        terminal.say(&format!("  stopped: {finished} of {} ran{left}", names.len()));
        Ok(INTERRUPTED)
    }

    fn case(&self, network: Option<&str>, variant: Option<&str>) -> Result<(Document, PathBuf), Error> {
        let of_network = |set: &&String| network_option(set).is_some();
        let (mut document, base) = match network {
            None => self.input.load()?,
            Some(kind) => {
                // changes of the network's options come after its choice
                let others =
                    self.input.sets.iter().filter(|set| !of_network(set)).cloned().collect::<Vec<_>>();
                let (mut document, base) = stratasim_experiment::load(&self.input.file, &others)?;
                choose_network(&mut document, "--networks", kind)?;
                for set in self.input.sets.iter().filter(of_network) {
                    if self.concerns(kind, set) {
                        document.set(set)?;
                    }
                }
                (document, base)
            }
        };
        Sweep::leave_out(&mut document)?;
        for set in variant.map(|text| assignments(named(text).1)).unwrap_or_default() {
            match set.split_once('=') {
                // an option that this network has not, and another that is compared has
                _ if network
                    .is_some_and(|kind| network_option(set).is_some() && !self.concerns(kind, set)) => {}
                // another network drops the options of the file's
                Some((key, kind)) if key.trim() == "network.kind" => {
                    choose_network(&mut document, "--with", kind.trim().trim_matches('"'))?;
                }
                _ => document.set_by("--with", set)?,
            }
        }
        Ok((document, base))
    }

    /// Whether `set` is for networks of `kind`: if they have its option, or none that is compared has.
    fn concerns(&self, kind: &str, set: &str) -> bool {
        network_option(set).is_some_and(|option| {
            let known = |kind: &String| network_has(kind.trim(), option);
            network_has(kind, option) || !self.networks.iter().any(known)
        })
    }
}

/// The option that `network.OPTION[.MORE]=value` is about.
fn network_option(set: &str) -> Option<&str> {
    let option = set.split('=').next()?.trim().strip_prefix("network.")?;
    option.split('.').next()
}

/// The name of a variant, and its changes: of `name: a=1`, where the name may be `8:1`, or of `a=1`, which is its own name.
fn named(text: &str) -> (&str, &str) {
    let key = text.split('=').next().unwrap_or(text);
    match key.rfind(':') {
        Some(at) => (text[..at].trim(), text[at + 1..].trim()),
        None => (text.trim(), text.trim()),
    }
}

/// Parts of `a=1; b=2`. A `;` that no `key=` follows belongs to the value.
fn assignments(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(';') {
        let rest = text[at + 1..].trim_start();
        let key = rest.split('=').next().unwrap_or("");
        let is_key = key.len() < rest.len()
            && !key.trim().is_empty()
            && key.trim().chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if is_key {
            parts.push(text[start..at].trim());
            start = at + 1;
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// What is compared, one result per column; differences are to the first.
pub(crate) fn side_by_side(title: &str, results: &[(String, RunResult)], style: &Style) -> String {
    let mut text = format!("{}\n", style.paint(Tone::Strong, title));
    let letters: Vec<String> = (0..results.len()).map(letter).collect();
    for ((name, _), letter) in results.iter().zip(&letters) {
        let name = hanging(name, style.width, 4 + letter.len());
        text += &format!("  {}  {name}\n", style.paint(Tone::Strong, letter));
    }
    let rows = rows(results);
    // as many columns as fit, the others below them
    let cells = rows.iter().flat_map(|(_, cells)| cells).map(|cell| display_width(cell));
    let column = cells.max().unwrap_or(0).saturating_add(GAP).max(COLUMN);
    let fitting = usize::max(1, (style.width - LABEL) / column);
    for (at, part) in letters.chunks(fitting).enumerate() {
        let heading: String = part.iter().map(|letter| format!("{letter:>column$}")).collect();
        let rule = style.choose("─", "-").repeat(LABEL - 2 + column * part.len());
        let heading = style.paint(Tone::Muted, &format!("{:LABEL$}{heading}", ""));
        text += &format!("\n{heading}\n  {}\n", style.paint(Tone::Muted, &rule));
        for (label, cells) in &rows {
            let cells = cells[at * fitting..].iter().take(part.len());
            let cells: String = cells.map(|cell| format!("{cell:>column$}")).collect();
            let line = format!("  {}{cells}", pad_right(label, LABEL - 2));
            text += &format!("{}\n", line.trim_end());
        }
    }
    text += &notes::all(results, &letters, style);
    text
}

/// A, B, ..., Z, AA, ...
pub(crate) fn letter(index: usize) -> String {
    let last = char::from(b'A' + (index % 26) as u8);
    if index < 26 { last.to_string() } else { format!("{}{last}", letter(index / 26 - 1)) }
}

/// Label and a cell per result of everything that is compared.
fn rows(results: &[(String, RunResult)]) -> Vec<(Cow<'static, str>, Vec<String>)> {
    // open-loop traffic has no steps and no ranks
    let has_programs = results.iter().any(|(_, result)| result.traffic.is_none());
    let mut rows = if has_programs { program_rows(results) } else { Vec::new() };
    rows.extend(traffic::rows(results));
    rows.extend(messages::time_rows(results));
    rows.extend(messages::queue_rows(results));
    rows.extend(messages::count_rows(results));
    let numbers = |unit: Unit, number: &dyn Fn(&RunResult) -> f64| {
        unit.format_all(&results.iter().map(|(_, result)| number(result)).collect::<Vec<_>>())
    };
    let cost = [
        ("events", numbers(Unit::Count, &|result| result.events_with_network() as f64)),
        ("wall", numbers(Unit::Seconds, &|result| result.wall_s)),
    ];
    rows.extend(cost.into_iter().map(|(label, cells)| (Cow::Borrowed(label), cells)));
    rows
}

/// The cell of a result without a value.
fn dash() -> String {
    "-".to_owned()
}

/// Times of programs: of steps, jobs and ranks. A dash for results of open-loop traffic, which has none.
fn program_rows(results: &[(String, RunResult)]) -> Vec<(Cow<'static, str>, Vec<String>)> {
    let is_program = |result: &RunResult| result.traffic.is_none();
    type Has<'a> = &'a dyn Fn(&RunResult) -> bool;
    let numbers = |has: Has<'_>, unit: Unit, number: &dyn Fn(&RunResult) -> f64| -> Vec<String> {
        let known = results.iter().map(|(_, result)| result).filter(|result| has(result));
        let mut cells = unit.format_all(&known.map(number).collect::<Vec<_>>()).into_iter();
        let cell = |result| if has(result) { cells.next() } else { None };
        results.iter().map(|(_, result)| result).map(cell).map(|cell| cell.unwrap_or_else(dash)).collect()
    };
    let mean = |part: fn(&RankResult) -> f64| {
        numbers(&is_program, Unit::Seconds, &|result| {
            result.ranks.iter().map(part).sum::<f64>() / result.ranks.len().max(1) as f64
        })
    };
    let optional = |unit: Unit, number: &dyn Fn(&RunResult) -> Option<f64>| -> Vec<String> {
        let cells = results.iter().map(|(_, result)| number(result).map(|value| unit.format(value)));
        cells.map(|cell| cell.unwrap_or_else(dash)).collect()
    };
    let first = results.iter().position(|(_, result)| is_program(result)).unwrap_or(0);
    let first_s = results[first].1.step_s();
    // how long a run that somebody stopped would have taken, nobody knows
    let is_whole = |result: &RunResult| is_program(result) && !result.stopped;
    let mut changes = optional(Unit::Difference, &|result| {
        (is_whole(&results[first].1) && is_whole(result) && first_s > 0.0)
            .then(|| result.step_s() / first_s - 1.0)
    });
    changes[first] = dash();
    let steps = numbers(&is_whole, Unit::Seconds, &RunResult::step_s);
    let mut rows = vec![("step time", steps), ("change", changes)];
    if results.iter().any(|(_, result)| is_program(result) && result.stopped) {
        let is_stopped = |result: &RunResult| is_program(result) && result.stopped;
        rows.push(("stopped at", numbers(&is_stopped, Unit::Seconds, &|result| result.makespan_s)));
    }
    if results.iter().any(|(_, result)| result.iterations.len() > 1) {
        rows.push(("run time", numbers(&is_whole, Unit::Seconds, &|result| result.makespan_s)));
    }
    if results.iter().any(|(_, result)| result.batches_per_s.is_some()) {
        rows.push(("batches/s", optional(Unit::Count, &|result| result.batches_per_s)));
    }
    let mut rows: Vec<_> = rows.into_iter().map(|(label, cells)| (Cow::Borrowed(label), cells)).collect();
    rows.extend(job_rows(results));
    let others = [
        ("compute", mean(|rank| rank.compute_s)),
        ("memory", mean(|rank| rank.memory_s)),
        ("exposed comm.", mean(|rank| rank.comm_exposed_s)),
        ("idle", mean(|rank| rank.idle_s)),
        (
            "over bound",
            optional(Unit::Factor, &|result| result.binding.as_ref().map(|binding| binding.ratio)),
        ),
    ];
    rows.extend(others.into_iter().map(|(label, cells)| (Cow::Borrowed(label), cells)));
    rows
}

/// How long each job took in each result, and how much longer than alone.
fn job_rows(results: &[(String, RunResult)]) -> Vec<(Cow<'static, str>, Vec<String>)> {
    let mut names: Vec<&str> = Vec::new();
    for job in results.iter().flat_map(|(_, result)| &result.jobs) {
        if !names.contains(&job.name.as_str()) {
            names.push(&job.name);
        }
    }
    names.truncate(COMPARED_JOBS);
    let cells = |name: &str, unit: Unit, number: fn(&JobResult) -> Option<f64>| -> Vec<String> {
        let found = results.iter().map(|(_, result)| {
            let job = result.jobs.iter().find(|job| job.name == name);
            job.and_then(number).map_or_else(dash, |value| unit.format(value))
        });
        found.collect()
    };
    type Part = (&'static str, Unit, fn(&JobResult) -> Option<f64>);
    let parts: [Part; 2] = [
        ("time of", Unit::Seconds, |job| Some(job.duration_s)),
        ("slowdown of", Unit::Factor, |job| job.slowdown),
    ];
    let mut rows = Vec::new();
    for (heading, unit, number) in parts {
        let of_part: Vec<(&str, Vec<String>)> =
            names.iter().map(|name| (*name, cells(name, unit, number))).collect();
        if of_part.iter().flat_map(|(_, cells)| cells).all(|cell| cell == "-") {
            continue;
        }
        rows.push((Cow::Borrowed(heading), vec![String::new(); results.len()]));
        let labels = shorten_apart(&names, LABEL - 5, "..");
        let indented = labels.into_iter().map(|label| Cow::Owned(format!("  {label}")));
        rows.extend(indented.zip(of_part.into_iter().map(|(_, cells)| cells)));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_several_assignments_and_values_keep_their_semicolons() {
        assert_eq!(assignments("a=1"), ["a=1"]);
        assert_eq!(assignments("a.b=1; c-d = \"x\""), ["a.b=1", "c-d = \"x\""]);
        assert_eq!(assignments("f=\"1:0.5;50000:0.9\";g=2"), ["f=\"1:0.5;50000:0.9\"", "g=2"]);
    }

    #[test]
    fn a_variant_has_a_name_of_its_own_or_that_of_its_changes() {
        assert_eq!(named("fast: a=1; b=2"), ("fast", "a=1; b=2"));
        assert_eq!(named("f=\"1:0.5\""), ("f=\"1:0.5\"", "f=\"1:0.5\""));
    }

    /// The time at which somebody stopped a run is no step.
    #[test]
    fn a_run_that_was_stopped_has_no_step_and_no_change() {
        let whole = |makespan_s| RunResult { makespan_s, ..RunResult::default() };
        let stopped = RunResult { stopped: true, ..whole(0.5) };
        let rows_of = |results: [RunResult; 3]| {
            let named = results.map(|result| (String::new(), result));
            let rows = rows(&named);
            ["step time", "change", "stopped at"].map(|label| {
                let row = rows.iter().find(|(name, _)| name == label);
                row.map(|(_, cells)| {
                    cells.iter().map(|cell| cell.trim().to_owned()).collect::<Vec<_>>().join(" | ")
                })
            })
        };
        let found = rows_of([whole(2.0), stopped.clone(), whole(3.0)]);
        assert_eq!(
            found.each_ref().map(Option::as_deref),
            [Some("2.000 s | - | 3.000 s"), Some("- | - | +50.0 %"), Some("- | 500.0 ms | -")]
        );
        let found = rows_of([stopped, whole(2.0), whole(3.0)]);
        assert_eq!(found[1].as_deref(), Some("- | - | -"));
        assert_eq!(rows_of([whole(1.0), whole(2.0), whole(3.0)])[2], None);
    }

    #[test]
    fn results_are_called_by_letters() {
        let letters: Vec<_> = [0, 25, 26, 51, 52, 701, 702].map(letter).into();
        assert_eq!(letters, ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }
}
