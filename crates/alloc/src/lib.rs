//! The three-tier allocator of a card (SW-IntraCC, section 3.1): one memory per core group (Local), one that all
//! groups share (Global), and a switch that moves capacity between them.
//!
//! Coarse blocks come from a bitmap: pages of 8 KiB, which the management cores address, in segments of 1 MiB, which
//! the compute cores address ([`Pages`]). Small blocks are cut from slabs of one segment, and what is free is linked
//! through the free blocks themselves ([`Heap`]). The allocator sees memory only through [`Backing`], so that the
//! model of a card (which has no bytes) and the executor over shared memory (which has) use the same code.

mod backing;
mod bits;
mod card;
mod class;
mod error;
mod heap;
mod pages;
mod slabs;

pub use backing::{Backing, Sparse};
pub use bits::BitTree;
pub use card::{Address, CardMemory, Tier};
pub use class::{CLASSES, LARGEST_SMALL_BYTES, class_bytes, class_of};
pub use error::AllocError;
pub use heap::{ClassStatistics, Heap, Statistics};
pub use pages::{PAGE_BYTES, PAGES_PER_SEGMENT, Pages, SEGMENT_BYTES};
