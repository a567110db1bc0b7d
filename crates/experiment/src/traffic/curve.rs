//! A load-latency curve: many loads and seeds at once, and the load at which the network saturates.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use serde::Serialize;
use stratasim_core::Bandwidth;
use stratasim_report::Unit;
use stratasim_report::result::RunResult;
use stratasim_report::table::{Cell, Table};
use stratasim_report::traffic::TrafficResult;

use super::result::NOT_KNOWN;
use super::verdict::mean_and_half_width;
use super::{Traffic, Watch, flit_rate};
use crate::error::{ConfigError, Error};
use crate::kept;

/// What a curve is about: it runs at any load with any seed.
pub trait Subject: Sync {
    /// Its name, for titles.
    fn name(&self) -> &str;

    /// The first seed.
    fn seed(&self) -> u64;

    /// The rate of a terminal that injects a flit in every cycle; `None` without a clock.
    fn flit_rate(&self) -> Option<Bandwidth>;

    /// The part of every load, flits per cycle and terminal, that stays the same.
    fn own_load(&self) -> f64 {
        0.0
    }

    /// What runs at `load` flits per cycle and terminal, with `seed`.
    ///
    /// # Errors
    /// A load that its sources cannot make.
    fn at(&self, load: f64, seed: u64) -> Result<Box<dyn Point + '_>, ConfigError>;
}

/// One run of a curve.
pub trait Point: Send + Sync {
    /// Runs on at most `threads` threads until `stop` says so. `started` is when the clock for `wall_s` began.
    ///
    /// # Errors
    /// A network that stands still; [`Error::Stopped`].
    fn run(
        &self,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
        started: Instant,
    ) -> Result<RunResult, Error>;

    /// A digest of everything that determines its result, in 32 hexadecimal digits.
    fn digest(&self) -> String;

    /// Whether a result is its own.
    fn gave(&self, result: &RunResult) -> bool;
}

impl<S: Subject + ?Sized> Subject for &S {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn seed(&self) -> u64 {
        (**self).seed()
    }

    fn flit_rate(&self) -> Option<Bandwidth> {
        (**self).flit_rate()
    }

    fn own_load(&self) -> f64 {
        (**self).own_load()
    }

    fn at(&self, load: f64, seed: u64) -> Result<Box<dyn Point + '_>, ConfigError> {
        (**self).at(load, seed)
    }
}

impl Subject for Traffic {
    fn name(&self) -> &str {
        &self.name
    }

    fn seed(&self) -> u64 {
        self.spec.seed
    }

    fn flit_rate(&self) -> Option<Bandwidth> {
        Some(flit_rate(&self.network))
    }

    fn own_load(&self) -> f64 {
        let classes = self.traffic.classes.iter().zip(&self.plan.classes);
        classes.filter(|(spec, _)| spec.load.is_some()).map(|(_, class)| class.load).sum()
    }

    fn at(&self, load: f64, seed: u64) -> Result<Box<dyn Point + '_>, ConfigError> {
        Ok(Box::new(self.point(load, seed)?))
    }
}

impl Traffic {
    /// What runs at `load` flits per cycle and terminal, with `seed`.
    pub(super) fn point(&self, load: f64, seed: u64) -> Result<Self, ConfigError> {
        let located = |error| self.document.locate(&error, "traffic").of_run(&format!("load {load}"));
        self.at(load, seed).map_err(located)
    }

    /// Runs all of it, or says that it was stopped: a point is whole, or says nothing of its load.
    pub(super) fn run_whole(
        &self,
        threads: usize,
        watch: &dyn Watch,
        started: Instant,
    ) -> Result<RunResult, Error> {
        let result = self.run_on_threads(threads, watch, None, started)?;
        if result.stopped { Err(Error::Stopped) } else { Ok(result) }
    }
}

impl Point for Traffic {
    fn run(
        &self,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
        started: Instant,
    ) -> Result<RunResult, Error> {
        self.run_whole(threads, &stop, started)
    }

    fn digest(&self) -> String {
        kept::digest::of(&self.resolved(), &self.base)
    }

    fn gave(&self, result: &RunResult) -> bool {
        result.spec == self.resolved()
    }
}

/// Looks on while points run; called from several threads.
pub trait Progress: Sync {
    /// A point is done.
    fn done(&self) {}
    /// Whether to stop early. Points that are done are kept.
    fn wants_stop(&self) -> bool {
        false
    }
}

impl Progress for () {}

/// One load: results of all seeds.
#[derive(Debug, Clone)]
pub struct CurvePoint {
    /// The load that was asked for, flits per cycle and terminal.
    pub load: f64,
    /// A result for each seed, in order.
    pub results: Vec<RunResult>,
}

impl CurvePoint {
    pub(super) fn statistics(&self) -> impl Iterator<Item = &TrafficResult> {
        self.results.iter().filter_map(|result| result.traffic.as_ref())
    }

    /// Whether the network was saturated with at least half of the seeds.
    pub fn saturated(&self) -> bool {
        2 * self.seeds_with(Some(true)) >= self.results.len().max(1)
    }

    /// Whether it carried the load with more than half of the seeds. Where neither holds, it is not known. Every network
    /// carries nothing.
    pub fn carried(&self) -> bool {
        self.load == 0.0 || 2 * self.seeds_with(Some(false)) > self.results.len()
    }

    fn seeds_with(&self, saturated: Option<bool>) -> usize {
        self.statistics().filter(|result| result.saturated == saturated).count()
    }

    /// Whether it was stable, in a word: with how many of the seeds, where they do not agree.
    fn stable(&self) -> String {
        let unknown = self.seeds_with(None);
        let seeds = self.results.len();
        if self.statistics().any(TrafficResult::is_deadlocked) {
            return "deadlock".to_owned();
        }
        match self.seeds_with(Some(false)) {
            0 if unknown > 0 => NOT_KNOWN.to_owned(),
            0 => "no".to_owned(),
            stable if stable == seeds => "yes".to_owned(),
            stable => format!("{stable} of {seeds}"),
        }
    }

    /// Mean over seeds of a number, with half of its 95 % confidence interval: between seeds, or within the one
    /// there is. Of largest values, the largest.
    pub fn number(&self, name: &str) -> Option<(f64, Option<f64>)> {
        if name == "packet_latency_cycles_half_width" {
            return self.number("packet_latency_cycles")?.1.map(|half| (half, None));
        }
        let values: Vec<f64> = self.statistics().filter_map(|result| result.number(name)).collect();
        match values.as_slice() {
            [] => None,
            [one] => {
                let own = self.statistics().next()?;
                let half = match name {
                    "packet_latency_cycles" => own.packet_latency_cycles.half_width,
                    "network_latency_cycles" => own.network_latency_cycles.half_width,
                    "flit_latency_cycles" => own.flit_latency_cycles.half_width,
                    "accepted_flits_per_cycle" => own.accepted_half_width,
                    _ => None,
                };
                Some((*one, half))
            }
            values if name == "packet_latency_max_cycles" => {
                Some((values.iter().copied().fold(f64::NEG_INFINITY, f64::max), None))
            }
            values => Some(mean_and_half_width(values)),
        }
    }
}

/// A load-latency curve.
#[derive(Debug, Clone)]
pub struct Curve {
    /// What it is about.
    pub title: String,
    /// Points in order of load.
    pub points: Vec<CurvePoint>,
    /// Points that were not run because of a stop.
    pub left: usize,
    /// Why runs have no result, in order: each names its load and, of several, its seed.
    pub failures: Vec<Error>,
    /// The part of every load, beside that of the points, which is that of classes with a load of their own.
    pub own_load: f64,
    /// Load between which and which the network saturates, where it was looked for.
    pub saturation: Option<(f64, f64)>,
    /// Where it was looked for and what was measured does not tell: the largest load below which all are carried, and the
    /// first of which it is not known.
    pub not_known: Option<(f64, f64)>,
}

/// Numbers of a point in files.
#[derive(Serialize)]
struct PointRecord<'a> {
    load_flits_per_cycle: f64,
    /// Absent where it is not known.
    saturated: Option<bool>,
    numbers: BTreeMap<&'a str, f64>,
    half_widths: BTreeMap<&'a str, f64>,
    runs: Vec<RunRecord<'a>>,
}

#[derive(Serialize)]
struct RunRecord<'a> {
    seed: u64,
    digest: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    traffic: &'a TrafficResult,
}

/// Numbers of a curve in its table, and what it calls them.
const SHOWN: [(&str, &str, Unit); 8] = [
    ("offered_flits_per_cycle", "offered", Unit::Count),
    ("accepted_flits_per_cycle", "accepted", Unit::Count),
    ("packet_latency_cycles", "latency", Unit::Count),
    ("packet_latency_p50_cycles", "p50", Unit::Count),
    ("packet_latency_p99_cycles", "p99", Unit::Count),
    ("packet_latency_max_cycles", "max", Unit::Count),
    ("network_latency_cycles", "in network", Unit::Count),
    ("max_channel_utilisation", "channel", Unit::Share),
];

impl Curve {
    /// Runs every load with `seeds` seeds, the file's and those after it, on `threads` threads, or all cores. With
    /// more threads than runs, a run uses several. One that stands still is among the failures, and the others go on.
    ///
    /// # Errors
    /// A load that the sources cannot make; a result that cannot be kept.
    pub fn run(
        subject: &impl Subject,
        loads: &[f64],
        seeds: u32,
        threads: Option<usize>,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let mut curve = Self {
            title: if subject.name().is_empty() { "Traffic" } else { subject.name() }.to_owned(),
            points: Vec::new(),
            left: 0,
            failures: Vec::new(),
            own_load: subject.own_load(),
            saturation: None,
            not_known: None,
        };
        curve.add(subject, loads, seeds, threads, progress)?;
        Ok(curve)
    }

    /// Runs further loads.
    ///
    /// # Errors
    /// As [`Curve::run`].
    pub fn add(
        &mut self,
        subject: &impl Subject,
        loads: &[f64],
        seeds: u32,
        threads: Option<usize>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let seeds = seeds.max(1);
        let mut work = Vec::with_capacity(loads.len() * seeds as usize);
        for &load in loads {
            for seed in 0..u64::from(seeds) {
                work.push(subject.at(load, subject.seed().wrapping_add(seed))?);
            }
        }
        let threads = threads.unwrap_or_else(rayon::current_num_threads).max(1);
        // what is left to start, and the threads that nothing runs on
        let shares = Mutex::new((work.len(), threads));
        let done: Mutex<BTreeMap<usize, Result<RunResult, Error>>> = Mutex::new(BTreeMap::new());
        // one that ends all runs
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let stop = || progress.wants_stop() || failure.lock().is_ok_and(|failure| failure.is_some());
        let begin = || {
            let mut shares = shares.lock().expect("no thread panics here");
            let (left, idle) = &mut *shares;
            // the highest loads take longest, so they begin
            let at = left.checked_sub(1)?;
            let own = (*idle / *left).max(1);
            (*left, *idle) = (at, idle.saturating_sub(own));
            Some((at, own))
        };
        let run = || {
            while let Some((at, own)) = begin() {
                if stop() {
                    break;
                }
                #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
                let started = Instant::now();
                let ended = work[at].run(own, &stop, started);
                shares.lock().expect("no thread panics here").1 += own;
                match ended {
                    Ok(_) | Err(Error::Run(_) | Error::Broken(_)) => {
                        done.lock().expect("no thread panics here").insert(at, ended);
                        progress.done();
                    }
                    Err(Error::Stopped) => break,
                    Err(error) => {
                        failure.lock().expect("no thread panics here").get_or_insert(error);
                    }
                }
            }
        };
        match rayon::ThreadPoolBuilder::new().num_threads(threads.min(work.len()).max(1)).build() {
            Ok(pool) => drop(pool.broadcast(|_| run())),
            Err(_) => run(),
        }
        if let Some(error) = failure.into_inner().expect("no thread panics here") {
            return Err(error);
        }
        let mut done = done.into_inner().expect("no thread panics here");
        for (at, &load) in loads.iter().enumerate() {
            let mut results = Vec::new();
            for seed in 0..seeds {
                match done.remove(&(at * seeds as usize + seed as usize)) {
                    None => self.left += 1,
                    Some(Ok(result)) => results.push(result),
                    Some(Err(error)) => {
                        let mut run = format!("load {load}");
                        if seeds > 1 {
                            run += &format!(", seed {}", subject.seed().wrapping_add(seed.into()));
                        }
                        self.failures.push(Error::Within { run, error: Box::new(error) });
                    }
                }
            }
            if !results.is_empty() {
                self.points.push(CurvePoint { load, results });
            }
        }
        self.points.sort_by(|a, b| a.load.total_cmp(&b.load));
        Ok(())
    }

    /// The table.
    pub fn table(&self) -> Table {
        let mut headings = vec!["load"];
        for (name, title, _) in SHOWN {
            headings.push(title);
            if name == "packet_latency_cycles" {
                headings.push("± 95 %");
            }
        }
        headings.push("stable");
        let mut table = Table::new(headings);
        for point in &self.points {
            let mut row: Vec<Cell> = vec![(point.load, Unit::Count).into()];
            for (name, _, unit) in SHOWN {
                let number = point.number(name);
                row.push(number.map(|(mean, _)| (mean, unit)).into());
                if name == "packet_latency_cycles" {
                    row.push(number.and_then(|(_, half)| half).map(|half| (half, Unit::Count)).into());
                }
            }
            row.push(point.stable().into());
            table.push(row);
        }
        table
    }

    /// Every number of every point, for programs.
    pub fn full_table(&self) -> Table {
        let metrics = stratasim_report::traffic::TRAFFIC_METRICS;
        // what a search finds is a number of no load
        let metrics = || metrics.iter().filter(|(name, ..)| *name != "saturation_load_flits_per_cycle");
        let headings = ["load_flits_per_cycle", "seeds"].into_iter().chain(metrics().map(|(name, ..)| *name));
        let of_classes = self.class_headings();
        let mut table = Table::new(headings.map(str::to_owned).chain(of_classes));
        for point in &self.points {
            let number = |(name, ..): &(&str, &str, Unit)| {
                point.number(name).map(|(mean, _)| (mean, Unit::Count)).into()
            };
            let first: [Cell; 2] =
                [(point.load, Unit::Count).into(), (point.results.len() as f64, Unit::Count).into()];
            let numbers = metrics().map(number);
            table.push(first.into_iter().chain(numbers).chain(self.class_cells(point)));
        }
        table
    }

    /// Everything as JSON.
    pub fn json(&self) -> String {
        let metrics = stratasim_report::traffic::TRAFFIC_METRICS;
        let record = |point: &'_ CurvePoint| {
            let numbers: BTreeMap<&str, (f64, Option<f64>)> =
                metrics.iter().filter_map(|(name, ..)| Some((*name, point.number(name)?))).collect();
            let runs = point.results.iter().filter_map(|result| {
                Some(RunRecord {
                    seed: result.seed,
                    digest: &result.digest,
                    notes: &result.notes,
                    traffic: result.traffic.as_ref()?,
                })
            });
            serde_json::to_value(PointRecord {
                load_flits_per_cycle: point.load,
                saturated: (point.saturated() || point.carried()).then(|| point.saturated()),
                half_widths: numbers.iter().filter_map(|(name, (_, half))| Some((*name, (*half)?))).collect(),
                numbers: numbers.into_iter().map(|(name, (mean, _))| (name, mean)).collect(),
                runs: runs.collect(),
            })
        };
        let points: Vec<serde_json::Value> =
            self.points.iter().filter_map(|point| record(point).ok()).collect();
        let spec = self.points.first().and_then(|point| point.results.first()).map(|result| &result.spec);
        let whole = serde_json::json!({
            "stratasim": env!("CARGO_PKG_VERSION"),
            "title": self.title,
            "spec": spec,
            "own_load_flits_per_cycle": self.own_load,
            "saturation_load_flits_per_cycle": self.saturation.map(|(low, high)| [low, high]),
            "saturation_not_known_flits_per_cycle": self.not_known.map(|(low, high)| [low, high]),
            "failures": self.failures.iter().map(Error::to_string).collect::<Vec<_>>(),
            "points": points,
        });
        let mut text = serde_json::to_string_pretty(&whole).unwrap_or_default();
        text.push('\n');
        text
    }
}
