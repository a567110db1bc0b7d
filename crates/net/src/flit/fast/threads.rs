//! Several parts at once, one thread each, in step.
//!
//! Nothing gets from one router to another in fewer cycles than the lookahead, so each part runs that far
//! by itself; then all exchange what has crossed. Draws name packets and routers, allocators look at their
//! own router only: the results do not depend on the number of parts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::flit::Flit;
use super::mask::Mask;
use super::packets::{Cold, Rest};
use super::part::Part;
use crate::flit::routing::FlitRouting;
use crate::flit::terminals::Terminals;

/// What leaves one part for another.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Packets of the heads among the flits, in their order.
    pub(super) packets: Vec<(Cold, Rest)>,
    /// Flits: when they can be used, input channel of the fabric (router x N + channel).
    pub(super) flits: Vec<(u64, u32, Flit)>,
    /// Credits: when, output channel of the fabric.
    pub(super) credits: Vec<(u64, u32)>,
}

impl Outbox {
    fn is_empty(&self) -> bool {
        self.flits.is_empty() && self.credits.is_empty()
    }
}

/// A place to wait for the others; waits actively, since all have about the same to do.
struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// Somebody will never come.
    broken: AtomicBool,
}

impl Meeting {
    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.store(round + 1, Ordering::Release);
            return;
        }
        let mut turns = 0_u32;
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.broken.load(Ordering::Relaxed), "another part of the network failed");
            turns += 1;
            if turns < 500 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// Tells the others when this thread fails.
struct Present<'a>(&'a Meeting);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs all parts until `until` is the next cycle, each with its own terminals.
pub(super) fn run<const P: usize, const VS: usize, const N: usize, M, R, T>(
    parts: &mut [Part<P, VS, N, M>],
    routing: &R,
    until: u64,
    terminals: &mut [T],
) where
    M: Mask,
    R: FlitRouting + ?Sized,
    T: Terminals + Send,
{
    let count = parts.len();
    let meeting = Meeting {
        threads: count,
        arrived: AtomicUsize::new(0),
        round: AtomicUsize::new(0),
        broken: AtomicBool::new(false),
    };
    // the meeting before the present one may still be on some thread's mind, so both have places of their own
    let next: [Vec<AtomicU64>; 2] = [(); 2].map(|()| (0..count).map(|_| AtomicU64::new(0)).collect());
    // by sender and receiver
    let boxes: [Vec<Vec<Mutex<Outbox>>>; 2] =
        [(); 2].map(|()| (0..count).map(|_| (0..count).map(|_| Mutex::default()).collect()).collect());
    std::thread::scope(|scope| {
        for (own, (part, terminals)) in parts.iter_mut().zip(terminals).enumerate() {
            let (meeting, next, boxes) = (&meeting, &next, &boxes);
            scope.spawn(move || {
                let _present = Present(meeting);
                let mut crossed = false;
                for (next, boxes) in next.iter().zip(boxes).cycle() {
                    // what crosses takes as long as the cycles that a part runs by itself, or longer
                    let at = if crossed { Some(part.now) } else { part.next_active(terminals) };
                    next[own].store(at.unwrap_or(u64::MAX), Ordering::Release);
                    for (outbox, place) in part.outbox.iter_mut().zip(&boxes[own]) {
                        std::mem::swap(outbox, &mut *place.lock().expect("nobody fails with a lock"));
                    }
                    meeting.wait();
                    for row in boxes {
                        part.receive(&mut row[own].lock().expect("nobody fails with a lock"));
                    }
                    part.settle();
                    let at = next.iter().map(|at| at.load(Ordering::Acquire)).min().unwrap_or(u64::MAX);
                    if at >= until {
                        part.now = until;
                        return;
                    }
                    part.now = at;
                    let cycles = u64::from(part.lookahead).min(until - at);
                    part.window(routing, cycles, terminals, false);
                    crossed = part.outbox.iter().any(|outbox| !outbox.is_empty());
                }
            });
        }
    });
}
