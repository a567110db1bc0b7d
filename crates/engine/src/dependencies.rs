//! What the operations of a schedule wait for.

use stratasim_core::BuildError;
use stratasim_core::memory::prefetch;
use stratasim_workload::goal::Schedule;

/// How many dependencies each operation still misses, by its number.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    counts: Vec<u32>,
    /// Whether any operation waits for the start of another one.
    on_start: bool,
}

impl Missing {
    /// Before anything runs.
    ///
    /// # Errors
    /// A send to a rank that does not exist.
    pub(crate) fn of(schedule: &Schedule) -> Result<Self, BuildError> {
        let (counts, on_start) = count(schedule)?;
        Ok(Self { counts, on_start })
    }

    /// Asks for the counts of what waits for an operation of `rank`.
    #[inline]
    pub(crate) fn ask_for(&self, schedule: &Schedule, rank: u32, operation: u32) {
        let first = schedule.of_rank(rank).start;
        for edge in schedule.edges(operation).iter().take(2) {
            prefetch(&self.counts[(first + edge.after()) as usize]);
        }
    }

    /// Whether an operation misses nothing.
    #[inline]
    pub(crate) fn is_free(&self, operation: u32) -> bool {
        self.counts[operation as usize] == 0
    }

    /// `operation` of `rank` has started or ended: what waits for that misses one thing less. `told` is told of each, with
    /// what it still misses, which is less than nothing where somebody ends twice.
    #[inline]
    pub(crate) fn resolve(
        &mut self,
        schedule: &Schedule,
        rank: u32,
        operation: u32,
        started: bool,
        mut told: impl FnMut(u32, i32),
    ) {
        if started && !self.on_start {
            return;
        }
        let edges = schedule.edges(operation);
        if edges.is_empty() {
            return;
        }
        let first = schedule.of_rank(rank).start;
        for edge in edges {
            if edge.on_start() != started {
                continue;
            }
            let after = first + edge.after();
            let missing = &mut self.counts[after as usize];
            *missing = missing.wrapping_sub(1);
            told(after, missing.cast_signed());
        }
    }
}

/// How many dependencies each operation has, and whether any of them is on a start.
///
/// # Errors
/// A send to a rank that does not exist.
fn count(schedule: &Schedule) -> Result<(Vec<u32>, bool), BuildError> {
    schedule.check_sends()?;
    let mut on_start = false;
    let ranks = schedule.ranks();
    let mut missing = vec![0_u32; schedule.len() as usize];
    for rank in 0..ranks {
        let range = schedule.of_rank(rank);
        for operation in range.clone() {
            for edge in schedule.edges(operation) {
                missing[(range.start + edge.after()) as usize] += 1;
                on_start |= edge.on_start();
            }
        }
    }
    Ok((missing, on_start))
}
