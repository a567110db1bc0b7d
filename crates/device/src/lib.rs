//! What computes and what remembers: rates, rooflines, cores, capacity.

pub mod compute;
mod profiles;

pub use compute::{ComputeModel, ComputeOptions};
