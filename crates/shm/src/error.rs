//! What can go wrong in a group.

use std::time::Duration;

/// Why a group could not be made, or a collective not be done. After an error of a collective the group is of no use
/// any more, but for those that say so.
#[derive(Debug, thiserror::Error)]
pub enum ShmError {
    /// An argument that does not fit; the group stays usable.
    #[error("{0}")]
    Argument(String),
    /// Another live process has made a group of this name, and waits for its ranks.
    #[error("the group `{name}` is being made by process {pid}; choose another name, or end that process")]
    NameTaken {
        /// Name of the group.
        name: String,
        /// Process of its rank 0.
        pid: u32,
    },
    /// Two processes want to be the same rank.
    #[error("rank {rank} of the group `{name}` is taken by process {pid}")]
    RankTaken {
        /// Name of the group.
        name: String,
        /// The rank.
        rank: u32,
        /// Process that has it.
        pid: u32,
    },
    /// The group was made with other settings.
    #[error("the group `{name}` was made with {what} {theirs}, this process wants {ours}")]
    Differs {
        /// Name of the group.
        name: String,
        /// Which setting.
        what: &'static str,
        /// What rank 0 has.
        theirs: u64,
        /// What this process has.
        ours: u64,
    },
    /// Not all ranks came in time.
    #[error("the group `{name}` is not complete after {after:?}: {missing}")]
    Incomplete {
        /// Name of the group.
        name: String,
        /// How long it was waited.
        after: Duration,
        /// Who is missing.
        missing: String,
    },
    /// A process of the group ended without leaving.
    #[error("rank {rank} (process {pid}) has died")]
    Died {
        /// Its rank.
        rank: u32,
        /// Its process.
        pid: u32,
    },
    /// A process has left the group while others still call collectives.
    #[error("rank {rank} has left the group")]
    Left {
        /// Its rank.
        rank: u32,
    },
    /// Ranks called different collectives at the same time.
    #[error("rank {rank} called {theirs} where this rank called {ours}")]
    Mismatch {
        /// The rank that called something else.
        rank: u32,
        /// What it called.
        theirs: String,
        /// What this rank called.
        ours: String,
    },
    /// A wait took too long.
    #[error("waited {after:?} for {whom}; all ranks live, but not all have called the same collective")]
    Timeout {
        /// How long it was waited.
        after: Duration,
        /// For what.
        whom: String,
    },
    /// An earlier error, here or in another rank, has ended the group.
    #[error("the group has ended: rank {rank} met an error")]
    Ended {
        /// The rank that met it.
        rank: u32,
    },
    /// The caller asked to stop waiting.
    #[error("interrupted while waiting for other ranks")]
    Interrupted,
    /// No memory of the segment is left; the group stays usable.
    #[error("{0}")]
    Memory(#[from] stratasim_alloc::AllocError),
    /// The system refused something.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// The system's answer.
        error: std::io::Error,
    },
}

impl ShmError {
    pub(crate) fn system(what: impl Into<String>, error: std::io::Error) -> Self {
        Self::System { what: what.into(), error }
    }

    pub(crate) fn last(what: impl Into<String>) -> Self {
        Self::system(what, std::io::Error::last_os_error())
    }
}
