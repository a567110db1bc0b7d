//! Flit level: wormhole routers with virtual channels and credits, cycle by cycle.
//!
//! ```text
//!  Topology ──→ Fabric (routers, ports, channels, terminals) ┐
//!                              FlitRouting (candidates) ─────┼─→ kernel ←→ Terminals (packets in and out)
//!                              RouterSpec (VCs, buffers, …) ─┘
//! ```
//! A [`Fabric`](fabric::Fabric) says what is wired to what, a [`FlitRouting`](routing::FlitRouting)
//! proposes outputs, a [`RouterSpec`](router::RouterSpec) says how routers are built. Two kernels move
//! the flits by the same rules: `fast` covers the input-queued router with one-cycle stages and iSLIP,
//! `full` every option, and each is the other's oracle. A kernel asks a
//! [`Terminals`](terminals::Terminals) for packets and hands it what arrives; open-loop traffic and
//! programs are two of those.
//!
//! Source of the rules: Dally, Towles, "Principles and Practices of Interconnection Networks" (2004),
//! chapters 16 to 19.

pub mod allocator;
pub mod any;
pub mod booksim;
pub mod dependency;
pub mod fabric;
pub mod fast;
pub mod full;
pub mod kernel;
mod keys;
pub mod network;
pub mod next_output;
pub mod router;
pub mod routing;
pub mod terminals;

pub use network::{Flit, Prepared};
