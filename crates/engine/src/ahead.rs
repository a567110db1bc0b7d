//! What events of an instant will read is asked for some events before, so that it comes while others are served: ranks take
//! turns, and each time what belongs to one of many has left the nearer caches. Nothing depends on it but speed.

use stratasim_core::memory::{LINE_BYTES, prefetch};
use stratasim_workload::goal::Schedule;

use crate::dependencies::Missing;
use crate::fifo::{Fifo, Fifos};

/// So many events before its own an event is looked at: first for where things are found, then for more and more of what was
/// found there.
const TURNS: [usize; 5] = [24, 18, 12, 7, 3];

/// Bytes that the next events of all ranks read where each has a line of its own in every column: from here on the nearer caches
/// do not hold them until a rank's turn comes again.
const MANY_BYTES: u64 = 1 << 20;
/// About the lines that an event reads.
const LINES: u64 = 12;
/// Operations of a rank below which those of several ranks share lines.
const LONG: u64 = 64;

/// Whether it is worth asking early.
pub(crate) fn pays(schedule: &Schedule) -> bool {
    let (ranks, operations) = (u64::from(schedule.ranks()), u64::from(schedule.len()));
    ranks * LINES * LINE_BYTES as u64 >= MANY_BYTES && operations >= ranks * LONG
}

/// What an event is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Coming {
    /// An operation of a rank, which starts or ends.
    Operation { rank: u32, operation: u32 },
    /// The message of a send of rank `from`, or its announcement, which arrives.
    Message { from: u32, send: u32 },
}

/// What a run reads by operation and by rank; `queues` are posted receives and unexpected messages.
pub(crate) struct Columns<'a> {
    pub(crate) schedule: &'a Schedule,
    pub(crate) missing: &'a Missing,
    pub(crate) queues: &'a [[Fifo; 2]],
    pub(crate) fifos: &'a Fifos,
}

impl Columns<'_> {
    /// Asks for what the events of the instant in hand will read; `later(n)` is the one after the next `n`.
    #[inline]
    pub(crate) fn ask_for(&self, later: impl Fn(usize) -> Option<Coming>) {
        for (step, turn) in TURNS.into_iter().enumerate() {
            match later(turn) {
                Some(Coming::Operation { rank, operation }) => self.ask_for_operation(rank, operation, step),
                Some(Coming::Message { from, send }) => self.ask_for_message(from, send, step),
                None => {}
            }
        }
    }

    #[inline]
    fn ask_for_operation(&self, rank: u32, operation: u32, step: usize) {
        match step {
            0 => self.schedule.ask_for(operation),
            2 => self.schedule.ask_for_edges(operation),
            3 => self.missing.ask_for(self.schedule, rank, operation),
            _ => {}
        }
    }

    #[inline]
    fn ask_for_message(&self, from: u32, send: u32, step: usize) {
        if step == 0 {
            return self.schedule.ask_for(send);
        }
        let to = self.schedule.shape(send).peer(from, self.schedule.ranks());
        let [posted, _] = &self.queues[to as usize];
        if step == 1 {
            return prefetch(posted);
        }
        if step == 2 {
            return self.fifos.ask_for_first(*posted);
        }
        // most messages find their receive in front
        let Some(receive) = self.fifos.first(*posted) else { return };
        match step {
            3 => self.schedule.ask_for(receive),
            _ => self.schedule.ask_for_edges(receive),
        }
    }
}
