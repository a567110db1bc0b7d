//! Collectives: what is computed, and the algorithms that compute it.
//!
//! An algorithm plans rounds per member. In a round a member sends and receives; its next round
//! starts when everything of this one is done. Plans are asked round by round while they run, so
//! memory follows the active rounds. One algorithm per file, one line in the list.

pub mod ring;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, registry};

/// What a collective computes. Sizes count bytes per member: the vector that each member holds
/// before an all-reduce, reduce-scatter, reduce or broadcast, and after an all-gather; the sum of
/// what each member sends (its own part included) in an all-to-all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveKind {
    /// Every member gets the sum of all vectors.
    AllReduce,
    /// Member `i` gets part `i` of the sum.
    ReduceScatter,
    /// Every member gets the parts of all.
    AllGather,
    /// Every member gets the vector of member 0.
    Broadcast,
    /// Member 0 gets the sum.
    Reduce,
    /// Member `j` gets part `j` of every member.
    AllToAll,
    /// Nobody leaves before everybody came.
    Barrier,
}

impl CollectiveKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::AllReduce,
        Self::ReduceScatter,
        Self::AllGather,
        Self::Broadcast,
        Self::Reduce,
        Self::AllToAll,
        Self::Barrier,
    ];

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllGather => "all-gather",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllToAll => "all-to-all",
            Self::Barrier => "barrier",
        }
    }
}

/// What the receiver does with what it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// Adds it to what it has.
    Reduce,
    /// Replaces what it has.
    Copy,
}

/// One message of a round, seen from one member. Messages between two members are matched in
/// order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send `bytes`, which carry `chunks`.
    Send {
        /// Receiving member.
        to: u32,
        /// Chunks of the data that it carries, for the proof of the algorithm.
        chunks: Range<u32>,
        /// Payload.
        bytes: u64,
    },
    /// Receive what `from` sends.
    Receive {
        /// Sending member.
        from: u32,
        /// Chunks of the data that it carries.
        chunks: Range<u32>,
        /// What to do with them.
        combine: Combine,
    },
}

/// The schedule of one collective over one group.
pub trait Plan: Send + Sync + std::fmt::Debug {
    /// Rounds of `member`.
    fn rounds(&self, member: u32) -> u32;

    /// Appends what `member` does in `round`.
    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>);

    /// Chunks that the data is cut into. In an all-to-all chunk `i * n + j` goes from `i` to `j`;
    /// otherwise chunk `c` of a reduce-scatter or all-gather belongs to member
    /// [`Plan::owner`]`(c)`.
    fn chunks(&self) -> u32;

    /// The member that holds chunk `c` after a reduce-scatter and before an all-gather.
    fn owner(&self, chunk: u32) -> u32;

    /// Set when every member `i` sends once per round to member `i + 1` and receives once from
    /// `i - 1`, sending chunk `i - round` of as many chunks as members: networks may run such a
    /// plan as one request.
    fn pipeline(&self) -> Option<PipelineShape> {
        None
    }

    /// Bytes that all members send together.
    fn total_bytes(&self) -> u64;
}

/// The numbers of a [`Plan::pipeline`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineShape {
    /// Rounds.
    pub steps: u32,
    /// Bytes of every chunk,
    pub chunk_bytes: u64,
    /// and one more for the first of them.
    pub longer_chunks: u32,
}

/// An algorithm as the user chose it.
pub trait CollectiveAlgorithm: std::fmt::Debug + Send + Sync {
    /// Plans `kind` over `members` members with `bytes` bytes each.
    ///
    /// # Errors
    /// A kind that the algorithm does not do, or a number of members that it cannot handle.
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError>;
}

registry! {
    /// Every collective algorithm, by its `kind`.
    pub enum CollectiveSpec: dyn CollectiveAlgorithm {
        "ring" => Ring(ring::Ring),
    }
}

impl Default for CollectiveSpec {
    fn default() -> Self {
        Self::Ring(ring::Ring::default())
    }
}

/// The error of a kind that an algorithm does not do.
pub fn unsupported(algorithm: &str, kind: CollectiveKind, does: &[CollectiveKind]) -> BuildError {
    let does: Vec<_> = does.iter().map(|kind| kind.name()).collect();
    BuildError::new("kind", format!("`{algorithm}` does not do {}, it does {}", kind.name(), does.join(", ")))
}
