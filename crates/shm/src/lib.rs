//! Collectives between processes of one machine through shared memory: the schedules that SW-IntraCC runs between the
//! core groups of a card, for real.
//!
//! Every process is a rank of a [`Group`]. It has a Local segment, which the others can read, and a slot of a Global
//! segment. All-gather, reduce-scatter, all-reduce and broadcast run by ring (one-copy, or two-sided with bounce
//! buffers), CSC (through Global) or direct reads ([`Algorithm`]); waiting is by futex, and a process that dies makes
//! the others return an error.
//!
//! Order of summation, for every algorithm: part `p` of the vector is summed from rank `p + 1` round the ring to rank
//! `p`, and rounded to the element's type after every step. So all algorithms give the same bits.

mod algorithm;
mod choice;
mod control;
mod element;
mod error;
mod exchange;
mod fused;
mod futex;
mod group;
mod join;
mod map;
mod measure;
mod partition;
mod process;
mod ring;
mod view;
mod wait;

pub use algorithm::{Algorithm, Operation};
pub use choice::{ChoiceError, Choices};
pub use element::{ElementType, Reduction};
pub use error::ShmError;
pub use fused::{NormGatherMultiply, Phases};
pub use group::{Block, Group};
pub use join::Options;
pub use measure::{Measured, measure};
pub use partition::part;
