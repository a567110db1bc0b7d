//! Where words go: tables to standard output, everything else to standard error.

use std::io::{self, IsTerminal as _, Write as _};

use clap::ValueEnum;
use stratasim_experiment::Error;
use stratasim_report::Style;
use stratasim_report::style::Tone;

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
    /// The same for standard error.
    errors: Style,
    /// Whether somebody watches standard error.
    pub(crate) watched: bool,
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
        let mut out = style(to_terminal);
        if to_terminal
            && variable("COLUMNS").is_none()
            && let Some((width, _)) = terminal_size::terminal_size()
        {
            out.width = usize::clamp(width.0.into(), 60, 120);
        }
        Self { style: out, errors: style(watched), watched }
    }

    /// Writes to standard output. A reader that has gone (`| head`) is no error.
    pub(crate) fn print(&self, text: &str) -> Result<(), Error> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::file("standard output", &error))
            }
            _ => Ok(()),
        }
    }

    /// Writes a line to standard error. When that is closed there is nobody to tell.
    pub(crate) fn say(&self, line: &str) {
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// The same, less loud: something that is good to know.
    pub(crate) fn note(&self, line: &str) {
        self.say(&self.errors.paint(Tone::Muted, line));
    }

    /// Says what went wrong.
    pub(crate) fn fail(&self, error: &Error) {
        self.say(error.render(self.errors.colour).trim_end());
    }
}
