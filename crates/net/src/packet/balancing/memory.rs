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

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: [u32; 5] = [3, 4, 6, 8, 9];

    fn memory(seed: u64) -> SetMemory {
        SetMemory { draws: Draws::new(key(seed, 0)), order: Vec::new(), turns: 0 }
    }

    /// How often each port of `PORTS` comes in 20,000 draws of `next`.
    fn often(mut next: impl FnMut(&mut SetMemory) -> u32) -> [u32; 5] {
        let mut memory = memory(1);
        let mut often = [0; 5];
        for _ in 0..20_000 {
            let port = next(&mut memory);
            often[PORTS.iter().position(|&known| known == port).unwrap()] += 1;
        }
        often
    }

    /// Six standard deviations of a share of 20,000 draws around its mean.
    fn is_share(found: u32, share: f64) -> bool {
        (f64::from(found) - 20_000.0 * share).abs() <= 6.0 * (20_000.0 * share * (1.0 - share)).sqrt()
    }

    #[test]
    fn what_is_as_good_is_as_likely() {
        let members = Members::of(&PORTS);
        let any = often(|memory| memory.any(members));
        assert!(any.iter().all(|&found| is_share(found, 0.2)), "{any:?}");
        let alike = often(|memory| memory.shortest(members, |_| 7));
        assert!(alike.iter().all(|&found| is_share(found, 0.2)), "{alike:?}");
        // ports 4, 8 and 9 are shorter than the others
        let shortest = often(|memory| memory.shortest(members, |port| u64::from([3, 6].contains(&port))));
        assert_eq!((shortest[0], shortest[2]), (0, 0));
        assert!([1, 3, 4].iter().all(|&place| is_share(shortest[place], 1.0 / 3.0)), "{shortest:?}");
    }

    /// A round of turns is a permutation, each as likely at every place, and ports that are left out are passed over.
    #[test]
    fn turns_are_permutations() {
        let all = Members::of(&PORTS);
        let mut firsts = [0; 5];
        let mut turns = memory(2);
        for _ in 0..20_000 {
            let mut round: Vec<u32> = PORTS.iter().map(|_| turns.turn(all, all)).collect();
            firsts[PORTS.iter().position(|&port| port == round[0]).unwrap()] += 1;
            round.sort_unstable();
            assert_eq!(round, PORTS);
        }
        assert!(firsts.iter().all(|&found| is_share(found, 0.2)), "{firsts:?}");
        let some = often(|memory| memory.turn(all, Members::of(&[4, 9])));
        assert_eq!(some, [0, 10_000, 0, 0, 10_000]);
    }
}
