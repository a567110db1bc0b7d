//! Output ports: what is said of them and what is seldom looked at.

use stratasim_core::LinkId;
use stratasim_core::observe::QueueCounts;
use stratasim_core::random::Draws;

use super::lane::{Lane, PerClass};
use super::link_kind::LinkKind;

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

/// An output port and its link: what its [`Service`](super::service::Service) does not know. Control (everything without
/// payload) goes before data, and data by class.
#[derive(Debug, Clone)]
pub(super) struct Port {
    pub(super) kind: LinkKind,
    /// The port by which the packet in service came to this switch (lossless networks).
    pub(super) leaving_from: u32,
    /// Its bytes, where it came from another switch.
    pub(super) leaving_bytes: u32,
    /// The network interface of a host that it belongs to; [`NOTHING`].
    pub(super) nic: u32,
    /// The buffer that it shares with other ports; [`NOTHING`].
    pub(super) pool: u32,
    /// What is at the other end.
    pub(super) beyond: Beyond,
    /// Classes of packets with payload.
    pub(super) lanes: PerClass<Lane>,
    /// Draws of this port.
    pub(super) draws: Draws,
    pub(super) counts: PortCounts,
    /// Packets of control that have gone one after the other while data waited.
    pub(super) control_in_a_row: u32,
    /// Room for each class that the other end has told of in the beginning; `u64::MAX` where nobody asks.
    pub(super) room_bytes: u64,
    /// How much higher than on short links the thresholds are at which the other end asks for a stop.
    pub(super) raised_bytes: u64,
    /// Where the link ends.
    pub(super) to: u32,
    /// What may go wrong on the link; [`NOTHING`] for nothing.
    pub(super) faults: u32,
    pub(super) link: LinkId,
    /// Whether it leads to a host.
    pub(super) last_hop: bool,
    /// Bytes by which the host's own packets are ahead of others, while both have waited for this port.
    pub(super) own_ahead_bytes: i64,
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
pub(super) struct PortCounts {
    /// Most bytes of data of a class, that in service included.
    pub(super) most_bytes: u64,
    pub(super) drops: u64,
    pub(super) trims: u64,
    pub(super) marks: u64,
    /// Those that had no mark before.
    pub(super) marked_packets: u64,
    pub(super) pauses: u64,
    pub(super) vanished: u64,
    /// Packets for which the other end had no room, against what it had said.
    pub(super) overruns: u64,
}

impl PortCounts {
    /// What has happened to packets since it was `before`.
    pub(super) fn since(&self, before: &Self) -> QueueCounts {
        let more = |now: u64, before: u64| u32::try_from(now - before).unwrap_or(u32::MAX);
        QueueCounts {
            drops: more(self.drops, before.drops),
            trims: more(self.trims, before.trims),
            marks: more(self.marks, before.marks),
            pauses: more(self.pauses, before.pauses),
        }
    }
}

impl Port {
    /// Whether packets of others wait here, as at a switch; the ports of other hosts serve nobody but these.
    #[inline]
    pub(super) const fn is_queue(&self) -> bool {
        self.nic == NOTHING || self.between
    }

    /// Whether control goes before data that waits, once more; `most` times one after the other.
    pub(super) const fn control_has_turn(&mut self, most: u32) -> bool {
        let goes = self.control_in_a_row < most;
        self.control_in_a_row = if goes { self.control_in_a_row + 1 } else { 0 };
        goes
    }

    /// Whether the packet in service takes room in this switch of which somebody keeps count.
    #[inline]
    pub(super) const fn leaves_room(&self) -> bool {
        // both are nothing
        self.leaving_from & self.pool != NOTHING
    }

    /// Time of `bytes` on the link, picoseconds.
    #[inline]
    pub(super) fn time_of(&self, bytes: u32) -> u64 {
        self.kind.time_of(bytes)
    }
}
