//! SimGrid platform files in: hosts, routers, links, zones, clusters, profiles.
//!
//! Versions 3 to 4.1 of the format are read. Routes are resolved as SimGrid resolves them, link by
//! link (<https://simgrid.org/doc/latest/Platform.html>); `__loopback__` is the link of hosts to
//! themselves where a zone defines none. What a platform file says beyond a [`Topology`] (settings,
//! power states, properties, disks, actors) is kept beside it in a [`Platform`].

mod cluster;
mod elements;
pub mod export;
mod paths;
mod profiles;
mod read;
mod routes;
mod stars;
mod trace;
mod units;
mod world;
mod zone;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Streams;
use stratasim_core::{Bandwidth, BuildError, Duration, LinkId, NodeId};

pub use super::xml::XmlError;
use super::xml::{Item, Reader, Source};
use crate::generators::{BuildContext, Generator};
use crate::graph::{Link, Sharing, Topology};

/// Name of the link that joins a host to itself where its zone defines no other.
pub const LOOPBACK: &str = "__loopback__";

/// Whether a link joins hosts to themselves only: that of all, or one of those that clusters give each of their hosts.
pub fn is_loopback(topology: &Topology, link: LinkId) -> bool {
    let Link { ends: None, sharing: Sharing::FatPipe, .. } = topology.link(link) else { return false };
    let name = topology.link_name(link);
    name == LOOPBACK || name.ends_with("_loopback") && name.contains("_link_")
}

/// A platform file.
#[derive(Debug, Clone)]
pub struct Platform {
    /// Hosts are compute nodes, in the order of the file, with their cores and the same speed in
    /// every floating-point precision; routers are switches. Group `zone` of a node is the index of
    /// its zone in [`Platform::zones`]. Values that change over time are in
    /// [`Topology::profiles`]; the structure is the rule that resolves the file's routes.
    pub topology: Topology,
    /// SimGrid settings of `<config>`, such as `network/model`.
    pub config: BTreeMap<String, String>,
    /// The link [`LOOPBACK`]: a fat pipe of `network/loopback-bw` (10 GB/s) and
    /// `network/loopback-lat` (none).
    pub loopback: LinkId,
    /// All speeds of hosts with several power states, in FLOP/s; the topology has the initial one.
    pub power_states: BTreeMap<NodeId, Vec<f64>>,
    /// Properties of hosts and routers.
    pub node_properties: BTreeMap<NodeId, BTreeMap<String, String>>,
    /// Properties of links.
    pub link_properties: BTreeMap<LinkId, BTreeMap<String, String>>,
    /// Zones; the first is the one around the whole file.
    pub zones: Vec<ZoneInfo>,
    /// Disks.
    pub disks: Vec<Disk>,
    /// Actors to start, from a deployment in the same file.
    pub actors: Vec<Actor>,
}

/// A zone of a platform file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneInfo {
    /// Its name.
    pub name: String,
    /// Index of the zone around it; `None` for the first.
    pub parent: Option<usize>,
    /// Its properties.
    pub properties: BTreeMap<String, String>,
}

/// A disk of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// The host.
    pub host: NodeId,
    /// Its name.
    pub name: String,
    /// Reading rate.
    pub read: Bandwidth,
    /// Writing rate.
    pub write: Bandwidth,
    /// Its properties.
    pub properties: BTreeMap<String, String>,
}

/// A process that a deployment starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Actor {
    /// Where it starts.
    pub host: NodeId,
    /// Name of its function.
    pub function: String,
    /// Arguments of the function.
    pub arguments: Vec<String>,
    /// When it starts.
    pub start: Duration,
    /// When it is killed.
    pub kill: Option<Duration>,
    /// Its properties.
    pub properties: BTreeMap<String, String>,
}

/// Reads a platform. `source` names the text in errors; `base` is the folder that files of traces
/// are relative to. Random profiles are drawn from seed 0; see [`import_seeded`].
///
/// # Errors
/// The first thing wrong in the file, with its line and column.
pub fn import(text: &str, source: &str, base: &Path) -> Result<Platform, XmlError> {
    import_seeded(text, source, base, Streams::new(0))
}

/// Reads a platform whose random profiles are drawn from `streams`; otherwise as [`import`].
///
/// # Errors
/// The first thing wrong in the file, with its line and column.
pub fn import_seeded(text: &str, source: &str, base: &Path, streams: Streams) -> Result<Platform, XmlError> {
    read::read(Source { name: source, text }, base, streams)
}

/// The files of values that change over time that a platform names, relative to its own, up to where its text is no XML.
pub fn files_named(text: &str) -> Vec<String> {
    const FILES: [&str; 6] =
        ["file", "bandwidth_file", "latency_file", "state_file", "availability_file", "speed_file"];
    let source = Source { name: "", text };
    let mut reader = Reader::new(source);
    let mut files = Vec::new();
    loop {
        match reader.next() {
            Ok(Item::Open(element)) => {
                let named = element.some_values(&source, FILES).unwrap_or_default();
                files
                    .extend(named.into_iter().flatten().filter(|file| !file.is_empty()).map(Cow::into_owned));
            }
            Ok(Item::End) | Err(_) => return files,
            Ok(_) => {}
        }
    }
}

/// A SimGrid platform file: hosts, links, zones, clusters, profiles; routes as SimGrid resolves them.
///
/// Hosts become compute nodes in the order of the file, routers become switches. Read are versions
/// 3 to 4.1 of the format with every routing but Wifi, clusters of every topology, profiles, and
/// bypass routes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SimgridXml {
    /// The file, relative to the experiment.
    #[schemars(extend("format" = "path"))]
    pub path: String,
}

impl SimgridXml {
    /// Reads the file with everything in it.
    ///
    /// # Errors
    /// A file that cannot be read or is no platform.
    pub fn platform(&self, context: &BuildContext) -> Result<Platform, BuildError> {
        let path = context.base.join(&self.path);
        let text = stratasim_core::files::read_named("path", &path)?;
        let base = path.parent().unwrap_or(&context.base);
        import_seeded(&text, &self.path, base, context.streams)
            .map_err(|error| BuildError::new("path", error.to_string()))
    }
}

impl Generator for SimgridXml {
    fn build(&self, context: &BuildContext) -> Result<Topology, BuildError> {
        self.platform(context).map(|platform| platform.topology)
    }
}
