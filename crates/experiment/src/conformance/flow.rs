//! `conformance flow`: SimGrid's flow level, by the files of `ref/flow`.
//!
//! Finish times agree when they differ by no more than 1e-9 relative plus one picosecond for each
//! activity on the longest chain of dependencies: our clock counts whole picoseconds. SimGrid merges
//! events within 1 ns of each other; so does the engine here (`timing-precision`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use stratasim_core::random::Streams;
use stratasim_core::{Bandwidth, Bytes, Duration, NodeId, Precision, Rank};
use stratasim_device::{ComputeModel, ComputeOptions};
use stratasim_engine::{Engine, Options, Place};
use stratasim_net::NetworkContext;
use stratasim_net::flow::rule::{Rule, RuleOptions};
use stratasim_net::flow::{Flow, FlowShortcuts};
use stratasim_net::networks::NetworkKind as _;
use stratasim_report::{Columns, Filter};
use stratasim_topo::routing::auto::Auto;
use stratasim_topo::{RoutingAlgorithm as _, Topology};
use stratasim_workload::program::{Compute, Op, Peer, Program, ProgramBuilder, Scope, Stream};

use super::{CaseReport, bad, files};
use crate::error::Error;

/// SimGrid's `precision/timing`.
pub(super) const TIMING_PRECISION: Duration = Duration::from_ns(1);
/// SimGrid's `precision/work-amount`.
const WORK_PRECISION: f64 = 1e-5;

/// Runs all cases below `paths`. `each` hears of every report as soon as it is there.
///
/// # Errors
/// A path that does not exist, a file that is not what its name says, no case at all.
pub fn run(paths: &[PathBuf], each: &mut dyn FnMut(&CaseReport)) -> Result<Vec<CaseReport>, Error> {
    let mut reports = Vec::new();
    for path in files(paths)? {
        let new = run_file(&path, paths.contains(&path))?;
        new.iter().for_each(&mut *each);
        reports.extend(new);
    }
    if reports.is_empty() {
        let path = paths.first().cloned().unwrap_or_default();
        return Err(bad(
            &path,
            "no flow case here; cases are .json files with `activities`, xml_flows.json, *.routes.json beside their .xml, and hc_*.txt",
        ));
    }
    Ok(reports)
}

/// Runs the cases of one file. Files of other kinds are passed over unless they were named.
fn run_file(path: &Path, named: bool) -> Result<Vec<CaseReport>, Error> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.starts_with("hc_") && name.ends_with(".txt") {
        return super::flow_hc::run(path).map(|report| vec![report]);
    }
    if name.ends_with(".routes.json") {
        return super::flow_xml::routes(path).map(|report| vec![report]);
    }
    if name == "xml_flows.json" {
        return super::flow_xml::flows(path);
    }
    if name.ends_with(".json") {
        let text = super::read(path)?;
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| bad(path, error))?;
        // what says what is expected of hosts is a case, whatever its list has become
        let is_damaged = value.get("hosts").is_some() && value.get("expected").is_some();
        if is_damaged || value.get("activities").is_some_and(serde_json::Value::is_array) {
            return super::flow_cases::run(path, value).map(|report| vec![report]);
        }
    }
    if named { Err(bad(path, "this is not a flow case")) } else { Ok(Vec::new()) }
}

/// SimGrid's options as they mean something here.
pub(super) fn rule_of(config: &BTreeMap<String, String>) -> Result<(Rule, RuleOptions), String> {
    let rule = match config.get("network/model").map(String::as_str) {
        None | Some("LV08") => Rule::Lv08,
        Some("CM02") => Rule::Cm02,
        Some(other) => return Err(format!("network/model `{other}` is not CM02 or LV08")),
    };
    let mut options = RuleOptions { work_precision: Some(WORK_PRECISION), ..RuleOptions::default() };
    for (key, value) in config {
        let number = || value.parse::<f64>().map_err(|_| format!("{key}: `{value}` is not a number"));
        match key.as_str() {
            "network/TCP-gamma" => options.tcp_gamma = Some(Bytes(number()? as u64)),
            "network/crosstraffic" => {
                options.cross_traffic = Some(matches!(value.as_str(), "1" | "yes" | "on" | "true"));
            }
            "network/weight-S" => options.weight_s = Some(Bytes(number()? as u64)),
            "network/bandwidth-factor" => options.bandwidth_factor = Some(value.parse()?),
            "network/latency-factor" => options.latency_factor = Some(value.parse()?),
            "network/loopback-bw" => options.loopback_bandwidth = Some(Bandwidth(number()?)),
            "network/loopback-lat" => options.loopback_latency = Some(Duration::from_secs_f64(number()?)),
            "precision/work-amount" | "maxmin/precision" => options.work_precision = Some(number()?),
            _ => {}
        }
    }
    Ok((rule, options))
}

/// Something to do, as the reference files say it.
pub(super) struct Activity {
    pub(super) id: String,
    pub(super) what: What,
    /// Indices of the activities that must end first.
    pub(super) after: Vec<usize>,
    pub(super) start: Duration,
}

/// What an activity does, with node names resolved.
pub(super) enum What {
    Comm { src: NodeId, dst: NodeId, bytes: u64, rate: Option<f64> },
    Exec { host: NodeId, flops: f64, priority: f64, threads: u32, bound: Option<f64> },
}

/// Runs activities on a platform; the end of each in seconds, `None` where it did not end.
pub(super) fn simulate(
    topology: &Arc<Topology>,
    activities: &[Activity],
    rule: Rule,
    options: RuleOptions,
) -> Result<Vec<Option<f64>>, String> {
    let hosts = topology.compute_nodes();
    let rank_of =
        |node: NodeId| hosts.binary_search(&node).map(Rank::from_index).map_err(|_| "not a host".to_owned());
    let mut builder = ProgramBuilder::new(hosts.len() as u32);
    for activity in activities {
        let (rank, op) = match activity.what {
            What::Comm { src, dst, bytes, rate } => {
                let to = Peer::Rank(rank_of(dst)?);
                (rank_of(src)?, Op::Transfer { to, bytes, rate_cap: rate.map(Bandwidth) })
            }
            What::Exec { host, flops, priority, threads, bound } => {
                let compute =
                    Compute { priority, threads, rate_cap: bound, ..Compute::of(flops, Precision::Fp64) };
                (rank_of(host)?, Op::Compute(compute))
            }
        };
        let vertex = builder.vertex(format_args!("{}", activity.id), Scope::One(rank), Stream::NONE, op);
        builder.vertex_mut(vertex).not_before = activity.start;
    }
    for (id, activity) in activities.iter().enumerate() {
        for &before in &activity.after {
            builder.edge(before as u32, id as u32, 0);
        }
    }
    let program = builder.build().map_err(|error| error.to_string())?;
    let mut ends = vec![None; activities.len()];
    let columns = run_program(topology, &program, rule, options).map_err(|error| error.to_string())?;
    for task in columns.tasks.iter() {
        ends[task.vertex as usize] = Some(task.end.as_secs_f64());
    }
    Ok(ends)
}

/// Runs a program with rank r on the r-th host.
fn run_program(
    topology: &Arc<Topology>,
    program: &Program,
    rule: Rule,
    options: RuleOptions,
) -> Result<Columns, Box<dyn std::error::Error>> {
    let network = Flow { rule, options, shortcuts: FlowShortcuts::default() };
    let mut network = network.build(NetworkContext {
        topology: topology.clone(),
        routing: Auto {}.build(topology)?,
        streams: Streams::new(1),
        timing_precision: TIMING_PRECISION,
        nics: 1,
        in_order: false,
    })?;
    let compute = ComputeOptions { roofline: false, timing_precision: TIMING_PRECISION };
    let mut compute = ComputeModel::new(topology.clone(), compute);
    let places: Vec<Place> = topology.compute_nodes().iter().map(|&node| Place::of(node)).collect();
    let mut columns = Columns::new(Filter::default());
    let options = Options { timing_precision: TIMING_PRECISION, ..Options::default() };
    Engine::new(program, &places, network.as_mut(), &mut compute, &mut columns, options).run()?;
    Ok(columns)
}

/// Activities on the longest chain of dependencies that ends with each.
pub(super) fn chain_lengths(activities: &[Activity]) -> Vec<u32> {
    let mut length = vec![1_u32; activities.len()];
    // dependencies may point forward: repeat until nothing changes, at most once per activity
    for _ in 0..activities.len() {
        let mut changed = false;
        for (id, activity) in activities.iter().enumerate() {
            let longest = activity.after.iter().map(|&before| length[before] + 1).max().unwrap_or(1);
            if longest > length[id] {
                length[id] = longest;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    length
}

/// The tolerance of a finish time: 1e-9 relative and a picosecond per activity of its chain.
pub(super) fn tolerance(expected_s: f64, chain: u32) -> f64 {
    1e-9 * expected_s.abs() + 1e-12 * f64::from(chain)
}

/// A host of a reference file.
#[derive(Deserialize)]
pub(super) struct Host {
    pub(super) name: String,
    /// Operations per second of a core.
    pub(super) speed: f64,
    pub(super) cores: u32,
}

/// A link of a reference file.
#[derive(Deserialize)]
pub(super) struct Link {
    pub(super) name: String,
    /// Bytes per second.
    pub(super) bandwidth: f64,
    /// Seconds.
    pub(super) latency: f64,
    /// How it is shared, in SimGrid's words.
    pub(super) policy: String,
}
