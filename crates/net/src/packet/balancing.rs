//! Which of several shortest ways a switch sends a packet: one kind per struct, one line in the list.

mod memory;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::{key, mix};
use stratasim_core::{BuildError, Duration, registry};

use self::memory::Memory;
use super::ports::Ports;
use super::routes::{Members, Routes};

/// A choice of ways as the user chose it.
pub trait BalancingKind {
    /// What switches do.
    ///
    /// # Errors
    /// Parameters out of range.
    fn choice(&self) -> Result<Choice, BuildError>;
}

registry! {
    /// Every choice among ways by switches, by its `kind`.
    pub enum BalancingSpec: dyn BalancingKind {
        "ecmp" => Ecmp(Ecmp),
        "per-flow" => PerFlow(PerFlow),
        "round-robin" => RoundRobin(RoundRobin),
        "random" | "packet-spraying" | "spray" | "oblivious" | "per-packet" => Random(Random),
        "least-queue" | "adaptive" | "jsq" => LeastQueue(LeastQueue),
        "flowlets" | "flowlet" | "letflow" => Flowlets(Flowlets),
        "source" => Source(Source),
        "routing" => Routing(Routing),
    }
}

impl Default for BalancingSpec {
    fn default() -> Self {
        Self::Ecmp(Ecmp {})
    }
}

/// What switches do where several ports begin a shortest way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// By a hash of the flow and of the entropy in the packet.
    FlowAndEntropy,
    /// By a hash of the flow.
    Flow,
    /// One after the other.
    InTurn,
    /// At random.
    AtRandom,
    /// As the sender says: the entropy is the number of the way.
    BySource,
    /// The shortest queue, in steps of so many bytes.
    ShortestQueue {
        /// Queues count in whole steps of this: those with as many are equal.
        step_bytes: u64,
    },
    /// The shortest queue for the first packet after a pause of the flow, the same port for those behind it.
    AfterPause {
        /// Length of the pause, picoseconds.
        gap_ps: u64,
    },
}

/// By a hash of the flow and of the entropy that its sender wrote into the packet, with a salt per switch:
/// senders spray packets by changing it (see `entropy`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ecmp {}

impl BalancingKind for Ecmp {
    fn choice(&self) -> Result<Choice, BuildError> {
        Ok(Choice::FlowAndEntropy)
    }
}

/// By a hash of the flow alone: all its packets take one way, whatever the sender does.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PerFlow {}

impl BalancingKind for PerFlow {
    fn choice(&self) -> Result<Choice, BuildError> {
        Ok(Choice::Flow)
    }
}

/// Each switch uses its ports one after the other, in an order that is drawn anew for every round. Control packets go by
/// hash.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RoundRobin {}

impl BalancingKind for RoundRobin {
    fn choice(&self) -> Result<Choice, BuildError> {
        Ok(Choice::InTurn)
    }
}

/// Each packet by a draw of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Random {}

impl BalancingKind for Random {
    fn choice(&self) -> Result<Choice, BuildError> {
        Ok(Choice::AtRandom)
    }
}

/// Adaptive: the port with the fewest bytes waiting; ties are drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LeastQueue {
    /// Queues count in whole steps of this: those with as many are equal.
    pub step: stratasim_core::Bytes,
}

impl Default for LeastQueue {
    fn default() -> Self {
        Self { step: stratasim_core::Bytes(4096) }
    }
}

impl BalancingKind for LeastQueue {
    fn choice(&self) -> Result<Choice, BuildError> {
        match self.step.count() {
            0 => Err(BuildError::new("step", "0 B; at least 1 B is needed")),
            step_bytes => Ok(Choice::ShortestQueue { step_bytes }),
        }
    }
}

/// Adaptive by bursts: the first packet of a flow after a pause takes the port with the fewest bytes waiting,
/// those behind it follow, so that order is kept.
/// Source: Vanini et al., "Let it flow: resilient asymmetric load balancing with flowlet switching" (2017), where the port of a burst
/// is drawn at random; the fewest bytes are ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Flowlets {
    /// A pause at least this long begins a new burst.
    pub gap: Duration,
}

impl Default for Flowlets {
    fn default() -> Self {
        Self { gap: Duration::from_ns(10_000) }
    }
}

impl BalancingKind for Flowlets {
    fn choice(&self) -> Result<Choice, BuildError> {
        Ok(Choice::AfterPause { gap_ps: self.gap.as_ps() })
    }
}

/// By the sender: the entropy that it wrote into the packet is the number of the way. Where n ports begin a shortest way, a
/// switch takes the one whose place is the number modulo n, and the next switch goes on with the number divided
/// by n. So a sender whose entropies run through 0, 1, 2, ... uses all ways in turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Source {}

impl BalancingKind for Source {
    fn choice(&self) -> Result<Choice, BuildError> {
        Ok(Choice::BySource)
    }
}

/// None: every message takes the one way that `[routing]` gives it, and its acknowledgements the one back; with `auto`, the rule of
/// the topology (dimension order on meshes and tori, up and down by destination on trees, the routes of a file), as at flow
/// level. Any other `[routing]` than `auto` is followed, and leaves a `balancing` but this one and `ecmp` nothing to
/// choose from; routes that stand in the topology are followed whatever stands here. A way that is given is not left where a link on it is down.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Routing {}

impl BalancingKind for Routing {
    fn choice(&self) -> Result<Choice, BuildError> {
        Ok(Choice::Flow)
    }
}

/// A choice and what it remembers.
#[derive(Debug, Clone)]
pub(super) struct Balancing {
    choice: Choice,
    /// A salt per node.
    salts: Vec<u64>,
    /// What connections are called in hashes, by number, where that is not their number.
    names: Vec<u32>,
    /// What turns and draws have left behind; none where packets decide.
    memory: Option<Memory>,
    /// Flowlets: by switch and flow, the port and the time of the last packet.
    last: FxHashMap<(u32, u32, bool), (u32, u64)>,
    /// How many of them there may be until those that have paused are forgotten.
    sweep_at: usize,
}

/// What of a packet a choice looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Features {
    pub(super) connection: u32,
    pub(super) entropy: u16,
    pub(super) control: bool,
}

impl Balancing {
    /// Whether all packets of a flow take one way where `fixed` says that they all have the same entropy.
    pub(super) fn keeps_flows(&self, fixed: bool) -> bool {
        match self.choice {
            Choice::Flow => true,
            Choice::FlowAndEntropy | Choice::BySource => fixed,
            Choice::AfterPause { .. } | Choice::InTurn | Choice::AtRandom | Choice::ShortestQueue { .. } => {
                false
            }
        }
    }

    /// Connection `number`, the next one, is called so in hashes.
    pub(super) fn call(&mut self, number: u32, name: u32) {
        self.names.extend(self.names.len() as u32..number);
        self.names.push(name);
    }

    pub(super) fn new(choice: Choice, nodes: usize, routes: &Routes, seed: u64) -> Self {
        let is_by_packet = matches!(choice, Choice::FlowAndEntropy | Choice::Flow | Choice::BySource);
        Self {
            choice,
            salts: (0..nodes as u64).map(|node| key(!seed, node)).collect(),
            names: Vec::new(),
            memory: (!is_by_packet).then(|| Memory::new(routes, seed)),
            last: FxHashMap::default(),
            sweep_at: 1 << 16,
        }
    }

    /// Whether the entropy of a packet is the number of its way.
    #[inline]
    pub(super) fn is_by_source(&self) -> bool {
        self.choice == Choice::BySource
    }

    /// Whether choices depend on what waits at ports.
    pub(super) const fn looks_at_queues(&self) -> bool {
        matches!(self.choice, Choice::ShortestQueue { .. } | Choice::AfterPause { .. })
    }

    /// The port of `set` that a packet takes at `node`: one of `members`, some or all of its ports.
    #[inline]
    pub(super) fn choose(
        &mut self,
        (node, set): (u32, u32),
        packet: Features,
        members: Members<'_>,
        (routes, ports): (&Routes, &Ports),
        now: u64,
    ) -> u32 {
        if let Some(port) = self.by_packet(node, packet, members) {
            return port;
        }
        self.by_memory((node, set), packet, members, (routes, ports), now)
    }

    /// The same where the packet does not decide.
    #[inline(never)]
    fn by_memory(
        &mut self,
        (node, set): (u32, u32),
        packet: Features,
        members: Members<'_>,
        (routes, ports): (&Routes, &Ports),
        now: u64,
    ) -> u32 {
        let Self { choice, memory: Some(memory), last, sweep_at, .. } = self else {
            unreachable!("the packet decides")
        };
        match *choice {
            Choice::FlowAndEntropy | Choice::Flow | Choice::BySource => unreachable!("the packet decides"),
            Choice::InTurn => memory.of(routes, node, set).turn(routes.members(node, set), members),
            Choice::AtRandom => memory.of(routes, node, set).any(members),
            Choice::ShortestQueue { step_bytes } => memory
                .of(routes, node, set)
                .shortest(members, |port| ports.data_bytes(port, now) / step_bytes),
            Choice::AfterPause { gap_ps } => {
                let name = (node, packet.connection, packet.control);
                let port = match last.get(&name) {
                    Some(&(port, at)) if now - at < gap_ps && members.contain(port) => port,
                    _ => memory.of(routes, node, set).shortest(members, |port| ports.data_bytes(port, now)),
                };
                last.insert(name, (port, now));
                if last.len() > *sweep_at {
                    // what has paused for long enough starts anew anyway
                    last.retain(|_, &mut (_, at)| now - at < gap_ps);
                    *sweep_at = (1 << 16).max(2 * last.len());
                }
                port
            }
        }
    }

    /// The port that [`Self::choose`] gives for all packets of a flow with payload, where it is one; `entropy` is that of all
    /// of them, as the switches before have left it.
    pub(super) fn steady(
        &self,
        node: u32,
        connection: u32,
        entropy: &mut Option<u16>,
        members: Members<'_>,
    ) -> Option<u32> {
        if entropy.is_none() && self.choice != Choice::Flow {
            return None;
        }
        let known = entropy.unwrap_or(0);
        if self.is_by_source() {
            *entropy = Some((usize::from(known) / members.len()) as u16);
        }
        self.by_packet(node, Features { connection, entropy: known, control: false }, members)
    }

    /// The port that [`Self::choose`] will give where nothing but the packet decides.
    #[inline]
    pub(super) fn by_packet(&self, node: u32, packet: Features, members: Members<'_>) -> Option<u32> {
        let packet = match self.choice {
            Choice::FlowAndEntropy => packet,
            Choice::Flow => Features { entropy: 0, ..packet },
            Choice::InTurn if packet.control => packet,
            Choice::BySource => return Some(members.port(usize::from(packet.entropy) % members.len())),
            _ => return None,
        };
        Some(members.port(self.hash(node, packet, members.len())))
    }

    #[inline]
    fn hash(&self, node: u32, packet: Features, count: usize) -> usize {
        let name = self.names.get(packet.connection as usize).copied().unwrap_or(packet.connection);
        let name = u64::from(name) << 16 | u64::from(packet.entropy);
        let hash = mix(name.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.salts[node as usize]);
        ((u128::from(hash) * count as u128) >> 64) as usize
    }
}
