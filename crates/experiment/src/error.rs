//! Errors that a user can cause, with the place in the text.

use std::ops::Range;
use std::path::Path;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    NamedSource, SourceCode, SourceSpan, SpanContents,
};
use stratasim_engine::RunError;

use crate::document::Place;

/// Something in an experiment does not fit: what, where, and what was expected.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ConfigError {
    message: String,
    place: Option<Place>,
}

impl ConfigError {
    /// An error with a message, and a place if it has one.
    pub fn new(message: impl Into<String>, place: Option<Place>) -> Self {
        Self { message: message.into(), place }
    }

    /// An error at a key path.
    pub(crate) fn at<S: AsRef<str>>(path: &[S], message: impl Into<String>, place: Option<Place>) -> Self {
        let path: Vec<_> = path.iter().map(AsRef::as_ref).collect();
        let message = message.into();
        let message = if path.is_empty() { message } else { format!("{}: {message}", path.join(".")) };
        Self { message, place }
    }

    /// The same about one of several runs, such as "load 0.3".
    pub(crate) fn of_run(self, run: &str) -> Self {
        Self { message: format!("{run}: {}", self.message), ..self }
    }

    /// File and line (from 1) and column (from 1), where there are.
    pub fn position(&self) -> Option<(&str, usize, usize)> {
        let place = self.place.as_ref()?;
        let before = place.source.text.get(..place.span.start)?;
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Some((&place.source.name, line, column))
    }

    /// The message with an excerpt of the text, for people. `color` only on a terminal that wants it; `width` in columns,
    /// [`Error::WIDTH`] at most, or [`Error::UNBROKEN`].
    pub fn render(&self, color: bool, width: usize) -> String {
        let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_wrap_lines(width != Error::UNBROKEN)
            .with_width(width.min(Error::WIDTH))
            .with_links(false);
        // keys, options and paths stay whole
        let handler = handler
            .with_word_separator(textwrap::WordSeparator::AsciiSpace)
            .with_word_splitter(textwrap::WordSplitter::NoHyphenation);
        if handler.render_report(&mut text, &Excerpt::of(self, width)).is_err() {
            text = self.message.clone();
        }
        text.trim_start_matches('\n').to_owned()
    }
}

/// A [`ConfigError`] as miette wants it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Excerpt {
    message: String,
    source_code: Option<Cut>,
    label: Option<LabeledSpan>,
}

impl Excerpt {
    fn of(error: &ConfigError, width: usize) -> Self {
        let Some(place) = error.place.as_ref() else {
            return Self { message: error.message.clone(), source_code: None, label: None };
        };
        let (text, span) = shortened(
            &place.source.text,
            place.span.clone(),
            (width / 2).saturating_sub(MARGIN).clamp(1, SHOWN),
        );
        Self {
            message: error.message.clone(),
            label: Some(LabeledSpan::new(None, span.start, span.len())),
            source_code: Some(Cut {
                text: NamedSource::new(&place.source.name, text),
                column: error.position().map_or(0, |(_, _, column)| column - 1),
            }),
        }
    }
}

/// A text whose lines are cut.
#[derive(Debug)]
struct Cut {
    text: NamedSource<String>,
    /// That of the place before they were, from 0.
    column: usize,
}

impl SourceCode for Cut {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let contents = self.text.read_span(span, before, after)?;
        // without lines around it, the place is asked for, to be named
        let column = if (before, after) == (0, 0) { self.column } else { contents.column() };
        Ok(Box::new(MietteSpanContents::new_named(
            self.text.name().to_owned(),
            contents.data(),
            *contents.span(),
            contents.line(),
            column,
            contents.line_count(),
        )))
    }
}

/// Characters of a line that an excerpt shows at most, on either side of the place.
const SHOWN: usize = 60;
/// Half of the columns that an excerpt needs beside them, for the number of the line and what was cut.
const MARGIN: usize = 6;

/// The text with its lines cut to what a terminal shows (programs write a whole file on one line),
/// and the first line of `span` in it: `shown` characters on either side.
fn shortened(text: &str, span: Range<usize>, shown: usize) -> (String, Range<usize>) {
    let boundary = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (boundary(span.start), boundary(span.end.max(span.start)));
    let end = text[start..end].find('\n').map_or(end, |length| start + length);
    let mut out = String::new();
    let mut place = 0..0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let inside =
            (at..at + line.len()).contains(&start) || (start == text.len() && at + line.len() == start);
        // of the line with the place, what is around it; of any other, its beginning
        let from = if inside { boundary(start.saturating_sub(shown)).max(at) } else { at };
        let until = boundary(if inside { start + shown } else { at + 2 * shown }).min(at + line.len());
        if from > at {
            out.push('…');
        }
        if inside {
            let first = out.len() + start - from;
            place = first..first + end.min(until) - start;
        }
        out.push_str(&text[from..until]);
        if until < at + line.len() && !text[from..until].ends_with('\n') {
            out.push_str(if line.ends_with('\n') { "…\n" } else { "…" });
        }
        at += line.len();
    }
    (out, place)
}

impl Diagnostic for Excerpt {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source_code.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.label.clone().map(|label| Box::new(std::iter::once(label)) as Box<_>)
    }
}

/// Why there is no result.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bad input.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The run stalled or failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The simulator broke one of its own rules: a bug of ours.
    #[error("{0}")]
    Broken(String),
    /// A file could not be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// One of several runs ended with an error.
    #[error("{run}: {error}")]
    Within {
        /// Which of them, such as its load.
        run: String,
        /// Why.
        error: Box<Self>,
    },
    /// Stopped on request (Ctrl-C).
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// Exit code of the command: 2 for bad input, 3 for a run that stalled or broke an invariant.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::File { .. } => 2,
            Self::Run(_) | Self::Broken(_) => 3,
            Self::Within { error, .. } => error.exit_code(),
            Self::Stopped => 130,
        }
    }

    /// Columns of a message where nobody says how many there are.
    pub const WIDTH: usize = 110;

    /// In place of a number of columns: the message stays on one line, for whoever looks for words in it.
    pub const UNBROKEN: usize = usize::MAX;

    /// The message for people, with an excerpt where there is one, on a terminal of `width` columns
    /// ([`Self::WIDTH`] at most, or [`Self::UNBROKEN`]).
    pub fn render(&self, color: bool, width: usize) -> String {
        match self {
            Self::Config(error) => error.render(color, width),
            other => {
                let message = other.to_string();
                // what has lines of its own keeps them
                if width >= Self::WIDTH || message.contains('\n') {
                    format!("  × {message}")
                } else {
                    ConfigError::new(message, None).render(color, width)
                }
            }
        }
    }

    /// A folder that could not be made.
    pub fn folder(path: impl AsRef<Path>, error: &std::io::Error) -> Self {
        let path = path.as_ref();
        if let Some(file) = path.ancestors().find(|path| path.is_file()) {
            let reason = "this is a file; name a folder".to_owned();
            return Self::File { path: file.display().to_string(), reason };
        }
        // where the first part that is missing would have been
        let above = path.ancestors().skip(1);
        let mut above = above.map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
        let there = above.find(|path| path.exists());
        let there = there.map_or_else(String::new, |there| format!(" in `{}`", there.display()));
        let reason = format!("this folder cannot be made{there}: {error}");
        Self::File { path: path.display().to_string(), reason }
    }

    /// A file that could not be read or written.
    pub fn file(path: impl AsRef<Path>, error: &std::io::Error) -> Self {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            std::io::ErrorKind::IsADirectory => "this is a folder; name a file".to_owned(),
            _ => error.to_string(),
        };
        Self::File { path: path.as_ref().display().to_string(), reason }
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::BuildError;

    use super::{Error, shortened};
    use crate::document::Document;

    #[test]
    fn a_place_in_a_long_line_has_the_column_of_the_file() {
        let keys: String = (0..30).map(|key| format!("key-{key} = \"ä\", ")).collect();
        let text = format!("a = 1\nb = {{ {keys}bad = 2 }}\n");
        let document = Document::parse("long.toml", &text).expect("good TOML");
        let error = document.locate(&BuildError::new("bad", "a word is expected"), "b");
        let column =
            text.lines().nth(1).and_then(|line| line.split("2 }").next()).expect("is there").chars().count()
                + 1;
        assert_eq!(error.position(), Some(("long.toml", 2, column)));
        let shown = error.render(false, Error::WIDTH);
        assert!(shown.contains(&format!("[long.toml:2:{column}]")) && shown.contains("bad = 2"), "{shown}");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        assert_eq!(shortened("a = 1\nb = x\n", 10..11, 60), ("a = 1\nb = x\n".to_owned(), 10..11));
        let long = format!("{}\n{}HERE{}\nend", "x".repeat(500), "y".repeat(500), "z".repeat(500));
        let (text, span) = shortened(&long, 1001..1005, 60);
        assert_eq!(&text[span.clone()], "HERE");
        assert!(text.lines().all(|line| line.chars().count() <= 122), "{text}");
        assert_eq!(text.lines().count(), 3);
        assert!(text.ends_with("z…\nend"), "{text}");
        // a place may be at the end, inside a letter, or over several lines
        assert_eq!(shortened("ab", 2..2, 60), ("ab".to_owned(), 2..2));
        assert_eq!(shortened("", 0..0, 60), (String::new(), 0..0));
        assert_eq!(shortened("ä\nb", 1..4, 60).1, 0..2);
        assert_eq!(shortened("[t]\na = 1\n", 0..10, 60).1, 0..3);
    }
}
