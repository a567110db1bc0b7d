//! The way of the harness, and what came of a run.

use stratasim_core::{Bandwidth, Duration, Time};

use super::channel::Impairment;
use crate::{Path, SenderStatistics};

/// The way between the two ends: a link at the sender, a queue in the middle, the same delay both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Rate of the sender's link and of the way back.
    pub rate: Bandwidth,
    /// Rate of the queue in the middle; where it is not below `rate`, nothing ever waits there.
    pub bottleneck: Bandwidth,
    /// Links from end to end, one behind the other, all of the same rate; packets are stored and forwarded.
    pub hops: u32,
    /// Delay of each link, without serialisation.
    pub delay: Duration,
    /// Bytes that the queue holds.
    pub buffer_bytes: u64,
    /// A packet that leaves more than so many bytes behind is marked.
    pub mark_above_bytes: u64,
    /// What does not fit is cut to its header; otherwise dropped.
    pub trims: bool,
    /// What happens to data packets and requests.
    pub forward: Impairment,
    /// What happens to what the receiver sends.
    pub back: Impairment,
    /// Packets are RLTP frames: written to bytes, damaged there, and read. Times are cut to microseconds.
    pub frames: bool,
    /// Who reads what arrives, of frames; none for one who takes everything at once.
    pub reader: Option<Reader>,
    /// Names the draws.
    pub seed: u64,
    /// Gives up after this time.
    pub limit: Duration,
}

/// An application that takes its time, behind a buffer of whose room the sender is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// Packets that the buffer holds, a multiple of 16.
    pub room_packets: u64,
    /// Time for a packet.
    pub time_per_packet: Duration,
    /// It begins to read then.
    pub from: Time,
}

impl Default for Setting {
    /// 10 Gb/s, 5 us each way, no queue, nothing lost.
    fn default() -> Self {
        Self {
            rate: Bandwidth(1.25e9),
            bottleneck: Bandwidth(1.25e9),
            hops: 1,
            delay: Duration::from_ns(5000),
            buffer_bytes: u64::MAX,
            mark_above_bytes: u64::MAX,
            trims: false,
            forward: Impairment::default(),
            back: Impairment::default(),
            frames: false,
            reader: None,
            seed: 1,
            limit: Duration::from_ps(stratasim_core::time::PS_PER_S * 100),
        }
    }
}

impl Setting {
    /// What the transport is told of this way: `full` and `control` are sizes of packets on the wire.
    pub fn path(&self, full: u64, control: u64) -> Path {
        let time = |bytes: u64, rate: Bandwidth| Duration::from_ps(ps(bytes, rate));
        let queue = if self.has_queue() { time(full, self.bottleneck) } else { Duration::ZERO };
        let link = self.delay * 2 + time(full, self.rate) + time(control, self.rate);
        let rtt = link * u64::from(self.hops) + queue;
        Path {
            base_rtt: rtt,
            network_rtt: rtt,
            rate: self.rate,
            receiver_rate: self.bottleneck,
            slowest_rate: self.bottleneck,
            hops: self.hops + u32::from(self.has_queue()),
            buffer_bytes: if self.has_queue() { self.buffer_bytes.min(1 << 40) } else { 0 },
            is_lossless: false,
            trims: self.trims,
        }
    }

    pub(super) fn has_queue(&self) -> bool {
        self.bottleneck.bytes_per_s() < self.rate.bytes_per_s()
    }
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// When the last packet was delivered to the application.
    pub delivered_at: Time,
    /// When the sender knew that.
    pub acknowledged_at: Time,
    /// Data packets that were needed.
    pub packets: u64,
    /// Counts of the sender.
    pub sender: SenderStatistics,
    /// Packets that the receiver sent.
    pub control_packets: u64,
    /// Data packets that the way lost: dropped or corrupted.
    pub lost: u64,
    /// Data packets that were cut in the queue.
    pub trimmed: u64,
    /// Longest queue in the middle, bytes.
    pub queue_bytes: u64,
    /// Smallest window that was seen, bytes.
    pub least_window_bytes: u64,
}

impl Outcome {
    /// Payload rate up to the last acknowledgement, bits per second.
    pub fn goodput_bps(&self, payload_bytes: u64) -> f64 {
        payload_bytes as f64 * 8.0 / self.acknowledged_at.as_secs_f64()
    }

    /// Data packets sent per packet needed.
    pub fn sent_per_needed(&self) -> f64 {
        self.sender.packets as f64 / self.packets as f64
    }
}

/// A run that broke a rule of every transport.
#[derive(Debug, Clone, PartialEq)]
pub enum Violation {
    /// The application did not get everything within the limit.
    Unfinished {
        /// It got everything below this packet
        delivered_to: u64,
        /// of so many.
        packets: u64,
        /// When the run was given up.
        at: Time,
    },
    /// Time does not go on: a deadline is never in the future.
    StandsStill(Time),
    /// A packet was delivered twice.
    DeliveredTwice(u64),
    /// A packet that was never posted was delivered, or the order went backwards.
    OutOfOrder(u64),
    /// The sender believes that packets arrived that did not.
    FalselyAcknowledged(u64),
    /// The window is zero.
    NoWindow(Time),
    /// Bytes under way are not those of packets that are.
    Unbounded(u64),
    /// A packet came for which the buffer of the reader had no room.
    Overrun(u64),
    /// A damaged frame was taken for a good one.
    DamageUnnoticed,
    /// A packet has the payload of another.
    WrongPayload(u64),
}

/// Picoseconds of bytes at a rate.
pub(super) fn ps(bytes: u64, rate: Bandwidth) -> u64 {
    (bytes as f64 * 1e12 / rate.bytes_per_s()).round() as u64
}
