//! Where blocks begin and end, and what must be true of all of them.

use super::cursor::{Cursor, Problem, quote};
use super::parse::{Block, Comment, Late, Parser, Sink, Step, Unknown};
use super::strict::Rule;
use crate::goal::{ANY, FormatError, Operation, OperationKind, Place};

/// Most ranks that are read: 1 GiB for the places of the ranks alone.
const MOST_RANKS: u64 = 1 << 28;
/// Ranks that a text may have without writing a byte for each.
const FREE_RANKS: u32 = 1 << 24;
/// Rows of ranks without a block that are listed.
const LISTED: usize = 6;
/// Labels without an operation for which one that is like it is looked for.
const HINTS: u32 = 10;

impl<S: Sink> Parser<S> {
    /// What stands between blocks.
    pub(super) fn between(
        &mut self,
        cursor: &mut Cursor<'_>,
        word: &[u8],
        at: usize,
    ) -> Result<Step, Box<Problem>> {
        if self.complete() {
            if !S::STRICT || cursor.starved {
                return Ok(Step::End);
            }
            if word == b"rank" {
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
    pub(super) fn ranks(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Box<Problem>> {
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
    pub(super) fn open(&mut self, cursor: &mut Cursor<'_>, at: usize) -> Result<(), Box<Problem>> {
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
    pub(super) fn close(&mut self, cursor: &mut Cursor<'_>) -> Result<Step, Box<Problem>> {
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
    pub(super) fn resolve(&mut self, rank: u32) -> Result<(), Box<Problem>> {
        for Unknown { late, before, word, number, place } in self.unknown.drain(..) {
            let Some(operation) = self.labels.find(&word, number) else {
                // looking through all labels takes time
                self.hints += 1;
                let near = if self.hints <= HINTS { self.labels.nearest(&word) } else { None };
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

    /// Checks what can be said at the end of the text.
    pub(super) fn finish(&mut self, place: Place, bytes: u64) -> Result<(), FormatError> {
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
        if missing > 0 && self.block.is_none() {
            let (what, have) = if missing == 1 { ("rank", "has") } else { ("ranks", "have") };
            let text = format!("{what} {} of {ranks} {have} no block", self.without_block(ranks, missing));
            self.sink.complain(Rule::Missing, place, text);
        }
        Ok(())
    }

    /// The ranks without a block, `missing` of `ranks`, such as `3, 5 to 7 and 9`; of many, the first.
    fn without_block(&self, ranks: u32, missing: u32) -> String {
        let (mut parts, mut listed, mut first) = (Vec::new(), 0, self.next);
        for &with_block in self.early.iter().chain([&ranks]) {
            let count = with_block - first;
            match count {
                0 => {}
                1 => parts.push(first.to_string()),
                _ => parts.push(format!("{first} to {}", with_block - 1)),
            }
            (listed, first) = (listed + count, with_block + 1);
            if parts.len() == LISTED {
                break;
            }
        }
        if listed < missing {
            parts.push(format!("{} more", missing - listed));
        }
        match parts.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => parts.concat(),
        }
    }

    /// Other tools do not check whether a peer exists.
    pub(super) fn check_peer(&mut self, cursor: &Cursor<'_>, at: usize, operation: Operation) {
        let Operation { kind, peer, .. } = operation;
        let Some(ranks) = self.ranks else { return };
        if kind != OperationKind::Calc && peer >= ranks && (peer != ANY || kind == OperationKind::Send) {
            self.complain(cursor, Rule::Peer, at, || format!("peer {peer} in a schedule of {ranks} ranks"));
        }
    }
}
