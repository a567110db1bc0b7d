//! Which receives the messages to a rank can match.

use std::collections::BTreeMap;

use super::{FindingKind, Findings};
use crate::goal::{ANY, OperationKind, Schedule};

/// A send or a receive, from the receiver's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    /// The sender; [`ANY`] for a receive from anybody.
    source: u32,
    tag: u32,
    /// The operation, over all ranks.
    number: u32,
}

/// Sends by their receiver, and classes of messages that can match one another.
pub(super) struct Matches {
    /// Sender and number of the sends to each rank, rank after rank.
    sends: Vec<(u32, u32)>,
    /// Where those of each rank begin, then the total.
    first: Vec<u32>,
    /// The class of each operation; [`NONE`] where nothing has to be waited for.
    pub(super) class_of: Vec<u32>,
    /// The receiver of each class.
    pub(super) receiver: Vec<u32>,
}

/// No class: a computation, or a message without its other side, which is a finding of its own.
pub(super) const NONE: u32 = u32::MAX;

impl Matches {
    /// Sender and number of the sends to `rank`, in order.
    pub(super) fn sends_to(&self, rank: u32) -> &[(u32, u32)] {
        &self.sends[self.first[rank as usize] as usize..self.first[rank as usize + 1] as usize]
    }

    fn class(&mut self, receiver: u32, members: impl Iterator<Item = u32>) {
        let class = self.receiver.len() as u32;
        self.receiver.push(receiver);
        for member in members {
            self.class_of[member as usize] = class;
        }
    }
}

/// Compares sends and receives of every pair of ranks and tag.
pub(super) fn matches(schedule: &Schedule, findings: &mut Findings) -> Matches {
    let mut matches = Matches {
        sends: Vec::new(),
        first: Vec::new(),
        class_of: vec![NONE; schedule.len() as usize],
        receiver: Vec::new(),
    };
    sort_by_receiver(schedule, &mut matches);
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for rank in 0..schedule.ranks() {
        sends.clear();
        sends.extend(matches.sends_to(rank).iter().map(|&(source, number)| Message {
            source,
            tag: schedule.shape(number).operation.tag,
            number,
        }));
        receives.clear();
        receives.extend(schedule.of_rank(rank).filter_map(|number| {
            let operation = schedule.operation(rank, number);
            let receive = operation.kind == OperationKind::Receive;
            let there = operation.peer < schedule.ranks() || operation.peer == ANY;
            (receive && there).then_some(Message { source: operation.peer, tag: operation.tag, number })
        }));
        let wild = |message: &Message| message.source == ANY || message.tag == ANY;
        if sends.iter().chain(&receives).any(wild) {
            compare_wild(schedule, rank, &sends, &receives, findings);
            if !sends.is_empty() {
                matches.class(rank, sends.iter().chain(&receives).map(|message| message.number));
            }
        } else {
            // stable, because both mostly consist of few runs
            sends.sort();
            receives.sort();
            compare(schedule, rank, &sends, &receives, &mut matches, findings);
        }
    }
    matches
}

/// Counts the sends to each rank and puts them in order.
fn sort_by_receiver(schedule: &Schedule, matches: &mut Matches) {
    let ranks = schedule.ranks();
    let sends = |rank: u32| {
        schedule.of_rank(rank).filter_map(move |number| {
            let shape = schedule.shape(number);
            let to = shape.peer(rank, ranks);
            (shape.operation.kind == OperationKind::Send && to < ranks).then_some((to, number))
        })
    };
    let first = &mut matches.first;
    first.resize(ranks as usize + 1, 0);
    for (to, _) in (0..ranks).flat_map(sends) {
        first[to as usize + 1] += 1;
    }
    for at in 0..ranks as usize {
        first[at + 1] += first[at];
    }
    let mut next = first.clone();
    matches.sends.resize(first[ranks as usize] as usize, (0, 0));
    for rank in 0..ranks {
        for (to, number) in sends(rank) {
            let place = &mut next[to as usize];
            matches.sends[*place as usize] = (rank, number);
            *place += 1;
        }
    }
}

/// Splits the messages from the front of `list` that have its source and tag.
fn take<'a>(list: &mut &'a [Message], source: u32, tag: u32) -> &'a [Message] {
    let count = list.iter().take_while(|message| (message.source, message.tag) == (source, tag)).count();
    let (taken, rest) = list.split_at(count);
    *list = rest;
    taken
}

/// Compares source by source and tag by tag.
fn compare(
    schedule: &Schedule,
    rank: u32,
    mut sends: &[Message],
    mut receives: &[Message],
    matches: &mut Matches,
    findings: &mut Findings,
) {
    loop {
        let next = sends.first().into_iter().chain(receives.first());
        let Some((source, tag)) = next.map(|message| (message.source, message.tag)).min() else { return };
        let (sent, received) = (take(&mut sends, source, tag), take(&mut receives, source, tag));
        if !sent.is_empty() && !received.is_empty() {
            matches.class(rank, sent.iter().chain(received).map(|message| message.number));
        }
        if sent.len() == received.len() {
            sizes(schedule, rank, sent, received, findings);
        } else {
            unequal(schedule, rank, sent, received, received.len(), findings);
        }
    }
}

/// `count` and a word that is there once or several times.
fn several(count: usize, one: &str, more: &str) -> String {
    if count == 1 { one.to_owned() } else { format!("{count} {more}") }
}

/// `sent` and `received` are not the same number; `room` receives could take the messages.
fn unequal(
    schedule: &Schedule,
    rank: u32,
    sent: &[Message],
    received: &[Message],
    room: usize,
    findings: &mut Findings,
) {
    if let Some(first) = sent.get(room) {
        findings.add(schedule, FindingKind::Unmatched, first.source, Some(first.number), || {
            let messages = several(sent.len(), "a message", "messages");
            let taken = if room == 0 { "none".to_owned() } else { format!("only {room}") };
            format!("sends {messages} with tag {} to rank {rank}, which receives {taken}", first.tag)
        });
    } else if let Some(first) = received.get(sent.len()) {
        findings.add(schedule, FindingKind::Unmatched, rank, Some(first.number), || {
            let messages = several(received.len(), "a message", "messages");
            let sent = if sent.is_empty() { "none".to_owned() } else { format!("only {}", sent.len()) };
            format!(
                "receives {messages} with tag {} from rank {}, which sends {sent}",
                first.tag, first.source
            )
        });
    }
}

/// Compares the sizes of as many sends as receives, the first with the first. Where only the order differs
/// nothing is said: a run may have another one.
fn sizes(schedule: &Schedule, rank: u32, sent: &[Message], received: &[Message], findings: &mut Findings) {
    let size = |message: &Message| schedule.shape(message.number).operation.size;
    let mut pairs = sent.iter().zip(received);
    let Some((send, receive)) = pairs.find(|(send, receive)| size(send) != size(receive)) else { return };
    let sorted = |messages: &[Message]| {
        let mut sizes: Vec<u64> = messages.iter().map(size).collect();
        sizes.sort_unstable();
        sizes
    };
    let (from, to) = (sorted(sent), sorted(received));
    if from == to {
        return;
    }
    let fits = from.iter().zip(&to).all(|(sent, room)| sent <= room);
    let kind = if fits { FindingKind::OtherSize } else { FindingKind::CutOff };
    findings.add(schedule, kind, rank, Some(receive.number), || {
        let others = match sent.iter().zip(received).filter(|(a, b)| size(a) != size(b)).count() {
            1 => String::new(),
            count => format!(" ({count} such pairs with tag {})", receive.tag),
        };
        format!(
            "receives {} bytes, but {} of rank {} sends {}{others}",
            size(receive),
            schedule.label(send.source, send.number),
            send.source,
            size(send)
        )
    });
}

/// Receives that could take a message.
#[derive(Debug, Default)]
struct Wild {
    any_source: BTreeMap<u32, usize>,
    any_tag: BTreeMap<u32, usize>,
    any: usize,
}

/// Compares where wildcards leave a choice: says only what is wrong whatever matches.
fn compare_wild(
    schedule: &Schedule,
    rank: u32,
    sends: &[Message],
    receives: &[Message],
    findings: &mut Findings,
) {
    let mut exact: BTreeMap<(u32, u32), (Vec<Message>, Vec<Message>)> = BTreeMap::new();
    let mut wild = Wild::default();
    // sends with any tag, by source
    let mut loose: BTreeMap<u32, usize> = BTreeMap::new();
    for send in sends {
        if send.tag == ANY {
            *loose.entry(send.source).or_default() += 1;
        } else {
            exact.entry((send.source, send.tag)).or_default().0.push(*send);
        }
    }
    for receive in receives {
        match (receive.source, receive.tag) {
            (ANY, ANY) => wild.any += 1,
            (ANY, tag) => *wild.any_source.entry(tag).or_default() += 1,
            (source, ANY) => *wild.any_tag.entry(source).or_default() += 1,
            key => exact.entry(key).or_default().1.push(*receive),
        }
    }
    let before = findings.count(FindingKind::Unmatched);
    for (&(source, tag), (sent, received)) in &exact {
        let count = |map: &BTreeMap<u32, usize>, key: u32| map.get(&key).copied().unwrap_or(0);
        let room = received.len() + count(&wild.any_source, tag) + count(&wild.any_tag, source) + wild.any;
        if sent.len() > room || sent.len() + count(&loose, source) < received.len() {
            unequal(schedule, rank, sent, received, room, findings);
        }
    }
    if findings.count(FindingKind::Unmatched) == before && sends.len() != receives.len() {
        findings.add(schedule, FindingKind::Unmatched, rank, None, || {
            format!(
                "{} sent to it, but it receives {} (some from any rank or with any tag)",
                several(sends.len(), "a message is", "messages are"),
                receives.len()
            )
        });
    }
}
