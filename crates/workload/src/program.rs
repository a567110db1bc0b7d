//! The program form: a directed graph of tasks that may have cycles across iterations.
//!
//! A vertex runs on every rank of its [`Scope`]; the copies are called its instances. An edge from
//! `a` to `b` with distance `d` lets iteration `i` of `b` start after iteration `i - d` of `a` (and
//! does not count while `i < d`): distance 0 is an ordinary dependency, distance 1 the HCSim paper's
//! edge that is "not considered in the first execution" (section 2.3, table 3). Iterations overlap
//! where the dependencies allow it; the iterations of one instance run in order.

mod build;
mod check;
mod subgroups;

pub use build::ProgramBuilder;
pub use subgroups::{Division, Subgroups};

use std::sync::Arc;

use stratasim_core::names::Names;
use stratasim_core::{Bandwidth, Duration, NodeId, Precision, Rank};

use crate::collective::{CollectiveKind, Plan};

/// Index of a vertex.
pub type VertexId = u32;

/// The ranks on which a vertex has instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Every rank of the program.
    All,
    /// One rank.
    One(Rank),
    /// Ranks `first .. first + count`.
    Range {
        /// First rank.
        first: Rank,
        /// How many.
        count: u32,
    },
    /// The members of a group (communicator) of the program.
    Group(u32),
}

/// A stream of a rank runs one task at a time, in the order in which they become ready (ties by
/// vertex). Tasks of different streams overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(pub u16);

impl Stream {
    /// The stream on which computations run unless told otherwise.
    pub const COMPUTE: Self = Self(0);
    /// The stream on which collectives run unless told otherwise.
    pub const COMMUNICATION: Self = Self(1);
    /// No stream: the task waits for its dependencies only.
    pub const NONE: Self = Self(u16::MAX);
}

/// Where memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryPlace {
    /// The memory of the rank's own compute node.
    Local,
    /// The memory node that extends it: the home memory that the topology gives the node.
    Home,
    /// A given memory or compute node.
    Node(NodeId),
    /// The memory of another rank's compute node.
    OfRank(Rank),
}

impl MemoryPlace {
    /// The node that is meant, for a rank whose memory is extended by `home` where other ranks run on
    /// `node_of`. `None` for the rank's own memory, and for a home memory that does not exist.
    pub fn node(self, home: Option<NodeId>, node_of: impl FnOnce(Rank) -> NodeId) -> Option<NodeId> {
        match self {
            Self::Local => None,
            Self::Home => home,
            Self::Node(node) => Some(node),
            Self::OfRank(other) => Some(node_of(other)),
        }
    }
}

/// Another rank, seen from an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A given rank.
    Rank(Rank),
    /// The rank that many places further (cyclic over the program's ranks).
    Offset(i32),
    /// Any rank, for receives.
    Any,
}

/// What a vertex does.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// Nothing: joins dependencies.
    Join,
    /// Takes a fixed time.
    Delay(Duration),
    /// Computes, and accesses memory.
    Compute(Compute),
    /// Moves bytes from the rank to another one; both sides in one vertex, no matching.
    Transfer {
        /// Receiver.
        to: Peer,
        /// Payload.
        bytes: u64,
        /// The sender's own limit.
        rate_cap: Option<Bandwidth>,
    },
    /// Sends a message that a `Receive` of the other rank takes.
    Send {
        /// Receiver.
        to: Peer,
        /// Must equal the receive's.
        tag: u32,
        /// Payload.
        bytes: u64,
    },
    /// Takes a message, in the order in which they were sent.
    Receive {
        /// Sender.
        from: Peer,
        /// Must equal the send's; `None` takes any.
        tag: Option<u32>,
    },
    /// All members of a group take part.
    Collective(Collective),
}

/// A computation with the memory that it accesses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compute {
    /// Operations per thread.
    pub flops: f64,
    /// Number format.
    pub precision: Precision,
    /// Bytes accessed in local memory; counts with the local roofline only.
    pub local_bytes: u64,
    /// Bytes accessed at `place`.
    pub remote_bytes: u64,
    /// Where those are.
    pub place: MemoryPlace,
    /// Limit of that access.
    pub access_cap: Option<Bandwidth>,
    /// Share relative to others on the same node (1 is normal).
    pub priority: f64,
    /// Threads, each on a core of its own (1 is normal).
    pub threads: u32,
    /// The task's own limit in operations per second.
    pub rate_cap: Option<f64>,
}

impl Compute {
    /// `flops` operations that access no memory worth counting.
    pub fn of(flops: f64, precision: Precision) -> Self {
        Self {
            flops,
            precision,
            local_bytes: 0,
            remote_bytes: 0,
            place: MemoryPlace::Local,
            access_cap: None,
            priority: 1.0,
            threads: 1,
            rate_cap: None,
        }
    }
}

/// When the members of a collective may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gate {
    /// Each member when its own dependencies are met.
    #[default]
    EachMember,
    /// All members together, when the dependencies of all are met.
    AllMembers,
}

/// A collective operation over a group. Each member leaves when its own part is done.
#[derive(Debug, Clone)]
pub struct Collective {
    /// What is computed.
    pub kind: CollectiveKind,
    /// How: the schedule of the chosen algorithm for this group and size.
    pub plan: Arc<dyn Plan>,
    /// Group of the program.
    pub group: u32,
    /// The groups into which that one is cut, where each of them runs the collective on its own; `plan` is for one of them.
    pub subgroups: Option<Subgroups>,
    /// Bytes per member, as the operation counts them.
    pub bytes: u64,
    /// When members may start.
    pub gate: Gate,
}

impl Collective {
    /// Those that run it together with member `index` of the group: their group, how many they are, and its place among them.
    pub fn seat(&self, index: u32, members: u32) -> Seat {
        match self.subgroups {
            None => Seat { group: self.group, members, place: index },
            Some(Subgroups { division, first, .. }) => {
                let (group, place) = division.place(index);
                Seat { group: first + group, members: division.size, place }
            }
        }
    }

    /// The groups of the program that run it.
    pub fn groups(&self) -> std::ops::Range<u32> {
        self.subgroups.map_or(self.group..self.group + 1, |it| it.first..it.first + it.count)
    }
}

/// The place of a rank among those that run a collective together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Group of the program.
    pub group: u32,
    /// Its members.
    pub members: u32,
    /// The rank's place there.
    pub place: u32,
}

impl PartialEq for Collective {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plan, &other.plan)
            && (self.kind, self.group, self.subgroups, self.bytes, self.gate)
                == (other.kind, other.group, other.subgroups, other.bytes, other.gate)
    }
}

/// A task of the program.
#[derive(Debug, Clone, PartialEq)]
pub struct Vertex {
    /// What it does.
    pub op: Op,
    /// On which ranks.
    pub scope: Scope,
    /// On which stream of each rank.
    pub stream: Stream,
    /// Runs at the beginning, whatever points at it.
    pub start: bool,
    /// Not before this instant (synthetic traffic with arrival times), first iteration only.
    pub not_before: Duration,
}

/// How an edge connects instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Link {
    /// Instances on the same rank. Where the scopes do not overlap: every instance of the first
    /// holds back every instance of the second.
    #[default]
    SameRank,
    /// Instances on the same rank, and, of a transfer, those on the rank that it goes to. Where the scopes do not overlap:
    /// every instance of the first holds back every instance of the second.
    BothEnds,
    /// Every instance of the first holds back every instance of the second.
    AllToAll,
}

/// A dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The other end.
    pub vertex: VertexId,
    /// Iterations that it reaches back.
    pub distance: u32,
    /// How instances correspond.
    pub link: Link,
}

/// A checked program.
#[derive(Debug, Clone)]
pub struct Program {
    ranks: u32,
    iterations: u32,
    vertices: Vec<Vertex>,
    names: Names,
    groups: Vec<Vec<Rank>>,
    /// Whether the ranks of each group ascend, so that they can be searched by halving.
    ascending: Vec<bool>,
    successors: Adjacency,
    predecessors: Adjacency,
    summary: Summary,
}

/// Facts about a program that reports need.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Batches that one iteration of the whole program processes, for `batches/s`.
    pub batches_per_iteration: Option<f64>,
    /// What lives where, when the builder knows.
    pub memory: Option<MemorySummary>,
    /// Notes for the reader of a report.
    pub notes: Vec<String>,
}

/// How the data of one rank is spread over memories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemorySummary {
    /// Bytes in the local memory of each rank.
    pub local_bytes: u64,
    /// Bytes in the memory node of each rank.
    pub remote_bytes: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Adjacency {
    start: Vec<u32>,
    edges: Vec<Edge>,
}

impl Adjacency {
    #[inline]
    fn of(&self, vertex: VertexId) -> &[Edge] {
        &self.edges[self.start[vertex as usize] as usize..self.start[vertex as usize + 1] as usize]
    }
}

impl Program {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// How often each vertex runs.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// All vertices by id.
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// One vertex.
    #[inline]
    pub fn vertex(&self, id: VertexId) -> &Vertex {
        &self.vertices[id as usize]
    }

    /// Name of a vertex.
    pub fn name(&self, id: VertexId) -> &str {
        self.names.get(id as usize)
    }

    /// Groups (communicators): ranks in order of membership.
    pub fn groups(&self) -> &[Vec<Rank>] {
        &self.groups
    }

    /// What waits for `vertex`.
    #[inline]
    pub fn successors(&self, vertex: VertexId) -> &[Edge] {
        self.successors.of(vertex)
    }

    /// What `vertex` waits for.
    #[inline]
    pub fn predecessors(&self, vertex: VertexId) -> &[Edge] {
        self.predecessors.of(vertex)
    }

    /// Facts for reports.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Number of instances of a scope.
    pub fn scope_len(&self, scope: Scope) -> u32 {
        match scope {
            Scope::All => self.ranks,
            Scope::One(_) => 1,
            Scope::Range { count, .. } => count,
            Scope::Group(group) => self.groups[group as usize].len() as u32,
        }
    }

    /// The rank of instance `index` of a scope.
    #[inline]
    pub fn scope_rank(&self, scope: Scope, index: u32) -> Rank {
        match scope {
            Scope::All => Rank(index),
            Scope::One(rank) => rank,
            Scope::Range { first, .. } => Rank(first.0 + index),
            Scope::Group(group) => self.groups[group as usize][index as usize],
        }
    }

    /// The instance of a scope on `rank`, if it has one: at once for runs of ranks, by halving for
    /// other ascending groups, else by search.
    #[inline]
    pub fn scope_index(&self, scope: Scope, rank: Rank) -> Option<u32> {
        match scope {
            Scope::All => Some(rank.0),
            Scope::One(one) => (one == rank).then_some(0),
            Scope::Range { first, count } => {
                (first <= rank && rank.0 < first.0 + count).then(|| rank.0 - first.0)
            }
            Scope::Group(group) => self.member_index(group, rank),
        }
    }

    fn member_index(&self, group: u32, rank: Rank) -> Option<u32> {
        let members = &self.groups[group as usize];
        let run = rank.0.wrapping_sub(members.first()?.0);
        if members.get(run as usize) == Some(&rank) {
            return Some(run);
        }
        let found = if self.ascending[group as usize] {
            members.binary_search(&rank).ok()
        } else {
            members.iter().position(|&member| member == rank)
        };
        found.map(|at| at as u32)
    }

    /// The rank that `peer` means for an instance on `rank`; `None` for [`Peer::Any`].
    pub fn peer(&self, rank: Rank, peer: Peer) -> Option<Rank> {
        match peer {
            Peer::Rank(rank) => Some(rank),
            Peer::Offset(offset) => {
                Some(Rank((i64::from(rank.0) + i64::from(offset)).rem_euclid(i64::from(self.ranks)) as u32))
            }
            Peer::Any => None,
        }
    }

    /// The one rank from which `to` leads to `rank`; `None` where that is no [`Peer::Offset`].
    pub fn sender_to(&self, rank: Rank, to: Peer) -> Option<Rank> {
        let Peer::Offset(offset) = to else { return None };
        Some(Rank((i64::from(rank.0) - i64::from(offset)).rem_euclid(i64::from(self.ranks)) as u32))
    }
}
