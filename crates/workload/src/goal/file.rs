//! Schedules in files: the form is found from the content when reading, from the name when writing.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use stratasim_core::files::AtomicFile;

use super::error::{FormatError, ReadError, WriteError};
use super::schedule::Schedule;
use super::{binary, strata, text};

/// Byte order marks of UTF-16.
pub(crate) const UTF_16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// The forms of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// GOAL as text, `.goal`.
    Text,
    /// GOAL as `txt2bin` writes it, `.bin`.
    Binary,
    /// Our compact form, `.strata`.
    Strata,
}

impl Form {
    /// What it is, in a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "GOAL text",
            Self::Binary => "GOAL binary",
            Self::Strata => "strata",
        }
    }

    /// The form that a file's first bytes belong to; eight are enough.
    pub fn of_content(first: &[u8]) -> Self {
        let cookies = [binary::COOKIE, binary::USED_UP].map(u64::to_le_bytes);
        match first.first_chunk::<8>() {
            Some(first) if cookies.contains(first) => Self::Binary,
            Some(first) if *first == strata::MAGIC => Self::Strata,
            // begins like one, and is cut or damaged: its reader says it better than that of text
            _ if first.first() == Some(&strata::MAGIC[0]) => Self::Strata,
            // texts of another encoding, as their reader says
            _ if UTF_16.iter().any(|mark| first.starts_with(mark)) => Self::Text,
            _ if first.starts_with(&cookies[0][..2]) || first.contains(&0) => Self::Binary,
            _ => Self::Text,
        }
    }

    /// The form that a file's name asks for.
    pub fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "goal" => Some(Self::Text),
            "bin" => Some(Self::Binary),
            "strata" => Some(Self::Strata),
            _ => None,
        }
    }
}

/// What went wrong with a file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What went wrong.
    pub cause: Cause,
}

/// What went wrong with a file, apart from its name.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// What the system says.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The content is not what it should be.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The schedule cannot be written in this form.
    #[error("{0}")]
    Write(String),
    /// The name does not say which form is wanted.
    #[error("a name that ends in .goal (text), .bin (binary GOAL) or .strata (compact) is expected")]
    Name,
}

impl From<ReadError> for Cause {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => Self::Io(error),
            ReadError::Format(error) => Self::Format(error),
        }
    }
}

impl From<WriteError> for Cause {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io(error) => Self::Io(error),
            WriteError::Form(reason) => Self::Write(reason),
        }
    }
}

/// Reads the schedule in a file, whatever its name: text, binary GOAL or `.strata`.
///
/// # Errors
/// What the system says, or what is wrong with the content; names the file.
pub fn read(path: &Path) -> Result<Schedule, FileError> {
    read_any(path).map_err(|cause| FileError { path: path.to_owned(), cause })
}

fn read_any(path: &Path) -> Result<Schedule, Cause> {
    let file = File::open(path)?;
    let length = file.metadata().ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len());
    Ok(read_from(file, length)?.0)
}

/// Reads a schedule from `source`, of `length` bytes where that is known, and finds its form.
///
/// # Errors
/// What the system says, or what is wrong with the content.
pub fn read_from(mut source: impl Read, length: Option<u64>) -> Result<(Schedule, Form), ReadError> {
    let mut first = Vec::new();
    source.by_ref().take(8).read_to_end(&mut first)?;
    let form = Form::of_content(&first);
    // not by seeking: a pipe is as good
    let whole = io::Cursor::new(first).chain(source);
    let schedule = match (form, length) {
        (Form::Text, _) => text::read(whole)?,
        (Form::Binary, _) => binary::read(whole)?,
        (Form::Strata, Some(length)) => strata::Reader::with_length(whole, length)?.read_all()?,
        (Form::Strata, None) => strata::read(whole)?,
    };
    Ok((schedule, form))
}

/// Writes a schedule in the form that the name's ending asks for: `.goal`, `.bin` or `.strata`. The file is
/// there whole or not at all.
///
/// # Errors
/// A name with another ending, a schedule that the form cannot hold, what the system says; names the file.
pub fn write(path: &Path, schedule: &Schedule) -> Result<(), FileError> {
    write_any(path, schedule).map_err(|cause| FileError { path: path.to_owned(), cause })
}

fn write_any(path: &Path, schedule: &Schedule) -> Result<(), Cause> {
    let form = Form::of_name(path).ok_or(Cause::Name)?;
    let mut file = AtomicFile::create(path)?;
    write_to(form, schedule, &mut file)?;
    Ok(file.commit()?)
}

/// Writes a schedule in `form` to `out`, in pieces of some size.
///
/// # Errors
/// A schedule that the form cannot hold; what the system says.
pub fn write_to(form: Form, schedule: &Schedule, out: &mut impl Write) -> Result<(), WriteError> {
    match form {
        Form::Text => text::write(schedule, out)?,
        Form::Binary => binary::write(schedule, out)?,
        Form::Strata => strata::write(schedule, out)?,
    }
    Ok(out.flush()?)
}
