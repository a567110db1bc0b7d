//! A card: core groups with three tiers of memory, a ring between them, and a host.
//!
//! After SW-IntraCC (Zhao et al., Journal of Computer Research and Development 2025,
//! DOI 10.7544/issn1000-1239.202550143): each core group has an array of compute elements with a
//! scratch-pad each (LDM), a Local memory of its own, and a part of a Global memory that all groups
//! reach over the ring.
//!
//! A collective is a [`Schedule`] of tasks that an [`Algorithm`] writes. Three models say how long it takes
//! ([`Fidelity`]): closed forms ([`closed_form`], F0), the task graph with ports shared max-min fairly
//! ([`task_graph`], F1), and tiles that go through the scratch-pads ([`tiles`], F2).

pub mod algorithm;
pub mod closed_form;
pub mod description;
mod fluid;
pub mod fusion;
pub mod host;
mod ports;
pub mod schedule;
pub mod task_graph;
pub mod tiles;
pub mod time;

pub use algorithm::{Algorithm, AlgorithmSpec, Operation};
pub use description::{Buffering, Card, Compute, Cost, Dma, Host, Memory, Rates};
pub use fusion::{Between, Operators};
pub use host::HostCopy;
pub use schedule::{Copy, Family, Place, Region, Schedule, Task, Work, chunk};
pub use time::{Fidelity, Ranking, fastest, rank, time_s};
