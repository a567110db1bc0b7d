//! GOAL: schedules of sends, receives and computations, one list per rank.
//!
//! The Group Operation Assembly Language (Hoefler, Siebert and Lumsdaine, "Group Operation Assembly
//! Language - a flexible way to express collective communication", 2009) is the form in which
//! LogGOPSim and ATLAHS exchange workloads: a graph of operations per rank, without loops. A
//! [`Schedule`] holds one in memory, in 10 to 20 bytes per operation where ranks resemble each other.

pub mod binary;
pub mod check;
mod columns;
pub mod error;
pub mod file;
pub mod generate;
pub mod merge;
pub mod nccl;
pub mod regroup;
pub mod schedule;
mod source;
pub mod strata;
pub mod summary;
pub mod text;

pub use error::{FormatError, Place, ReadError, WriteError};
pub use schedule::{ANY, Edge, Operation, OperationKind, Schedule, ScheduleBuilder, Shape};
