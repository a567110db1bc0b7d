//! What other tools would make of a text.

use std::fmt;
use std::io::{self, Read};

use super::parse::{Sink, parse};
use super::statement::Label;
use crate::goal::{FormatError, Operation, Place, ReadError};

/// Complaints of a kind that are listed one by one.
const LISTED: u64 = 100;

/// How much a complaint matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// `txt2bin` refuses the file, or writes nonsense.
    Rejected,
    /// It takes another value than the one that is written, or leaves something out.
    Changed,
    /// It accepts it; whether it is meant is another question.
    Note,
}

/// What other tools would refuse, change or not notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Line, from 1.
    pub line: u64,
    /// Character of the line, from 1.
    pub column: u64,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, and what it means.
    pub text: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Rejected => "rejected",
            Severity::Changed => "changed",
            Severity::Note => "note",
        };
        write!(f, "line {}, column {}: {severity}: {}", self.line, self.column, self.text)
    }
}

/// Kinds of complaints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Unreadable,
    Indentation,
    Comment,
    SameLine,
    Order,
    Forward,
    Missing,
    MissingBlank,
    CarriageReturn,
    ByteOrderMark,
    Wraps,
    Ignored,
    SecondCount,
    DuplicateLabel,
    SelfDependency,
    Peer,
    Keyword,
}

impl Rule {
    const COUNT: usize = Self::Keyword as usize + 1;

    fn severity(self) -> Severity {
        match self {
            Self::Wraps | Self::Ignored => Severity::Changed,
            Self::SecondCount | Self::DuplicateLabel | Self::SelfDependency | Self::Peer | Self::Keyword => {
                Severity::Note
            }
            _ => Severity::Rejected,
        }
    }

    /// What there is more of, where not all are listed.
    fn plural(self) -> &'static str {
        match self {
            Self::Unreadable => "places that cannot be read",
            Self::Indentation => "statements behind blanks",
            Self::Comment => "comments on lines of statements",
            Self::SameLine => "blocks that end on the line of a statement",
            Self::Order => "blocks out of order",
            Self::Forward => "labels used before they are defined",
            Self::Missing => "ranks without a block",
            Self::MissingBlank => "missing blanks",
            Self::CarriageReturn => "carriage returns that end no line",
            Self::ByteOrderMark => "byte order marks",
            Self::Wraps => "numbers that are taken modulo something",
            Self::Ignored => "blocks after that of the last rank",
            Self::SecondCount => "numbers of ranks",
            Self::DuplicateLabel => "labels that are taken",
            Self::SelfDependency => "operations that wait for themselves",
            Self::Peer => "peers that do not exist",
            Self::Keyword => "labels that are words of GOAL",
        }
    }
}

/// Lists what `txt2bin` of LogGOPSim and ATLAHS would refuse in a text, take with another value or not
/// notice, by line; what [`read`](super::read()) refuses is among it. Of each kind, the first 100 are listed
/// and the others counted. Nothing is kept of the text but its labels, rank by rank.
///
/// # Errors
/// Errors of `source`.
///
/// ```
/// use stratasim_workload::goal::text;
///
/// let complaints = text::strict(&b"num_ranks 1\nrank 0 {\n  calc 5 cpu 256\n}\n"[..]).unwrap();
/// let lines: Vec<_> = complaints.iter().map(ToString::to_string).collect();
/// assert_eq!(lines, [
///     "line 3, column 3: rejected: blanks before a statement",
///     "line 3, column 14: changed: a cpu of 256 is taken modulo 256: 0",
/// ]);
/// ```
pub fn strict(mut source: impl Read) -> io::Result<Vec<Complaint>> {
    let mut list = Complaints { list: Vec::new(), counts: [0; Rule::COUNT], rest: [None; Rule::COUNT] };
    match parse(&mut source, &mut list) {
        Ok(_) => {}
        Err(ReadError::Io(error)) => return Err(error),
        Err(ReadError::Format(error)) => list.add(Rule::Unreadable, error.place, error.reason),
    }
    for (rule, place) in list.rest.into_iter().flatten() {
        let text = format!("{} more {}", list.counts[rule as usize] - LISTED, rule.plural());
        list.push(rule, place, text);
    }
    list.list.sort_by_key(|complaint| (complaint.line, complaint.column));
    Ok(list.list)
}

struct Complaints {
    list: Vec<Complaint>,
    counts: [u64; Rule::COUNT],
    /// Where those begin that are not listed.
    rest: [Option<(Rule, Place)>; Rule::COUNT],
}

impl Complaints {
    fn add(&mut self, rule: Rule, place: Place, text: String) {
        let count = &mut self.counts[rule as usize];
        *count += 1;
        if *count <= LISTED {
            self.push(rule, place, text);
        } else if *count == LISTED + 1 {
            self.rest[rule as usize] = Some((rule, place));
        }
    }

    fn push(&mut self, rule: Rule, place: Place, text: String) {
        let (line, column) = match place {
            Place::Line { line, column } => (line, column),
            Place::Byte(_) | Place::File => (1, 1),
        };
        self.list.push(Complaint { line, column, severity: rule.severity(), text });
    }
}

impl Sink for &mut Complaints {
    const STRICT: bool = true;

    fn open(&mut self, _: u32, _: u32) {}

    fn operation(&mut self, _: Operation, _: u32, _: Option<&Label<'_>>) {}

    fn dependency(&mut self, _: u32, _: u32, _: bool) {}

    fn close(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn complain(&mut self, rule: Rule, place: Place, text: String) {
        self.add(rule, place, text);
    }

    fn problem(&mut self, error: FormatError) -> Result<(), FormatError> {
        self.add(Rule::Unreadable, error.place, error.reason);
        Ok(())
    }
}
