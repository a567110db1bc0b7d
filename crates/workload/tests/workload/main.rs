//! Workloads: schedules, builders, patterns, injections, readers of traces.
//!
//! One program for all of them: each further one takes several seconds to compile and to link.

mod collectives;
mod common;
mod goal_binary;
mod goal_check;
mod goal_file;
mod goal_generate;
mod goal_merge;
mod goal_strata;
mod goal_text;
mod goal_text_messages;
mod graph;
mod injection;
mod nccl;
mod on_card;
mod patterns;
mod program;
mod proof;
mod specs;
mod traffic;
mod traffic_contract;
mod transformer;
