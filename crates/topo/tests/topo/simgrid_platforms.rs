//! Every platform of `tests/data/simgrid-xml` has the hosts, links and routes that SimGrid gives it.
//!
//! The `.routes.json` beside a platform is what SimGrid resolved; its README says which version.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use stratasim_core::{LinkId, Precision};
use stratasim_topo::io::simgrid::{Platform, import};
use stratasim_topo::{RoutingSpec, Sharing};

#[derive(Deserialize)]
struct Reference {
    hosts: Vec<Host>,
    links: Vec<Link>,
    routes: Vec<Route>,
}

#[derive(Deserialize)]
struct Host {
    name: String,
    speed: f64,
    cores: u32,
    pstates: usize,
}

#[derive(Deserialize)]
struct Link {
    name: String,
    bandwidth: f64,
    latency: f64,
    policy: String,
}

#[derive(Deserialize)]
struct Route {
    src: String,
    dst: String,
    latency: f64,
    links: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/simgrid-xml")
}

fn load(name: &str) -> (Platform, Reference) {
    let path = folder().join(format!("{name}.xml"));
    let text = std::fs::read_to_string(&path).unwrap();
    let platform = import(&text, name, &folder()).unwrap_or_else(|e| panic!("{e}"));
    let reference = std::fs::read_to_string(folder().join(format!("{name}.routes.json"))).unwrap();
    (platform, serde_json::from_str(&reference).unwrap())
}

/// Equal to 1e-12 relative once both are whole picoseconds.
fn same_length(ours_ps: u64, theirs_s: f64) -> bool {
    let theirs_ps = theirs_s * 1e12;
    (ours_ps as f64 - theirs_ps).abs() <= 1e-12 * theirs_ps + 0.5
}

fn check(name: &str) {
    let (platform, reference) = load(name);
    let topology = Arc::new(platform.topology);

    let compute = |name: &str| {
        let node = topology.find_node(name).unwrap_or_else(|| panic!("no host {name}"));
        (node, topology.compute_type(node).unwrap_or_else(|| panic!("{name} is no compute node")))
    };
    for host in &reference.hosts {
        let (node, compute) = compute(&host.name);
        for precision in Precision::ALL.into_iter().filter(|&p| p != Precision::Int8) {
            assert_eq!(compute.rate_flop_per_s[precision.index()], host.speed, "{name} {}", host.name);
        }
        assert_eq!(compute.cores, host.cores, "{name} {}", host.name);
        let states = platform.power_states.get(&node).map_or(1, Vec::len);
        assert_eq!(states, host.pstates, "{name} {}", host.name);
    }
    assert_eq!(topology.compute_nodes().len(), reference.hosts.len(), "{name}");

    let links: BTreeMap<String, LinkId> =
        (0..topology.link_count()).map(LinkId::from_index).map(|id| (topology.link_name(id), id)).collect();
    for link in &reference.links {
        let id = *links.get(&link.name).unwrap_or_else(|| panic!("{name}: no link {}", link.name));
        let ours = topology.link(id);
        assert_eq!(ours.bandwidth.bytes_per_s(), link.bandwidth, "{name} {}", link.name);
        assert!(same_length(ours.latency.as_ps(), link.latency), "{name} {}: {}", link.name, ours.latency);
        let policy = if ours.sharing == Sharing::FatPipe { "FATPIPE" } else { "SHARED" };
        assert_eq!(policy, link.policy, "{name} {}", link.name);
    }
    assert_eq!(topology.link_count(), reference.links.len(), "{name}");

    let mut routing = RoutingSpec::default().plugin().build(&topology).unwrap();
    let mut route = Vec::new();
    for expected in &reference.routes {
        let pair = format!("{name}: {} to {}", expected.src, expected.dst);
        route.clear();
        let (src, dst) = (compute(&expected.src).0, compute(&expected.dst).0);
        let extra = routing.route(src, dst, 0, &mut route).unwrap_or_else(|e| panic!("{pair}: {e}"));
        let names: Vec<String> = route.iter().map(|&link| topology.link_name(link)).collect();
        assert_eq!(names, expected.links, "{pair}");
        let ps = extra.as_ps() + route.iter().map(|&link| topology.link(link).latency.as_ps()).sum::<u64>();
        assert!(same_length(ps, expected.latency), "{pair}: {ps} ps, expected {} s", expected.latency);
    }
}

#[test]
fn every_platform_has_the_hosts_links_and_routes_that_simgrid_gives_it() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().file_name().into_string().unwrap().strip_suffix(".xml").map(str::to_owned)
        })
        .collect();
    names.sort();
    assert_eq!(names.len(), 22, "{names:?}");
    for name in &names {
        check(name);
    }
}
