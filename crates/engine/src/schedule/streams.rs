//! Streams of ranks: one thing at a time, the others in order of readiness.

use stratasim_core::BuildError;

const NONE: u32 = u32::MAX;

/// A stream: idle, or busy with a queue behind.
#[derive(Debug, Clone, Copy)]
struct Stream {
    busy: bool,
    first: u32,
    last: u32,
}

/// Every stream of every rank.
#[derive(Debug)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    per_rank: usize,
    /// (operation, next in the queue)
    waiting: Vec<(u32, u32)>,
    free: u32,
}

/// Most streams of all ranks together (3 GiB).
const MOST: u64 = 1 << 28;

impl Streams {
    pub(super) fn new(ranks: u32, per_rank: u32) -> Result<Self, BuildError> {
        let count = u64::from(ranks) * u64::from(per_rank);
        if count > MOST {
            let reason = format!("{ranks} ranks with {per_rank} streams each are more than 2^28");
            return Err(BuildError::new("", reason));
        }
        let idle = Stream { busy: false, first: NONE, last: NONE };
        Ok(Self {
            streams: vec![idle; count as usize],
            per_rank: per_rank as usize,
            waiting: Vec::new(),
            free: NONE,
        })
    }

    /// `operation` wants the stream: true when it has it now, otherwise it waits in line.
    #[inline]
    pub(super) fn take(&mut self, rank: u32, cpu: u16, operation: u32) -> bool {
        let stream = &mut self.streams[rank as usize * self.per_rank + cpu as usize];
        if !std::mem::replace(&mut stream.busy, true) {
            return true;
        }
        let at = match self.free {
            NONE => {
                self.waiting.push((operation, NONE));
                self.waiting.len() as u32 - 1
            }
            at => {
                self.free = std::mem::replace(&mut self.waiting[at as usize], (operation, NONE)).1;
                at
            }
        };
        match std::mem::replace(&mut stream.last, at) {
            NONE => stream.first = at,
            last => self.waiting[last as usize].1 = at,
        }
        false
    }

    /// The stream is done with what it had: what it takes up next.
    #[inline]
    pub(super) fn release(&mut self, rank: u32, cpu: u16) -> Option<u32> {
        let stream = &mut self.streams[rank as usize * self.per_rank + cpu as usize];
        if stream.first == NONE {
            stream.busy = false;
            return None;
        }
        let at = stream.first;
        let (operation, next) = self.waiting[at as usize];
        stream.first = next;
        if next == NONE {
            stream.last = NONE;
        }
        self.waiting[at as usize].1 = self.free;
        self.free = at;
        Some(operation)
    }
}
