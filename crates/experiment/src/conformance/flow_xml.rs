//! SimGrid platform files: their resolved routes, and flows on them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use stratasim_core::{Duration, NodeId};
use stratasim_topo::io::simgrid::{LOOPBACK, Platform, import};
use stratasim_topo::routing::auto::Auto;
use stratasim_topo::{RoutingAlgorithm as _, Sharing, Topology};

use super::flow::{Activity, Host, Link, What, rule_of, simulate, tolerance};
use super::{CaseReport, bad, read};
use crate::error::Error;

#[derive(Deserialize)]
struct Resolved {
    hosts: Vec<Host>,
    links: Vec<Link>,
    routes: Vec<Route>,
}

#[derive(Deserialize)]
struct Route {
    src: String,
    dst: String,
    latency: f64,
    links: Vec<String>,
}

/// Compares the hosts, links and routes that a platform resolves to.
pub(super) fn routes(path: &Path) -> Result<CaseReport, Error> {
    let resolved: Resolved = serde_json::from_str(&read(path)?).map_err(|error| bad(path, error))?;
    let xml = path.with_extension("").with_extension("xml");
    let platform = platform(&xml)?;
    let topology = Arc::new(platform.topology);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut report = CaseReport::new(format!("xml/{name}"), "hosts, links, routes");
    for host in &resolved.hosts {
        let compute = topology.find_node(&host.name).and_then(|node| topology.compute_type(node));
        let speed = compute.map(|compute| compute.rate_flop_per_s[0]);
        report.compare(&format!("speed of {}", host.name), speed, host.speed, 1e-12 * host.speed);
        let cores = compute.map(|compute| f64::from(compute.cores));
        report.compare(&format!("cores of {}", host.name), cores, f64::from(host.cores), 0.5);
    }
    for link in &resolved.links {
        let found = topology.find_link(&link.name).map(|id| *topology.link(id));
        let bandwidth = found.map(|link| link.bandwidth.bytes_per_s());
        report.compare(
            &format!("bandwidth of {}", link.name),
            bandwidth,
            link.bandwidth,
            1e-12 * link.bandwidth,
        );
        let latency = found.map(|link| link.latency.as_secs_f64());
        report.compare(&format!("latency of {}", link.name), latency, link.latency, 1e-12);
        let policy = found.map(|link| if link.sharing == Sharing::FatPipe { "FATPIPE" } else { "SHARED" });
        if policy != Some(&link.policy) {
            report.differ(format!("link {} is {policy:?}, expected {}", link.name, link.policy));
        }
    }
    let mut routing = Auto {}.build(&topology).map_err(|error| bad(&xml, error))?;
    let mut links = Vec::new();
    for route in &resolved.routes {
        let place = format!("route {} -> {}", route.src, route.dst);
        let (Some(src), Some(dst)) = (topology.find_node(&route.src), topology.find_node(&route.dst)) else {
            report.differ(format!("{place}: an end does not exist"));
            continue;
        };
        links.clear();
        let extra = match routing.route(src, dst, 0, &mut links) {
            Ok(extra) => extra,
            Err(error) => {
                report.differ(format!("{place}: {error}"));
                continue;
            }
        };
        let names: Vec<_> = links.iter().map(|&link| topology.link_name(link)).collect();
        if names != route.links {
            report.differ(format!("{place}: {} for {}", names.join(" "), route.links.join(" ")));
        }
        let sum = links.iter().map(|&link| topology.link(link).latency).sum::<Duration>() + extra;
        let tolerance = 1e-12 * (route.links.len() + 1) as f64;
        report.compare(&place, Some(sum.as_secs_f64()), route.latency, tolerance);
    }
    Ok(report)
}

#[derive(Deserialize)]
struct FlowSet {
    name: String,
    xml: String,
    flows: Vec<String>,
    config: Vec<String>,
    #[serde(default)]
    expected: BTreeMap<String, f64>,
    #[serde(default)]
    simgrid: BTreeMap<String, f64>,
}

/// Runs the flow sets of `xml_flows.json` on the platforms beside it.
pub(super) fn flows(path: &Path) -> Result<Vec<CaseReport>, Error> {
    let sets: Vec<FlowSet> = serde_json::from_str(&read(path)?).map_err(|error| bad(path, error))?;
    sets.iter().map(|set| flow_set(path, set)).collect()
}

fn flow_set(path: &Path, set: &FlowSet) -> Result<CaseReport, Error> {
    let platform = platform(&path.with_file_name(&set.xml))?;
    let topology = Arc::new(platform.topology);
    let mut config = platform.config;
    for option in &set.config {
        if let Some((key, value)) = option.trim_start_matches("--cfg=").split_once(':') {
            config.insert(key.to_owned(), value.to_owned());
        }
    }
    let (rule, options) = rule_of(&config).map_err(|error| bad(path, error))?;
    let activities: Result<Vec<Activity>, String> =
        set.flows.iter().map(|line| activity(line, &topology)).collect();
    let activities = activities.map_err(|error| bad(path, format!("{}: {error}", set.name)))?;
    // SimGrid's own values where there is no independent one
    let expected = if set.expected.is_empty() { &set.simgrid } else { &set.expected };
    let mut report = CaseReport::new(format!("xml/{}", set.name), "finish times");
    match simulate(&topology, &activities, rule, options) {
        Ok(ends) => {
            for (activity, end) in activities.iter().zip(ends) {
                if let Some(&expected) = expected.get(&activity.id) {
                    report.compare(&activity.id, end, expected, tolerance(expected, 1));
                }
            }
        }
        Err(error) => report.differ(error),
    }
    Ok(report)
}

/// `comm id src dst bytes start` or `exec id host flops start`.
fn activity(line: &str, topology: &Topology) -> Result<Activity, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let node = |name: &str| -> Result<NodeId, String> {
        topology.find_node(name).ok_or_else(|| format!("`{line}` names the unknown host {name}"))
    };
    let number = |word: &str| word.parse::<f64>().map_err(|_| format!("`{line}`: `{word}` is not a number"));
    let (id, what, start) = match words[..] {
        ["comm", id, src, dst, bytes, start] => {
            let what =
                What::Comm { src: node(src)?, dst: node(dst)?, bytes: number(bytes)? as u64, rate: None };
            (id, what, start)
        }
        ["exec", id, host, flops, start] => {
            let what = What::Exec {
                host: node(host)?,
                flops: number(flops)?,
                priority: 1.0,
                threads: 1,
                bound: None,
            };
            (id, what, start)
        }
        _ => {
            return Err(format!(
                "`{line}` is not `comm id src dst bytes start` or `exec id host flops start`"
            ));
        }
    };
    let start = Duration::from_secs_f64(number(start)?);
    Ok(Activity { id: id.to_owned(), what, after: Vec::new(), start })
}

fn platform(path: &Path) -> Result<Platform, Error> {
    let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let platform =
        import(&read(path)?, &path.display().to_string(), &base).map_err(|error| bad(path, error))?;
    debug_assert_eq!(platform.topology.link_name(platform.loopback), LOOPBACK);
    Ok(platform)
}
