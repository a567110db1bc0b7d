//! SimGrid platform files out, for SimGrid 3.32 and later.
//!
//! Small machines are one `Full` zone with the route of every pair, as our routing gives it; that
//! is what the HCSim paper's compiler from NetworkX to SimGrid writes. Larger ones are a `Dijkstra`
//! zone with one route per cable, over which SimGrid itself searches paths of fewest links.

mod names;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rustc_hash::FxHashSet;
use stratasim_core::words::thousands;
use stratasim_core::{BuildError, Duration, LinkId, NodeId, Precision};

use self::names::{Call, unique};
use super::LOOPBACK;
use crate::graph::Topology;
use crate::io::profile::Profile;
use crate::io::xml::escaped;
use crate::{NodeKind, Routing, Sharing};

/// Property of a host that is no host: `memory`.
pub(super) const KIND: &str = "stratasim-kind";
/// Property of a memory: its capacity in bytes; absent when unbounded.
pub(super) const CAPACITY: &str = "stratasim-capacity-bytes";
/// Property of a memory: the rate of the device itself.
pub(super) const DEVICE_BANDWIDTH: &str = "stratasim-bandwidth";
/// Property of a host: the name of the memory that extends its own.
pub(super) const HOME_MEMORY: &str = "stratasim-home-memory";

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportOptions {
    /// The precision whose rate becomes the speed of a host.
    pub precision: Precision,
    /// Up to this many unordered pairs of hosts get explicit routes; more become a Dijkstra zone.
    pub explicit_pairs: u64,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self { precision: Precision::Fp32, explicit_pairs: 100_000 }
    }
}

/// Writes `topology` as a platform file; `routing` gives the routes.
///
/// Compute nodes are hosts with the rate of one precision and their cores, memory nodes are hosts of
/// no speed with a property that says so, switches are routers. A full-duplex cable is one
/// split-duplex link when both directions are alike, everything else one link per capacity.
/// Latency that no link accounts for becomes a fat pipe of its own. [`super::import`] reads all of
/// it back: same hosts, links and routes, in one precision. Where SimGrid searches paths itself, all nodes forward, be they
/// memories or told not to.
///
/// # Errors
/// A large machine whose links have no ends, which only explicit routes can use.
pub fn export(
    topology: &Topology,
    routing: &mut dyn Routing,
    options: &ExportOptions,
) -> Result<String, BuildError> {
    let hosts = hosts(topology);
    let explicit = options.is_explicit(&hosts);
    let mut export = Export::new(topology);
    if !explicit {
        export.check_ends(options)?;
    }
    export.head(if explicit { "Full" } else { "Dijkstra" });
    for node in (0..topology.node_count()).map(NodeId::from_index) {
        export.node(node, options.precision);
    }
    for link in (0..topology.link_count()).map(LinkId::from_index) {
        export.link(link);
    }
    if explicit {
        export.pairs(&hosts, routing)
    } else {
        export.cables()
    }
    export.text.push_str("  </zone>\n");
    export.profiles();
    export.text.push_str("</platform>\n");
    Ok(export.text)
}

/// What routes do not use of what [`export`] writes: a machine too large for the route of every pair has one route between two
/// nodes, so that of several cables between them one carries everything.
pub fn unused(topology: &Topology, options: &ExportOptions) -> Option<String> {
    if options.is_explicit(&hosts(topology)) {
        return None;
    }
    let mut joined = FxHashSet::default();
    let links = (0..topology.link_count()).map(|link| topology.link(LinkId::from_index(link)));
    let unused = links.filter_map(|link| link.ends).filter(|ends| !joined.insert(*ends)).count();
    (unused > 0).then(|| {
        let [most, unused] = [options.explicit_pairs, unused as u64].map(|it| thousands(&it.to_string()));
        format!(
            "With more than {most} pairs of hosts the platform has one route between two nodes: {unused} links beside others with \
             the same ends carry nothing there. networkx-json and graphml keep all.",
        )
    })
}

/// The nodes that routes lead to.
fn hosts(topology: &Topology) -> Vec<NodeId> {
    let nodes = (0..topology.node_count()).map(NodeId::from_index);
    nodes.filter(|&node| !matches!(topology.kind(node), NodeKind::Switch)).collect()
}

impl ExportOptions {
    /// Whether every pair of `hosts` has a route of its own.
    fn is_explicit(&self, hosts: &[NodeId]) -> bool {
        let hosts = hosts.len() as u64;
        hosts * hosts.saturating_sub(1) / 2 <= self.explicit_pairs
    }
}

struct Export<'a> {
    topology: &'a Topology,
    text: String,
    nodes: Vec<String>,
    calls: Vec<Call>,
    zone: String,
    /// Names of links of latency alone.
    delays: BTreeMap<Duration, String>,
    link_names: FxHashSet<String>,
}

impl<'a> Export<'a> {
    fn check_ends(&self, options: &ExportOptions) -> Result<(), BuildError> {
        let loose = self.calls.iter().enumerate().find(|&(link, call)| {
            *call != Call::Builtin && self.topology.link(LinkId::from_index(link)).ends.is_none()
        });
        let Some((link, _)) = loose else { return Ok(()) };
        let name = self.topology.link_name(LinkId::from_index(link));
        let most = thousands(&options.explicit_pairs.to_string());
        Err(BuildError::new(
            "",
            format!(
                "more than {most} pairs of hosts, and the link `{name}` has no ends: only explicit routes can use it; allow more explicit pairs"
            ),
        ))
    }

    fn head(&mut self, routing: &str) {
        self.text.push_str(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n",
        );
        self.text.push_str("<!-- written by Stratasim -->\n<platform version=\"4.1\">\n");
        if let Some(loopback) = self.topology.find_link(LOOPBACK) {
            let link = self.topology.link(loopback);
            let (rate, delay) = (link.bandwidth.bytes_per_s(), seconds(link.latency));
            if (rate, link.latency) != (1e10, Duration::ZERO) {
                let _ = writeln!(
                    self.text,
                    "  <config><prop id=\"network/loopback-bw\" value=\"{rate}\"/><prop id=\"network/loopback-lat\" value=\"{delay}\"/></config>"
                );
            }
        }
        let _ = writeln!(self.text, "  <zone id=\"{}\" routing=\"{routing}\">", escaped(&self.zone));
    }

    fn node(&mut self, node: NodeId, precision: Precision) {
        let topology = self.topology;
        let name = escaped(&self.nodes[node.index()]);
        let mut properties = Vec::new();
        let (speed, cores) = match topology.kind(node) {
            NodeKind::Switch => {
                let _ = writeln!(self.text, "    <router id=\"{name}\"/>");
                return;
            }
            NodeKind::Compute(_) => {
                let compute = topology.compute_type(node).expect("a compute node has a type");
                (compute.rate_flop_per_s[precision.index()], compute.cores)
            }
            NodeKind::Memory(_) => {
                let memory = topology.memory_type(node).expect("a memory node has a type");
                properties.push((KIND, "memory".to_owned()));
                properties.extend(memory.capacity_bytes.map(|bytes| (CAPACITY, bytes.to_string())));
                properties.extend(
                    memory.bandwidth.map(|rate| (DEVICE_BANDWIDTH, format!("{}Bps", rate.bytes_per_s()))),
                );
                (0.0, 1)
            }
        };
        if let Some(home) = topology.home_memory(node) {
            properties.push((HOME_MEMORY, self.nodes[home.index()].clone()));
        }
        let _ = write!(self.text, "    <host id=\"{name}\" speed=\"{speed}f\" core=\"{cores}\"");
        if properties.is_empty() {
            self.text.push_str("/>\n");
            return;
        }
        self.text.push('>');
        for (key, value) in properties {
            let _ = write!(self.text, "<prop id=\"{key}\" value=\"{}\"/>", escaped(&value));
        }
        self.text.push_str("</host>\n");
    }

    fn link(&mut self, link: LinkId) {
        let info = self.topology.link(link);
        let (name, policy) = match &self.calls[link.index()] {
            Call::Builtin | Call::Half(_, "DOWN") => return,
            Call::Half(name, _) => (name, "SPLITDUPLEX"),
            Call::Whole(name) if info.sharing == Sharing::FatPipe => (name, "FATPIPE"),
            Call::Whole(name) => (name, "SHARED"),
        };
        let (rate, delay) = (info.bandwidth.bytes_per_s(), seconds(info.latency));
        let name = escaped(name);
        let _ = writeln!(
            self.text,
            "    <link id=\"{name}\" bandwidth=\"{rate}Bps\" latency=\"{delay}s\" sharing_policy=\"{policy}\"/>"
        );
    }

    fn route(&mut self, src: NodeId, dst: NodeId, links: &[LinkId], extra: Duration, symmetrical: bool) {
        let [src, dst] = [src, dst].map(|node| escaped(&self.nodes[node.index()]).into_owned());
        let way = if symmetrical { "" } else { " symmetrical=\"NO\"" };
        let _ = write!(self.text, "    <route src=\"{src}\" dst=\"{dst}\"{way}>");
        for link in links {
            let _ = match &self.calls[link.index()] {
                Call::Whole(name) => write!(self.text, "<link_ctn id=\"{}\"/>", escaped(name)),
                Call::Half(name, way) => {
                    write!(self.text, "<link_ctn id=\"{}\" direction=\"{way}\"/>", escaped(name))
                }
                // another link of this name cannot be told from it
                Call::Builtin => write!(self.text, "<link_ctn id=\"{LOOPBACK}\"/>"),
            };
        }
        if let Some(name) = self.delays.get(&extra) {
            let _ = write!(self.text, "<link_ctn id=\"{name}\"/>");
        }
        self.text.push_str("</route>\n");
    }

    /// Explicit routes between all `hosts`.
    fn pairs(&mut self, hosts: &[NodeId], routing: &mut dyn Routing) {
        let mut find = |src: NodeId, dst: NodeId| {
            let mut links = Vec::new();
            routing.route(src, dst, 0, &mut links).ok().map(|extra| (links, extra))
        };
        let mut found = Vec::new();
        let mut missing = 0_u64;
        for (place, &src) in hosts.iter().enumerate() {
            for &dst in &hosts[place..] {
                let there = find(src, dst);
                let back = if src == dst { there.clone() } else { find(dst, src) };
                missing += u64::from(there.is_none()) + u64::from(back.is_none());
                found.push((src, dst, there, back));
            }
        }
        // links must stand before routes
        let extras = found.iter().flat_map(|(_, _, there, back)| [there, back]).flatten();
        for extra in extras.map(|&(_, extra)| extra).filter(|&extra| extra > Duration::ZERO) {
            let names = &mut self.link_names;
            self.delays.entry(extra).or_insert_with(|| unique(&format!("delay-{}ps", extra.as_ps()), names));
        }
        let widest =
            self.topology.links().iter().map(|link| link.bandwidth.bytes_per_s()).fold(1.0, f64::max);
        for (extra, name) in &self.delays {
            let delay = seconds(*extra);
            let _ = writeln!(
                self.text,
                "    <link id=\"{name}\" bandwidth=\"{widest}Bps\" latency=\"{delay}s\" sharing_policy=\"FATPIPE\"/>"
            );
        }
        if missing > 0 {
            let _ = writeln!(self.text, "    <!-- {missing} ordered pairs have no route -->");
        }
        for (src, dst, there, back) in found {
            let empty = |route: &(Vec<LinkId>, Duration)| route.0.is_empty() && route.1 == Duration::ZERO;
            if src == dst {
                let builtin = |route: &(Vec<LinkId>, Duration)| {
                    route.1 == Duration::ZERO
                        && matches!(route.0[..], [link] if self.calls[link.index()] == Call::Builtin)
                };
                if let Some((links, extra)) = there.filter(|route| !empty(route) && !builtin(route)) {
                    self.route(src, dst, &links, extra, false);
                }
                continue;
            }
            let mirrored = match (&there, &back) {
                (Some((there, one)), Some((back, other))) => {
                    one == other
                        && there.iter().rev().map(|&link| self.counterpart(link)).eq(back.iter().copied())
                }
                _ => false,
            };
            if let Some((links, extra)) = there {
                self.route(src, dst, &links, extra, mirrored);
            }
            if let Some((links, extra)) = back.filter(|_| !mirrored) {
                self.route(dst, src, &links, extra, false);
            }
        }
    }

    /// One route per cable; of parallel cables the first.
    fn cables(&mut self) {
        self.text.push_str(
            "    <!-- routes of fewest links are searched; of parallel cables the first is used -->\n",
        );
        let mut joined = FxHashSet::default();
        for link in (0..self.topology.link_count()).map(LinkId::from_index) {
            let info = *self.topology.link(link);
            let Some([from, to]) = info.ends else { continue };
            let both = info.half_duplex || self.twin(link).is_some();
            if matches!(self.calls[link.index()], Call::Half(_, "DOWN")) || from == to {
                continue;
            }
            let there = joined.insert([from, to]);
            let back = both && joined.insert([to, from]);
            let twin = self.counterpart(link);
            if there {
                self.route(from, to, &[link], Duration::ZERO, back);
            } else if back {
                self.route(to, from, &[twin], Duration::ZERO, false);
            }
        }
    }

    fn profiles(&mut self) {
        let topology = self.topology;
        for (&link, profiles) in &topology.profiles().links {
            let name = match &self.calls[link.index()] {
                Call::Whole(name) => name.clone(),
                Call::Half(name, way) => format!("{name}_{way}"),
                Call::Builtin => continue,
            };
            self.trace("BANDWIDTH", &name, profiles.bandwidth.as_ref());
            self.trace("LATENCY", &name, profiles.latency.as_ref());
            self.trace("LINK_AVAIL", &name, profiles.state.as_ref());
        }
        for (&node, profiles) in &topology.profiles().nodes {
            let name = self.nodes[node.index()].clone();
            self.trace("SPEED", &name, profiles.speed.as_ref());
            self.trace("HOST_AVAIL", &name, profiles.state.as_ref());
        }
    }

    fn trace(&mut self, kind: &str, element: &str, profile: Option<&Profile>) {
        let Some(profile) = profile.filter(|profile| !profile.points.is_empty()) else { return };
        let element = escaped(element);
        let period = profile.repeat_after.map_or(-1.0, Duration::as_secs_f64);
        let _ = writeln!(self.text, "  <trace id=\"{kind} {element}\" periodicity=\"{period}\">");
        for (at, value) in &profile.points {
            let _ = writeln!(self.text, "{} {value}", seconds(*at));
        }
        let _ = writeln!(
            self.text,
            "  </trace>\n  <trace_connect kind=\"{kind}\" trace=\"{kind} {element}\" element=\"{element}\"/>"
        );
    }
}

/// Seconds in decimal digits that read back as the same number of picoseconds.
fn seconds(length: Duration) -> String {
    format!("{:e}", length.as_secs_f64())
}
