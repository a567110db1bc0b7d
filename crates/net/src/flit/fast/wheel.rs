//! What arrives in the cycles to come: flits and credits, by cycle and block of routers.

use super::flit::Flit;

/// Routers that are served together: their state stays in the nearest caches while their lists are gone
/// through, and the lists are long enough that loops over them cost nothing.
pub(super) const BLOCK: usize = 64;

/// A flit on its way to a terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ejected {
    pub(super) terminal: u32,
    pub(super) flit: Flit,
}

/// What arrives at the routers of a block in one cycle. Channels have numbers in the block: router x N +
/// channel.
#[derive(Debug, Default, Clone)]
pub(super) struct Arrivals {
    /// Input channels that get a flit.
    pub(super) flits: Vec<(u32, Flit)>,
    /// Output channels that get a credit.
    pub(super) credits: Vec<u16>,
}

/// A calendar of as many cycles as anything can be on its way, for routers with `N` channels each way.
#[derive(Debug, Default)]
pub(super) struct Wheel<const N: usize> {
    /// log2 of the cycles, and their number less one.
    bits: u32,
    mask: usize,
    /// By block and cycle. Most hold nothing, not even memory.
    arrivals: Vec<Arrivals>,
    /// Lists that have been gone through: the last ones, which are still in the caches, are filled next.
    spare_flits: Vec<Vec<(u32, Flit)>>,
    spare_credits: Vec<Vec<u16>>,
    /// Credits for terminals: terminal and virtual channel, by cycle.
    pub(super) terminal_credits: Vec<Vec<(u32, u8)>>,
    /// Flits for terminals, by cycle.
    pub(super) ejected: Vec<Vec<Ejected>>,
}

impl<const N: usize> Wheel<N> {
    /// Channels of a block.
    const CHANNELS: u32 = (BLOCK * N) as u32;

    /// A calendar for `routers` routers and at least `cycles` cycles ahead.
    pub(super) fn new(routers: usize, cycles: u64) -> Self {
        let slots = (cycles + 1).next_power_of_two() as usize;
        Self {
            bits: slots.trailing_zeros(),
            mask: slots - 1,
            spare_flits: Vec::new(),
            spare_credits: Vec::new(),
            arrivals: vec![Arrivals::default(); routers.div_ceil(BLOCK) * slots],
            terminal_credits: vec![Vec::new(); slots],
            ejected: vec![Vec::new(); slots],
        }
    }

    /// The lists of cycle `at`.
    #[inline(always)]
    pub(super) fn slot(&self, at: u64) -> usize {
        at as usize & self.mask
    }

    /// A flit for input channel `number` (of the part: router x N + channel) in cycle `at`.
    #[inline(always)]
    pub(super) fn flit(&mut self, at: u64, number: u32, flit: Flit) {
        let place = ((number / Self::CHANNELS) as usize) << self.bits | self.slot(at);
        let list = &mut self.arrivals[place].flits;
        if list.len() == list.capacity() {
            grow(&mut self.spare_flits, list);
        }
        list.push((number % Self::CHANNELS, flit));
    }

    /// A credit for output channel `number` (of the part) in cycle `at`.
    #[inline(always)]
    pub(super) fn credit(&mut self, at: u64, number: u32) {
        let place = ((number / Self::CHANNELS) as usize) << self.bits | self.slot(at);
        let list = &mut self.arrivals[place].credits;
        if list.len() == list.capacity() {
            grow(&mut self.spare_credits, list);
        }
        list.push((number % Self::CHANNELS) as u16);
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

    /// Whether nothing arrives at a block in the cycle of `slot`.
    #[inline(always)]
    pub(super) fn is_quiet(&self, block: usize, slot: usize) -> bool {
        let arrivals = &self.arrivals[block << self.bits | slot];
        arrivals.flits.is_empty() && arrivals.credits.is_empty()
    }

    /// Number of flits that arrive at a block in the cycles of `slots`.
    pub(super) fn flits(&self, block: usize, slots: &[usize]) -> usize {
        slots.iter().map(|slot| self.arrivals[block << self.bits | slot].flits.len()).sum()
    }

    /// Takes what arrives at a block in the cycle of `slot`; [`Wheel::give_back`] the lists for others.
    #[inline(always)]
    pub(super) fn take(&mut self, block: usize, slot: usize) -> Arrivals {
        std::mem::take(&mut self.arrivals[block << self.bits | slot])
    }

    /// The lists are used again.
    #[inline(always)]
    pub(super) fn give_back(&mut self, mut arrivals: Arrivals) {
        arrivals.flits.clear();
        arrivals.credits.clear();
        if arrivals.flits.capacity() > 0 {
            self.spare_flits.push(arrivals.flits);
        }
        if arrivals.credits.capacity() > 0 {
            self.spare_credits.push(arrivals.credits);
        }
    }

    /// The first cycle in `from ..` in which anything arrives; `None` when nothing is on its way.
    pub(super) fn next(&self, from: u64) -> Option<u64> {
        let blocks = self.arrivals.len() >> self.bits;
        (from..from + (1 << self.bits)).find(|&at| {
            let slot = self.slot(at);
            !self.terminal_credits[slot].is_empty()
                || !self.ejected[slot].is_empty()
                || (0..blocks).any(|block| !self.is_quiet(block, slot))
        })
    }
}

/// Makes room in a full list: memory of one that is not used any more where it has none.
#[cold]
#[inline(never)]
fn grow<T>(spare: &mut Vec<Vec<T>>, list: &mut Vec<T>) {
    match spare.pop() {
        Some(other) if list.capacity() == 0 => *list = other,
        other => {
            spare.extend(other);
            list.reserve(list.len().max(16));
        }
    }
}
