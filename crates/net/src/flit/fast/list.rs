//! Work lists of a block of routers.

use super::wheel::BLOCK;

/// Numbers of channels or ports of a block, with room for all channels, so that nothing has to grow.
#[derive(Debug, Clone)]
pub(super) struct List<const N: usize> {
    len: usize,
    items: [[u16; N]; BLOCK],
}

impl<const N: usize> Default for List<N> {
    fn default() -> Self {
        Self { len: 0, items: [[0; N]; BLOCK] }
    }
}

impl<const N: usize> List<N> {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a number; there is a place for it, since none stands twice.
    #[inline(always)]
    pub(super) fn push(&mut self, number: u16) {
        self.push_if(number, true);
    }

    /// Appends a number where it is `wanted`. It is written in any case, and the next one goes to the same
    /// place where it was not: nothing to predict.
    #[inline(always)]
    pub(super) fn push_if(&mut self, number: u16, wanted: bool) {
        debug_assert!(self.len < BLOCK * N, "none stands twice");
        self.items.as_flattened_mut()[self.len % (BLOCK * N)] = number;
        self.len += usize::from(wanted);
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends those of `other` that are `wanted`.
    #[inline(always)]
    pub(super) fn extend_from(&mut self, other: &Self, mut wanted: impl FnMut(u16) -> bool) {
        // the length stays in a register
        let (items, mut len) = (self.items.as_flattened_mut(), self.len);
        for &number in other.items() {
            items[len % (BLOCK * N)] = number;
            len += usize::from(wanted(number));
        }
        self.len = len;
    }

    /// Moves those that are `wanted` there to an empty list.
    #[inline(always)]
    pub(super) fn give(&mut self, other: &mut Self, wanted: impl Fn(u16) -> bool) {
        let (own, others) = (self.items.as_flattened_mut(), other.items.as_flattened_mut());
        let mut given = 0;
        for at in 0..self.len {
            let number = own[at % (BLOCK * N)];
            others[given % (BLOCK * N)] = number;
            own[(at - given) % (BLOCK * N)] = number;
            given += usize::from(wanted(number));
        }
        other.len = given;
        self.len -= given;
    }

    /// All of them, in order.
    #[inline(always)]
    pub(super) fn items(&self) -> &[u16] {
        &self.items.as_flattened()[..self.len]
    }

    /// The same, to put them in another order.
    pub(super) fn items_mut(&mut self) -> &mut [u16] {
        &mut self.items.as_flattened_mut()[..self.len]
    }
}

/// A set of ports of a block, by number: a word holds those of `64 / P` routers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports<const P: usize>([u64; P]);

impl<const P: usize> Default for Ports<P> {
    fn default() -> Self {
        const { assert!(BLOCK == 64, "as many words as ports of a router") };
        Self([0; P])
    }
}

impl<const P: usize> Ports<P> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Puts a port in, where it is `wanted`: nothing to predict.
    #[inline(always)]
    pub(super) fn insert_if(&mut self, port: usize, wanted: bool) {
        self.0[port / 64 % P] |= u64::from(wanted) << (port % 64);
    }

    /// Keeps those of which `keep` says so; asked in ascending order.
    #[inline(always)]
    pub(super) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        for (index, word) in self.0.iter_mut().enumerate() {
            let mut left = *word;
            let mut kept = 0;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if keep(index * 64 + bit as usize) {
                    kept |= 1 << bit;
                }
            }
            *word = kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_what_was_wanted_in_order() {
        let mut list = List::<2>::default();
        let all = || 0..2 * BLOCK as u16;
        all().for_each(|number| list.push_if(number, number % 3 == 0));
        assert!(list.items().iter().copied().eq(all().filter(|number| number % 3 == 0)));
        list.clear();
        assert!(list.is_empty());
        all().for_each(|number| list.push(number));
        assert!(list.items().iter().copied().eq(all()));
    }

    #[test]
    fn a_set_of_ports_keeps_what_is_wanted_in_order() {
        let mut ports = Ports::<8>::default();
        let all = || 0..8 * BLOCK;
        all().for_each(|port| ports.insert_if(port, port % 3 == 0));
        for kept in [3, 6] {
            let mut seen = Vec::new();
            ports.retain(|port| {
                seen.push(port);
                port % 6 == 0
            });
            assert!(seen.into_iter().eq(all().filter(|port| port % kept == 0)));
        }
        ports.retain(|_| false);
        assert!(ports.is_empty());
    }
}
