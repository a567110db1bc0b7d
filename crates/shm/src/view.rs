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
