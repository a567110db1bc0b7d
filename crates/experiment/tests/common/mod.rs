//! What several tests of this crate do alike.

use std::path::Path;
use std::time::Instant;

use stratasim_core::observe::Blind;
use stratasim_experiment::{Document, Prepared};
use stratasim_report::RunResult;

/// The result of an experiment that is given as text, whose files are looked for from `base`; its checks must hold.
pub(crate) fn run_in(text: &str, base: &Path) -> RunResult {
    let document = Document::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut prepared = Prepared::new(&document, base).unwrap_or_else(|error| panic!("{error}\n{text}"));
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    let result = prepared.run(&mut Blind, Instant::now()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(result.checks_hold(), "{:?}\n{text}", result.checks);
    result
}

/// The same without files.
pub(crate) fn run(text: &str) -> RunResult {
    run_in(text, Path::new(""))
}
