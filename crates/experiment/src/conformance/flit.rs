//! The flit level: BookSim2's own results, value by value.
//!
//! Reads `points.jsonl`, `curves.json` and `speed.json` of `ref/flit` (specification: `specs/flit.md`,
//! section 3): configurations of BookSim2, or arguments of the study's prototype of it, each with what was
//! printed and counted. Histograms, cycles and counts must be equal, printed numbers equal to the digits
//! that are printed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::flit_cases::{Case, Expected, Quantity, of_curves, of_points, of_speed};
use super::{CaseReport, CpuSeconds, bad, files, in_order, read, thread_cpu_s};
use crate::booksim::control::Verdict;
use crate::booksim::statistics::{Printed, Samples};
use crate::booksim::{Run, Setup};
use crate::error::Error;

/// Which cases are run.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only those whose name contains one of these; all when empty.
    pub filter: Vec<String>,
    /// Only those that the reference simulator did in a few seconds.
    pub quick: bool,
}

/// CPU seconds of BookSim2 up to which a case is quick.
const QUICK_S: f64 = 4.0;

/// Runs the cases below `paths`, in parallel; `told` hears of each in the order of the files.
///
/// # Errors
/// Files that cannot be read or do not have the form of cases.
pub fn run(
    paths: &[PathBuf],
    selection: &Selection,
    told: &mut dyn FnMut(&CaseReport),
) -> Result<Vec<CaseReport>, Error> {
    let mut cases: Vec<Case> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut skipped = BTreeSet::new();
    for path in files(paths)? {
        for mut case in of_file(&path, &mut skipped)? {
            case.folder = path.parent().unwrap_or(Path::new("")).to_owned();
            // several files tell of the same run: it is made once
            match places.get(&case.key) {
                Some(&place) => {
                    cases[place].expected.extend(case.expected);
                    cases[place].peer_cpu_s = cases[place].peer_cpu_s.or(case.peer_cpu_s);
                }
                None => {
                    places.insert(case.key.clone(), cases.len());
                    cases.push(case);
                }
            }
        }
    }
    cases.retain(|case| {
        (selection.filter.is_empty() || selection.filter.iter().any(|part| case.name.contains(part)))
            && !(selection.quick && case.cost_s > QUICK_S)
    });
    if !selection.filter.is_empty() {
        // they have no names that could be asked for
        skipped.clear();
    }
    if cases.is_empty() && skipped.is_empty() {
        let path = paths.first().map_or(Path::new(""), PathBuf::as_path);
        let reason = "no case of the flit level is here, or none that was asked for (a configuration of BookSim2 alone has \
                      nothing to compare with: `stratasim traffic FILE --semantics booksim2` runs it)";
        return Err(bad(path, reason));
    }
    let (unset, cases): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(reads_what_was_never_set);
    let mut reports = in_order(&cases, &of_case, told);
    // the random draws of the paper's traffic are not known, so equality would say nothing
    let left_out = [
        (skipped.len(), "points of the paper's traffic, which BookSim2 does not have"),
        (unset.len(), "points of valiant on a torus, where BookSim2 reads a variable that it never set"),
    ];
    for (count, what) in left_out.into_iter().filter(|&(count, _)| count > 0) {
        let report = CaseReport::left_out(format!("{count} {what}"));
        told(&report);
        reports.push(report);
    }
    Ok(reports)
}

/// Whether the results depend on what happened to be in the simulator's memory: a packet that goes straight
/// on takes its phase from there, so that most of them miss their intermediate node.
fn reads_what_was_never_set(case: &Case) -> bool {
    ["topology=torus;", "routing_function=valiant;"].iter().all(|setting| case.key.contains(setting))
}

/// The cases of a file, by its form.
fn of_file(path: &Path, skipped: &mut BTreeSet<String>) -> Result<Vec<Case>, Error> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let wrong = |reason: String| bad(path, reason);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl") => of_points(&read(path)?, skipped).map_err(wrong),
        Some("json") if name.starts_with("speed") => of_speed(&read(path)?).map_err(wrong),
        Some("json") => of_curves(&read(path)?, skipped).map_err(wrong),
        _ => Ok(Vec::new()),
    }
}

/// Runs a case and compares.
pub fn of_case(case: &Case) -> CaseReport {
    let mut report = CaseReport::new(&case.name, "values");
    let started = thread_cpu_s();
    let setup = match Setup::read_in(&case.config, &case.folder) {
        Ok(setup) => setup,
        Err(error) => {
            report.differ(error.to_string());
            return report;
        }
    };
    let run = match setup.run() {
        Ok(run) => run,
        Err(error) => {
            report.differ(error.to_string());
            return report;
        }
    };
    report.cpu = case.peer_cpu_s.and_then(|there| {
        let here = thread_cpu_s()? - started?;
        (here > 0.0).then_some(CpuSeconds { here, there })
    });
    for Expected { place, quantity, value, tolerance } in &case.expected {
        report.compare(place, found(&run, quantity), *value, *tolerance);
    }
    if let Some(violation) = run.violations.first() {
        report.differ(format!("broken invariant: {violation}"));
    }
    report
}

/// A quantity of a run; `None` where there is none.
fn found(run: &Run, quantity: &Quantity) -> Option<f64> {
    let outcome = &run.outcome;
    let class = |index: usize| outcome.classes.get(index);
    let samples = |index: usize, name: &str| -> Option<&Samples> {
        let counters = outcome.counters.get(index)?;
        Some(match name {
            "plat" => &counters.packet,
            "nlat" => &counters.network,
            "flat" => &counters.flit,
            "frag" => &counters.fragmentation,
            "hops" => &counters.hops,
            _ => return None,
        })
    };
    match quantity {
        Quantity::Stable => Some(f64::from(u8::from(outcome.verdict == Verdict::Stable))),
        Quantity::EndedInPeriods => Some(f64::from(u8::from(outcome.verdict == Verdict::Unstable))),
        Quantity::TotalCycles => outcome.total_cycles.map(|cycles| cycles as f64),
        Quantity::SamplePeriods => Some(outcome.sample_periods as f64),
        Quantity::WarmUpEnd => outcome.warm_up_end.map(|cycle| cycle as f64),
        Quantity::DeadlockWarnings => Some(outcome.deadlock_warnings as f64),
        Quantity::FlitHops => Some(run.flit_hops as f64),
        Quantity::Printed(index, name) => class(*index).and_then(|printed| of_printed(printed, name)),
        Quantity::Bin(index, name, bin) => samples(*index, name)?.bins.get(*bin).map(|&count| count as f64),
        Quantity::FilledBins(index, name) => {
            Some(samples(*index, name)?.bins.iter().filter(|&&count| count > 0).count() as f64)
        }
        Quantity::Mean(index, name) => samples(*index, name).map(Samples::mean),
    }
}

/// A printed number by its name in the reference files.
fn of_printed(printed: &Printed, name: &str) -> Option<f64> {
    let (summary, rest) = match name {
        "hops" => return Some(printed.hops),
        "inj_size" => return Some(printed.injected_size),
        "acc_size" => return Some(printed.accepted_size),
        "in_flight_flits" => return Some(printed.in_flight_flits as f64),
        _ => [
            ("plat", &printed.packet),
            ("nlat", &printed.network),
            ("flat", &printed.flit),
            ("frag", &printed.fragmentation),
            ("inj_pkt", &printed.injected_packets),
            ("acc_pkt", &printed.accepted_packets),
            ("inj_flit", &printed.injected_flits),
            ("acc_flit", &printed.accepted_flits),
        ]
        .into_iter()
        .find_map(|(start, summary)| name.strip_prefix(start).map(|rest| (summary, rest)))?,
    };
    match rest {
        "" => Some(summary.mean),
        "_min" => Some(summary.min),
        "_max" => Some(summary.max),
        _ => None,
    }
}
