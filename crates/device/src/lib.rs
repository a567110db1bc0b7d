//! What computes and what remembers: rates, rooflines, cores, capacity.

pub mod card;
pub mod compute;
mod profiles;

pub use compute::{ComputeModel, ComputeOptions};
