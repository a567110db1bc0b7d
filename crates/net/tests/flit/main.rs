//! The flit level: kernels, routings and the network for programs.
//!
//! One program for all of them: each further one takes several seconds to compile and to link.

mod choices;
mod contract;
mod full;
mod full_allocators;
mod interfaces;
mod kernels;
mod network;
mod routing;
mod routing_contract;
mod spacing;
#[path = "../support/mod.rs"]
mod support;
mod up_down;
