//! The packet level: htsim's runs, compared as far as their random draws let them be.
//!
//! Reads the cases of `ref/packet` (specification: `specs/packet.md`, section 3): fat trees with flows, and when
//! each flow was finished. A flow alone must agree to the nanosecond. Where packets contend, the order of
//! arrivals is random and the statistics of flow completion times over all runs of a case are compared.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stratasim_core::model::{Cx, Network, NetworkDone, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::random::Streams;
use stratasim_core::{Duration, NodeId, Time, Token};
use stratasim_net::{NetworkContext, NetworkKind as _};
use stratasim_topo::{BuildContext, RoutingSpec};

use super::packet_cases::{File, Flow, Run};
use super::packet_goal;
use super::packet_options;
use super::{CaseReport, CpuSeconds, bad, files, in_order, read, thread_cpu_s};
use crate::error::Error;

/// Which cases are run.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only those whose name contains one of these; all when empty.
    pub filter: Vec<String>,
    /// Only those that the reference simulator did in a few seconds per run.
    pub quick: bool,
    /// Runs of ours per run of the reference, each with draws of its own: more than one leaves less of chance on our
    /// side. Four or more also say how much the reference's few runs vary by chance: three standard errors of that are no
    /// difference. `None`: one, and [`MANY_DRAWS`] of cases that differ with it.
    pub draws: Option<u64>,
}

/// Draws of a case that differs with one.
pub const MANY_DRAWS: u64 = 16;

/// CPU seconds per run of htsim up to which a case is quick.
const QUICK_S: f64 = 2.0;

/// Runs the cases below `paths`, in parallel; `told` hears of each in the order of the files.
///
/// # Errors
/// Files that cannot be read or do not have the form of cases.
pub fn run(
    paths: &[PathBuf],
    selection: &Selection,
    told: &mut dyn FnMut(&CaseReport),
) -> Result<Vec<CaseReport>, Error> {
    let mut cases: Vec<File> = Vec::new();
    for path in files(paths)?.iter().filter(|path| path.extension().is_some_and(|kind| kind == "json")) {
        let text = read(path)?;
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| bad(path, error))?;
        // tables of other sorts lie in the same folder
        if value.get("runs").is_some() && value.get("protocol").is_some() {
            let mut case: File = serde_json::from_value(value).map_err(|error| bad(path, error))?;
            path.parent().unwrap_or(Path::new("")).clone_into(&mut case.folder);
            cases.push(case);
        }
    }
    cases.retain(|case| {
        let cost = case.runs.iter().map(|run| run.cpu_user_s).fold(0.0, f64::max);
        (selection.filter.is_empty() || selection.filter.iter().any(|part| case.id.contains(part)))
            && !(selection.quick && cost > QUICK_S)
    });
    if cases.is_empty() {
        let path = paths.first().map_or(Path::new(""), PathBuf::as_path);
        return Err(bad(path, "no case of the packet level is here, or none that was asked for"));
    }
    Ok(in_order(&cases, &|case: &File| of_case(case, selection.draws), told))
}

/// How close a case must come.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Measure {
    /// Every finish, to a share of its time and a nanosecond.
    Finish(f64),
    /// Shares by which the mean, the 99th percentile and the largest completion time may differ.
    Statistics { mean: f64, p99: Option<f64>, largest: Option<f64> },
    /// The mean within the spread of the seeds, the largest between their smallest and largest.
    Spread,
    /// The messages of a schedule, and the time of all of it.
    Schedule,
    /// Shown only: what htsim does there is not what is published.
    Shown,
}

/// Transports whose runs with contention carry a stated defect of the reference.
const DEFECTS: [&str; 4] = ["swift", "hpcc", "dcqcn", "roce"];

fn measure(case: &File) -> Measure {
    let (id, protocol) = (case.id.as_str(), case.protocol.as_str());
    let defect = DEFECTS.iter().any(|name| protocol.trim_start_matches("uet_").starts_with(name));
    if id.starts_with("p2p") {
        return match protocol {
            // htsim's records of links are stale after the first round trip
            "hpcc" => Measure::Shown,
            _ => Measure::Finish(0.0),
        };
    }
    if defect {
        return Measure::Shown;
    }
    if id.starts_with("goal_") {
        return Measure::Schedule;
    }
    if id.starts_with("incast") {
        return Measure::Statistics { mean: 0.03, p99: None, largest: Some(0.01) };
    }
    if protocol.contains("ecmp1") {
        return Measure::Spread;
    }
    let contended = ["_ls4_", "_ls8_", "_ft4os_", "_ft8os_", "poisson"];
    if contended.iter().any(|part| id.contains(part)) {
        return Measure::Statistics { mean: 0.05, p99: None, largest: Some(0.05) };
    }
    Measure::Statistics { mean: 0.02, p99: Some(0.03), largest: None }
}

/// What came of a run here.
pub(super) struct Outcome {
    /// When each flow was finished, picoseconds; in order of the run's flows.
    pub(super) finish_ps: Vec<Option<u64>>,
    pub(super) counters: Vec<(&'static str, u64)>,
    pub(super) violations: Vec<String>,
}

impl Outcome {
    /// The count called `name`; zero where there is none.
    pub(super) fn counter(&self, name: &str) -> u64 {
        self.counters.iter().find(|(key, _)| *key == name).map_or(0, |(_, count)| *count)
    }
}

/// Runs all of a case and compares; where chance matters, with so many draws per run of the reference.
fn of_case(case: &File, draws: Option<u64>) -> CaseReport {
    let measure = measure(case);
    let by_chance = !matches!(measure, Measure::Finish(_) | Measure::Shown);
    let report = with_draws(case, measure, draws.filter(|_| by_chance).unwrap_or(1));
    if report.ok || !by_chance || draws.is_some() {
        return report;
    }
    let place = report.place;
    let mut report = with_draws(case, measure, MANY_DRAWS);
    report.note = format!("over {MANY_DRAWS} draws; outside with one: {place}");
    report
}

fn with_draws(case: &File, measure: Measure, draws: u64) -> CaseReport {
    let drawn = (draws > 1).then(|| case.drawn(draws));
    let case = drawn.as_ref().unwrap_or(case);
    let what = match measure {
        Measure::Finish(_) => "finish times",
        Measure::Shown => "not judged",
        Measure::Schedule => "schedule",
        _ => "statistics",
    };
    let mut report = CaseReport::new(&case.id, what);
    let started = thread_cpu_s();
    let mut runs = Vec::with_capacity(case.runs.len());
    for run in &case.runs {
        match simulate(case, run) {
            Ok(done) => runs.push(done),
            Err(reason) => {
                report.differ(format!("seed {}: {reason}", run.seed));
                return report;
            }
        }
    }
    let there: f64 = case.runs.iter().map(|run| run.cpu_user_s).sum();
    report.cpu = started
        .zip(thread_cpu_s())
        .filter(|(from, to)| there > 0.0 && to > from)
        .map(|(from, to)| CpuSeconds { here: (to - from) / draws as f64, there: there / draws as f64 });
    for ((_, outcome), run) in runs.iter().zip(&case.runs) {
        if let Some(violation) = outcome.violations.first() {
            report.differ(format!("seed {}: broken invariant: {violation}", run.seed));
        }
    }
    match measure {
        Measure::Finish(share) => finishes(&mut report, &runs, share),
        _ => statistics(&mut report, case, &runs, measure, draws),
    }
    if measure == Measure::Schedule {
        packet_goal::compare(case, &mut report, &runs);
    }
    if measure == Measure::Shown && report.worst.is_finite() {
        report.ok = true;
    }
    report
}

/// The network of a run and its hosts in the order of their numbers.
pub(super) fn network_of(case: &File, run: &Run) -> Result<(Box<dyn Network>, Vec<NodeId>), String> {
    let words = |error: stratasim_core::BuildError| format!("{}: {}", error.field, error.reason);
    let spec = case.topology.topology(&run.args)?;
    let topology = Arc::new(spec.plugin().build(&BuildContext::default()).map_err(words)?);
    let hosts = topology.compute_nodes().to_vec();
    let network = packet_options::network(&case.protocol, &run.args, &case.topology)?;
    let routing = RoutingSpec::default().plugin().build(&topology).map_err(words)?;
    let context = NetworkContext {
        topology,
        routing,
        streams: Streams::new(run.seed.wrapping_add(run.draw << 32)),
        timing_precision: Duration::ZERO,
        nics: 1,
        in_order: false,
    };
    Ok((network.build(context).map_err(words)?, hosts))
}

/// Runs one set of flows.
fn simulate(case: &File, run: &Run) -> Result<(Vec<Flow>, Outcome), String> {
    let (mut network, hosts) = network_of(case, run)?;
    let flows = run.flows(hosts.len())?;
    let mut finish_ps = vec![None; flows.len()];
    let mut next = 0;
    let mut done = Vec::new();
    let mut now = Time::ZERO;
    while next < flows.len() || network.next_event().is_some() {
        while next < flows.len() && flows[next].start_ps <= now.as_ps() {
            let Flow { src, dst, bytes, .. } = flows[next];
            let transfer = Transfer::new(Token(next as u64), hosts[src], hosts[dst], bytes);
            network.submit(now, NetworkRequest::Transfer(transfer));
            next += 1;
        }
        let until = flows.get(next).map_or(Time::MAX, |flow| Time::from_ps(flow.start_ps));
        let event = network.next_event().unwrap_or(until);
        if event > LIMIT && until > LIMIT {
            break;
        }
        now = network.advance(until.min(LIMIT), &mut Cx { done: &mut done, observer: &mut Blind });
        for ended in done.drain(..) {
            match ended {
                NetworkDone::Delivered(token) => finish_ps[token.0 as usize] = Some(now.as_ps()),
                _ => return Err(network.failure().map_or_else(String::new, |(_, reason)| reason)),
            }
        }
    }
    let account = network.report(now);
    let violations = account.violations().into_iter().map(str::to_owned).collect();
    Ok((flows, Outcome { finish_ps, counters: account.counters, violations }))
}

/// Runs end here, whatever is open.
const LIMIT: Time = Time::from_ps(10 * stratasim_core::time::PS_PER_S);

fn finishes(report: &mut CaseReport, runs: &[(Vec<Flow>, Outcome)], share: f64) {
    for (flows, outcome) in runs {
        for (flow, finish) in flows.iter().zip(&outcome.finish_ps) {
            let Some(expected) = flow.finish_us else { continue };
            let place = format!("{} B from {} to {}, us", flow.bytes, flow.src, flow.dst);
            // a nanosecond, and half of the last digit printed
            let tolerance = share * expected + 1e-3 + 5e-6;
            report.compare(&place, finish.map(|ps| ps as f64 * 1e-6), expected, tolerance);
        }
    }
}

/// Mean, 99th percentile and largest of completion times.
fn summary(mut times: Vec<f64>) -> Option<[f64; 3]> {
    times.sort_by(f64::total_cmp);
    let largest = *times.last()?;
    let place = 0.99 * (times.len() - 1) as f64;
    let (low, share) = (place as usize, place.fract());
    let above = times[(low + 1).min(times.len() - 1)];
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    Some([mean, times[low] + share * (above - times[low]), largest])
}

/// Draws of a run that say how much its statistics vary.
const FEW_DRAWS: u64 = 4;

/// The standard error of the difference of two means over the same runs: of ours, which has so many `draws` of each, and of the
/// reference's, which has one.
fn error_of_mean(ours: &[[f64; 3]], draws: usize, which: usize) -> f64 {
    let variance = |of_run: &[[f64; 3]]| {
        let mean = of_run.iter().map(|one| one[which]).sum::<f64>() / of_run.len() as f64;
        let squares: f64 = of_run.iter().map(|one| (one[which] - mean).powi(2)).sum();
        squares / (of_run.len() as f64 - 1.0)
    };
    let runs = ours.chunks_exact(draws);
    let count = runs.len() as f64;
    let sum: f64 = runs.map(variance).sum();
    (sum * (1.0 + 1.0 / draws as f64)).sqrt() / count
}

fn statistics(
    report: &mut CaseReport,
    case: &File,
    runs: &[(Vec<Flow>, Outcome)],
    measure: Measure,
    draws: u64,
) {
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for (flows, outcome) in runs {
        // what the reference never finished cannot be compared, but must end here
        let missing = outcome.finish_ps.iter().filter(|finish| finish.is_none()).count();
        if missing > 0 {
            return report.differ(format!("{missing} of {} flows never finished", flows.len()));
        }
        let both = flows.iter().zip(&outcome.finish_ps).filter_map(|(flow, finish)| {
            let start = flow.start_ps as f64 * 1e-6;
            Some((finish.as_ref().map(|&ps| ps as f64 * 1e-6 - start)?, flow.finish_us? - start))
        });
        let (ours, theirs): (Vec<f64>, Vec<f64>) = both.unzip();
        if let (Some(ours), Some(theirs)) = (summary(ours), summary(theirs)) {
            here.push(ours);
            there.push(theirs);
        }
    }
    let over =
        |all: &[[f64; 3]], which: usize| all.iter().map(|one| one[which]).sum::<f64>() / all.len() as f64;
    let chance = |which: usize| match draws {
        FEW_DRAWS.. => 3.0 * error_of_mean(&here, draws as usize, which),
        _ => 0.0,
    };
    let mut look = |name: &str, which: usize, share: Option<f64>| {
        if let Some(share) = share.filter(|_| !here.is_empty()) {
            let expected = over(&there, which);
            let tolerance = (share * expected).max(chance(which));
            report.compare(&format!("{name}, us"), Some(over(&here, which)), expected, tolerance);
        }
    };
    match measure {
        Measure::Statistics { mean, p99, largest } => {
            look("mean", 0, Some(mean));
            look("p99", 1, p99);
            look("largest", 2, largest);
        }
        // the schedule says how long its messages take
        Measure::Schedule => {}
        _ => {
            look("mean", 0, Some(0.05));
            look("largest", 2, Some(0.05));
        }
    }
    if measure == Measure::Spread {
        let band =
            there.iter().fold([f64::MAX, 0.0_f64], |[low, high], one| [low.min(one[2]), high.max(one[2])]);
        let largest = over(&here, 2);
        report.compare("largest inside the band, us", Some(largest.clamp(band[0], band[1])), largest, 1e-3);
    }
    let count = |name: &str, theirs: &dyn Fn(&Run) -> u64| {
        let ours =
            runs.iter().map(|(_, outcome)| outcome.counter(name) as f64).sum::<f64>() / runs.len() as f64;
        let theirs = case.runs.iter().map(|run| theirs(run) as f64).sum::<f64>() / runs.len() as f64;
        (ours, theirs)
    };
    // few losses come in bursts that are chance: of a thousand packets that ports served, one may be more or less
    let services =
        case.runs.iter().map(|run| run.counters.svc_data).sum::<u64>() as f64 / case.runs.len() as f64;
    for (name, ours, theirs) in [
        ("trims", "network.trims", &(|run: &Run| run.counters.trims) as &dyn Fn(&Run) -> u64),
        ("drops", "network.drops", &|run: &Run| run.counters.drops),
    ] {
        let (ours, theirs) = count(ours, theirs);
        report.compare(name, Some(ours), theirs, 0.2 * theirs + 1e-3 * services);
    }
}
