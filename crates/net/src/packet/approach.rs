//! What the next events need is asked for early, so that it is near when their turn comes.
//!
//! A large machine has more packets, ports and connections than a core's cache holds, and each event needs others. One after
//! the other, each would wait for memory. So they are asked for together, in three steps, each of them a slot later than the
//! one before, so that none has to wait for what it asks for: the packets of a slot; all that they lead to; and when the slot
//! begins, what waits at these ports. What a packet does is not changed by it.

use stratasim_core::memory::{prefetch, prefetch_all};

use super::balancing::{Balancing, Features};
use super::engine::{Engine, Event, Flying, arriving};
use super::host::Connection;
use super::landing::Landings;
use super::routes::{Next, Routes};

/// Machines whose ports and connections are at most so many bytes are not worth it.
const NEAR_BYTES: usize = 1 << 20;

impl Engine {
    /// Asks for what events will need, when the first of a slot has just come.
    #[inline]
    pub(super) fn approach(&mut self) {
        if self.events.has_begun() && self.is_large() {
            self.approach_slots();
        }
    }

    /// Whether ports and connections are more than the nearer caches of a core hold.
    #[inline]
    fn is_large(&self) -> bool {
        self.ports.service_bytes() + self.connections.len() * size_of::<Connection>() > NEAR_BYTES
    }

    fn approach_slots(&mut self) {
        let mut near = std::mem::take(&mut self.near);
        // what waits at the ports that were asked for when the slot before began
        for &port in &near {
            self.approach_line(port);
        }
        near.clear();
        let mut senders = std::mem::take(&mut self.near_senders);
        for &number in &senders {
            approach_rest(&self.connections, number);
        }
        senders.clear();
        let [next, then, last] = self.events.following();
        if let Some(slot) = next {
            self.events.walk(slot, |_, word| {
                // nearly all of them are arrivals
                if word >= Event::MOST {
                    match Event::of(word) {
                        Event::Free(number) => near.push(number),
                        Event::Poll(number) | Event::Timer(number) => {
                            approach_connection(&self.connections, number, true);
                            senders.push(number);
                        }
                        _ => {}
                    }
                    return;
                }
                let flying = &mut self.packets[word as usize];
                let Flying { port: from, to, connection, signs, .. } = *flying;
                let node = self.ends[from as usize].node;
                if signs & Flying::LEADS != 0 {
                    near.push(from);
                }
                if self.routes.node_of(to) == node {
                    prefetch_all(&self.headers[word as usize]);
                    let sends = signs & Flying::BACK != 0;
                    approach_connection(&self.connections, connection, sends);
                    if sends {
                        senders.push(connection);
                    }
                } else if signs & (Flying::HEADED | Flying::FORESEEN) == 0
                    && let Some(port) = foresee((&self.routes, &self.landings), &self.balancing, node, flying)
                {
                    flying.next = port;
                    flying.signs |= Flying::FORESEEN;
                    near.push(port);
                }
            });
        }
        for &port in &near {
            self.ports.prefetch(port, self.rules.keeps_count);
        }
        self.near = near;
        self.near_senders = senders;
        if let Some(slot) = then {
            self.events.walk(slot, |_, word| {
                if let Some(packet) = arriving(&self.packets, word) {
                    prefetch(packet);
                }
            });
        }
        if let Some(slot) = last {
            self.events.prefetch(slot);
        }
    }

    /// What waits first at a port; a host's own port asks the next of its senders.
    #[inline]
    fn approach_line(&self, port: u32) {
        let service = self.ports.service(port);
        let line = if service.high.is_empty() { &service.line } else { &service.high };
        if let Some(packet) = self.packets.get(line.head as usize) {
            prefetch(packet);
        }
        if service.is_of_host() {
            let nic = &self.nics[self.ends[port as usize].nic as usize];
            // it was asked for when the one before it had its turn
            if let Some(&connection) = nic.ready.get(0).front() {
                approach_rest(&self.connections, connection);
            }
        }
    }

    /// Asks for a sender whose turn comes next.
    #[inline]
    pub(super) fn approach_sender(&self, connection: u32) {
        if self.is_large() {
            approach_connection(&self.connections, connection, true);
        }
    }
}

/// What of a sender lies elsewhere, when the rest of it has been asked for.
#[inline]
fn approach_rest(connections: &[Option<Box<Connection>>], number: u32) {
    if let Some(connection) = &connections[number as usize] {
        connection.sender.prefetch();
    }
}

/// The sender of a connection, or its receiver.
#[inline]
fn approach_connection(connections: &[Option<Box<Connection>>], number: u32, sends: bool) {
    if let Some(connection) = &connections[number as usize] {
        let Connection { sender, receiver, message, from, .. } = &**connection;
        prefetch(message);
        prefetch(from);
        if sends {
            prefetch_all(sender);
        } else {
            prefetch_all(receiver);
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
            let Flying { connection, entropy, .. } = *flying;
            let features = Features { connection, entropy, control: flying.is_control() };
            balancing.by_packet(node, features, routes.members(node, set))
        }
        _ => None,
    }
}
