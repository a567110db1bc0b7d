//! A card: core groups with three tiers of memory, a ring between them, and a host.
//!
//! After SW-IntraCC (Zhao et al., Journal of Computer Research and Development 2025,
//! DOI 10.7544/issn1000-1239.202550143): each core group has an array of compute elements with a
//! scratch-pad each (LDM), a Local memory of its own, and a part of a Global memory that all groups
//! reach over the ring.

pub mod description;

pub use description::{Buffering, Card, Compute, Cost, Dma, Host, Memory, Rates};
