//! The flits that wait behind the first one of their input channel.
//!
//! One pool for all channels of a block: it is as large as what waits, not as what could, so that it comes into the nearest
//! caches with the block.

use super::flit::Flit;

/// A flit, and the place of the next one of its channel or of the free ones.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(4))]
pub(super) struct Place {
    flit: Flit,
    next: u32,
}

/// The pool. The flits of a channel are a circle, of which the channel knows the last one.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    places: Vec<Place>,
    /// A free place; [`Pool::FULL`] when there is none.
    free: u32,
}

impl Pool {
    /// No place.
    const FULL: u32 = u32::MAX;

    /// An empty pool.
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: Self::FULL }
    }

    /// Puts a flit behind the others of a channel, of which `last` is the last one where there `are` any. The new last one.
    #[inline(always)]
    pub(super) fn put(&mut self, last: u32, are: bool, flit: Flit) -> u32 {
        if self.free == Self::FULL {
            self.grow();
        }
        let place = self.free;
        self.free = self.places[place as usize].next;
        // of a circle of one the next one is itself
        self.places[place as usize] = Place { flit, next: place };
        if are {
            let first = self.places[last as usize].next;
            self.places[last as usize].next = place;
            self.places[place as usize].next = first;
        }
        place
    }

    /// Takes the first flit of the channel whose last one is `last`.
    #[inline(always)]
    pub(super) fn take(&mut self, last: u32) -> Flit {
        let first = self.places[last as usize].next;
        let Place { flit, next } = self.places[first as usize];
        self.places[last as usize].next = next;
        self.places[first as usize].next = self.free;
        self.free = first;
        flit
    }

    /// Its memory.
    pub(super) fn memory(&self) -> &[Place] {
        &self.places
    }

    /// More places.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let (from, more) = (self.places.len(), (self.places.len() / 4).max(32));
        self.places.reserve_exact(more);
        let place = |next| Place { flit: Flit::default(), next };
        self.places.extend((1..more).map(|next| place((from + next) as u32)));
        self.places.push(place(Self::FULL));
        self.free = from as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use stratasim_core::random::Draws;

    use super::*;

    #[test]
    fn channels_get_back_what_they_put_in_in_order() {
        let mut draws = Draws::new(1);
        let mut pool = Pool::new();
        let mut channels = vec![(0_u32, VecDeque::new()); 50];
        for step in 0..20_000 {
            let (last, flits) = &mut channels[draws.below(50) as usize];
            // longer and longer, then shorter
            if draws.below(20_000) > step {
                let flit = Flit(draws.bits());
                *last = pool.put(*last, !flits.is_empty(), flit);
                flits.push_back(flit);
            } else if let Some(flit) = flits.pop_front() {
                assert_eq!(pool.take(*last), flit);
            }
        }
        let most = pool.places.len();
        for (last, mut flits) in channels {
            while let Some(flit) = flits.pop_front() {
                assert_eq!(pool.take(last), flit);
            }
        }
        for number in 0..most as u64 {
            pool.put(0, false, Flit(number));
        }
        assert_eq!(pool.places.len(), most, "places are used again");
    }
}
