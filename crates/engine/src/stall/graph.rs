//! Who waits for whom among the operations that are left, and circles in that.

use stratasim_workload::goal::{ANY, Operation, OperationKind, Schedule};

use super::{Item, Waits};

/// What one operation needs of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Its end.
    End,
    /// Its start.
    Start,
    /// A receive: the message that it sends.
    Message,
    /// A message: that it receives.
    Receive,
}

/// What `operation` of `rank` needs of `before`, where it waits for that one.
pub(super) fn waits_for(schedule: &Schedule, rank: u32, operation: u32, before: u32) -> Option<Next> {
    let place = operation - schedule.of_rank(rank).start;
    let mut edges = schedule.edges(before).iter().filter(|edge| edge.after() == place);
    // those on the end come first
    edges.next().map(|edge| if edge.on_start() { Next::Start } else { Next::End })
}

/// Edges from each item to the items that it waits for.
pub(super) struct Graph<'a> {
    schedule: &'a Schedule,
    items: &'a [Item],
    /// First edge of each item, then the total.
    first: Vec<u32>,
    edges: Vec<u32>,
    /// (operation, item), ascending.
    place_of: Vec<(u32, u32)>,
}

/// An operation that did not start, as matching sees it: (receiver, source, tag, item).
type Unstarted = (u32, u32, u32, u32);

impl<'a> Graph<'a> {
    /// The graph of `items`, which are sorted.
    pub(super) fn new(schedule: &'a Schedule, items: &'a [Item], wildcards: bool) -> Self {
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let mut place_of: Vec<(u32, u32)> =
            items.iter().zip(0..).map(|(item, place)| (item.operation, place)).collect();
        place_of.sort_unstable();
        let place = |operation: u32| {
            let at = place_of.binary_search_by_key(&operation, |(operation, _)| *operation).ok()?;
            Some(place_of[at].1)
        };
        let (mut sends, mut receives): (Vec<Unstarted>, Vec<Unstarted>) = (Vec::new(), Vec::new());
        for (item, at) in items.iter().zip(0..) {
            let first = schedule.of_rank(item.rank).start;
            for edge in schedule.edges(item.operation) {
                let met = match item.waits {
                    Waits::Others => false,
                    Waits::Message | Waits::Receive => edge.on_start(),
                    Waits::Nothing => true,
                };
                let after = place(first + edge.after()).filter(|_| !met);
                if let Some(after) = after.filter(|after| items[*after as usize].waits == Waits::Others) {
                    edges.push((after, at));
                }
            }
            let Operation { kind, peer, tag, .. } = schedule.operation(item.rank, item.operation);
            if item.waits == Waits::Others {
                match kind {
                    OperationKind::Send => sends.push((peer, item.rank, tag, at)),
                    OperationKind::Receive => receives.push((item.rank, peer, tag, at)),
                    OperationKind::Calc => {}
                }
            }
        }
        sends.sort_unstable();
        receives.sort_unstable();
        let mut asked = rustc_hash::FxHashMap::default();
        for (item, at) in items.iter().zip(0..) {
            let Operation { peer, tag, .. } = schedule.operation(item.rank, item.operation);
            let (unstarted, key) = match item.waits {
                Waits::Message => (&sends, (item.rank, peer, tag)),
                Waits::Receive | Waits::Nothing => (&receives, (peer, item.rank, tag)),
                Waits::Others => continue,
            };
            // the first to come gets the first that is left
            let number = asked.entry((item.waits == Waits::Message, key)).or_insert(0_usize);
            if let Some(found) = candidate(unstarted, key, *number, wildcards) {
                edges.push((at, found));
            }
            *number += 1;
        }
        edges.sort_unstable();
        edges.dedup();
        let mut first = vec![0; items.len() + 1];
        for (from, _) in &edges {
            first[*from as usize + 1] += 1;
        }
        for at in 0..items.len() {
            first[at + 1] += first[at];
        }
        Self { schedule, items, first, edges: edges.into_iter().map(|(_, to)| to).collect(), place_of }
    }

    fn of(&self, at: usize) -> &[u32] {
        &self.edges[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// Whether an operation is among the items.
    pub(super) fn is_left(&self, operation: u32) -> bool {
        self.place_of.binary_search_by_key(&operation, |(operation, _)| *operation).is_ok()
    }

    /// Whether an item waits for none of the others.
    pub(super) fn is_end(&self, at: usize) -> bool {
        self.of(at).is_empty()
    }

    /// What `from` needs of `to`.
    pub(super) fn next(&self, from: usize, to: usize) -> Next {
        let (from, to) = (self.items[from], self.items[to]);
        match from.waits {
            Waits::Message => Next::Message,
            Waits::Receive | Waits::Nothing => Next::Receive,
            Waits::Others => {
                waits_for(self.schedule, from.rank, from.operation, to.operation).unwrap_or(Next::End)
            }
        }
    }

    /// Circles that share no operation, each from its first operation on.
    pub(super) fn circles(&self) -> Vec<Vec<usize>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            No,
            /// At this place of the path in hand.
            At(usize),
            Done,
        }
        let mut seen = vec![Seen::No; self.items.len()];
        let mut in_circle = vec![false; self.items.len()];
        let mut circles = Vec::new();
        // (item, edge to look at next)
        let mut path: Vec<(usize, usize)> = Vec::new();
        for start in 0..self.items.len() {
            if seen[start] == Seen::No {
                seen[start] = Seen::At(0);
                path.push((start, 0));
            }
            while let Some(&mut (at, ref mut edge)) = path.last_mut() {
                let Some(&next) = self.of(at).get(*edge) else {
                    seen[at] = Seen::Done;
                    path.pop();
                    continue;
                };
                *edge += 1;
                let next = next as usize;
                match seen[next] {
                    Seen::No => {
                        seen[next] = Seen::At(path.len());
                        path.push((next, 0));
                    }
                    Seen::At(place) => {
                        let circle: Vec<usize> = path[place..].iter().map(|(at, _)| *at).collect();
                        if !circle.iter().any(|at| in_circle[*at]) {
                            circle.iter().for_each(|at| in_circle[*at] = true);
                            circles.push(self.rotated(circle));
                        }
                    }
                    Seen::Done => {}
                }
            }
        }
        circles
    }

    fn rotated(&self, mut circle: Vec<usize>) -> Vec<usize> {
        let first = (0..circle.len()).min_by_key(|at| self.items[circle[*at]].operation).unwrap_or(0);
        circle.rotate_left(first);
        circle
    }
}

/// The `number`-th of those with exactly this key; otherwise the first with a wildcard on either side that
/// fits.
fn candidate(
    unstarted: &[Unstarted],
    (to, source, tag): (u32, u32, u32),
    number: usize,
    wildcards: bool,
) -> Option<u32> {
    let range = |low: Unstarted, high: Unstarted| {
        let from = unstarted.partition_point(|entry| *entry < low);
        &unstarted[from..from + unstarted[from..].partition_point(|entry| *entry <= high)]
    };
    const LAST: u32 = u32::MAX;
    let exact = range((to, source, tag, 0), (to, source, tag, LAST));
    if !wildcards || (source != ANY && tag != ANY) {
        if let Some(found) = exact.get(number) {
            return Some(found.3);
        }
        if !wildcards {
            return None;
        }
    }
    /// How far a list is searched for what fits an open source and a given tag, or the other way round.
    const PATIENCE: usize = 1000;
    let all = if source == ANY {
        range((to, 0, 0, 0), (to, LAST, LAST, LAST))
    } else {
        range((to, source, 0, 0), (to, source, LAST, LAST))
    };
    let open = range((to, ANY, 0, 0), (to, ANY, LAST, LAST));
    let fits = |entry: &&Unstarted| {
        [source, tag, entry.1, entry.2].contains(&ANY) && (entry.2 == tag || entry.2 == ANY || tag == ANY)
    };
    let found = all.iter().take(PATIENCE).chain(open.iter().take(PATIENCE)).find(fits);
    found.map(|entry| entry.3)
}
