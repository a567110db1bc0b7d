//! Sets of virtual channels as machine words.

use std::fmt::Debug;
use std::hint::select_unpredictable as select;

/// A number of flits or of places for them.
pub(super) trait Count:
    Copy + Debug + Default + PartialEq + Into<u32> + Send + Sync + 'static
{
    /// The largest.
    const MOST: u16;
    /// So many.
    fn of(places: u16) -> Self;
    /// One more.
    fn up(&mut self);
    /// One less.
    fn down(&mut self);
}

macro_rules! count {
    ($($word:ty),+) => { $(
        impl Count for $word {
            const MOST: u16 = <$word>::MAX as u16;
            #[inline(always)]
            fn of(places: u16) -> Self {
                places as Self
            }
            #[inline(always)]
            fn up(&mut self) {
                *self += 1;
            }
            #[inline(always)]
            fn down(&mut self) {
                *self -= 1;
            }
        }
    )+ };
}

count!(u8, u16);

/// A set with one bit per virtual channel of a router.
pub(super) trait Mask: Copy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// Counts of flits of such routers: small ones have small buffers, where everything is to stay in the caches.
    type Count: Count;
    /// Puts `index` in, where it is `wanted`.
    fn insert_if(&mut self, index: usize, wanted: bool);
    /// Puts `index` in.
    #[inline(always)]
    fn insert(&mut self, index: usize) {
        self.insert_if(index, true);
    }
    /// Takes `index` out.
    fn remove(&mut self, index: usize);
    /// Whether nothing is in it.
    fn is_empty(self) -> bool;
    /// Whether `index` is in it.
    fn has(self, index: usize) -> bool;
    /// Its smallest member; it has one.
    fn first(self) -> usize;
    /// It without its smallest member; it has one.
    fn rest(self) -> Self;
    /// Its first member behind `index`, going round; it has one.
    fn first_behind(self, index: usize) -> usize;
    /// `width` bits from `index` on, a multiple of it.
    fn part(self, index: usize, width: usize) -> u32;
}

macro_rules! mask {
    ($($word:ty, $count:ty;)+) => { $(
        impl Mask for $word {
            type Count = $count;

            #[inline(always)]
            fn insert_if(&mut self, index: usize, wanted: bool) {
                *self |= <$word>::from(wanted) << index;
            }
            #[inline(always)]
            fn remove(&mut self, index: usize) {
                *self &= !(1 << index);
            }
            #[inline(always)]
            fn is_empty(self) -> bool {
                self == 0
            }
            #[inline(always)]
            fn has(self, index: usize) -> bool {
                self >> index & 1 != 0
            }
            #[inline(always)]
            fn first(self) -> usize {
                self.trailing_zeros() as usize
            }
            #[inline(always)]
            fn rest(self) -> Self {
                self & self.wrapping_sub(1)
            }
            #[inline(always)]
            fn first_behind(self, index: usize) -> usize {
                // two shifts, since one of the whole word is none
                let after = self & (<$word>::MAX << index << 1);
                if after == 0 { self } else { after }.first()
            }
            #[inline(always)]
            fn part(self, index: usize, width: usize) -> u32 {
                (self >> index) as u32 & ((1_u64 << width) - 1) as u32
            }
        }
    )+ };
}

mask! {
    u8, u8;
    u16, u8;
    u32, u8;
    u64, u16;
}

/// Two words: what is done to one member concerns one of them, where one of 128 bits would be shifted as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Wide([u64; 2]);

impl Wide {
    /// The word that `index` is in.
    #[inline(always)]
    fn word(self, index: usize) -> u64 {
        select(index < 64, self.0[0], self.0[1])
    }
}

impl Mask for Wide {
    type Count = u16;

    #[inline(always)]
    fn insert_if(&mut self, index: usize, wanted: bool) {
        self.0[index / 64 % 2] |= u64::from(wanted) << (index % 64);
    }

    #[inline(always)]
    fn remove(&mut self, index: usize) {
        self.0[index / 64 % 2] &= !(1 << (index % 64));
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.0[0] | self.0[1] == 0
    }

    #[inline(always)]
    fn has(self, index: usize) -> bool {
        self.word(index) >> (index % 64) & 1 != 0
    }

    #[inline(always)]
    fn first(self) -> usize {
        let [low, high] = self.0.map(|word| word.trailing_zeros() as usize);
        select(self.0[0] != 0, low, high + 64)
    }

    #[inline(always)]
    fn rest(self) -> Self {
        let [low, high] = self.0;
        Self([low & low.wrapping_sub(1), select(low != 0, high, high & high.wrapping_sub(1))])
    }

    #[inline(always)]
    fn first_behind(self, index: usize) -> usize {
        let [low, high] = self.0;
        let behind = u64::MAX << (index % 64) << 1;
        let is_low = index < 64;
        let after = Self([select(is_low, low & behind, 0), select(is_low, high, high & behind)]);
        let none = after.is_empty();
        Self([select(none, low, after.0[0]), select(none, high, after.0[1])]).first()
    }

    #[inline(always)]
    fn part(self, index: usize, width: usize) -> u32 {
        (self.word(index) >> (index % 64)) as u32 & ((1_u64 << width) - 1) as u32
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;

    use super::*;

    #[test]
    fn two_words_are_one_set() {
        let mut draws = Draws::new(1);
        for round in 0..5000 {
            let mut set = Wide::default();
            let mut members = Vec::new();
            for _ in 0..draws.below(1 + round % 20) + 1 {
                let index = draws.below(128) as usize;
                set.insert_if(index, true);
                set.insert_if(draws.below(128) as usize, false);
                members.push(index);
            }
            members.sort_unstable();
            members.dedup();
            if members.len() > 1 && draws.below(2) == 0 {
                set.remove(members.remove(draws.below(members.len() as u32) as usize));
            }
            for index in 0..128 {
                assert_eq!(set.has(index), members.contains(&index));
                let next = members.iter().find(|&&member| member > index);
                assert_eq!(set.first_behind(index), *next.unwrap_or(&members[0]));
            }
            for index in (0..128).step_by(4) {
                let part = (0..4).filter(|bit| members.contains(&(index + bit)));
                assert_eq!(set.part(index, 4), part.map(|bit| 1 << bit).sum::<u32>());
            }
            let mut all = Vec::new();
            while !set.is_empty() {
                all.push(set.first());
                set = set.rest();
            }
            assert_eq!(all, members);
        }
        assert_eq!(Wide::default(), Wide([0; 2]));
    }
}
