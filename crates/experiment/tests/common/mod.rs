//! What several tests of this crate do alike.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::Path;
use std::time::Instant;

use stratasim_core::observe::{Blind, Observer};
use stratasim_experiment::{Document, Prepared};
use stratasim_report::RunResult;

/// The result of an experiment that is given as text, whose files are looked for from `base`; its checks must hold.
pub(crate) fn run_in(text: &str, base: &Path) -> RunResult {
    watch_in(text, base, &mut Blind)
}

/// The same, watched.
pub(crate) fn watch_in(text: &str, base: &Path, observer: &mut dyn Observer) -> RunResult {
    let document = Document::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut prepared = Prepared::new(&document, base).unwrap_or_else(|error| panic!("{error}\n{text}"));
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    let result = prepared.run(observer, Instant::now()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(result.checks_hold(), "{:?}\n{text}", result.checks);
    result
}

/// The same without files.
pub(crate) fn run(text: &str) -> RunResult {
    run_in(text, Path::new(""))
}

/// What is said where an experiment without files is refused.
pub(crate) fn refusal(text: &str) -> Option<String> {
    let document = Document::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Prepared::new(&document, Path::new("")).err().map(|error| error.to_string())
}
