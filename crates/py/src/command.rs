//! The command `stratasim`, from Python.

use std::ffi::OsString;

use pyo3::prelude::*;
use stratasim_report::Style;

use crate::error::raise;

/// Runs the command with its arguments, the first of which is its own name. Returns the exit code.
///
/// The command looks after Ctrl-C itself, for the rest of the process.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| stratasim_cli::main_with_args(args))
}

/// What `stratasim explain` prints about these words: a kind, or a list and a kind.
#[pyfunction]
#[pyo3(signature = (words, width=100))]
pub(crate) fn explain(py: Python<'_>, words: Vec<String>, width: usize) -> PyResult<String> {
    let style = Style { unicode: true, colour: false, width: width.clamp(60, 200) };
    stratasim_cli::explain(&words, &style).map_err(|error| raise(py, &error))
}
