//! SLEEK: the out-of-order count says that packets were dropped where switches do not trim.
//!
//! Source: the loss detection of the Ultra Ethernet transport as uet-htsim has it: a threshold on packets out of order, and
//! probes after silence, which wait in the queues of data.

use stratasim_core::{Duration, Time};

use super::Cx;
use super::flight::{Flight, UnderWay};
use crate::packet::{Flags, Header};
use crate::profile::{PacketSizes, Path};

/// Fewest packets out of order that tell of a loss.
const LEAST_PACKETS: u64 = 5;

/// State of the loss detection.
#[derive(Debug, Clone)]
pub(crate) struct Sleek {
    /// Bytes by which windows are counted in packets.
    payload_bytes: u64,
    bytes_per_ps: f64,
    /// The shortest round trip so far; that of the longest way before.
    base_rtt: Duration,
    /// That of a full packet on the own way, empty: short ones are faster.
    least_rtt: Duration,
    target_delay: Duration,
    /// Where packets are taken for lost up to, while recovering.
    recover_to: Option<u64>,
    /// Every packet below was taken for lost in this recovery, or has arrived.
    marked_to: u64,
    probe_at: Time,
    /// The last probe was sent then.
    probed_at: Time,
    probe: bool,
}

impl Sleek {
    pub(crate) fn new(path: &Path, sizes: &PacketSizes) -> Self {
        Self {
            payload_bytes: u64::from(sizes.payload_bytes),
            bytes_per_ps: path.rate.bytes_per_s() * 1e-12,
            base_rtt: path.network_rtt,
            least_rtt: path.base_rtt,
            target_delay: path.network_rtt,
            recover_to: None,
            marked_to: 0,
            probe_at: Time::MAX,
            probed_at: Time::ZERO,
            probe: false,
        }
    }

    /// Retransmissions go out whatever the window is.
    pub(crate) const fn recovers(&self) -> bool {
        self.recover_to.is_some()
    }

    /// A round trip of a packet.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.base_rtt = self.base_rtt.min(rtt.max(self.least_rtt));
    }

    /// The round trip that the answer to a probe tells of, at least the shortest: a probe is small, and measures queues. None
    /// where the answer is to an earlier probe than the last.
    pub(crate) fn round_trip_of_probe(&self, header: &Header, rtt: Duration) -> Option<Duration> {
        (header.sent_at >= self.probed_at).then(|| rtt.max(self.base_rtt))
    }

    /// Packets and bytes that an acknowledgement gives away as lost.
    pub(crate) fn on_ack(
        &mut self,
        cx: &Cx<'_>,
        header: &Header,
        rtt: Duration,
        flight: &mut Flight,
    ) -> (u32, u64) {
        let (base, next, end) = (flight.base(), flight.next(), cx.messages.end());
        self.probe_at = if base >= end || base >= next {
            Time::MAX
        } else if next >= end {
            cx.now + self.base_rtt + self.target_delay
        } else {
            cx.now + self.base_rtt * 3
        };
        if header.flags.has(Flags::PROBE) {
            // an answer that comes late says that it is, and the average how long packets wait; where nobody keeps one, it says
            // that, too
            let waited = |rtt: Duration| Duration::from_ps(rtt.as_ps().saturating_sub(self.base_rtt.as_ps()));
            let in_time = self.round_trip_of_probe(header, rtt).map(waited);
            let delay = in_time.or(cx.queueing_delay).unwrap_or_else(|| waited(rtt));
            if delay < self.target_delay {
                self.enter(flight);
            }
        }
        if self.recover_to.is_some_and(|end| base >= end) {
            self.recover_to = None;
        }
        if base >= next {
            return (0, 0);
        }
        let largest = (self.bytes_per_ps * self.base_rtt.as_ps() as f64 * 1.5) as u64;
        let threshold = cx.window_bytes.saturating_add(cx.window_bytes / 2).min(largest) / self.payload_bytes;
        let many = u64::from(header.out_of_order) >= threshold.max(LEAST_PACKETS);
        if self.recover_to.is_none() && many && flight.first_lost().is_none() {
            self.enter(flight);
        }
        let Some(end) = self.recover_to else { return (0, 0) };
        // a window below a packet lets one go, too
        let limit = end.min(base.saturating_add((cx.window_bytes / self.payload_bytes).max(1)));
        let (mut packets, mut bytes) = (0, 0);
        let mut at = self.marked_to.max(base);
        while let Some(open) = flight.next_open(at).filter(|&open| open < limit) {
            bytes += flight.lose(open, cx.messages);
            packets += 1;
            at = open + 1;
        }
        self.marked_to = self.marked_to.max(limit);
        (packets, bytes)
    }

    /// Everything that is under way is looked at once.
    fn enter(&mut self, flight: &Flight) {
        self.recover_to = Some(flight.next());
        self.marked_to = flight.base();
    }

    /// A packet timed out; whether that is left to the recovery that goes on. A packet that it has sent again is looked
    /// at once more.
    pub(crate) fn takes_timeout(&mut self, oldest: &UnderWay) -> bool {
        // a probe brings an answer where nothing else does
        if self.recover_to.is_none() || self.probe_at == Time::MAX {
            return false;
        }
        self.marked_to = self.marked_to.min(oldest.sequence);
        true
    }

    /// When a probe is due.
    pub(crate) const fn deadline(&self) -> Time {
        self.probe_at
    }

    /// Sends a probe after silence.
    pub(crate) fn on_timer(&mut self, cx: &Cx<'_>) {
        if cx.now >= self.probe_at {
            self.probe = true;
            self.probed_at = cx.now;
            self.probe_at = cx.now + self.base_rtt * 5;
        }
    }

    pub(crate) const fn take_probe(&mut self) -> bool {
        std::mem::replace(&mut self.probe, false)
    }
}
