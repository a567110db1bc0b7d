//! The flits of the input channels of a block.
//!
//! One pool for all of them: it is as large as what waits, not as what could, so that it comes into the nearest caches with
//! the block. Nothing here depends on whether a channel is empty but what is stored: half of them are, and a processor
//! guesses wrong as often.

use std::hint::select_unpredictable as select;

use super::flit::Flit;

/// A flit, and the place of the next one of its channel or of the free ones.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Place {
    flit: Flit,
    next: u32,
    way: Way,
}

/// Where a head goes next, where that is known before it is in front: output port and virtual channels as a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Way(u32);

impl Way {
    /// It is not known yet.
    pub(super) const UNKNOWN: Self = Self(0);

    /// By `output`, on one of the channels `want`, of which there are some.
    #[inline(always)]
    pub(super) fn new(output: usize, want: u16) -> Self {
        Self((output as u32) << u16::BITS | u32::from(want))
    }

    /// The output port.
    #[inline(always)]
    pub(super) fn output(self) -> usize {
        (self.0 >> u16::BITS) as usize
    }

    /// The virtual channels.
    #[inline(always)]
    pub(super) fn want(self) -> u16 {
        self.0 as u16
    }
}

/// The places of the first and of the last flit of a channel that has some.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Ends {
    first: u32,
    last: u32,
}

/// The pool.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    places: Vec<Place>,
    /// A free place; [`Pool::FULL`] when there is none.
    free: u32,
}

impl Pool {
    /// The first place belongs to nobody, and empty channels link to it.
    const NOBODYS: u32 = 0;
    /// No place: none has that number.
    const FULL: u32 = u32::MAX;

    /// An empty pool.
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: Self::FULL }
    }

    /// Puts a flit that goes a way behind the others of a channel, which is empty or has some.
    #[inline(always)]
    pub(super) fn put(&mut self, ends: &mut Ends, is_empty: bool, flit: Flit, way: Way) {
        let place = self.free;
        let Some(taken) = self.places.get_mut(place as usize) else {
            self.grow();
            return self.put(ends, is_empty, flit, way);
        };
        (taken.flit, taken.way) = (flit, way);
        self.free = taken.next;
        let before = select(is_empty, Self::NOBODYS, ends.last);
        self.places[before as usize].next = place;
        *ends = Ends { first: select(is_empty, place, ends.first), last: place };
    }

    /// Takes the first flit of a channel that has some.
    #[inline(always)]
    pub(super) fn take(&mut self, ends: &mut Ends) -> Flit {
        let first = ends.first;
        let place = &mut self.places[first as usize];
        ends.first = place.next;
        place.next = self.free;
        self.free = first;
        place.flit
    }

    /// The way of the first flit of a channel that has some.
    #[inline(always)]
    pub(super) fn first_way(&self, ends: Ends) -> Way {
        self.places[ends.first as usize].way
    }

    /// The first flit of a channel that has some.
    #[inline(always)]
    pub(super) fn first(&self, ends: Ends) -> Flit {
        self.places[ends.first as usize].flit
    }

    /// Changes it.
    #[inline(always)]
    pub(super) fn set_first(&mut self, ends: Ends, flit: Flit) {
        self.places[ends.first as usize].flit = flit;
    }

    /// Its memory.
    pub(super) fn memory(&self) -> &[Place] {
        &self.places
    }

    /// More places.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        if self.places.is_empty() {
            self.places.push(Place::default());
        }
        let (from, more) = (self.places.len(), (self.places.len() / 4).max(32));
        self.places.reserve_exact(more);
        let place = |next| Place { next, ..Place::default() };
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
        let mut channels = vec![(Ends::default(), VecDeque::new()); 50];
        for step in 0..20_000 {
            let (ends, flits) = &mut channels[draws.below(50) as usize];
            // longer and longer, then shorter
            if draws.below(20_000) > step {
                let flit = Flit(draws.bits());
                let way = Way::new(3, step as u16 | 1);
                pool.put(ends, flits.is_empty(), flit, way);
                flits.push_back((flit, way));
            } else if let Some((flit, way)) = flits.pop_front() {
                assert_eq!((pool.first(*ends), pool.first_way(*ends)), (flit, way));
                assert_eq!(pool.take(ends), flit);
            }
        }
        let most = pool.places.len();
        for (mut ends, mut flits) in channels {
            while let Some((flit, _)) = flits.pop_front() {
                assert_eq!(pool.take(&mut ends), flit);
            }
        }
        for number in 1..most as u64 {
            pool.put(&mut Ends::default(), true, Flit(number), Way::UNKNOWN);
        }
        assert_eq!(pool.places.len(), most, "places are used again");
    }
}
