//! What is left of a schedule that cannot go on, in words.
//!
//! Causes come first: receives for which no message is left, messages for which no receive is left,
//! and operations that wait for each other in a circle. The rest waits for these and is counted.

mod graph;

use stratasim_workload::goal::{ANY, Operation, OperationKind, Schedule};

use graph::{Graph, Next};

/// Why an operation has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waits {
    /// A receive that no message matched.
    Message,
    /// A send that waits for its receive.
    Receive,
    /// A message that no receive matched, though its send has ended.
    Nothing,
    /// Something else has to start or end first.
    Others,
}

/// An operation that did not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    waits: Waits,
    operation: u32,
    rank: u32,
}

/// Operations that did not end.
#[derive(Debug)]
pub(crate) struct Left<'a> {
    schedule: &'a Schedule,
    items: Vec<Item>,
    /// Whether a receive may leave source or tag open.
    wildcards: bool,
}

/// Causes of each kind that are described; the others are counted.
const DESCRIBED: usize = 6;
/// Operations of a circle that are named.
const CIRCLE: usize = 8;
/// Operations that wait for a cause and are named.
const NAMED: usize = 4;

impl<'a> Left<'a> {
    pub(crate) fn new(schedule: &'a Schedule) -> Self {
        Self { schedule, items: Vec::new(), wildcards: true }
    }

    /// The same where a wildcard is equal to itself only.
    #[must_use]
    pub(crate) fn without_wildcards(mut self) -> Self {
        self.wildcards = false;
        self
    }

    /// `operation` of `rank` did not end.
    pub(crate) fn add(&mut self, rank: u32, operation: u32, waits: Waits) {
        self.items.push(Item { waits, operation, rank });
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.items.len() as u64
    }

    /// Causes, a line each, and how much waits for them.
    pub(crate) fn describe(mut self) -> Vec<String> {
        if self.items.is_empty() {
            return Vec::new();
        }
        self.items.sort_unstable();
        let graph = Graph::new(self.schedule, &self.items, self.wildcards);
        let mut lines = Vec::new();
        let mut explained = vec![false; self.items.len()];
        for kinds in [&[Waits::Message][..], &[Waits::Receive, Waits::Nothing], &[Waits::Others]] {
            let ends = |at: &usize| kinds.contains(&self.items[*at].waits) && graph.is_end(*at);
            let causes: Vec<usize> = (0..self.items.len()).filter(ends).collect();
            for &at in &causes {
                explained[at] = true;
            }
            lines.extend(
                causes.iter().take(DESCRIBED).map(|&at| format!("  {}", self.cause(self.items[at], &graph))),
            );
            if causes.len() > DESCRIBED {
                let what = match kinds[0] {
                    Waits::Message => "receives without a message",
                    Waits::Others => "operations that wait for what never ends",
                    _ => "messages without a receive",
                };
                lines.push(format!("  ... {} {what} in all", causes.len()));
            }
        }
        let circles = graph.circles();
        for circle in circles.iter().take(DESCRIBED) {
            self.describe_circle(circle, &graph, &mut lines);
        }
        if circles.len() > DESCRIBED {
            lines.push(format!("  ... {} circles in all", circles.len()));
        }
        for &at in circles.iter().flatten() {
            explained[at] = true;
        }
        let rest = || (0..self.items.len()).filter(|at| !explained[*at]);
        let count = rest().count();
        if count > 0 {
            let names: Vec<String> = rest()
                .take(NAMED)
                .map(|at| {
                    let Item { operation, rank, .. } = self.items[at];
                    format!("rank {rank} `{}`", self.schedule.label(rank, operation))
                })
                .collect();
            let cut = if count > NAMED { ", ..." } else { "" };
            let what = if count == 1 { "1 more that waits" } else { &format!("{count} more that wait") };
            lines.push(format!("  {what} for these: {}{cut}", names.join(", ")));
        }
        // what was not meant in the text may be the cause of all
        lines.extend(self.schedule.remarks().iter().map(|remark| format!("  {remark}")));
        lines
    }

    /// What waits for nothing that is left, and why it does not go on.
    fn cause(&self, item @ Item { waits, operation, rank }: Item, graph: &Graph<'_>) -> String {
        let name = self.name(rank, operation);
        match waits {
            Waits::Message => {
                format!("{name} waits for a message that never comes{}", self.why_no_message(item, graph))
            }
            Waits::Receive | Waits::Nothing => {
                format!("{name} is never received{}", self.why_no_receive(item))
            }
            Waits::Others => {
                let before = self.schedule.of_rank(rank).find(|&before| {
                    self.schedule.shape(before).operation.kind == OperationKind::Send
                        && graph::waits_for(self.schedule, rank, operation, before).is_some()
                });
                let send = before.map_or_else(String::new, |before| {
                    format!(
                        " `{}`, which was received but never told so: its size and that of its receive lie on different sides of S",
                        self.schedule.label(rank, before)
                    )
                });
                format!("{name} waits for{}", if send.is_empty() { " what never ends" } else { &send })
            }
        }
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

    /// Messages that wait at `rank`: (sender, send).
    fn waiting_at(&self, rank: u32) -> impl Iterator<Item = (u32, u32, Operation)> {
        let waiting = |item: &&Item| matches!(item.waits, Waits::Receive | Waits::Nothing);
        self.items.iter().filter(waiting).filter_map(move |item| {
            let sent = self.schedule.operation(item.rank, item.operation);
            (sent.peer == rank).then_some((item.rank, item.operation, sent))
        })
    }

    fn why_no_message(&self, Item { operation, rank, .. }: Item, graph: &Graph<'_>) -> String {
        let wanted = self.schedule.operation(rank, operation);
        if !self.wildcards && (wanted.peer == ANY || wanted.tag == ANY) {
            return "; ATLAHS knows no wildcards".to_owned();
        }
        let mut reasons = Vec::new();
        let from = wanted.peer;
        if from != ANY && from >= self.schedule.ranks() {
            return format!("; there is no rank {from}");
        }
        let fits = |wanted: u32, found: u32| wanted == found || wanted == ANY || found == ANY;
        let label = |rank: u32, operation: u32| self.schedule.label(rank, operation);
        let mut other_tags = false;
        if from != ANY {
            let sends = self.schedule.of_rank(from).map(|at| self.schedule.operation(from, at));
            let sends = sends.filter(|own| own.kind == OperationKind::Send && own.peer == rank);
            let (mut all, mut fitting) = (0_u64, 0_u64);
            for send in sends {
                all += 1;
                fitting += u64::from(fits(wanted.tag, send.tag));
            }
            other_tags = all > 0 && fitting == 0;
            match (all, fitting) {
                (0, _) => reasons.push(format!("rank {from} sends nothing to rank {rank}")),
                (_, 0) => {}
                (_, 1) => {
                    let taker = self.taker(rank, operation, graph);
                    reasons.push(format!("the message of rank {from} that fits went to {taker}"));
                }
                _ => reasons
                    .push(format!("the {fitting} messages of rank {from} that fit went to other receives")),
            }
        }
        let near = |same_source: bool| {
            self.waiting_at(rank).find(|(source, _, sent)| {
                if same_source { fits(from, *source) } else { fits(wanted.tag, sent.tag) }
            })
        };
        if let Some((source, send, sent)) = near(true) {
            reasons.push(format!("`{}` of rank {source} waits with tag {}", label(source, send), sent.tag));
        } else if let Some((source, send, _)) = near(false) {
            reasons.push(format!("`{}` of rank {source} waits with this tag", label(source, send)));
        } else if other_tags {
            reasons.push(format!("rank {from} sends nothing to rank {rank} with this tag"));
        }
        if reasons.is_empty() { String::new() } else { format!("; {}", reasons.join("; ")) }
    }

    /// Another receive of the rank that may have taken what fits a receive.
    fn taker(&self, rank: u32, receive: u32, graph: &Graph<'_>) -> String {
        let wanted = self.schedule.operation(rank, receive);
        let takes = |&at: &u32| {
            let Operation { kind, peer, tag, .. } = self.schedule.operation(rank, at);
            kind == OperationKind::Receive
                && at != receive
                && (peer == ANY || peer == wanted.peer)
                && (tag == ANY || wanted.tag == ANY || tag == wanted.tag)
        };
        let mut takers = self.schedule.of_rank(rank).filter(takes).filter(|&at| !graph.is_left(at));
        match (takers.next(), takers.next()) {
            (Some(only), None) => self.name(rank, only),
            _ => "another receive".to_owned(),
        }
    }

    fn why_no_receive(&self, Item { operation, rank, .. }: Item) -> String {
        let sent = self.schedule.operation(rank, operation);
        let to = sent.peer;
        let receives = self.schedule.of_rank(to).map(|at| self.schedule.operation(to, at));
        let mut receives = receives.filter(|own| {
            own.kind == OperationKind::Receive && (own.peer == rank || (own.peer == ANY && self.wildcards))
        });
        if receives.next().is_none() {
            return format!("; rank {to} receives nothing from rank {rank}");
        }
        let near = self.items.iter().take_while(|item| item.waits == Waits::Message).find(|item| {
            let wanted = self.schedule.operation(item.rank, item.operation);
            item.rank == to && (wanted.peer == rank || wanted.peer == ANY)
        });
        near.map_or_else(String::new, |item| {
            let label = self.schedule.label(to, item.operation);
            match self.schedule.operation(to, item.operation).tag {
                ANY => format!("; `{label}` of rank {to} waits for any tag"),
                tag => format!("; `{label}` of rank {to} waits for tag {tag}"),
            }
        })
    }

    /// A circle, an operation per line.
    fn describe_circle(&self, circle: &[usize], graph: &Graph<'_>, lines: &mut Vec<String>) {
        let item = |at: usize| self.items[circle[at % circle.len()]];
        let name = |at: usize| self.name(item(at).rank, item(at).operation);
        let needs = |at: usize| match graph.next(circle[at], circle[(at + 1) % circle.len()]) {
            Next::End => "the end of",
            Next::Start => "the start of",
            Next::Message => "the message of",
            Next::Receive => "its receive,",
        };
        if circle.len() == 1 {
            let what = if graph.next(circle[0], circle[0]) == Next::Start { "start" } else { "end" };
            lines.push(format!("  {} waits for its own {what}", name(0)));
            return;
        }
        lines.push(format!("  {} operations wait for each other in a circle:", circle.len()));
        for at in 0..circle.len().min(CIRCLE) {
            let which = if at == 0 { "" } else { ", which" };
            lines.push(format!("    {}{which} waits for {}", name(at), needs(at)));
        }
        if circle.len() > CIRCLE {
            lines.push(format!(
                "    ... {} more, the last of which waits for {}",
                circle.len() - CIRCLE,
                needs(circle.len() - 1)
            ));
        }
        lines.push(format!(
            "    rank {} `{}`",
            item(0).rank,
            self.schedule.label(item(0).rank, item(0).operation)
        ));
    }
}
