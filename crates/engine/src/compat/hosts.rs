//! What both peers keep: the clocks of each rank, its queues, and what each operation misses.

use stratasim_core::BuildError;
use stratasim_workload::goal::Schedule;

use super::blocked::{Clocks, Resource};
use super::queue::{EventQueue, RANK};
use crate::ahead::{Columns, pays};
use crate::dependencies::Missing;
use crate::fifo::{Fifo, Fifos};
use crate::stall::{Left, Waits};

/// Most words for the clocks of all ranks (2 GiB).
const MOST_WORDS: u64 = 1 << 28;

/// Posted receives in [`Hosts::queues`].
pub(super) const POSTED: usize = 0;
/// Unexpected messages there.
pub(super) const UNEXPECTED: usize = 1;

/// The state of all ranks.
pub(super) struct Hosts<'a> {
    pub(super) schedule: &'a Schedule,
    cpus: usize,
    nics: usize,
    /// Clocks of each rank: its streams, the sending side of its NICs, their receiving side.
    clocks: Vec<u64>,
    /// Whether [`Hosts::ask_for`] asks for anything.
    looks_ahead: bool,
    /// Dependencies that each operation still misses.
    missing: Missing,
    /// Posted receives and unexpected messages of each rank.
    pub(super) queues: Vec<[Fifo; 2]>,
    pub(super) fifos: Fifos,
    /// (rank, operation) enabled by the event in hand, in order.
    pub(super) enabled: Vec<(u32, u32)>,
}

/// Refuses schedules that have more clocks than fit into memory, or send to a rank that does not exist.
pub(super) fn check(schedule: &Schedule) -> Result<(), BuildError> {
    let (ranks, cpus, nics) = (schedule.ranks(), schedule.cpus(), schedule.nics());
    let clocks = u64::from(cpus + 2 * nics) * u64::from(ranks);
    if clocks > MOST_WORDS || ranks > RANK {
        let reason = format!(
            "{ranks} ranks with {cpus} streams and {nics} NICs each have more clocks than fit into 2 GiB"
        );
        return Err(BuildError::new("", reason));
    }
    schedule.check_sends()
}

impl<'a> Hosts<'a> {
    pub(super) fn new(schedule: &'a Schedule) -> Result<Self, BuildError> {
        check(schedule)?;
        let (cpus, nics) = (schedule.cpus() as usize, schedule.nics() as usize);
        let ranks = schedule.ranks() as usize;
        let words = (cpus + 2 * nics) * ranks;
        Ok(Self {
            schedule,
            cpus,
            nics,
            clocks: vec![0; words],
            looks_ahead: pays(schedule),
            missing: Missing::of(schedule)?,
            queues: vec![[Fifo::default(); 2]; ranks],
            fifos: Fifos::default(),
            enabled: Vec::new(),
        })
    }

    #[inline]
    fn first_clock(&self, rank: u32) -> usize {
        rank as usize * (self.cpus + 2 * self.nics)
    }

    #[inline]
    pub(super) fn cpu(&mut self, rank: u32, cpu: u16) -> &mut u64 {
        let at = self.first_clock(rank) + cpu as usize;
        &mut self.clocks[at]
    }

    #[inline]
    pub(super) fn send_nic(&mut self, rank: u32, nic: u16) -> &mut u64 {
        let at = self.first_clock(rank) + self.cpus + nic as usize;
        &mut self.clocks[at]
    }

    #[inline]
    pub(super) fn receive_nic(&mut self, rank: u32, nic: u16) -> &mut u64 {
        let at = self.first_clock(rank) + self.cpus + self.nics + nic as usize;
        &mut self.clocks[at]
    }

    /// Operations that need nothing, by kind: sends, receives, computations; each in the order of the
    /// file.
    pub(super) fn roots(&self, rank: u32, by_kind: bool, out: &mut Vec<u32>) {
        out.clear();
        out.extend(self.schedule.of_rank(rank).filter(|&operation| self.missing.is_free(operation)));
        if by_kind {
            out.sort_by_key(|&operation| self.schedule.shape(operation).operation.kind);
        }
    }

    /// `operation` started or ended: what waits for that misses one thing less. `enabling` is told what it still misses,
    /// which is less than nothing where somebody ends twice.
    #[inline]
    pub(super) fn resolve(
        &mut self,
        rank: u32,
        operation: u32,
        started: bool,
        mut enabling: impl FnMut(u32, i32),
    ) {
        self.missing.resolve(self.schedule, rank, operation, started, |after, missing| {
            enabling(after, missing);
            if missing == 0 {
                self.enabled.push((rank, after));
            }
        });
    }

    /// Asks for what events will read that come soon.
    #[inline]
    pub(super) fn ask_for(&self, queue: &EventQueue) {
        if !self.looks_ahead {
            return;
        }
        let columns = Columns {
            schedule: self.schedule,
            missing: &self.missing,
            queues: &self.queues,
            fifos: &self.fifos,
        };
        columns.ask_for(|places| queue.later(places));
    }

    /// When the last stream of each rank became free.
    pub(super) fn finish(&self) -> Vec<u64> {
        let busy = |clocks: &[u64]| clocks[..self.cpus].iter().copied().max().unwrap_or(0);
        self.clocks.chunks(self.cpus + 2 * self.nics).map(busy).collect()
    }

    /// What never ended; `eager` says of a size whether such a message does not wait for its receive.
    pub(super) fn left(&self, eager: impl Fn(u64) -> bool) -> Left<'_> {
        let mut left = Left::new(self.schedule);
        if self.fifos.len() > 0 {
            for (rank, [posted, unexpected]) in self.queues.iter().enumerate() {
                for entry in self.fifos.entries(*posted) {
                    left.add(rank as u32, entry.item, Waits::Message);
                }
                for entry in self.fifos.entries(*unexpected) {
                    let over = eager(self.schedule.shape(entry.item).operation.size);
                    let waits = if over { Waits::Nothing } else { Waits::Receive };
                    left.add(self.schedule.rank_of(entry.item), entry.item, waits);
                }
            }
        }
        for rank in 0..self.schedule.ranks() {
            for operation in self.schedule.of_rank(rank) {
                if !self.missing.is_free(operation) {
                    left.add(rank, operation, Waits::Others);
                }
            }
        }
        left
    }
}

impl Clocks for Hosts<'_> {
    #[inline]
    fn free_at(&self, rank: u32, resource: Resource) -> u64 {
        let clocks = &self.clocks[self.first_clock(rank)..];
        match resource {
            Resource::Cpu(cpu) => clocks[cpu as usize],
            Resource::Send(cpu, nic) => clocks[cpu as usize].max(clocks[self.cpus + nic as usize]),
            Resource::Receive(cpu, nic) => {
                clocks[cpu as usize].max(clocks[self.cpus + self.nics + nic as usize])
            }
        }
    }
}
