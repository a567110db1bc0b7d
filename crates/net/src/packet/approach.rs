//! What the next events need is asked for early, so that it is near when their turn comes.
//!
//! A large machine has more packets, ports and connections than a core's cache holds, and each event needs others. One after
//! the other, each would wait for memory. So they are asked for together, in three steps, none of which has to wait
//! for what it asks for: the packets of a slot when the slot before it begins; when it begins, all
//! that its packets lead to; and then what waits at these ports. What a packet does is not changed by it.

use stratasim_core::memory::{prefetch, prefetch_all};

use super::balancing::{Balancing, Features};
use super::engine::{Engine, Event, Flying};
use super::host::Connection;
use super::landing::Landings;
use super::port::{NOTHING, Port};
use super::routes::{Next, Routes};

/// Fewer events than this are not worth it,
const FEW: usize = 4;
/// and neither are machines whose ports and connections are at most so many bytes.
const NEAR_BYTES: usize = 1 << 20;

impl Engine {
    /// Asks for what the events of a slot will need, when it has just come.
    #[inline]
    pub(super) fn approach(&mut self) {
        if self.events.begun().len() >= FEW && self.is_large() {
            self.approach_slot();
        }
    }

    /// Whether ports and connections are more than the nearer caches of a core hold.
    #[inline]
    fn is_large(&self) -> bool {
        size_of_val(&*self.ports) + self.connections.len() * size_of::<Connection>() > NEAR_BYTES
    }

    fn approach_slot(&mut self) {
        self.events.following(|word| {
            if word < Event::MOST
                && let Some(packet) = self.packets.get(word as usize)
            {
                prefetch(packet);
            }
        });
        let mut near = std::mem::take(&mut self.near);
        near.clear();
        for event in self.events.begun() {
            let (from, word) = event.rank_and_item();
            match Event::of(word) {
                Event::Arrival(packet) => {
                    let flying = &mut self.packets[packet as usize];
                    let node = self.ends[from as usize].node;
                    if flying.signs & Flying::LEADS != 0 {
                        near.push(from);
                    }
                    if self.routes.node_of(flying.to) == node {
                        let Flying { connection, to, .. } = *flying;
                        prefetch(&self.headers[packet as usize]);
                        self.approach_connection(connection, to);
                    } else if flying.signs & Flying::HEADED == 0
                        && let Some(port) =
                            foresee((&self.routes, &self.landings), &self.balancing, node, flying)
                    {
                        flying.next = port;
                        flying.signs |= Flying::FORESEEN;
                        near.push(port);
                    }
                }
                Event::Free(number) => {
                    near.push(number);
                    // a host's own port asks the next of its senders
                    let nic = self.ports[number as usize].nic;
                    let next = self.nics.get(nic as usize).and_then(|nic| nic.ready.get(0).front());
                    if let Some(&connection) = next {
                        self.approach_connection(connection, NOTHING);
                    }
                }
                Event::Poll(number) | Event::Timer(number) => self.approach_connection(number, NOTHING),
                _ => {}
            }
        }
        for &port in &near {
            self.ports[port as usize].prefetch();
        }
        for &port in &near {
            self.approach_line(&self.ports[port as usize]);
        }
        self.near = near;
    }

    /// What waits first and last at a port.
    #[inline]
    fn approach_line(&self, port: &Port) {
        let line = if port.high.is_empty() { &port.lanes.get(0).line } else { &port.high };
        for end in [line.head, line.tail] {
            if let Some(packet) = self.packets.get(end as usize) {
                prefetch(packet);
            }
        }
    }

    #[inline]
    fn approach_connection(&self, number: u32, to: u32) {
        if let Some(connection) = &self.connections[number as usize] {
            let Connection { sender, receiver, message, .. } = &**connection;
            prefetch_all(message);
            if to == connection.to {
                prefetch_all(receiver);
            } else {
                prefetch_all(sender);
            }
        }
    }
}

/// The port by which a packet will leave a switch, where that can be said.
#[inline]
fn foresee(
    (routes, landings): (&Routes, &Landings),
    balancing: &Balancing,
    node: u32,
    flying: &Flying,
) -> Option<u32> {
    // asked first: nearly nobody needs them, and this is in the loop
    let next = if landings.are_needed() {
        landings.toward(routes, node, flying.connection, flying.to)
    } else {
        routes.toward(node, flying.to)
    };
    match next {
        Next::Port(port) => Some(port),
        Next::Set(set) if !balancing.is_by_source() => {
            let Flying { connection, entropy, control, .. } = *flying;
            let members = &routes.members()[routes.set(set)];
            balancing.by_packet(node, Features { connection, entropy, control }, members)
        }
        _ => None,
    }
}
