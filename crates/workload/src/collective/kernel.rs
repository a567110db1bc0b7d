//! What members of a card do besides exchanging messages: kernels that the host starts, and memory that all reach.

use std::ops::Range;

use super::Combine;

/// A part of a round that is no message. How long the fixed parts take is a property of the machine's nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kernel {
    /// Waits until `members` members of the group `group` are here.
    Meet {
        /// Tells meetings of different members in one collective apart.
        group: u64,
        /// How many meet.
        members: u32,
    },
    /// Takes a fixed time.
    Fixed(Fixed),
    /// Reads or writes `bytes` in the member's own memory.
    Local {
        /// How many.
        bytes: u64,
    },
    /// Writes chunks of what the member holds into its part of the memory that the members share.
    Store {
        /// Which.
        chunks: Range<u32>,
        /// How many bytes they have.
        bytes: u64,
    },
    /// Reads chunks that another member holds or has stored, without its help.
    Load {
        /// The other member.
        from: u32,
        /// Where they are read.
        at: Held,
        /// Which.
        chunks: Range<u32>,
        /// How many bytes they have.
        bytes: u64,
        /// What to do with them.
        combine: Combine,
        /// Whose rate of additions holds.
        family: Family,
    },
}

/// A fixed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// The host starts a kernel on all members.
    Launch,
    /// All members are synchronised through the host.
    Synchronise,
    /// A step of an algorithm.
    Step(Family),
}

/// Which steps and additions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The host starts a kernel for every round of a ring.
    Ring,
    /// One kernel does the whole collective; sums are kept in scratch-pads.
    Kernel,
    /// One kernel, which adds to what is in the member's own memory.
    InPlace,
}

/// Where a chunk of another member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// In its own memory.
    ByMember,
    /// In the memory that all share.
    InShared,
}

/// What a plan with [kernels](Kernel) needs of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// So many members in a row are core groups of one card.
    pub members: u32,
    /// Bytes of the card's shared memory that it uses.
    pub bytes: u64,
    /// Bytes of the memory of each member that it uses.
    pub own_bytes: u64,
    /// Whether the inputs of all members are there before it begins.
    pub holds_inputs: bool,
}
