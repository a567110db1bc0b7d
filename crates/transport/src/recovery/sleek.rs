//! SLEEK: the out-of-order count says that packets were dropped where switches do not trim.
//!
//! Source: the loss detection of the Ultra Ethernet transport as htsim has it (`specs`: threshold on packets out of
//! order, probes after silence).

use stratasim_core::{Duration, Time};

use super::Cx;
use super::flight::Flight;
use crate::packet::{Flags, Header};
use crate::profile::{PacketSizes, Path};

/// State of the loss detection.
#[derive(Debug, Clone)]
pub(crate) struct Sleek {
    packet_bytes: u64,
    /// No threshold is above this many packets.
    most_packets: u64,
    base_rtt: Duration,
    target_delay: Duration,
    /// Where packets are taken for lost up to, while recovering.
    recover_to: Option<u64>,
    /// Every packet below was looked at in this recovery.
    marked_to: u64,
    heard_at: Time,
    probe_at: Time,
    probe: bool,
}

impl Sleek {
    pub(crate) fn new(path: &Path, sizes: &PacketSizes) -> Self {
        let packet_bytes = sizes.packet_bytes();
        Self {
            packet_bytes,
            most_packets: (path.bytes_in(path.network_rtt) * 1.5) as u64 / packet_bytes,
            base_rtt: path.base_rtt,
            target_delay: path.network_rtt,
            recover_to: None,
            marked_to: 0,
            heard_at: Time::ZERO,
            probe_at: Time::MAX,
            probe: false,
        }
    }

    /// Retransmissions go out whatever the window is.
    pub(crate) const fn recovers(&self) -> bool {
        self.recover_to.is_some()
    }

    pub(crate) fn on_sent(&mut self, now: Time) {
        if self.probe_at == Time::MAX {
            self.probe_at = now + self.base_rtt * 3;
        }
    }

    /// Packets and bytes that an acknowledgement gives away as lost.
    pub(crate) fn on_ack(
        &mut self,
        cx: &Cx<'_>,
        header: &Header,
        rtt: Duration,
        flight: &mut Flight,
    ) -> (u32, u64) {
        self.heard_at = cx.now;
        self.probe_at = cx.now + self.base_rtt * 3;
        if self.recover_to.is_some_and(|end| flight.base() >= end) {
            self.recover_to = None;
        }
        let window = cx.window_bytes.div_ceil(self.packet_bytes);
        let threshold = (window + window / 2).min(self.most_packets).max(5);
        let fresh_probe = header.flags.has(Flags::PROBE)
            && rtt < self.base_rtt + self.target_delay
            && flight.in_flight_packets() > 0;
        if self.recover_to.is_none() && (u64::from(header.out_of_order) >= threshold || fresh_probe) {
            self.recover_to = Some(flight.next());
            self.marked_to = flight.base();
        }
        let Some(end) = self.recover_to else { return (0, 0) };
        let limit = end.min(flight.base().saturating_add(window));
        let (mut packets, mut bytes) = (0, 0);
        let mut at = self.marked_to.max(flight.base());
        while let Some(open) = flight.next_open(at).filter(|&open| open < limit) {
            bytes += flight.lose(open, cx.messages);
            packets += 1;
            at = open + 1;
        }
        self.marked_to = self.marked_to.max(limit);
        (packets, bytes)
    }

    /// When a probe is due.
    pub(crate) const fn deadline(&self) -> Time {
        self.probe_at
    }

    /// Sends a probe after silence; `tail` when nothing new is to be sent.
    pub(crate) fn on_timer(&mut self, cx: &Cx<'_>, tail: bool) {
        let silence = if tail { self.base_rtt + self.target_delay } else { self.base_rtt * 3 };
        if cx.now >= self.probe_at && cx.now >= self.heard_at + silence.min(self.base_rtt * 3) {
            self.probe = true;
            self.probe_at = cx.now + self.base_rtt * 5;
        }
    }

    pub(crate) const fn take_probe(&mut self) -> bool {
        std::mem::replace(&mut self.probe, false)
    }
}
