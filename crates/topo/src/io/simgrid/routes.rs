//! Routes through nested zones: the way up, across the common ancestor, and down.
//!
//! Two nodes of one zone are joined by that zone's own rule. Two nodes of different zones are
//! joined by the route between the two children of their common ancestor that hold them; from the
//! source to that route's first gateway, and from its second gateway to the destination, the same
//! question is asked again one level deeper. A bypass declared in the common ancestor comes first.
//! All gateways are inside the zones that they serve, so every question leads further in and into
//! another zone, and the search ends.

use rustc_hash::FxHashMap;
use stratasim_core::{Duration, LinkId, NodeId};

use super::zone::{Gateways, LocalRoutes};
use crate::Topology;
use crate::routing::RouteError;
use crate::structure::RouteRule;

/// Where a node or zone is: the zone around it and its number among that zone's members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) zone: u32,
    pub(super) local: u32,
}

/// A node or a zone, as the end of a bypass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Point {
    Node(NodeId),
    Zone(u32),
}

/// A route that goes before all others.
#[derive(Debug)]
pub(super) struct Bypass {
    pub(super) gateways: Option<Gateways>,
    pub(super) links: Vec<LinkId>,
}

/// A zone of the platform.
#[derive(Debug)]
pub(super) struct Zone {
    pub(super) name: String,
    /// Its own place; that of the root is in itself.
    pub(super) place: Place,
    /// Zones around it.
    pub(super) depth: u32,
    pub(super) local: Box<dyn LocalRoutes>,
    pub(super) bypasses: FxHashMap<(Point, Point), Bypass>,
}

/// The routes of a platform file, resolved when asked for.
#[derive(Debug)]
pub(super) struct Routes {
    /// Zone 0 is the root.
    pub(super) zones: Vec<Zone>,
    /// By node.
    pub(super) places: Vec<Place>,
}

impl RouteRule for Routes {
    fn name(&self) -> &'static str {
        "simgrid-zones"
    }

    fn routes_to_self(&self) -> bool {
        true
    }

    fn route(
        &self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        _key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        let start = out.len();
        let mut walk = Walk { routes: self, topology, out, extra_s: 0.0, front: start };
        let found = walk.global(src, dst);
        let extra = Duration::from_secs_f64(walk.extra_s);
        let fail = |reason| RouteError::new(topology, src, dst, reason);
        found.map_err(|reason| {
            out.truncate(start);
            fail(reason)
        })?;
        if src != dst && out.len() == start && extra == Duration::ZERO {
            return Err(fail("the platform file defines no link between them".to_owned()));
        }
        Ok(extra)
    }
}

impl Routes {
    /// The zones around `zone`, itself first and the root last.
    fn ancestors(&self, zone: u32) -> impl Iterator<Item = u32> + '_ {
        let parent = |&zone: &u32| (zone != 0).then(|| self.zones[zone as usize].place.zone);
        std::iter::successors(Some(zone), parent)
    }

    /// The innermost zone around both `a` and `b`.
    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            let (depth_a, depth_b) = (self.zones[a as usize].depth, self.zones[b as usize].depth);
            if depth_a >= depth_b {
                a = self.zones[a as usize].place.zone;
            }
            if depth_b >= depth_a {
                b = self.zones[b as usize].place.zone;
            }
        }
        a
    }

    /// The child of `ancestor` around `node`; `None` when `ancestor` itself is its zone.
    fn child(&self, ancestor: u32, node: NodeId) -> Option<u32> {
        let zone = self.places[node.index()].zone;
        self.ancestors(zone).take_while(|&zone| zone != ancestor).last()
    }
}

/// One route on the way.
pub(super) struct Walk<'a> {
    routes: &'a Routes,
    pub(super) topology: &'a Topology,
    /// The links so far.
    pub(super) out: &'a mut Vec<LinkId>,
    /// Latency of no link, in seconds.
    pub(super) extra_s: f64,
    /// Where the list begins that the current zone adds to.
    pub(super) front: usize,
}

impl Walk<'_> {
    /// Does `part` on a list of its own that goes after the current one.
    pub(super) fn aside<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        let front = std::mem::replace(&mut self.front, self.out.len());
        let done = part(self);
        self.front = front;
        done
    }

    /// Appends the route from `src` to `dst`, wherever they are.
    pub(super) fn global(&mut self, src: NodeId, dst: NodeId) -> Result<(), String> {
        let routes = self.routes;
        let [from, to] = [src, dst].map(|node| routes.places[node.index()]);
        let common = routes.common(from.zone, to.zone);
        if self.bypass(common, src, dst)? {
            Ok(())
        } else if from.zone == to.zone {
            routes.zones[common as usize].local.route(self, from.local, to.local).map(|_| ())
        } else {
            self.across(common, src, dst)
        }
    }

    /// Appends the route from `src` to `dst`, which are in different zones inside `common`.
    fn across(&mut self, common: u32, src: NodeId, dst: NodeId) -> Result<(), String> {
        let routes = self.routes;
        let zone = &routes.zones[common as usize];
        let children = [src, dst].map(|node| routes.child(common, node));
        let local = |child: Option<u32>, node: NodeId| match child {
            Some(child) => routes.zones[child as usize].place.local,
            None => routes.places[node.index()].local,
        };
        let start = self.out.len();
        let gateways =
            self.aside(|walk| zone.local.route(walk, local(children[0], src), local(children[1], dst)))?;
        let between = self.out.split_off(start);
        let gateway = |side: usize| {
            gateways.map(|both| both[side]).ok_or_else(|| {
                let name = |side: usize, node| match children[side] {
                    Some(child) => format!("zone `{}`", routes.zones[child as usize].name),
                    None => format!("`{}`", self.topology.node_name(node)),
                };
                format!("zone `{}` has no zoneRoute from {} to {}", zone.name, name(0, src), name(1, dst))
            })
        };
        if children[0].is_some() {
            let gateway = gateway(0)?;
            self.aside(|walk| walk.within(src, gateway))?;
        }
        self.out.extend(between);
        if children[1].is_some() {
            let gateway = gateway(1)?;
            self.aside(|walk| walk.within(gateway, dst))?;
        }
        Ok(())
    }

    /// Appends the way between a node and a gateway of its zone; nothing when they are the same. A
    /// bypass between two hosts holds for messages between them, not for this.
    fn within(&mut self, src: NodeId, dst: NodeId) -> Result<(), String> {
        let [from, to] = [src, dst].map(|node| self.routes.places[node.index()]);
        if src == dst {
            Ok(())
        } else if from.zone == to.zone {
            self.routes.zones[from.zone as usize].local.route(self, from.local, to.local).map(|_| ())
        } else {
            self.global(src, dst)
        }
    }

    /// Takes a bypass of `common` if one holds; says whether it did.
    fn bypass(&mut self, common: u32, src: NodeId, dst: NodeId) -> Result<bool, String> {
        let routes = self.routes;
        let bypasses = &routes.zones[common as usize].bypasses;
        if bypasses.is_empty() {
            return Ok(false);
        }
        let [from, to] = [src, dst].map(|node| routes.places[node.index()].zone);
        if from == common && to == common {
            let found = bypasses.get(&(Point::Node(src), Point::Node(dst)));
            self.out.extend(found.iter().flat_map(|bypass| &bypass.links));
            return Ok(found.is_some());
        }
        // zones from the inside out; the common one only where a node is right in it
        let path = |zone: u32| -> Vec<Point> {
            let below = routes.ancestors(zone).take_while(|&zone| zone != common).map(Point::Zone);
            let path: Vec<_> = below.collect();
            if path.is_empty() { vec![Point::Zone(zone)] } else { path }
        };
        let (from, to) = (path(from), path(to));
        let lookup = |i: usize, j: usize| bypasses.get(&(*from.get(i)?, *to.get(j)?));
        // the innermost pair of zones wins: the one whose larger distance is least
        let found = (0..from.len().max(to.len())).find_map(|most| {
            let mixed = (0..most).find_map(|less| lookup(less, most).or_else(|| lookup(most, less)));
            mixed.or_else(|| lookup(most, most))
        });
        let Some(bypass) = found else { return Ok(false) };
        let Some([gw_src, gw_dst]) = bypass.gateways else { return Ok(false) };
        // also when the gateway is the node itself: its loopback then counts
        self.global(src, gw_src)?;
        self.out.extend(&bypass.links);
        self.global(gw_dst, dst)?;
        Ok(true)
    }
}
