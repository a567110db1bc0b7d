//! Waiting for other ranks, with an eye on whether they live.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::control::{Call, LEFT_AFTER_THE_END, Slot};
use crate::error::ShmError;
use crate::futex::Event;
use crate::group::Group;

/// How long a rank sleeps before it looks after the others.
const TICK: Duration = Duration::from_millis(50);
/// Looks at a word before sleeping, where every rank has a core of its own: some tens of microseconds.
const SPINS: u32 = 2_000;
/// Times that a rank lets others have its core before it sleeps: going to sleep and being woken costs more than passing the
/// core on, and a handful is over soon where nobody else wants it.
const YIELDS: u32 = 8;

impl Group {
    pub(crate) fn slot(&self, rank: u32) -> &Slot {
        &self.mapping.control().slots[rank as usize]
    }

    /// Waits until the value of `event` has reached `target`.
    pub(crate) fn wait_for(
        &self,
        event: &Event,
        target: u32,
        call: &Call,
        whom: impl Fn() -> String,
    ) -> Result<(), ShmError> {
        let reached = |value: u32| value.wrapping_sub(target).cast_signed() >= 0;
        if reached(event.get()) {
            return Ok(());
        }
        if self.spin {
            for _ in 0..SPINS {
                std::hint::spin_loop();
                if reached(event.get()) {
                    return Ok(());
                }
            }
        }
        // where ranks share cores, the one that is waited for may be waiting for this core
        for _ in 0..YIELDS {
            std::thread::yield_now();
            if reached(event.get()) {
                return Ok(());
            }
        }
        let clock = clock();
        let mut looked = clock;
        loop {
            let seen = event.get();
            if reached(seen) {
                return Ok(());
            }
            event.sleep(seen, TICK);
            if reached(event.get()) {
                return Ok(());
            }
            let ended = self.mapping.control().ended.load(Ordering::Acquire);
            if ended != 0 || looked.elapsed() >= TICK {
                self.look(call)?;
                looked = self::clock();
            }
            if ended != 0 {
                return Err(ShmError::Ended { rank: ended - 1 });
            }
            (self.pause)()?;
            if clock.elapsed() >= self.options.timeout {
                return Err(ShmError::Timeout { after: self.options.timeout, whom: whom() });
            }
        }
    }

    /// Whether the others live, are still there, and are in the same call. Who has gone because the group has ended is no reason.
    fn look(&self, call: &Call) -> Result<(), ShmError> {
        for (&process, rank) in self.processes.iter().zip(0..) {
            if rank == self.rank() {
                continue;
            }
            let slot = self.slot(rank);
            self.agrees(rank, call)?;
            // asked in this order: who leaves says so before its process ends
            let lives = process.lives();
            match slot.left.load(Ordering::Acquire) {
                0 if lives => {}
                0 => return Err(ShmError::Died { rank, pid: process.pid }),
                LEFT_AFTER_THE_END => {}
                _ => return Err(ShmError::Left { rank }),
            }
        }
        Ok(())
    }

    /// Whether `rank` has called the same.
    pub(crate) fn agrees(&self, rank: u32, call: &Call) -> Result<(), ShmError> {
        match self.slot(rank).differs(call) {
            None => Ok(()),
            Some(theirs) => Err(ShmError::Mismatch { rank, theirs, ours: call.to_string() }),
        }
    }

    /// Waits until all ranks are here, and checks that they have called the same.
    pub(crate) fn synchronise(&self, call: &Call) -> Result<(), ShmError> {
        let control = self.mapping.control();
        let generation = control.generation.get();
        if control.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.ranks() {
            control.arrived.store(0, Ordering::Relaxed);
            control.generation.increment();
        } else {
            self.wait_for(&control.generation, generation.wrapping_add(1), call, || "all ranks".to_owned())?;
        }
        (0..self.ranks()).try_for_each(|rank| self.agrees(rank, call))
    }

    /// Tells the others that there is nothing to wait for any more.
    pub(crate) fn end(&self) {
        let control = self.mapping.control();
        let _ = control.ended.compare_exchange(0, self.rank() + 1, Ordering::AcqRel, Ordering::Acquire);
        control.generation.wake();
        for rank in 0..self.ranks() {
            let slot = self.slot(rank);
            slot.progress.wake();
            slot.sent.wake();
            slot.received.wake();
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "real processes are waited for in real time")]
fn clock() -> Instant {
    Instant::now()
}
