//! The words everybody speaks: time, units, ids, events, the `Model` contract.
//!
//! ```text
//!  Document → Spec → build ─→ Engine ─→ Observer → table, JSON, trace, columns
//!                      │        ↑ ↓
//!            Topology, Workload, Model (network, compute)
//! ```
//! Nothing here knows a topology, a program or a protocol. Crates that do are built on these
//! types, and dependencies between crates only point down (see `ARCHITECTURE.md`).

pub mod error;
pub mod files;
pub mod ids;
pub mod json;
pub mod kernel;
pub mod memory;
pub mod model;
pub mod names;
pub mod observe;
pub mod precision;
pub mod processor;
pub mod quantity;
pub mod queue;
pub mod random;
pub mod registry;
pub mod slots;
pub mod time;
pub mod water_level;
pub mod words;

pub use error::BuildError;
pub use ids::{LinkId, NodeId, Rank};
pub use kernel::KernelCosts;
pub use model::{Cx, Model, Token};
pub use precision::Precision;
pub use quantity::{Bandwidth, Bytes, ComputeRate, Flops, Frequency, TimePerByte};
pub use slots::Slots;
pub use time::{Duration, Time};

// The registry macro names these crates in the code that it writes.
#[doc(hidden)]
pub use {schemars, serde};
