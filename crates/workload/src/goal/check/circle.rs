//! Operations that wait for one another in a circle.

use std::collections::BTreeMap;

use super::messages::{Matches, NONE};
use super::{FindingKind, Findings};
use crate::goal::{OperationKind, Schedule};

/// Operations of a circle that are named.
const NAMED: usize = 8;

/// Nothing waits.
const NOBODY: u32 = u32::MAX;

/// Looks for a circle of dependencies within `rank`; whether there is one.
pub(super) fn within_rank(schedule: &Schedule, rank: u32, findings: &mut Findings) -> bool {
    let range = schedule.of_rank(rank);
    // dependencies that lead forward only, the usual case, make no circle
    let forward = range
        .clone()
        .all(|number| schedule.edges(number).iter().all(|edge| edge.after() > number - range.start));
    if forward {
        return false;
    }
    let waits = waiting(schedule, rank);
    let stuck = waits.iter().filter(|&&count| count > 0).count();
    let Some(start) = waits.iter().position(|&count| count > 0) else { return false };
    // what waits has something before it that waits; going back there ends in a circle
    let mut before = vec![NOBODY; waits.len()];
    for (place, number) in (0_u32..).zip(range.clone()).filter(|(place, _)| waits[*place as usize] > 0) {
        for edge in schedule.edges(number) {
            if waits[edge.after() as usize] > 0 {
                before[edge.after() as usize] = place;
            }
        }
    }
    let mut path = Path::default();
    let mut at = start as u32;
    while path.visit(at) {
        at = before[at as usize];
    }
    let circle = path.circle(at);
    findings.add(schedule, FindingKind::Cycle, rank, Some(range.start + circle[0]), || {
        let label = |place: &u32| schedule.label(rank, range.start + place);
        let text = chain(circle, label);
        let also = stuck - circle.len();
        let rest = match also {
            0 => String::new(),
            1 => "; another operation waits for it".to_owned(),
            _ => format!("; {also} more operations of the rank never start"),
        };
        format!("waits for {text}{rest}")
    });
    true
}

/// What is left of the dependencies of each operation of a rank when everything has run that can.
fn waiting(schedule: &Schedule, rank: u32) -> Vec<u32> {
    let range = schedule.of_rank(rank);
    let mut waits = Vec::new();
    schedule.count_dependencies(rank, &mut waits);
    let mut ready: Vec<u32> = (0..).zip(&waits).filter(|(_, count)| **count == 0).map(|(at, _)| at).collect();
    while let Some(place) = ready.pop() {
        for edge in schedule.edges(range.start + place) {
            let count = &mut waits[edge.after() as usize];
            *count -= 1;
            if *count == 0 {
                ready.push(edge.after());
            }
        }
    }
    waits
}

/// A way from operation to operation until one comes again.
#[derive(Default)]
struct Path {
    steps: Vec<u32>,
    at: BTreeMap<u32, usize>,
}

impl Path {
    /// Goes on to `operation`; false if it was there before.
    fn visit(&mut self, operation: u32) -> bool {
        let new = !self.at.contains_key(&operation);
        if new {
            self.at.insert(operation, self.steps.len());
            self.steps.push(operation);
        }
        new
    }

    /// The part from `operation` on.
    fn circle(&self, operation: u32) -> &[u32] {
        &self.steps[self.at[&operation]..]
    }
}

/// What the first operation of a circle waits for, and so on until itself.
fn chain(circle: &[u32], name: impl Fn(&u32) -> String) -> String {
    let mut names: Vec<String> = circle.iter().skip(1).take(NAMED).map(&name).collect();
    if circle.len() > NAMED + 1 {
        names.push(format!("{} others", circle.len() - 1 - NAMED));
    }
    if names.is_empty() {
        return "itself".to_owned();
    }
    names.push(name(&circle[0]));
    names.join(", which waits for ")
}

/// How far everything comes when messages take no time and sends need no receiver.
struct Progress<'a> {
    schedule: &'a Schedule,
    matches: &'a Matches,
    /// Ranks with a circle of their own. That is a finding by itself: here all their operations end.
    cyclic: &'a [bool],
    /// Dependencies that are left.
    waits: Vec<u32>,
    /// Whether a message of the class was sent.
    sent: Vec<bool>,
    /// The last receive of each class that has started and not ended, and the one before it for each.
    posted: Vec<u32>,
    before: Vec<u32>,
    /// Operations that start or end: rank, number, whether it ends.
    events: Vec<(u32, u32, bool)>,
    /// Operations that have not ended.
    left: u64,
}

impl<'a> Progress<'a> {
    fn new(schedule: &'a Schedule, matches: &'a Matches, cyclic: &'a [bool]) -> Self {
        let mut waits = Vec::with_capacity(schedule.len() as usize);
        let mut counts = Vec::new();
        for rank in 0..schedule.ranks() {
            schedule.count_dependencies(rank, &mut counts);
            waits.extend(&counts);
        }
        Self {
            schedule,
            matches,
            cyclic,
            waits,
            sent: vec![false; matches.receiver.len()],
            posted: vec![NOBODY; matches.receiver.len()],
            before: vec![NOBODY; schedule.len() as usize],
            events: Vec::new(),
            left: schedule.len().into(),
        }
    }

    fn run(&mut self) {
        for rank in 0..self.schedule.ranks() {
            let cyclic = self.cyclic[rank as usize];
            for number in self.schedule.of_rank(rank).rev() {
                if cyclic || self.waits[number as usize] == 0 {
                    self.events.push((rank, number, cyclic));
                }
            }
            while let Some((rank, number, ends)) = self.events.pop() {
                if ends { self.end(rank, number) } else { self.start(rank, number) }
            }
        }
    }

    fn start(&mut self, rank: u32, number: u32) {
        let class = self.matches.class_of[number as usize];
        let receive = self.schedule.shape(number).operation.kind == OperationKind::Receive;
        if receive && class != NONE && !self.sent[class as usize] {
            let last = &mut self.posted[class as usize];
            self.before[number as usize] = std::mem::replace(last, number);
        } else {
            self.events.push((rank, number, true));
        }
        self.release(rank, number, true);
    }

    fn end(&mut self, rank: u32, number: u32) {
        self.left -= 1;
        let class = self.matches.class_of[number as usize];
        let send = self.schedule.shape(number).operation.kind == OperationKind::Send;
        if send && class != NONE && !std::mem::replace(&mut self.sent[class as usize], true) {
            let receiver = self.matches.receiver[class as usize];
            let mut posted = std::mem::replace(&mut self.posted[class as usize], NOBODY);
            while posted != NOBODY {
                self.events.push((receiver, posted, true));
                posted = self.before[posted as usize];
            }
        }
        self.release(rank, number, false);
    }

    fn release(&mut self, rank: u32, number: u32, on_start: bool) {
        if self.cyclic[rank as usize] {
            return;
        }
        let first = self.schedule.of_rank(rank).start;
        for edge in self.schedule.edges(number).iter().filter(|edge| edge.on_start() == on_start) {
            let after = first + edge.after();
            self.waits[after as usize] -= 1;
            if self.waits[after as usize] == 0 {
                self.events.push((rank, after, false));
            }
        }
    }

    /// Whether an operation of a rank without a circle never starts.
    fn never_starts(&self, number: u32) -> bool {
        self.waits[number as usize] > 0
    }

    /// What keeps an operation that never ends from it: an operation that never ends either.
    fn reason(&self, rank: u32, number: u32, known: &mut BTreeMap<u32, Vec<u32>>) -> (u32, u32) {
        if self.never_starts(number) {
            let first = self.schedule.of_rank(rank).start;
            let before = known.entry(rank).or_insert_with(|| self.stuck_before(rank));
            return (rank, before[(number - first) as usize]);
        }
        // a receive: none of its messages is sent
        let class = self.matches.class_of[number as usize];
        let of_class = |(_, send): &&(u32, u32)| self.matches.class_of[*send as usize] == class;
        *self.matches.sends_to(rank).iter().find(of_class).expect("a class has sends")
    }

    /// For each operation of a rank that never starts, one that it waits for in vain.
    fn stuck_before(&self, rank: u32) -> Vec<u32> {
        let range = self.schedule.of_rank(rank);
        let mut before = vec![NOBODY; range.len()];
        for number in range.clone() {
            let starts = !self.never_starts(number);
            let ends = starts && !self.is_posted(rank, number);
            for edge in self.schedule.edges(number) {
                if !(ends || starts && edge.on_start()) {
                    before[edge.after() as usize] = number;
                }
            }
        }
        before
    }

    /// Whether a receive has started and waits for its message.
    fn is_posted(&self, rank: u32, number: u32) -> bool {
        let class = self.matches.class_of[number as usize];
        let receive = self.schedule.shape(number).operation.kind == OperationKind::Receive;
        receive && class != NONE && !self.sent[class as usize] && !self.cyclic[rank as usize]
    }
}

/// Looks for operations that wait, over messages, for themselves. Operations that only wait for what is
/// a finding already are none.
pub(super) fn over_ranks(schedule: &Schedule, matches: &Matches, cyclic: &[bool], findings: &mut Findings) {
    let mut progress = Progress::new(schedule, matches, cyclic);
    progress.run();
    if progress.left == 0 {
        return;
    }
    let stuck = |rank: u32, number: u32| {
        !cyclic[rank as usize] && (progress.never_starts(number) || progress.is_posted(rank, number))
    };
    let all = (0..schedule.ranks()).flat_map(|rank| schedule.of_rank(rank).map(move |number| (rank, number)));
    let Some((mut rank, mut number)) = all.into_iter().find(|&(rank, number)| stuck(rank, number)) else {
        return;
    };
    let (mut path, mut known) = (Path::default(), BTreeMap::new());
    while path.visit(number) {
        (rank, number) = progress.reason(rank, number, &mut known);
    }
    let circle = path.circle(number);
    findings.add(schedule, FindingKind::Circle, rank, Some(number), || {
        let name = |number: &u32| {
            let rank = schedule.rank_of(*number);
            format!("{} of rank {rank}", schedule.label(rank, *number))
        };
        let also = progress.left - circle.len() as u64;
        let rest = match also {
            0 => String::new(),
            1 => "; another operation waits for them".to_owned(),
            _ => format!("; {also} more operations never end"),
        };
        format!("waits for {}{rest}", chain(circle, name))
    });
}
