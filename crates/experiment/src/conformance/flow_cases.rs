//! Single cases: hosts, links, routes, activities and their finish times in one JSON file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use stratasim_core::{Bandwidth, Duration, LinkId, NodeId, Precision};
use stratasim_topo::graph::LinkType;
use stratasim_topo::structure::RouteRule;
use stratasim_topo::{
    ComputeType, KernelCosts, NodeKind, RouteError, Sharing, Structure, Topology, TopologyBuilder,
};

use super::flow::{Activity, Host, Link, What, chain_lengths, rule_of, simulate, tolerance};
use super::{CaseReport, bad};
use crate::error::Error;

#[derive(Deserialize)]
struct Case {
    name: String,
    config: BTreeMap<String, String>,
    hosts: Vec<Host>,
    links: Vec<Link>,
    routes: Vec<Route>,
    activities: Vec<CaseActivity>,
    expected: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Route {
    src: String,
    dst: String,
    links: Vec<String>,
    latency: Option<f64>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum CaseActivity {
    Comm {
        id: String,
        src: String,
        dst: String,
        size: u64,
        rate: Option<f64>,
        deps: Vec<String>,
    },
    Exec {
        id: String,
        host: String,
        flops: f64,
        priority: Option<f64>,
        bound: Option<f64>,
        threads: Option<u32>,
        deps: Vec<String>,
    },
}

/// Runs one case.
pub(super) fn run(path: &Path, value: serde_json::Value) -> Result<CaseReport, Error> {
    let case: Case = serde_json::from_value(value).map_err(|error| bad(path, error))?;
    let topology = Arc::new(platform(&case).map_err(|error| bad(path, error))?);
    let (rule, options) = rule_of(&case.config).map_err(|error| bad(path, error))?;
    let activities = activities(&case, &topology).map_err(|error| bad(path, error))?;
    let known = |id: &String| activities.iter().any(|activity| activity.id == *id);
    if let Some(id) = case.expected.keys().find(|id| !known(id)) {
        return Err(bad(path, format!("`expected` has a time for `{id}`, and there is no such activity")));
    }
    if let Some(activity) = activities.iter().find(|activity| !case.expected.contains_key(&activity.id)) {
        return Err(bad(path, format!("`expected` has no time for activity `{}`", activity.id)));
    }
    let mut report = CaseReport::new(&case.name, "finish times");
    match simulate(&topology, &activities, rule, options) {
        Ok(ends) => {
            let chains = chain_lengths(&activities);
            for ((activity, end), chain) in activities.iter().zip(ends).zip(chains) {
                if let Some(&expected) = case.expected.get(&activity.id) {
                    report.compare(&activity.id, end, expected, tolerance(expected, chain));
                }
            }
        }
        Err(error) => report.differ(error),
    }
    Ok(report)
}

fn platform(case: &Case) -> Result<Topology, String> {
    let mut builder = TopologyBuilder::new();
    for host in &case.hosts {
        let kind = builder.compute_type(ComputeType {
            name: "host".to_owned(),
            rate_flop_per_s: [host.speed; Precision::ALL.len()],
            cores: host.cores,
            memory_bytes: None,
            memory_bandwidth: None,
            kernels: KernelCosts::default(),
            forwards: true,
        });
        builder.node(NodeKind::Compute(kind), format_args!("{}", host.name));
    }
    let mut links = BTreeMap::new();
    for link in &case.links {
        let sharing = match link.policy.as_str() {
            "SHARED" => Sharing::Shared,
            "FATPIPE" => Sharing::FatPipe,
            other => return Err(format!("link {}: policy `{other}` is not SHARED or FATPIPE", link.name)),
        };
        let latency = Duration::from_secs_f64(link.latency);
        let id =
            builder.detached(&link.name, LinkType { bandwidth: Bandwidth(link.bandwidth), latency, sharing });
        links.insert(link.name.as_str(), (id, latency));
    }
    let nodes: BTreeMap<&str, NodeId> =
        case.hosts.iter().enumerate().map(|(i, host)| (host.name.as_str(), NodeId::from_index(i))).collect();
    let mut table = BTreeMap::new();
    for route in &case.routes {
        let node = |name: &str| {
            nodes.get(name).copied().ok_or_else(|| format!("a route names the unknown host {name}"))
        };
        let mut path = Vec::new();
        let mut sum = Duration::ZERO;
        for name in &route.links {
            let &(id, latency) =
                links.get(name.as_str()).ok_or_else(|| format!("a route names the unknown link {name}"))?;
            path.push(id);
            sum += latency;
        }
        let extra = route.latency.map_or(Duration::ZERO, |latency| {
            Duration::from_ps(Duration::from_secs_f64(latency).as_ps().saturating_sub(sum.as_ps()))
        });
        table.insert((node(&route.src)?, node(&route.dst)?), (path, extra));
    }
    builder.set_structure(Structure::Ruled(Arc::new(Table(table))));
    builder.build().map_err(|error| error.to_string())
}

fn activities(case: &Case, topology: &Topology) -> Result<Vec<Activity>, String> {
    let id_of = |activity: &CaseActivity| match activity {
        CaseActivity::Comm { id, .. } | CaseActivity::Exec { id, .. } => id.clone(),
    };
    let index: BTreeMap<String, usize> = case.activities.iter().map(id_of).zip(0..).collect();
    let node = |name: &str| {
        topology.find_node(name).ok_or_else(|| format!("an activity names the unknown host {name}"))
    };
    let after = |deps: &[String]| -> Result<Vec<usize>, String> {
        let find = |dep: &String| index.get(dep).copied().ok_or_else(|| format!("unknown dependency {dep}"));
        deps.iter().map(find).collect()
    };
    case.activities
        .iter()
        .map(|activity| {
            let (what, after) = match activity {
                CaseActivity::Comm { src, dst, size, rate, deps, .. } => {
                    (What::Comm { src: node(src)?, dst: node(dst)?, bytes: *size, rate: *rate }, after(deps)?)
                }
                CaseActivity::Exec { host, flops, priority, bound, threads, deps, .. } => {
                    let what = What::Exec {
                        host: node(host)?,
                        flops: *flops,
                        priority: priority.unwrap_or(1.0),
                        threads: threads.unwrap_or(1),
                        bound: *bound,
                    };
                    (what, after(deps)?)
                }
            };
            Ok(Activity { id: id_of(activity), what, after, start: Duration::ZERO })
        })
        .collect()
}

/// The routes of a case. A pair without a route, and a host to itself, use the loopback.
#[derive(Debug)]
struct Table(BTreeMap<(NodeId, NodeId), (Vec<LinkId>, Duration)>);

impl RouteRule for Table {
    fn name(&self) -> &'static str {
        "routes of the case"
    }

    fn routes_to_self(&self) -> bool {
        true
    }

    fn route(
        &self,
        _: &Topology,
        src: NodeId,
        dst: NodeId,
        _: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        let Some((links, extra)) = self.0.get(&(src, dst)) else { return Ok(Duration::ZERO) };
        out.extend_from_slice(links);
        Ok(*extra)
    }
}
