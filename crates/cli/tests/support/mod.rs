//! What the tests of the command share.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The folders of the examples, in order.
pub fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("examples")).unwrap();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Files in a folder whose names end with `.end`, in order.
pub fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == end))
        .collect();
    files.sort();
    files
}

/// Copies a folder with everything in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// Largest resident memory of this process so far; 0 where the system does not say.
pub fn peak_bytes() -> u64 {
    stratasim_experiment::run::peak_rss_bytes()
}

/// The command as it ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code; 256 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
}

impl Ended {
    /// Runs a command to its end.
    pub fn of(command: &mut std::process::Command) -> Self {
        let ended = command.output().unwrap();
        Self {
            code: ended.status.code().unwrap_or(256),
            output: String::from_utf8(ended.stdout).unwrap(),
            errors: String::from_utf8(ended.stderr).unwrap(),
        }
    }

    /// Asserts that it failed with `code` and one error that has all of `words` in it.
    #[track_caller]
    pub fn failed(&self, code: i32, words: &[&str]) {
        let Self { code: found, output, errors } = self;
        assert_eq!(*found, code, "exit code {found}\n{output}{errors}");
        assert_eq!(output, "", "an error leaves standard output empty");
        let marks = errors.matches('×').count() + errors.matches("error: ").count();
        assert_eq!(marks, 1, "there should be one error:\n{errors}");
        assert!(!errors.contains("panicked") && !errors.contains("bug in stratasim"), "{errors}");
        // an error is read by people: it fits on a screen
        assert!(errors.len() < 3000, "{} characters:\n{errors:.3000}", errors.len());
        // as one line, without the margin of the lines after the first
        let flat = errors.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(flat.contains(word) || errors.contains(word), "`{word}` is not in:\n{errors}");
        }
    }
}

/// A folder for one test.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    /// A new, empty folder.
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// The text of a file in it.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Names of what is in it, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The command with `arguments`, ready to run in the folder as on a terminal of 80 columns.
    pub fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("stratasim"));
        command.current_dir(self.path()).args(arguments);
        command.env("LANG", "C.UTF-8").env("LC_ALL", "C.UTF-8").env("COLUMNS", "80");
        command.env_remove("NO_COLOR").env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs the command in the folder.
    pub fn stratasim(&self, arguments: &[&str]) -> Ended {
        Ended::of(&mut self.command(arguments))
    }
}
