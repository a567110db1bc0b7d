//! Files that a command writes: begun before it runs, so that a path that cannot be written costs no time.

use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use stratasim_experiment::files::AtomicFile;
use stratasim_experiment::{ConfigError, Error};
use stratasim_report::Picture;
use stratasim_report::picture::Scheme;

use crate::terminal::Terminal;

/// Pixels of a PNG per pixel of the drawing.
const SHARPNESS: f64 = 2.0;
/// Bytes that are written at once.
const BUFFER_BYTES: usize = 1 << 16;

/// A file in the making.
pub(crate) struct Output {
    /// Where it will be.
    pub(crate) path: PathBuf,
    /// It takes its name when it is complete.
    pub(crate) file: BufWriter<AtomicFile>,
}

impl Output {
    /// Begins the file that `option` names.
    pub(crate) fn begin(option: &str, path: &Path) -> Result<Self, Error> {
        if path == Path::new("-") {
            let message = format!(
                "{option}: the name of a file is expected, found `-` (`run --json -` writes to standard output)"
            );
            return Err(ConfigError::new(message, None).into());
        }
        Ok(Self { path: path.to_owned(), file: BufWriter::with_capacity(BUFFER_BYTES, create(path)?) })
    }

    /// Begins a file where one is asked for.
    pub(crate) fn begin_if(option: &str, path: Option<&PathBuf>) -> Result<Option<Self>, Error> {
        path.map(|path| Self::begin(option, path)).transpose()
    }

    /// Begins those of the files that are asked for, each with its option; none is another or one of the `inputs`.
    pub(crate) fn begin_all<const FILES: usize>(
        inputs: &[PathBuf],
        files: [(&str, Option<&PathBuf>); FILES],
    ) -> Result<[Option<Self>; FILES], Error> {
        check_apart(inputs, &files)?;
        let mut outputs = [const { None }; FILES];
        for (output, (option, path)) in outputs.iter_mut().zip(files) {
            *output = Self::begin_if(option, path)?;
        }
        Ok(outputs)
    }

    /// Writes what `fill` writes, and gives the file its name.
    pub(crate) fn write(
        mut self,
        fill: impl FnOnce(&mut BufWriter<AtomicFile>) -> io::Result<()>,
    ) -> Result<(), Error> {
        let filled = fill(&mut self.file);
        filled.and_then(|()| complete(self.file)).map_err(|error| Error::file(&self.path, &error))
    }

    /// Writes a text.
    pub(crate) fn text(self, text: &str) -> Result<(), Error> {
        self.write(|file| file.write_all(text.as_bytes()))
    }

    /// Writes a picture as the file's name asks for it.
    pub(crate) fn draw(self, picture: &Picture) -> Result<(), Error> {
        let bytes = match self.path.extension() {
            Some(end) if end == "png" => picture.png(Scheme::Light, SHARPNESS),
            _ => picture.svg().into_bytes(),
        };
        self.write(|file| file.write_all(&bytes))
    }
}

/// Files that could not be written: what else there is to write and to say comes all the same, and then why not.
#[derive(Default)]
pub(crate) struct Unwritten(Vec<(PathBuf, Error)>);

impl Unwritten {
    /// Notes what became of the file at `path`.
    pub(crate) fn note(&mut self, path: &Path, written: Result<(), Error>) {
        if let Err(error) = written {
            self.0.push((path.to_owned(), error));
        }
    }

    /// Writes a file where there is one to write.
    pub(crate) fn keep(&mut self, output: Option<Output>, write: impl FnOnce(Output) -> Result<(), Error>) {
        if let Some(output) = output {
            let path = output.path.clone();
            self.note(&path, write(output));
        }
    }

    /// What came of the command; where it is an error, says of these files first.
    pub(crate) fn unless_failed<T>(&self, result: Result<T, Error>, terminal: &Terminal) -> Result<T, Error> {
        result.inspect_err(|_| {
            self.tell(terminal, 0);
        })
    }

    /// Whether the file at `path` is one of them.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.0.iter().any(|(unwritten, _)| unwritten == path)
    }

    /// Says that the file at `path` was written, unless it is one of them.
    pub(crate) fn tell_of(&self, path: Option<&Path>, what: &str, terminal: &Terminal) {
        if let Some(path) = path.filter(|path| *path != Path::new("-") && !self.has(path)) {
            terminal.note(&format!("  wrote {} ({what})", path.display()));
        }
    }

    /// Says why; the exit code of a command that ends with `code` otherwise.
    pub(crate) fn tell(&self, terminal: &Terminal, code: u8) -> u8 {
        for (_, error) in &self.0 {
            terminal.fail(error);
        }
        self.0.iter().map(|(_, error)| error.exit_code()).fold(code, u8::max)
    }
}

/// Refuses two files that are one, and a file in the place of one of the `inputs`.
///
/// # Errors
/// The names of both.
pub(crate) fn check_apart(
    inputs: &[PathBuf],
    outputs: &[(&str, Option<&PathBuf>)],
) -> Result<(), ConfigError> {
    let mut taken: Vec<_> = inputs.iter().map(|input| ("the input", place(input))).collect();
    for &(name, path) in outputs {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else { continue };
        let here = place(path);
        // devices take whatever comes
        if path.exists() && !path.is_file() {
            continue;
        }
        if let Some((other, _)) = taken.iter().find(|(_, there)| *there == here) {
            let message =
                format!("{name}: {} is {other}, too; each file needs a name of its own", path.display());
            return Err(ConfigError::new(message, None));
        }
        taken.push((name, here));
    }
    Ok(())
}

/// Where a file is or will be, whatever the way to it is called.
fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let here = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(here).unwrap_or_else(|| path.to_owned())
}

/// Gives a file its name when all of it is there.
pub(crate) fn complete(file: BufWriter<AtomicFile>) -> io::Result<()> {
    file.into_inner().map_err(IntoInnerError::into_error)?.commit()
}

/// Begins a file.
pub(crate) fn create(path: &Path) -> Result<AtomicFile, Error> {
    AtomicFile::create(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if path.parent().is_some_and(|folder| !folder.exists()) => {
            let folder = path.parent().unwrap_or(Path::new("")).display();
            ConfigError::new(format!("{}: there is no folder `{folder}`", path.display()), None).into()
        }
        _ => Error::file(path, &error),
    })
}

/// A file name of a picture.
pub(crate) fn picture_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|end| end.to_str()) {
        Some("svg" | "png") => Ok(path),
        _ => Err("a picture is written as .svg or .png".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_svg_or_png() {
        assert!(picture_path("out.svg").is_ok() && picture_path("a/b.png").is_ok());
        assert!(picture_path("out.jpg").is_err() && picture_path("svg").is_err());
    }

    #[test]
    fn files_are_apart_whatever_the_way_to_them_is_called() {
        let path = |text: &str| PathBuf::from(text);
        let (csv, json) = (path("Cargo.csv"), path("./src/../Cargo.csv"));
        let twice = check_apart(&[path("-")], &[("--csv", Some(&csv)), ("--json", Some(&json))]);
        let text = twice.expect_err("they are one file").to_string();
        assert!(text.contains("--json") && text.contains("--csv"), "{text}");
        let input = path("src/../Cargo.toml");
        let inputs = [path("README.md"), path("Cargo.toml")];
        assert!(check_apart(&inputs, &[("--json", Some(&input))]).is_err());
        let device = path("/dev/null");
        let all = [("--csv", Some(&device)), ("--json", Some(&device)), ("--trace", None)];
        assert!(check_apart(&inputs, &all).is_ok());
    }

    #[test]
    fn a_dash_is_no_file() {
        let refused = Output::begin("--csv", Path::new("-")).err().map(|error| error.to_string());
        assert!(
            refused.is_some_and(|text| text.starts_with("--csv: the name of a file is expected, found `-`"))
        );
    }
}
