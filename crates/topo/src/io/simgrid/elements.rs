//! `<platform>`, `<zone>`, `<cluster>`, `<host>`, `<peer>`, `<router>`, `<link>`, `<disk>`, `<actor>`.

mod clusters;

use std::collections::BTreeMap;

use stratasim_core::error::nearest;
use stratasim_core::{Duration, NodeId};

use super::read::{Frame, Parse};
use super::routes::Point;
use super::units;
use super::world::{Kind, shared};
use super::{Actor, Disk};
use crate::Sharing;
use crate::graph::LinkType;
use crate::io::profile::{LinkProfiles, NodeProfiles, Profile};
use crate::io::xml::{Element, XmlError};

/// What a link's `sharing_policy` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    Shared,
    FatPipe,
    Split,
}

fn policy(text: Option<&str>, default: Policy) -> Result<Policy, String> {
    match text {
        None => Ok(default),
        Some("SHARED") => Ok(Policy::Shared),
        Some("FATPIPE") => Ok(Policy::FatPipe),
        // the second name is the one before version 3.19
        Some("SPLITDUPLEX" | "FULLDUPLEX") => Ok(Policy::Split),
        Some("WIFI") => Err("sharing_policy=`WIFI` is not read: wireless cells are not modelled".to_owned()),
        Some(other) => {
            Err(format!("sharing_policy=`{other}` is unknown (known: SHARED, FATPIPE, SPLITDUPLEX)"))
        }
    }
}

/// All speeds of a host, one per power state.
fn speeds(text: &str) -> Result<Vec<f64>, String> {
    text.split(',').map(units::speed).collect()
}

fn cores(text: Option<&str>) -> Result<u32, String> {
    let text = text.unwrap_or("1");
    let count = text.trim().parse::<u32>().ok().filter(|&count| count > 0);
    count.ok_or_else(|| format!("core=`{text}`, a whole number from 1 to {} is expected", u32::MAX))
}

fn coordinates(text: &str) -> Result<[f64; 3], String> {
    let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.is_finite());
    let numbers: Option<Vec<f64>> = text.split_whitespace().map(number).collect();
    numbers
        .and_then(|numbers| <[f64; 3]>::try_from(numbers).ok())
        .ok_or_else(|| format!("coordinates=`{text}`, three numbers are expected"))
}

/// A value that holds from the start, unless it is the normal one.
fn constant(value: f64, normal: f64) -> Option<Profile> {
    (value != normal).then(|| Profile { points: vec![(Duration::ZERO, value)], repeat_after: None })
}

/// `state="ON"` or `"OFF"` of version 3.
fn state(text: Option<&str>) -> Result<Option<Profile>, String> {
    match text {
        None | Some("ON") => Ok(None),
        Some("OFF") => Ok(constant(0.0, 1.0)),
        Some(other) => Err(format!("state=`{other}`, ON or OFF is expected")),
    }
}

impl<'a> Parse<'a> {
    /// The root element.
    pub(super) fn platform(&mut self, element: &Element<'a>) -> Result<(), XmlError> {
        let [version] = element.values(&self.source, ["version"])?;
        let version = element.required(&self.source, "version", version)?;
        let number: Option<f64> = version.trim().parse().ok();
        if number.is_some_and(|number| (3.0..=4.1).contains(&number)) {
            return Ok(());
        }
        let is_old = number.is_some_and(|number| number < 3.0);
        let hint = if is_old { ", simgrid_update_xml updates older files" } else { "" };
        Err(element
            .error(&self.source, format!("version `{version}` of the format; 3 to 4.1 are read{hint}")))
    }

    /// A zone begins inside `parent`.
    pub(super) fn zone(&mut self, parent: u32, element: Element<'a>) -> Result<Frame<'a>, XmlError> {
        let source = self.source;
        let [id, routing] = element.values(&source, ["id", "routing"])?;
        let id = element.required(&source, "id", id)?.into_owned();
        let routing = element.required(&source, "routing", routing)?;
        let fail = |reason: String| element.error(&source, reason);
        let kind = match routing.to_ascii_lowercase().as_str() {
            "full" => Kind::Full,
            "floyd" => Kind::Floyd,
            "dijkstra" | "dijkstracache" => Kind::Dijkstra,
            "cluster" => Kind::Star,
            "vivaldi" => Kind::Vivaldi,
            "none" => Kind::Nothing,
            "wifi" => {
                return Err(fail("routing=`Wifi` is not read: wireless cells are not modelled".to_owned()));
            }
            _ => {
                let known = ["Full", "Floyd", "Dijkstra", "DijkstraCache", "Cluster", "Vivaldi", "None"];
                let hint = nearest(&routing, known)
                    .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                return Err(fail(format!(
                    "routing=`{routing}` is unknown{hint} (known: {})",
                    known.join(", ")
                )));
            }
        };
        let zone = self.world.zone(parent, &id, kind).map_err(fail)?;
        Ok(Frame::Zone(zone, element))
    }

    /// A profile from the file named by an attribute, if it is.
    fn attached(&self, element: &Element<'a>, file: Option<&str>) -> Result<Option<Profile>, XmlError> {
        match file {
            None | Some("") => Ok(None),
            Some(file) => self.profile_file(element, file).map(Some),
        }
    }

    fn set_node_profiles(&mut self, node: NodeId, speed: Option<Profile>, state: Option<Profile>) {
        if speed.is_some() || state.is_some() {
            self.world.builder.profiles_mut().nodes.insert(node, NodeProfiles { speed, state });
        }
    }

    /// A `<host>`.
    pub(super) fn host(&mut self, zone: u32, element: &Element<'a>) -> Result<Frame<'a>, XmlError> {
        let source = self.source;
        let fail = |reason: String| element.error(&source, reason);
        let [id, speed, power, core, pstate, speed_file, old_file, state_file, place, available, switched] =
            element.values(
                &source,
                [
                    "id",
                    "speed",
                    "power",
                    "core",
                    "pstate",
                    "speed_file",
                    "availability_file",
                    "state_file",
                    "coordinates",
                    "availability",
                    "state",
                ],
            )?;
        let id = element.required(&source, "id", id)?;
        let speeds = speeds(&element.required(&source, "speed", speed.or(power))?).map_err(fail)?;
        let first: f64 = pstate.as_deref().unwrap_or("0").trim().parse().unwrap_or(-1.0);
        let chosen = (first >= 0.0 && first.fract() == 0.0).then(|| speeds.get(first as usize)).flatten();
        let Some(&chosen) = chosen else {
            let count = speeds.len();
            return Err(fail(format!(
                "pstate=`{}`, but the host has {count} speeds, numbered from 0",
                pstate.unwrap_or_default()
            )));
        };
        let cores = cores(core.as_deref()).map_err(fail)?;
        let available = match available.as_deref().map(|text| (text, text.trim().parse::<f64>())) {
            None => None,
            Some((_, Ok(share))) if (0.0..=1.0).contains(&share) => constant(share, 1.0),
            Some((text, _)) => {
                return Err(fail(format!("availability=`{text}`, a number from 0 to 1 is expected")));
            }
        };
        let speed_profile = self.attached(element, speed_file.or(old_file).as_deref())?.or(available);
        let state_profile =
            self.attached(element, state_file.as_deref())?.or(state(switched.as_deref()).map_err(fail)?);
        self.world.claim(Some(1)).map_err(fail)?;
        let node = self.world.host(zone, &id, chosen, cores).map_err(fail)?;
        if speeds.len() > 1 {
            self.power_states.insert(node, speeds);
        }
        self.set_node_profiles(node, speed_profile, state_profile);
        self.locate(node, element, place.as_deref())?;
        Ok(Frame::Nodes(vec![node]))
    }

    fn locate(&mut self, node: NodeId, element: &Element<'a>, text: Option<&str>) -> Result<(), XmlError> {
        let text = text.unwrap_or_default();
        if text.trim().is_empty() {
            return Ok(());
        }
        let at = coordinates(text).map_err(|reason| element.error(&self.source, reason))?;
        self.world.locate(node, at);
        Ok(())
    }

    /// A `<router>`.
    pub(super) fn router(&mut self, zone: u32, element: &Element<'a>) -> Result<Frame<'a>, XmlError> {
        let source = self.source;
        let fail = |reason: String| element.error(&source, reason);
        let [id, place] = element.values(&source, ["id", "coordinates"])?;
        let id = element.required(&source, "id", id)?;
        self.world.claim(Some(1)).map_err(fail)?;
        let node = self.world.router(zone, &id).map_err(fail)?;
        self.locate(node, element, place.as_deref())?;
        Ok(Frame::Nodes(vec![node]))
    }

    /// A `<peer>`: a host of a Vivaldi zone with its two links.
    pub(super) fn peer(&mut self, zone: u32, element: &Element<'a>) -> Result<Frame<'a>, XmlError> {
        let source = self.source;
        let fail = |reason: String| element.error(&source, reason);
        let [id, speed, power, bw_in, bw_out, _, place, speed_file, old_file, state_file] = element.values(
            &source,
            [
                "id",
                "speed",
                "power",
                "bw_in",
                "bw_out",
                "lat",
                "coordinates",
                "speed_file",
                "availability_file",
                "state_file",
            ],
        )?;
        if self.world.zones[zone as usize].kind != Kind::Vivaldi {
            return Err(fail("a peer belongs into a zone whose routing is Vivaldi".to_owned()));
        }
        let id = element.required(&source, "id", id)?;
        let speed = units::speed(&element.required(&source, "speed", speed.or(power))?).map_err(fail)?;
        let into = units::bandwidth(&element.required(&source, "bw_in", bw_in)?).map_err(fail)?;
        let out = units::bandwidth(&element.required(&source, "bw_out", bw_out)?).map_err(fail)?;
        let place = element.required(&source, "coordinates", place)?;
        let speed_profile = self.attached(element, speed_file.or(old_file).as_deref())?;
        let state_profile = self.attached(element, state_file.as_deref())?;
        self.world.claim(Some(3)).map_err(fail)?;
        let node = self.world.host(zone, &id, speed, 1).map_err(fail)?;
        let up = self.world.link(&format!("link_{id}_UP"), shared(out, Duration::ZERO)).map_err(fail)?;
        let down = self.world.link(&format!("link_{id}_DOWN"), shared(into, Duration::ZERO)).map_err(fail)?;
        let member = self.world.places[node.index()].local;
        self.world.zones[zone as usize].star.set(member, &[up], &[down]);
        self.set_node_profiles(node, speed_profile, state_profile);
        self.locate(node, element, Some(&place))?;
        Ok(Frame::Nodes(vec![node]))
    }

    /// A `<link>`.
    pub(super) fn link(&mut self, element: &Element<'a>) -> Result<Frame<'a>, XmlError> {
        let source = self.source;
        let fail = |reason: String| element.error(&source, reason);
        let [id, bandwidth, latency, sharing, bandwidth_file, latency_file, state_file, switched] = element
            .values(
            &source,
            [
                "id",
                "bandwidth",
                "latency",
                "sharing_policy",
                "bandwidth_file",
                "latency_file",
                "state_file",
                "state",
            ],
        )?;
        let id = element.required(&source, "id", id)?;
        let bandwidth =
            units::bandwidth(&element.required(&source, "bandwidth", bandwidth)?).map_err(fail)?;
        let latency = units::time(latency.as_deref().unwrap_or("0")).map_err(fail)?;
        let policy = policy(sharing.as_deref(), Policy::Shared).map_err(fail)?;
        let profiles = LinkProfiles {
            bandwidth: self.attached(element, bandwidth_file.as_deref())?,
            latency: self.attached(element, latency_file.as_deref())?,
            state: self
                .attached(element, state_file.as_deref())?
                .or(state(switched.as_deref()).map_err(fail)?),
        };
        let rates = profiles.bandwidth.iter().flat_map(|profile| &profile.points);
        rates
            .into_iter()
            .try_for_each(|&(_, rate)| units::possible(rate).map(drop))
            .map_err(|reason| fail(format!("bandwidth_file: {reason}")))?;
        self.world.claim(Some(2)).map_err(fail)?;
        let links = match policy {
            Policy::Split => {
                Vec::from(self.world.split_duplex(&id, shared(bandwidth, latency)).map_err(fail)?)
            }
            Policy::Shared => vec![self.world.link(&id, shared(bandwidth, latency)).map_err(fail)?],
            Policy::FatPipe => {
                let link = LinkType { bandwidth, latency, sharing: Sharing::FatPipe };
                vec![self.world.link(&id, link).map_err(fail)?]
            }
        };
        if profiles != LinkProfiles::default() {
            for &link in &links {
                self.world.builder.profiles_mut().links.insert(link, profiles.clone());
            }
        }
        Ok(Frame::Links(links))
    }

    /// A `<disk>` of `host`.
    pub(super) fn disk(&mut self, host: NodeId, element: &Element<'a>) -> Result<Frame<'a>, XmlError> {
        let source = self.source;
        let fail = |reason: String| element.error(&source, reason);
        let [id, read, write] = element.values(&source, ["id", "read_bw", "write_bw"])?;
        let name = id.map_or_else(|| "/".to_owned(), std::borrow::Cow::into_owned);
        let read = units::bandwidth(&element.required(&source, "read_bw", read)?).map_err(fail)?;
        let write = units::bandwidth(&element.required(&source, "write_bw", write)?).map_err(fail)?;
        Ok(Frame::Disk(Disk { host, name, read, write, properties: BTreeMap::new() }))
    }

    /// An `<actor>` to start.
    pub(super) fn actor(&mut self, element: &Element<'a>) -> Result<Frame<'a>, XmlError> {
        let source = self.source;
        let fail = |reason: String| element.error(&source, reason);
        let [host, function, start, kill, _] =
            element.values(&source, ["host", "function", "start_time", "kill_time", "on_failure"])?;
        let name = element.required(&source, "host", host)?;
        let Some(Point::Node(host)) = self.world.find(&name) else {
            return Err(fail(format!("host=`{name}`: no host of that name stands before this")));
        };
        // negative: at once, never
        let instant = |text: Option<&str>| match text.map(str::trim) {
            None => Ok(None),
            Some(text) if text.starts_with('-') => Ok(None),
            Some(text) => units::time(text).map(Some),
        };
        Ok(Frame::Actor(Actor {
            host,
            function: element.required(&source, "function", function)?.into_owned(),
            arguments: Vec::new(),
            start: instant(start.as_deref()).map_err(fail)?.unwrap_or(Duration::ZERO),
            kill: instant(kill.as_deref()).map_err(fail)?,
            properties: BTreeMap::new(),
        }))
    }
}
