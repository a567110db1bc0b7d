//! What the ranks of a group know of each other: the first bytes of the shared memory.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::algorithm::{Algorithm, Operation};
use crate::choice::SharedChoices;
use crate::futex::Event;
use crate::process::Process;

/// Most ranks of a group.
pub(crate) const MOST_RANKS: u32 = 64;
/// "SSIMSHM" and a zero: the memory is one of ours, and complete.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"SSIMSHM\0");
/// Changes with every change of the layout or of the schedules.
pub(crate) const VERSION: u32 = 1;
/// An offset that says: not in shared memory.
const PRIVATE: u64 = u64::MAX;

/// The control block. Memory that is all zero is an empty one.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Control {
    pub(crate) magic: AtomicU64,
    pub(crate) version: AtomicU32,
    pub(crate) ranks: AtomicU32,
    pub(crate) local_bytes: AtomicU64,
    pub(crate) staging_bytes: AtomicU64,
    /// The process that made it.
    pub(crate) creator: Identity,
    /// Ranks that have joined.
    pub(crate) joined: Event,
    /// 1 when all have joined and the name is gone.
    pub(crate) ready: Event,
    /// 0, or one more than the rank that met an error.
    pub(crate) ended: AtomicU32,
    /// Ranks at the barrier.
    pub(crate) arrived: AtomicU32,
    /// Barriers passed.
    pub(crate) generation: Event,
    pub(crate) choices: SharedChoices,
    pub(crate) slots: [Slot; MOST_RANKS as usize],
}

/// A process, shared.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Identity {
    pid: AtomicU32,
    start: AtomicU64,
}

impl Identity {
    /// The process; `None` when there is none yet.
    pub(crate) fn get(&self) -> Option<Process> {
        let start = self.start.load(Ordering::Acquire);
        (start != 0).then(|| Process { pid: self.pid.load(Ordering::Relaxed), start })
    }

    /// Takes the place; who has it when it is taken.
    pub(crate) fn take(&self, process: Process) -> Result<(), u32> {
        let taken = self.pid.compare_exchange(0, process.pid, Ordering::AcqRel, Ordering::Acquire);
        taken.map(|_| self.start.store(process.start, Ordering::Release))
    }
}

/// A rank has left the group.
pub(crate) const LEFT: u32 = 1;
/// A rank has gone because the group has ended, which is no reason for others.
pub(crate) const LEFT_AFTER_THE_END: u32 = 2;

/// What a rank says of itself.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Slot {
    pub(crate) process: Identity,
    /// [`LEFT`] or [`LEFT_AFTER_THE_END`] when it has.
    pub(crate) left: AtomicU32,
    /// Steps of one-copy rings done.
    pub(crate) progress: Event,
    /// Messages sent to the next rank.
    pub(crate) sent: Event,
    /// Messages received from the rank before.
    pub(crate) received: Event,
    /// The call that it is in, and the one before.
    calls: [SharedCall; 2],
}

/// A call, shared.
#[derive(Debug)]
#[repr(C)]
struct SharedCall {
    sequence: AtomicU64,
    kind: AtomicU64,
    bytes: AtomicU64,
    offset: AtomicU64,
}

/// What a rank has called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    /// Calls of the group before this one, plus one.
    pub(crate) sequence: u64,
    pub(crate) kind: Kind,
    /// Length of the whole vector.
    pub(crate) bytes: u64,
    /// Where the data lies in the rank's Local segment, when it does: what others may read.
    pub(crate) offset: Option<usize>,
}

/// What all ranks must agree on, but for the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) operation: Operation,
    pub(crate) algorithm: Option<Algorithm>,
    /// Number of the element type and of the reduction; 0 where there is none.
    pub(crate) element: u8,
    pub(crate) reduction: u8,
    /// The root of a broadcast, 0 otherwise.
    pub(crate) root: u8,
    /// Second half of an all-reduce.
    pub(crate) second: bool,
}

impl Kind {
    fn word(self) -> u64 {
        let algorithm = self.algorithm.map_or(0, |algorithm| algorithm as u8);
        let bytes = [
            self.operation as u8,
            algorithm,
            self.element,
            self.reduction,
            self.root,
            u8::from(self.second),
            0,
            0,
        ];
        u64::from_le_bytes(bytes)
    }
}

impl Slot {
    /// Says what this rank calls. It is seen by those who wait for something that is said afterwards.
    pub(crate) fn publish(&self, call: &Call) {
        let shared = &self.calls[call.sequence as usize % 2];
        shared.sequence.store(0, Ordering::Release);
        shared.kind.store(call.kind.word(), Ordering::Release);
        shared.bytes.store(call.bytes, Ordering::Release);
        shared.offset.store(call.offset.map_or(PRIVATE, |offset| offset as u64), Ordering::Release);
        shared.sequence.store(call.sequence, Ordering::Release);
    }

    /// Whether this rank has called something else in `call`'s place: what, in words.
    pub(crate) fn differs(&self, call: &Call) -> Option<String> {
        let shared = &self.calls[call.sequence as usize % 2];
        if shared.sequence.load(Ordering::Acquire) != call.sequence {
            return None;
        }
        let (kind, bytes) = (shared.kind.load(Ordering::Acquire), shared.bytes.load(Ordering::Acquire));
        if shared.sequence.load(Ordering::Acquire) != call.sequence {
            return None;
        }
        (kind != call.kind.word() || bytes != call.bytes).then(|| describe(kind, bytes))
    }

    /// Where this rank's data lies, when it can be read.
    pub(crate) fn offset(&self, sequence: u64) -> Option<usize> {
        match self.calls[sequence as usize % 2].offset.load(Ordering::Acquire) {
            PRIVATE => None,
            offset => Some(offset as usize),
        }
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&describe(self.kind.word(), self.bytes))
    }
}

/// A call in words.
fn describe(kind: u64, bytes: u64) -> String {
    use crate::element::{ElementType, Reduction};
    let [operation, algorithm, element, reduction, root, ..] = kind.to_le_bytes();
    let operations = [Operation::MOVING.as_slice(), &[Operation::Barrier]].concat();
    let Some(operation) = operations.into_iter().find(|known| *known as u8 == operation) else {
        return "something unknown".to_owned();
    };
    let mut text = operation.name().to_owned();
    if let Some(algorithm) = Algorithm::ALL.into_iter().find(|known| *known as u8 == algorithm) {
        text += &format!(" by {} of {bytes} B", algorithm.name());
    }
    if let Some(element) = ElementType::ALL.into_iter().find(|known| *known as u8 == element) {
        text += &format!(" of {}", element.name());
    }
    if let Some(reduction) = Reduction::ALL.into_iter().find(|known| *known as u8 == reduction) {
        text += &format!(" ({})", reduction.name());
    }
    if operation == Operation::Broadcast {
        text += &format!(" from rank {root}");
    }
    text
}
