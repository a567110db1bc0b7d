//! SimGrid platform files out.

/// Property of a host that is no host: `memory`.
pub(super) const KIND: &str = "stratasim-kind";
/// Property of a memory: its capacity in bytes; absent when unbounded.
pub(super) const CAPACITY: &str = "stratasim-capacity-bytes";
/// Property of a memory: the rate of the device itself.
pub(super) const DEVICE_BANDWIDTH: &str = "stratasim-bandwidth";
/// Property of a host: the name of the memory that extends its own.
pub(super) const HOME_MEMORY: &str = "stratasim-home-memory";
