//! Memory that members reach without messages: who may read what when.
//!
//! Meetings cut the time of a member into epochs. A member may read what another wrote in an earlier epoch than
//! its own, and nobody may write what another reads in the same epoch: then no order of events matters.

use std::collections::BTreeMap;

use crate::collective::kernel::Held;

/// A chunk of a member, in its own memory or in its part of the shared one.
type Cell = (u32, bool, u32);

pub(super) struct Sharing {
    /// Whether there is anything to watch.
    watches: bool,
    /// Meetings that each member left: its epoch.
    epoch: Vec<u32>,
    /// Who is in a meeting: group, and how many came before it can go on.
    inside: Vec<Option<(u64, u32)>>,
    came: BTreeMap<u64, (u32, Vec<u32>)>,
    released: Vec<u32>,
    written: BTreeMap<Cell, u32>,
    read: BTreeMap<Cell, u32>,
    stored: BTreeMap<(u32, u32), Vec<u64>>,
}

impl Sharing {
    pub(super) fn new(members: u32, watches: bool) -> Self {
        Self {
            watches,
            epoch: vec![0; members as usize],
            inside: vec![None; members as usize],
            came: BTreeMap::new(),
            released: Vec::new(),
            written: BTreeMap::new(),
            read: BTreeMap::new(),
            stored: BTreeMap::new(),
        }
    }

    /// What is in the shared memory at the beginning.
    pub(super) fn holds(&mut self, member: u32, chunk: u32, set: Vec<u64>) {
        self.stored.insert((member, chunk), set);
    }

    /// `member` comes to a meeting of `members`.
    pub(super) fn come(&mut self, member: u32, group: u64, members: u32) {
        let (count, waiting) = self.came.entry(group).or_default();
        *count += 1;
        waiting.push(member);
        self.inside[member as usize] = Some((group, count.div_ceil(members) * members));
        if count.is_multiple_of(members) {
            self.released.append(waiting);
        }
    }

    /// Whether `member` is in a meeting to which not all came.
    pub(super) fn waits(&self, member: u32) -> bool {
        self.inside[member as usize].is_some_and(|(group, needed)| self.came[&group].0 < needed)
    }

    /// `member` leaves its meeting.
    pub(super) fn go(&mut self, member: u32) {
        self.inside[member as usize] = None;
        self.epoch[member as usize] += 1;
    }

    /// Members whose meeting is complete.
    pub(super) fn released(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.released)
    }

    /// `member` reads a chunk of `from`: `None` when it may not, `Some(None)` when it finds what `from` holds,
    /// otherwise what `from` stored (nothing where it did not).
    pub(super) fn load(&mut self, member: u32, from: u32, at: Held, chunk: u32) -> Option<Option<Vec<u64>>> {
        let cell = (from, at == Held::InShared, chunk);
        let now = self.epoch[member as usize];
        // what was there at the beginning is there once all have come
        if now <= self.written.get(&cell).copied().unwrap_or(0) {
            return None;
        }
        let last = self.read.entry(cell).or_default();
        *last = now.max(*last);
        Some(match at {
            Held::ByMember => None,
            Held::InShared => Some(self.stored.get(&(from, chunk)).cloned().unwrap_or_default()),
        })
    }

    /// `member` stores chunks into its part of the shared memory.
    ///
    /// # Errors
    /// The chunk that somebody may still read.
    pub(super) fn store(
        &mut self,
        member: u32,
        chunks: impl Iterator<Item = (u32, Vec<u64>)>,
    ) -> Result<(), u32> {
        for (chunk, set) in chunks {
            if !self.write_cell((member, true, chunk)) {
                return Err(chunk);
            }
            self.stored.insert((member, chunk), set);
        }
        Ok(())
    }

    /// `member` changes a chunk that it holds; whether nobody may still read it.
    pub(super) fn write(&mut self, member: u32, chunk: u32) -> bool {
        !self.watches || self.write_cell((member, false, chunk))
    }

    fn write_cell(&mut self, cell: Cell) -> bool {
        let now = self.epoch[cell.0 as usize];
        self.written.insert(cell, now);
        self.read.get(&cell).is_none_or(|&read| read < now)
    }
}
