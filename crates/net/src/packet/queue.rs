//! What happens at a port where packets find no room: one kind of queue per struct, one line in the list.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes, registry};
use stratasim_transport::PacketSizes;

/// Rules of all queues of a network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueRules {
    /// A packet without room loses its payload and goes on as control; otherwise it is dropped.
    pub trims: bool,
    /// One time in two the newest of those that wait makes room for the one that arrives.
    pub spares_newcomers: bool,
    /// Packets without payload go before those with it.
    pub control_first: bool,
    /// Most bytes of control that wait; as given by the data buffer when absent.
    pub control_bytes: Option<u64>,
    /// So many packets of control at most go one after the other while data waits.
    pub control_in_a_row: u32,
    /// A header that finds no room goes back to its sender.
    pub returns: bool,
    /// How switches keep others from sending what they have no room for.
    pub backpressure: Backpressure,
    /// Default buffers, in multiples of the bytes in flight on the longest way.
    pub buffer_factor: u64,
}

/// How a switch keeps the other end of a link from sending what it has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backpressure {
    /// Not at all.
    None,
    /// It asks it to stop, and to go on.
    Pause {
        /// Bytes of a class held for a link above which its other end is asked to stop.
        above_bytes: u64,
        /// Bytes below which it is asked to go on.
        below_bytes: u64,
        /// Most bytes that are held; what comes then is dropped.
        most_bytes: u64,
        /// Both thresholds are higher on links on whose delays more than that travels.
        follows_delay: bool,
    },
    /// It says for how many bytes it has room.
    Credit {
        /// Room for each link and class; what keeps the link busy when absent.
        bytes: Option<u64>,
    },
}

impl QueueRules {
    /// Whether switches keep count of what came by which link.
    #[inline]
    pub const fn holds(&self) -> bool {
        !matches!(self.backpressure, Backpressure::None)
    }

    /// Refuses sizes of packets with which a queue cuts what is no larger than what is left of it: that would make no room, and headers
    /// alone fill a link.
    ///
    /// # Errors
    /// Both sizes; the field as in [`PacketSizes`].
    pub(super) fn check_sizes(&self, sizes: &PacketSizes) -> Result<(), BuildError> {
        let (full, control) = (sizes.wire_bytes(), sizes.control_bytes);
        if !self.trims || u64::from(control) < full {
            return Ok(());
        }
        let reason = format!(
            "{control} B, which are left of a packet that `queue` trims, and a full packet has {full} B (`payload-bytes` and \
             `header-bytes`); it must have more, or `queue` be of a kind that does not trim, such as `drop-tail`"
        );
        Err(BuildError::new("control-bytes", reason))
    }
}

/// A kind of queue as the user chose it.
pub trait QueueKind {
    /// Its rules; `packet_bytes` is the largest packet on the wire, with payload or without.
    ///
    /// # Errors
    /// Thresholds that do not fit each other.
    fn rules(&self, packet_bytes: u64) -> Result<QueueRules, BuildError>;
}

registry! {
    /// Every kind of queue, by its `kind`.
    pub enum QueueSpec: dyn QueueKind {
        "trimming" | "composite" | "packet-trimming" | "trim" => Trimming(Trimming),
        "drop-tail" | "fifo" | "lossy" => DropTail(DropTail),
        "lossless" | "pfc" => Lossless(Lossless),
        "credit" | "infiniband" | "cbfc" => Credit(Credit),
    }
}

/// A data packet that finds no room loses its payload: its header goes on, before all data, and the receiver
/// learns of the loss at once. A full packet must be larger than `packets.control-bytes`, which are left of it; a smaller one stays as
/// large as it is.
///
/// One time in two it is the newest packet of the queue that is cut, and the one that arrives takes its place. Headers
/// that find no room are dropped, or go back to their sender.
/// Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance" (NDP, 2017).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Trimming {
    /// Room for headers and other control packets; twice that for data when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_buffer: Option<Bytes>,
    /// Most headers and other control packets that go one after the other while data waits: 10 in the paper. All that there are
    /// when absent, and then headers alone can fill a link on which so many meet that no data gets through. With a number, they wait
    /// where many meet, and may come later than the time-out of what they report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers_in_a_row: Option<NonZeroU32>,
    /// A header that finds no room goes back to its sender (return-to-sender in the paper), which sends the packet again when a pull
    /// for another one comes, or at once where it expects none. Otherwise the packet is missed when its time is out.
    pub return_to_sender: bool,
}

impl QueueKind for Trimming {
    fn rules(&self, _: u64) -> Result<QueueRules, BuildError> {
        Ok(QueueRules {
            trims: true,
            spares_newcomers: true,
            control_first: true,
            control_bytes: self.control_buffer.map(|bytes| bytes.count()),
            control_in_a_row: self.headers_in_a_row.map_or(u32::MAX, NonZeroU32::get),
            returns: self.return_to_sender,
            backpressure: Backpressure::None,
            buffer_factor: 1,
        })
    }
}

/// A packet that finds no room is dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DropTail {
    /// Acknowledgements and other packets without payload go before data, with room of their own; otherwise
    /// all wait in one line.
    pub control_first: bool,
    /// One time in two the newest packet of the queue is dropped, and the one that arrives takes its place.
    pub spares_newcomers: bool,
}

impl Default for DropTail {
    fn default() -> Self {
        Self { control_first: true, spares_newcomers: false }
    }
}

impl QueueKind for DropTail {
    fn rules(&self, _: u64) -> Result<QueueRules, BuildError> {
        Ok(QueueRules {
            trims: false,
            spares_newcomers: self.spares_newcomers,
            control_first: self.control_first,
            control_bytes: None,
            control_in_a_row: u32::MAX,
            returns: false,
            backpressure: Backpressure::None,
            buffer_factor: 5,
        })
    }
}

/// Nothing is dropped: a switch that holds too much of what came by a link asks the link's other end to stop
/// (priority flow control, IEEE 802.1Qbb), class by class.
///
/// Requests travel for the delay of the link and take no room on it. What a link carries until its end has
/// stopped is held, too, in the headroom. Where ways form a circle, as those of hosts that forward do, everybody may wait for
/// everybody: that is noticed and said. On a mesh, `balancing = { kind = "routing" }` takes ways without circles.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Lossless {
    /// Bytes held for a link above which its other end is asked to stop; three full packets above `resume-below` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_above: Option<Bytes>,
    /// Bytes below which it is asked to go on. When absent, four fifths of `pause-above`; without that, what two delays of the
    /// link carry and two full packets, so that the switch has something to send until more comes, and at least 12 full packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_below: Option<Bytes>,
    /// Room for what comes by a link after its other end was asked to stop; packets that find none are dropped. What two
    /// delays of the link carry and two of the largest packets are enough. There is always enough when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
    /// Acknowledgements and other packets without payload go before data.
    pub control_first: bool,
}

impl QueueKind for Lossless {
    fn rules(&self, packet_bytes: u64) -> Result<QueueRules, BuildError> {
        let (above, below) = match (self.pause_above, self.resume_below) {
            (Some(above), below) => {
                (above.count(), below.map_or((above.count() / 5 * 4).max(1), |below| below.count()))
            }
            (None, Some(below)) => (below.count().saturating_add(3 * packet_bytes), below.count()),
            (None, None) => (15 * packet_bytes, 12 * packet_bytes),
        };
        if above == 0 {
            return Err(BuildError::new("pause-above", "0 B; it must be positive"));
        }
        if below > above || below == 0 {
            let reason =
                format!("{}; it must be positive and at most `pause-above`, {}", Bytes(below), Bytes(above));
            return Err(BuildError::new("resume-below", reason));
        }
        let most = self.headroom.map_or(u64::MAX, |headroom| above.saturating_add(headroom.count()));
        if let Some(headroom) = self.headroom.filter(|_| most < packet_bytes) {
            let reason = format!(
                "{headroom} above {} before a pause; both together must have room for one packet ({})",
                Bytes(above),
                Bytes(packet_bytes)
            );
            return Err(BuildError::new("headroom", reason));
        }
        Ok(QueueRules {
            trims: false,
            spares_newcomers: false,
            control_first: self.control_first,
            control_bytes: None,
            control_in_a_row: u32::MAX,
            returns: false,
            backpressure: Backpressure::Pause {
                above_bytes: above,
                below_bytes: below,
                most_bytes: most,
                follows_delay: self.pause_above.is_none() && self.resume_below.is_none(),
            },
            buffer_factor: 5,
        })
    }
}

/// Nothing is dropped: a packet goes onto a link when its other end has said that it has room for it, in the queue
/// of its class (InfiniBand's credits; classes are virtual lanes).
///
/// A switch has room for each link and class; when a packet has left it, word of the room goes back, which takes the delay
/// of the link and no room on it. A host takes everything at once, and word of that goes back the same
/// way. What vanishes on a link costs no credit for good, as both ends count all that was ever sent. Where ways form a circle, as those of hosts that forward do, everybody may wait for
/// everybody: that is noticed and said. On a mesh, `balancing = { kind = "routing" }` takes ways without circles.
///
/// Source: InfiniBand Architecture Specification, volume 1, section 7.9.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Credit {
    /// Room for each link and class; the bytes of two delays of the link and 16 full packets when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Bytes>,
    /// Acknowledgements and other packets without payload go before data.
    pub control_first: bool,
}

impl QueueKind for Credit {
    fn rules(&self, packet_bytes: u64) -> Result<QueueRules, BuildError> {
        let bytes = self.receive_buffer.map(|bytes| bytes.count());
        if let Some(bytes) = bytes.filter(|bytes| !(packet_bytes..1 << 40).contains(bytes)) {
            let reason =
                format!("{}; from one packet ({}) to 1 TB are possible", Bytes(bytes), Bytes(packet_bytes));
            return Err(BuildError::new("receive-buffer", reason));
        }
        Ok(QueueRules {
            trims: false,
            spares_newcomers: false,
            control_first: self.control_first,
            control_bytes: None,
            control_in_a_row: u32::MAX,
            returns: false,
            backpressure: Backpressure::Credit { bytes },
            buffer_factor: 5,
        })
    }
}
