//! The links by which packets reach hosts, and the pacers that give credit for what comes by each of them.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use stratasim_core::NodeId;

use super::landing::ANY;
use super::port::{NOTHING, Port};
use super::routes::Routes;

/// Which link is whose pacer's.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    /// By port: the pacer of what comes by it, where it ends at a host. That of a network interface has the number of the
    /// interface; those of links by which nothing can leave come behind.
    pacer_of: Vec<u32>,
    /// By pacer: its port.
    port_of: Vec<u32>,
    /// By host: the slowest port that ends there.
    slowest: Vec<u32>,
}

impl Arrivals {
    /// Those of a network with so many network interfaces, of which `ports` tell their numbers.
    pub(super) fn new(routes: &Routes, ports: &[Port], interfaces: usize) -> Self {
        let wires = routes.wires();
        // parallel cables are told apart by their order
        let mut cables: FxHashMap<(u32, u32), VecDeque<u32>> = FxHashMap::default();
        for (wire, port) in wires.iter().zip(ports).filter(|(_, port)| port.nic != NOTHING) {
            cables.entry((wire.from, wire.to)).or_default().push_back(port.nic);
        }
        let mut arrivals = Self {
            pacer_of: vec![NOTHING; ports.len()],
            port_of: vec![NOTHING; interfaces],
            slowest: vec![NOTHING; routes.hosts()],
        };
        for (number, wire) in (0..).zip(wires) {
            let Some(host) = routes.host_of(NodeId(wire.to)) else { continue };
            let interface = cables.get_mut(&(wire.to, wire.from)).and_then(VecDeque::pop_front);
            let pacer = interface.unwrap_or_else(|| {
                arrivals.port_of.push(NOTHING);
                arrivals.port_of.len() as u32 - 1
            });
            arrivals.pacer_of[number as usize] = pacer;
            arrivals.port_of[pacer as usize] = number;
            let slowest = &mut arrivals.slowest[host as usize];
            let rate = |port: u32| ports[port as usize].kind.rate.bytes_per_s();
            if *slowest == NOTHING || rate(number) < rate(*slowest) {
                *slowest = number;
            }
        }
        arrivals
    }

    /// How many pacers there are.
    pub(super) fn pacers(&self) -> usize {
        self.port_of.len()
    }

    /// The pacer of what comes to a host by `port`.
    #[inline]
    pub(super) fn pacer_of(&self, port: u32) -> u32 {
        self.pacer_of[port as usize]
    }

    /// The port by which data comes to `host`: that of its NIC `there`, or, where it may come by any, the slowest.
    pub(super) fn port_to(&self, routes: &Routes, ports: &[Port], host: u32, there: u16) -> u32 {
        let own = routes.ports_of(routes.node_of(host));
        let named = (there != ANY).then(|| own.start + u32::from(there)).filter(|port| own.contains(port));
        let arriving = named.map(|port| ports[port as usize].nic).filter(|&nic| nic != NOTHING);
        let port = arriving.map_or(NOTHING, |nic| self.port_of[nic as usize]);
        if port == NOTHING { self.slowest[host as usize] } else { port }
    }
}
