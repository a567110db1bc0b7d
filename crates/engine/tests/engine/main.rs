//! The engine: order of what runs, streams, message level, noise, and how it stops.

mod compat;
mod message_level;
mod noise;
mod schedule;
mod schedule_properties;
mod stall;
#[path = "../support/mod.rs"]
mod support;
