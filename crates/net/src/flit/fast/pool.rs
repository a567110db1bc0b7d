//! The flits of the input channels of a block.
//!
//! One pool for all of them: it is as large as what waits, not as what could, so that it comes into the nearest caches with
//! the block. Nothing here depends on whether a channel is empty but what is stored: half of them are, and a processor
//! guesses wrong as often.

use std::fmt::Debug;
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

/// The number of a place in a pool.
pub(super) trait Index: Copy + Debug + Default + Into<u32> + Send + Sync + 'static {
    /// Places that have numbers.
    const PLACES: usize;
    /// One of them.
    fn of(place: u32) -> Self;
}

macro_rules! index {
    ($($word:ty),+) => { $(
        impl Index for $word {
            const PLACES: usize = Self::MAX as usize + 1;
            #[inline(always)]
            fn of(place: u32) -> Self {
                place as Self
            }
        }
    )+ };
}

index!(u16, u32);

/// The places of the first and of the last flit of a channel that has some.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Ends<I> {
    first: I,
    last: I,
}

/// The pool.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    places: Vec<Place>,
    /// A free place; [`Pool::FULL`] when there is none.
    free: u32,
}

impl Pool {
    /// No place: none has that number.
    const FULL: u32 = u32::MAX;

    /// An empty pool.
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: Self::FULL }
    }

    /// Puts a flit that goes a way behind the others of a channel, which is empty or has some.
    #[inline(always)]
    pub(super) fn put<I: Index>(&mut self, ends: &mut Ends<I>, is_empty: bool, flit: Flit, way: Way) {
        let place = self.free;
        let Some(taken) = self.places.get_mut(place as usize) else {
            self.grow();
            return self.put(ends, is_empty, flit, way);
        };
        (taken.flit, taken.way) = (flit, way);
        self.free = taken.next;
        // the first one links to itself, which nobody follows
        let before = select(is_empty, place, ends.last.into());
        self.places[before as usize].next = place;
        *ends = Ends { first: select(is_empty, I::of(place), ends.first), last: I::of(place) };
    }

    /// Takes the first flit of a channel that has some.
    #[inline(always)]
    pub(super) fn take<I: Index>(&mut self, ends: &mut Ends<I>) -> Flit {
        let first: u32 = ends.first.into();
        let place = &mut self.places[first as usize];
        ends.first = I::of(place.next);
        place.next = self.free;
        self.free = first;
        place.flit
    }

    /// The way of the first flit of a channel that has some.
    #[inline(always)]
    pub(super) fn first_way<I: Index>(&self, ends: Ends<I>) -> Way {
        self.places[ends.first.into() as usize].way
    }

    /// The first flit of a channel that has some.
    #[inline(always)]
    pub(super) fn first<I: Index>(&self, ends: Ends<I>) -> Flit {
        self.places[ends.first.into() as usize].flit
    }

    /// Changes it.
    #[inline(always)]
    pub(super) fn set_first<I: Index>(&mut self, ends: Ends<I>, flit: Flit) {
        self.places[ends.first.into() as usize].flit = flit;
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
        channels_get_back::<u16>();
        channels_get_back::<u32>();
    }

    fn channels_get_back<I: Index>() {
        let mut draws = Draws::new(1);
        let mut pool = Pool::new();
        let mut channels = vec![(Ends::<I>::default(), VecDeque::new()); 50];
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
        for number in 0..most as u64 {
            pool.put(&mut Ends::<I>::default(), true, Flit(number), Way::UNKNOWN);
        }
        assert_eq!(pool.places.len(), most, "places are used again");
    }

    #[test]
    fn a_place_has_a_number_as_long_as_there_are_numbers() {
        let mut pool = Pool::new();
        let mut ends = Ends::<u16>::default();
        let numbers = 0..u16::PLACES as u64;
        for number in numbers.clone() {
            pool.put(&mut ends, number == 0, Flit(number), Way::UNKNOWN);
        }
        assert!(numbers.into_iter().all(|number| pool.take(&mut ends) == Flit(number)));
    }
}
