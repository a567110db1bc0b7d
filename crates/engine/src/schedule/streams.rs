//! Streams of ranks: one thing at a time, the others in order of readiness.

use stratasim_core::BuildError;

use crate::lists::{List, Lists, NONE};

/// A stream: idle, or busy with a queue behind.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    busy: bool,
    queue: List,
}

/// Every stream of every rank.
#[derive(Debug)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    per_rank: usize,
    /// Operations that wait for their stream.
    waiting: Lists<u32>,
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
        Ok(Self {
            streams: vec![Stream::default(); count as usize],
            per_rank: per_rank as usize,
            waiting: Lists::default(),
        })
    }

    /// `operation` wants the stream: true when it has it now, otherwise it waits in line.
    #[inline]
    pub(super) fn take(&mut self, rank: u32, cpu: u16, operation: u32) -> bool {
        let stream = &mut self.streams[rank as usize * self.per_rank + cpu as usize];
        if !std::mem::replace(&mut stream.busy, true) {
            return true;
        }
        self.waiting.push_back(&mut stream.queue, operation);
        false
    }

    /// The stream is done with what it had: what it takes up next.
    #[inline]
    pub(super) fn release(&mut self, rank: u32, cpu: u16) -> Option<u32> {
        let stream = &mut self.streams[rank as usize * self.per_rank + cpu as usize];
        let next = self.waiting.remove_after(&mut stream.queue, NONE);
        stream.busy = next.is_some();
        next
    }
}
