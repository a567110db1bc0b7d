//! Packets and flits.

use stratasim_core::Slots;

use crate::flit::keys::Keys;
use crate::flit::routing::{Candidate, Head, Surroundings};
use crate::flit::terminals::Terminals;

/// A packet between its source queue and its destination.
#[derive(Debug, Clone)]
pub(super) struct Packet {
    pub(super) head: Head,
    pub(super) flits: u16,
    /// Of its own, or by its age; higher goes first.
    pub(super) priority: i64,
    /// The queue of its source.
    pub(super) queue: u8,
    pub(super) measured: bool,
    pub(super) created: u64,
    /// The first cycle in which it could have entered, where it did not wait before that.
    pub(super) ready: u64,
    pub(super) tag: u32,
    /// Cycle in which the head left the source.
    pub(super) entered: u64,
    /// Cycle in which the head arrived.
    pub(super) head_arrived: u64,
    /// Names the packet's draws.
    pub(super) salt: u64,
}

/// One flit of a packet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flit {
    pub(super) packet: u32,
    /// Routers that it has left.
    pub(super) hops: u16,
    pub(super) vc: u8,
    pub(super) head: bool,
    pub(super) tail: bool,
    /// Cycle in which it left the source.
    pub(super) entered: u64,
}

/// All packets under way, and the outputs that each may take at the router that it is routed for.
#[derive(Debug, Default)]
pub(super) struct Packets {
    table: Slots<Packet>,
    candidates: Vec<Vec<Candidate>>,
}

impl Packets {
    pub(super) fn insert(&mut self, packet: Packet) -> u32 {
        let number = self.table.insert(packet);
        if number as usize == self.candidates.len() {
            self.candidates.push(Vec::new());
        }
        number
    }

    pub(super) fn release(&mut self, number: u32) {
        self.table.release(number);
    }

    #[inline]
    pub(super) fn candidates(&self, number: u32) -> &[Candidate] {
        &self.candidates[number as usize]
    }

    /// The packet, and its candidates emptied, for routing.
    pub(super) fn start_route(&mut self, number: u32) -> (&mut Packet, &mut Vec<Candidate>) {
        let candidates = &mut self.candidates[number as usize];
        candidates.clear();
        (&mut self.table[number], candidates)
    }
}

impl std::ops::Index<u32> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, number: u32) -> &Packet {
        &self.table[number]
    }
}

impl std::ops::IndexMut<u32> for Packets {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Packet {
        &mut self.table[number]
    }
}

/// A router as routing sees it for one packet.
pub(super) struct Here<'a, T> {
    terminals: &'a mut T,
    salt: u64,
    keys: Keys,
    /// Flits sent less credits returned, by output.
    used: &'a [u32],
}

impl<'a, T: Terminals> Here<'a, T> {
    /// `packet` at `router`; `used` is that router's. For the decisions at the source, `router` is `None`.
    pub(super) fn new(terminals: &'a mut T, packet: &Packet, router: Option<u32>, used: &'a [u32]) -> Self {
        Self { terminals, salt: packet.salt, keys: Keys::at(router), used }
    }
}

impl<T: Terminals> Surroundings for Here<'_, T> {
    fn draw(&mut self, bound: u32) -> u32 {
        let key = self.keys.next(self.salt);
        self.terminals.draw(key, bound)
    }

    fn used(&self, output: u16) -> u32 {
        self.used[output as usize]
    }
}
