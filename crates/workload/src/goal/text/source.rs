//! A window that moves over a text, so that a text of any size needs little memory.

use std::io::{self, Read};

use super::cursor::Cursor;
use crate::goal::{FormatError, Place, ReadError};

/// Bytes that are read ahead.
const WINDOW: usize = 1 << 20;
/// Longest statement, with the comments inside of it.
const LONGEST_STATEMENT: usize = 16 << 20;

/// The part of a text that is in memory, and where it lies in the text.
pub(super) struct Source<R> {
    source: R,
    bytes: Vec<u8>,
    /// Bytes of the window that hold text.
    end: usize,
    /// Bytes of the text before the end of the window.
    total: u64,
    ended: bool,
    /// Line of the window's first byte.
    line: u64,
    /// Characters of that line before the window.
    columns: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, bytes: vec![0; WINDOW], end: 0, total: 0, ended: false, line: 1, columns: 0 }
    }

    /// A cursor at the beginning of the window.
    pub(super) fn cursor(&self, strict: bool) -> Cursor<'_> {
        Cursor::new(&self.bytes[..self.end], self.ended, self.line, self.columns, strict)
    }

    /// Bytes read so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Leaves out the first `bytes` bytes of the window, which end at `place`, and reads more behind it.
    pub(super) fn advance(&mut self, bytes: usize, place: Place) -> Result<(), ReadError> {
        let Place::Line { line, column } = place else { unreachable!("places in a text are lines") };
        (self.line, self.columns) = (line, column - 1);
        self.bytes.copy_within(bytes..self.end, 0);
        self.end -= bytes;
        if self.end == self.bytes.len() {
            if self.end >= LONGEST_STATEMENT {
                let reason =
                    format!("a statement of more than {} MiB; is it GOAL text?", LONGEST_STATEMENT >> 20);
                return Err(FormatError::new(place, reason).into());
            }
            self.bytes.resize(2 * self.end, 0);
        }
        // a reader may give little at a time: the window is filled, or statements would be read again
        while self.end < self.bytes.len() {
            match self.source.read(&mut self.bytes[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => {
                    self.end += read;
                    self.total += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
