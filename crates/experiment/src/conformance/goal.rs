//! GOAL: schedules with the finish times of LogGOPSim and ATLAHS' LGS.
//!
//! Reads `cases.json` of `ref/goal` (specification: `specs/goal.md`, section 4): per case the file, the
//! size and digest of its binary form, and runs with parameters and the finish of every rank. Of the
//! simulators, those with a stable order are compared: `LogGOPSim-stable` and `ATLAHS-LGS-ordered`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use stratasim_engine::compat::{self, Parameters, Semantics};
use stratasim_workload::goal::{Schedule, binary, file};

use super::{CaseReport, bad, files, read};
use crate::error::Error;

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    goal: String,
    #[serde(default)]
    num_ranks: Option<u32>,
    #[serde(default)]
    bin_bytes: Option<u64>,
    #[serde(default)]
    bin_sha256: Option<String>,
    #[serde(default)]
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    sim: String,
    #[serde(default)]
    params: String,
    #[serde(rename = "L")]
    latency_ns: u64,
    #[serde(rename = "o")]
    overhead_ns: u64,
    #[serde(rename = "g")]
    gap_ns: u64,
    #[serde(rename = "G")]
    gap_per_byte_ns: f64,
    #[serde(rename = "O")]
    overhead_per_byte_ns: u64,
    #[serde(rename = "S")]
    eager_limit_bytes: u64,
    /// `None` where the simulator gave up.
    #[serde(default)]
    complete: Option<bool>,
    #[serde(default)]
    finish: Option<Vec<u64>>,
    #[serde(default)]
    events: Option<u64>,
}

impl Run {
    fn semantics(&self) -> Option<Semantics> {
        match self.sim.as_str() {
            "LogGOPSim-stable" => Some(Semantics::LogGopSim),
            "ATLAHS-LGS-ordered" => Some(Semantics::AtlahsLgs),
            _ => None,
        }
    }

    fn name(&self) -> String {
        let params = if self.params.is_empty() {
            let Self {
                latency_ns,
                overhead_ns,
                gap_ns,
                gap_per_byte_ns,
                overhead_per_byte_ns,
                eager_limit_bytes,
                ..
            } = self;
            format!(
                "{latency_ns},{overhead_ns},{gap_ns},{gap_per_byte_ns},{overhead_per_byte_ns},{eager_limit_bytes}"
            )
        } else {
            self.params.clone()
        };
        format!("{} {params}", self.sim)
    }
}

/// Runs all cases below `paths`: folders with a `cases.json`, or such files. `told` hears of each case as
/// it is done.
///
/// # Errors
/// Files that cannot be read or do not have the form of cases.
pub fn run(paths: &[PathBuf], told: &mut dyn FnMut(&CaseReport)) -> Result<Vec<CaseReport>, Error> {
    let lists: Vec<PathBuf> =
        paths.iter().map(|path| if path.is_dir() { path.join("cases.json") } else { path.clone() }).collect();
    let mut reports = Vec::new();
    for list in files(&lists)? {
        let text = read(&list)?;
        let cases: Cases = serde_json::from_str(&text).map_err(|error| bad(&list, error))?;
        let folder = list.parent().unwrap_or(Path::new(""));
        for case in &cases.cases {
            let path = folder.join(&case.goal);
            if !path.exists() {
                continue;
            }
            for report in of_case(case, &path)? {
                told(&report);
                reports.push(report);
            }
        }
        if reports.is_empty() {
            return Err(bad(&list, "none of the schedules that it names is there"));
        }
    }
    Ok(reports)
}

fn of_case(case: &Case, path: &Path) -> Result<Vec<CaseReport>, Error> {
    let schedule = file::read(path).map_err(|error| bad(path, error.cause))?;
    let mut reports = Vec::new();
    if case.bin_bytes.is_some() || case.bin_sha256.is_some() {
        reports.push(binary_form(case, &schedule));
    }
    let mut report = CaseReport::new(&case.id, "finish of ranks");
    if let Some(ranks) = case.num_ranks {
        report.compare("ranks", Some(f64::from(schedule.ranks())), f64::from(ranks), 0.5);
    }
    for run in &case.runs {
        // runs that the simulator did not complete have no finish to compare; that we see it is compared
        let (Some(semantics), Some(complete)) = (run.semantics(), run.complete) else { continue };
        let parameters = Parameters {
            latency_ns: run.latency_ns,
            overhead_ns: run.overhead_ns,
            gap_ns: run.gap_ns,
            gap_per_byte_ns: run.gap_per_byte_ns,
            overhead_per_byte_ns: run.overhead_per_byte_ns,
            eager_limit_bytes: run.eager_limit_bytes,
        };
        let name = run.name();
        let outcome = match compat::run(&schedule, semantics, parameters, &mut ()) {
            Ok(outcome) => outcome,
            Err(error) => {
                report.differ(format!("{name}: {}", error.reason));
                continue;
            }
        };
        let whole = |complete: bool| f64::from(u8::from(complete));
        report.compare(&format!("{name}: complete"), Some(whole(outcome.left == 0)), whole(complete), 0.5);
        if let (Some(events), true) = (run.events, complete) {
            report.compare(&format!("{name}: events"), Some(outcome.events as f64), events as f64, 0.5);
        }
        let Some(finish) = run.finish.as_ref().filter(|_| complete) else { continue };
        for (rank, &expected) in finish.iter().enumerate() {
            let found = outcome.finish_ns.get(rank).map(|&ns| ns as f64);
            // to the nanosecond: half of one is the tolerance
            report.compare(&format!("{name}: rank {rank}, ns"), found, expected as f64, 0.5);
        }
    }
    reports.push(report);
    Ok(reports)
}

/// The binary form is the one that `txt2bin` writes.
fn binary_form(case: &Case, schedule: &Schedule) -> CaseReport {
    let mut report = CaseReport::new(&case.id, "binary form");
    let mut out = Hashing { hash: Sha256::new(), bytes: 0 };
    if let Err(error) = binary::write(schedule, &mut out) {
        report.differ(format!("it cannot be written: {error}"));
        return report;
    }
    if let Some(bytes) = case.bin_bytes {
        report.compare("bytes", Some(out.bytes as f64), bytes as f64, 0.5);
    }
    if let Some(expected) = &case.bin_sha256 {
        report.compared += 1;
        let found: String = out.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if found != *expected {
            report.differ(format!("sha256 is {found}, expected {expected}"));
        }
    }
    report
}

/// Hashes and counts what is written.
struct Hashing {
    hash: Sha256,
    bytes: u64,
}

impl std::io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
