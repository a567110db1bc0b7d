//! What the engine writes on a request to know its completion again.

use stratasim_core::Token;

/// Which part of which task a completion belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The computation of an instance.
    Compute,
    /// The memory access of an instance.
    Memory,
    /// A transfer, or the message of a send.
    Message,
    /// A message of a collective's round; carries the message's slot.
    Round,
    /// A pipeline; carries the collective's slot.
    Pipeline,
    /// What a member of a collective stores or loads; carries its slot.
    Access,
}

const PART_SHIFT: u32 = 60;

/// Packs an instance: vertex (28 bits) and index.
#[inline]
pub(crate) const fn pack_task(part: Part, vertex: u32, index: u32) -> Token {
    pack(part, (vertex as u64) << 32 | index as u64)
}

/// Vertex and index of an instance.
#[inline]
pub(crate) const fn task_of(number: u64) -> (u32, u32) {
    ((number >> 32) as u32, number as u32)
}

/// Packs a part and an instance (or slot) number.
#[inline]
pub(crate) const fn pack(part: Part, number: u64) -> Token {
    debug_assert!(number < 1 << PART_SHIFT);
    Token((part as u64) << PART_SHIFT | number)
}

/// The part and number of a token.
#[inline]
pub(crate) const fn unpack(token: Token) -> (Part, u64) {
    let part = match token.0 >> PART_SHIFT {
        0 => Part::Compute,
        1 => Part::Memory,
        2 => Part::Message,
        3 => Part::Round,
        4 => Part::Pipeline,
        _ => Part::Access,
    };
    (part, token.0 & ((1 << PART_SHIFT) - 1))
}
