//! `stratasim traffic`: a load-latency curve.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use stratasim_core::BuildError;
use stratasim_core::words::counted;
use stratasim_experiment::booksim::Experiment;
use stratasim_experiment::traffic::{Curve, Kept, Load, Loads, PRECISIONS, Progress, Subject};
use stratasim_experiment::{ConfigError, Document, Error, Traffic as Prepared};

use crate::INTERRUPTED;
use crate::input::Input;
use crate::interrupt;
use crate::progress;
use crate::terminal::{Terminal, notes};

#[derive(Args)]
pub(crate) struct Traffic {
    #[command(flatten)]
    input: Input,
    /// Loads in flits per cycle and terminal, or rates: 0.3, 0.05:0.45:0.05 (from, to, step), "10 Gbps:50 Gbps:5 Gbps", or
    /// several with commas [default: the file's `traffic.load`, 0.1 where it has none]
    #[arg(long, value_name = "LOADS", allow_hyphen_values = true)]
    load: Option<Loads>,
    /// Look for the load at which the network saturates, by bisection, to this precision [default: 0.01]
    #[arg(long, value_name = "PRECISION", num_args = 0..=1, default_missing_value = "0.01", value_parser = precision)]
    saturation: Option<f64>,
    /// Runs of every load, each with a seed of its own, from the file's seed on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Whose rules the simulation follows
    #[arg(long, value_enum, value_name = "WHOSE", default_value_t = Semantics::Native)]
    semantics: Semantics,
    /// Folder for the page, pictures, table and JSON, and for the results of runs, which the next call takes up
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Run again what has a result in the folder
    #[arg(long, requires = "out")]
    force: bool,
    /// Threads: runs at once, and where there are fewer runs than threads, several for a run [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Print no table and no progress
    #[arg(long, short)]
    quiet: bool,
}

/// Whose rules a simulation follows.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Semantics {
    /// Our own: results with confidence intervals, whatever the order and the threads
    Native,
    /// Those of BookSim2, bit for bit; FILE may be one of its configurations (`name = value;`)
    Booksim2,
}

/// What a file asks for itself.
#[derive(Clone, Copy)]
struct Own {
    load: Option<Load>,
    /// The load of a configuration of BookSim2 in flits per cycle, which may be more than a terminal injects.
    theirs: Option<f64>,
    /// How near to the saturation load.
    search: Option<f64>,
}

impl Own {
    fn of(document: &Document) -> Self {
        match Prepared::search_in(document) {
            None => Self { load: Prepared::load_in(document), theirs: None, search: None },
            search => Self { load: None, theirs: None, search },
        }
    }
}

fn precision(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(precision) if PRECISIONS.contains(&precision) => Ok(precision),
        _ => Err("a part of a flit per cycle from 0.000001 to 0.5 is expected".to_owned()),
    }
}

/// Counts runs, and passes Ctrl-C on.
struct Bar {
    bar: Option<ProgressBar>,
    done: AtomicU64,
}

impl Progress for Bar {
    fn done(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(bar) = &self.bar {
            bar.set_length(bar.length().unwrap_or(0).max(done));
            bar.inc(1);
        }
    }

    fn wants_stop(&self) -> bool {
        interrupt::wanted()
    }
}

impl Traffic {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        if self.semantics == Semantics::Native {
            let (document, base) = self.document()?;
            let own = Own::of(&document);
            let subject = if self.has_loads() { Prepared::for_loads } else { Prepared::new };
            return self.curve(&subject(&document, &base)?, own, terminal);
        }
        let ending = self.input.file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if ["toml", "json"].contains(&ending) {
            let (document, base) = self.document()?;
            let own = Own::of(&document);
            let subject = if self.has_loads() { Experiment::for_loads } else { Experiment::from_document };
            return self.curve(&subject(&document, &base)?, own, terminal);
        }
        let experiment = Experiment::from_file(&self.input.file, &self.input.sets)?;
        if experiment.is_batch() && self.has_loads() {
            let message =
                "a batch has no load: leave out `--load` and `--saturation`, or set `sim_type` to another";
            return Err(ConfigError::new(message, None).into());
        }
        if !experiment.unwritten().is_empty() && !self.quiet {
            let names = experiment.unwritten().join(", ");
            terminal.note(&format!("  BookSim2 would write more for {names}, which is not written here"));
        }
        let own = Own { load: None, theirs: Some(experiment.load()), search: None };
        self.curve(&experiment, own, terminal)
    }

    /// Whether the command says which loads.
    fn has_loads(&self) -> bool {
        self.load.is_some() || self.saturation.is_some()
    }

    /// An experiment with a load.
    fn document(&self) -> Result<(Document, PathBuf), Error> {
        let (document, base) = self.input.experiment(None)?;
        if !Prepared::is_in(&document) {
            let message = "this experiment has no section `[traffic]`: give it one, or use `stratasim run`";
            return Err(document.lacks(message).into());
        }
        Prepared::check_loads(&document, "stratasim run")?;
        Ok((document, base))
    }

    /// Runs the loads that were asked for, or the file's `own` one, but for those that have a result in the folder.
    fn curve(&self, subject: &impl Subject, mut own: Own, terminal: &Terminal) -> Result<u8, Error> {
        if self.has_loads() {
            own = Own { load: None, theirs: None, search: self.saturation };
        }
        let Some(out) = &self.out else {
            return self.conclude(&self.points(subject, own, terminal)?, own.search, 0, terminal);
        };
        let kept = Kept::new(subject, out, self.force)?;
        let curve = self.points(&kept, own, terminal)?;
        self.conclude(&curve, own.search, kept.found(), terminal)
    }

    fn points(&self, subject: &impl Subject, own: Own, terminal: &Terminal) -> Result<Curve, Error> {
        let rate = subject.flit_rate();
        let loads = match (&self.load, own.load) {
            (Some(asked), _) => {
                let refused = |error: BuildError| ConfigError::new(format!("--load: {}", error.reason), None);
                asked.flits_per_cycle(rate).map_err(refused)?
            }
            (None, Some(own)) => {
                let refused =
                    |error: BuildError| ConfigError::new(format!("traffic.load: {}", error.reason), None);
                vec![own.flits_per_cycle(rate).map_err(refused)?]
            }
            (None, None) => own.theirs.into_iter().collect(),
        };
        interrupt::listen();
        let shown = terminal.watched && !self.quiet;
        let template = "  {bar:32} {human_pos} of {human_len} runs, {elapsed} so far";
        let runs = loads.len() as u64 * u64::from(self.seeds);
        let watch = Bar { bar: shown.then(|| progress::bar(runs, template)), done: AtomicU64::new(0) };
        if let Some(bar) = &watch.bar {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        let threads = self.threads.map(|count| count as usize);
        let mut curve = Curve::run(subject, &loads, self.seeds, threads, &watch)?;
        if let Some(precision) = own.search {
            curve.find_saturation(subject, precision, self.seeds, threads, &watch)?;
        }
        if let Some(bar) = &watch.bar {
            bar.finish_and_clear();
        }
        Ok(curve)
    }

    /// Prints and writes what there is, and says what is missing. `found` runs were there before.
    fn conclude(
        &self,
        curve: &Curve,
        search: Option<f64>,
        found: usize,
        terminal: &Terminal,
    ) -> Result<u8, Error> {
        if !self.quiet && !curve.points.is_empty() {
            terminal.print(&curve.table().to_text(&terminal.style));
            if let Some(classes) = curve.class_table() {
                terminal.print(&format!("\n{}", classes.to_text(&terminal.style)));
            }
        }
        let batches = curve.points.iter().flat_map(|point| &point.results);
        let batches = batches.filter_map(|result| result.traffic.as_ref()?.booksim2.as_ref());
        for cycles in
            batches.map(|made| &made.batch_cycles).filter(|cycles| !cycles.is_empty() && !self.quiet)
        {
            let all: Vec<String> = cycles.iter().map(u64::to_string).collect();
            terminal.print(&format!("\nbatches took {} cycles\n", all.join(", ")));
        }
        if !self.quiet {
            terminal.print(&notes(&curve.notes(), self.out.is_some(), &terminal.style));
        }
        let is_found = curve.saturation.is_some() || curve.not_known.is_some();
        let is_whole = !interrupt::wanted() && curve.failures.is_empty();
        if !self.quiet && search.is_some() && (is_found || is_whole) {
            terminal.print(&format!("\n{}\n", curve.finding()));
        }
        if let Some(out) = self.out.as_deref().filter(|_| !curve.points.is_empty()) {
            let written = curve.write(out)?;
            if let Some(page) = written.first().filter(|_| !self.quiet) {
                terminal.note(&format!("  wrote {} (page) and its pictures and tables", page.display()));
            }
        }
        let runs: usize = curve.points.iter().map(|point| point.results.len()).sum();
        if found > 0 && !self.quiet {
            let ran = counted((runs - found.min(runs)) as u64, "run");
            let were = if found == 1 { "was" } else { "were" };
            terminal.note(&format!("  {ran} ran, {found} {were} there"));
        }
        if curve.left > 0 && !self.quiet {
            let rest = if self.out.is_some() { ": the same command goes on" } else { "" };
            let are = if curve.left == 1 { "is" } else { "are" };
            terminal.note(&format!("  {} {are} left{rest}", counted(curve.left as u64, "run")));
        }
        for failure in &curve.failures {
            terminal.fail(failure);
        }
        let mut checks = curve.points.iter().flat_map(|point| {
            let results = point.results.iter().flat_map(|result| &result.checks);
            results.filter(|check| !check.ok).map(|check| (point.load, check))
        });
        if let Some((load, check)) = checks.next() {
            let place = check.violations.first().map_or("", String::as_str);
            terminal.say(&format!("  × load {load}: a physics check is broken: {}: {place}", check.name));
            return Ok(3);
        }
        if interrupt::wanted() {
            return Ok(INTERRUPTED);
        }
        Ok(curve.failures.iter().map(Error::exit_code).max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::precision;

    #[test]
    fn a_precision_is_a_part_of_a_flit() {
        assert_eq!(precision("0.01"), Ok(0.01));
        assert!(["0", "1", "a", "nan"].iter().all(|text| precision(text).is_err()));
    }
}
