//! What is left of a schedule that cannot go on, in words.

use stratasim_workload::goal::{ANY, Operation, OperationKind, Schedule};

/// Why an operation has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waits {
    /// A receive that no message matched.
    Message,
    /// A message that no receive matched.
    Receive,
    /// Something else has to start or end first.
    Others,
}

/// Operations that did not end.
#[derive(Debug)]
pub(crate) struct Left<'a> {
    schedule: &'a Schedule,
    /// (why, operation, rank)
    operations: Vec<(Waits, u32, u32)>,
}

/// Operations of each kind that are described; the others are counted.
const DESCRIBED: usize = 6;
/// Operations of a chain of dependencies that are named.
const CHAIN: usize = 8;

impl<'a> Left<'a> {
    pub(crate) fn new(schedule: &'a Schedule) -> Self {
        Self { schedule, operations: Vec::new() }
    }

    /// `operation` of `rank` did not end.
    pub(crate) fn add(&mut self, rank: u32, operation: u32, waits: Waits) {
        self.operations.push((waits, operation, rank));
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.operations.len() as u64
    }

    /// The first of each kind, a line each, roots of the trouble first.
    pub(crate) fn describe(mut self) -> Vec<String> {
        self.operations.sort_unstable();
        let mut lines = Vec::new();
        let by_kind: Vec<&[_]> = self.operations.chunk_by(|a, b| a.0 == b.0).collect();
        for group in by_kind {
            let mut cycles = Vec::new();
            for &(waits, operation, rank) in group.iter().take(DESCRIBED) {
                let name = self.name(rank, operation);
                match waits {
                    Waits::Message => {
                        let hint = self.near_miss(rank, operation);
                        lines.push(format!("  {name} waits for a message that is never sent{hint}"));
                    }
                    Waits::Receive => lines.push(format!("  {name} is never received")),
                    Waits::Others => {
                        let (chain, cyclic) = self.chain(rank, operation);
                        if cyclic {
                            let mut members: Vec<u32> = chain.clone();
                            members.sort_unstable();
                            members.dedup();
                            if cycles.contains(&members) {
                                continue;
                            }
                            cycles.push(members);
                        }
                        let labels: Vec<_> = chain
                            .iter()
                            .map(|&next| format!("`{}`", self.schedule.label(rank, next)))
                            .collect();
                        let cut = if chain.len() == CHAIN && !cyclic { ", ..." } else { "" };
                        let words = if labels.is_empty() {
                            " waits for itself or for more than it was told of".to_owned()
                        } else {
                            format!(" waits for {}{cut}", labels.join(", which waits for "))
                        };
                        lines.push(format!("  {name}{words}{}", if cyclic { ": a cycle" } else { "" }));
                    }
                }
            }
            if group.len() > DESCRIBED {
                let what = match group[0].0 {
                    Waits::Message => "receives without a message",
                    Waits::Receive => "messages without a receive",
                    Waits::Others => "operations that wait for others",
                };
                lines.push(format!("  ... {} {what} in all", group.len()));
            }
        }
        lines
    }

    /// The operation as a reader knows it: rank, label, what it does.
    fn name(&self, rank: u32, operation: u32) -> String {
        let Operation { kind, size, peer, tag, .. } = self.schedule.operation(rank, operation);
        let label = self.schedule.label(rank, operation);
        let tag = if tag == ANY { "any tag".to_owned() } else { format!("tag {tag}") };
        let does = match kind {
            OperationKind::Send => format!("send {size} bytes to rank {peer}, {tag}"),
            OperationKind::Receive if peer == ANY => format!("receive {size} bytes from any rank, {tag}"),
            OperationKind::Receive => format!("receive {size} bytes from rank {peer}, {tag}"),
            OperationKind::Calc => format!("calc {size} ns"),
        };
        format!("rank {rank} `{label}` ({does})")
    }

    /// A message that waits at the rank and almost fits a receive.
    fn near_miss(&self, rank: u32, receive: u32) -> String {
        let wanted = self.schedule.operation(rank, receive);
        let first = self.operations.partition_point(|(waits, ..)| *waits < Waits::Receive);
        let misses = self.operations[first..].iter().take_while(|(waits, ..)| *waits == Waits::Receive);
        let mut near = misses.filter_map(|&(_, send, from)| {
            let sent = self.schedule.operation(from, send);
            let fits = |wanted: u32, found: u32| wanted == ANY || wanted == found;
            (sent.peer == rank && (fits(wanted.peer, from) || fits(wanted.tag, sent.tag)))
                .then_some((from, send, sent))
        });
        near.next().map_or_else(String::new, |(from, send, sent)| {
            let label = self.schedule.label(from, send);
            format!("; `{label}` of rank {from} waits with tag {}", sent.tag)
        })
    }

    /// What an operation waits for, and that in turn, as far as it goes; whether it comes back to where it
    /// was.
    fn chain(&self, rank: u32, operation: u32) -> (Vec<u32>, bool) {
        let range = self.schedule.of_rank(rank);
        let mut of_rank: Vec<u32> = self
            .operations
            .iter()
            .filter(|(_, _, on)| *on == rank)
            .map(|(_, operation, _)| *operation)
            .collect();
        of_rank.sort_unstable();
        let mut chain = Vec::new();
        let mut at = operation;
        while chain.len() < CHAIN {
            let place = at - range.start;
            let before = of_rank
                .iter()
                .copied()
                .find(|&before| self.schedule.edges(before).iter().any(|edge| edge.after() == place));
            let Some(before) = before else { break };
            chain.push(before);
            if before == operation {
                return (chain, true);
            }
            if chain[..chain.len() - 1].contains(&before) {
                break;
            }
            at = before;
        }
        (chain, false)
    }
}
