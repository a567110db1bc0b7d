//! `<route>`, `<zoneRoute>`, `<bypassRoute>`, `<bypassZoneRoute>` and their `<link_ctn>`.

use stratasim_core::error::nearest;
use stratasim_core::{LinkId, NodeId};

use super::LOOPBACK;
use super::read::Parse;
use super::routes::{Bypass, Point};
use super::world::Kind;
use super::zone::Gateways;
use crate::io::xml::{Element, XmlError};

/// Which element declares a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteKind {
    Route,
    ZoneRoute,
    Bypass,
    ZoneBypass,
}

impl RouteKind {
    fn between_zones(self) -> bool {
        matches!(self, Self::ZoneRoute | Self::ZoneBypass)
    }

    fn bypasses(self) -> bool {
        matches!(self, Self::Bypass | Self::ZoneBypass)
    }
}

/// A route while it is read.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    zone: u32,
    kind: RouteKind,
    /// The links in order, and for each the one that the way back takes.
    pub(super) there: Vec<LinkId>,
    pub(super) back: Vec<LinkId>,
    element: Element<'a>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(zone: u32, kind: RouteKind, element: Element<'a>) -> Self {
        Self { zone, kind, there: Vec::new(), back: Vec::new(), element }
    }
}

impl<'a> Parse<'a> {
    /// The link that a `<link_ctn>` names: on the way there, and on the way back.
    pub(super) fn link_use(&mut self, element: &Element<'a>) -> Result<[LinkId; 2], XmlError> {
        let source = self.source;
        let [id, direction] = element.values(&source, ["id", "direction"])?;
        let id = element.required(&source, "id", id)?;
        if id == LOOPBACK {
            return self.loopback().map(|link| [link; 2]).map_err(|reason| element.error(&source, reason));
        }
        let split = self.world.find_split(&id);
        let fail = |reason: String| Err(element.error(&source, reason));
        match (direction.as_deref().unwrap_or("NONE"), split, self.world.find_link(&id)) {
            ("UP", Some([up, down]), _) => Ok([up, down]),
            ("DOWN", Some([up, down]), _) => Ok([down, up]),
            ("NONE", None, Some(link)) => Ok([link, link]),
            ("NONE", Some(_), _) => {
                fail(format!("the link `{id}` is split-duplex; say direction=\"UP\" or direction=\"DOWN\""))
            }
            ("UP" | "DOWN", None, Some(_)) => {
                fail(format!("the link `{id}` is not split-duplex; leave the direction away"))
            }
            ("UP" | "DOWN" | "NONE", None, None) => {
                let hint = nearest(&id, self.world.link_names())
                    .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                fail(format!("no link called `{id}` stands before this{hint}"))
            }
            (other, ..) => fail(format!("the direction `{other}` is unknown (known: UP, DOWN, NONE)")),
        }
    }

    fn node(&self, element: &Element<'a>, key: &str, name: &str) -> Result<NodeId, XmlError> {
        match self.point(element, key, name)? {
            Point::Node(node) => Ok(node),
            Point::Zone(_) => Err(element.error(
                &self.source,
                format!("{key}=`{name}` is a zone, a host or router is expected (routes between zones are zoneRoute)"),
            )),
        }
    }

    /// The host, router or zone called `name`.
    fn point(&self, element: &Element<'a>, key: &str, name: &str) -> Result<Point, XmlError> {
        self.world.find(name).ok_or_else(|| {
            let hint = nearest(name, self.world.point_names())
                .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
            element.error(
                &self.source,
                format!("{key}=`{name}`: no host, router or zone of that name stands before this{hint}"),
            )
        })
    }

    /// A route ends.
    pub(super) fn route(&mut self, draft: Draft<'a>) -> Result<(), XmlError> {
        let Draft { zone, kind, there, mut back, element } = draft;
        let source = self.source;
        let fail = |reason: String| element.error(&source, reason);
        let [src, dst, gw_src, gw_dst, symmetrical] =
            element.values(&source, ["src", "dst", "gw_src", "gw_dst", "symmetrical"])?;
        let names = [element.required(&source, "src", src)?, element.required(&source, "dst", dst)?];
        let mut ends = [Point::Zone(0); 2];
        for (side, key) in ["src", "dst"].into_iter().enumerate() {
            ends[side] = match self.point(&element, key, &names[side])? {
                point @ Point::Zone(_) if kind.between_zones() => point,
                Point::Node(_) if kind.between_zones() => {
                    return Err(fail(format!(
                        "{key}=`{}` is a host or router, a zone is expected (routes between hosts are route)",
                        names[side]
                    )));
                }
                _ => Point::Node(self.node(&element, key, &names[side])?),
            };
        }
        let gateways: Option<Gateways> = if kind.between_zones() {
            let mut gateways = [NodeId(0); 2];
            for (side, (key, gateway)) in [("gw_src", gw_src), ("gw_dst", gw_dst)].into_iter().enumerate() {
                let name = element.required(&source, key, gateway)?;
                gateways[side] = self.node(&element, key, &name)?;
                let Point::Zone(inside) = ends[side] else { unreachable!("checked above") };
                if !self.world.holds(inside, gateways[side]) {
                    let home = self.world.zone_name(self.world.place(Point::Node(gateways[side])).zone);
                    return Err(fail(format!(
                        "the gateway {key}=`{name}` is in zone `{home}`, not in zone `{}`",
                        names[side]
                    )));
                }
            }
            Some(gateways)
        } else if gw_src.is_some() || gw_dst.is_some() {
            return Err(fail("gateways belong to a zoneRoute".to_owned()));
        } else {
            None
        };
        if there.is_empty() {
            return Err(fail("a route needs at least one link_ctn".to_owned()));
        }
        let symmetrical = match symmetrical.as_deref() {
            Some(_) if kind.bypasses() => {
                return Err(fail("a bypass has one direction; leave `symmetrical` away".to_owned()));
            }
            None | Some("YES" | "yes") => !kind.bypasses(),
            Some("NO" | "no") => false,
            Some(other) => return Err(fail(format!("symmetrical=`{other}`, YES or NO is expected"))),
        };
        self.check_place(zone, kind, ends, &names).map_err(fail)?;
        if kind.bypasses() {
            let bypasses = &mut self.world.zones[zone as usize].bypasses;
            if bypasses.insert((ends[0], ends[1]), Bypass { gateways, links: there }).is_some() {
                return Err(fail("a bypass for this pair is declared already".to_owned()));
            }
            return Ok(());
        }
        let draft = &mut self.world.zones[zone as usize];
        match draft.kind {
            Kind::Full | Kind::Floyd | Kind::Dijkstra => {
                back.reverse();
                let back = symmetrical.then_some(back.as_slice());
                self.world.declare(zone, ends, gateways, &there, back).map_err(fail)
            }
            Kind::Star | Kind::Vivaldi if ends[0] == ends[1] => {
                let local = self.world.place(ends[0]).local;
                let star = &mut self.world.zones[zone as usize].star;
                if star.has_loopback(local) {
                    return Err(fail(format!("`{}` has a loopback already", names[0])));
                }
                star.set_loopback(local, &there);
                Ok(())
            }
            Kind::Star | Kind::Vivaldi => Err(fail(
                "a star (routing=\"Cluster\" or \"Vivaldi\") declares host_link, and routes only from a host to itself"
                    .to_owned(),
            )),
            Kind::Nothing | Kind::Made => Err(fail("this zone's routing takes no routes".to_owned())),
        }
    }

    /// Whether a route may stand in `zone`.
    fn check_place(
        &self,
        zone: u32,
        kind: RouteKind,
        ends: [Point; 2],
        names: &[std::borrow::Cow<'_, str>; 2],
    ) -> Result<(), String> {
        let here = self.world.zone_name(zone);
        for (point, name) in ends.into_iter().zip(names) {
            let mut at = self.world.place(point).zone;
            if kind == RouteKind::ZoneBypass {
                // a bypass may reach into zones inside zones
                while at != zone && at != 0 {
                    at = self.world.zones[at as usize].place.zone;
                }
            }
            if at != zone {
                let home = self.world.zone_name(at);
                return Err(format!(
                    "`{name}` is in zone `{home}`, this route stands in zone `{here}`; move it there"
                ));
            }
        }
        if kind == RouteKind::Route && self.world.zones[zone as usize].has_zones {
            return Err(format!("zone `{here}` holds zones; between them write zoneRoute"));
        }
        Ok(())
    }
}
