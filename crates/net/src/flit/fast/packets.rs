//! The packets under way: what is read at the ends, and what routing remembers.

use super::flit::Flit;

/// What is read and written at the ends.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Cold {
    pub(super) source: u32,
    pub(super) dest: u32,
    pub(super) flits: u16,
    pub(super) range: u8,
    /// Routers that its head went through.
    pub(super) hops: u16,
    pub(super) measured: bool,
    pub(super) created: u64,
    pub(super) entered: u64,
    pub(super) head_arrived: u64,
    /// When the flit that arrived last had entered.
    pub(super) last_entered: u64,
    pub(super) tag: u64,
    /// What its draws depend on.
    pub(super) salt: u64,
}

/// Columns over packets; places are used again, the last one first.
#[derive(Debug)]
pub(super) struct Packets {
    /// Heads that wait in a ring behind another packet.
    pub(super) queued: Vec<Flit>,
    /// Larger memory of routing functions; only of those that have one.
    pub(super) memory: Vec<u64>,
    remembers: bool,
    pub(super) cold: Vec<Cold>,
    free: Vec<u32>,
}

impl Packets {
    /// No packets; whether routing `remembers` anything in them.
    pub(super) fn new(remembers: bool) -> Self {
        Self { queued: Vec::new(), memory: Vec::new(), remembers, cold: Vec::new(), free: Vec::new() }
    }

    /// Puts a packet in; its number.
    #[inline]
    pub(super) fn insert(&mut self, memory: u64, cold: Cold) -> u32 {
        if let Some(id) = self.free.pop() {
            self.cold[id as usize] = cold;
            if self.remembers {
                self.memory[id as usize] = memory;
            }
            id
        } else {
            self.queued.push(Flit::default());
            self.cold.push(cold);
            if self.remembers {
                self.memory.push(memory);
            }
            self.cold.len() as u32 - 1
        }
    }

    /// Forgets a packet.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        self.free.push(id);
    }
}
