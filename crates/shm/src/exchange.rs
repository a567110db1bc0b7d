//! Schedules with one synchronisation: everybody says what it has, all wait, everybody reads what it needs. Direct reads
//! the others' Local memory, CSC (SW-IntraCC, algorithms 1 and 2) what they have put into Global.
//!
//! Data that is not in shared memory, and all data of CSC, goes through staging areas in pieces. Each has two halves, so
//! one synchronisation per piece is enough: who writes into a half knows that all have passed the synchronisation after
//! the piece that used it last.

use crate::control::Call;
use crate::element::{ElementType, Reduction};
use crate::error::ShmError;
use crate::group::Group;
use crate::partition::Parts;
use crate::view::View;

/// Vectors up to this are combined by every rank for itself: one phase with N reads of all of it instead of two with
/// reads of one part.
const ONE_PHASE_BYTES: usize = 16 << 10;

/// Where data is staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    /// In the rank's own Local segment, unless it lies there already.
    Local,
    /// In the rank's slot of Global, always.
    Global,
}

impl Group {
    /// Where the others can read `rank`'s data where it is.
    fn readable(&self, call: &Call, rank: u32, through: Through) -> Option<usize> {
        match through {
            Through::Local => self.slot(rank).offset(call.sequence),
            Through::Global => None,
        }
    }

    /// Whether some, and whether all, ranks' data can be read where it is.
    fn all_readable(&self, call: &Call, through: Through) -> (bool, bool) {
        let mut ranks = (0..self.ranks()).map(|rank| self.readable(call, rank, through).is_some());
        let all = ranks.clone().all(|readable| readable);
        (ranks.any(|readable| readable), all)
    }

    /// Stages, waits for all and reads, piece by piece until the longest part is through. `read` is told the number of
    /// the piece, where it starts in each part, and how long it is: all of it when nobody has to stage.
    fn rounds(
        &mut self,
        call: &Call,
        through: Through,
        (piece_bytes, longest): (usize, usize),
        stage: impl Fn(&Self, u32, usize),
        read: impl Fn(&Self, u32, usize, usize),
    ) -> Result<(), ShmError> {
        let staged = self.readable(call, self.rank(), through).is_none();
        let mut number = self.next_piece();
        if staged {
            stage(self, number, 0);
        }
        self.synchronise(call)?;
        let (some, all) = self.all_readable(call, through);
        let piece_bytes = if all { longest.max(1) } else { piece_bytes };
        let mut from = 0;
        loop {
            read(self, number, from, piece_bytes);
            from += piece_bytes;
            if from >= longest {
                break;
            }
            number = self.next_piece();
            if staged {
                stage(self, number, from);
            }
            self.synchronise(call)?;
        }
        // what was read where it is may be written again after the call
        if some { self.synchronise(call) } else { Ok(()) }
    }

    pub(crate) fn exchange_gather(
        &mut self,
        call: &Call,
        input: View,
        output: View,
        parts: Parts,
        through: Through,
    ) -> Result<(), ShmError> {
        let (rank, piece_bytes) = (self.rank(), self.half_bytes());
        let own = parts.range(rank);
        let stage = |group: &Self, number: u32, from: usize| {
            let piece = parts.piece(rank, from, piece_bytes);
            let within = piece.start - own.start..piece.end - own.start;
            group.staging(through, rank, number).part(0..piece.len()).copy(input.part(within));
        };
        let read = |group: &Self, number: u32, from: usize, bytes: usize| {
            if from == 0 {
                output.part(own.clone()).copy(input);
            }
            for steps in 1..group.ranks() {
                let other = group.after(steps);
                let piece = parts.piece(other, from, bytes);
                let there = match group.readable(call, other, through) {
                    Some(offset) => {
                        let within = piece.start - parts.range(other).start;
                        group.mapping.view(offset + within, piece.len())
                    }
                    None => group.staging(through, other, number).part(0..piece.len()),
                };
                output.part(piece).copy(there);
            }
        };
        self.rounds(call, through, (piece_bytes, parts.largest()), stage, read)
    }

    pub(crate) fn exchange_scatter(
        &mut self,
        call: &Call,
        input: View,
        output: View,
        parts: Parts,
        (element, reduction): (ElementType, Reduction),
        through: Through,
    ) -> Result<(), ShmError> {
        let (rank, piece_bytes) = (self.rank(), self.part_slot_bytes());
        let own = parts.range(rank);
        let stage = |group: &Self, number: u32, from: usize| {
            let half = group.staging(through, rank, number);
            for other in (0..group.ranks()).filter(|other| *other != rank) {
                let piece = parts.piece(other, from, piece_bytes);
                let slot = other as usize * piece_bytes;
                half.part(slot..slot + piece.len()).copy(input.part(piece));
            }
        };
        let read = |group: &Self, number: u32, from: usize, bytes: usize| {
            let piece = parts.piece(rank, from, bytes);
            let sum = output.part(piece.start - own.start..piece.end - own.start);
            // blocks that stay in the nearest cache while all are added
            const BLOCK: usize = 16 << 10;
            for start in (0..piece.len()).step_by(BLOCK) {
                let end = piece.len().min(start + BLOCK);
                let block = sum.part(start..end);
                for steps in 1..=group.ranks() {
                    let other = group.after(steps);
                    let at = piece.start + start..piece.start + end;
                    let there = match group.readable(call, other, through) {
                        _ if other == rank => input.part(at),
                        Some(offset) => group.mapping.view(offset + at.start, at.len()),
                        None => {
                            let slot = rank as usize * piece_bytes;
                            group.staging(through, other, number).part(slot + start..slot + end)
                        }
                    };
                    if steps == 1 {
                        block.copy(there);
                    } else {
                        block.reduce(there, element, reduction);
                    }
                }
            }
        };
        self.rounds(call, through, (piece_bytes, parts.largest()), stage, read)
    }

    /// Whether a vector is short enough for one phase.
    pub(crate) fn fits_one_phase(&self, bytes: usize) -> bool {
        bytes <= ONE_PHASE_BYTES.min(self.half_bytes())
    }

    /// Every rank combines all parts for itself, each in its own order.
    pub(crate) fn one_phase_all_reduce(
        &mut self,
        call: &Call,
        input: View,
        output: View,
        parts: Parts,
        (element, reduction): (ElementType, Reduction),
    ) -> Result<(), ShmError> {
        let number = self.next_piece();
        let staged = |rank: u32| self.staging(Through::Local, rank, number).part(0..input.length());
        staged(self.rank()).copy(input);
        self.synchronise(call)?;
        for part in 0..self.ranks() {
            let range = parts.range(part);
            let sum = output.part(range.clone());
            for steps in 1..=self.ranks() {
                let there = staged((part + steps) % self.ranks()).part(range.clone());
                if steps == 1 {
                    sum.copy(there);
                } else {
                    sum.reduce(there, element, reduction);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn exchange_broadcast(
        &mut self,
        call: &Call,
        data: View,
        root: u32,
        through: Through,
    ) -> Result<(), ShmError> {
        let mut number = self.next_piece();
        let length = data.length();
        let offset = |group: &Self| group.readable(call, root, through);
        let stage = |group: &Self, number: u32, from: usize| {
            if group.rank() == root && offset(group).is_none() {
                let piece = data.part(from..length.min(from + group.half_bytes()));
                group.staging(through, root, number).part(0..piece.length()).copy(piece);
            }
        };
        stage(self, number, 0);
        self.synchronise(call)?;
        let readable = offset(self);
        let piece_bytes = if readable.is_some() { length.max(1) } else { self.half_bytes() };
        let mut from = 0;
        loop {
            if self.rank() != root {
                let piece = from..length.min(from + piece_bytes);
                let there = match readable {
                    Some(offset) => self.mapping.view(offset + from, piece.len()),
                    None => self.staging(through, root, number).part(0..piece.len()),
                };
                data.part(piece).copy(there);
            }
            from += piece_bytes;
            if from >= length {
                break;
            }
            number = self.next_piece();
            stage(self, number, from);
            self.synchronise(call)?;
        }
        if readable.is_some() { self.synchronise(call) } else { Ok(()) }
    }
}
