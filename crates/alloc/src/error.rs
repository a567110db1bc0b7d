//! What can go wrong with an allocation.

use crate::card::{Address, Tier};

/// Why an operation was refused. Nothing has changed then, but the count of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AllocError {
    /// No free run is long enough.
    #[error(
        "out of memory: {requested_bytes} B were asked for, {free_bytes} B are free, the largest block that fits is {largest_bytes} B"
    )]
    OutOfMemory {
        /// What was asked for.
        requested_bytes: u64,
        /// What is free in all.
        free_bytes: u64,
        /// What would have been given.
        largest_bytes: u64,
    },
    /// The block is free: freed twice, or never allocated.
    #[error("the block at offset {offset_bytes:#x} is free: freed twice, or never allocated")]
    DoubleFree {
        /// Offset in the memory.
        offset_bytes: u64,
    },
    /// The address lies in an allocated block, but is not where it starts.
    #[error(
        "offset {offset_bytes:#x} is not where a block starts; the block that holds it starts at {start_bytes:#x}"
    )]
    Misaligned {
        /// Offset that was given.
        offset_bytes: u64,
        /// Offset at which the block starts.
        start_bytes: u64,
    },
    /// The offset lies behind the memory's end.
    #[error("offset {offset_bytes:#x} lies outside of the memory of {capacity_bytes} B")]
    OutsideMemory {
        /// Offset that was given.
        offset_bytes: u64,
        /// Capacity of the memory.
        capacity_bytes: u64,
    },
    /// The address belongs to no tier of this card.
    #[error("{0} is no address of this card")]
    UnknownAddress(Address),
    /// There is no such core group.
    #[error("there is no core group {group}; the card has {groups}")]
    UnknownGroup {
        /// Group that was asked for.
        group: u32,
        /// Groups there are.
        groups: u32,
    },
    /// Freed by the call of another tier.
    #[error("{address} belongs to {found}, but was freed in {expected}")]
    WrongTier {
        /// Address that was given.
        address: Address,
        /// Where it belongs.
        found: Tier,
        /// Where it was freed.
        expected: Tier,
    },
    /// Someone has written into a free block: the list of free blocks does not add up.
    #[error(
        "the list of free blocks is broken at offset {offset_bytes:#x}: something was written into a free block"
    )]
    Corrupted {
        /// Offset of the free block.
        offset_bytes: u64,
    },
    /// Capacity cannot be given away: something is allocated there.
    #[error(
        "{tier} cannot shrink to {wanted_bytes} B: a block ends at {used_until_bytes} B; free it first, or reserve before allocating"
    )]
    InUse {
        /// The tier that would shrink.
        tier: Tier,
        /// Its capacity then.
        wanted_bytes: u64,
        /// End of the last block in use.
        used_until_bytes: u64,
    },
    /// A capacity beyond what one memory may have.
    #[error("a memory of {capacity_bytes} B is too large: at most {most_bytes} B")]
    TooLarge {
        /// Capacity that was asked for.
        capacity_bytes: u64,
        /// Most there may be.
        most_bytes: u64,
    },
}
