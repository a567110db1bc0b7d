//! Routes inside one zone, one rule per file.

pub(super) mod dijkstra;
pub(super) mod dragonfly;
pub(super) mod fat_tree;
pub(super) mod floyd;
pub(super) mod full;
pub(super) mod star;
pub(super) mod table;
pub(super) mod torus;

use stratasim_core::{LinkId, NodeId};

use super::routes::Walk;

/// The nodes at which a route between two zones leaves the first and enters the second.
pub(super) type Gateways = [NodeId; 2];

/// How a zone joins its members, which are numbered in the order in which the file names them.
pub(super) trait LocalRoutes: Send + Sync + std::fmt::Debug {
    /// Appends the links from member `src` to member `dst`; the gateways when they are zones.
    ///
    /// # Errors
    /// Why there is no way.
    fn route(&self, walk: &mut Walk<'_>, src: u32, dst: u32) -> Result<Option<Gateways>, String>;
}

/// `routing="None"`: its members reach nobody but themselves.
#[derive(Debug)]
pub(super) struct Nothing;

impl LocalRoutes for Nothing {
    fn route(&self, _: &mut Walk<'_>, src: u32, dst: u32) -> Result<Option<Gateways>, String> {
        if src == dst { Ok(None) } else { Err("they are joined by a zone whose routing is None".to_owned()) }
    }
}

/// A cable of a cluster: one link per direction, or one link for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cables {
    /// The first link; cable `i` is link `first + i`, or links `first + 2 i` (up) and the one after.
    pub(super) first: LinkId,
    /// Whether a cable is two links.
    pub(super) split: bool,
}

impl Cables {
    pub(super) fn up(self, cable: u64) -> LinkId {
        self.link(cable, 0)
    }

    pub(super) fn down(self, cable: u64) -> LinkId {
        self.link(cable, 1)
    }

    fn link(self, cable: u64, way: u64) -> LinkId {
        let offset = if self.split { 2 * cable + way } else { cable };
        LinkId(self.first.0 + offset as u32)
    }
}

/// Refuses routes of a regular cluster that begin or end at one of its switches, which follow its hosts: SimGrid knows no
/// such node.
fn between_hosts(hosts: u64, src: u32, dst: u32) -> Result<(), String> {
    if u64::from(src.max(dst)) < hosts {
        Ok(())
    } else {
        Err("the platform says how the hosts of this cluster reach each other, not its switches".to_owned())
    }
}

/// What every host of a regular cluster may have besides its cables.
#[derive(Debug, Clone, Default)]
pub(super) struct PrivateLinks {
    /// By host: the link of messages to itself.
    pub(super) loopbacks: Vec<LinkId>,
    /// By host, then by switch: the link that all its traffic crosses.
    pub(super) limiters: Vec<LinkId>,
}

impl PrivateLinks {
    pub(super) fn loopback(&self, host: u32) -> Option<LinkId> {
        self.loopbacks.get(host as usize).copied()
    }

    pub(super) fn limiter(&self, place: u64) -> Option<LinkId> {
        self.limiters.get(place as usize).copied()
    }
}
