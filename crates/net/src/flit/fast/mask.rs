//! Sets of virtual channels as machine words, and what else depends on the size of routers.

use std::fmt::Debug;
use std::hint::select_unpredictable as select;

use super::pool::Index;
use super::ready::{Channels, Ready, Vcs};

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
    /// Numbers of places for flits in a block of such routers.
    type Index: Index;
    /// Flits that may go by a port of them.
    type Ready: Ready;
    /// Puts `index` in, where it is `wanted`.
    fn insert_if(&mut self, index: usize, wanted: bool);
    /// Puts `index` in.
    #[inline(always)]
    fn insert(&mut self, index: usize) {
        self.insert_if(index, true);
    }
    /// Takes `index` out, where it is `unwanted`.
    fn remove_if(&mut self, index: usize, unwanted: bool);
    /// Takes `index` out.
    #[inline(always)]
    fn remove(&mut self, index: usize) {
        self.remove_if(index, true);
    }
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
}

/// A set in one word.
pub(super) trait Single: Mask {
    /// `width` bits from `index` on.
    fn part(self, index: usize, width: usize) -> u32;
}

macro_rules! mask {
    ($($word:ty, $count:ty;)+) => { $(
        impl Mask for $word {
            type Count = $count;
            type Index = u32;
            type Ready = Channels<Self>;

            #[inline(always)]
            fn insert_if(&mut self, index: usize, wanted: bool) {
                *self |= <$word>::from(wanted) << index;
            }
            #[inline(always)]
            fn remove_if(&mut self, index: usize, unwanted: bool) {
                *self &= !(<$word>::from(unwanted) << index);
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
        }

        impl Single for $word {
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

/// Several words: what is done to one member concerns one of them, where one of 128 bits would be shifted as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wide<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for Wide<WORDS> {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

impl<const WORDS: usize> Wide<WORDS> {
    /// The word that `index` is in.
    #[inline(always)]
    fn word(self, index: usize) -> u64 {
        (1..WORDS).fold(self.0[0], |word, at| select(index < 64 * at, word, self.0[at]))
    }
}

/// What counts flits of routers with so many words of channels.
pub(super) trait Counted {
    /// Counts of one router.
    type Count: Count;
}

/// Bytes, since networks of such routers do not fit in the nearer caches: less has to be brought there.
impl Counted for Wide<2> {
    type Count = u8;
}

/// Of the largest routers, which hold what others with larger buffers cannot.
impl Counted for Wide<4> {
    type Count = u16;
}

impl<const WORDS: usize> Mask for Wide<WORDS>
where
    Self: Counted,
{
    type Count = <Self as Counted>::Count;
    type Index = u32;
    type Ready = Vcs;

    #[inline(always)]
    fn insert_if(&mut self, index: usize, wanted: bool) {
        self.0[index / 64 % WORDS] |= u64::from(wanted) << (index % 64);
    }

    #[inline(always)]
    fn remove_if(&mut self, index: usize, unwanted: bool) {
        self.0[index / 64 % WORDS] &= !(u64::from(unwanted) << (index % 64));
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    #[inline(always)]
    fn has(self, index: usize) -> bool {
        self.word(index) >> (index % 64) & 1 != 0
    }

    #[inline(always)]
    fn first(self) -> usize {
        let last = 64 * (WORDS - 1) + self.0[WORDS - 1].trailing_zeros() as usize;
        (0..WORDS - 1).rev().fold(last, |first, at| {
            let word = self.0[at];
            select(word != 0, 64 * at + word.trailing_zeros() as usize, first)
        })
    }

    #[inline(always)]
    fn rest(mut self) -> Self {
        let mut is_out = false;
        for word in &mut self.0 {
            let whole = *word;
            *word = select(is_out, whole, whole & whole.wrapping_sub(1));
            is_out |= whole != 0;
        }
        self
    }

    #[inline(always)]
    fn first_behind(self, index: usize) -> usize {
        let behind = u64::MAX << (index % 64) << 1;
        let mut after = self;
        for (at, word) in after.0.iter_mut().enumerate() {
            let (is_before, is_here) = (at < index / 64, at == index / 64);
            *word = select(is_here, *word & behind, select(is_before, 0, *word));
        }
        let none = after.is_empty();
        for (word, whole) in after.0.iter_mut().zip(self.0) {
            *word = select(none, whole, *word);
        }
        after.first()
    }
}

/// The same for routers with so small buffers that places of a block are numbers of two bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Shallow<M>(M);

impl<M: Mask> Mask for Shallow<M> {
    type Count = M::Count;
    type Index = u16;
    type Ready = M::Ready;

    #[inline(always)]
    fn insert_if(&mut self, index: usize, wanted: bool) {
        self.0.insert_if(index, wanted);
    }

    #[inline(always)]
    fn remove_if(&mut self, index: usize, unwanted: bool) {
        self.0.remove_if(index, unwanted);
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    #[inline(always)]
    fn has(self, index: usize) -> bool {
        self.0.has(index)
    }

    #[inline(always)]
    fn first(self) -> usize {
        self.0.first()
    }

    #[inline(always)]
    fn rest(self) -> Self {
        Self(self.0.rest())
    }

    #[inline(always)]
    fn first_behind(self, index: usize) -> usize {
        self.0.first_behind(index)
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;

    use super::*;

    fn several_words_are_one_set<const WORDS: usize>()
    where
        Wide<WORDS>: Counted,
    {
        let most = 64 * WORDS;
        let mut draws = Draws::new(1);
        for round in 0..5000 {
            let mut set = Wide::<WORDS>::default();
            let mut members = Vec::new();
            for _ in 0..draws.below(1 + round % 20) + 1 {
                let index = draws.below(most as u32) as usize;
                set.insert_if(index, true);
                set.insert_if(draws.below(most as u32) as usize, false);
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
            let mut all = Vec::new();
            while !set.is_empty() {
                all.push(set.first());
                set = set.rest();
            }
            assert_eq!(all, members);
        }
    }

    #[test]
    fn two_words_are_one_set() {
        several_words_are_one_set::<2>();
    }

    #[test]
    fn four_words_are_one_set() {
        several_words_are_one_set::<4>();
    }
}
