//! Why a run ended early.

use stratasim_core::Time;

/// A run that did not reach its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Tasks are left, but nothing will ever happen again.
    #[error("stalled at {at}: {count} {} will never end\n{}", if *count == 1 { "task" } else { "tasks" }, waiting.join("\n"))]
    Stalled {
        /// When everything stood still.
        at: Time,
        /// How many tasks are left.
        count: u64,
        /// The first of them, each with what it waits for.
        waiting: Vec<String>,
    },
    /// What is left ends after the last instant that a time can say.
    #[error(
        "stopped at {at}: what comes next ends after more than 213 days of simulated time, the most there is"
    )]
    TooLong {
        /// How far it got.
        at: Time,
    },
    /// It cannot begin.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// A message could not be carried.
    #[error("{task} failed at {}: {reason}", at.rounded(9))]
    Failed {
        /// When.
        at: Time,
        /// The task.
        task: String,
        /// Why.
        reason: String,
    },
}
