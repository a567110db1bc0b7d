//! Kinds of links, with the room before them: what many ports have in common.

/// The share that is all packets.
pub(super) const MARK_UNIT: u32 = 1 << 20;

/// What many ports have in common, so that it is near. Nothing of it changes while the network is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(align(64))]
pub(super) struct LinkKind {
    /// Time per byte.
    pub(super) rate: PerByte,
    /// Propagation delay, picoseconds.
    pub(super) delay: u64,
    /// Most bytes of data of a class, that in service included.
    pub(super) capacity: u64,
    /// Where marking begins, and where every packet is marked.
    pub(super) mark_from: u64,
    pub(super) mark_all: u64,
    /// The share of packets that are marked just below that, in [`MARK_UNIT`]th parts.
    pub(super) mark_share: u32,
    /// Most bytes of control that wait.
    pub(super) control_capacity: u64,
}

impl LinkKind {
    /// Time of `bytes` on the link, picoseconds.
    #[inline]
    pub(super) fn time_of(&self, bytes: u32) -> u64 {
        self.rate.of(bytes)
    }
}

/// Picoseconds per byte, in units of 2^-24.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PerByte(u64);

impl PerByte {
    /// Of a link with this many bytes per second, at least one.
    pub(super) fn new(bytes_per_s: f64) -> Self {
        Self((1e12 / bytes_per_s.max(1.0) * (1_u64 << 24) as f64).round().min(u64::MAX as f64) as u64)
    }

    /// Time of `bytes`, picoseconds, rounded.
    #[inline]
    pub(super) fn of(self, bytes: u32) -> u64 {
        ((u128::from(bytes) * u128::from(self.0) + (1 << 23)) >> 24) as u64
    }

    /// Whether its bytes take less time than those of `other`.
    pub(super) const fn is_faster_than(self, other: Self) -> bool {
        self.0 < other.0
    }

    /// Bytes per second.
    pub(super) fn bytes_per_s(self) -> f64 {
        1e12 * (1_u64 << 24) as f64 / self.0.max(1) as f64
    }
}
