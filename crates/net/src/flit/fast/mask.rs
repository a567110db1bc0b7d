//! Sets of virtual channels as machine words.

use std::fmt::Debug;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXorAssign, Not};

/// A word with one bit per virtual channel of a router.
pub(super) trait Mask:
    Copy
    + Debug
    + Default
    + PartialEq
    + Send
    + Sync
    + BitAnd<Output = Self>
    + BitAndAssign
    + BitOr<Output = Self>
    + BitOrAssign
    + BitXorAssign
    + Not<Output = Self>
    + 'static
{
    /// The set of `index` alone.
    fn bit(index: usize) -> Self;
    /// The set of `index` alone, or nothing.
    fn bit_if(index: usize, wanted: bool) -> Self;
    /// Whether nothing is in it.
    fn is_empty(self) -> bool;
    /// Whether `index` is in it.
    fn has(self, index: usize) -> bool;
    /// Its smallest member; it has one.
    fn first(self) -> usize;
    /// It without its smallest member; it has one.
    fn rest(self) -> Self;
    /// Its members behind `index`.
    fn behind(self, index: usize) -> Self;
    /// Its first member that is also in `preferred`, or else its first one; it has one.
    #[inline(always)]
    fn first_of(self, preferred: Self) -> usize {
        let both = self & preferred;
        if both.is_empty() { self } else { both }.first()
    }

    /// `width` bits from `index` on.
    fn part(self, index: usize, width: usize) -> u32;

    /// The set of all members behind `index`.
    fn all_behind(index: usize) -> Self;

    /// Its first member behind `index`, going round; it has one.
    #[inline(always)]
    fn first_behind(self, index: usize) -> usize {
        let after = self.behind(index);
        if after.is_empty() { self.first() } else { after.first() }
    }
}

macro_rules! mask {
    ($($word:ty),+) => { $(
        impl Mask for $word {
            #[inline(always)]
            fn bit(index: usize) -> Self {
                1 << index
            }
            #[inline(always)]
            fn bit_if(index: usize, wanted: bool) -> Self {
                <$word>::from(wanted) << index
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
            fn behind(self, index: usize) -> Self {
                self & Self::all_behind(index)
            }
            #[inline(always)]
            fn all_behind(index: usize) -> Self {
                // two shifts, since one of the whole word is none
                <$word>::MAX << index << 1
            }
            #[inline(always)]
            fn part(self, index: usize, width: usize) -> u32 {
                (self >> index) as u32 & ((1_u64 << width) - 1) as u32
            }
        }
    )+ };
}

mask!(u8, u16, u32, u64, u128);
