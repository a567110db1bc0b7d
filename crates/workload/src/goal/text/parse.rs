//! The blocks of a text: which rank a statement belongs to, and which operations its labels name.

use std::collections::BTreeSet;
use std::io::Read;

use super::cursor::{Cursor, Problem, quote};
use super::labels::Labels;
use super::source::Source;
use super::statement::{Label, Statement};
use super::strict::Rule;
use crate::goal::{ANY, Edge, FormatError, Operation, OperationKind, Place, ReadError};

/// Most ranks that are read: 1 GiB for the places of the ranks alone.
const MOST_RANKS: u64 = 1 << 28;
/// Ranks that a text may have without writing a byte for each.
const FREE_RANKS: u32 = 1 << 24;

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

struct Parser<S> {
    sink: S,
    ranks: Option<u32>,
    /// The blocks of all ranks below are complete.
    next: u32,
    /// Ranks above `next` whose blocks are complete.
    early: BTreeSet<u32>,
    block: Option<Block>,
    /// Labels of the block.
    labels: Labels,
    /// Dependencies of the block, from the first one whose labels are not all defined.
    late: Vec<Late>,
    /// Labels in `late` that are not defined yet, in order.
    unknown: Vec<Unknown>,
    comment: Comment,
    /// Whether a statement stands on the line.
    after_statement: bool,
    /// Whether blanks stand before what comes.
    after_blank: bool,
}

struct Block {
    rank: u32,
    line: u64,
    operations: u32,
    /// Whether it cannot be the rank's block; read only to find more that is wrong.
    ignored: bool,
}

struct Late {
    after: u32,
    before: u32,
    on_start: bool,
}

struct Unknown {
    late: usize,
    /// Which side of the dependency.
    before: bool,
    word: Box<[u8]>,
    number: Option<u32>,
    place: Place,
}

/// Whether the cursor is in a comment between statements.
#[derive(Clone, Copy, PartialEq)]
enum Comment {
    No,
    Line,
    /// With its beginning.
    Block(Place),
}

enum Step {
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
                return Ok(false);
            }
            if S::STRICT {
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
    fn complete(&self) -> bool {
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

    /// What stands between blocks.
    fn between(&mut self, cursor: &mut Cursor<'_>, word: &[u8], at: usize) -> Result<Step, Box<Problem>> {
        if self.complete() {
            if !S::STRICT {
                return Ok(Step::End);
            }
            if word == b"rank" && !cursor.starved {
                self.complain(cursor, Rule::Ignored, at, || "a block after that of the last rank".to_owned());
            }
            self.comment = Comment::Line;
            return Ok(Step::Done);
        }
        match word {
            b"rank" => self.open(cursor, at)?,
            b"num_ranks" => self.ranks(cursor)?,
            _ if word.strip_prefix(b"num_ranks").is_some_and(|rest| rest.iter().all(u8::is_ascii_digit)) => {
                cursor.note(Rule::MissingBlank, at, || "no blank after `num_ranks`".to_owned());
                cursor.at = at + b"num_ranks".len();
                self.ranks(cursor)?;
            }
            _ => {
                let digits =
                    word.strip_prefix(b"rank").is_some_and(|rest| rest.iter().all(u8::is_ascii_digit));
                let hint = if digits { ": a blank is missing after `rank`" } else { "" };
                let reason = format!("expected `num_ranks` or `rank`, found {}{hint}", quote(word));
                return Err(Problem::at(at, reason));
            }
        }
        Ok(Step::Done)
    }

    /// Reads what follows `num_ranks`.
    fn ranks(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Box<Problem>> {
        cursor.blanks();
        let at = cursor.at;
        let ranks = cursor.number("a number of ranks")?;
        if cursor.starved {
            return Ok(());
        }
        if ranks > MOST_RANKS {
            return Err(Problem::at(at, format!("{ranks} ranks; at most {MOST_RANKS} can be read")));
        }
        let ranks = ranks as u32;
        if let Some(before) = self.ranks.filter(|before| *before != ranks) {
            if self.next > 0 || !self.early.is_empty() {
                let reason = format!("`num_ranks {ranks}` behind blocks of a schedule of {before} ranks");
                return Err(Problem::at(at, reason));
            }
            cursor.note(Rule::SecondCount, at, || format!("`num_ranks` was {before} before"));
        }
        self.ranks = Some(ranks);
        Ok(())
    }

    /// Reads what follows `rank`.
    fn open(&mut self, cursor: &mut Cursor<'_>, at: usize) -> Result<(), Box<Problem>> {
        cursor.blanks();
        let number = cursor.number("the number of a rank")?;
        cursor.blanks();
        if cursor.peek() != b'{' {
            return Err(cursor.expected("`{` on the line of `rank`"));
        }
        cursor.at += 1;
        if cursor.starved {
            return Ok(());
        }
        let wrong = match self.ranks {
            None => Some("`num_ranks` must come before the first rank".to_owned()),
            Some(ranks) if number >= u64::from(ranks) => {
                Some(format!("rank {number} in a schedule of {ranks} ranks, which count from 0"))
            }
            Some(_) if number < u64::from(self.next) || self.early.contains(&(number as u32)) => {
                Some(format!("a second block of rank {number}"))
            }
            Some(_) => None,
        };
        let ignored = wrong.is_some();
        if let Some(reason) = wrong {
            self.sink.problem(FormatError::new(cursor.place(at), reason)).map_err(Problem::again)?;
        }
        let rank = number as u32;
        let place = self.next + self.early.len() as u32;
        if S::STRICT && !ignored && rank != place {
            self.complain(cursor, Rule::Order, at, || format!("the block of rank {rank} as number {place}"));
        }
        self.sink.open(rank, self.ranks.unwrap_or(0));
        self.block = Some(Block { rank, line: cursor.line, operations: 0, ignored });
        self.labels.clear();
        (self.after_statement, self.after_blank) = (false, false);
        Ok(())
    }

    /// Ends a block.
    fn close(&mut self, cursor: &mut Cursor<'_>) -> Result<Step, Box<Problem>> {
        let at = cursor.at;
        let Some(block) = self.block.take() else {
            return Err(Problem::at(at, "`}` outside of a block"));
        };
        cursor.at += 1;
        if S::STRICT && self.after_statement {
            self.complain(cursor, Rule::SameLine, at, || "`}` on the line of a statement".to_owned());
        }
        (self.after_statement, self.after_blank) = (false, false);
        self.resolve(block.rank)?;
        self.sink.close().map_err(|reason| Problem::at(at, reason))?;
        if block.ignored {
        } else if block.rank > self.next {
            self.early.insert(block.rank);
        } else {
            self.next += 1;
            while self.early.remove(&self.next) {
                self.next += 1;
            }
        }
        Ok(if self.complete() && !S::STRICT { Step::End } else { Step::Done })
    }

    /// Finds the operations of labels that were used before they were defined.
    fn resolve(&mut self, rank: u32) -> Result<(), Box<Problem>> {
        for Unknown { late, before, word, number, place } in self.unknown.drain(..) {
            let Some(operation) = self.labels.find(&word, number) else {
                let near = self.labels.nearest(&word);
                let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                let reason = format!("rank {rank} has no operation with the label {}{hint}", quote(&word));
                self.sink.problem(FormatError::new(place, reason)).map_err(Problem::again)?;
                continue;
            };
            if S::STRICT {
                let text = format!("{} is used before it is defined", quote(&word));
                self.sink.complain(Rule::Forward, place, text);
            }
            let late = &mut self.late[late];
            *(if before { &mut late.before } else { &mut late.after }) = operation;
        }
        for Late { after, before, on_start } in self.late.drain(..) {
            self.sink.dependency(after, before, on_start);
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
        if self.after_statement {
            return Err(unfinished(cursor, b""));
        }
        Err(cursor.expected(if self.block.is_some() {
            "a label, an operation or `}`"
        } else {
            "`num_ranks` or `rank`"
        }))
    }

    /// Checks what can be said at the end of the text.
    fn finish(&mut self, place: Place, bytes: u64) -> Result<(), FormatError> {
        if let Some(block) = &self.block {
            let reason = format!(
                "expected `}}` of the block of rank {} (line {}), found the end of the file",
                block.rank, block.line
            );
            self.sink.problem(FormatError::new(place, reason))?;
        }
        let Some(ranks) = self.ranks else {
            return self
                .sink
                .problem(FormatError::new(place, "expected `num_ranks`, found the end of the file"));
        };
        let missing = ranks - self.next - self.early.len() as u32;
        if ranks > FREE_RANKS && missing > 0 && bytes < u64::from(ranks) {
            let reason = format!("{ranks} ranks in a text of {bytes} bytes");
            self.sink.problem(FormatError::new(place, reason))?;
        }
        if S::STRICT && missing > 0 && self.block.is_none() {
            let text = match missing {
                1 => format!("rank {} has no block", self.next),
                _ => format!("{missing} ranks have no block; the first is rank {}", self.next),
            };
            self.sink.complain(Rule::Missing, place, text);
        }
        Ok(())
    }

    /// Other tools do not check whether a peer exists.
    fn check_peer(&mut self, cursor: &Cursor<'_>, at: usize, operation: Operation) {
        let Operation { kind, peer, .. } = operation;
        let Some(ranks) = self.ranks else { return };
        if kind != OperationKind::Calc && peer >= ranks && (peer != ANY || kind == OperationKind::Send) {
            self.complain(cursor, Rule::Peer, at, || format!("peer {peer} in a schedule of {ranks} ranks"));
        }
    }

    #[cold]
    fn complain(&mut self, cursor: &Cursor<'_>, rule: Rule, at: usize, text: impl FnOnce() -> String) {
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
