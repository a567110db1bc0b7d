//! Protocols between two ends: contracts, rules, wire forms, and what loss costs.

mod alone;
mod contract;
mod endpoint;
mod go_back_n;
mod incast;
#[path = "../live/mod.rs"]
mod live;
mod loss_table;
mod operations;
mod probes;
mod published;
mod repairs;
mod room;
mod rules;
mod specs;
mod time_outs;
mod wire;
