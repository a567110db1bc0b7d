//! Schedules round the ring: every rank waits only for its neighbours.
//!
//! One-copy: a rank says how many steps it has done, and the next one reads its memory. Two-sided: the sender copies into
//! one of two bounce buffers and the receiver out of it.
//!
//! Pieces that go through staging use its halves in turn, without waiting until the next rank has read the half before:
//! a rank ends a piece only with something from every other rank, which those say after the piece before.

use crate::control::Call;
use crate::element::{ElementType, Reduction};
use crate::error::ShmError;
use crate::exchange::Through;
use crate::group::{BOUNCE_BYTES, Group};
use crate::partition::Parts;
use crate::view::View;

/// Pieces of a broadcast that travel behind one another.
const PIPELINE_BYTES: usize = 256 << 10;

impl Group {
    /// Says that a step of a one-copy ring is done.
    fn step_done(&self) {
        self.slot(self.rank()).progress.increment();
    }

    /// Waits until the rank before has done `steps` steps of this call.
    fn wait_before(&self, steps: u32, call: &Call) -> Result<(), ShmError> {
        let before = self.before(1);
        let target = self.steps.wrapping_add(steps);
        self.wait_for(&self.slot(before).progress, target, call, || format!("rank {before}"))
    }

    /// Waits until the rank after has done `steps` steps of this call.
    fn wait_after(&self, steps: u32, call: &Call) -> Result<(), ShmError> {
        let after = self.after(1);
        let target = self.steps.wrapping_add(steps);
        self.wait_for(&self.slot(after).progress, target, call, || format!("rank {after}"))
    }

    pub(crate) fn ring_gather(
        &mut self,
        call: &Call,
        input: View,
        output: View,
        parts: Parts,
    ) -> Result<(), ShmError> {
        let (rank, ranks, before) = (self.rank(), self.ranks(), self.before(1));
        let piece_bytes = self.part_slot_bytes();
        let own = parts.range(rank);
        let mut from = 0;
        loop {
            let number = self.next_piece();
            // where `of` keeps part `part` for the next rank: in its output where that can be read, else in staging
            let window = |group: &Self, of: u32, part: u32| {
                let piece = parts.piece(part, from, piece_bytes);
                match group.slot(of).offset(call.sequence) {
                    Some(offset) => group.mapping.view(offset + piece.start, piece.len()),
                    None => {
                        let slot = part as usize * piece_bytes;
                        group.staging(Through::Local, of, number).part(slot..slot + piece.len())
                    }
                }
            };
            let piece = parts.piece(rank, from, piece_bytes);
            let mine = input.part(piece.start - own.start..piece.end - own.start);
            window(self, rank, rank).copy(mine);
            self.step_done();
            output.part(piece).copy(mine);
            for step in 1..ranks {
                let part = self.before(step);
                self.wait_before(step, call)?;
                if step == 1 && from == 0 {
                    self.agrees(before, call)?;
                }
                let there = window(self, before, part);
                let here = output.part(parts.piece(part, from, piece_bytes));
                if step + 1 < ranks {
                    let kept = window(self, rank, part);
                    kept.copy(there);
                    self.step_done();
                    here.copy(kept);
                } else {
                    here.copy(there);
                }
            }
            self.step_done();
            self.steps = self.steps.wrapping_add(ranks);
            from += piece_bytes;
            if from >= parts.largest() {
                break;
            }
        }
        // the next rank may still read the output
        if call.offset.is_some() { self.wait_after(0, call) } else { Ok(()) }
    }

    pub(crate) fn ring_scatter(
        &mut self,
        call: &Call,
        input: View,
        output: View,
        parts: Parts,
        (element, reduction): (ElementType, Reduction),
    ) -> Result<(), ShmError> {
        let (rank, ranks, before) = (self.rank(), self.ranks(), self.before(1));
        let piece_bytes = self.part_slot_bytes();
        let own = parts.range(rank);
        let mut from = 0;
        loop {
            let number = self.next_piece();
            // what a rank has after `step`: the sum of a part from the rank behind its owner round to this one
            let window = |group: &Self, of: u32, step: u32, length: usize| {
                let slot = step as usize * piece_bytes;
                group.staging(Through::Local, of, number).part(slot..slot + length)
            };
            if call.offset.is_none() {
                let piece = parts.piece(before, from, piece_bytes);
                window(self, rank, 0, piece.len()).copy(input.part(piece));
            }
            self.step_done();
            for step in 1..ranks {
                let part = (rank + 2 * ranks - 1 - step) % ranks;
                self.wait_before(step, call)?;
                if step == 1 && from == 0 {
                    self.agrees(before, call)?;
                }
                let piece = parts.piece(part, from, piece_bytes);
                let there = match self.slot(before).offset(call.sequence) {
                    Some(offset) if step == 1 => self.mapping.view(offset + piece.start, piece.len()),
                    _ => window(self, before, step - 1, piece.len()),
                };
                let sum = if part == rank {
                    output.part(piece.start - own.start..piece.end - own.start)
                } else {
                    window(self, rank, step, piece.len())
                };
                sum.copy(there);
                sum.reduce(input.part(piece), element, reduction);
                self.step_done();
            }
            self.steps = self.steps.wrapping_add(ranks);
            from += piece_bytes;
            if from >= parts.largest() {
                break;
            }
        }
        // the next rank may still read the input, in its first step
        if call.offset.is_some() { self.wait_after(2_u32.wrapping_sub(ranks), call) } else { Ok(()) }
    }

    /// Along a chain from the root on, in pieces that follow one another.
    pub(crate) fn ring_broadcast(&mut self, call: &Call, data: View, root: u32) -> Result<(), ShmError> {
        let (rank, ranks, before) = (self.rank(), self.ranks(), self.before(1));
        let piece_bytes = PIPELINE_BYTES.min(self.half_bytes());
        let distance = (rank + ranks - root) % ranks;
        // the root does not wait for others, so that nobody must still be in the call before
        self.synchronise(call)?;
        let first = self.next_piece();
        let mut pieces = 0;
        for from in (0..data.length()).step_by(piece_bytes) {
            let piece = from..data.length().min(from + piece_bytes);
            let window = |group: &Self, of: u32| match group.slot(of).offset(call.sequence) {
                Some(offset) => group.mapping.view(offset + from, piece.len()),
                None => group.staging(Through::Local, of, first.wrapping_add(pieces)).part(0..piece.len()),
            };
            let here = data.part(piece.clone());
            if distance + 1 < ranks && pieces >= 2 {
                // until that half has been read
                self.wait_after(pieces - 1, call)?;
            }
            if distance > 0 {
                self.wait_before(pieces + 1, call)?;
            }
            let source = if distance > 0 { window(self, before) } else { here };
            if distance + 1 < ranks {
                let kept = window(self, rank);
                kept.copy(source);
                self.step_done();
                here.copy(kept);
            } else {
                here.copy(source);
                self.step_done();
            }
            pieces += 1;
        }
        self.steps = self.steps.wrapping_add(pieces);
        self.synchronise(call)
    }

    /// Sends `out` to the next rank while it receives `into` from the one before, in as many messages as bounce buffers
    /// need; what is empty is one message.
    fn send_receive(&self, out: Option<View>, into: Option<View>, call: &Call) -> Result<(), ShmError> {
        let messages =
            |view: Option<View>| view.map_or(0, |view| view.length().div_ceil(BOUNCE_BYTES).max(1));
        let part = |view: View, message: usize| {
            let start = message * BOUNCE_BYTES;
            view.part(start..view.length().min(start + BOUNCE_BYTES))
        };
        let (own, before, after) = (self.slot(self.rank()), self.before(1), self.after(1));
        for message in 0..messages(out).max(messages(into)) {
            if let Some(out) = out.filter(|_| message < messages(out)) {
                let number = own.sent.get();
                // until the message before the last has been taken out of its buffer
                let free = number.wrapping_sub(1);
                self.wait_for(&self.slot(after).received, free, call, || format!("rank {after}"))?;
                let out = part(out, message);
                self.bounce(self.rank(), number).part(0..out.length()).copy(out);
                own.sent.increment();
            }
            if let Some(into) = into.filter(|_| message < messages(into)) {
                let number = own.received.get();
                let arrived = number.wrapping_add(1);
                self.wait_for(&self.slot(before).sent, arrived, call, || format!("rank {before}"))?;
                self.agrees(before, call)?;
                let into = part(into, message);
                into.copy(self.bounce(before, number).part(0..into.length()));
                own.received.increment();
            }
        }
        Ok(())
    }

    pub(crate) fn two_sided_gather(
        &self,
        call: &Call,
        input: View,
        output: View,
        parts: Parts,
    ) -> Result<(), ShmError> {
        output.part(parts.range(self.rank())).copy(input);
        for step in 1..self.ranks() {
            let (out, into) = (parts.range(self.before(step - 1)), parts.range(self.before(step)));
            self.send_receive(Some(output.part(out)), Some(output.part(into)), call)?;
        }
        Ok(())
    }

    pub(crate) fn two_sided_scatter(
        &self,
        call: &Call,
        input: View,
        output: View,
        parts: Parts,
        (element, reduction): (ElementType, Reduction),
    ) -> Result<(), ShmError> {
        let ranks = self.ranks();
        let mut sums = [vec![0; parts.largest()], vec![0; parts.largest()]];
        let [mut sum, mut next] = sums.each_mut().map(|sum| View::writing(sum));
        for step in 1..ranks {
            let (before, part) = (self.before(step), (self.rank() + 2 * ranks - 1 - step) % ranks);
            let out = parts.range(before);
            let out = if step == 1 { input.part(out) } else { sum.part(0..out.len()) };
            let range = parts.range(part);
            let into = if step + 1 == ranks { output } else { next.part(0..range.len()) };
            self.send_receive(Some(out), Some(into), call)?;
            into.reduce(input.part(range), element, reduction);
            (sum, next) = (next, sum);
        }
        Ok(())
    }

    pub(crate) fn two_sided_broadcast(&self, call: &Call, data: View, root: u32) -> Result<(), ShmError> {
        let ranks = self.ranks();
        let distance = (self.rank() + ranks - root) % ranks;
        self.synchronise(call)?;
        for from in (0..data.length()).step_by(BOUNCE_BYTES) {
            let piece = data.part(from..data.length().min(from + BOUNCE_BYTES));
            if distance > 0 {
                self.send_receive(None, Some(piece), call)?;
            }
            if distance + 1 < ranks {
                self.send_receive(Some(piece), None, call)?;
            }
        }
        Ok(())
    }
}
