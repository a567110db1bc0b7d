//! A schedule in memory, and how it is written rank by rank.
//!
//! Operations of all ranks stand in one column, rank after rank; an operation is the number of its
//! [`Shape`]. Peers are kept relative to the rank, so that the ranks of a regular program share a few
//! shapes. Dependencies stand behind the operation that is waited for, in the order in which they
//! were declared, those on its end before those on its start.

use std::ops::Range;

use rustc_hash::FxHashMap;
use stratasim_core::BuildError;
use stratasim_core::memory::prefetch;
use stratasim_core::random::mix;

/// Any source, or any tag.
pub const ANY: u32 = u32::MAX;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OperationKind {
    /// Sends a message.
    Send = 1,
    /// Receives one.
    Receive = 2,
    /// Computes.
    Calc = 3,
}

/// An operation of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operation {
    /// What it does.
    pub kind: OperationKind,
    /// Bytes of a message; nanoseconds of a computation.
    pub size: u64,
    /// The other rank of a message; [`ANY`] for a receive from anybody; 0 for a computation.
    pub peer: u32,
    /// Must equal the other side's, or be [`ANY`] on one side; 0 for a computation.
    pub tag: u32,
    /// Stream (GOAL's `cpu`) on which it runs.
    pub cpu: u16,
    /// NIC of the rank that carries it; 0 for a computation.
    pub nic: u16,
}

impl Operation {
    /// A send of `size` bytes on stream 0 and NIC 0.
    pub const fn send(size: u64, peer: u32, tag: u32) -> Self {
        Self { kind: OperationKind::Send, size, peer, tag, cpu: 0, nic: 0 }
    }

    /// A receive of `size` bytes on stream 0 and NIC 0.
    pub const fn receive(size: u64, peer: u32, tag: u32) -> Self {
        Self { kind: OperationKind::Receive, size, peer, tag, cpu: 0, nic: 0 }
    }

    /// A computation of `ns` nanoseconds on stream 0.
    pub const fn calc(ns: u64) -> Self {
        Self { kind: OperationKind::Calc, size: ns, peer: 0, tag: 0, cpu: 0, nic: 0 }
    }

    /// The same on another stream.
    #[must_use]
    pub const fn on_cpu(mut self, cpu: u16) -> Self {
        self.cpu = cpu;
        self
    }

    /// The same on another NIC.
    #[must_use]
    pub const fn on_nic(mut self, nic: u16) -> Self {
        self.nic = nic;
        self
    }
}

/// An operation as ranks share it: `peer` counts from the rank's own number, modulo the number of
/// ranks, where `relative`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The operation; its peer is a distance where `relative`.
    pub operation: Operation,
    /// Whether `peer` is a distance. Wildcards and ranks that do not exist are kept as they are.
    pub relative: bool,
}

impl Shape {
    /// The shape of `operation` on `rank` of `ranks`.
    #[inline]
    pub fn of(mut operation: Operation, rank: u32, ranks: u32) -> Self {
        let relative = operation.kind != OperationKind::Calc && operation.peer < ranks;
        if relative {
            let (peer, rank) = (operation.peer, rank);
            operation.peer = if peer >= rank { peer - rank } else { ranks - (rank - peer) };
        }
        Self { operation, relative }
    }

    /// The peer as seen from `rank`.
    #[inline]
    pub fn peer(&self, rank: u32, ranks: u32) -> u32 {
        if !self.relative {
            return self.operation.peer;
        }
        // both are below `ranks`, but their sum may not fit
        let room = ranks - self.operation.peer;
        if rank >= room { rank - room } else { rank + self.operation.peer }
    }

    /// Whether it is one that [`Shape::of`] gives, in a schedule of `ranks` ranks; what is wrong otherwise.
    ///
    /// # Errors
    /// A distance of `ranks` or more, a rank that is not kept as a distance, a computation with a peer, tag or
    /// NIC.
    pub fn check(&self, ranks: u32) -> Result<(), String> {
        let Operation { kind, peer, tag, nic, .. } = self.operation;
        if kind == OperationKind::Calc {
            if self.relative {
                return Err("a computation with a peer at a distance; none expected".to_owned());
            }
            if peer != 0 || tag != 0 || nic != 0 {
                return Err(format!("a computation with peer {peer}, tag {tag}, NIC {nic}; 0 expected"));
            }
        } else if self.relative != (peer < ranks) {
            let what = if self.relative { "the peer at a distance of" } else { "peer" };
            let bound = if self.relative { "less than" } else { "at least" };
            return Err(format!("{what} {peer}; {bound} the number of ranks ({ranks}) expected"));
        }
        Ok(())
    }

    /// The operation as it is on `rank`.
    #[inline]
    pub fn on(&self, rank: u32, ranks: u32) -> Operation {
        Operation { peer: self.peer(rank, ranks), ..self.operation }
    }
}

/// A dependency, seen from the operation that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge(u32);

impl Edge {
    const ON_START: u32 = 1 << 31;
    /// Most operations of a rank.
    pub const MOST: u32 = Self::ON_START - 1;

    /// `after` waits for the start (`irequires`) or the end (`requires`).
    #[inline]
    pub const fn new(after: u32, on_start: bool) -> Self {
        Self(after | if on_start { Self::ON_START } else { 0 })
    }

    /// The operation that waits: its place among those of the rank.
    #[inline]
    pub const fn after(self) -> u32 {
        self.0 & !Self::ON_START
    }

    /// Whether it waits for the start only.
    #[inline]
    pub const fn on_start(self) -> bool {
        self.0 & Self::ON_START != 0
    }
}

/// A GOAL schedule. Operations are numbered over all ranks, rank after rank ("operation 17"), and
/// within a rank from 0 ("the rank's operation 3").
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    /// First operation of each rank, then the total.
    pub(super) first: Vec<u32>,
    pub(super) shape_of: Vec<u32>,
    pub(super) shapes: Vec<Shape>,
    /// First edge of each operation, then the total.
    pub(super) first_edge: Vec<u32>,
    pub(super) edges: Vec<Edge>,
    pub(super) labels: Labels,
    pub(super) remarks: Vec<String>,
}

/// Labels that are not `l1`, `l2`, ... in the order of a rank's operations.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels {
    /// (operation, end of its label in `text`), ascending.
    pub(super) ends: Vec<(u32, u32)>,
    pub(super) text: String,
}

impl Schedule {
    /// What a reader may not have meant in the text that it came from, a sentence each: numbers that mean others, ranks
    /// without a block.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The same schedule, whose remarks say that it came from the file `name`.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        for remark in &mut self.remarks {
            remark.insert_str(0, &format!("{name}: "));
        }
        self
    }

    /// Number of ranks.
    #[inline]
    pub fn ranks(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Operations of all ranks.
    #[inline]
    pub fn len(&self) -> u32 {
        self.shape_of.len() as u32
    }

    /// Whether no rank does anything.
    pub fn is_empty(&self) -> bool {
        self.shape_of.is_empty()
    }

    /// Dependencies of all ranks.
    pub fn edge_count(&self) -> u32 {
        self.edges.len() as u32
    }

    /// The operations of a rank.
    #[inline]
    pub fn of_rank(&self, rank: u32) -> Range<u32> {
        self.first[rank as usize]..self.first[rank as usize + 1]
    }

    /// The rank of an operation.
    pub fn rank_of(&self, operation: u32) -> u32 {
        self.first.partition_point(|&first| first <= operation) as u32 - 1
    }

    /// The number of an operation's shape.
    #[inline]
    pub fn shape_of(&self, operation: u32) -> u32 {
        self.shape_of[operation as usize]
    }

    /// The shape of an operation.
    #[inline]
    pub fn shape(&self, operation: u32) -> &Shape {
        &self.shapes[self.shape_of[operation as usize] as usize]
    }

    /// All shapes.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// An operation of `rank`.
    #[inline]
    pub fn operation(&self, rank: u32, operation: u32) -> Operation {
        self.shape(operation).on(rank, self.ranks())
    }

    /// What waits for an operation: for its end first, then for its start.
    #[inline]
    pub fn edges(&self, operation: u32) -> &[Edge] {
        let at = operation as usize;
        &self.edges[self.first_edge[at] as usize..self.first_edge[at + 1] as usize]
    }

    /// Asks for where the shape and the edges of an operation are found. Nothing depends on it but speed.
    #[inline]
    pub fn ask_for(&self, operation: u32) {
        prefetch(&self.shape_of[operation as usize]);
        prefetch(&self.first_edge[operation as usize]);
    }

    /// Asks for the edges of an operation, which reads where they are found.
    #[inline]
    pub fn ask_for_edges(&self, operation: u32) {
        if let Some(edge) = self.edges.get(self.first_edge[operation as usize] as usize) {
            prefetch(edge);
        }
    }

    /// How many dependencies each operation of `rank` has, in order.
    pub fn count_dependencies(&self, rank: u32, counts: &mut Vec<u32>) {
        let range = self.of_rank(rank);
        counts.clear();
        counts.resize(range.len(), 0);
        let edges =
            self.first_edge[range.start as usize] as usize..self.first_edge[range.end as usize] as usize;
        for edge in &self.edges[edges] {
            counts[edge.after() as usize] += 1;
        }
    }

    /// The label that an operation was given, if it is not the usual `l1`, `l2`, ...
    pub fn own_label(&self, operation: u32) -> Option<&str> {
        let at = self.labels.ends.binary_search_by_key(&operation, |(labelled, _)| *labelled).ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.labels.ends[before].1);
        Some(&self.labels.text[start as usize..self.labels.ends[at].1 as usize])
    }

    /// The label of an operation of `rank`: its own, or `l1`, `l2`, ... by its place.
    pub fn label(&self, rank: u32, operation: u32) -> String {
        self.own_label(operation)
            .map_or_else(|| format!("l{}", operation - self.first[rank as usize] + 1), str::to_owned)
    }

    /// Refuses sends to ranks that do not exist, with the first of them.
    ///
    /// # Errors
    /// Rank, operation, where it sends to, and how many ranks there are.
    pub fn check_sends(&self) -> Result<(), BuildError> {
        let lost = |shape: &Shape| shape.operation.kind == OperationKind::Send && !shape.relative;
        // a few shapes stand for all operations
        if !self.shapes.iter().any(lost) {
            return Ok(());
        }
        let ranks = self.ranks();
        for rank in 0..ranks {
            if let Some(operation) = self.of_rank(rank).find(|&operation| lost(self.shape(operation))) {
                let (label, peer) = (self.label(rank, operation), self.shape(operation).operation.peer);
                let reason = format!("rank {rank}: `{label}` sends to rank {peer}, there are {ranks} ranks");
                return Err(BuildError::new("", reason));
            }
        }
        Ok(())
    }

    /// The number of streams that the ranks use: the largest `cpu` and one.
    pub fn cpus(&self) -> u32 {
        self.shapes.iter().map(|shape| u32::from(shape.operation.cpu)).max().unwrap_or(0) + 1
    }

    /// The number of NICs that the ranks use: the largest `nic` and one.
    pub fn nics(&self) -> u32 {
        self.shapes.iter().map(|shape| u32::from(shape.operation.nic)).max().unwrap_or(0) + 1
    }

    /// A hash of everything that decides what a schedule does; labels do not count. Equal schedules have
    /// equal digests, whichever file they came from.
    pub fn digest(&self) -> u64 {
        let ranks = self.ranks();
        let mut hash = mix(u64::from(ranks));
        let mut add = |value: u64| hash = mix(hash.rotate_left(5) ^ value).wrapping_add(value);
        for rank in 0..ranks {
            let range = self.of_rank(rank);
            add(u64::from(range.end - range.start));
            for number in range {
                let Operation { kind, size, peer, tag, cpu, nic } = self.operation(rank, number);
                add(size);
                add(u64::from(peer) << 32 | u64::from(tag));
                add(u64::from(kind as u8) << 32 | u64::from(cpu) << 16 | u64::from(nic));
                add(self.edges(number).len() as u64);
                for edge in self.edges(number) {
                    add(u64::from(edge.0));
                }
            }
        }
        hash
    }
}

/// Writes a [`Schedule`], rank after rank.
///
/// ```
/// use stratasim_workload::goal::{Operation, ScheduleBuilder};
///
/// let mut builder = ScheduleBuilder::new(2);
/// let compute = builder.push(Operation::calc(500));
/// let send = builder.push(Operation::send(1024, 1, 0));
/// builder.requires(send, compute);
/// builder.close_rank().unwrap();
/// builder.push(Operation::receive(1024, 0, 0));
/// builder.close_rank().unwrap();
/// let schedule = builder.build().unwrap();
/// assert_eq!((schedule.ranks(), schedule.len()), (2, 3));
/// assert_eq!(schedule.edges(0)[0].after(), send);
/// ```
#[derive(Debug)]
pub struct ScheduleBuilder {
    ranks: u32,
    pub(super) schedule: Schedule,
    numbers: FxHashMap<Shape, u32>,
    /// The shapes of the last operations, by their place modulo a few: what repeats is found at once.
    recent: [u32; RECENT],
    /// Dependencies of the rank in hand: (waited for, edge).
    declared: Vec<(u32, Edge)>,
    /// Scratch: edges of each operation of the rank in hand.
    next: Vec<u32>,
}

/// Shapes that are compared before the table is asked.
const RECENT: usize = 4;

impl ScheduleBuilder {
    /// A schedule of `ranks` ranks, none of them written.
    pub fn new(ranks: u32) -> Self {
        let schedule = Schedule { first: vec![0], first_edge: vec![0], ..Schedule::default() };
        Self {
            ranks,
            schedule,
            numbers: FxHashMap::default(),
            recent: [0; RECENT],
            declared: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Makes room for as many more operations and dependencies.
    pub fn reserve(&mut self, operations: usize, edges: usize) {
        self.schedule.shape_of.reserve(operations);
        self.schedule.first_edge.reserve(operations);
        self.schedule.edges.reserve(edges);
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The rank in hand; equal to the number of ranks when all are written.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.schedule.first.len() as u32 - 1
    }

    /// Operations of the rank in hand.
    #[inline]
    pub fn rank_len(&self) -> u32 {
        self.schedule.len() - self.first()
    }

    #[inline]
    fn first(&self) -> u32 {
        *self.schedule.first.last().expect("starts with rank 0")
    }

    /// Appends an operation to the rank in hand; its place among those of the rank.
    #[inline]
    pub fn push(&mut self, operation: Operation) -> u32 {
        let shape = Shape::of(operation, self.rank(), self.ranks);
        for &recent in &self.recent {
            if self.schedule.shapes.get(recent as usize) == Some(&shape) {
                return self.push_shape(recent);
            }
        }
        let number = self.shape_number(shape);
        self.recent[number as usize % RECENT] = number;
        self.push_shape(number)
    }

    /// The number of a shape, which is new or not.
    pub fn shape_number(&mut self, shape: Shape) -> u32 {
        let next = self.schedule.shapes.len() as u32;
        let number = *self.numbers.entry(shape).or_insert(next);
        if number == next {
            self.schedule.shapes.push(shape);
        }
        number
    }

    /// Appends an operation by the number of its shape.
    #[inline]
    pub fn push_shape(&mut self, number: u32) -> u32 {
        let place = self.rank_len();
        self.schedule.shape_of.push(number);
        place
    }

    /// Names an operation of the rank in hand. Operations are named in order; the first name stays.
    pub fn label(&mut self, operation: u32, label: &str) {
        let usual = label
            .strip_prefix('l')
            .is_some_and(|digits| !digits.starts_with('0') && digits.parse() == Ok(u64::from(operation) + 1));
        if usual {
            return;
        }
        let number = self.first() + operation;
        let labels = &mut self.schedule.labels;
        if labels.ends.last().is_none_or(|(last, _)| *last < number)
            && let Ok(end) = u32::try_from(labels.text.len() + label.len())
        {
            labels.text.push_str(label);
            labels.ends.push((number, end));
        }
    }

    /// `operation` of the rank in hand may start when `before` has ended.
    #[inline]
    pub fn requires(&mut self, operation: u32, before: u32) {
        self.declared.push((before, Edge::new(operation, false)));
    }

    /// `operation` of the rank in hand may start when `before` has started (`irequires`).
    #[inline]
    pub fn requires_start(&mut self, operation: u32, before: u32) {
        self.declared.push((before, Edge::new(operation, true)));
    }

    /// Ends the rank in hand.
    ///
    /// # Errors
    /// A dependency on or of an operation that the rank does not have; more ranks, operations or
    /// dependencies than can be counted.
    pub fn close_rank(&mut self) -> Result<(), BuildError> {
        let (rank, len) = (self.rank(), self.rank_len() as usize);
        if rank == self.ranks {
            return Err(BuildError::new(
                "",
                format!("a schedule of {} ranks has no rank {rank}", self.ranks),
            ));
        }
        let total = self.schedule.shape_of.len();
        let edges = self.schedule.edges.len() + self.declared.len();
        if len > Edge::MOST as usize || total >= u32::MAX as usize || edges >= u32::MAX as usize {
            let reason = format!(
                "rank {rank}: {len} operations ({total} in all, {edges} dependencies); at most 2^31 per rank and 2^32 in all can be held"
            );
            return Err(BuildError::new("", reason));
        }
        let outside = self
            .declared
            .iter()
            .find(|(before, edge)| *before as usize >= len || edge.after() as usize >= len);
        if let Some((before, edge)) = outside {
            let reason = format!(
                "rank {rank} has {len} operations, but its operation {} waits for its operation {before} (counted from 0)",
                edge.after()
            );
            return Err(BuildError::new("", reason));
        }
        // a counting sort by what is waited for: ends first, then starts, each in the order declared
        let base = self.schedule.edges.len() as u32;
        self.next.clear();
        self.next.resize(2 * len + 1, 0);
        for (before, edge) in &self.declared {
            self.next[2 * *before as usize + usize::from(edge.on_start()) + 1] += 1;
        }
        self.next[0] = base;
        for at in 0..2 * len {
            self.next[at + 1] += self.next[at];
        }
        self.schedule.first_edge.extend((1..=len).map(|at| self.next[2 * at]));
        self.schedule.edges.resize(edges, Edge(0));
        for (before, edge) in self.declared.drain(..) {
            let place = &mut self.next[2 * before as usize + usize::from(edge.on_start())];
            self.schedule.edges[*place as usize] = edge;
            *place += 1;
        }
        self.schedule.first.push(total as u32);
        Ok(())
    }

    /// Lets the next `times` ranks do what the last one did, peers counted from each rank itself.
    ///
    /// # Errors
    /// As [`Self::close_rank`]; no rank was written, or one is in hand.
    pub fn repeat_rank(&mut self, times: u32) -> Result<(), BuildError> {
        let Some(last) =
            self.rank().checked_sub(1).filter(|_| self.rank_len() == 0 && self.declared.is_empty())
        else {
            return Err(BuildError::new("", "only a rank that is written and closed can be repeated"));
        };
        let schedule = &mut self.schedule;
        let operations = schedule.first[last as usize] as usize..schedule.shape_of.len();
        let edges = schedule.first_edge[operations.start] as usize..schedule.edges.len();
        let total = |own: usize, all: usize| own as u64 * u64::from(times) + all as u64;
        let most = total(operations.len(), operations.end).max(total(edges.len(), edges.end));
        if u64::from(last) + u64::from(times) >= u64::from(self.ranks) || most >= u64::from(u32::MAX) {
            let reason = format!(
                "rank {last} of {} ranks {times} times more is {most} operations or dependencies in all; a schedule holds 2^32 - 2",
                self.ranks
            );
            return Err(BuildError::new("", reason));
        }
        self.reserve(operations.len() * times as usize, edges.len() * times as usize);
        self.schedule.repeat_ranks(1, times as usize);
        Ok(())
    }

    /// Freezes the schedule; ranks that were not written do nothing.
    ///
    /// # Errors
    /// As [`Self::close_rank`].
    pub fn build(mut self) -> Result<Schedule, BuildError> {
        if self.rank_len() > 0 || !self.declared.is_empty() {
            self.close_rank()?;
        }
        let total = self.schedule.len();
        self.schedule.first.resize(self.ranks as usize + 1, total);
        self.schedule.shape_of.shrink_to_fit();
        self.schedule.edges.shrink_to_fit();
        self.schedule.first_edge.shrink_to_fit();
        Ok(self.schedule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_the_same_from_every_rank() {
        for ranks in [1, 2, 7, u32::MAX - 1] {
            for rank in [0, 1, ranks / 2, ranks - 1] {
                for peer in [0, 1, ranks / 2, ranks - 1, ranks, ANY] {
                    let rank = rank.min(ranks - 1);
                    let shape = Shape::of(Operation::receive(1, peer, 0), rank, ranks);
                    assert_eq!(shape.on(rank, ranks).peer, peer, "{rank} of {ranks}");
                }
            }
        }
    }

    #[test]
    fn the_ranks_of_a_ring_share_their_shapes() {
        let mut builder = ScheduleBuilder::new(100);
        for rank in 0..100 {
            builder.push(Operation::send(8, (rank + 1) % 100, 0));
            builder.push(Operation::receive(8, (rank + 99) % 100, 0));
            builder.close_rank().unwrap();
        }
        let schedule = builder.build().unwrap();
        assert_eq!(schedule.shapes().len(), 2);
        assert_eq!(schedule.operation(99, 198).peer, 0);
        assert_eq!(schedule.rank_of(198), 99);
    }

    #[test]
    fn edges_keep_the_order_in_which_they_were_declared() {
        let mut builder = ScheduleBuilder::new(1);
        for _ in 0..4 {
            builder.push(Operation::calc(1));
        }
        builder.requires_start(1, 0);
        builder.requires(3, 0);
        builder.requires(2, 0);
        builder.requires(3, 0);
        builder.requires(3, 1);
        let schedule = builder.build().unwrap();
        let edges: Vec<_> = schedule.edges(0).iter().map(|edge| (edge.after(), edge.on_start())).collect();
        assert_eq!(edges, [(3, false), (2, false), (3, false), (1, true)]);
        let mut counts = Vec::new();
        schedule.count_dependencies(0, &mut counts);
        assert_eq!(counts, [0, 1, 1, 3]);
    }

    #[test]
    fn labels_that_are_not_the_usual_ones_are_kept() {
        let mut builder = ScheduleBuilder::new(2);
        for (rank, labels) in [["l1", "x"], ["l2", "l02"]].into_iter().enumerate() {
            for label in labels {
                let place = builder.push(Operation::calc(rank as u64));
                builder.label(place, label);
            }
            builder.close_rank().unwrap();
        }
        let schedule = builder.build().unwrap();
        let labels: Vec<_> = (0..4).map(|n| schedule.label(n / 2, n)).collect();
        assert_eq!(labels, ["l1", "x", "l2", "l02"]);
        assert_eq!(schedule.own_label(0), None);
    }

    #[test]
    fn a_dependency_on_nothing_is_refused() {
        let mut builder = ScheduleBuilder::new(1);
        builder.push(Operation::calc(1));
        builder.requires(0, 1);
        let error = builder.build().unwrap_err();
        assert!(error.reason.contains("operation 0 waits for its operation 1"), "{}", error.reason);
    }
}
