//! Walks through a platform file: which element may be where, and who handles it.

use std::collections::BTreeMap;
use std::path::Path;

use stratasim_core::random::Streams;
use stratasim_core::{Bandwidth, Duration, LinkId, NodeId};

use super::cluster::Radical;
use super::paths::{Draft, RouteKind};
use super::world::{Kind, Properties, World};
use super::{Actor, Disk, LOOPBACK, Platform, ZoneInfo, units};
use crate::graph::LinkType;
use crate::io::profile::Profile;
use crate::io::xml::{Element, Item, Reader, Source, XmlError};
use crate::structure::Structure;
use crate::{MemoryType, NodeKind, Sharing};

/// An element that is open.
#[derive(Debug)]
pub(super) enum Frame<'a> {
    Platform,
    Config,
    Zone(u32, Element<'a>),
    /// Nodes that properties inside it belong to.
    Nodes(Vec<NodeId>),
    Links(Vec<LinkId>),
    Disk(Disk),
    Actor(Actor),
    Route(Draft<'a>),
    Trace {
        element: Element<'a>,
        text: String,
        text_at: usize,
    },
    /// Nothing inside it matters.
    Leaf,
}

/// What a star collects until its zone ends.
#[derive(Debug)]
pub(super) enum Waiting<'a> {
    HostLink {
        id: String,
        up: String,
        down: String,
        element: Element<'a>,
    },
    Cabinet {
        prefix: String,
        suffix: String,
        radical: Radical,
        speed: f64,
        link: LinkType,
        element: Element<'a>,
    },
}

/// A `trace_connect`, which may stand before what it names.
#[derive(Debug)]
pub(super) struct Connection<'a> {
    pub(super) kind: String,
    pub(super) trace: String,
    pub(super) target: String,
    pub(super) element: Element<'a>,
}

/// A platform file that is being read.
pub(super) struct Parse<'a> {
    pub(super) source: Source<'a>,
    pub(super) base: &'a Path,
    pub(super) streams: Streams,
    pub(super) world: World,
    pub(super) config: BTreeMap<String, String>,
    pub(super) traces: BTreeMap<String, Profile>,
    pub(super) connections: Vec<Connection<'a>>,
    /// By star: hosts and cables that are made when it ends, and its backbone.
    pub(super) waiting: BTreeMap<u32, (Vec<Waiting<'a>>, Option<LinkId>)>,
    pub(super) power_states: BTreeMap<NodeId, Vec<f64>>,
    pub(super) node_properties: BTreeMap<NodeId, Properties>,
    link_properties: BTreeMap<LinkId, Properties>,
    zone_properties: BTreeMap<u32, Properties>,
    pub(super) disks: Vec<Disk>,
    pub(super) actors: Vec<Actor>,
    /// Places of zones in the file, for errors found at the end.
    zone_elements: BTreeMap<u32, Element<'a>>,
}

/// Reads the platform in `source`.
pub(super) fn read(source: Source<'_>, base: &Path, streams: Streams) -> Result<Platform, XmlError> {
    let mut reader = Reader::new(source);
    let mut parse = Parse {
        source: reader.source,
        base,
        streams,
        world: World::new(),
        config: BTreeMap::new(),
        traces: BTreeMap::new(),
        connections: Vec::new(),
        waiting: BTreeMap::new(),
        power_states: BTreeMap::new(),
        node_properties: BTreeMap::new(),
        link_properties: BTreeMap::new(),
        zone_properties: BTreeMap::new(),
        disks: Vec::new(),
        actors: Vec::new(),
        zone_elements: BTreeMap::new(),
    };
    let mut frames: Vec<Frame<'_>> = Vec::new();
    loop {
        let at = reader.at();
        match reader.next()? {
            Item::Open(element) => {
                let frame = parse.open(&mut frames, element)?;
                frames.push(frame);
            }
            Item::Close => {
                let frame = frames.pop().expect("the reader matches tags");
                parse.close(frame)?;
            }
            Item::Text(text) => match frames.last_mut() {
                Some(Frame::Trace { text: known, text_at, .. }) => {
                    if known.is_empty() {
                        *text_at = at;
                    }
                    known.push_str(&text);
                }
                _ => return Err(reader.error_at_text(at, &text)),
            },
            Item::End => break,
        }
    }
    parse.finish()
}

impl<'a> Parse<'a> {
    fn open(&mut self, frames: &mut [Frame<'a>], element: Element<'a>) -> Result<Frame<'a>, XmlError> {
        let source = self.source;
        let name = element.name().to_owned();
        let wrong = |parent: &str, known: &str| {
            let hint = match name.as_str() {
                "include" => "; SimGrid removed it in version 3.18: put the files together",
                "storage" | "storage_type" | "mount" => "; SimGrid removed it in version 3.27: use <disk>",
                _ => "",
            };
            Err(element
                .error(&source, format!("this element is not known inside {parent} (known: {known}){hint}")))
        };
        match frames.last_mut() {
            None if name == "platform" => {
                self.platform(&element)?;
                Ok(Frame::Platform)
            }
            None => wrong("a file", "platform"),
            Some(Frame::Platform) => match name.as_str() {
                "config" => {
                    element.values(&source, ["id"])?;
                    Ok(Frame::Config)
                }
                "random" => Ok(Frame::Leaf),
                "zone" | "AS" => self.zone(0, element),
                "cluster" => self.cluster(0, &element),
                "trace" => Ok(Frame::Trace { element, text: String::new(), text_at: 0 }),
                "trace_connect" => self.connect(element),
                "actor" | "process" => self.actor(&element),
                _ => wrong("<platform>", "config, zone, cluster, trace, trace_connect, actor"),
            },
            Some(Frame::Zone(zone, _)) => {
                let zone = *zone;
                match name.as_str() {
                    "prop" => {
                        let (key, value) = self.property(&element)?;
                        self.zone_properties.entry(zone).or_default().insert(key, value);
                        Ok(Frame::Leaf)
                    }
                    "zone" | "AS" => self.zone(zone, element),
                    "cluster" => self.cluster(zone, &element),
                    "host" => self.host(zone, &element),
                    "peer" => self.peer(zone, &element),
                    "router" => self.router(zone, &element),
                    "link" => self.link(&element),
                    "backbone" => self.backbone(zone, &element),
                    "host_link" | "cabinet" => self.wait(zone, element),
                    "trace" => Ok(Frame::Trace { element, text: String::new(), text_at: 0 }),
                    "trace_connect" => self.connect(element),
                    "route" => Ok(Frame::Route(Draft::new(zone, RouteKind::Route, element))),
                    "zoneRoute" | "ASroute" => {
                        Ok(Frame::Route(Draft::new(zone, RouteKind::ZoneRoute, element)))
                    }
                    "bypassRoute" => Ok(Frame::Route(Draft::new(zone, RouteKind::Bypass, element))),
                    "bypassZoneRoute" | "bypassASroute" => {
                        Ok(Frame::Route(Draft::new(zone, RouteKind::ZoneBypass, element)))
                    }
                    _ => wrong(
                        "<zone>",
                        "prop, zone, cluster, host, peer, router, link, backbone, host_link, cabinet, trace, trace_connect, route, zoneRoute, bypassRoute, bypassZoneRoute",
                    ),
                }
            }
            Some(Frame::Nodes(nodes)) => match name.as_str() {
                "prop" => {
                    let (key, value) = self.property(&element)?;
                    for &node in &*nodes {
                        self.node_properties.entry(node).or_default().insert(key.clone(), value.clone());
                    }
                    Ok(Frame::Leaf)
                }
                "disk" => self.disk(nodes[0], &element),
                _ => wrong("<host>", "prop, disk"),
            },
            Some(Frame::Links(links)) if name == "prop" => {
                let (key, value) = self.property(&element)?;
                for &link in &*links {
                    self.link_properties.entry(link).or_default().insert(key.clone(), value.clone());
                }
                Ok(Frame::Leaf)
            }
            Some(Frame::Links(_)) => wrong("<link>", "prop"),
            Some(Frame::Config) if name == "prop" => {
                let (key, value) = self.property(&element)?;
                self.config.insert(key, value);
                Ok(Frame::Leaf)
            }
            Some(Frame::Config) => wrong("<config>", "prop"),
            Some(Frame::Disk(disk)) if name == "prop" => {
                let (key, value) = self.property(&element)?;
                disk.properties.insert(key, value);
                Ok(Frame::Leaf)
            }
            Some(Frame::Disk(_)) => wrong("<disk>", "prop"),
            Some(Frame::Actor(actor)) => match name.as_str() {
                "prop" => {
                    let (key, value) = self.property(&element)?;
                    actor.properties.insert(key, value);
                    Ok(Frame::Leaf)
                }
                "argument" => {
                    let [value] = element.values(&source, ["value"])?;
                    actor.arguments.push(element.required(&source, "value", value)?.into_owned());
                    Ok(Frame::Leaf)
                }
                _ => wrong("<actor>", "prop, argument"),
            },
            Some(Frame::Route(draft)) if name == "link_ctn" => {
                let [there, back] = self.link_use(&element)?;
                draft.there.push(there);
                draft.back.push(back);
                Ok(Frame::Leaf)
            }
            Some(Frame::Route(_)) => wrong("a route", "link_ctn"),
            Some(Frame::Trace { .. } | Frame::Leaf) => wrong("an element that holds none", "none"),
        }
    }

    fn close(&mut self, frame: Frame<'a>) -> Result<(), XmlError> {
        match frame {
            Frame::Zone(zone, element) => {
                if self.world.zones[zone as usize].kind == Kind::Star {
                    self.populate(zone)?;
                }
                self.zone_elements.insert(zone, element);
            }
            Frame::Route(draft) => self.route(draft)?,
            Frame::Trace { element, text, text_at } => self.trace(&element, &text, text_at)?,
            Frame::Disk(disk) => self.disks.push(disk),
            Frame::Actor(actor) => self.actors.push(actor),
            Frame::Platform | Frame::Config | Frame::Nodes(_) | Frame::Links(_) | Frame::Leaf => {}
        }
        Ok(())
    }

    fn property(&self, element: &Element<'a>) -> Result<(String, String), XmlError> {
        let [id, value] = element.values(&self.source, ["id", "value"])?;
        let id = element.required(&self.source, "id", id)?.into_owned();
        Ok((id, element.required(&self.source, "value", value)?.into_owned()))
    }

    fn finish(mut self) -> Result<Platform, XmlError> {
        self.connect_traces()?;
        let source = self.source;
        let end = |reason: String| source.error(source.text.len(), "platform", reason);
        let loopback = self.loopback().map_err(end)?;
        self.restore_memories().map_err(end)?;
        let elements = &self.zone_elements;
        let (mut builder, routes) = self.world.finish(loopback).map_err(|(zone, reason)| {
            elements
                .get(&zone)
                .map_or_else(|| end(reason.clone()), |element| element.error(&source, reason.clone()))
        })?;
        let zones = routes.zones.iter().enumerate().map(|(id, zone)| ZoneInfo {
            name: zone.name.clone(),
            parent: (id != 0).then_some(zone.place.zone as usize),
            properties: self.zone_properties.remove(&(id as u32)).unwrap_or_default(),
        });
        let zones = zones.collect();
        builder.set_structure(Structure::Ruled(std::sync::Arc::new(routes)));
        let topology = builder.build().map_err(|e| end(e.reason))?;
        Ok(Platform {
            topology,
            config: self.config,
            loopback,
            power_states: self.power_states,
            node_properties: self.node_properties,
            link_properties: self.link_properties,
            zones,
            disks: self.disks,
            actors: self.actors,
        })
    }

    /// The loopback that SimGrid makes itself, with the settings that stand at the head of the file.
    pub(super) fn loopback(&mut self) -> Result<LinkId, String> {
        if let Some(known) = self.world.find_link(LOOPBACK) {
            return Ok(known);
        }
        let setting = |key: &str| self.config.get(key).map(String::as_str);
        let link = LinkType {
            bandwidth: setting("network/loopback-bw").map_or(Ok(Bandwidth(1e10)), units::bandwidth)?,
            latency: setting("network/loopback-lat").map_or(Ok(Duration::ZERO), units::time)?,
            sharing: Sharing::FatPipe,
        };
        self.world.link(LOOPBACK, link)
    }

    /// Memory nodes that we wrote as hosts, told by a property, are memory nodes again.
    fn restore_memories(&mut self) -> Result<(), String> {
        use super::export::{CAPACITY, DEVICE_BANDWIDTH, HOME_MEMORY, KIND};
        let mut homes = Vec::new();
        for (&node, properties) in &self.node_properties {
            let property = |key: &str| properties.get(key).map(String::as_str);
            if property(KIND) == Some("memory") {
                let capacity = property(CAPACITY).map(|text| {
                    text.parse().map_err(|_| {
                        format!("the property {CAPACITY} is `{text}`, it must be a number of bytes")
                    })
                });
                let bandwidth = property(DEVICE_BANDWIDTH).map(units::bandwidth);
                let memory =
                    MemoryType { capacity_bytes: capacity.transpose()?, bandwidth: bandwidth.transpose()? };
                let memory = self.world.builder.memory_type(memory);
                self.world.builder.set_kind(node, NodeKind::Memory(memory));
            }
            if let Some(home) = property(HOME_MEMORY) {
                homes.push((node, home.to_owned()));
            }
        }
        for (node, home) in homes {
            let Some(super::routes::Point::Node(memory)) = self.world.find(&home) else {
                return Err(format!(
                    "the property {HOME_MEMORY} names `{home}`, which is no host of this file"
                ));
            };
            self.world.builder.set_home_memory(node, memory);
        }
        Ok(())
    }
}
