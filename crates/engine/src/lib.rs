//! Runs a program on a machine: dependencies, streams, collectives, matching.
//!
//! The engine sees models through their contract only: it never knows which network or device it
//! drives. One loop serves every level of detail: the model with the earliest bound advances, no
//! further than the bounds of the others, and what it completes releases further tasks.

mod account;
mod ahead;
mod collectives;
pub mod compat;
mod dependencies;
mod engine;
mod error;
mod fifo;
mod instances;
mod kernel;
mod lists;
mod matching;
pub mod schedule;
mod stall;
mod token;
mod vertices;

pub use account::RankAccount;
pub use engine::{Engine, MemoryMode, Options, Place, Summary};
pub use error::RunError;
pub use schedule::{ScheduleEngine, ScheduleOptions, ScheduleSummary};
pub use vertices::VertexAccount;
