//! The ranks of a program on other node sizes: a process per GPU becomes a process per node.
//!
//! A program is merged with itself, as it were: several of its ranks become tenants of one node, each on
//! streams of its own. What they send to each other stays a message of the node to itself, or becomes the
//! time of a copy on both sides, as the generator of ATLAHS writes transfers between the GPUs of a node.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BinaryHeap;

use stratasim_core::BuildError;

use super::merge::{Job, MergeOptions, Merged, NicPolicy, merge};
use super::{ANY, Operation, OperationKind, Schedule, ScheduleBuilder};

/// What becomes of messages between ranks of one node.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum InNode {
    /// They stay messages, of the node to itself.
    #[default]
    Messages,
    /// Computations of bytes / rate on the streams of sender and receiver; that of the receiver waits for
    /// that of the sender.
    Copies {
        /// Rate in bytes per nanosecond.
        bytes_per_ns: f64,
    },
}

/// How a program is regrouped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regroup {
    /// Consecutive ranks that become one node; the last node may have fewer.
    pub ranks_per_node: u32,
    /// NICs of a node. The k-th rank of a node uses those from k times the program's NICs on, modulo this.
    pub nics: u16,
    /// Messages inside a node.
    pub in_node: InNode,
}

/// Puts the ranks of `schedule` on nodes.
///
/// # Errors
/// Zero ranks or NICs per node, a rate that is not positive; as [`merge`]. For copies also: receives with
/// wildcards on nodes where something is sent inside, messages inside of a node that do not pair up, pairs that
/// would wait for each other in a circle.
pub fn regroup(schedule: &Schedule, options: &Regroup) -> Result<Merged, BuildError> {
    if options.ranks_per_node == 0 {
        return Err(BuildError::new("ranks-per-node", "a node holds at least one rank, got 0"));
    }
    let nodes: Vec<u32> = (0..schedule.ranks()).map(|rank| rank / options.ranks_per_node).collect();
    let count = nodes.last().map_or(0, |last| last + 1);
    let machine = MergeOptions { nodes: count, nics: NicPolicy::Modulo(options.nics) };
    let mut merged = merge(&[Job::new("regrouped", schedule, nodes)], &machine)?;
    if let InNode::Copies { bytes_per_ns } = options.in_node {
        if bytes_per_ns.is_nan() || bytes_per_ns <= 0.0 {
            let reason = format!("a rate is more than 0 bytes per nanosecond, got {bytes_per_ns}");
            return Err(BuildError::new("bytes-per-ns", reason));
        }
        let remarks = std::mem::take(&mut merged.schedule.remarks);
        merged.schedule = Schedule { remarks, ..copied(&merged.schedule, bytes_per_ns)? };
    }
    Ok(merged)
}

/// Replaces the messages of each rank to itself.
fn copied(schedule: &Schedule, bytes_per_ns: f64) -> Result<Schedule, BuildError> {
    let ranks = schedule.ranks();
    let mut builder = ScheduleBuilder::new(ranks);
    builder.reserve(schedule.len() as usize, schedule.edge_count() as usize);
    for rank in 0..ranks {
        let range = schedule.of_rank(rank);
        let inside = |operation: &Operation| operation.kind != OperationKind::Calc && operation.peer == rank;
        let mut any_inside = false;
        for number in range.clone() {
            let operation = schedule.operation(rank, number);
            if inside(&operation) {
                any_inside = true;
                let ns = (operation.size as f64 / bytes_per_ns).ceil() as u64;
                builder.push(Operation::calc(ns).on_cpu(operation.cpu));
            } else {
                builder.push(operation);
            }
        }
        for number in range.clone() {
            for edge in schedule.edges(number) {
                let before = number - range.start;
                if edge.on_start() {
                    builder.requires_start(edge.after(), before);
                } else {
                    builder.requires(edge.after(), before);
                }
            }
        }
        if any_inside {
            let order = topological(schedule, rank, &[])?;
            let pairs = pairs(schedule, rank, &order)?;
            topological(schedule, rank, &pairs)?;
            pairs.iter().for_each(|&(send, receive)| builder.requires(receive, send));
        }
        builder.close_rank()?;
    }
    builder.build()
}

/// Sends and receives of a rank to itself that belong together: those of a tag in the order in which they
/// can run.
fn pairs(schedule: &Schedule, rank: u32, order: &[u32]) -> Result<Vec<(u32, u32)>, BuildError> {
    let first = schedule.of_rank(rank).start;
    // tag -> (sends, receives)
    let mut of_tag: BTreeMap<u32, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
    for &place in order {
        let operation = schedule.operation(rank, first + place);
        let message = operation.kind != OperationKind::Calc;
        if message && (operation.peer == ANY || operation.peer == rank && operation.tag == ANY) {
            let reason = format!(
                "node {rank}: operation {} has a wildcard, so that nobody knows before the run which copy it is",
                schedule.label(rank, first + place)
            );
            return Err(BuildError::new("schedule", reason));
        }
        if message && operation.peer == rank {
            let (sends, receives) = of_tag.entry(operation.tag).or_default();
            if operation.kind == OperationKind::Send { sends } else { receives }.push(place);
        }
    }
    let mut pairs = Vec::new();
    for (sends, receives) in of_tag.values() {
        if sends.len() != receives.len() {
            let one = sends.first().or(receives.first()).expect("a tag is there with its first message");
            let reason = format!(
                "node {rank}: {} sends and {} receives inside of the node from operation {} on",
                sends.len(),
                receives.len(),
                schedule.label(rank, first + one)
            );
            return Err(BuildError::new("schedule", reason));
        }
        pairs.extend(sends.iter().copied().zip(receives.iter().copied()));
    }
    pairs.sort_unstable();
    Ok(pairs)
}

/// The operations of a rank in an order in which they can run, early ones first; `more` are dependencies
/// beside its own, what is waited for first.
fn topological(schedule: &Schedule, rank: u32, more: &[(u32, u32)]) -> Result<Vec<u32>, BuildError> {
    let range = schedule.of_rank(rank);
    let mut waits = Vec::new();
    schedule.count_dependencies(rank, &mut waits);
    more.iter().for_each(|(_, after)| waits[*after as usize] += 1);
    let mut ready: BinaryHeap<Reverse<u32>> =
        (0..).zip(&waits).filter(|(_, count)| **count == 0).map(|(at, _)| Reverse(at)).collect();
    let mut order = Vec::with_capacity(range.len());
    while let Some(Reverse(place)) = ready.pop() {
        order.push(place);
        let own = schedule.edges(range.start + place).iter().map(|edge| edge.after());
        let start = more.partition_point(|(before, _)| *before < place);
        let added = more[start..].iter().take_while(|(before, _)| *before == place).map(|(_, after)| *after);
        for after in own.chain(added) {
            waits[after as usize] -= 1;
            if waits[after as usize] == 0 {
                ready.push(Reverse(after));
            }
        }
    }
    match waits.iter().position(|&count| count > 0) {
        None => Ok(order),
        Some(stuck) => {
            let reason = format!(
                "node {rank}: operation {} waits for itself{}",
                schedule.label(rank, range.start + stuck as u32),
                if more.is_empty() { "" } else { " when messages inside of the node are copies" }
            );
            Err(BuildError::new("schedule", reason))
        }
    }
}
