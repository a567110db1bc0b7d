//! Output ports: a link and what waits for it.

use stratasim_core::LinkId;
use stratasim_core::random::Draws;

/// No packet, port or interface.
pub(super) const NOTHING: u32 = u32::MAX;

/// Packets that wait, in order: a list through the packets themselves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) bytes: u64,
}

impl Waiting {
    pub(super) const EMPTY: Self = Self { head: NOTHING, tail: NOTHING, bytes: 0 };

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.head == NOTHING
    }
}

/// An output port and its link. Two classes wait: control (everything without payload) goes before data.
#[derive(Debug)]
pub(super) struct Port {
    /// When the link is free.
    pub(super) busy_until: u64,
    /// Time per byte.
    pub(super) rate: PerByte,
    /// Propagation delay, picoseconds.
    pub(super) delay: u64,
    /// Where the link ends.
    pub(super) to: u32,
    /// The packet in service, or the last one that was until its effects are noted; [`NOTHING`].
    pub(super) current: u32,
    /// Its bytes where it is data; they count until it has left.
    pub(super) in_service_bytes: u32,
    /// The network interface of a host that it belongs to; [`NOTHING`].
    pub(super) nic: u32,
    /// Packets without payload.
    pub(super) high: Waiting,
    /// Packets with payload.
    pub(super) low: Waiting,
    /// Most bytes of data, that in service included.
    pub(super) capacity: u64,
    /// Most bytes of control that wait.
    pub(super) control_capacity: u64,
    /// Where marking begins, and where every packet is marked.
    pub(super) mark_from: u64,
    pub(super) mark_all: u64,
    /// Draws of this port.
    pub(super) draws: Draws,
    /// What may go wrong on the link; [`NOTHING`] for nothing.
    pub(super) faults: u32,
    /// Bytes that came by this link and have not left the switch behind it (lossless networks).
    pub(super) held_bytes: u64,
    pub(super) counts: PortCounts,
    pub(super) link: LinkId,
    /// Whether an event waits for the moment at which it is free.
    pub(super) free_is_noted: bool,
    /// The other end asked it to stop.
    pub(super) paused: bool,
    /// The other end has asked it to stop, and not yet to go on.
    pub(super) pausing: bool,
    /// Whether it leads to a host.
    pub(super) last_hop: bool,
    /// The next data packet is the host's own, where others wait, too.
    pub(super) own_turn: bool,
}

/// What went through a port.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PortCounts {
    pub(super) bytes: u64,
    pub(super) most_bytes: u64,
    pub(super) drops: u64,
    pub(super) trims: u64,
    pub(super) marks: u64,
    pub(super) pauses: u64,
    pub(super) vanished: u64,
}

impl Port {
    /// Bytes of data in it at `now`.
    #[inline]
    pub(super) fn data_bytes(&self, now: u64) -> u64 {
        self.low.bytes + if now < self.busy_until { u64::from(self.in_service_bytes) } else { 0 }
    }

    /// Time of `bytes` on the link, picoseconds.
    #[inline]
    pub(super) fn time_of(&self, bytes: u32) -> u64 {
        self.rate.of(bytes)
    }
}

/// Picoseconds per byte, in units of 2^-24.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// Bytes per second.
    pub(super) fn bytes_per_s(self) -> f64 {
        1e12 * (1_u64 << 24) as f64 / self.0.max(1) as f64
    }
}
