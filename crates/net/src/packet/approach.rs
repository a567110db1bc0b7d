//! What the next events need is looked at early, so that it is near when their turn comes.
//!
//! A large machine has more packets, ports and connections than a core's cache holds, and each event needs others. One after
//! the other, each would wait for memory; looked at together, without anything that depends on what is found, they
//! are fetched at the same time.

use super::balancing::Features;
use super::engine::{Engine, Event, Flying};
use super::port::NOTHING;
use super::routes::Next;

/// Fewer events than this are not worth it.
const FEW: usize = 4;

impl Engine {
    /// Looks at what the events of a slot will need, when it has just come. Changes nothing.
    #[inline]
    pub(super) fn approach(&self) {
        let events = self.events.begun();
        if events.len() < FEW {
            return;
        }
        let mut seen = 0_u64;
        for event in events {
            let (from, word) = event.rank_and_item();
            seen ^= match Event::of(word) {
                Event::Arrival(packet) => {
                    let flying = &self.packets[packet as usize];
                    let node = self.ends[from as usize].node;
                    if self.routes.node_of(flying.to) == node {
                        self.headers[packet as usize].sequence
                            ^ self.approach_connection(flying.connection, flying.to)
                    } else {
                        self.foresee(node, flying).map_or(0, |port| self.approach_port(port))
                    }
                }
                Event::Free(port) => self.approach_port(port),
                Event::Poll(number) | Event::Timer(number) => self.approach_connection(number, NOTHING),
                _ => 0,
            };
        }
        std::hint::black_box(seen);
    }

    /// The port by which a packet will leave a switch, where that can be said.
    #[inline]
    fn foresee(&self, node: u32, flying: &Flying) -> Option<u32> {
        match self.routes.toward(node, flying.to) {
            Next::Port(port) => Some(port),
            Next::Set(set) => {
                let Flying { connection, entropy, control, .. } = *flying;
                let members = &self.routes.members()[self.routes.set(set)];
                self.balancing.by_packet(node, Features { connection, entropy, control }, members)
            }
            Next::Nowhere => None,
        }
    }

    #[inline]
    fn approach_port(&self, port: u32) -> u64 {
        let port = &self.ports[port as usize];
        let line = if port.high.is_empty() { &port.lanes.get(0).line } else { &port.high };
        let next = self.packets.get(line.head as usize).map_or(0, |flying| flying.bytes);
        let last = self.packets.get(line.tail as usize).map_or(0, |flying| flying.bytes);
        port.glance() ^ u64::from(next ^ last)
    }

    #[inline]
    fn approach_connection(&self, number: u32, to: u32) -> u64 {
        self.connections[number as usize].as_ref().map_or(0, |connection| connection.glance(to))
    }
}
