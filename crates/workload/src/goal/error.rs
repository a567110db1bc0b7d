//! What is wrong with a GOAL file, and where.

use std::{fmt, io};

/// Where in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a text; both count from 1, columns count characters.
    Line {
        /// Line.
        line: u64,
        /// Character of the line.
        column: u64,
    },
    /// In a binary file: bytes from its beginning.
    Byte(u64),
    /// The file as a whole.
    File,
}

/// A file that is not what it should be: says what was found and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}{reason}")]
pub struct FormatError {
    /// Where.
    pub place: Place,
    /// What was found, and what was expected.
    pub reason: String,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file itself.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What stands in it.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl FormatError {
    /// An error at `place`.
    pub fn new(place: Place, reason: impl Into<String>) -> Self {
        Self { place, reason: reason.into() }
    }
}

/// Why a schedule could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// What the system says.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The form cannot hold it: what was found, and what the form holds.
    #[error("{0}")]
    Form(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, column } => write!(f, "line {line}, column {column}: "),
            Self::Byte(at) => write!(f, "byte {at}: "),
            Self::File => Ok(()),
        }
    }
}
