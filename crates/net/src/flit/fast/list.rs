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
        if let Some(place) = self.items.as_flattened_mut().get_mut(self.len) {
            *place = number;
        }
        self.len += usize::from(wanted);
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

    /// Keeps those of which `keep` says so, in order.
    #[inline(always)]
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u16) -> bool) {
        let (items, len) = (self.items.as_flattened_mut(), self.len);
        let mut kept = 0;
        for at in 0..len.min(items.len()) {
            let number = items[at];
            // `kept` never overtakes `at`
            items[kept.min(at)] = number;
            kept += usize::from(keep(number));
        }
        self.len = kept;
    }
}

/// The router of a block and its channel (or port) that a number with `N` of them per router means.
#[inline(always)]
pub(super) fn parts<const N: usize>(number: u16) -> (usize, usize) {
    (number as usize / N % BLOCK, number as usize % N)
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
        list.retain(|number| number % 2 == 0);
        assert!(list.items().iter().copied().eq(all().filter(|number| number % 6 == 0)));
        list.clear();
        assert!(list.is_empty());
    }

    #[test]
    fn a_full_list_is_not_written_over() {
        let mut list = List::<2>::default();
        (0..2 * BLOCK as u16).for_each(|number| list.push(number));
        list.push_if(9999, false);
        assert!(list.items().iter().copied().eq(0..2 * BLOCK as u16));
    }
}
