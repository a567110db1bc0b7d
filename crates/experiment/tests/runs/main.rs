//! Whole experiments: what comes out of them, what they refuse, and how they stop.

mod closed_forms;
#[path = "../common/mod.rs"]
mod common;
mod graphs;
mod hcsim;
mod limits;
mod link_uses;
mod message_counts;
mod schedules;
mod stop;
mod subgroups;
mod sweep;
