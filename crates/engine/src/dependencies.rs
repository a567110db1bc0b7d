//! What the operations of a schedule wait for, before anything runs.

use stratasim_core::BuildError;
use stratasim_workload::goal::{OperationKind, Schedule};

/// How many dependencies each operation has, and whether any of them is on a start.
///
/// # Errors
/// A send to a rank that does not exist.
pub(crate) fn count(schedule: &Schedule) -> Result<(Vec<u32>, bool), BuildError> {
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
            let shape = schedule.shape(operation);
            if shape.operation.kind == OperationKind::Send && !shape.relative {
                let reason = format!(
                    "rank {rank}: `{}` sends to rank {}, there are {ranks} ranks",
                    schedule.label(rank, operation),
                    shape.operation.peer
                );
                return Err(BuildError::new("", reason));
            }
        }
    }
    Ok((missing, on_start))
}
