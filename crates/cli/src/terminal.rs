//! Where words go: tables to standard output, everything else to standard error.

use std::cell::OnceCell;
use std::io::{self, IsTerminal as _, Write as _};

use clap::ValueEnum;
use stratasim_experiment::Error;
use stratasim_report::Style;
use stratasim_report::style::{Tone, hanging};
use terminal_size::{Height, Width, terminal_size_of};

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The two streams, and what they can show.
pub(crate) struct Terminal {
    /// How tables look.
    pub(crate) style: Style,
    /// The same for standard error; as wide as errors are at most where nothing says how wide it is.
    errors: Style,
    /// Whether somebody watches standard error.
    pub(crate) watched: bool,
    /// Why something could not be printed, since when nothing is.
    unprinted: OnceCell<Error>,
}

impl Terminal {
    pub(crate) fn new(colour: Colour) -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let style = |is_terminal: bool| {
            let mut style = Style::from_environment(is_terminal, variable);
            match colour {
                Colour::Auto => {}
                Colour::Always => style.colour = true,
                Colour::Never => style.colour = false,
            }
            style
        };
        let (to_terminal, watched) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let (mut out, mut errors) = (style(to_terminal), style(watched));
        if variable("COLUMNS").is_none_or(|columns| columns.is_empty()) {
            // the stream's own terminal, not that of another
            let width = |size: Option<(Width, Height)>, most: usize| {
                size.map(|(width, _)| usize::clamp(width.0.into(), Style::NARROWEST, most))
            };
            out.width = width(terminal_size_of(io::stdout()), 120).unwrap_or(out.width);
            errors.width = width(terminal_size_of(io::stderr()), Error::WIDTH).unwrap_or(Error::WIDTH);
        }
        Self { style: out, errors, watched, unprinted: OnceCell::new() }
    }

    /// Writes to standard output. A reader that has gone (`| head`) is no error; any other is kept until the end of the
    /// command, so that files are written all the same.
    pub(crate) fn print(&self, text: &str) {
        if self.unprinted.get().is_some() {
            return;
        }
        let mut out = io::stdout().lock();
        let text = self.style.shown(text);
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            let _ = self.unprinted.set(Error::file("standard output", &error));
        }
    }

    /// Says that something could not be printed, where that is so; the exit code of a command that ends with `code` otherwise.
    pub(crate) fn end(&self, code: u8) -> u8 {
        let Some(error) = self.unprinted.get() else { return code };
        self.fail(error);
        code.max(error.exit_code())
    }

    /// Writes a line to standard error. When that is closed there is nobody to tell.
    pub(crate) fn say(&self, line: &str) {
        let _ = writeln!(io::stderr(), "{}", self.errors.without_signs(&self.errors.shown(line)));
    }

    /// The same, less loud: something that is good to know.
    pub(crate) fn note(&self, line: &str) {
        self.say(&self.errors.paint(Tone::Muted, line));
    }

    /// Whether errors are in colours.
    pub(crate) fn shows_colour_in_errors(&self) -> bool {
        self.errors.colour
    }

    /// Says what went wrong.
    pub(crate) fn fail(&self, error: &Error) {
        self.say(error.render(self.errors.colour, self.errors.width).trim_end());
    }
}
/// The first notes of several results, and how many more there are: on the page, where there is one.
pub(crate) fn notes(notes: &[String], has_page: bool, style: &Style) -> String {
    const MOST: usize = 8;
    let mut text = String::new();
    let place = if has_page { "are on the page" } else { "are on the page that `--out` writes" };
    let more = notes.len().saturating_sub(MOST);
    let more = (more > 0).then(|| format!("{more} more {place}"));
    for note in notes.iter().take(MOST).chain(&more) {
        let gap = if text.is_empty() { "\n" } else { "" };
        text += &format!("{gap}  {}{}\n", style.paint(Tone::Muted, "note  "), hanging(note, style.width, 8));
    }
    text
}
