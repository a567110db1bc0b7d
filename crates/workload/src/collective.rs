//! Collectives: what is computed, and the algorithms that compute it.
//!
//! An algorithm plans rounds per member. In a round a member sends and receives; its next round
//! starts when everything of this one is done. Plans are asked round by round while they run, so
//! memory follows the active rounds. One algorithm per file, one line in the list; [`proof`] runs a
//! plan on sets of contributions and says what is wrong with it.

pub mod binomial;
pub mod bruck;
pub mod card_csc;
pub mod card_csc_equation;
pub mod card_direct;
pub mod card_ring;
pub mod chain;
mod check;
pub mod coarse_ring;
pub mod coherent_ring;
pub mod direct;
pub mod dissemination;
pub mod double_binary_tree;
mod folding;
pub mod hierarchical;
pub mod kernel;
pub mod neighbour_exchange;
mod on_card;
pub mod pairwise;
pub mod parts;
pub mod proof;
pub mod recursive;
pub mod recursive_doubling;
pub mod ring;
mod segment;
pub mod sequential;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, registry};

pub use check::{check, unsupported};
use check::{check_pairs, check_parts, countable, needs_equal_parts};
pub use kernel::{Kernel, Shared};
pub use parts::Parts;

/// What a collective computes. Sizes count bytes per member: the vector that each member holds
/// before an all-reduce, reduce-scatter, reduce, broadcast or scan, and after an all-gather; the vector
/// of member 0 before a scatter and after a gather; the sum of what each member sends (its own part
/// included) in an all-to-all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveKind {
    /// Every member gets the sum of all vectors.
    AllReduce,
    /// Member `i` gets part `i` of the sum.
    ReduceScatter,
    /// Every member gets the parts of all.
    AllGather,
    /// Every member gets the vector of member 0.
    Broadcast,
    /// Member 0 gets the sum.
    Reduce,
    /// Member `j` gets part `j` of every member.
    AllToAll,
    /// Nobody leaves before everybody came.
    Barrier,
    /// Member 0 gets the parts of all.
    Gather,
    /// Member `i` gets part `i` of the vector of member 0.
    Scatter,
    /// Member `i` gets the sum of members 0 to `i`.
    Scan,
    /// Member `i` gets the sum of members 0 to `i - 1`, member 0 nothing.
    ExclusiveScan,
}

impl CollectiveKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::AllReduce,
        Self::ReduceScatter,
        Self::AllGather,
        Self::Broadcast,
        Self::Reduce,
        Self::AllToAll,
        Self::Barrier,
        Self::Gather,
        Self::Scatter,
        Self::Scan,
        Self::ExclusiveScan,
    ];

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllGather => "all-gather",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllToAll => "all-to-all",
            Self::Barrier => "barrier",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Scan => "scan",
            Self::ExclusiveScan => "exclusive-scan",
        }
    }

    /// The algorithm that is used when nobody chooses one: the ring where it does this kind, the
    /// classic one elsewhere.
    pub fn usual_algorithm(self) -> CollectiveSpec {
        match self {
            Self::AllReduce | Self::ReduceScatter | Self::AllGather => CollectiveSpec::default(),
            Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter => {
                CollectiveSpec::Binomial(binomial::Binomial::default())
            }
            Self::Scan | Self::ExclusiveScan => {
                CollectiveSpec::RecursiveDoubling(recursive_doubling::RecursiveDoubling::default())
            }
            Self::AllToAll => CollectiveSpec::Direct(direct::Direct::default()),
            Self::Barrier => CollectiveSpec::Dissemination(dissemination::Dissemination::default()),
        }
    }
}

/// What the receiver does with what it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// Adds it to what it has; in a scan, to what it passes on only.
    Reduce,
    /// In a scan: adds it to what it passes on and to its result.
    Scan,
    /// Replaces what it has.
    Copy,
}

/// One part of a round, seen from one member: a message, or what a kernel on a card does. Messages between two
/// members are matched in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send `bytes`, which carry `chunks`.
    Send {
        /// Receiving member.
        to: u32,
        /// Chunks of the data that it carries ([`Plan::carried`]), for the proof of the algorithm.
        chunks: Range<u32>,
        /// Payload.
        bytes: u64,
    },
    /// Receive what `from` sends.
    Receive {
        /// Sending member.
        from: u32,
        /// Chunks of the data that it carries.
        chunks: Range<u32>,
        /// What to do with them.
        combine: Combine,
    },
    /// What is no message.
    Kernel(Kernel),
}

impl Action {
    /// Chunks that are moved, where any are.
    pub fn chunks(&self) -> Option<&Range<u32>> {
        match self {
            Self::Send { chunks, .. }
            | Self::Receive { chunks, .. }
            | Self::Kernel(Kernel::Store { chunks, .. } | Kernel::Load { chunks, .. }) => Some(chunks),
            Self::Kernel(_) => None,
        }
    }

    /// The same, to change them.
    pub fn chunks_mut(&mut self) -> Option<&mut Range<u32>> {
        match self {
            Self::Send { chunks, .. }
            | Self::Receive { chunks, .. }
            | Self::Kernel(Kernel::Store { chunks, .. } | Kernel::Load { chunks, .. }) => Some(chunks),
            Self::Kernel(_) => None,
        }
    }

    /// Chunks and bytes that the member itself sends, stores or loads.
    pub fn moved(&self) -> Option<(&Range<u32>, u64)> {
        match self {
            Self::Send { chunks, bytes, .. }
            | Self::Kernel(Kernel::Store { chunks, bytes } | Kernel::Load { chunks, bytes, .. }) => {
                Some((chunks, *bytes))
            }
            Self::Receive { .. } | Self::Kernel(_) => None,
        }
    }
}

/// What the members hold when a plan has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Guarantee {
    /// What the kind of the collective says.
    #[default]
    Result,
    /// Every chunk of the result once, at its [owner](Plan::owner); the other members read it there,
    /// through coherent memory, whenever they need it.
    AtOwners,
    /// Nothing: the messages stand for the cost of another schedule and carry no data.
    CostOnly,
}

/// The schedule of one collective over one group.
///
/// The sends of a round start when the member enters it and carry the data that the member had
/// then; the member enters the next round when all sends and receives of this one are complete. A
/// send does not wait for its receive: the receiver takes the message when a round of its own asks
/// for it, in the order in which the messages of that sender were sent.
pub trait Plan: Send + Sync + std::fmt::Debug {
    /// Rounds of `member`.
    fn rounds(&self, member: u32) -> u32;

    /// Appends what `member` does in `round`: at least one action.
    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>);

    /// Chunks that the data is cut into, as equal as whole bytes allow ([`bytes_of`]) unless
    /// [`Plan::parts`] says how. In an all-to-all chunk `i * n + j` goes from `i` to `j` and is part `j`
    /// of `n` of the vector of `i`; otherwise chunk `c` of a reduce-scatter, all-gather, gather or
    /// scatter belongs to member [`Plan::owner`]`(c)`.
    fn chunks(&self) -> u32;

    /// The member that holds chunk `c` after a reduce-scatter or scatter and before an all-gather or
    /// gather.
    fn owner(&self, chunk: u32) -> u32;

    /// The parts of the members, one chunk each, where they are not equal.
    fn parts(&self) -> Option<&Parts> {
        None
    }

    /// Whether messages carry chunks that are not neighbours. The `chunks` of an action then number
    /// messages, and [`Plan::carried`] tells what is in them.
    fn numbers_messages(&self) -> bool {
        false
    }

    /// Appends the chunks of the data that a message with `chunks` carries.
    fn carried(&self, chunks: &Range<u32>, out: &mut Vec<Range<u32>>) {
        out.push(chunks.clone());
    }

    /// Set when every member `i` sends once per round to member `i + 1` and receives once from
    /// `i - 1`, sending chunk `i - round` of as many chunks as members: networks may run such a
    /// plan as one request.
    fn pipeline(&self) -> Option<PipelineShape> {
        None
    }

    /// What it needs of a card; `None` for plans of messages alone, which run on any machine.
    fn shared(&self) -> Option<Shared> {
        None
    }

    /// Bytes that all members send, store and load together.
    fn total_bytes(&self) -> u64;

    /// What the members hold at the end.
    fn guarantee(&self) -> Guarantee {
        Guarantee::Result
    }
}

/// Bytes of the parts `parts` of a vector of `bytes` bytes that is cut into `count` parts as equal as
/// whole bytes allow: the first `bytes % count` parts have one byte more than the others.
#[inline]
pub fn bytes_of(bytes: u64, count: u32, parts: Range<u32>) -> u64 {
    let (each, longer) = (bytes / u64::from(count), bytes % u64::from(count));
    let before = |part: u32| each * u64::from(part) + u64::from(part).min(longer);
    before(parts.end) - before(parts.start)
}

/// Bytes of a message with `chunks` in `plan`, which was made for `kind` over `members` members with
/// `bytes` bytes each: what its send says, and what its receive expects.
pub fn payload_bytes(
    plan: &dyn Plan,
    kind: CollectiveKind,
    members: u32,
    bytes: u64,
    chunks: &Range<u32>,
) -> u64 {
    let of_range = |range: &Range<u32>| {
        let equal = Parts::equal(members, bytes);
        let parts = plan.parts();
        match (kind, parts) {
            (CollectiveKind::Barrier, _) => 0,
            (CollectiveKind::AllToAll, _) => {
                let parts = parts.unwrap_or(&equal);
                let part = |chunk: u32| (chunk / members, chunk % members);
                range.clone().map(part).map(|(from, to)| parts.bytes_from(from, to..to + 1)).sum()
            }
            (_, Some(parts)) => parts.bytes(range.clone()),
            (_, None) => bytes_of(bytes, plan.chunks(), range.clone()),
        }
    };
    if !plan.numbers_messages() {
        return of_range(chunks);
    }
    let mut carried = Vec::new();
    plan.carried(chunks, &mut carried);
    carried.iter().map(of_range).sum()
}

/// The numbers of a [`Plan::pipeline`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineShape {
    /// Rounds.
    pub steps: u32,
    /// Bytes of every chunk,
    pub chunk_bytes: u64,
    /// and one more for the first of them.
    pub longer_chunks: u32,
}

/// An algorithm as the user chose it.
pub trait CollectiveAlgorithm: std::fmt::Debug + Send + Sync {
    /// Plans `kind` over `members` members with `bytes` bytes each.
    ///
    /// # Errors
    /// A kind that the algorithm does not do, or a number of members that it cannot handle.
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError>;

    /// The same on a machine whose topology has these `dimensions` (innermost first, may be empty).
    /// Most algorithms do not care.
    ///
    /// # Errors
    /// As [`CollectiveAlgorithm::plan`]; dimensions that do not fit the number of members.
    fn plan_on(
        &self,
        kind: CollectiveKind,
        members: u32,
        bytes: u64,
        dimensions: &[u32],
    ) -> Result<Box<dyn Plan>, BuildError> {
        let _ = dimensions;
        self.plan(kind, members, bytes)
    }

    /// Plans `kind` for members whose parts may differ (the "v" operations of MPI).
    ///
    /// # Errors
    /// As [`CollectiveAlgorithm::plan`]; an algorithm or a kind that needs equal parts.
    fn plan_parts(&self, kind: CollectiveKind, parts: Parts) -> Result<Box<dyn Plan>, BuildError> {
        if parts.is_equal() {
            return self.plan(kind, parts.members(), parts.total());
        }
        Err(BuildError::new("kind", needs_equal_parts(kind)))
    }
}

registry! {
    /// Every collective algorithm, by its `kind`.
    pub enum CollectiveSpec: dyn CollectiveAlgorithm {
        "ring" => Ring(ring::Ring),
        "recursive" | "halving-doubling" | "rabenseifner" | "recursive-halving" => Recursive(recursive::Recursive),
        "recursive-doubling" => RecursiveDoubling(recursive_doubling::RecursiveDoubling),
        "binomial" | "tree" | "binomial-tree" => Binomial(binomial::Binomial),
        "chain" => Chain(chain::Chain),
        "double-binary-tree" | "tree" | "nccl-tree" => DoubleBinaryTree(double_binary_tree::DoubleBinaryTree),
        "direct" | "linear" | "flat" => Direct(direct::Direct),
        "sequential" => Sequential(sequential::Sequential),
        "pairwise" => Pairwise(pairwise::Pairwise),
        "bruck" => Bruck(bruck::Bruck),
        "neighbour-exchange" => NeighbourExchange(neighbour_exchange::NeighbourExchange),
        "dissemination" => Dissemination(dissemination::Dissemination),
        "hierarchical" | "2d-ring" => Hierarchical(hierarchical::Hierarchical),
        "coherent-ring" => CoherentRing(coherent_ring::CoherentRing),
        "coarse-ring" => CoarseRing(coarse_ring::CoarseRing),
        "card-ring" => CardRing(card_ring::CardRing),
        "card-csc" => CardCsc(card_csc::CardCsc),
        "card-csc-equation" => CardCscEquation(card_csc_equation::CardCscEquation),
        "card-direct" => CardDirect(card_direct::CardDirect),
    }
}

impl Default for CollectiveSpec {
    fn default() -> Self {
        Self::Ring(ring::Ring::default())
    }
}
