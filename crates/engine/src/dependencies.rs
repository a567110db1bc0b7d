//! What the operations of a schedule wait for, before anything runs.

use stratasim_core::BuildError;
use stratasim_workload::goal::Schedule;

/// How many dependencies each operation has, and whether any of them is on a start.
///
/// # Errors
/// A send to a rank that does not exist.
pub(crate) fn count(schedule: &Schedule) -> Result<(Vec<u32>, bool), BuildError> {
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
