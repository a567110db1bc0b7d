//! Routers that wait for nothing but a narrow channel.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which routers do, and from which cycle on one of their outputs is free.
#[derive(Debug)]
pub(super) struct Dozing {
    wakes: BinaryHeap<Reverse<(u64, u32)>>,
    /// By router: the cycle that was noted last.
    noted: Vec<u64>,
}

impl Dozing {
    pub(super) fn new(routers: usize) -> Self {
        Self { wakes: BinaryHeap::new(), noted: vec![0; routers] }
    }

    /// From cycle `now` on a router has nothing to do before `until`.
    pub(super) fn note(&mut self, now: u64, until: u64, router: u32) {
        let noted = &mut self.noted[router as usize];
        if *noted <= now || until < *noted {
            *noted = until;
            self.wakes.push(Reverse((until, router)));
        }
    }

    /// A router that has something to do in cycle `now` again, each once.
    pub(super) fn wake(&mut self, now: u64) -> Option<u32> {
        let &Reverse((cycle, router)) = self.wakes.peek()?;
        (cycle <= now).then(|| self.wakes.pop()).map(|_| router)
    }

    /// The first cycle in which one has.
    pub(super) fn next(&self) -> Option<u64> {
        self.wakes.peek().map(|&Reverse((cycle, _))| cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_wakes_in_the_first_cycle_that_was_noted_since() {
        let mut dozing = Dozing::new(2);
        dozing.note(0, 9, 0);
        dozing.note(1, 9, 0);
        dozing.note(2, 5, 1);
        dozing.note(3, 4, 0);
        assert_eq!((dozing.next(), dozing.wake(3)), (Some(4), None));
        let woken: Vec<_> = (4..12).flat_map(|now| dozing.wake(now).map(|router| (now, router))).collect();
        assert_eq!(woken, [(4, 0), (5, 1), (9, 0)], "an idle router may be looked at once too often");
        dozing.note(12, 20, 0);
        assert_eq!((dozing.next(), dozing.wake(20), dozing.wake(20)), (Some(20), Some(0), None));
    }
}
