//! Conformance: reference cases of other simulators, run on the product's own path.
//!
//! Each case is built as a topology and a program, run by the engine on the chosen network, and
//! compared activity by activity.

pub mod flit;
mod flit_cases;
pub mod flow;
mod flow_cases;
mod flow_hc;
mod flow_xml;
pub mod goal;
pub mod oncard;
mod oncard_rows;
pub mod packet;
mod packet_cases;
mod packet_goal;
mod packet_options;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use rayon::prelude::*;
use serde::Serialize;

use crate::error::Error;

/// What is compared of cases that are left out.
const NOT_COMPARED: &str = "not compared";

/// How one case came out.
#[derive(Debug, Clone, Serialize)]
pub struct CaseReport {
    /// Name of the case.
    pub name: String,
    /// What was compared, such as `finish times`.
    pub what: &'static str,
    /// How many values.
    pub compared: usize,
    /// Largest error over its tolerance; at most 1 when the case agrees.
    pub worst: f64,
    /// Largest relative error.
    pub relative: f64,
    /// Where `worst` is, with both values.
    pub place: String,
    /// Whether everything is within its tolerance.
    pub ok: bool,
    /// CPU seconds of a case of fixed work, here and there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuSeconds>,
    /// What a reader should know although everything is in order; empty where there is nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// CPU seconds for the same work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CpuSeconds {
    /// Here, of this run.
    pub here: f64,
    /// Of the reference simulator, as recorded.
    pub there: f64,
}

impl CpuSeconds {
    /// How many times as fast this is here.
    pub fn ratio(&self) -> f64 {
        self.there / self.here
    }
}

impl CaseReport {
    fn new(name: impl Into<String>, what: &'static str) -> Self {
        Self {
            name: name.into(),
            what,
            compared: 0,
            worst: 0.0,
            relative: 0.0,
            place: String::new(),
            ok: true,
            cpu: None,
            note: String::new(),
        }
    }

    /// Cases that there is nothing to compare with.
    fn left_out(name: String) -> Self {
        Self::new(name, NOT_COMPARED)
    }

    /// Whether it stands for cases that were not compared.
    pub fn is_left_out(&self) -> bool {
        self.what == NOT_COMPARED
    }

    /// Compares `found` with `expected`; both in the unit of `tolerance`.
    fn compare(&mut self, place: &str, found: Option<f64>, expected: f64, tolerance: f64) {
        self.compared += 1;
        let Some(found) = found else {
            return self.differ(format!("{place}: expected {expected}, never happened"));
        };
        let error = (found - expected).abs();
        let relative = if expected == 0.0 { error } else { error / expected.abs() };
        self.relative = self.relative.max(relative);
        // equal is equal, whatever may differ
        let ratio = if error == 0.0 { 0.0 } else { error / tolerance };
        if ratio > self.worst || ratio.is_nan() {
            self.worst = ratio;
            self.place = format!("{place}: {found} for {expected}");
        }
        self.ok &= ratio <= 1.0;
    }

    /// Something is wrong that is not a number.
    fn differ(&mut self, place: String) {
        if self.worst < f64::INFINITY {
            self.place = place;
        }
        self.worst = f64::INFINITY;
        self.ok = false;
    }
}

/// All files below `paths`, sorted; a path that is a file stands for itself.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    fn walk(path: &Path, depth: usize, out: &mut Vec<PathBuf>) -> Result<(), Error> {
        if !path.is_dir() {
            out.push(path.to_owned());
            return Ok(());
        }
        let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .map_err(|error| Error::file(path, &error))?;
        entries.sort();
        if depth < 16 {
            entries.iter().try_for_each(|entry| walk(entry, depth + 1, out))?;
        }
        Ok(())
    }
    let mut out = Vec::new();
    for path in paths {
        if !path.exists() {
            let reason = "there is no such file or folder".to_owned();
            return Err(Error::File { path: path.display().to_string(), reason });
        }
        walk(path, 0, &mut out)?;
    }
    Ok(out)
}

/// Runs all cases on all cores and tells of them in order.
fn in_order<T: Sync>(
    cases: &[T],
    run: &(dyn Fn(&T) -> CaseReport + Sync),
    told: &mut dyn FnMut(&CaseReport),
) -> Vec<CaseReport> {
    let (sender, receiver) = mpsc::channel();
    let mut waiting: BTreeMap<usize, CaseReport> = BTreeMap::new();
    let mut reports = Vec::with_capacity(cases.len());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            cases.par_iter().enumerate().with_max_len(1).for_each_with(sender, |sender, (index, case)| {
                // the receiver lives until all senders are gone
                let _ = sender.send((index, run(case)));
            });
        });
        for (index, report) in receiver {
            waiting.insert(index, report);
            while let Some(report) = waiting.remove(&reports.len()) {
                told(&report);
                reports.push(report);
            }
        }
    });
    reports
}

/// CPU seconds of this thread so far, where the system tells.
fn thread_cpu_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds as f64 * 1e-9)
}

/// Reads a text file.
fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| Error::file(path, &error))
}

/// An error in a case file.
fn bad(path: &Path, reason: impl std::fmt::Display) -> Error {
    Error::File { path: path.display().to_string(), reason: reason.to_string() }
}
