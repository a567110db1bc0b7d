//! Work lists of a block of routers.

use super::wheel::BLOCK;

/// Numbers of channels of a block, two of each port at most, so that nothing has to grow.
#[derive(Debug, Clone)]
pub(super) struct List<const P: usize> {
    len: usize,
    items: [[u16; P]; 2 * BLOCK],
}

impl<const P: usize> Default for List<P> {
    fn default() -> Self {
        Self { len: 0, items: [[0; P]; 2 * BLOCK] }
    }
}

impl<const P: usize> List<P> {
    const PLACES: usize = 2 * BLOCK * P;

    /// Appends a number where it is `wanted`: nothing to predict. There is a place for it, since no port stands there thrice.
    #[inline(always)]
    pub(super) fn push_if(&mut self, number: u16, wanted: bool) {
        debug_assert!(!wanted || self.len < Self::PLACES, "no port stands there thrice");
        self.items.as_flattened_mut()[self.len % (Self::PLACES)] = number;
        self.len += usize::from(wanted);
    }

    /// Writes a number at a place, which counts from [`List::set_len`] on.
    #[inline(always)]
    pub(super) fn set(&mut self, at: usize, number: u16) {
        self.items.as_flattened_mut()[at % (Self::PLACES)] = number;
    }

    /// What was written at a place.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> u16 {
        self.items.as_flattened()[at % (Self::PLACES)]
    }

    /// The first `len` that were written are in the list.
    #[inline(always)]
    pub(super) fn set_len(&mut self, len: usize) {
        self.len = len.min(Self::PLACES);
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
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
    /// Takes all ports out.
    pub(super) fn clear(&mut self) {
        self.0 = [0; P];
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Puts a port in, where it is `wanted`: nothing to predict.
    #[inline(always)]
    pub(super) fn insert_if(&mut self, port: usize, wanted: bool) {
        self.0[port / 64 % P] |= u64::from(wanted) << (port % 64);
    }

    /// The word of the ports from `64 * index` on.
    #[inline(always)]
    pub(super) fn word(&self, index: usize) -> u64 {
        self.0[index % P]
    }

    /// The same, to change it.
    #[inline(always)]
    pub(super) fn word_mut(&mut self, index: usize) -> &mut u64 {
        &mut self.0[index % P]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_what_was_put_in_in_order() {
        let mut list = List::<2>::default();
        let all = || 0..2 * BLOCK as u16;
        all().filter(|number| number % 3 == 0).for_each(|number| list.push_if(number, true));
        assert!(list.items().iter().copied().eq(all().filter(|number| number % 3 == 0)));
        list.clear();
        assert!(list.items().is_empty());
        all().for_each(|number| list.push_if(number, true));
        assert!(list.items().iter().copied().eq(all()));
    }
}
