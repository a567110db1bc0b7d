//! Output ports: a link and what waits for it.

use stratasim_core::LinkId;
use stratasim_core::memory::prefetch;
use stratasim_core::random::Draws;

use super::lane::{Lane, PerClass};

/// No packet, port or interface.
pub(super) const NOTHING: u32 = u32::MAX;

/// A packet in service whose marks are made, and which may be anywhere by now.
pub(super) const MARKED: u32 = NOTHING - 1;

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

/// An output port and its link. Control (everything without payload) goes before data, and data by class.
///
/// Every hop needs the first three cache lines; large machines have more ports than a core's
/// cache holds.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Port {
    /// When the link is free.
    pub(super) busy_until: u64,
    /// Time per byte.
    pub(super) rate: PerByte,
    /// Propagation delay, picoseconds.
    pub(super) delay: u64,
    /// Packets without payload.
    pub(super) high: Waiting,
    /// The packet in service, or the last one that was; [`NOTHING`], [`MARKED`].
    pub(super) current: u32,
    /// Its bytes where it is data; they count until it has left.
    pub(super) in_service_bytes: u32,
    /// The port by which it came to this switch (lossless networks).
    pub(super) leaving_from: u32,
    /// The network interface of a host that it belongs to; [`NOTHING`].
    pub(super) nic: u32,
    /// The buffer that it shares with other ports; [`NOTHING`].
    pub(super) pool: u32,
    /// Its class.
    pub(super) in_service_class: u8,
    /// Whether something waits for the moment at which it is free: an event, or with [`Self::chained`] what is here.
    pub(super) free_is_noted: bool,
    /// The end of its services needs no event (see `chain`).
    pub(super) chained: bool,
    /// What is at the other end.
    pub(super) beyond: Beyond,
    /// Packets with payload, by class.
    pub(super) lanes: PerClass<Lane>,
    /// Most bytes of data of a class, that in service included.
    pub(super) capacity: u64,
    /// Where marking begins, and where every packet is marked.
    pub(super) mark_from: u64,
    pub(super) mark_all: u64,
    /// Draws of this port.
    pub(super) draws: Draws,
    /// Most bytes of control that wait.
    pub(super) control_capacity: u64,
    pub(super) counts: PortCounts,
    /// Packets of control that have gone one after the other while data waited.
    pub(super) control_in_a_row: u32,
    /// Room for each class that the other end has told of in the beginning; `u64::MAX` where nobody asks.
    pub(super) room_bytes: u64,
    /// Bytes of the packet in service, where it came from another switch (lossless networks).
    pub(super) leaving_bytes: u32,
    /// Where the link ends.
    pub(super) to: u32,
    /// What may go wrong on the link; [`NOTHING`] for nothing.
    pub(super) faults: u32,
    pub(super) link: LinkId,
    /// Whether it leads to a host.
    pub(super) last_hop: bool,
    /// The next data packet is the host's own, where others wait, too.
    pub(super) own_turn: bool,
    /// It belongs to a host through which packets of others go.
    pub(super) between: bool,
}

/// What a port has to do for the other end of its link, when a packet goes onto it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beyond {
    /// Nothing: the packet will arrive.
    Node,
    /// A switch that looks at packets as soon as their header has come.
    Header,
    /// Another part of the network, to which the packet goes.
    Part,
    /// A host of a network in several parts, where messages become complete.
    Host,
}

/// What went through a port.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct PortCounts {
    pub(super) bytes: u64,
    pub(super) most_bytes: u64,
    pub(super) drops: u64,
    pub(super) trims: u64,
    pub(super) marks: u64,
    pub(super) pauses: u64,
    pub(super) vanished: u64,
    /// Packets for which the other end had no room, against what it had said.
    pub(super) overruns: u64,
}

impl Port {
    /// Whether packets of others wait here, as at a switch; the ports of other hosts serve nobody but these.
    #[inline]
    pub(super) const fn is_queue(&self) -> bool {
        self.nic == NOTHING || self.between
    }

    /// Asks for the cache lines that a hop needs.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&self.busy_until);
        prefetch(&self.lanes);
        prefetch(&self.counts);
    }

    /// Bytes that its link has carried by `now`; of what is on it, the part that has left.
    pub(super) fn carried_bytes(&self, now: u64) -> f64 {
        let under_way_s = self.busy_until.saturating_sub(now) as f64 * 1e-12;
        (self.counts.bytes as f64 - under_way_s * self.rate.bytes_per_s()).max(0.0)
    }

    /// Bytes of data in it at `now`.
    #[inline]
    pub(super) fn data_bytes(&self, now: u64) -> u64 {
        let waits: u64 = self.lanes.iter().map(|lane| lane.line.bytes).sum();
        waits + if now < self.busy_until { u64::from(self.in_service_bytes) } else { 0 }
    }

    /// Bytes of data and control that wait, without what is in service.
    pub(super) fn waiting_bytes(&self) -> u64 {
        self.high.bytes + self.lanes.iter().map(|lane| lane.line.bytes).sum::<u64>()
    }

    /// Those of a class.
    #[inline]
    pub(super) const fn lane_bytes(&self, class: u8, now: u64) -> u64 {
        let in_service = now < self.busy_until && self.in_service_class == class;
        self.lanes.get(class).line.bytes + if in_service { self.in_service_bytes as u64 } else { 0 }
    }

    /// Whether data waits.
    #[inline]
    pub(super) fn is_waited_for(&self) -> bool {
        self.lanes.any(|lane| !lane.line.is_empty())
    }

    /// Whether control goes next, before data that waits, too; `most` go one after the other. Ask when something begins.
    #[inline]
    pub(super) fn control_goes(&mut self, most: u32) -> bool {
        if self.high.is_empty() {
            return false;
        }
        if most == u32::MAX || self.nic != NOTHING || !self.is_waited_for() {
            return true;
        }
        let goes = self.control_in_a_row < most;
        self.control_in_a_row = if goes { self.control_in_a_row + 1 } else { 0 };
        goes
    }

    /// Whether something waits that goes onto the link before `until`, and needs no event for it.
    #[inline]
    pub(super) const fn goes_on_before(&self, until: u64) -> bool {
        self.chained && self.free_is_noted && self.busy_until < until
    }

    /// Whether the packet in service takes room in this switch of which somebody keeps count.
    #[inline]
    pub(super) const fn leaves_room(&self) -> bool {
        // both are nothing
        self.leaving_from & self.pool != NOTHING
    }

    /// Whether a packet that comes to the free link may go before anything else is looked at.
    #[inline]
    pub(super) const fn lets_pass(&self, control: bool, class: u8, bytes: u32) -> bool {
        let lane = self.lanes.get(class);
        // without credits and pauses, nobody waits where the link is free
        lane.credit_bytes == u64::MAX
            || lane.lets(bytes) && if control { self.high.is_empty() } else { lane.line.is_empty() }
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

    /// Whether its bytes take less time than those of `other`.
    pub(super) const fn is_faster_than(self, other: Self) -> bool {
        self.0 < other.0
    }

    /// Bytes per second.
    pub(super) fn bytes_per_s(self) -> f64 {
        1e12 * (1_u64 << 24) as f64 / self.0.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn what_every_hop_needs_lies_together() {
        assert_eq!(offset_of!(Port, lanes), 64);
        assert!(offset_of!(Port, counts) + offset_of!(PortCounts, most_bytes) + 8 <= 192);
    }
}
