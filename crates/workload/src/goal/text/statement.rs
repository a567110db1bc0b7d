//! The statements of a rank: operations and dependencies.

use stratasim_core::error::nearest;

use super::cursor::{Cursor, Problem, quote};
use super::labels::label_number;
use super::strict::Rule;
use crate::goal::{ANY, Operation, OperationKind};

/// A label as it stands in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label<'a> {
    pub(super) word: &'a [u8],
    /// Its number, if it is like `l17`.
    pub(super) number: Option<u32>,
    /// Byte of the window.
    pub(super) at: usize,
}

/// One statement.
#[derive(Debug)]
pub(super) enum Statement<'a> {
    Operation { label: Option<Label<'a>>, operation: Operation },
    Dependency { after: Label<'a>, before: Label<'a>, on_start: bool },
}

/// What LogGOPSim2 adds to GOAL.
const PORTALS: [&[u8]; 8] = [b"append", b"put", b"get", b"tappend", b"tput", b"tget", b"test", b"calcgem5"];

impl<'a> Label<'a> {
    fn new(word: &'a [u8], at: usize) -> Self {
        Self { word, number: label_number(word), at }
    }

    /// The label as text.
    pub(super) fn text(&self) -> &'a str {
        str::from_utf8(self.word).unwrap_or_default()
    }
}

impl<'a> Cursor<'a> {
    /// The rest of a statement that begins with `word` at byte `at`.
    #[inline]
    pub(super) fn statement(&mut self, word: &'a [u8], at: usize) -> Result<Statement<'a>, Box<Problem>> {
        let mark = self.mark();
        self.blanks();
        if self.peek() == b':' {
            self.at += 1;
            self.blanks();
            if matches!(
                word,
                b"send" | b"recv" | b"calc" | b"rank" | b"num_ranks" | b"requires" | b"irequires"
            ) {
                self.note(Rule::Keyword, at, || format!("the label {} is also a word of GOAL", quote(word)));
            }
            let label = Label::new(word, at);
            let at = self.at;
            let word = self.word();
            let operation = match self.operation(word) {
                Some(operation) => operation?,
                None => return Err(self.not_an_operation(word, at)),
            };
            return Ok(Statement::Operation { label: Some(label), operation });
        }
        let after = self.mark();
        self.rewind(mark);
        if let Some(operation) = self.operation(word) {
            return Ok(Statement::Operation { label: None, operation: operation? });
        }
        self.rewind(after);
        let keyword = self.at;
        let on_start = match self.word() {
            b"requires" => false,
            b"irequires" => true,
            _ => return Err(self.not_a_statement(word, at, keyword)),
        };
        if !self.blanks() {
            return Err(self.expected("a blank and a label"));
        }
        let before = self.at;
        let label = self.word();
        if !label.first().is_some_and(u8::is_ascii_alphabetic) {
            self.at = before;
            return Err(self.expected("the label of the operation that is waited for"));
        }
        Ok(Statement::Dependency { after: Label::new(word, at), before: Label::new(label, before), on_start })
    }

    /// The operation whose first word is `word`, if it is one.
    #[inline]
    fn operation(&mut self, word: &[u8]) -> Option<Result<Operation, Box<Problem>>> {
        match word {
            b"send" => Some(self.message(OperationKind::Send)),
            b"recv" => Some(self.message(OperationKind::Receive)),
            b"calc" => Some(self.calc()),
            _ => None,
        }
    }

    #[inline]
    fn message(&mut self, kind: OperationKind) -> Result<Operation, Box<Problem>> {
        let send = kind == OperationKind::Send;
        self.blanks();
        let size = self.number("a size in bytes")?;
        self.blanks();
        if !self.literal(b"b") {
            return Err(self.expected("`b` (bytes) after the size"));
        }
        self.blanks();
        if !(if send { self.literal(b"to") } else { self.literal(b"from") }) {
            return Err(self.expected(if send { "`to` and a rank" } else { "`from` and a rank" }));
        }
        self.blanks();
        let peer = if send {
            if self.peek() == b'-' {
                return Err(self.expected("a rank (only recv may say -1, from any)"));
            }
            self.number32("a rank")?
        } else {
            self.number_or_any("a rank")?
        };
        let mut operation = Operation { kind, size, peer, tag: 0, cpu: 0, nic: 0 };
        let mut end = self.mark();
        if self.option(b"tag") {
            operation.tag = self.number_or_any("a tag")?;
            end = self.mark();
        }
        if self.option(b"cpu") {
            operation.cpu = self.number8("a cpu")?;
            end = self.mark();
        }
        if self.option(b"nic") {
            operation.nic = self.number8("a nic")?;
            end = self.mark();
        }
        self.rewind(end);
        Ok(operation)
    }

    fn calc(&mut self) -> Result<Operation, Box<Problem>> {
        self.blanks();
        let mut operation = Operation::calc(self.number("a duration in ns")?);
        let mut end = self.mark();
        if self.option(b"cpu") {
            operation.cpu = self.number8("a cpu")?;
            end = self.mark();
        }
        self.rewind(end);
        Ok(operation)
    }

    /// Goes over the name of an option and the blanks around it, if it follows.
    #[inline(always)]
    fn option(&mut self, name: &[u8; 3]) -> bool {
        if self.peek() == b'\n' {
            return false;
        }
        self.blanks();
        let found = self.literal(name);
        if found {
            self.blanks();
        }
        found
    }

    /// A number that is kept in 32 bits.
    #[inline]
    fn number32(&mut self, what: &str) -> Result<u32, Box<Problem>> {
        let at = self.at;
        let value = self.number(what)?;
        if value > u64::from(u32::MAX) {
            self.note(Rule::Wraps, at, || {
                format!("{what} of {value} is taken modulo 2^32: {}", value as u32)
            });
        }
        Ok(value as u32)
    }

    /// A number that is kept in 8 bits.
    #[inline]
    fn number8(&mut self, what: &str) -> Result<u16, Box<Problem>> {
        let at = self.at;
        let value = self.number(what)?;
        if value > u64::from(u8::MAX) {
            self.note(Rule::Wraps, at, || format!("{what} of {value} is taken modulo 256: {}", value as u8));
        }
        Ok(u16::from(value as u8))
    }

    /// A number of 32 bits, or -1.
    #[inline]
    fn number_or_any(&mut self, what: &str) -> Result<u32, Box<Problem>> {
        let at = self.at;
        if self.peek() != b'-' {
            if !self.peek().is_ascii_digit() {
                return Err(self.expected(&format!("{what}, or -1 for any")));
            }
            let value = self.number(what)?;
            if value >= u64::from(ANY) {
                self.note(Rule::Wraps, at, || match (value as u32, value >> 32) {
                    (ANY, 0) => format!("{what} of {value} is taken as -1: any"),
                    (ANY, _) => format!("{what} of {value} is taken modulo 2^32: -1, any"),
                    (rest, _) => format!("{what} of {value} is taken modulo 2^32: {rest}"),
                });
            }
            return Ok(value as u32);
        }
        self.at += 1;
        let digits = self.word();
        // what follows may be the next option: `tag -1cpu 2`
        let rest = digits.strip_prefix(b"1").filter(|rest| !rest.first().is_some_and(u8::is_ascii_digit));
        let Some(rest) = rest else {
            self.at = at;
            return Err(self.expected(&format!("{what}, or -1 for any")));
        };
        self.at -= rest.len();
        Ok(ANY)
    }

    #[cold]
    fn not_an_operation(&self, word: &[u8], at: usize) -> Box<Problem> {
        Problem::at(at, format!("expected send, recv or calc, found {}{}", self.token(at), hint(word)))
    }

    #[cold]
    fn not_a_statement(&mut self, word: &[u8], at: usize, next: usize) -> Box<Problem> {
        if !hint(word).is_empty() {
            return Problem::at(at, format!("expected an operation, found {}{}", quote(word), hint(word)));
        }
        Problem::at(
            next,
            format!(
                "expected `:`, `requires` or `irequires` after {}, found {}",
                quote(word),
                self.token(next)
            ),
        )
    }
}

/// What a word that is no operation may have been meant to be.
fn hint(word: &[u8]) -> String {
    if PORTALS.contains(&word) {
        return ", a word of LogGOPSim2's extended GOAL, which is not read".to_owned();
    }
    for name in ["send", "recv", "calc"] {
        let digits = word.strip_prefix(name.as_bytes()).unwrap_or_default();
        if !digits.is_empty() && digits[0].is_ascii_digit() {
            return format!(": a blank is missing after `{name}`");
        }
    }
    let lower = String::from_utf8_lossy(word).to_lowercase();
    nearest(&lower, ["send", "recv", "calc"])
        .filter(|near| near.as_bytes().first() == lower.as_bytes().first() && lower.len() > 2)
        .map_or_else(String::new, |near| format!(", did you mean `{near}`?"))
}
