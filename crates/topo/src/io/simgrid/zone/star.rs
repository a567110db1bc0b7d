//! `routing="Cluster"` (a star): every member has links up to the middle and down from it; and
//! `routing="Vivaldi"`, which adds the latency that coordinates predict.

use stratasim_core::{LinkId, NodeId};

use super::{Gateways, LocalRoutes};
use crate::io::simgrid::routes::Walk;

/// Links of a member of a star. What a file does not set is empty, unless it sets another part.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::io::simgrid) struct Arm {
    up: Option<[u32; 2]>,
    down: Option<[u32; 2]>,
    loopback: Option<[u32; 2]>,
}

/// A star of members.
#[derive(Debug, Default)]
pub(in crate::io::simgrid) struct Star {
    /// By member.
    arms: Vec<Option<Arm>>,
    pool: Vec<LinkId>,
}

impl Star {
    fn arm(&mut self, member: u32) -> &mut Arm {
        if self.arms.len() <= member as usize {
            self.arms.resize(member as usize + 1, None);
        }
        self.arms[member as usize].get_or_insert_default()
    }

    fn store(&mut self, links: &[LinkId]) -> Option<[u32; 2]> {
        let start = self.pool.len() as u32;
        self.pool.extend(links);
        Some([start, self.pool.len() as u32])
    }

    /// Sets the links from `member` to the middle and back, each in the order of travel.
    pub(in crate::io::simgrid) fn set(&mut self, member: u32, up: &[LinkId], down: &[LinkId]) {
        let (up, down) = (self.store(up), self.store(down));
        let arm = self.arm(member);
        (arm.up, arm.down) = (up, down);
    }

    /// Sets the links from `member` to itself.
    pub(in crate::io::simgrid) fn set_loopback(&mut self, member: u32, links: &[LinkId]) {
        self.arm(member).loopback = self.store(links);
    }

    /// Whether `member` has links to itself.
    pub(in crate::io::simgrid) fn has_loopback(&self, member: u32) -> bool {
        self.get(member).is_some_and(|arm| arm.loopback.is_some())
    }

    fn get(&self, member: u32) -> Option<&Arm> {
        self.arms.get(member as usize)?.as_ref()
    }

    fn links(&self, range: Option<[u32; 2]>) -> &[LinkId] {
        range.map_or(&[], |[start, end]| &self.pool[start as usize..end as usize])
    }
}

impl LocalRoutes for Star {
    fn route(&self, walk: &mut Walk<'_>, src: u32, dst: u32) -> Result<Option<Gateways>, String> {
        let start = walk.out.len();
        // a link that is on both arms, such as the backbone, is crossed once
        let mut cross = |links: &[LinkId]| {
            for &link in links {
                if !walk.out[start..].contains(&link) {
                    walk.out.push(link);
                }
            }
        };
        let (from, to) = (self.get(src), self.get(dst));
        if src == dst && from.is_some_and(|arm| arm.loopback.is_some()) {
            cross(self.links(from.and_then(|arm| arm.loopback)));
            return Ok(None);
        }
        if from.is_some_and(|arm| arm.up.is_none()) || to.is_some_and(|arm| arm.down.is_none()) {
            return Err(
                "a member of the star between them has no link to its middle; add a host_link".to_owned()
            );
        }
        cross(self.links(from.and_then(|arm| arm.up)));
        cross(self.links(to.and_then(|arm| arm.down)));
        Ok(None)
    }
}

/// Where a member of a Vivaldi zone is.
#[derive(Debug, Clone, Copy)]
pub(in crate::io::simgrid) struct Position {
    /// Two on a plane and a height, in milliseconds.
    pub(in crate::io::simgrid) coordinates: [f64; 3],
    /// Of a zone: the router that has those coordinates.
    pub(in crate::io::simgrid) gateway: Option<NodeId>,
}

/// A star whose members have coordinates.
///
/// Latency of no link is their Euclidean distance on the plane plus both heights (Dabek et al.,
/// "Vivaldi: a decentralized network coordinate system", SIGCOMM 2004). A zone `x` is where its
/// router `router_x` is, which is its gateway too.
#[derive(Debug, Default)]
pub(in crate::io::simgrid) struct Vivaldi {
    pub(in crate::io::simgrid) star: Star,
    /// By member.
    pub(in crate::io::simgrid) positions: Vec<Option<Position>>,
}

impl LocalRoutes for Vivaldi {
    fn route(&self, walk: &mut Walk<'_>, src: u32, dst: u32) -> Result<Option<Gateways>, String> {
        self.star.route(walk, src, dst)?;
        let position = |member: u32| {
            let known = self.positions.get(member as usize).copied().flatten();
            known.ok_or(
                "a member of the Vivaldi zone between them has no coordinates; give the host its own, a zone `x` a router `router_x` with them",
            )
        };
        let (from, to) = (position(src)?, position(dst)?);
        let ([x1, y1, h1], [x2, y2, h2]) = (from.coordinates, to.coordinates);
        let distance_ms = ((x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2)).sqrt() + h1.abs() + h2.abs();
        walk.extra_s += distance_ms / 1000.0;
        // a host is its own gateway
        let gateway = |position: Position, other: Position| position.gateway.or(other.gateway);
        Ok(gateway(from, to).zip(gateway(to, from)).map(<[NodeId; 2]>::from))
    }
}
