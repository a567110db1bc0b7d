//! Errors that a user can cause, with the place in the text.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
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

    /// File and line (from 1) and column (from 1), where there are.
    pub fn position(&self) -> Option<(&str, usize, usize)> {
        let place = self.place.as_ref()?;
        let before = place.source.text.get(..place.span.start)?;
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Some((&place.source.name, line, column))
    }

    /// The message with an excerpt of the text, for people. `color` only on a terminal that wants it.
    pub fn render(&self, color: bool) -> String {
        let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_width(110).with_links(false);
        if handler.render_report(&mut text, &Excerpt::of(self)).is_err() {
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
    source_code: Option<NamedSource<String>>,
    label: Option<LabeledSpan>,
}

impl Excerpt {
    fn of(error: &ConfigError) -> Self {
        let place = error.place.as_ref();
        Self {
            message: error.message.clone(),
            source_code: place.map(|place| NamedSource::new(&place.source.name, place.source.text.clone())),
            label: place.map(|place| {
                // a table's span may be long: its first line is enough
                let text = place.source.text.get(place.span.clone()).unwrap_or("");
                let len = text.find('\n').unwrap_or(text.len());
                LabeledSpan::new(None, place.span.start, len)
            }),
        }
    }
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
    /// Stopped on request (Ctrl-C).
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// Exit code of the command: 2 for bad input, 3 for a run that stalled or broke an invariant.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::File { .. } => 2,
            Self::Run(_) | Self::Broken(_) => 3,
            Self::Stopped => 130,
        }
    }

    /// The message for people, with an excerpt where there is one.
    pub fn render(&self, color: bool) -> String {
        match self {
            Self::Config(error) => error.render(color),
            other => format!("  × {other}"),
        }
    }

    /// A file that could not be read or written.
    pub fn file(path: impl AsRef<std::path::Path>, error: &std::io::Error) -> Self {
        Self::File { path: path.as_ref().display().to_string(), reason: error.to_string() }
    }
}
