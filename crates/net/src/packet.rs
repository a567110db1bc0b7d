//! Packet level: links, queues and switches that real transports run on.
//!
//! ```text
//!  Packet (spec) ─→ Routes (next hops) ─→ Engine ──────────── PacketNetwork (Model, Network)
//!                   Ways   (round trips)   ├─ switch: ports, queues, marks, pauses
//!                                          ├─ host: connections, NICs, pacers
//!                                          ├─ ports, service, link_kind, at_work: what a hop looks at, and the rest
//!                                          ├─ ecn: what queues mark
//!                                          ├─ backpressure, pool, returning: pauses, credits, shared buffers, headers without room
//!                                          ├─ landing, given, arrivals: NICs and ways of connections
//!                                          ├─ faults, detours: what goes wrong on links, ways around it
//!                                          ├─ invariants: what debug builds look at between events
//!                                          ├─ parts, cut: several threads
//!                                          ├─ patience, stall, deadlock: runs that get nowhere, and why
//!                                          └─ balancing: which of several ways
//! ```
//! Senders, receivers and what they say to each other come from `stratasim-transport`.

mod account;
mod approach;
mod arrivals;
mod at_work;
mod backpressure;
mod balancing;
mod breath;
mod chain;
mod classes;
mod cut;
mod deadlock;
mod detours;
mod ecn;
mod engine;
mod faults;
mod given;
mod host;
mod interfaces;
mod invariants;
mod landing;
mod lane;
mod link_kind;
mod needed;
mod network;
mod parts;
mod path;
mod patience;
mod pool;
mod port;
mod ports;
mod queue;
mod returning;
mod routes;
mod sampling;
mod service;
mod stall;
mod switch;
#[cfg(test)]
pub(crate) mod testing;
mod ways;
mod wheel;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stratasim_core::model;
use stratasim_core::random::{Draws, key};
use stratasim_core::registry::List as _;
use stratasim_core::{Bandwidth, BuildError, Bytes, Duration, NodeId, Time};
use stratasim_topo::{Chosen, Sharing, Topology};
use stratasim_transport::congestion::nscc::Nscc;
use stratasim_transport::{
    CongestionSpec, EntropySpec, PacketSizes, Path, Profile, RecoverySpec, TransportSpec, presets,
};

use self::balancing::Balancing;
pub use self::balancing::{
    BalancingKind, BalancingSpec, Choice, Ecmp, Flowlets, LeastQueue, PerFlow, Random, RoundRobin, Routing,
    Source,
};
pub use self::classes::Class;
pub use self::ecn::Ecn;
use self::engine::{Engine, Event, Rules};
use self::faults::Wires;
pub use self::faults::{Corruption, Duplication, Faults, Links, Loss, Outage, Reordering, States};
use self::given::Guide;
use self::landing::Landings;
use self::lane::{Lane, PerClass};
use self::link_kind::{LinkKind, MARK_UNIT, PerByte};
use self::network::{PacketNetwork, Transports};
use self::parts::Parts;
use self::patience::Patience;
pub use self::pool::BufferSharing;
use self::pool::Pool;
use self::port::{Beyond, NOTHING, Port, PortCounts};
pub use self::queue::{Backpressure, Credit, DropTail, Lossless, QueueKind, QueueRules, QueueSpec, Trimming};
use self::routes::Routes;
use self::ways::Ways;
use crate::networks::{Connections, NetworkContext, NetworkKind, NetworkSpec};
use crate::{cables, memories};

/// Packets, queues and congestion control.
///
/// Every message is cut into packets, which a transport sends over a connection (see `connections`): it decides when
/// (congestion control), what again (recovery) and by which path (entropy). Packets wait at output
/// ports, are marked, trimmed, dropped or hold up others there. All shortest ways are used, chosen by `balancing`,
/// but where `[routing]` gives a way.
/// Connections of a host take turns at its link, one packet each. What the host forwards, and what it answers where that does not
/// go first, takes turns with all of these, as many bytes of each.
///
/// ```toml
/// [network]
/// kind = "packet"
/// congestion = { kind = "nscc" }
/// queue = { kind = "trimming" }
/// balancing = { kind = "ecmp" }
/// ```
/// A half-duplex cable has half of its rate in each direction.
///
/// Written out, it names what goes with its congestion control, so that a result says by what it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default, remote = "Self")]
pub struct Packet {
    /// Whose rules hold where nothing else is given.
    pub preset: Preset,
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
    /// What happens at a port without room. Absent: trimming where the recovery knows trimmed packets, lossless
    /// for go-back-N and where nothing is recovered, drop-tail otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSpec>,
    /// Data of each class that a port of a switch holds, the packet on the link included. Absent: the bytes that are in flight on
    /// the longest way at the rate of the port, in whole packets; five times that where nothing is trimmed, and what a
    /// congestion control lets wait where that is more (`swift`). Queues that drop nothing (`lossless`, `credit`) have rooms of
    /// their own instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// How the ports of a switch share their buffers, one for each port however many classes there are; each queue has its own
    /// when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_sharing: Option<BufferSharing>,
    /// When packets are marked.
    pub ecn: Ecn,
    /// Classes of messages, the most urgent first; one when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// Which of several shortest ways switches choose. Pairs whose way `[routing]` gives take that one.
    pub balancing: BalancingSpec,
    /// Whether messages share connections; as `execution.connections` says when absent. A new connection knows nothing of the
    /// network; on one that is kept, windows and whatever else was learnt live on. There is one for each NIC, way back, class,
    /// limit of the rate (`rate-cap`) and processor (`cpu`) of a schedule. Where one has counted all that it can count (0.5 TB
    /// of `rccc` and more of all others), the next message begins another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// When switches begin to send a packet on.
    pub switching: Switching,
    /// When a message is complete. Absent: when its receiver has it, and with `preset = "htsim"` when its sender knows that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<Completion>,
    /// Packets that vanish on links; none when absent. The recovery must be one that sends them again: any
    /// but `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// What else goes wrong on links; nothing when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
    /// Threads for one run; the results are the same with any number. Large machines gain, whose links have a delay of
    /// about a microsecond; what needs word from the other end of a link (pauses, credits, cut-through, faults) runs on one.
    pub threads: u32,
}

impl Default for Packet {
    fn default() -> Self {
        Self {
            preset: Preset::default(),
            congestion: CongestionSpec::Nscc(Nscc::default()),
            recovery: None,
            entropy: None,
            packets: PacketSizes::default(),
            queue: None,
            buffer: None,
            buffer_sharing: None,
            ecn: Ecn::default(),
            classes: Vec::new(),
            balancing: BalancingSpec::default(),
            connections: None,
            switching: Switching::default(),
            completion: None,
            loss: None,
            faults: None,
            threads: 1,
        }
    }
}

impl From<TransportSpec> for Packet {
    /// A network of this transport; everything else as by default.
    fn from(transport: TransportSpec) -> Self {
        let TransportSpec { congestion, recovery, entropy, packets } = transport;
        Self { congestion, recovery, entropy, packets, ..Self::default() }
    }
}

/// When switches begin to send a packet on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switching {
    /// When its last bit has come.
    #[default]
    StoreAndForward,
    /// When its header has come, if the link by which it leaves is free then, and not faster than the one by which it
    /// comes; otherwise when its last bit has come. Marks and telemetry tell of the moment when it begins to leave for
    /// another switch, as they stand in its header.
    CutThrough,
}

/// Whose rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Those that are published.
    #[default]
    Published,
    /// Those of htsim, for comparison: its variant of the congestion control and sizes of packets, where what is given is the
    /// default, its recovery and choice of paths, where they are not given, and messages are complete when the sender knows, where
    /// `completion` is not. Results name what that was.
    Htsim,
}

/// When a message is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// When the receiver has all of it.
    #[default]
    Receiver,
    /// When the sender knows that, by the last acknowledgement: as htsim counts.
    Sender,
}

impl Packet {
    /// The transport.
    pub fn transport(&self) -> TransportSpec {
        TransportSpec {
            congestion: self.congestion.clone(),
            recovery: self.recovery.clone(),
            entropy: self.entropy.clone(),
            packets: self.packets,
        }
    }

    /// The same with what goes with its congestion control written out. A preset stays a name here: what it says depends on the
    /// topology ([`NetworkKind::written_out`]).
    fn filled(&self) -> Self {
        if self.preset == Preset::Htsim {
            return self.clone();
        }
        let transport = self.transport();
        Self {
            recovery: Some(transport.recovery()),
            entropy: Some(transport.entropy()),
            queue: Some(self.queue()),
            completion: Some(self.completion.unwrap_or_default()),
            ..self.clone()
        }
    }

    /// The kind of queue, the default filled in.
    fn queue(&self) -> QueueSpec {
        if let Some(queue) = &self.queue {
            return queue.clone();
        }
        match self.transport().recovery() {
            RecoverySpec::Trimming(_) => QueueSpec::Trimming(Trimming::default()),
            RecoverySpec::GoBackN(_) | RecoverySpec::None(_) => QueueSpec::Lossless(Lossless::default()),
            _ => QueueSpec::DropTail(DropTail::default()),
        }
    }
}

impl Serialize for Packet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(&self.filled(), serializer)
    }
}

impl<'de> Deserialize<'de> for Packet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

/// Largest buffer; thresholds and sums of bytes stay far from overflow.
const MOST_BUFFER: u64 = 1 << 40;

impl NetworkKind for Packet {
    fn build(&self, context: NetworkContext) -> Result<Box<dyn model::Network>, BuildError> {
        Ok(Box::new(match self.preset {
            Preset::Published => self.assemble(context)?,
            Preset::Htsim => self.as_htsim(&context.topology)?.assemble(context)?,
        }))
    }

    fn written_out(&self, topology: &Topology) -> Option<NetworkSpec> {
        if self.preset == Preset::Published {
            return None;
        }
        let filled = self.as_htsim(topology).ok()?.filled();
        Some(NetworkSpec::Packet(Self { preset: self.preset, ..filled }))
    }

    fn follows_messages(&self) -> bool {
        true
    }

    fn tells_link_use(&self) -> bool {
        true
    }

    fn tells_queues(&self) -> bool {
        true
    }

    fn unheeded_beside(&self, chosen: Chosen) -> Option<String> {
        // what goes with the congestion control is written out in results
        let entropy = self.entropy.as_ref()?;
        let usual = [Some(self.congestion.plugin().entropy()), self.entropy_of_preset()];
        let counts = chosen != Chosen::AllPairs && !matches!(self.balancing, BalancingSpec::Routing(_));
        if counts || usual.contains(&Some(entropy.clone())) {
            return None;
        }
        Some(format!(
            "`network.entropy` (`{}`) does not count here: `[routing]` gives every message one way, and the sender has none to choose from.",
            entropy.kind()
        ))
    }
}

impl Packet {
    /// The choice of paths that [`Preset::Htsim`] takes, where it holds; it is the same at any rate.
    fn entropy_of_preset(&self) -> Option<EntropySpec> {
        let holds = self.preset == Preset::Htsim;
        holds.then(|| presets::htsim_of(self.congestion.kind(), Bandwidth(1e9)))??.entropy
    }

    /// The same with what [`Preset::Htsim`] says where nothing else is given, on links of the rate of the fastest.
    fn as_htsim(&self, topology: &Topology) -> Result<Self, BuildError> {
        let rates = topology.links().iter().map(|link| link.bandwidth.bytes_per_s());
        let rate = Bandwidth(rates.fold(0.0, f64::max));
        let kind = self.congestion.kind();
        let theirs = presets::htsim_of(kind, rate).ok_or_else(|| {
            let known = presets::HTSIM_KINDS.map(|(kind, _)| kind).join(", ");
            BuildError::new("preset", format!("htsim has no `{kind}`; it has {known}"))
        })?;
        // as it is where nothing but the kind is given
        let bare = CongestionSpec::by_name(kind);
        let is_plain = bare.is_ok_and(|plain| plain == self.congestion);
        Ok(Self {
            preset: Preset::Published,
            congestion: if is_plain { theirs.congestion } else { self.congestion.clone() },
            recovery: self.recovery.clone().or(theirs.recovery),
            entropy: self.entropy.clone().or(theirs.entropy),
            packets: if self.packets == PacketSizes::default() { theirs.packets } else { self.packets },
            completion: self.completion.or(Some(Completion::Sender)),
            ..self.clone()
        })
    }

    fn assemble(&self, context: NetworkContext) -> Result<PacketNetwork, BuildError> {
        let topology = context.topology;
        refuse(&topology)?;
        let mut transport = self.transport();
        let sizes = transport.packets;
        sizes.check().map_err(|error| error.within("packets"))?;
        let (full, control) = (sizes.wire_bytes() as u32, sizes.control_bytes);
        let rules =
            self.queue().plugin().rules(full.max(control).into()).map_err(|error| error.within("queue"))?;
        rules.check_sizes(&sizes).map_err(|error| error.within("packets"))?;
        self.refuse_unrepaired()?;
        self.refuse_sharing(&rules)?;
        if let Some(EntropySpec::Reps(reps)) = &mut transport.entropy
            && !rules.trims
            && !rules.holds()
            && !self.loss.as_ref().is_some_and(Loss::loses)
            && self
                .faults
                .as_ref()
                .is_none_or(|faults| faults.down.is_empty() && !faults.loss.iter().any(Loss::loses))
        {
            reps.freeze.get_or_insert(Duration::ZERO);
        }
        let limits = classes::limits(&self.classes).map_err(|error| error.within("classes"))?;
        let classes = limits.len() as u8 + 1;
        let choice = self.balancing.plugin().choice().map_err(|error| error.within("balancing"))?;
        let follows_all = matches!(self.balancing, BalancingSpec::Routing(_));
        if !follows_all
            && self.balancing != BalancingSpec::default()
            && context.routing.chosen() == Chosen::AllPairs
        {
            let reason = format!(
                "`{}` has nothing to choose from: `[routing]` gives every message one way; leave one of the two out",
                self.balancing.kind()
            );
            return Err(BuildError::new("balancing", reason));
        }
        let guide = Guide::new(context.routing, follows_all);
        if rules.returns && guide.is_needed() {
            let reason = "headers go back from any switch, and `[routing]` gives ways from host to host; leave one of the two out";
            return Err(BuildError::new("queue.return-to-sender", reason));
        }
        let seed = context.streams.key("packet");
        let tables = Routes::of(&topology, full)?;
        let routes = Routes::clone(&tables);
        let mut ports = ports(&topology, &routes, seed, classes);
        let faults = self.faults.clone().unwrap_or_default();
        let mut link_faults = Vec::new();
        for (place, fault) in faults.all(self.loss.as_ref()) {
            let seed = context.streams.key(&format!("packet.{place}"));
            let mut wires = Wires { topology: &topology, ports: &mut ports, faults: &mut link_faults, seed };
            fault.apply(&mut wires).map_err(|error| error.within(&place))?;
        }
        if self.switching == Switching::CutThrough {
            // hosts that forward look at whole packets
            for port in ports.iter_mut().filter(|port| !port.last_hop) {
                port.beyond = Beyond::Header;
            }
        }
        refuse_slow_links(&topology, &routes, &ports, full)?;
        let mut ways = Ways::new(&ports, &routes, sizes.header_bytes);
        let nodes = topology.node_count();
        let balancing = Balancing::new(choice, nodes, &routes, key(seed, 1));
        let records = self.congestion.plugin().needs_telemetry();
        let least_delay = ports.iter().map(|port| port.kind.delay).min().unwrap_or(0);
        let rules = Rules {
            queue: rules,
            complete_at_sender: self.completion == Some(Completion::Sender),
            keeps_count: rules.holds() || self.buffer_sharing.is_some(),
            records,
            settles_late: records || least_delay == 0,
            trimmed_bytes: control,
            marks_last_hop: self.ecn.last_hop.unwrap_or(!self.congestion.plugin().is_receiver_driven()),
            header_bytes: sizes.header_bytes,
            full_bytes: full.max(control),
            classes,
            keeps_connections: self.connections.map_or(context.in_order, |kind| kind == Connections::PerPair),
            least_delay,
            gives_up_after: self
                .transport()
                .recovery()
                .plugin()
                .gives_up_after()
                .map_or(u64::MAX, |after| after.as_ps()),
        };
        if self.threads == 0 {
            return Err(BuildError::new("threads", "0; at least 1 is needed"));
        }
        let landings = Landings::new(routes.have_nics() || guide.is_needed());
        let mut engine = Engine::new(ports, routes, landings, balancing, rules);
        if engine.ports.len() as u64 * u64::from(classes) >= u64::from(Event::MOST) {
            let reason = format!("{classes} classes at {} ports are more than 2^28", engine.ports.len());
            return Err(BuildError::new("classes", reason));
        }
        engine.class_limits = limits;
        engine.set_faults(link_faults);
        engine.note_outages(faults.detection_ps());
        let (network_rtt, links) = ways.longest_round_trip(&engine.routes, &engine.ports, full, control);
        if network_rtt > LONGEST_ROUND_TRIP {
            let reason = format!(
                "the longest way there and back takes {} over {links} links; at most {LONGEST_ROUND_TRIP} is possible",
                Time::from_ps(network_rtt.as_ps()).rounded(4)
            );
            return Err(BuildError::new("", reason));
        }
        let (buffer_bytes, drain_s) = self.size_queues(&mut engine, &topology, (network_rtt, links))?;
        // refuses parameters of the transport now, not with the first message
        let rates = engine.nics.iter().map(|nic| engine.ports[nic.port as usize].kind.rate.bytes_per_s());
        if let Some(rate) = rates.reduce(f64::max) {
            // a machine without any way there and back has none; whoever sends is told
            let rtt = if network_rtt == Duration::ZERO { Duration::from_ns(1000) } else { network_rtt };
            let rate = Bandwidth(rate);
            Profile::new(&transport, Path::of_equal_links(rtt, rate, links.max(1), buffer_bytes))?;
        }
        let transports =
            Transports { spec: transport, network_rtt, buffer_bytes, drain_s, seed: key(seed, 2) };
        let patience = Patience::new(&engine, network_rtt.as_ps(), links);
        let parts = Parts::new(engine, self.threads)?;
        Ok(PacketNetwork::new((topology, tables), parts, ways, guide, transports, patience, context.nics))
    }

    /// Gives every port its buffer and thresholds; the bytes of the largest queue, and the seconds in which the slowest drains.
    fn size_queues(
        &self,
        engine: &mut Engine,
        topology: &Topology,
        (rtt, links): (Duration, u32),
    ) -> Result<(u64, f64), BuildError> {
        let full = self.packets.wire_bytes();
        // control that waits behind data is let in whatever waits
        let largest = if engine.rules.queue.control_first {
            full
        } else {
            full.max(u64::from(self.packets.control_bytes))
        };
        if let Some(buffer) = self.buffer.filter(|buffer| !(largest..=MOST_BUFFER).contains(&buffer.count()))
        {
            let reason = format!(
                "{buffer}; from one packet ({}) to {} are possible",
                Bytes(largest),
                Bytes(MOST_BUFFER)
            );
            return Err(BuildError::new("buffer", reason));
        }
        let rtt_s = rtt.as_secs_f64();
        let wait_s = self.congestion.plugin().standing_wait(rtt, links).as_secs_f64();
        // what one pull lets go comes at once, where the links before are faster
        let payload = u64::from(self.packets.payload_bytes).max(1);
        let burst = self.congestion.plugin().burst_bytes(&self.packets).div_ceil(payload);
        let burst = if burst > 0 { burst.saturating_add(1) } else { 0 };
        let share = self.ecn.max_probability;
        if !(1e-6..=1.0).contains(&share) {
            let reason = format!("{share}; 0.000001 to 1 are possible");
            return Err(BuildError::new("max-probability", reason).within("ecn"));
        }
        let mark_share = (share * f64::from(MARK_UNIT)).round() as u32;
        let buffer_factor = engine.rules.queue.buffer_factor;
        // the packets that fill the longest way, and the bytes of a buffer
        let buffer_of = |kind: &LinkKind| {
            let packets = (rtt_s * kind.rate.bytes_per_s() / full as f64).ceil().clamp(1.0, 1e9) as u64;
            let standing = (wait_s * kind.rate.bytes_per_s() / full as f64).ceil().min(1e9) as u64;
            let least = standing.max(burst);
            let usual = (packets * buffer_factor).max(least).saturating_mul(full).min(MOST_BUFFER);
            (packets, self.buffer.map_or(usual, |buffer| buffer.count()))
        };
        let Engine { rules, ports, .. } = engine;
        let (mut largest, mut drain_s) = (0, 0.0_f64);
        for port in ports.iter_mut() {
            // those of hosts that forward, too
            let is_queue = port.is_queue();
            let kind = &mut port.kind;
            let (packets, buffer) = buffer_of(kind);
            let (min, max) = self.ecn.thresholds(packets, full)?;
            let marks = self.ecn.enabled && is_queue && (rules.marks_last_hop || !port.last_hop);
            (kind.mark_from, kind.mark_all) = if marks { (min, max) } else { (u64::MAX, u64::MAX) };
            kind.mark_share = mark_share;
            let of_delays = (2e-12 * kind.delay as f64 * kind.rate.bytes_per_s()).ceil() as u64;
            let of_delays = of_delays.min(MOST_BUFFER);
            match rules.queue.backpressure {
                Backpressure::Credit { bytes } => {
                    port.room_bytes = bytes.unwrap_or(of_delays + 16 * u64::from(rules.full_bytes));
                    port.lanes.iter_mut().for_each(|lane| lane.credit_bytes = port.room_bytes);
                }
                Backpressure::Pause { below_bytes, follows_delay: true, .. } => {
                    let least = of_delays + 2 * u64::from(rules.full_bytes);
                    port.raised_bytes = least.saturating_sub(below_bytes);
                }
                _ => {}
            }
            let lossless = rules.queue.holds();
            kind.capacity = if lossless { u64::MAX } else { buffer };
            let control = rules.queue.control_bytes.unwrap_or(2 * buffer);
            kind.control_capacity = if lossless { u64::MAX } else { control };
        }
        if rules.queue.holds() {
            engine.returning = vec![VecDeque::new(); engine.ports.len() * usize::from(rules.classes)];
        }
        if let Some(sharing) = self.buffer_sharing {
            engine
                .share_buffers(sharing)
                .map_err(|small| small.error(sharing, topology).within("buffer-sharing"))?;
        }
        for port in engine.ports.iter().filter(|port| port.is_queue()) {
            let own = buffer_of(&port.kind).1;
            let longest = engine.pools.get(port.pool as usize).map_or(own, Pool::longest_queue);
            // time-outs wait for six queues; of those that hold all of a pool there is one
            largest = largest.max(own).max(longest / 4);
            drain_s = drain_s.max(longest as f64 / port.kind.rate.bytes_per_s());
        }
        Ok((largest, drain_s))
    }

    /// Refuses links that lose or change packets where nobody would send these again.
    fn refuse_unrepaired(&self) -> Result<(), BuildError> {
        let recovery = self.transport().recovery();
        if recovery.plugin().repairs() {
            return Ok(());
        }
        let faults = self.faults.as_ref();
        let place = if self.loss.as_ref().is_some_and(Loss::loses) {
            "loss"
        } else if faults.is_some_and(|faults| faults.loss.iter().any(Loss::loses)) {
            "faults.loss"
        } else if faults.is_some_and(Faults::corrupts) {
            "faults.corruption"
        } else {
            return Ok(());
        };
        let repairs = |kind: &&&str| RecoverySpec::by_name(kind).is_ok_and(|other| other.plugin().repairs());
        let able: Vec<_> =
            RecoverySpec::KINDS.iter().filter(repairs).map(|kind| format!("`{kind}`")).collect();
        let reason = format!(
            "`{}` sends nothing again, and `{place}` takes packets away: take a recovery that does ({}), or leave `{place}` out",
            recovery.kind(),
            able.join(", ")
        );
        Err(BuildError::new("recovery", reason))
    }

    /// Refuses faults and buffers that links without drops cannot have.
    fn refuse_sharing(&self, rules: &QueueRules) -> Result<(), BuildError> {
        if self.buffer.is_some() && rules.holds() {
            let kind = self.queue().kind();
            let reason =
                format!("given, though queues of kind `{kind}` have rooms of their own; leave it out");
            return Err(BuildError::new("buffer", reason));
        }
        if let Some(sharing) = &self.buffer_sharing {
            sharing.check().map_err(|error| error.within("buffer-sharing"))?;
            if rules.holds() {
                let reason = "queues that drop nothing hold as much as comes; shared buffers need one that drops or trims";
                return Err(BuildError::new("buffer-sharing", reason));
            }
        }
        let doubling = self.faults.as_ref().and_then(|faults| faults.duplication.as_ref());
        let doubles = doubling.is_some_and(|duplication| duplication.probability != 0.0);
        if doubles && matches!(rules.backpressure, Backpressure::Credit { .. }) {
            let reason = "links with credits have room for what was sent, and none for a second one of it";
            return Err(BuildError::new("faults.duplication", reason));
        }
        Ok(())
    }
}

/// Refuses what packets cannot travel on.
fn refuse(topology: &Topology) -> Result<(), BuildError> {
    cables::refuse_changes(topology, "packet")?;
    for link in (0..topology.link_count()).map(stratasim_core::LinkId::from_index) {
        let value = topology.link(link);
        // loopbacks and others that routes alone name are no wires
        if value.ends.is_none() {
            continue;
        }
        let name = || topology.link_name(link);
        if value.sharing == Sharing::FatPipe {
            let reason = format!(
                "link {}: a fat pipe serves each user in full, which no wire of the packet level does",
                name()
            );
            return Err(BuildError::new("", reason));
        }
        if value.bandwidth.bytes_per_s() < 1.0 {
            let reason = format!("link {}: {}, at least 1 B/s is needed", name(), value.bandwidth);
            return Err(BuildError::new("", reason));
        }
    }
    memories::check(topology)?;
    cables::check(topology)
}

/// The longest that a packet may be on one link, and the longest round trip. Dates, which are sums of those, end after 213 days.
const LONGEST_HOP: Duration = Duration::from_ns(3_600_000_000_000);
const LONGEST_ROUND_TRIP: Duration = Duration::from_ns(24 * 3_600_000_000_000);

/// Refuses links on which a packet of `full` bytes is for too long.
fn refuse_slow_links(
    topology: &Topology,
    routes: &Routes,
    ports: &[Port],
    full: u32,
) -> Result<(), BuildError> {
    for (port, wire) in ports.iter().zip(routes.wires()) {
        let hop = Time::from_ps(port.time_of(full).saturating_add(port.kind.delay));
        if hop > Time::ZERO + LONGEST_HOP {
            let reason = format!(
                "link {}: a packet of {full} bytes takes {} until it is at the other end; at most {LONGEST_HOP} is possible",
                topology.link_name(wire.link),
                hop.rounded(4)
            );
            return Err(BuildError::new("", reason));
        }
    }
    Ok(())
}

/// A port for each way to leave a node. Buffers are given later.
fn ports(topology: &Topology, routes: &Routes, seed: u64, classes: u8) -> Vec<Port> {
    let is_host = |node: u32| routes.host_of(NodeId(node)).is_some();
    let between = routes.hosts_between();
    let of = |(number, wire): (u64, &routes::Wire)| {
        let link = topology.link(wire.link);
        Port {
            kind: LinkKind {
                rate: PerByte::new(memories::bytes_per_s(topology, wire.link)),
                delay: link.latency.as_ps(),
                capacity: 0,
                control_capacity: 0,
                mark_from: u64::MAX,
                mark_all: u64::MAX,
                mark_share: 0,
            },
            to: wire.to,
            nic: if is_host(wire.from) { 0 } else { NOTHING },
            lanes: PerClass::new(classes, Lane::new),
            pool: NOTHING,
            room_bytes: u64::MAX,
            raised_bytes: 0,
            control_in_a_row: 0,
            draws: Draws::new(key(seed, number)),
            faults: NOTHING,
            counts: PortCounts::default(),
            link: wire.link,
            leaving_from: NOTHING,
            leaving_bytes: 0,
            beyond: Beyond::Node,
            last_hop: is_host(wire.to),
            own_ahead_bytes: 0,
            between: between[wire.from as usize],
        }
    };
    (0..).zip(routes.wires()).map(of).collect()
}
