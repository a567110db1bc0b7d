//! Arbiters: one winner among those that ask.

use crate::flit::router::{Arbiter, ArbiterTree};

/// A row of arbiters of the same kind and size.
#[derive(Debug, Clone)]
pub(super) enum Arbiters {
    /// Of each, the place where the search for the next winner begins.
    RoundRobin { next: Vec<u32>, size: u32 },
    /// Of each, when each of its clients won last: a matrix of "is served before" bits is always a total
    /// order, and this is that order. `now` counts wins.
    Matrix { served: Vec<u64>, size: u32, now: u64 },
    /// Those of all groups, and those among the groups.
    Tree { own: Box<Self>, among: Box<Self>, groups: u32, group: u32 },
}

/// The place of a client at an arbiter: the lowest wins.
pub(super) type Rank = (u64, u64);

impl Arbiters {
    pub(super) fn new(kind: Arbiter, count: u32, size: u32) -> Self {
        match kind {
            Arbiter::RoundRobin => Self::RoundRobin { next: vec![0; count as usize], size },
            Arbiter::Matrix => Self::Matrix { served: vec![0; count as usize * size as usize], size, now: 0 },
            Arbiter::Tree(ArbiterTree { groups, arbiters }) => {
                let row = |count, size| Box::new(Self::new(arbiters.into(), count, size));
                let group = size / groups.max(1);
                Self::Tree { own: row(count * groups, group), among: row(count, groups), groups, group }
            }
        }
    }

    /// Rank of `client` at `arbiter`: the lowest wins.
    #[inline]
    pub(super) fn rank(&self, arbiter: u32, client: u32) -> Rank {
        match self {
            Self::RoundRobin { next, size } => (0, distance(next[arbiter as usize], client, *size).into()),
            Self::Matrix { served, size, .. } => {
                // Wins are far apart enough that the client fits below them; at first the last one leads.
                let won = served[arbiter as usize * *size as usize + client as usize];
                (0, (won << 24) + u64::from(*size - 1 - client))
            }
            // the best of its group, of the best group that has one as good
            Self::Tree { own, among, groups, group } => {
                let (at, inside) = (client / group, client % group);
                (among.rank(arbiter, at).1, own.rank(arbiter * groups + at, inside).1)
            }
        }
    }

    /// `client` has won at `arbiter`.
    #[inline]
    pub(super) fn won(&mut self, arbiter: u32, client: u32) {
        match self {
            Self::RoundRobin { next, size } => {
                next[arbiter as usize] = if client + 1 == *size { 0 } else { client + 1 };
            }
            Self::Matrix { served, size, now } => {
                *now += 1;
                served[arbiter as usize * *size as usize + client as usize] = *now;
            }
            Self::Tree { own, among, groups, group } => {
                let (at, inside) = (client / *group, client % *group);
                among.won(arbiter, at);
                own.won(arbiter * *groups + at, inside);
            }
        }
    }
}

/// Steps from `start` to `place` on a ring of `size`.
#[inline]
pub(super) fn distance(start: u32, place: u32, size: u32) -> u32 {
    if place >= start { place - start } else { place + size - start }
}
