//! Bytes that other processes may write or read: only pointers, never references that outlive a copy.
#![allow(unsafe_code, reason = "memory that is shared between processes is reached through pointers")]

use std::ops::Range;

use crate::element::{ElementType, Reduction};

/// A range of bytes, of this process or shared.
///
/// Whoever makes one promises that the bytes stay mapped as long as it is used, and that the schedule keeps writers and
/// readers apart: what is read was completed before the flag that was waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    at: *mut u8,
    length: usize,
}

impl View {
    /// The bytes at `at`.
    ///
    /// # Safety
    /// They are mapped, and writable if they are written, as long as the view is used; see the type.
    pub(crate) const unsafe fn new(at: *mut u8, length: usize) -> Self {
        Self { at, length }
    }

    /// Bytes to be read during a call that borrows them.
    pub(crate) const fn reading(bytes: &[u8]) -> Self {
        Self { at: bytes.as_ptr().cast_mut(), length: bytes.len() }
    }

    /// Bytes to be written during a call that borrows them.
    pub(crate) const fn writing(bytes: &mut [u8]) -> Self {
        Self { at: bytes.as_mut_ptr(), length: bytes.len() }
    }

    pub(crate) const fn length(self) -> usize {
        self.length
    }

    pub(crate) fn address(self) -> usize {
        self.at.addr()
    }

    /// Numbers to be read during a call that borrows them.
    pub(crate) const fn of_numbers(numbers: &[f32]) -> Self {
        Self { at: numbers.as_ptr().cast_mut().cast(), length: size_of_val(numbers) }
    }

    /// Numbers to be written during a call that borrows them.
    pub(crate) const fn of_numbers_mut(numbers: &mut [f32]) -> Self {
        Self { at: numbers.as_mut_ptr().cast(), length: size_of_val(numbers) }
    }

    /// The bytes, to be read while nobody writes them.
    pub(crate) const fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: mapped (see the type); the caller lets go of it before the schedule lets others write.
        unsafe { std::slice::from_raw_parts(self.at, self.length) }
    }

    /// The bytes, to be written while nobody else touches them.
    pub(crate) const fn bytes_mut<'a>(self) -> &'a mut [u8] {
        // SAFETY: as above, and nobody else has them now.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.length) }
    }

    /// A part of it.
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.length, "{range:?} of {} bytes", self.length);
        // SAFETY: inside of the view, which is mapped.
        Self { at: unsafe { self.at.add(range.start) }, length: range.len() }
    }

    /// Copies `from` here; nothing happens when it is the same place.
    pub(crate) fn copy(self, from: Self) {
        assert_eq!(self.length, from.length, "a copy of the same length");
        if self.at != from.at {
            // SAFETY: both are mapped (see the type), and `copy` allows that they overlap.
            unsafe { std::ptr::copy(from.at, self.at, self.length) }
        }
    }

    /// The bytes as numbers, to be read while nobody writes them.
    ///
    /// # Panics
    /// When they are not aligned or not whole.
    pub(crate) fn numbers<'a>(self) -> &'a [f32] {
        let aligned = self.address().is_multiple_of(align_of::<f32>()) && self.length.is_multiple_of(4);
        assert!(aligned, "{} bytes at {:#x}", self.length, self.address());
        // SAFETY: mapped, aligned and whole; every pattern of bits is a number. The caller lets go of it before the
        // schedule lets others write.
        unsafe { std::slice::from_raw_parts(self.at.cast(), self.length / 4) }
    }

    /// The same, to be written while nobody else touches them.
    ///
    /// # Panics
    /// As [`Self::numbers`].
    pub(crate) fn numbers_mut<'a>(self) -> &'a mut [f32] {
        let aligned = self.address().is_multiple_of(align_of::<f32>()) && self.length.is_multiple_of(4);
        assert!(aligned, "{} bytes at {:#x}", self.length, self.address());
        // SAFETY: as above, and this rank is the only one that has it now.
        unsafe { std::slice::from_raw_parts_mut(self.at.cast(), self.length / 4) }
    }

    /// Combines what is here with `from`, which is another place.
    pub(crate) fn reduce(self, from: Self, element: ElementType, reduction: Reduction) {
        if self.length == 0 && from.length == 0 {
            return;
        }
        // SAFETY: both are mapped; the schedule lets nobody else touch them now, and the places differ, as results are
        // never summed in a contribution.
        let (into, from) = unsafe {
            (
                std::slice::from_raw_parts_mut(self.at, self.length),
                std::slice::from_raw_parts(from.at, from.length),
            )
        };
        reduction.apply(element, into, from);
    }
}
