//! Bytes of a file in order, with the place of each.

use std::fmt;
use std::io::{ErrorKind, Read};

use super::error::{FormatError, Place, ReadError};

/// Most bytes that can be asked for at once.
pub(super) const MOST: usize = 1 << 18;

/// What is wrong at a byte of a file.
pub(super) fn wrong_at(at: u64, reason: impl Into<String>) -> ReadError {
    FormatError::new(Place::Byte(at), reason).into()
}

/// A file that is read once, from its beginning to its end, through a buffer of [`MOST`] bytes.
#[derive(Debug)]
pub(super) struct Source<R> {
    inner: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the file before the buffer.
    before: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, buffer: vec![0; MOST], start: 0, end: 0, before: 0 }
    }

    /// Where the next byte stands.
    pub(super) fn at(&self) -> u64 {
        self.before + self.start as u64
    }

    /// An error at the next byte.
    pub(super) fn error(&self, reason: impl Into<String>) -> ReadError {
        wrong_at(self.at(), reason)
    }

    /// The next bytes, without passing them: `count`, or fewer where the file ends.
    pub(super) fn peek(&mut self, count: usize) -> Result<&[u8], ReadError> {
        debug_assert!(count <= MOST, "the buffer has {MOST} bytes");
        if self.end - self.start < count {
            self.buffer.copy_within(self.start..self.end, 0);
            self.before += self.start as u64;
            self.end -= self.start;
            self.start = 0;
            while self.end < count {
                match self.inner.read(&mut self.buffer[self.end..]) {
                    Ok(0) => break,
                    Ok(bytes) => self.end += bytes,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + count)])
    }

    /// The next `count` bytes, which belong to `what`.
    pub(super) fn take(&mut self, count: usize, what: fmt::Arguments<'_>) -> Result<&[u8], ReadError> {
        let there = self.peek(count)?.len();
        if there < count {
            let end = self.at() + there as u64;
            let reason = format!("the file ends within {what}; {} more bytes expected", count - there);
            return Err(wrong_at(end, reason));
        }
        self.start += count;
        Ok(&self.buffer[self.start - count..self.start])
    }

    /// Appends the next `count` bytes to `out`, which grows no faster than the file is read.
    pub(super) fn append(
        &mut self,
        out: &mut Vec<u8>,
        mut count: usize,
        what: fmt::Arguments<'_>,
    ) -> Result<(), ReadError> {
        while count > 0 {
            let piece = count.min(MOST);
            out.extend_from_slice(self.take(piece, what)?);
            count -= piece;
        }
        Ok(())
    }

    /// Forgets what was read: goes on at `at`, where the caller has put the file.
    pub(super) fn restart(&mut self, at: u64) {
        (self.start, self.end, self.before) = (0, 0, at);
    }

    /// The file.
    pub(super) fn inner(&mut self) -> &mut R {
        &mut self.inner
    }
}
