//! The binary form of GOAL, as `txt2bin` writes it and LogGOPSim and ATLAHS read it.
//!
//! All numbers are little endian, nothing is padded:
//!
//! | bytes | field |
//! |---|---|
//! | 8 | cookie, 4223; 2342 in a file that `LogGOPSim --save-mem` has used up |
//! | 4 | number of ranks |
//! | 1, 1 | largest stream and largest NIC of any operation |
//! | 8, 8 per rank | where its block starts and ends, counted from byte 8 |
//!
//! The blocks of the ranks follow one after the other, each with
//!
//! | bytes | field |
//! |---|---|
//! | 4, 4 | number of operations, number of roots |
//! | 4 per root | operation without dependencies, ascending |
//! | 39 per operation | see below |
//! | 4 per dependency | operation that waits: those that wait for the end of operation 0, for its start, for the end of operation 1, ... |
//!
//! and each operation with its number of dependencies (4), kind (1), peer (4), size (8), tag (4), stream (1),
//! NIC (1), and where its dependants stand: how many wait for its end (4), from where on (4), how many for its
//! start (4), from where on (4). There are no labels, and no more than 256 streams and NICs.

mod read;
mod write;

pub use read::read;
pub use write::write;

/// What a file begins with.
pub const COOKIE: u64 = 4223;
/// What `LogGOPSim --save-mem` leaves there.
pub const USED_UP: u64 = 2342;
/// Bytes of an operation.
const RECORD: usize = 39;
/// Bytes of an operation in LogGOPSim2's files, which have the same cookie.
const RECORD_2: usize = 104;
/// Bytes from the beginning to the table of blocks.
const HEADER: usize = 14;
/// Bytes of the cookie, with which it begins.
const COOKIE_BYTES: usize = 8;
/// Byte from which the table counts.
const ORIGIN: u64 = 8;
