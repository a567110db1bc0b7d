//! What a transport is made of, and what connections of one path share.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use crate::congestion::{CongestionSpec, Control};
use crate::credit::CreditRules;
use crate::entropy::{Entropy, EntropySpec};
use crate::packet::{Header, Kind};
use crate::receiver::{Acknowledge, ReceiverRules};
use crate::recovery::go_back_n::USUAL_TIMEOUT;
use crate::recovery::{Recovery, RecoverySpec};

/// A transport: how it is paced, how it recovers, which paths it takes, how large its packets are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TransportSpec {
    /// Congestion control.
    pub congestion: CongestionSpec,
    /// Recovery from loss; the one that goes with the congestion control when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoverySpec>,
    /// Choice of paths by the sender; the one that goes with the congestion control when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entropy: Option<EntropySpec>,
    /// Sizes of packets.
    pub packets: PacketSizes,
}

impl TransportSpec {
    /// The recovery, the default filled in.
    pub fn recovery(&self) -> RecoverySpec {
        self.recovery.clone().unwrap_or_else(|| self.congestion.plugin().recovery())
    }

    /// The choice of paths, the default filled in.
    pub fn entropy(&self) -> EntropySpec {
        self.entropy.clone().unwrap_or_else(|| self.congestion.plugin().entropy())
    }

    /// Whether the sender gives all packets of a connection the same entropy.
    pub fn keeps_entropy(&self) -> bool {
        matches!(self.entropy(), EntropySpec::Fixed(_))
    }
}

/// Sizes of packets on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PacketSizes {
    /// Largest payload of a packet, 1 to 65,535 bytes.
    pub payload_bytes: u32,
    /// Bytes of headers of a data packet, up to 1,024.
    pub header_bytes: u32,
    /// Size of packets without payload: acknowledgements, pulls, trimmed packets; 1 to 1,024 bytes, and fewer than a full
    /// data packet has where queues trim.
    pub control_bytes: u32,
    /// The last packet of a message is as large as the others.
    pub full_packets: bool,
    /// Windows, credit and rates count headers too.
    pub count_headers: bool,
}

impl Default for PacketSizes {
    fn default() -> Self {
        Self {
            payload_bytes: 4096,
            header_bytes: 64,
            control_bytes: 64,
            full_packets: false,
            count_headers: true,
        }
    }
}

impl PacketSizes {
    /// A full data packet on the wire.
    #[inline]
    pub const fn wire_bytes(&self) -> u64 {
        (self.payload_bytes + self.header_bytes) as u64
    }

    /// The packet of a header on the wire.
    #[inline]
    pub fn bytes_of(&self, header: &Header) -> u32 {
        match header.kind {
            Kind::Data => u32::from(header.payload_bytes) + self.header_bytes,
            _ => self.control_bytes,
        }
    }

    /// A full data packet as windows count it.
    #[inline]
    pub const fn packet_bytes(&self) -> u64 {
        self.accounted(self.payload_bytes as u64)
    }

    /// A packet of this payload as windows count it.
    #[inline]
    pub const fn accounted(&self, payload_bytes: u64) -> u64 {
        if self.count_headers { payload_bytes + self.header_bytes as u64 } else { payload_bytes }
    }

    /// Refuses sizes that no packet has.
    ///
    /// # Errors
    /// The field and what is possible.
    pub fn check(&self) -> Result<(), BuildError> {
        let ranges = [
            ("payload-bytes", self.payload_bytes, 1, 65_535),
            ("header-bytes", self.header_bytes, 0, 1024),
            ("control-bytes", self.control_bytes, 1, 1024),
        ];
        for (field, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(BuildError::new(field, format!("{value} bytes; {least} to {most} are possible")));
            }
        }
        Ok(())
    }
}

/// What a transport knows of the way between two hosts before it sends anything.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// Time from sending a full packet on an empty network until its acknowledgement is back.
    pub base_rtt: Duration,
    /// The same for the longest way of the network; windows that are set for the network use it.
    pub network_rtt: Duration,
    /// Rate of the sender's link.
    pub rate: Bandwidth,
    /// Rate of the receiver's link: its credit comes at this pace.
    pub receiver_rate: Bandwidth,
    /// Rate of the slowest link from one to the other: the longest queue may be before it.
    pub slowest_rate: Bandwidth,
    /// Links from host to host.
    pub hops: u32,
    /// Bytes that the longest queue before the slowest link holds; minimum time-outs use it.
    pub buffer_bytes: u64,
    /// Nothing is lost: queues keep senders from sending what they have no room for, and links have no faults.
    pub is_lossless: bool,
    /// Packets that find no room lose their payload, and their header goes on.
    pub trims: bool,
}

impl Path {
    /// A way of equal links on which a full packet and its acknowledgement take `rtt`, the longest of its network; its
    /// longest queue holds `buffer_bytes`, and trims.
    pub const fn of_equal_links(rtt: Duration, rate: Bandwidth, hops: u32, buffer_bytes: u64) -> Self {
        Self {
            base_rtt: rtt,
            network_rtt: rtt,
            rate,
            receiver_rate: rate,
            slowest_rate: rate,
            hops,
            buffer_bytes,
            is_lossless: false,
            trims: true,
        }
    }

    /// Bytes that fill the way of `rtt`.
    pub fn bytes_in(&self, rtt: Duration) -> f64 {
        self.rate.bytes_per_s() * rtt.as_secs_f64()
    }

    /// A `usual` time that silence or a round trip may take, or two round trips of the longest way where these are more: on
    /// slow or long links, what is merely under way is not late.
    pub(crate) fn patient(&self, usual: Duration) -> Duration {
        usual.max(self.network_rtt * 2)
    }

    /// A time of silence that means a loss; where nothing is lost, at least the usual time-out of adapters for such fabrics: there
    /// what is late waits, however long the queues.
    pub(crate) fn silence(&self, of_loss: Duration) -> Duration {
        if self.is_lossless { of_loss.max(USUAL_TIMEOUT) } else { of_loss }
    }

    /// Picoseconds per byte of the sender's link.
    pub fn ps_per_byte(&self) -> f64 {
        1e12 / self.rate.bytes_per_s()
    }

    /// Time of `bytes` on the sender's link.
    pub fn time_of(&self, bytes: u64) -> Duration {
        Duration::from_ps((bytes as f64 * self.ps_per_byte()).round() as u64)
    }

    /// Picoseconds per byte of the receiver's link.
    pub fn receiver_ps_per_byte(&self) -> f64 {
        1e12 / self.receiver_rate.bytes_per_s()
    }

    /// Time of `bytes` on the slowest link.
    pub fn slowest_time_of(&self, bytes: u64) -> Duration {
        Duration::from_ps((bytes as f64 * 1e12 / self.slowest_rate.bytes_per_s()).round() as u64)
    }

    /// What an acknowledgement waits at most on its way though no queue is long: at each link a full packet may just have begun.
    pub(crate) fn behind_others(&self, sizes: &PacketSizes) -> Duration {
        self.slowest_time_of(sizes.wire_bytes()) * u64::from(self.hops.max(1))
    }

    /// Time of a full packet on the first of equal links, its delay included: of a round trip, a link takes a packet, an
    /// acknowledgement and two delays.
    fn first_link(&self, sizes: &PacketSizes) -> Duration {
        let (full, back) = (self.time_of(sizes.wire_bytes()), self.time_of(u64::from(sizes.control_bytes)));
        let both = self.base_rtt.as_ps() / u64::from(self.hops.max(1));
        full + Duration::from_ps(both.saturating_sub((full + back).as_ps()) / 2)
    }

    fn check(&self) -> Result<(), BuildError> {
        let rate = self.rate.bytes_per_s();
        if !(rate.is_finite() && rate >= 1.0) {
            return Err(BuildError::new("", format!("a link of {rate} B/s; at least 1 B/s is needed")));
        }
        if self.base_rtt == Duration::ZERO || self.network_rtt < self.base_rtt {
            return Err(BuildError::new(
                "",
                format!(
                    "a round trip of {} on a network of {}; it must be positive and at most the network's",
                    self.base_rtt, self.network_rtt
                ),
            ));
        }
        Ok(())
    }
}

/// What connections with the same [`Path`] and transport share: parameters worked out once, and the states
/// that every connection starts from. Senders and receivers keep an `Arc` of it.
#[derive(Debug)]
pub struct Profile {
    pub(crate) sizes: PacketSizes,
    pub(crate) path: Path,
    pub(crate) congestion: Control,
    pub(crate) credit: CreditRules,
    pub(crate) recovery: Recovery,
    pub(crate) receiver: ReceiverRules,
    pub(crate) entropy: Entropy,
    pub(crate) hands_over: bool,
    /// A packet may go as long as anything of the window is free.
    pub(crate) fills_up: bool,
    /// A time-out makes a sender wait for its turn once more, even where it waits already (see
    /// [`Sender::waits_twice`](crate::Sender::waits_twice)).
    pub(crate) waits_twice: bool,
    /// What the first link takes for a full packet.
    pub(crate) first_link: Duration,
    telemetry: bool,
}

impl Profile {
    /// Whether a connection can count credit for so many bytes behind so many packets, those that are sent again included; the
    /// most bytes on the wire for which it can where not.
    ///
    /// # Errors
    /// Those bytes.
    pub fn counts(&self, packets_before: u64, bytes: u64) -> Result<(), u64> {
        let CreditRules::Quanta(rules) = &self.credit else { return Ok(()) };
        let packets = packets_before.saturating_add(bytes / u64::from(self.sizes.payload_bytes).max(1) + 1);
        let most = rules.most_counted_bytes();
        if packets.saturating_mul(self.sizes.wire_bytes()) < most { Ok(()) } else { Err(most) }
    }

    /// The profile of connections over `path`.
    ///
    /// # Errors
    /// Parameters that are out of range or do not fit each other; fields are named as in [`TransportSpec`].
    pub fn new(spec: &TransportSpec, path: Path) -> Result<Arc<Self>, BuildError> {
        path.check()?;
        spec.packets.check().map_err(|error| error.within("packets"))?;
        let kind = spec.congestion.plugin();
        let sizes = spec.packets;
        let own = |error: BuildError| error.within("congestion");
        let congestion = kind.build(&path, &sizes).map_err(own)?;
        let credit = kind.credit(&path, &sizes).map_err(own)?;
        let (recovery, mut receiver) =
            spec.recovery().plugin().build(&path, &sizes).map_err(|error| error.within("recovery"))?;
        receiver.notification_interval = kind.notification_interval();
        let waits_twice = matches!(spec.recovery(), RecoverySpec::Trimming(rules) if !rules.asks_in_time)
            && receiver.acknowledge != Acknowledge::EveryPacket;
        // go-back-N has one position only: it sends what is lost before anything new
        let hands_over = kind.hands_over() && !matches!(recovery, Recovery::GoBackN(_));
        let entropy = spec.entropy().plugin().build().map_err(|error| error.within("entropy"))?;
        Ok(Arc::new(Self {
            sizes,
            path,
            congestion,
            credit,
            recovery,
            receiver,
            entropy,
            hands_over,
            fills_up: kind.fills_up(),
            waits_twice,
            first_link: path.first_link(&sizes),
            telemetry: kind.needs_telemetry(),
        }))
    }

    /// Sizes of packets.
    pub const fn sizes(&self) -> &PacketSizes {
        &self.sizes
    }

    /// The way that it was made for.
    pub const fn path(&self) -> &Path {
        &self.path
    }

    /// Whether senders need the [`Telemetry`](crate::Telemetry) of their packets back.
    pub const fn needs_telemetry(&self) -> bool {
        self.telemetry
    }

    /// Whether receivers give credit, so that every host needs a [`Pacer`](crate::Pacer).
    pub const fn is_receiver_driven(&self) -> bool {
        !matches!(self.credit, CreditRules::None)
    }

    /// Size of a packet on the wire.
    #[inline]
    pub fn wire_bytes(&self, header: &Header) -> u32 {
        self.sizes.bytes_of(header)
    }
}
