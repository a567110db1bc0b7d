//! `.strata`: schedules in a compact form.
//!
//! Shapes are coded once, as differences to the one before. Ranks stand in blocks of half a million operations
//! and dependencies; a rank that equals an earlier one of its block takes one or two bytes, and so does a run
//! of such ranks. Everything else is varints of differences, compressed block by block. Every byte is under a
//! checksum; what a file says is checked before it is believed, and memory stays within
//! [`EXPANSION`] bytes per byte of the file. The book's page "The .strata form" has the layout.

mod block;
mod labels;
mod ranks;
mod reader;
mod shapes;
mod varint;
mod writer;

pub use reader::{Rank, Reader, read};
pub use writer::write;

/// What a file begins with. The first byte is no text, the last one notices translated line ends.
pub const MAGIC: [u8; 8] = *b"\x8astrata\n";
/// What it ends with.
const END: [u8; 8] = *b"\natarts\x8a";
/// The version that is written, and the newest that is read.
pub const VERSION: u16 = 1;
/// Ranks, operations and dependencies of a block of several ranks; a rank that has more has a block of its own.
const ITEMS: usize = 1 << 19;
/// Most bytes of a schedule in memory per byte of the file: a block has 32 bytes or more and describes at most
/// 2^19 items of at most 8 bytes; in a block of one rank an item takes a byte, of which LZ4 can save 254 in 255.
pub const EXPANSION: u64 = 1 << 17;
