//! Networks, from message level to flit level, behind one contract.

mod cables;
mod checks;
pub mod constant_rate;
pub mod flit;
pub mod flow;
mod memories;
pub mod message;
pub mod networks;
mod outcomes;
pub mod packet;

pub use networks::{NetworkContext, NetworkKind, NetworkSpec};
