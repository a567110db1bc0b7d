//! Where the packets of a connection are led: to a NIC of their host, or on a way that was given.

use stratasim_core::NodeId;

use super::engine::{Engine, Flying};
use super::given::{GivenWays, Way};
use super::routes::{Next, Routes};

/// The NICs at which packets of a connection arrive: data at its receiver, what that says at its sender. And the ways that
/// they take, where these are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Landing {
    pub(super) there: u16,
    pub(super) back: u16,
    pub(super) way_there: Option<Way>,
    pub(super) way_back: Option<Way>,
}

/// Where all ways lead to the only NIC, or any will do.
pub(super) const ANY: u16 = u16::MAX;

/// Those of all connections, on machines whose hosts have several NICs, and where ways are given.
#[derive(Debug, Clone, Default)]
pub(super) struct Landings {
    /// By connection: the host that gets its data, and where.
    known: Vec<(u32, Landing)>,
    needed: bool,
    pub(super) ways: GivenWays,
}

impl Landings {
    /// Of no connection yet.
    pub(super) fn new(needed: bool) -> Self {
        Self { needed, ..Self::default() }
    }

    /// Those of the next connection, which leads to host `to`.
    pub(super) fn push(&mut self, to: u32, landing: Landing) {
        if self.needed {
            self.known.push((to, landing));
        }
    }

    /// Whether any packet is to be led.
    #[inline]
    pub(super) const fn are_needed(&self) -> bool {
        self.needed
    }

    /// The way that packets of a connection take to `host`, one of its two, where it is given.
    fn given(&self, connection: u32, host: u32) -> Option<Way> {
        let &(to, landing) = self.known.get(connection as usize)?;
        if to == host { landing.way_there } else { landing.way_back }
    }

    /// How packets of a connection go on from `node` to `host`, one of its two, while all links are up.
    pub(super) fn toward(&self, routes: &Routes, node: u32, connection: u32, host: u32) -> Next {
        if let Some(way) = self.given(connection, host) {
            return self.ways.toward(way, node);
        }
        let nic = self
            .known
            .get(connection as usize)
            .map_or(ANY, |&(to, landing)| if to == host { landing.there } else { landing.back });
        if nic == ANY { routes.toward(node, host) } else { routes.toward_nic(node, host, nic.into()) }
    }
}

impl Engine {
    /// Notes a way that is given, by nodes and ports.
    pub(super) fn learn(&mut self, steps: &[(u32, u32)]) -> Way {
        for &(node, _) in &steps[1..] {
            if self.routes.host_of(NodeId(node)).is_some() {
                let ports = self.routes.ports_of(node);
                self.ports[ports.start as usize..ports.end as usize]
                    .iter_mut()
                    .for_each(|port| port.between = true);
            }
        }
        self.landings.ways.add(steps)
    }

    /// How a packet goes on from `node`, on a machine whose hosts have several NICs or where ways are given. Where no way to
    /// its NIC is left, any other of its host is as good.
    #[inline(never)]
    pub(super) fn toward_landing(&mut self, node: u32, packet: u32) -> Next {
        let Flying { connection, to, .. } = self.packets[packet as usize];
        let Self { landings, routes, detours, .. } = self;
        let led = landings.toward(routes, node, connection, to);
        if !detours.are_needed() || landings.given(connection, to).is_some() {
            return led;
        }
        let general = routes.toward(node, to);
        let mut leads = |port: u32| detours.leads(routes, port, to);
        // off the shortest ways to its NIC, where it has gone round a dead link, it may go to any
        let can = match led {
            Next::Port(port) => routes.begins(port, node, general) && leads(port),
            Next::Set(set) => {
                let members = routes.members(node, set);
                members.ports().all(|port| routes.begins(port, node, general)) && members.ports().any(leads)
            }
            Next::Nowhere => false,
        };
        if can { led } else { general }
    }
}
