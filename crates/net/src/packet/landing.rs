//! By which of its NICs a host gets the packets of a connection.

use super::engine::{Engine, Flying};
use super::routes::{Next, Routes};

/// The NICs at which packets of a connection arrive: data at its receiver, what that says at its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Landing {
    pub(super) there: u16,
    pub(super) back: u16,
}

/// Where all ways lead to the only NIC, or any will do.
pub(super) const ANY: u16 = u16::MAX;

/// The NICs of all connections, on machines whose hosts have several.
#[derive(Debug, Clone, Default)]
pub(super) struct Landings {
    /// By connection: the host that gets its data, and where.
    known: Vec<(u32, Landing)>,
}

impl Landings {
    /// Those of the next connection, which leads to host `to`.
    pub(super) fn push(&mut self, to: u32, landing: Landing) {
        self.known.push((to, landing));
    }

    /// Whether any packet is to be led to a NIC.
    #[inline]
    pub(super) const fn are_needed(&self) -> bool {
        !self.known.is_empty()
    }

    /// How packets of a connection go on from `node` to `host`, one of its two, while all links are up.
    pub(super) fn toward(&self, routes: &Routes, node: u32, connection: u32, host: u32) -> Next {
        let nic = self
            .known
            .get(connection as usize)
            .map_or(ANY, |&(to, landing)| if to == host { landing.there } else { landing.back });
        if nic == ANY { routes.toward(node, host) } else { routes.toward_nic(node, host, nic.into()) }
    }
}

impl Engine {
    /// How a packet goes on from `node`, on a machine whose hosts have several NICs. Where no way to its NIC is left, any
    /// other of its host is as good.
    #[inline(never)]
    pub(super) fn toward_landing(&mut self, node: u32, packet: u32) -> Next {
        let Flying { connection, to, .. } = self.packets[packet as usize];
        let Self { landings, routes, detours, .. } = self;
        let led = landings.toward(routes, node, connection, to);
        if !detours.are_needed() {
            return led;
        }
        let general = routes.toward(node, to);
        let mut leads = |port: u32| detours.leads(routes, port, to);
        // off the shortest ways to its NIC, where it has gone round a dead link, it may go to any
        let can = match led {
            Next::Port(port) => routes.begins(port, general) && leads(port),
            Next::Set(set) => {
                let members = &routes.members()[routes.set(set)];
                members.iter().all(|&port| routes.begins(port, general))
                    && members.iter().any(|&port| leads(port))
            }
            Next::Nowhere => false,
        };
        if can { led } else { general }
    }
}
