//! The links by which packets reach hosts, and the pacers that give credit for what comes by each of them.

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
        let interface_of = interfaces_of(routes, ports);
        let mut arrivals = Self {
            pacer_of: vec![NOTHING; ports.len()],
            port_of: vec![NOTHING; interfaces],
            slowest: vec![NOTHING; routes.hosts()],
        };
        for (number, wire) in (0..).zip(wires) {
            let Some(host) = routes.host_of(NodeId(wire.to)) else { continue };
            let pacer = interface_of[number as usize].unwrap_or_else(|| {
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

/// By port: the network interface at its other end that leads back to where it begins. Parallel cables are told apart by their
/// order.
fn interfaces_of(routes: &Routes, ports: &[Port]) -> Vec<Option<u32>> {
    let wires = routes.wires();
    let mut there: Vec<(u32, u32, u32)> =
        (0..).zip(wires).map(|(number, wire)| (wire.to, wire.from, number)).collect();
    there.sort_unstable();
    let mut back: Vec<(u32, u32, u32)> =
        (0..).zip(wires).map(|(number, wire)| (wire.from, wire.to, number)).collect();
    back.retain(|&(.., number)| ports[number as usize].nic != NOTHING);
    back.sort_unstable();
    let mut back = back.into_iter().peekable();
    let mut interface_of = vec![None; ports.len()];
    for (to, from, number) in there {
        while back.next_if(|&(a, b, _)| (a, b) < (to, from)).is_some() {}
        if let Some((.., nic)) = back.next_if(|&(a, b, _)| (a, b) == (to, from)) {
            interface_of[number as usize] = Some(ports[nic as usize].nic);
        }
    }
    interface_of
}
