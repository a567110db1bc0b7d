//! Vertices and edges as the user writes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, Duration, Precision};

use super::values::{ByteCount, FlopCount, Name, PeerRef, PlaceRef, RankRef, Ranks, StreamNumber};
use crate::collective::{CollectiveKind, CollectiveSpec};
use crate::program::{Division, Gate};

/// What a vertex does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VertexKind {
    /// Computes `flops` and accesses `memory-bytes`.
    Compute,
    /// Moves `bytes` from `source` to `destination`, or takes part in a `collective`.
    Communication,
    /// Sends `bytes` that a `receive` of the `destination` takes.
    Send,
    /// Takes what a `send` of the `source` sent.
    Receive,
    /// Waits for `duration`.
    Delay,
    /// Waits for its dependencies only.
    Join,
}

impl VertexKind {
    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Communication => "communication",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Delay => "delay",
            Self::Join => "join",
        }
    }
}

/// When members of a collective may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateChoice {
    /// Each member when its own dependencies are met.
    EachMember,
    /// All together when the dependencies of all are met.
    AllMembers,
}

impl From<GateChoice> for Gate {
    fn from(choice: GateChoice) -> Self {
        match choice {
            GateChoice::EachMember => Self::EachMember,
            GateChoice::AllMembers => Self::AllMembers,
        }
    }
}

/// A vertex. Which fields it has depends on its `kind`; the field's help names the kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VertexSpec {
    /// Name, different from all others (`id` in node-link data).
    #[serde(alias = "id")]
    pub name: Name,
    /// What it does.
    pub kind: VertexKind,
    /// Rank on which it runs (all but `communication` between two ranks and collectives).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The same as the name of the rank's compute node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Several ranks on which it runs, once on each: `"all"` or a list of numbers and node names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
    /// Stream of the rank, on which one vertex runs at a time. When absent, 0 for computations and
    /// none for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamNumber>,
    /// Runs at the beginning. When no vertex says so, those that wait for nothing within an iteration
    /// do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<bool>,
    /// Operations (compute).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<FlopCount>,
    /// Number format (compute); the workload's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Bytes of memory accessed (compute).
    #[serde(default, alias = "memory_bytes", skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<ByteCount>,
    /// Where they are (compute): `"local"` (when absent), `"home"`, a node's name, or a rank whose
    /// memory is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<PlaceRef>,
    /// Threads, each on a core of its own with `flops` operations (compute); 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Bytes of the message, or per member of the collective (communication, send).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<ByteCount>,
    /// Sending rank (communication, receive); `"any"` for a receive from whoever sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PeerRef>,
    /// Receiving rank (communication, send).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<RankRef>,
    /// The other rank as a distance from the own one, cyclic (communication and send: to whom;
    /// receive: from whom, usually negative). For vertices on several ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i32>,
    /// Limit of the sender (communication between two ranks), or of the access to memory elsewhere (compute).
    #[serde(default, alias = "rate_cap", skip_serializing_if = "Option::is_none")]
    pub rate_cap: Option<Bandwidth>,
    /// What is computed together (communication): `all-reduce`, `all-gather`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collective: Option<CollectiveKind>,
    /// How (collective); by name or as a table. When absent, `ring`, or what its kind is usually done
    /// with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<CollectiveSpec>,
    /// Ranks that take part (collective); `"all"` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Ranks>,
    /// How they are cut into groups, each of which does it on its own (collective); all are one group when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Division>,
    /// When they start (collective): `each-member` (when absent) or `all-members`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateChoice>,
    /// Tag that send and receive share; when absent, a send has tag 0 and a receive takes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<u32>,
    /// Length of the wait (delay).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

impl VertexSpec {
    /// The optional keys that are set.
    pub(super) fn keys(&self) -> Vec<&'static str> {
        [
            ("rank", self.rank.is_some()),
            ("node", self.node.is_some()),
            ("ranks", self.ranks.is_some()),
            ("flops", self.flops.is_some()),
            ("precision", self.precision.is_some()),
            ("memory-bytes", self.memory_bytes.is_some()),
            ("memory", self.memory.is_some()),
            ("threads", self.threads.is_some()),
            ("bytes", self.bytes.is_some()),
            ("source", self.source.is_some()),
            ("destination", self.destination.is_some()),
            ("offset", self.offset.is_some()),
            ("rate-cap", self.rate_cap.is_some()),
            ("collective", self.collective.is_some()),
            ("algorithm", self.algorithm.is_some()),
            ("members", self.members.is_some()),
            ("groups", self.groups.is_some()),
            ("gate", self.gate.is_some()),
            ("tag", self.tag.is_some()),
            ("duration", self.duration.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, set)| set.then_some(key))
        .collect()
    }
}

/// How the ranks of two vertices correspond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkChoice {
    /// Each rank waits for itself.
    SameRank,
    /// Each rank waits for all.
    AllToAll,
}

/// An edge: `to` waits for `from`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EdgeSpec {
    /// What must be done first (`source` in node-link data).
    #[serde(alias = "source")]
    pub from: Name,
    /// What waits for it (`target` in node-link data).
    #[serde(alias = "target")]
    pub to: Name,
    /// Iterations that the edge reaches back: iteration `i` waits for iteration `i - distance`, and the
    /// first ones do not wait. 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<u32>,
    /// Whether the edge counts in the first execution; `false` is short for `distance = 1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<bool>,
    /// The paper's words for the same, the other way round: `true` is short for `distance = 1`.
    #[serde(default, alias = "not_considered_first", skip_serializing_if = "Option::is_none")]
    pub not_considered_first: Option<bool>,
    /// Between vertices on several ranks: `same-rank` or `all-to-all`. When absent, ranks wait for themselves between two
    /// vertices on several ranks and at collectives, and for what a communication from another rank brings them; otherwise
    /// for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkChoice>,
    /// Tells parallel edges of a NetworkX multigraph apart; says nothing here.
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    pub key: Option<serde_json::Value>,
}
