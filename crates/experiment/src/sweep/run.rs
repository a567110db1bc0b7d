//! Running the points of a sweep, each once, in any order, on any number of threads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use indexmap::IndexMap;
use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_report::result::RunResult;

use super::points::{Point, Sweep};
use super::table::Row;
use crate::Document;
use crate::build::Prepared;
use crate::error::Error;
use crate::forecast::Forecast;
use crate::kept;
use crate::traffic::Traffic;

/// How to run a sweep.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Points that run at once; as many as the machine has cores when `None`.
    pub threads: Option<usize>,
    /// Which part of the points to run: `(1, 4)` is the first of four. Each point is in one part.
    pub shard: Option<(usize, usize)>,
    /// Run points again whose results are there.
    pub force: bool,
}

/// How one point came out.
#[derive(Debug)]
pub enum Outcome {
    /// Its result was there.
    Kept,
    /// It ran.
    Ran,
    /// It failed.
    Failed,
}

/// Why a point has no result.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Position of the point.
    pub index: usize,
    /// Its settings in words.
    pub settings: String,
    /// Its digest.
    pub digest: String,
    /// What went wrong.
    pub error: Error,
}

/// Failures with the same words together, in the order of the first ones.
pub fn alike(failures: &[Failure]) -> Vec<Vec<&Failure>> {
    let mut groups: IndexMap<String, Vec<&Failure>> = IndexMap::new();
    for failure in failures {
        groups.entry(failure.error.to_string()).or_default().push(failure);
    }
    groups.into_values().collect()
}

/// Looks on while a sweep runs; called from several threads.
pub trait Watch: Sync {
    /// `point` is done.
    fn done(&self, point: &Point, outcome: &Outcome);
    /// Whether to stop early. What is finished is kept.
    fn wants_stop(&self) -> bool {
        false
    }
}

impl Watch for () {
    fn done(&self, _: &Point, _: &Outcome) {}
}

/// What a sweep left behind.
#[derive(Debug)]
pub struct Finished {
    /// Points with a result, in order.
    pub rows: Vec<Row>,
    /// Points without, in order.
    pub failures: Vec<Failure>,
    /// How many of the rows ran just now; the others were there.
    pub ran: usize,
    /// Points that nobody tried: of other shards, or after a stop.
    pub left: usize,
}

/// Runs an experiment, open-loop traffic or a forecast: whatever a point of a sweep may be. Relative paths start from `base`.
///
/// # Errors
/// What does not fit, a run that stalled, [`Error::Stopped`].
pub fn run_document(
    document: &Document,
    base: &Path,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<RunResult, Error> {
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let started = Instant::now();
    if Traffic::is_in(document) {
        let result = Traffic::new(document, base)?.run(&stop, None, started)?;
        return if result.stopped { Err(Error::Stopped) } else { Ok(result) };
    }
    if Forecast::is_in(document) {
        let made = Forecast::new(document, base)?.make();
        let made = made.map_err(|error| document.locate(&error, "forecast"))?;
        let (stratasim, spec, forecast, notes) = (made.stratasim, made.spec, made.rows, made.notes);
        return Ok(RunResult { stratasim, spec, forecast, notes, ..RunResult::default() });
    }
    let mut prepared = Prepared::new(document, base)?;
    let result = prepared.run(&mut Stop(stop), started)?;
    // one that was over before it heard of that is kept
    if result.stopped { Err(Error::Stopped) } else { Ok(result) }
}

impl Sweep {
    /// Where the result of a point is, or will be.
    pub fn result_path(&self, out: &Path, point: &Point) -> PathBuf {
        kept::path(out, &point.digest)
    }

    /// Runs one point.
    ///
    /// # Errors
    /// What does not fit, a run that stalled, [`Error::Stopped`].
    pub fn run_point(&self, point: &Point, stop: &(dyn Fn() -> bool + Sync)) -> Result<RunResult, Error> {
        let (document, _) = self.settle(point.combination)?;
        run_document(&document, &self.base, stop)
    }

    /// Runs the points that have no result in `out`, and gathers all results that are there.
    ///
    /// # Errors
    /// A folder that cannot be written. Points that fail are in [`Finished::failures`].
    pub fn run(&self, out: &Path, options: &RunOptions, watch: &dyn Watch) -> Result<Finished, Error> {
        kept::prepare(out)?;
        let (part, parts) = options.shard.unwrap_or((1, 1));
        // two settings may make the same experiment: it is run once
        let mut seen = BTreeSet::new();
        let mine: Vec<&Point> = self
            .points
            .iter()
            .enumerate()
            .filter(|(at, point)| at % parts + 1 == part && seen.insert(&point.digest))
            .map(|(_, point)| point)
            .collect();
        let next = AtomicUsize::new(0);
        let ran = AtomicUsize::new(0);
        // a result could not be written: nor could the others
        let halted = AtomicBool::new(false);
        let failures = Mutex::new(Vec::new());
        let numbers = Mutex::new(BTreeMap::new());
        let keep = |point: &Point, result: &RunResult| {
            let found = (self.numbers(result), result.notes.clone());
            numbers.lock().expect("no thread panics here").insert(point.digest.clone(), found);
        };
        let work = || {
            while let Some(point) = mine.get(next.fetch_add(1, Ordering::Relaxed)) {
                if watch.wants_stop() || halted.load(Ordering::Relaxed) {
                    break;
                }
                let there = if options.force { None } else { self.read(out, point) };
                if let Some(result) = there {
                    keep(point, &result);
                    watch.done(point, &Outcome::Kept);
                    continue;
                }
                let attempted = self.attempt(point, watch).and_then(|result| {
                    let path = self.result_path(out, point);
                    let kept = kept::write(&path, &result);
                    // a folder in the place of one is not in that of the others
                    halted.fetch_or(kept.is_err() && !path.is_dir(), Ordering::Relaxed);
                    kept.map(|()| result)
                });
                match attempted {
                    Ok(result) => {
                        keep(point, &result);
                        ran.fetch_add(1, Ordering::Relaxed);
                        watch.done(point, &Outcome::Ran);
                    }
                    Err(Error::Stopped) => break,
                    Err(error) => {
                        let (settings, digest) = (self.describe(point), point.digest.clone());
                        let failure = Failure { index: point.index, settings, digest, error };
                        failures.lock().expect("no thread panics here").push(failure);
                        watch.done(point, &Outcome::Failed);
                    }
                }
            }
        };
        // no more than there are points
        let threads = options.threads.unwrap_or(0).min(mine.len().max(1));
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        match threads {
            Ok(pool) => drop(pool.broadcast(|_| work())),
            // no threads to be had: one will do
            Err(_) => work(),
        }

        let mut failures = failures.into_inner().expect("no thread panics here");
        failures.sort_by_key(|failure| failure.index);
        let mut numbers = numbers.into_inner().expect("no thread panics here");
        let mut rows = Vec::new();
        let mut left = 0;
        for point in &self.points {
            // results of other parts may be there, too
            if !numbers.contains_key(&point.digest)
                && !seen.contains(&point.digest)
                && let Some(result) = self.read(out, point)
            {
                numbers.insert(point.digest.clone(), (self.numbers(&result), result.notes));
            }
            match numbers.get(&point.digest) {
                Some(numbers) => rows.push(Row::new(point, numbers.clone())),
                None if failures.iter().any(|failure| failure.digest == point.digest) => {}
                None => left += 1,
            }
        }
        self.derive(&mut rows);
        Ok(Finished { rows, failures, ran: ran.into_inner(), left })
    }

    /// Runs a point. A panic is a failure of this point only.
    fn attempt(&self, point: &Point, watch: &dyn Watch) -> Result<RunResult, Error> {
        let run = || self.run_point(point, &|| watch.wants_stop());
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|_| {
            Err(Error::Broken("the simulator panicked; this is a bug, please report it".to_owned()))
        })?;
        if let Some(check) = result.checks.iter().find(|check| !check.ok) {
            let place = check.violations.first().map_or("", String::as_str);
            return Err(Error::Broken(format!("a physics check is broken: {}: {place}", check.name)));
        }
        Ok(result)
    }

    /// The result of a point, if it is there, complete, and of this version of the program.
    pub(super) fn read(&self, out: &Path, point: &Point) -> Option<RunResult> {
        kept::read(&self.result_path(out, point), |result| result.spec == point.spec)
    }
}

/// Stops a run.
struct Stop<'a>(&'a (dyn Fn() -> bool + Sync));

impl Observer for Stop<'_> {
    fn interests(&self) -> Interests {
        Interests::default()
    }
    fn on_event(&mut self, _: &Event) {}
    fn wants_stop(&self) -> bool {
        (self.0)()
    }
}
