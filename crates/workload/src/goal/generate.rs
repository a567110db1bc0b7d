//! Schedules of classic communication patterns, as schedgen and Schedgen2 of LogGOPSim write them. One
//! idea per file, one line in the list.
//!
//! A pattern says what one rank does, so a schedule is written rank after rank and its size is known
//! before anything is allocated. Where schedgen draws without a seed or is at fault, the pattern's help
//! says what is done instead; elsewhere the operations and their dependencies are the same, in the same
//! order.

pub mod all_to_all;
pub mod barrier;
pub mod binary;
pub mod binomial;
pub mod by_size;
pub mod collective;
pub mod dissemination;
pub mod names;
pub mod random_bisection;
pub mod recursive_doubling;
pub mod resnet;
pub mod ring;
pub mod star;

use stratasim_core::random::Streams;
use stratasim_core::words::counted;
use stratasim_core::{BuildError, registry};

use super::merge::{Job, MergeOptions, merge};
use super::{ANY, Operation, Schedule, ScheduleBuilder};

/// A pattern as the user chose it.
pub trait SchedulePattern: std::fmt::Debug {
    /// Lays the pattern over the ranks of `context`.
    ///
    /// # Errors
    /// A number of ranks that the pattern cannot do, a parameter out of range.
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError>;

    /// Whether [`GenerateContext::root`] means something here.
    fn has_root(&self) -> bool {
        false
    }

    /// Whether [`GenerateContext::segment_bytes`] means something here.
    fn has_segments(&self) -> bool {
        false
    }
}

/// A pattern over a number of ranks.
pub trait RankSchedules {
    /// Operations and dependencies of all ranks together.
    fn size(&self) -> (u64, u64);

    /// Writes what `rank` does.
    fn write(&mut self, rank: u32, out: &mut RankWriter<'_>);

    /// Whether every rank does what rank 0 does, peers counted from the rank itself. One is written then,
    /// and repeated.
    fn alike(&self) -> bool {
        false
    }
}

registry! {
    /// Every pattern, by its `kind`.
    pub enum GenerateSpec: dyn SchedulePattern {
        "binomial-broadcast" => BinomialBroadcast(binomial::BinomialBroadcast),
        "binomial-reduce" => BinomialReduce(binomial::BinomialReduce),
        "binary-broadcast" => BinaryBroadcast(binary::BinaryBroadcast),
        "dissemination" => Dissemination(dissemination::Dissemination),
        "n-way-dissemination" => NWayDissemination(dissemination::NWayDissemination),
        "chained-dissemination" => ChainedDissemination(dissemination::ChainedDissemination),
        "pipelined-ring" => PipelinedRing(ring::PipelinedRing),
        "double-ring" => DoubleRing(ring::DoubleRing),
        "ring-allreduce" => RingAllreduce(ring::RingAllreduce),
        "recursive-doubling-allreduce" => RecursiveDoubling(recursive_doubling::RecursiveDoublingAllreduce),
        "allreduce-by-size" => AllreduceBySize(by_size::AllreduceBySize),
        "gather" => Gather(star::Gather),
        "scatter" => Scatter(star::Scatter),
        "incast" => Incast(star::Incast),
        "outcast" => Outcast(star::Outcast),
        "linear-barrier" => LinearBarrier(barrier::LinearBarrier),
        "linear-alltoall" => LinearAlltoall(all_to_all::LinearAlltoall),
        "linear-alltoallv" => LinearAlltoallv(all_to_all::LinearAlltoallv),
        "random-bisection" => RandomBisection(random_bisection::RandomBisection),
        "resnet" => Resnet(resnet::Resnet),
        "collective" => Collective(collective::Collective),
    }
}

/// What every pattern is told.
#[derive(Debug, Clone)]
pub struct GenerateContext {
    /// Ranks, 1 to 2^30.
    pub ranks: u32,
    /// Bytes of the pattern's basic step; each pattern has its own when absent, mostly 1.
    pub bytes: Option<u64>,
    /// Tag of all messages; patterns that need several count up from it.
    pub tag: u32,
    /// The rank that a tree, a star or a pipeline starts from. It changes places with rank 0.
    pub root: u32,
    /// Bytes of a segment of a pipeline; one segment when absent.
    pub segment_bytes: Option<u64>,
    /// Computation beside the pattern.
    pub background: Background,
    /// How often. A rank begins again when it has finished, whatever the others do.
    pub repetitions: u32,
    /// Computation of each rank between two repetitions, in nanoseconds.
    pub pause_ns: u64,
    /// Random numbers, for patterns that draw.
    pub streams: Streams,
}

/// Computation that each rank does at the same time, from the beginning, as under a non-blocking
/// collective: a chain of pieces between which the library could be polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Background {
    /// Nanoseconds in all; none when 0.
    pub ns: u64,
    /// Nanoseconds of a piece; one piece when 0. The last piece is a whole one too.
    pub poll_ns: u64,
    /// Stream on which it runs. The pattern itself runs on stream 0.
    pub cpu: u16,
}

impl Background {
    /// Pieces and the nanoseconds of each.
    fn pieces(&self) -> (u64, u64) {
        match (self.ns, self.poll_ns) {
            (0, _) => (0, 0),
            (ns, 0) => (1, ns),
            (ns, poll) => (ns.div_ceil(poll), poll),
        }
    }
}

impl GenerateContext {
    /// `ranks` ranks; everything else as it is when nobody says anything, with seed 0.
    pub fn new(ranks: u32) -> Self {
        Self {
            ranks,
            bytes: None,
            tag: 0,
            root: 0,
            segment_bytes: None,
            background: Background::default(),
            repetitions: 1,
            pause_ns: 0,
            streams: Streams::new(0),
        }
    }

    /// Bytes of a step, where the usual number is 1.
    fn step_bytes(&self) -> u64 {
        self.bytes.unwrap_or(1)
    }

    /// The rank that plays `role`, and the role of a rank: the root and rank 0 change places.
    fn swapped(&self) -> impl Fn(u32) -> u32 + Copy + use<> {
        let root = self.root;
        move |rank| match rank {
            0 => root,
            _ if rank == root => 0,
            _ => rank,
        }
    }

    fn check(&self) -> Result<(), BuildError> {
        if !(1..=1 << 30).contains(&self.ranks) {
            let reason = format!("a schedule has 1 to 2^30 ranks, got {}", self.ranks);
            return Err(BuildError::new("ranks", reason));
        }
        if self.root >= self.ranks {
            let reason =
                format!("rank {} does not exist, there are ranks 0 to {}", self.root, self.ranks - 1);
            return Err(BuildError::new("root", reason));
        }
        if self.segment_bytes == Some(0) {
            return Err(BuildError::new("segment-bytes", "a segment has at least one byte, got 0"));
        }
        if self.tag == ANY {
            let reason = format!("{ANY} means any tag; a message needs a smaller one");
            return Err(BuildError::new("tag", reason));
        }
        if self.repetitions == 0 {
            return Err(BuildError::new("repetitions", "at least once, got 0"));
        }
        Ok(())
    }
}

impl GenerateSpec {
    /// Writes the schedule.
    ///
    /// # Errors
    /// What the pattern refuses; a root or segments where they mean nothing; more than 2^32 - 2
    /// operations or dependencies.
    pub fn generate(&self, context: &GenerateContext) -> Result<Schedule, BuildError> {
        context.check()?;
        let pattern = self.plugin();
        if context.root != 0 && !pattern.has_root() {
            return Err(BuildError::new("root", format!("`{}` has no root", self.kind())));
        }
        if context.segment_bytes.is_some() && !pattern.has_segments() {
            return Err(BuildError::new("segment-bytes", format!("`{}` has no segments", self.kind())));
        }
        let mut ranks = pattern.over(context)?;
        let (pieces, piece_ns) = context.background.pieces();
        let all_pieces = pieces.saturating_mul(context.ranks.into());
        let (operations, edges) = ranks.size();
        let (operations, edges) = (operations.saturating_add(all_pieces), edges.saturating_add(all_pieces));
        let most = u64::from(u32::MAX) - 1;
        if operations.max(edges).saturating_mul(context.repetitions.into()) > most {
            let reason = format!(
                "`{}` over {} ranks, {}, has {operations} operations and {edges} dependencies each time; a schedule holds 2^32 - 2 of each",
                self.kind(),
                context.ranks,
                counted(context.repetitions.into(), "time")
            );
            return Err(BuildError::new("ranks", reason));
        }
        let mut builder = ScheduleBuilder::new(context.ranks);
        builder.reserve(operations as usize, edges as usize);
        let written = if ranks.alike() { 1 } else { context.ranks };
        for rank in 0..written {
            for piece in 0..pieces {
                let place = builder.push(Operation::calc(piece_ns).on_cpu(context.background.cpu));
                if piece > 0 {
                    builder.requires(place, place - 1);
                }
            }
            ranks.write(rank, &mut RankWriter::new(&mut builder, context.tag));
            builder.close_rank()?;
        }
        builder.repeat_rank(context.ranks - written)?;
        let schedule = builder.build()?;
        if context.repetitions == 1 {
            return Ok(schedule);
        }
        let mut job = Job::new("", &schedule, (0..context.ranks).collect());
        job.repetitions = context.repetitions;
        job.pause_ns = context.pause_ns;
        Ok(merge(&[job], &MergeOptions::new(context.ranks))?.schedule)
    }
}

/// Writes the operations of one rank.
#[derive(Debug)]
pub struct RankWriter<'a> {
    builder: &'a mut ScheduleBuilder,
    tag: u32,
}

impl<'a> RankWriter<'a> {
    /// Writes the rank that `builder` has in hand; messages have `tag`.
    pub fn new(builder: &'a mut ScheduleBuilder, tag: u32) -> Self {
        Self { builder, tag }
    }

    /// Gives the messages that follow another tag.
    pub fn tag(&mut self, tag: u32) {
        self.tag = tag;
    }

    /// The place of the operation that comes next.
    pub fn next(&self) -> u32 {
        self.builder.rank_len()
    }

    /// Sends `bytes` to `to`; the operation's place among those of the rank.
    #[inline]
    pub fn send(&mut self, bytes: u64, to: u32) -> u32 {
        self.builder.push(Operation::send(bytes, to, self.tag))
    }

    /// Receives `bytes` from `from`.
    #[inline]
    pub fn receive(&mut self, bytes: u64, from: u32) -> u32 {
        self.builder.push(Operation::receive(bytes, from, self.tag))
    }

    /// Computes for `ns` nanoseconds.
    #[inline]
    pub fn calc(&mut self, ns: u64) -> u32 {
        self.builder.push(Operation::calc(ns))
    }

    /// `operation` starts when `before` has ended.
    #[inline]
    pub fn requires(&mut self, operation: u32, before: u32) {
        self.builder.requires(operation, before);
    }
}

/// A pattern whose ranks need nothing but their number.
struct PerRank<F> {
    size: (u64, u64),
    write: F,
    alike: bool,
}

impl<F: FnMut(u32, &mut RankWriter<'_>)> RankSchedules for PerRank<F> {
    fn size(&self) -> (u64, u64) {
        self.size
    }

    fn write(&mut self, rank: u32, out: &mut RankWriter<'_>) {
        (self.write)(rank, out);
    }

    fn alike(&self) -> bool {
        self.alike
    }
}

/// Boxes what `write` does for each rank; `size` counts the operations and dependencies of all.
fn per_rank(
    size: (u64, u64),
    write: impl FnMut(u32, &mut RankWriter<'_>) + 'static,
) -> Result<Box<dyn RankSchedules>, BuildError> {
    Ok(Box::new(PerRank { size, write, alike: false }))
}

/// The same where `write` does the same for each rank, peers counted from the rank itself.
fn alike_ranks(
    size: (u64, u64),
    write: impl FnMut(u32, &mut RankWriter<'_>) + 'static,
) -> Result<Box<dyn RankSchedules>, BuildError> {
    Ok(Box::new(PerRank { size, write, alike: true }))
}

/// Rounds of a doubling: the logarithm to base 2, rounded up.
fn doublings(ranks: u32) -> u32 {
    ranks.next_power_of_two().ilog2()
}

/// `rank` and `distance` ranks further; both below `ranks`, which is at most 2^30.
#[inline]
fn ahead(rank: u32, distance: u32, ranks: u32) -> u32 {
    let sum = rank + distance;
    if sum >= ranks { sum - ranks } else { sum }
}

/// `distance` ranks before `rank`.
#[inline]
fn behind(rank: u32, distance: u32, ranks: u32) -> u32 {
    if rank >= distance { rank - distance } else { rank + (ranks - distance) }
}

/// The last of `count` tags from `first`.
fn check_tags(first: u32, count: u64) -> Result<(), BuildError> {
    if u64::from(first) + count <= u64::from(ANY) {
        return Ok(());
    }
    let reason = format!("this pattern uses {count} tags from {first} on, tags end at {}", ANY - 1);
    Err(BuildError::new("tag", reason))
}
