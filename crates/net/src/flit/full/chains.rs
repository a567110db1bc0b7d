//! Queues that share one store.

use stratasim_core::Slots;

const END: u32 = u32::MAX;

/// A queue whose items lie in a [`Chains`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain {
    first: u32,
    last: u32,
    /// Number of items.
    pub(super) len: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Self { first: END, last: END, len: 0 }
    }
}

/// The items of many queues. It grows to the most that were ever in them together and is then used again.
#[derive(Debug)]
pub(super) struct Chains<T> {
    links: Slots<(T, u32)>,
    len: u64,
}

impl<T> Default for Chains<T> {
    fn default() -> Self {
        Self { links: Slots::default(), len: 0 }
    }
}

impl<T: Copy> Chains<T> {
    /// Items in all queues.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, chain: &mut Chain, item: T) {
        let link = self.links.insert((item, END));
        if chain.len == 0 {
            chain.first = link;
        } else {
            self.links[chain.last].1 = link;
        }
        chain.last = link;
        chain.len += 1;
        self.len += 1;
    }

    #[inline]
    pub(super) fn first(&self, chain: &Chain) -> Option<&T> {
        (chain.len > 0).then(|| &self.links[chain.first].0)
    }

    /// The items of a queue, in order.
    pub(super) fn iter(&self, chain: &Chain) -> impl Iterator<Item = &T> {
        let mut link = chain.first;
        (0..chain.len).map(move |_| {
            let (item, next) = &self.links[link];
            link = *next;
            item
        })
    }

    #[inline]
    pub(super) fn pop(&mut self, chain: &mut Chain) -> Option<T> {
        if chain.len == 0 {
            return None;
        }
        let (item, next) = self.links[chain.first];
        self.links.release(chain.first);
        chain.first = next;
        chain.len -= 1;
        self.len -= 1;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_keep_their_own_order_in_one_store() {
        let mut store = Chains::default();
        let mut chains = [Chain::default(); 3];
        for item in 0..30 {
            store.push(&mut chains[item % 3], item);
        }
        assert_eq!(store.pop(&mut chains[1]), Some(1));
        store.push(&mut chains[0], 99);
        let mut rest = Vec::new();
        while let Some(item) = store.pop(&mut chains[0]) {
            rest.push(item);
        }
        assert_eq!(rest, [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 99]);
        assert_eq!((store.first(&chains[1]), store.first(&chains[0]), store.len()), (Some(&4), None, 19));
    }
}
