//! A place in the window, and the tokens that follow it.

use std::cell::Cell;

use super::strict::Rule;
use crate::goal::{FormatError, Place};

/// What a token should have been.
#[derive(Debug)]
pub(super) struct Problem {
    /// Byte of the window.
    pub(super) at: usize,
    /// Instead of `at`.
    pub(super) place: Option<Place>,
    pub(super) reason: String,
}

impl Problem {
    /// A problem at a byte of the window.
    #[cold]
    pub(super) fn at(at: usize, reason: impl Into<String>) -> Box<Self> {
        Box::new(Self { at, place: None, reason: reason.into() })
    }

    /// A problem at a place of the text.
    #[cold]
    pub(super) fn again(error: FormatError) -> Box<Self> {
        Box::new(Self { at: 0, place: Some(error.place), reason: error.reason })
    }
}

/// What other tools would object to, while a statement is read.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) rule: Rule,
    /// Byte of the window.
    pub(super) at: usize,
    pub(super) text: String,
}

/// A place to come back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) at: usize,
    line: u64,
    line_start: usize,
    notes: usize,
}

/// Walks over the bytes of a window.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    /// Whether the text ends with the window.
    ended: bool,
    /// Whether something was looked for behind the window: what was read since is to be read again.
    pub(super) starved: bool,
    pub(super) line: u64,
    /// First byte of the line; 0 also if the line began before the window.
    line_start: usize,
    /// Characters of the window's first line before the window.
    columns: u64,
    /// A byte whose place was asked for, and its column: lines may be long, and much may be wrong with them.
    counted: Cell<(usize, u64)>,
    /// A comment inside of a statement that does not end.
    pub(super) open_comment: Option<usize>,
    strict: bool,
    pub(super) notes: Vec<Note>,
}

/// Whether a byte may stand in a label.
pub(super) const fn in_word(byte: u8) -> bool {
    WORD[byte as usize]
}

const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], ended: bool, line: u64, columns: u64, strict: bool) -> Self {
        Self {
            bytes,
            at: 0,
            ended,
            starved: false,
            line,
            line_start: 0,
            columns,
            counted: Cell::new((0, columns)),
            open_comment: None,
            strict,
            notes: Vec::new(),
        }
    }

    /// The next byte; 0 behind the window.
    #[inline]
    pub(super) fn peek(&mut self) -> u8 {
        match self.bytes.get(self.at) {
            Some(&byte) => byte,
            None => self.beyond(),
        }
    }

    #[cold]
    fn beyond(&mut self) -> u8 {
        self.starved |= !self.ended;
        0
    }

    /// Whether the text ends here.
    pub(super) fn at_end(&self) -> bool {
        self.ended && self.at == self.bytes.len()
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    #[inline]
    pub(super) fn mark(&self) -> Mark {
        Mark { at: self.at, line: self.line, line_start: self.line_start, notes: self.notes.len() }
    }

    #[inline]
    pub(super) fn rewind(&mut self, mark: Mark) {
        (self.at, self.line, self.line_start) = (mark.at, mark.line, mark.line_start);
        self.notes.truncate(mark.notes);
        self.open_comment = None;
    }

    /// Goes over a byte that ends a line.
    #[inline]
    pub(super) fn newline(&mut self) {
        self.at += 1;
        self.line += 1;
        self.line_start = self.at;
    }

    /// Goes over blanks and ends of lines.
    pub(super) fn space(&mut self) {
        let space = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\n');
        self.skip(self.rest().iter().take_while(space).count());
    }

    /// Goes over bytes, with the ends of lines among them.
    pub(super) fn skip(&mut self, bytes: usize) {
        for at in self.at..self.at + bytes {
            if self.bytes[at] == b'\n' {
                self.line += 1;
                self.line_start = at + 1;
            }
        }
        self.at += bytes;
    }

    /// The place of a byte that is behind the cursor, or under it.
    pub(super) fn place(&self, at: usize) -> Place {
        let (mut line, mut start) = (self.line, self.line_start);
        while at < start {
            line -= 1;
            start = self.bytes[..start - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        }
        let (mut from, mut column) = self.counted.get();
        if from < start || from > at {
            (from, column) = (start, if start == 0 { self.columns } else { 0 });
        }
        let begins = |byte: &&u8| **byte & 0xC0 != 0x80;
        column += self.bytes[from..at].iter().filter(begins).count() as u64;
        self.counted.set((at, column));
        let column = column + 1;
        Place::Line { line, column }
    }

    /// Remembers what other tools would object to; numbers that do not mean what they say in any case.
    #[cold]
    pub(super) fn note(&mut self, rule: Rule, at: usize, text: impl FnOnce() -> String) {
        if self.strict || rule == Rule::Wraps {
            self.notes.push(Note { rule, at, text: text() });
        }
    }

    /// Goes over blanks and comments inside of a statement; whether there were any.
    #[inline(always)]
    pub(super) fn blanks(&mut self) -> bool {
        match self.peek() {
            b' ' => {
                self.at += 1;
                // one blank is what there mostly is
                if matches!(self.peek(), b' ' | b'\t' | b'\r' | b'/') {
                    self.more_blanks();
                }
                true
            }
            b'\t' | b'\r' | b'/' => self.more_blanks(),
            _ => false,
        }
    }

    #[cold]
    fn more_blanks(&mut self) -> bool {
        let start = self.at;
        loop {
            match self.peek() {
                b' ' | b'\t' => self.at += 1,
                b'\r' => self.carriage_return(),
                b'/' if self.comment() => {}
                _ => return self.at > start,
            }
        }
    }

    /// Goes over a `\r`, which is nothing before the end of a line.
    pub(super) fn carriage_return(&mut self) {
        let at = self.at;
        self.at += 1;
        if self.peek() != b'\n' {
            self.note(Rule::CarriageReturn, at, || "a carriage return that ends no line".to_owned());
        }
    }

    /// Goes over a comment inside of a statement, if there is one.
    #[cold]
    fn comment(&mut self) -> bool {
        let start = self.at;
        self.at += 1;
        let kind = self.peek();
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let length = match kind {
            // what stands behind a carriage return that ends no line is no part of the statement, and is refused as such
            b'/' => rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')),
            b'*' => rest[1..].windows(2).position(|pair| pair == b"*/").map(|at| at + 3),
            _ => {
                self.at = start;
                return false;
            }
        };
        if length.is_none() && kind == b'*' {
            self.open_comment = Some(start);
        }
        self.skip(length.unwrap_or(rest.len()));
        if length.is_none() {
            self.beyond();
        }
        self.note(Rule::Comment, start, || "a comment inside of a statement".to_owned());
        true
    }

    /// The letters, digits and underscores that follow.
    #[inline(always)]
    pub(super) fn word(&mut self) -> &'a [u8] {
        let start = self.at;
        while in_word(self.peek()) {
            self.at += 1;
        }
        &self.bytes[start..self.at]
    }

    /// Goes over `literal`, if it follows.
    #[inline(always)]
    pub(super) fn literal<const N: usize>(&mut self, literal: &[u8; N]) -> bool {
        let rest = self.rest();
        if rest.first_chunk() == Some(literal) {
            self.at += N;
            return true;
        }
        if rest.len() < N && literal.starts_with(rest) {
            self.beyond();
        }
        false
    }

    /// The whole number that follows, modulo 2^64 as the other tools count; `what` it should be.
    #[inline(always)]
    pub(super) fn number(&mut self, what: &str) -> Result<u64, Box<Problem>> {
        let start = self.at;
        let mut value = 0_u64;
        loop {
            let digit = self.peek().wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        match self.at - start {
            0 => Err(self.expected(what)),
            1..=19 => Ok(value),
            _ => {
                self.long_number(start, what, value);
                Ok(value)
            }
        }
    }

    #[cold]
    fn long_number(&mut self, start: usize, what: &str, value: u64) {
        let digits = &self.bytes[start..self.at];
        let fits = str::from_utf8(digits).is_ok_and(|digits| digits.parse::<u64>().is_ok());
        if !fits {
            self.note(Rule::Wraps, start, || {
                format!("{what} of {} is taken modulo 2^64: {value}", quote(digits))
            });
        }
    }

    /// The word, number or character at a byte of the window, for a message.
    pub(super) fn token(&self, at: usize) -> String {
        let rest = &self.bytes[at..];
        let length = rest.iter().position(|byte| !in_word(*byte)).unwrap_or(rest.len());
        match rest.first() {
            None => "the end of the file".to_owned(),
            Some(b'\n') => "the end of the line".to_owned(),
            Some(b'\r') if rest.get(1) == Some(&b'\n') => "the end of the line".to_owned(),
            Some(b'-') => quote(&rest[..1 + rest[1..].iter().take_while(|byte| in_word(**byte)).count()]),
            _ if length > 0 => quote(&rest[..length]),
            _ => {
                let character = rest[..rest.len().min(4)]
                    .utf8_chunks()
                    .next()
                    .and_then(|chunk| chunk.valid().chars().next());
                character.map_or_else(
                    || format!("the byte 0x{:02X}", rest[0]),
                    |found| match found.is_control() {
                        true => format!("`{}`", found.escape_default()),
                        false => format!("`{found}`"),
                    },
                )
            }
        }
    }

    /// What is here is not `what` it should be.
    #[cold]
    pub(super) fn expected(&self, what: &str) -> Box<Problem> {
        Problem::at(self.at, format!("expected {what}, found {}", self.token(self.at)))
    }
}

/// Where a comment that goes to the end of its line has a carriage return that ends none: a line in the manner of old Macs, of which
/// the comment would swallow the next.
pub(super) fn lost_line(comment: &[u8]) -> Option<usize> {
    comment.windows(2).position(|pair| pair[0] == b'\r' && pair[1] != b'\n')
}

/// A word in back-quotes, cut where it is long.
pub(super) fn quote(word: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(&word[..word.len().min(MOST)]);
    format!("`{text}{}`", if word.len() > MOST { "..." } else { "" })
}
