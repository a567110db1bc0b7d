//! What turns and draws among the ports of a set leave behind.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use stratasim_core::random::{Draws, key};

use super::super::routes::{Members, Numbers, Routes};

/// What is remembered of sets, as soon as one has a turn or a draw: a large direct network has millions of them.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    seed: u64,
    /// By which the draws of each are named.
    numbers: Arc<Numbers>,
    /// Where each is, by node and set.
    places: FxHashMap<(u32, u32), u32>,
    sets: Vec<SetMemory>,
}

/// What is remembered of a set of ports at a node.
#[derive(Debug, Clone)]
pub(super) struct SetMemory {
    draws: Draws,
    /// Round robin: the order of its ports, and how many turns there were.
    order: Vec<u32>,
    turns: u64,
}

impl Memory {
    /// Of nothing yet; `seed` names the draws.
    pub(super) fn new(routes: &Routes, seed: u64) -> Self {
        let numbers = Arc::new(Numbers::new(routes));
        Self { seed, numbers, places: FxHashMap::default(), sets: Vec::new() }
    }

    /// Of a set at a node.
    pub(super) fn of(&mut self, routes: &Routes, node: u32, set: u32) -> &mut SetMemory {
        let place = match self.places.get(&(node, set)) {
            Some(&place) => place,
            None => self.begin(routes, node, set),
        };
        &mut self.sets[place as usize]
    }

    /// Of one that has had no turn and no draw.
    #[cold]
    fn begin(&mut self, routes: &Routes, node: u32, set: u32) -> u32 {
        let number = self.numbers.of(routes, node, set);
        let place = self.sets.len() as u32;
        self.sets.push(SetMemory {
            draws: Draws::new(key(self.seed, number.into())),
            order: Vec::new(),
            turns: 0,
        });
        self.places.insert((node, set), place);
        place
    }
}

impl SetMemory {
    /// The next in turn of those of its ports, `all`, that are among `members`.
    pub(super) fn turn(&mut self, all: Members<'_>, members: Members<'_>) -> u32 {
        if self.order.is_empty() {
            self.order.extend(all.ports());
        }
        let Self { draws, order, turns } = self;
        loop {
            let place = (*turns % order.len() as u64) as usize;
            *turns += 1;
            if place == 0 {
                shuffle(order, draws);
            }
            // the turns of ports that are left out are passed over
            if members.len() == order.len() || members.contain(order[place]) {
                break order[place];
            }
        }
    }

    /// One of `members`, one as likely as the other.
    pub(super) fn any(&mut self, members: Members<'_>) -> u32 {
        members.port(self.draws.below(members.len() as u32) as usize)
    }

    /// One of `members` with the least `length`, one as likely as the other where several have it.
    pub(super) fn shortest(&mut self, members: Members<'_>, length: impl Fn(u32) -> u64) -> u32 {
        let (mut best, mut least, mut ties) = (members.port(0), u64::MAX, 0);
        for port in members.ports() {
            let length = length(port);
            if length < least {
                (best, least, ties) = (port, length, 1);
            } else if length == least {
                ties += 1;
                if self.draws.below(ties) == 0 {
                    best = port;
                }
            }
        }
        best
    }
}

/// Puts `items` in an order in which each is as likely (Fisher and Yates).
fn shuffle(items: &mut [u32], draws: &mut Draws) {
    for last in (1..items.len()).rev() {
        items.swap(last, draws.below(last as u32 + 1) as usize);
    }
}
