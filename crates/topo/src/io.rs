//! File formats in and out.

pub mod profile;
