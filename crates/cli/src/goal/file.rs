//! Schedules from files and into files: progress on a terminal, Ctrl-C, errors with an excerpt.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use stratasim_core::words::counted;
use stratasim_experiment::files::AtomicFile;
use stratasim_experiment::{ConfigError, Error};
use stratasim_report::Unit;
use stratasim_workload::goal::file::{Form, read_from, write_to};
use stratasim_workload::goal::{FormatError, Place, ReadError, Schedule, WriteError};

use super::excerpt;
use crate::terminal::Terminal;
use crate::{interrupt, output, progress};

/// Files that take less time show nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// A schedule and the file that it came from.
pub(crate) struct Loaded {
    /// What stands in it.
    pub(crate) schedule: Schedule,
    /// How.
    pub(crate) form: Form,
    /// Length of the file.
    pub(crate) bytes: u64,
}

/// Reads a schedule of any form; `-` is standard input.
pub(crate) fn read(path: &Path, terminal: &Terminal, quiet: bool) -> Result<Loaded, Error> {
    interrupt::listen();
    let fail = |error: io::Error| Error::file(path, &error);
    let (source, length): (Box<dyn Read>, _) = if path == Path::new("-") {
        (Box::new(io::stdin().lock()), None)
    } else {
        let file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_dir() {
            return Err(fail(io::ErrorKind::IsADirectory.into()));
        }
        let length = metadata.is_file().then_some(metadata.len());
        (Box::new(file), length)
    };
    let mut source = Watched::new(source, "reading", path, length, terminal.watched && !quiet);
    let read = read_from(&mut source, length);
    let bytes = source.finish();
    match read {
        _ if interrupt::wanted() => Err(Error::Stopped),
        Ok((schedule, form)) => {
            Ok(Loaded { schedule: schedule.named(&path.display().to_string()), form, bytes })
        }
        Err(ReadError::Io(error)) => Err(fail(error)),
        Err(ReadError::Format(error)) => Err(located(path, &error)),
    }
}

/// The same, and says what its reader may not have meant.
pub(crate) fn read_and_tell(path: &Path, terminal: &Terminal, quiet: bool) -> Result<Loaded, Error> {
    let loaded = read(path, terminal, quiet)?;
    for remark in loaded.schedule.remarks().iter().filter(|_| !quiet) {
        terminal.note(&format!("  {remark}"));
    }
    Ok(loaded)
}

/// An error in a file, with the lines around it where it is a text.
pub(crate) fn located(path: &Path, error: &FormatError) -> Error {
    let mut reason = error.to_string();
    if let Place::Line { line, column } = error.place
        && let Some(lines) = excerpt::around(path, line, column)
    {
        for line in lines.lines() {
            reason += &format!("\n  {line}");
        }
    }
    Error::File { path: path.display().to_string(), reason }
}

/// A file to be, begun before the work so that a path that cannot be written costs no time.
pub(crate) struct Output {
    path: PathBuf,
    pub(crate) form: Form,
    /// None for standard output.
    file: Option<AtomicFile>,
}

impl Output {
    /// The form is that of the ending; `-` is text on standard output.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        if path == Path::new("-") {
            return Ok(Self { path: path.to_owned(), form: Form::Text, file: None });
        }
        let form = Form::of_name(path).ok_or_else(|| {
            let message = format!(
                "{}: a name that ends in .goal (GOAL text), .bin (GOAL binary) or .strata is expected",
                path.display()
            );
            ConfigError::new(message, None)
        })?;
        interrupt::listen();
        Ok(Self { path: path.to_owned(), form, file: Some(output::create(path)?) })
    }

    /// Whether it goes to standard output, which has no room for anything else then.
    pub(crate) const fn is_standard_output(&self) -> bool {
        self.file.is_none()
    }

    /// Writes all of it; the length of the file.
    pub(crate) fn write(self, schedule: &Schedule, terminal: &Terminal, quiet: bool) -> Result<u64, Error> {
        if interrupt::wanted() {
            return Err(Error::Stopped);
        }
        let Self { path, form, file } = self;
        let shown = terminal.watched && !quiet;
        let Some(mut file) = file else {
            let mut out = Watched::new(io::stdout().lock(), "writing", &path, None, false);
            let written = write_to(form, schedule, &mut out);
            return match written {
                _ if interrupt::wanted() => Err(Error::Stopped),
                // a reader that has gone is no error
                Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(out.finish()),
                Err(error) => Err(not_written(Path::new("standard output"), error)),
                Ok(()) => Ok(out.finish()),
            };
        };
        let mut out = Watched::new(&mut file, "writing", &path, None, shown);
        let written = write_to(form, schedule, &mut out);
        let bytes = out.finish();
        if interrupt::wanted() {
            return Err(Error::Stopped);
        }
        written.map_err(|error| not_written(&path, error))?;
        file.commit().map_err(|error| Error::file(&path, &error))?;
        Ok(bytes)
    }

    /// Writes all of it and says so.
    pub(crate) fn write_and_tell(
        self,
        schedule: &Schedule,
        terminal: &Terminal,
        quiet: bool,
    ) -> Result<(), Error> {
        let (path, form, silent) = (self.path.clone(), self.form, quiet || self.is_standard_output());
        let bytes = self.write(schedule, terminal, quiet)?;
        if !silent {
            let ranks = counted(schedule.ranks().into(), "rank");
            let operations = counted(schedule.len().into(), "operation");
            let edges = Unit::Count.format(schedule.edge_count().into());
            terminal.note(&format!(
                "  wrote {} ({}, {}): {ranks}, {operations}, {edges} dependencies",
                path.display(),
                form.name(),
                Unit::Bytes.format(bytes as f64),
            ));
        }
        Ok(())
    }
}

fn not_written(path: &Path, error: WriteError) -> Error {
    match error {
        WriteError::Io(error) => Error::file(path, &error),
        WriteError::Form(reason) => Error::File { path: path.display().to_string(), reason },
    }
}

/// A file that is read or written: counts bytes, draws a bar, and stops on Ctrl-C.
struct Watched<T> {
    inner: T,
    bytes: u64,
    /// What is done and to which file, and the length where it is known; none where nobody watches.
    shown: Option<(String, Option<u64>)>,
    started: Instant,
    bar: Option<ProgressBar>,
}

#[allow(clippy::disallowed_methods, reason = "progress is about real time")]
fn now() -> Instant {
    Instant::now()
}

impl<T> Watched<T> {
    fn new(inner: T, verb: &str, path: &Path, length: Option<u64>, shown: bool) -> Self {
        let shown = shown.then(|| (format!("{verb} {}", path.display()), length));
        Self { inner, bytes: 0, shown, started: now(), bar: None }
    }

    fn add(&mut self, bytes: usize) -> io::Result<usize> {
        self.bytes += bytes as u64;
        if interrupt::wanted() {
            return Err(io::Error::other("stopped"));
        }
        if let (Some((what, length)), None) = (&self.shown, &self.bar)
            && now() - self.started > PATIENCE
        {
            let template = match length {
                Some(_) => "  {msg}  {bar:32} {percent:>3} %, {decimal_bytes_per_sec}, {eta} left",
                None => "  {msg}  {decimal_bytes}, {decimal_bytes_per_sec}",
            };
            let bar =
                progress::bar(length.unwrap_or(u64::MAX), template).with_elapsed(self.started.elapsed());
            bar.set_message(what.clone());
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.bytes);
        }
        Ok(bytes)
    }

    /// Takes the bar away; the bytes that went through.
    fn finish(&mut self) -> u64 {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.bytes
    }
}

impl<T: Read> Read for Watched<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.add(bytes)
    }
}

impl<T: Write> Write for Watched<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.add(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
