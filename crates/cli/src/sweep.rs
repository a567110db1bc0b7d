//! `stratasim sweep`: one experiment, many settings, one page.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use stratasim_core::words::counted;
use stratasim_experiment::sweep::{Finished, Outcome, Point, RunOptions, Watch, alike};
use stratasim_experiment::{Error, Sweep as Points};

use crate::INTERRUPTED;
use crate::input::Input;
use crate::interrupt;
use crate::progress;
use crate::terminal::{Terminal, notes};

#[derive(Args)]
pub(crate) struct Sweep {
    #[command(flatten)]
    input: Input,
    /// Folder for results, tables, pictures and the page
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Points that run at once [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Run one part of the points, such as 1/4, 2/4, ... on four machines that share the folder
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(usize, usize)>,
    /// Only points with this setting, such as case=ring; repeated settings are alternatives
    #[arg(long, value_name = "SETTING=VALUE")]
    only: Vec<String>,
    /// Run points again whose results are there
    #[arg(long)]
    force: bool,
    /// Print no table and no progress
    #[arg(long, short)]
    quiet: bool,
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if i >= 1 && i <= n => Ok((i, n)),
        _ => Err("write it like 2/4: the second of four parts".to_owned()),
    }
}

/// Failures of different words that are told on the terminal.
const MOST_FAILURES: usize = 20;

/// Before the first point is there, nobody knows how long the rest takes.
const UNTIL_THE_FIRST: &str = "  {bar:32} {human_pos} of {human_len} points, {elapsed} so far";
const WITH_REST: &str = "  {bar:32} {human_pos} of {human_len} points, {elapsed} so far, {eta} left";

/// Shows progress, and passes Ctrl-C on.
struct Bar {
    bar: Option<ProgressBar>,
}

impl Watch for Bar {
    fn done(&self, _: &Point, outcome: &Outcome) {
        if let Some(bar) = &self.bar {
            if bar.position() == 0 {
                bar.set_style(progress::style(WITH_REST));
            }
            bar.inc(1);
            if matches!(outcome, Outcome::Kept) {
                // what was there says nothing about how long the rest takes
                bar.reset_eta();
            }
        }
    }

    fn wants_stop(&self) -> bool {
        interrupt::wanted()
    }
}

impl Sweep {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let (document, base) = self.input.load()?;
        let mut sweep = Points::new(document, &base)?;
        sweep.keep_only(&self.only)?;
        interrupt::listen();
        let shown = terminal.watched && !self.quiet;
        let (part, parts) = self.shard.unwrap_or((1, 1));
        let mine = (sweep.points().len() + parts - part) / parts;
        let watch = Bar { bar: shown.then(|| progress::bar(mine as u64, UNTIL_THE_FIRST)) };
        if let Some(bar) = &watch.bar {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        let options = RunOptions {
            threads: self.threads.map(|count| count as usize),
            shard: self.shard,
            force: self.force,
        };
        let finished = sweep.run(&self.out, &options, &watch)?;
        if let Some(bar) = &watch.bar {
            bar.finish_and_clear();
        }
        self.conclude(&sweep, &finished, terminal)
    }

    /// Prints and writes what there is, and says what is missing.
    fn conclude(&self, sweep: &Points, finished: &Finished, terminal: &Terminal) -> Result<u8, Error> {
        let failed = alike(&finished.failures);
        for alike in failed.iter().take(MOST_FAILURES) {
            terminal.say(&format!("  the point with {} failed:", alike[0].settings));
            terminal.fail(&alike[0].error);
            if let more @ 1.. = alike.len() - 1 {
                terminal.say(&format!("  and {} in the same way", counted(more as u64, "other point")));
            }
        }
        if let more @ 1.. = failed.iter().skip(MOST_FAILURES).flatten().count() {
            let place = if finished.rows.is_empty() { "" } else { "; the page has all" };
            terminal.say(&format!("  {} failed otherwise{place}", counted(more as u64, "point")));
        }
        if finished.left == 0 && !finished.rows.is_empty() {
            if !self.quiet {
                terminal.print(&sweep.table(&finished.rows).to_text(&terminal.style));
                for (caption, table) in sweep.comparisons(&finished.rows) {
                    terminal.print(&format!("\n{caption}\n\n{}", table.to_text(&terminal.style)));
                }
                terminal.print(&notes(&sweep.notes(&finished.rows), true, &terminal.style));
            }
            for name in sweep.absent(&finished.rows) {
                terminal.say(&format!(
                    "  no point has a number `{name}`: it is left out (`run --json` shows which numbers there are)"
                ));
            }
            let written = sweep.write(&self.out, finished)?;
            if let Some(page) = written.first().filter(|_| !self.quiet) {
                let is_picture = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "svg");
                let others = if written.iter().any(is_picture) { "pictures and tables" } else { "tables" };
                terminal.note(&format!("  wrote {} (page) and its {others}", page.display()));
            }
        }
        if finished.left > 0 && interrupt::wanted() && !self.quiet && !finished.rows.is_empty() {
            terminal.print(&sweep.table(&finished.rows).to_text(&terminal.style));
        }
        let page = self.out.join("index.html");
        if finished.left == 0 && finished.rows.is_empty() && page.exists() {
            terminal.say(&format!(
                "  {} is of an earlier run: no point of this one has a result",
                page.display()
            ));
        }
        if !self.quiet {
            let kept = finished.rows.len() - finished.ran.min(finished.rows.len());
            let mut words = format!("  {} ran, {kept} were there", counted(finished.ran as u64, "point"));
            if !finished.failures.is_empty() {
                words += &format!(", {} failed", finished.failures.len());
            }
            if finished.left > 0 {
                words += &format!(
                    ", {} are left: the same command goes on{}",
                    finished.left,
                    if self.shard.is_some() { ", without --shard for all of them" } else { "" }
                );
            }
            terminal.note(&words);
        }
        if interrupt::wanted() {
            return Ok(INTERRUPTED);
        }
        Ok(finished.failures.iter().map(|failure| failure.error.exit_code()).max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_so_many() {
        assert_eq!(shard("2/4"), Ok((2, 4)));
        for bad in ["0/4", "5/4", "2", "a/b", "1/0", ""] {
            assert!(shard(bad).is_err(), "{bad}");
        }
    }
}
