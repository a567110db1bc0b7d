//! `<zone routing="Cluster">`: host links, cabinets and a backbone, put together when it ends.

use stratasim_core::LinkId;

use super::cluster::Radical;
use super::read::{Frame, Parse, Waiting};
use super::routes::Point;
use super::units;
use super::world::{Kind, shared};
use crate::io::xml::{Element, XmlError};

impl<'a> Parse<'a> {
    fn star(&self, zone: u32, element: &Element<'a>) -> Result<(), XmlError> {
        if self.world.zones[zone as usize].kind == Kind::Star {
            return Ok(());
        }
        Err(element.error(&self.source, "this belongs into a zone whose routing is Cluster"))
    }

    /// A `<backbone>`: a link that all traffic of the star crosses.
    pub(super) fn backbone(&mut self, zone: u32, element: &Element<'a>) -> Result<Frame<'a>, XmlError> {
        self.star(zone, element)?;
        let source = self.source;
        let fail = |reason: String| element.error(&source, reason);
        let [id, bandwidth, latency] = element.values(&source, ["id", "bandwidth", "latency"])?;
        let id = element.required(&source, "id", id)?;
        let bandwidth =
            units::bandwidth(&element.required(&source, "bandwidth", bandwidth)?).map_err(fail)?;
        let latency = units::time(&element.required(&source, "latency", latency)?).map_err(fail)?;
        self.world.claim(Some(1)).map_err(fail)?;
        let link = self.world.link(&id, shared(bandwidth, latency)).map_err(fail)?;
        if self.waiting.entry(zone).or_default().1.replace(link).is_some() {
            return Err(fail("a second backbone; a star has one".to_owned()));
        }
        Ok(Frame::Links(vec![link]))
    }

    /// A `<host_link>` or `<cabinet>`.
    pub(super) fn wait(&mut self, zone: u32, element: Element<'a>) -> Result<Frame<'a>, XmlError> {
        self.star(zone, &element)?;
        let source = self.source;
        let fail = |reason: String| element.error(&source, reason);
        let waiting = if element.name() == "host_link" {
            let [id, up, down] = element.values(&source, ["id", "up", "down"])?;
            let id = element.required(&source, "id", id)?.into_owned();
            let up = element.required(&source, "up", up)?.into_owned();
            let down = element.required(&source, "down", down)?.into_owned();
            Waiting::HostLink { id, up, down, element }
        } else {
            let [_, prefix, suffix, radical, speed, power, bw, lat] = element
                .values(&source, ["id", "prefix", "suffix", "radical", "speed", "power", "bw", "lat"])?;
            let prefix = element.required(&source, "prefix", prefix)?.into_owned();
            let suffix = element.required(&source, "suffix", suffix)?.into_owned();
            let radical = Radical::read(&element.required(&source, "radical", radical)?).map_err(fail)?;
            let speed = units::speed(&element.required(&source, "speed", speed.or(power))?).map_err(fail)?;
            let bandwidth = units::bandwidth(&element.required(&source, "bw", bw)?).map_err(fail)?;
            let latency = units::time(&element.required(&source, "lat", lat)?).map_err(fail)?;
            Waiting::Cabinet { prefix, suffix, radical, speed, link: shared(bandwidth, latency), element }
        };
        self.waiting.entry(zone).or_default().0.push(waiting);
        Ok(Frame::Leaf)
    }

    /// The star ends: host links first, then cabinets, as SimGrid does.
    pub(super) fn populate(&mut self, zone: u32) -> Result<(), XmlError> {
        let (waiting, backbone) = self.waiting.remove(&zone).unwrap_or_default();
        let source = self.source;
        let (links, cabinets): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|waiting| matches!(waiting, Waiting::HostLink { .. }));
        for waiting in links.into_iter().chain(cabinets) {
            match waiting {
                Waiting::HostLink { id, up, down, element } => {
                    let fail = |reason: String| element.error(&source, reason);
                    let host = match self.world.find(&id) {
                        Some(Point::Node(host)) if self.world.places[host.index()].zone == zone => host,
                        Some(_) => return Err(fail(format!("`{id}` is no host of this zone"))),
                        None => return Err(fail(format!("no host called `{id}` is in this zone"))),
                    };
                    let link = |key: &str, name: &str| {
                        let hint = || match self.world.find_split(name) {
                            Some(_) => format!("; it is split-duplex, name `{name}_UP` or `{name}_DOWN`"),
                            None => String::new(),
                        };
                        let found = self.world.find_link(name);
                        found.ok_or_else(|| {
                            fail(format!("{key}=`{name}`: no link of that name is there{}", hint()))
                        })
                    };
                    let arm = [link("up", &up)?, link("down", &down)?];
                    self.arm(zone, self.world.places[host.index()].local, arm, backbone);
                }
                Waiting::Cabinet { prefix, suffix, radical, speed, link, element } => {
                    let fail = |reason: String| element.error(&source, reason);
                    let items = radical.count().and_then(|hosts| hosts.checked_mul(3));
                    self.world.claim(items).map_err(fail)?;
                    for number in radical.numbers() {
                        let name = format!("{prefix}{number}{suffix}");
                        let host = self.world.host(zone, &name, speed, 1).map_err(fail)?;
                        let arm = self.world.pair(&format!("link_{name}"), link).map_err(fail)?;
                        self.arm(zone, self.world.places[host.index()].local, arm, backbone);
                    }
                }
            }
        }
        Ok(())
    }

    /// Joins a member to the middle of its star.
    fn arm(&mut self, zone: u32, member: u32, [up, down]: [LinkId; 2], backbone: Option<LinkId>) {
        let there: Vec<LinkId> = [up].into_iter().chain(backbone).collect();
        let back: Vec<LinkId> = backbone.into_iter().chain([down]).collect();
        self.world.zones[zone as usize].star.set(member, &there, &back);
    }
}
