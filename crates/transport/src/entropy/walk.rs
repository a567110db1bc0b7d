//! The walk over all paths that several choices share: each cycle in another order.

use stratasim_core::random::Draws;

/// Visits every path once per cycle, in the order of a counter combined with a number that is drawn per cycle.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    mask: u16,
    index: u16,
    shuffle: u16,
    /// Bits above the paths, the same for all packets of a connection.
    upper: u16,
    draws: Draws,
}

impl Walk {
    /// A walk over a power of two of paths.
    pub(crate) fn new(paths: u32, key: u64) -> Self {
        let mask = (paths - 1) as u16;
        let mut draws = Draws::new(key);
        let first = draws.bits();
        Self { mask, index: 0, shuffle: first as u16 & mask, upper: (first >> 16) as u16 & !mask, draws }
    }

    /// How many paths there are.
    pub(crate) fn paths(&self) -> u32 {
        u32::from(self.mask) + 1
    }

    /// The next path, without the upper bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u16 {
        let path = (self.index ^ self.shuffle) & self.mask;
        self.index = self.index.wrapping_add(1) & self.mask;
        if self.index == 0 {
            self.shuffle = self.draws.bits() as u16 & self.mask;
        }
        path
    }

    /// The number of a path in packets.
    #[inline]
    pub(crate) fn entropy(&self, path: u16) -> u16 {
        path | self.upper
    }

    /// The path of a number in packets.
    #[inline]
    pub(crate) fn path(&self, entropy: u16) -> u16 {
        entropy & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_visits_every_path_once() {
        let mut walk = Walk::new(64, 5);
        let mut orders = Vec::new();
        for _ in 0..10 {
            let order: Vec<u16> = (0..64).map(|_| walk.next()).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..64).collect::<Vec<u16>>());
            orders.push(order);
        }
        orders.dedup();
        assert!(orders.len() > 5, "the order changes from cycle to cycle");
    }
}
