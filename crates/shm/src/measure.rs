//! How long collectives take here.

use std::time::{Duration, Instant};

use crate::algorithm::{Algorithm, Operation};
use crate::element::{ElementType, Reduction};
use crate::error::ShmError;
use crate::group::{Block, Group};

/// Batches that are timed; on a machine that does other things as well, the least and the median say more than the mean.
const BATCHES: usize = 15;
/// How long a batch should take.
const BATCH: Duration = Duration::from_millis(3);

/// Seconds of one collective, over batches of calls that follow one another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The fastest batch.
    pub least_s: f64,
    /// The batch in the middle.
    pub median_s: f64,
    /// Calls in all.
    pub calls: u32,
}

/// Times a collective of float32 numbers, with a vector of `bytes` in all: what all-gather gives, what the others
/// take. Called by all ranks; each returns its own clock's figures. Data lies in shared memory, so the Local segment
/// must hold two vectors beside staging.
///
/// # Errors
/// As the collectives, and too little memory.
pub fn measure(
    group: &mut Group,
    operation: Operation,
    algorithm: Algorithm,
    bytes: usize,
) -> Result<Measured, ShmError> {
    let ranks = group.ranks() as usize;
    // whole numbers in equal parts
    let bytes = bytes.next_multiple_of(4 * ranks);
    let part = bytes / ranks;
    let (input_bytes, output_bytes) = match operation {
        Operation::AllGather => (part, bytes),
        Operation::ReduceScatter => (bytes, part),
        _ => (bytes, bytes),
    };
    let (mut input, mut output) = (group.allocate(input_bytes)?, group.allocate(output_bytes)?);
    bytes_of(&mut input).fill(0);
    bytes_of(&mut output).fill(0);
    let mut call = |group: &mut Group| {
        let (input, output) = (bytes_of(&mut input), bytes_of(&mut output));
        let how = (ElementType::F32, Reduction::Sum);
        match operation {
            Operation::AllGather => group.all_gather(input, output, algorithm),
            Operation::ReduceScatter => group.reduce_scatter(input, output, how.0, how.1, algorithm),
            Operation::AllReduce => group.all_reduce(input, output, how.0, how.1, algorithm),
            Operation::Broadcast => group.broadcast(output, 0, algorithm),
            Operation::Barrier => group.barrier(),
        }
    };
    let mut batch = |group: &mut Group, calls: u32| -> Result<Duration, ShmError> {
        group.barrier()?;
        let started = now();
        for _ in 0..calls {
            call(group)?;
        }
        group.barrier()?;
        Ok(started.elapsed())
    };
    batch(group, 2)?;
    // rank 0 says how many calls a batch has
    let once = batch(group, 4)? / 4;
    let calls = (BATCH.as_secs_f64() / once.as_secs_f64().max(1e-7)).clamp(1.0, 500.0) as u32;
    let mut agreed = calls.to_ne_bytes();
    group.broadcast(&mut agreed, 0, Algorithm::Direct)?;
    let calls = u32::from_ne_bytes(agreed);
    let mut seconds = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        seconds.push(batch(group, calls)?.as_secs_f64() / f64::from(calls));
    }
    seconds.sort_by(f64::total_cmp);
    Ok(Measured { least_s: seconds[0], median_s: seconds[BATCHES / 2], calls: calls * BATCHES as u32 })
}

/// The bytes of a block, of which this is the only user between collectives.
fn bytes_of(block: &mut Block) -> &mut [u8] {
    block.view().bytes_mut()
}

#[allow(clippy::disallowed_methods, reason = "real time is what is measured")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
