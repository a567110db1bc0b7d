//! `stratasim compare`: one experiment several ways, side by side.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use stratasim_experiment::{Document, Error, Prepared, files};
use stratasim_report::Unit;
use stratasim_report::result::{RankResult, RunResult};
use stratasim_report::table::{Cell, Table};

use crate::INTERRUPTED;
use crate::input::{Input, choose_network};
use crate::progress::Progress;
use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    input: Input,
    /// Networks to compare, separated by commas; the file's own when absent
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    networks: Vec<String>,
    /// A variant to compare with: changes as in --set, several separated by ";"; may be repeated
    #[arg(long = "with", value_name = "KEY=VALUE")]
    variants: Vec<String>,
    /// Write the results as a JSON list
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
    /// Print no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Compare {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        // everything is read before anything runs, so that a typo costs no time
        let mut cases = Vec::new();
        let networks: Vec<Option<&str>> = match self.networks.as_slice() {
            [] => vec![None],
            kinds => kinds.iter().map(|kind| Some(kind.trim())).collect(),
        };
        let variants: Vec<Option<&str>> =
            std::iter::once(None).chain(self.variants.iter().map(|text| Some(text.as_str()))).collect();
        for network in networks {
            for variant in &variants {
                let (document, base) = self.case(network, *variant)?;
                let words: Vec<&str> = network.into_iter().chain(*variant).collect();
                let name = if words.is_empty() { "as it is".to_owned() } else { words.join(", ") };
                cases.push((name, Prepared::new(&document, &base)?));
            }
        }
        let mut results = Vec::new();
        for (name, mut prepared) in cases {
            #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
            let started = Instant::now();
            let mut progress = Progress::new(terminal, self.quiet);
            let result = prepared.run(&mut progress, started);
            progress.clear();
            let result = result?;
            if crate::interrupt::wanted() {
                break;
            }
            results.push((name, result));
        }
        if !results.is_empty() {
            terminal.print(&table(&results).to_text(&terminal.style))?;
        }
        if let Some(path) = &self.json {
            let list: Vec<&RunResult> = results.iter().map(|(_, result)| result).collect();
            let text = serde_json::to_string_pretty(&list).unwrap_or_default();
            files::write(path, text.as_bytes()).map_err(|error| Error::file(path, &error))?;
        }
        let codes = results.iter().map(|(_, result)| crate::run::exit_code(result, terminal, true));
        let worst = codes.max().unwrap_or(0);
        Ok(if crate::interrupt::wanted() { INTERRUPTED } else { worst })
    }

    fn case(&self, network: Option<&str>, variant: Option<&str>) -> Result<(Document, PathBuf), Error> {
        let (mut document, base) = self.input.load()?;
        document.take("sweep");
        if let Some(kind) = network {
            choose_network(&mut document, kind)?;
            // changes of the network's options come after its choice
            for set in self.input.sets.iter().filter(|set| set.trim_start().starts_with("network.")) {
                document.set(set)?;
            }
        }
        for set in variant.map(assignments).unwrap_or_default() {
            match set.split_once('=') {
                // another network drops the options of the file's
                Some((key, kind)) if key.trim() == "network.kind" => {
                    choose_network(&mut document, kind.trim().trim_matches('"'))?;
                }
                _ => document.set(set)?,
            }
        }
        Ok((document, base))
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

/// One row per result; differences are to the first.
fn table(results: &[(String, RunResult)]) -> Table {
    let batches = results.iter().any(|(_, result)| result.batches_per_s.is_some());
    let headings = ["", "step time", "difference"].into_iter().chain(batches.then_some("batches/s")).chain([
        "compute",
        "memory",
        "exposed comm.",
        "idle",
        "over bound",
        "tasks",
        "wall",
    ]);
    let mut table = Table::new(headings);
    let first = results[0].1.step_s();
    for (at, (name, result)) in results.iter().enumerate() {
        let mean = |part: fn(&RankResult) -> f64| -> Cell {
            let sum: f64 = result.ranks.iter().map(part).sum();
            (sum / result.ranks.len().max(1) as f64, Unit::Seconds).into()
        };
        let difference = (at > 0 && first > 0.0).then(|| (result.step_s() / first - 1.0, Unit::Difference));
        let mut row: Vec<Cell> =
            vec![name.as_str().into(), (result.step_s(), Unit::Seconds).into(), difference.into()];
        if batches {
            row.push(result.batches_per_s.map(|rate| (rate, Unit::Count)).into());
        }
        row.extend([
            mean(|rank| rank.compute_s),
            mean(|rank| rank.memory_s),
            mean(|rank| rank.comm_exposed_s),
            mean(|rank| rank.idle_s),
            result.binding.as_ref().map(|binding| (binding.ratio, Unit::Factor)).into(),
            (result.events as f64, Unit::Count).into(),
            (result.wall_s, Unit::Seconds).into(),
        ]);
        table.push(row);
    }
    table
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
}
