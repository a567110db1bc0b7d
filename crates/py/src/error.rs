//! Errors of Rust as exceptions of Python, with the text that the command prints.

use std::path::Path;

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{create_exception, intern};
use stratasim_core::BuildError;
use stratasim_experiment::{ConfigError as Misfit, Document, Error};

create_exception!(
    stratasim,
    ConfigError,
    PyValueError,
    "Bad input: what was found, what was expected, and where.\n\nThe text is the one that the command prints, the message on one line. `position` is (file, line, column), both counted\nfrom 1, or None when the input is not a text."
);
create_exception!(
    stratasim,
    SimulationError,
    PyRuntimeError,
    "A run that could not go on, or broke a physical invariant.\n\nThe text names the tasks that wait, or what was violated. `result` is the Result of a run that\nended but violates an invariant, None otherwise; `curve`, where it is set, has the loads of a curve that did run."
);

create_exception!(
    stratasim,
    Interrupted,
    PyKeyboardInterrupt,
    "Ctrl-C ended a call that had something to tell by then.\n\n`result` is what the call would have returned: the Result of a run, up to the moment in which it was stopped (its\n`stopped` is True); a Curve of the loads that were done; a Sweep whose other points have no result."
);

/// What a call raises that stopped because `raised` was: after Ctrl-C with what there is by then.
pub(crate) fn interrupted<'py>(py: Python<'py>, raised: PyErr, left: impl IntoPyObject<'py>) -> PyErr {
    if !raised.is_instance_of::<PyKeyboardInterrupt>(py) {
        return raised;
    }
    let made = Interrupted::new_err("stopped; `result` has what there was by then");
    match made.value(py).setattr(intern!(py, "result"), left) {
        Ok(()) => made,
        Err(error) => error,
    }
}

/// What Python calls the changes that the command takes as `--set`.
pub(crate) const SET: &str = "set";

/// Makes these changes.
///
/// # Errors
/// As [`Document::set_as`].
pub(crate) fn change(document: &mut Document, sets: &[String]) -> Result<(), Misfit> {
    sets.iter().try_for_each(|set| document.set_as(SET, set))
}

/// An exception for `error`, with the message that the command prints.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let text = error.render(false, Error::UNBROKEN).trim().to_owned();
    let (raised, name, value) = match error {
        Error::Config(misfit) => {
            let position = misfit.position().into_pyobject(py).map(Bound::into_any);
            (ConfigError::new_err(text), intern!(py, "position"), position)
        }
        Error::File { .. } => {
            (ConfigError::new_err(text), intern!(py, "position"), Ok(py.None().into_bound(py)))
        }
        _ => (SimulationError::new_err(text), intern!(py, "result"), Ok(py.None().into_bound(py))),
    };
    match value.and_then(|value| raised.value(py).setattr(name, value)) {
        Ok(()) => raised,
        Err(error) => error,
    }
}

/// An exception for something that does not fit a document.
pub(crate) fn misfit(py: Python<'_>, error: Misfit) -> PyErr {
    raise(py, &Error::Config(error))
}

/// An exception for an argument that is not part of a document; `within` is the argument's name.
pub(crate) fn argument(py: Python<'_>, error: BuildError, within: &str) -> PyErr {
    misfit(py, Misfit::new(error.within(within).to_string(), None))
}

/// The OSError subclass that fits, such as FileNotFoundError.
pub(crate) fn in_file(path: &Path, error: &std::io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(code) => PyOSError::new_err((code, error.to_string(), path.to_path_buf())),
        None => PyOSError::new_err(format!("{}: {error}", path.display())),
    }
}
