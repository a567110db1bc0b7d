//! What arrives in the cycles to come: flits and credits, by cycle and router.

use super::flit::Flit;
use super::mask::Mask;

/// What arrives at a router in one cycle.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Arrivals<const P: usize, M> {
    /// Input ports that get a flit.
    pub(super) ports: M,
    /// Output channels that get a credit.
    pub(super) credits: M,
    /// The flits.
    pub(super) flits: [Flit; P],
}

/// A flit on its way to a terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ejected {
    pub(super) terminal: u32,
    pub(super) flit: Flit,
}

/// A calendar of as many cycles as anything can be on its way.
#[derive(Debug, Default)]
pub(super) struct Wheel<const P: usize, M> {
    routers: usize,
    words: usize,
    /// Cycles - 1, a power of two less one.
    mask: u64,
    pub(super) arrivals: Vec<Arrivals<P, M>>,
    /// Routers with arrivals, by cycle.
    busy: Vec<u64>,
    /// Credits for terminals: terminal and virtual channel, by cycle.
    pub(super) terminal_credits: Vec<Vec<(u32, u8)>>,
    /// Flits for terminals, by cycle.
    pub(super) ejected: Vec<Vec<Ejected>>,
}

impl<const P: usize, M: Mask> Wheel<P, M> {
    /// A calendar for `routers` routers and at least `cycles` cycles ahead.
    pub(super) fn new(routers: usize, cycles: u64) -> Self {
        let slots = (cycles + 1).next_power_of_two();
        let words = routers.div_ceil(64);
        let empty = Arrivals { ports: M::default(), credits: M::default(), flits: [Flit::default(); P] };
        Self {
            routers,
            words,
            mask: slots - 1,
            arrivals: vec![empty; routers * slots as usize],
            busy: vec![0; words * slots as usize],
            terminal_credits: vec![Vec::new(); slots as usize],
            ejected: vec![Vec::new(); slots as usize],
        }
    }

    /// The lists of cycle `at`.
    #[inline(always)]
    pub(super) fn slot(&self, at: u64) -> usize {
        (at & self.mask) as usize
    }

    /// The place of `router` in the cycle of `slot`.
    #[inline(always)]
    pub(super) fn index(&self, slot: usize, router: usize) -> usize {
        slot * self.routers + router
    }

    #[inline(always)]
    fn mark(&mut self, slot: usize, router: u32) {
        self.busy[slot * self.words + router as usize / 64] |= 1 << (router % 64);
    }

    /// A flit for input `port` of `router` in cycle `at`.
    #[inline(always)]
    pub(super) fn flit(&mut self, at: u64, router: u32, port: u8, flit: Flit) {
        let slot = self.slot(at);
        let index = self.index(slot, router as usize);
        let arrivals = &mut self.arrivals[index];
        arrivals.ports |= M::bit(port as usize % P);
        arrivals.flits[port as usize % P] = flit;
        self.mark(slot, router);
    }

    /// A credit for output channel `channel` of `router` in cycle `at`.
    #[inline(always)]
    pub(super) fn credit(&mut self, at: u64, router: u32, channel: usize) {
        let slot = self.slot(at);
        let index = self.index(slot, router as usize);
        self.arrivals[index].credits |= M::bit(channel);
        self.mark(slot, router);
    }

    /// A credit for virtual channel `vc` of `terminal` in cycle `at`.
    #[inline(always)]
    pub(super) fn terminal_credit(&mut self, at: u64, terminal: u32, vc: u8) {
        let slot = self.slot(at);
        self.terminal_credits[slot].push((terminal, vc));
    }

    /// A flit for a terminal in cycle `at`.
    #[inline(always)]
    pub(super) fn eject(&mut self, at: u64, flit: Ejected) {
        let slot = self.slot(at);
        self.ejected[slot].push(flit);
    }

    /// Takes the word of 64 routers from `word * 64` on that have arrivals in the cycle of `slot`.
    #[inline(always)]
    pub(super) fn take_busy(&mut self, slot: usize, word: usize) -> u64 {
        std::mem::take(&mut self.busy[slot * self.words + word])
    }

    /// The first cycle in `from ..` in which anything arrives; `None` when nothing is on its way.
    pub(super) fn next(&self, from: u64) -> Option<u64> {
        (from..=from + self.mask).find(|&at| {
            let slot = self.slot(at);
            !self.terminal_credits[slot].is_empty()
                || !self.ejected[slot].is_empty()
                || self.busy[slot * self.words..(slot + 1) * self.words].iter().any(|&word| word != 0)
        })
    }
}
