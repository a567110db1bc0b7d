//! The blocks of a text: which rank a statement belongs to, and which operations its labels name.

use std::collections::BTreeSet;
use std::io::Read;

use super::cursor::{Cursor, Problem, lost_line, quote};
use super::labels::Labels;
use super::source::Source;
use super::statement::{Label, Statement};
use super::strict::Rule;
use crate::goal::file::UTF_16;
use crate::goal::{Edge, FormatError, Operation, Place, ReadError};

/// Takes what a text says. Blocks come in the order of the text.
pub(super) trait Sink {
    /// Whether complaints are wanted. If so, parsing goes on behind errors.
    const STRICT: bool;

    /// The block of `rank` begins.
    fn open(&mut self, rank: u32, ranks: u32);

    /// The next operation of the block, its place being `place`.
    fn operation(&mut self, operation: Operation, place: u32, label: Option<&Label<'_>>);

    /// `after` waits for `before`, both of the block.
    fn dependency(&mut self, after: u32, before: u32, on_start: bool);

    /// The block ends.
    fn close(&mut self) -> Result<(), String>;

    /// Other tools would refuse or change something.
    fn complain(&mut self, rule: Rule, place: Place, text: String);

    /// Something cannot be read.
    fn problem(&mut self, error: FormatError) -> Result<(), FormatError>;
}

/// Reads a text into a sink; the sink and the number of ranks.
pub(super) fn parse<S: Sink>(source: &mut dyn Read, sink: S) -> Result<(S, u32), ReadError> {
    let mut source = Source::new(source);
    source.advance(0, Place::Line { line: 1, column: 1 })?;
    let mut parser = Parser {
        sink,
        ranks: None,
        next: 0,
        early: BTreeSet::new(),
        block: None,
        labels: Labels::default(),
        late: Vec::new(),
        unknown: Vec::new(),
        hints: 0,
        comment: Comment::No,
        after_statement: false,
        after_blank: false,
    };
    loop {
        let mut cursor = source.cursor(S::STRICT);
        let finished = parser.run(&mut cursor)?;
        let (at, place) = (cursor.at, cursor.place(cursor.at));
        if finished {
            parser.finish(place, source.total())?;
            return Ok((parser.sink, parser.ranks.unwrap_or(0)));
        }
        source.advance(at, place)?;
    }
}

pub(super) struct Parser<S> {
    pub(super) sink: S,
    pub(super) ranks: Option<u32>,
    /// The blocks of all ranks below are complete.
    pub(super) next: u32,
    /// Ranks above `next` whose blocks are complete.
    pub(super) early: BTreeSet<u32>,
    pub(super) block: Option<Block>,
    /// Labels of the block.
    pub(super) labels: Labels,
    /// Dependencies of the block, from the first one whose labels are not all defined.
    pub(super) late: Vec<Late>,
    /// Labels in `late` that are not defined yet, in order.
    pub(super) unknown: Vec<Unknown>,
    /// Labels that no operation has.
    pub(super) hints: u32,
    pub(super) comment: Comment,
    /// Whether a statement stands on the line.
    pub(super) after_statement: bool,
    /// Whether blanks stand before what comes.
    pub(super) after_blank: bool,
}

pub(super) struct Block {
    pub(super) rank: u32,
    pub(super) line: u64,
    pub(super) operations: u32,
    /// Whether it cannot be the rank's block; read only to find more that is wrong.
    pub(super) ignored: bool,
}

pub(super) struct Late {
    pub(super) after: u32,
    pub(super) before: u32,
    pub(super) on_start: bool,
}

pub(super) struct Unknown {
    pub(super) late: usize,
    /// Which side of the dependency.
    pub(super) before: bool,
    pub(super) word: Box<[u8]>,
    pub(super) number: Option<u32>,
    pub(super) place: Place,
}

/// Whether the cursor is in a comment between statements.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Comment {
    No,
    Line,
    /// With its beginning.
    Block(Place),
}

pub(super) enum Step {
    Done,
    /// The text ends, or its last rank.
    End,
}

impl<S: Sink> Parser<S> {
    /// Reads as much of the window as can be; whether the text has ended. The cursor is left behind what
    /// was read.
    fn run(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, FormatError> {
        loop {
            let start = cursor.mark();
            let step = self.step(cursor);
            if cursor.starved {
                cursor.rewind(start);
                if self.comment == Comment::No {
                    // so that the place, should it be asked for, is that of the statement
                    cursor.space();
                }
                return Ok(false);
            }
            if !cursor.notes.is_empty() {
                self.take_notes(cursor);
            }
            match step {
                Ok(Step::Done) => {}
                Ok(Step::End) => return Ok(true),
                Err(problem) => {
                    let error = match (cursor.open_comment, problem.place) {
                        (Some(at), _) => FormatError::new(cursor.place(at), ENDLESS),
                        (None, Some(place)) => FormatError::new(place, problem.reason),
                        (None, None) => FormatError::new(cursor.place(problem.at), problem.reason),
                    };
                    self.sink.problem(error)?;
                    cursor.open_comment = None;
                    self.comment = Comment::Line;
                }
            }
        }
    }

    /// Reads the next token that decides something, with its statement. What it reads has an effect only if
    /// it lies in the window as a whole.
    fn step(&mut self, cursor: &mut Cursor<'_>) -> Result<Step, Box<Problem>> {
        if self.comment != Comment::No {
            return self.skip_comment(cursor);
        }
        loop {
            match cursor.peek() {
                b'\n' => {
                    cursor.newline();
                    self.after_statement = false;
                    self.after_blank = false;
                }
                b'a'..=b'z' | b'A'..=b'Z' => return self.word(cursor),
                b' ' | b'\t' => {
                    cursor.at += 1;
                    self.after_blank = true;
                }
                b'\r' => cursor.carriage_return(),
                b'/' => return self.open_comment(cursor),
                b'}' if !self.complete() => return self.close(cursor),
                _ if cursor.starved || cursor.at_end() => return Ok(Step::End),
                _ => return self.other(cursor),
            }
        }
    }

    /// Whether all ranks are read; what follows does not count.
    pub(super) fn complete(&self) -> bool {
        self.block.is_none() && self.ranks == Some(self.next)
    }

    #[inline]
    fn word(&mut self, cursor: &mut Cursor<'_>) -> Result<Step, Box<Problem>> {
        let at = cursor.at;
        let word = cursor.word();
        let Some(block) = &self.block else { return self.between(cursor, word, at) };
        if self.after_statement {
            cursor.at = at;
            return Err(unfinished(cursor, word));
        }
        let statement = match cursor.statement(word, at) {
            Err(_) if matches!(word, b"rank" | b"num_ranks") => {
                let reason = format!(
                    "{} inside of the block of rank {} (line {}); is its `}}` missing?",
                    quote(word),
                    block.rank,
                    block.line
                );
                return Err(Problem::at(at, reason));
            }
            statement => statement?,
        };
        if !cursor.starved {
            self.statement(cursor, at, statement)?;
        }
        Ok(Step::Done)
    }

    #[inline]
    fn statement(
        &mut self,
        cursor: &Cursor<'_>,
        at: usize,
        statement: Statement<'_>,
    ) -> Result<(), Box<Problem>> {
        self.after_statement = true;
        if S::STRICT && self.after_blank {
            self.complain(cursor, Rule::Indentation, at, || "blanks before a statement".to_owned());
        }
        match statement {
            Statement::Operation { label, operation } => {
                let Some(block) = &mut self.block else { unreachable!("statements stand in blocks") };
                let place = block.operations;
                if place == Edge::MOST {
                    return Err(Problem::at(at, format!("more than {} operations in a rank", Edge::MOST)));
                }
                block.operations += 1;
                let taken =
                    label.as_ref().is_some_and(|label| !self.labels.define(label.word, label.number, place));
                self.sink.operation(operation, place, label.as_ref());
                if S::STRICT {
                    if let Some(label) = label.filter(|_| taken) {
                        self.complain(cursor, Rule::DuplicateLabel, label.at, || {
                            format!("a second label {}; it stays with the first operation", quote(label.word))
                        });
                    }
                    self.check_peer(cursor, at, operation);
                }
            }
            Statement::Dependency { after, before, on_start } => {
                let first = self.labels.find(after.word, after.number);
                let second = self.labels.find(before.word, before.number);
                if S::STRICT && after.word == before.word {
                    self.complain(cursor, Rule::SelfDependency, at, || {
                        format!("{} waits for itself, so it never runs", quote(after.word))
                    });
                }
                match (first, second) {
                    (Some(after), Some(before)) if self.late.is_empty() => {
                        self.sink.dependency(after, before, on_start);
                    }
                    _ => {
                        for (place, label, before) in [(first, after, false), (second, before, true)] {
                            if place.is_none() {
                                self.unknown.push(Unknown {
                                    late: self.late.len(),
                                    before,
                                    word: label.word.into(),
                                    number: label.number,
                                    place: cursor.place(label.at),
                                });
                            }
                        }
                        let [after, before] = [first, second].map(|place| place.unwrap_or(u32::MAX));
                        self.late.push(Late { after, before, on_start });
                    }
                }
            }
        }
        Ok(())
    }

    fn open_comment(&mut self, cursor: &mut Cursor<'_>) -> Result<Step, Box<Problem>> {
        let at = cursor.at;
        cursor.at += 1;
        let comment = match cursor.peek() {
            b'/' => Comment::Line,
            b'*' => Comment::Block(cursor.place(at)),
            _ if cursor.starved => return Ok(Step::Done),
            _ => {
                cursor.at = at;
                return self.other(cursor);
            }
        };
        cursor.at += 1;
        self.comment = comment;
        if S::STRICT && self.after_statement && !self.complete() {
            self.complain(cursor, Rule::Comment, at, || "a comment on the line of a statement".to_owned());
        }
        Ok(Step::Done)
    }

    /// Goes to the end of a comment, or of the window.
    fn skip_comment(&mut self, cursor: &mut Cursor<'_>) -> Result<Step, Box<Problem>> {
        let rest = cursor.rest();
        let line = cursor.line;
        let (length, last) = match self.comment {
            Comment::Block(_) => (rest.windows(2).position(|pair| pair == b"*/").map(|at| at + 2), 1),
            _ => (rest.iter().position(|byte| *byte == b'\n'), 0),
        };
        if matches!(self.comment, Comment::Line)
            && !self.complete()
            && let Some(at) = lost_line(&rest[..length.unwrap_or(rest.len())])
        {
            let reason = "a carriage return within a comment, which ends no line; end lines with a line feed";
            let place = cursor.at + at;
            // who reads on begins behind it
            cursor.skip(at + 1);
            return Err(Problem::at(place, reason.to_owned()));
        }
        if let Some(length) = length {
            self.comment = Comment::No;
            cursor.skip(length);
        } else if rest.len() > last {
            cursor.skip(rest.len() - last);
        } else {
            // nothing is left of the window
            cursor.at += rest.len();
            cursor.peek();
            if !cursor.starved
                && let Comment::Block(place) = std::mem::replace(&mut self.comment, Comment::No)
            {
                return Err(Problem::again(FormatError::new(place, ENDLESS)));
            }
        }
        if cursor.line > line {
            (self.after_statement, self.after_blank) = (false, false);
        }
        Ok(Step::Done)
    }

    /// A byte that begins nothing.
    #[cold]
    fn other(&mut self, cursor: &mut Cursor<'_>) -> Result<Step, Box<Problem>> {
        if self.complete() {
            self.comment = Comment::Line;
            return Ok(if S::STRICT { Step::Done } else { Step::End });
        }
        let first = cursor.place(cursor.at) == Place::Line { line: 1, column: 1 };
        if first && cursor.literal(BYTE_ORDER_MARK) {
            cursor.note(Rule::ByteOrderMark, 0, || "a byte order mark".to_owned());
            return Ok(Step::Done);
        }
        if first && UTF_16.iter().any(|mark| cursor.rest().starts_with(mark)) {
            let reason = "this is text in UTF-16; GOAL is expected in UTF-8".to_owned();
            return Err(Problem::at(cursor.at, reason));
        }
        if self.after_statement {
            return Err(unfinished(cursor, b""));
        }
        Err(cursor.expected(if self.block.is_some() {
            "a label, an operation or `}`"
        } else {
            "`num_ranks` or `rank`"
        }))
    }

    #[cold]
    pub(super) fn complain(
        &mut self,
        cursor: &Cursor<'_>,
        rule: Rule,
        at: usize,
        text: impl FnOnce() -> String,
    ) {
        self.sink.complain(rule, cursor.place(at), text());
    }

    fn take_notes(&mut self, cursor: &mut Cursor<'_>) {
        for note in std::mem::take(&mut cursor.notes) {
            if !self.complete() {
                self.sink.complain(note.rule, cursor.place(note.at), note.text);
            }
        }
    }
}

const BYTE_ORDER_MARK: &[u8; 3] = b"\xEF\xBB\xBF";
const ENDLESS: &str = "a comment that does not end, expected `*/`";

/// Something behind a statement, on its line.
#[cold]
fn unfinished(cursor: &Cursor<'_>, word: &[u8]) -> Box<Problem> {
    let mut problem = cursor.expected("the end of the line");
    if cursor.rest().starts_with(b".") {
        problem.reason.push_str("; sizes and times are whole numbers");
    }
    let letters = word.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    if matches!(&word[..letters], b"tag" | b"cpu" | b"nic") {
        problem.reason.push_str("; the order is tag, cpu, nic for messages, and a calc has only cpu");
    }
    problem
}
