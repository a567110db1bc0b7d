//! What can be wrong with a plan.

use std::ops::Range;

use stratasim_core::words::counted;

/// What is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Flaw {
    #[error("member {member} has nothing to do in round {round}")]
    EmptyRound { member: u32, round: u32 },
    #[error("member {member} exchanges a message with member {peer} in round {round}")]
    Peer { member: u32, peer: u32, round: u32 },
    #[error("member {member} names chunks {chunks:?} of {count} in round {round}")]
    Chunks { member: u32, round: u32, chunks: Range<u32>, count: u32 },
    #[error("member {member} sends {found} bytes in round {round}, chunks {chunks:?} have {expected}")]
    Bytes { member: u32, round: u32, chunks: Range<u32>, found: u64, expected: u64 },
    #[error("member {member} sends chunk {chunk} in round {round} and does not have it")]
    NothingToSend { member: u32, round: u32, chunk: u32 },
    #[error(
        "member {to} takes chunks {expected:?} from member {from} in round {round}, chunks {found:?} came"
    )]
    Mismatch { from: u32, to: u32, round: u32, found: Range<u32>, expected: Range<u32> },
    #[error("member {member} adds chunk {chunk} in round {round} twice for a contributor, or to nothing")]
    Overlap { member: u32, round: u32, chunk: u32 },
    #[error("the order of arrivals decides what member {member} holds of chunk {chunk} after round {round}")]
    Race { member: u32, round: u32, chunk: u32 },
    #[error("member {member} waits for member {from} in round {round} for ever")]
    Deadlock { member: u32, round: u32, from: u32 },
    #[error("member {member} waits in round {round} for others that never meet it")]
    Alone { member: u32, round: u32 },
    #[error(
        "member {member} reads chunk {chunk} of member {of} in round {round}, and nothing says that it is there"
    )]
    Early { member: u32, round: u32, chunk: u32, of: u32 },
    #[error("member {to} never receives {} from member {from}", counted(*count as u64, "message"))]
    Unreceived { from: u32, to: u32, count: usize },
    #[error("member {member} ends with {found} of {expected} contributions to chunk {chunk}")]
    Result { member: u32, chunk: u32, found: u32, expected: u32 },
    #[error("member {member} owns {found} chunks of {chunks}, not an equal share of {members} members")]
    Share { member: u32, found: u32, chunks: u32, members: u32 },
    #[error("the plan says {said} bytes in total, its messages have {found}")]
    Total { said: u64, found: u64 },
    #[error("round {round} of member {member} is not the step of the pipeline that the plan declares")]
    Pipeline { member: u32, round: u32 },
}
