//! GOAL as text: reading, writing, and what other tools would make of it.
//!
//! The grammar is that of `txt2bin` of LogGOPSim and ATLAHS, read with more kindness: statements may be
//! indented and followed by comments or by the `}` of their block, blocks may come in any order, and
//! labels may be used before they are defined. [`strict`] lists what the other tools would refuse or
//! change without a word.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 500                        // nanoseconds; [cpu N]
//! l2: send 1024b to 1 tag 7           // [tag N|-1] [cpu N] [nic N], in this order
//! l2 requires l1                      // starts when l1 has ended; irequires: has started
//! }
//! rank 1 {
//! recv 1024b from -1 tag -1           // from any rank, with any tag
//! }
//! ```

mod blocks;
mod cursor;
mod labels;
mod parse;
mod read;
mod source;
mod statement;
mod strict;
mod write;

pub use read::read;
pub use strict::{Complaint, Severity, strict};
pub use write::write;
