//! What can never run in a schedule, or is hardly meant, found without simulating time.
//!
//! Nothing is reported that a run could still do: with wildcards, only what no choice of matches avoids.
//! Sends are taken to end without their receiver, as messages below the eager limit do, so that a
//! schedule that passes can still stall when its messages are large.

mod circle;
mod messages;

use std::fmt;

use super::{ANY, Operation, OperationKind, Schedule};

/// Findings of a kind that are listed one by one.
pub const LISTED: u64 = 100;

/// What is wrong with an operation, or with some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// A message to or from a rank that does not exist.
    MissingPeer,
    /// Operations of a rank that wait for one another in a circle.
    Cycle,
    /// Operations of several ranks that wait for one another's messages in a circle.
    Circle,
    /// Messages that nobody receives, or receives that no message comes for.
    Unmatched,
    /// A message that is larger than its receive.
    CutOff,
    /// A message of another size than its receive, which has room for it.
    OtherSize,
}

impl FindingKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::MissingPeer, Self::Cycle, Self::Circle, Self::Unmatched, Self::CutOff, Self::OtherSize];

    /// Whether it keeps the schedule from running as it is meant; what is left is worth a look.
    pub const fn is_fault(self) -> bool {
        !matches!(self, Self::OtherSize)
    }

    /// What there are several of.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::MissingPeer => "operations with a rank that does not exist",
            Self::Cycle => "ranks with operations that wait for themselves",
            Self::Circle => "circles over several ranks",
            Self::Unmatched => "kinds of messages without as many receives as sends",
            Self::CutOff => "kinds of messages that are larger than their receives",
            Self::OtherSize => "kinds of messages that are not as large as their receives",
        }
    }
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// The rank.
    pub rank: u32,
    /// The operation, counted over all ranks, and its label; none where it is about a rank.
    pub operation: Option<(u32, String)>,
    /// What was found, and what was expected.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.operation {
            Some((_, label)) => write!(f, "rank {}, {label}: {}", self.rank, self.text),
            None => write!(f, "rank {}: {}", self.rank, self.text),
        }
    }
}

/// All that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// The first [`LISTED`] of each kind, by rank.
    pub list: Vec<Finding>,
    counts: [u64; FindingKind::ALL.len()],
}

impl Findings {
    /// How many of a kind there are, listed or not.
    pub const fn count(&self, kind: FindingKind) -> u64 {
        self.counts[kind as usize]
    }

    /// Whether something cannot run as it is meant.
    pub fn has_faults(&self) -> bool {
        FindingKind::ALL.into_iter().any(|kind| kind.is_fault() && self.count(kind) > 0)
    }

    /// Adds a finding; the text is only made where it is listed.
    fn add(
        &mut self,
        schedule: &Schedule,
        kind: FindingKind,
        rank: u32,
        operation: Option<u32>,
        text: impl FnOnce() -> String,
    ) {
        let count = &mut self.counts[kind as usize];
        *count += 1;
        if *count <= LISTED {
            let operation = operation.map(|number| (number, schedule.label(rank, number)));
            self.list.push(Finding { kind, rank, operation, text: text() });
        }
    }
}

/// Looks at everything in a schedule. Takes about 20 bytes of memory per operation.
///
/// ```
/// use stratasim_workload::goal::{check, text};
///
/// let schedule = text::read(&b"num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 5\n}\n"[..]).unwrap();
/// let findings = check::check(&schedule);
/// assert!(findings.has_faults());
/// let said = findings.list[0].to_string();
/// assert_eq!(said, "rank 0, l1: sends a message with tag 5 to rank 1, which receives none");
/// ```
pub fn check(schedule: &Schedule) -> Findings {
    let mut findings = Findings::default();
    peers(schedule, &mut findings);
    let mut cyclic = vec![false; schedule.ranks() as usize];
    for rank in 0..schedule.ranks() {
        cyclic[rank as usize] = circle::within_rank(schedule, rank, &mut findings);
    }
    let matches = messages::matches(schedule, &mut findings);
    if schedule.edge_count() > 0 {
        circle::over_ranks(schedule, &matches, &cyclic, &mut findings);
    }
    findings.list.sort_by_key(|finding| {
        (finding.rank, finding.operation.as_ref().map(|(number, _)| *number), finding.kind)
    });
    findings
}

/// Whether the message's other rank is there, or anybody.
fn peer_exists(operation: &Operation, ranks: u32) -> bool {
    operation.peer < ranks || (operation.peer == ANY && operation.kind == OperationKind::Receive)
}

fn peers(schedule: &Schedule, findings: &mut Findings) {
    let ranks = schedule.ranks();
    let absent: Vec<bool> = schedule
        .shapes()
        .iter()
        .map(|shape| {
            let operation = &shape.operation;
            operation.kind != OperationKind::Calc && !shape.relative && !peer_exists(operation, ranks)
        })
        .collect();
    if !absent.contains(&true) {
        return;
    }
    for rank in 0..ranks {
        for number in schedule.of_rank(rank) {
            if absent[schedule.shape_of(number) as usize] {
                let operation = schedule.operation(rank, number);
                findings.add(schedule, FindingKind::MissingPeer, rank, Some(number), || {
                    let what =
                        if operation.kind == OperationKind::Send { "sends to" } else { "receives from" };
                    let there = if ranks == 1 {
                        "is rank 0".to_owned()
                    } else {
                        format!("are ranks 0 to {}", ranks - 1)
                    };
                    format!("{what} rank {}; there {there}", operation.peer)
                });
            }
        }
    }
}
