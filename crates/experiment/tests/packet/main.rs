//! Experiments at packet level.

mod alone;
mod atlahs;
mod bounds;
#[path = "../common/mod.rs"]
mod common;
mod connections;
mod credit;
mod direct_xpu;
mod echo;
mod instants;
mod lossless;
mod machines;
mod needless;
mod origin;
mod paths;
mod recovery;
mod schedules;
mod signals;
mod silence;
mod unequal;
