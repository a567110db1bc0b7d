//! Sweeps: one experiment, many settings.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use stratasim_experiment::files;
use stratasim_experiment::sweep::{Failure, Finished, Outcome, Point, RunOptions, Watch, run_document};
use stratasim_experiment::{ConfigError as Misfit, Document, Error, Sweep};

use crate::error::{ConfigError, misfit, raise};
use crate::picture::Picture;
use crate::watch::beside;

/// A sweep, ready to run. Results are files in a folder: `points/<digest>.json`.
#[pyclass(frozen, module = "stratasim._core")]
pub(crate) struct SweepPlan {
    pub(crate) sweep: Sweep,
}

/// What went wrong at points, by their index.
type Failures = Vec<(usize, PyErr)>;

/// Counts points, and stops when asked to.
#[derive(Default)]
struct Counting {
    done: AtomicUsize,
    stop: AtomicBool,
}

impl Watch for Counting {
    fn done(&self, _: &Point, _: &Outcome) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
    fn wants_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[pymethods]
impl SweepPlan {
    /// Settings that vary: dotted path (or `case`) and heading of each.
    #[getter]
    fn columns(&self) -> Vec<(&str, &str)> {
        let columns = self.sweep.columns().iter();
        columns.map(|column| (column.path.as_str(), column.heading.as_str())).collect()
    }

    /// Digest of each point, in order.
    #[getter]
    fn digests(&self) -> Vec<&str> {
        self.sweep.points().iter().map(|point| point.digest.as_str()).collect()
    }

    /// The resolved spec of a point as JSON text.
    fn spec(&self, index: usize) -> PyResult<String> {
        Ok(self.point(index)?.spec.to_string())
    }

    /// The settings of a point as a JSON list, in the order of the columns.
    fn settings(&self, index: usize) -> PyResult<String> {
        Ok(serde_json::to_string(&self.point(index)?.settings).expect("JSON values are written as JSON"))
    }

    /// The settings of a point in words.
    fn describe(&self, index: usize) -> PyResult<String> {
        Ok(self.sweep.describe(self.point(index)?))
    }

    /// Where the result of a point is, or will be, in the folder `out`.
    fn result_path(&self, out: PathBuf, index: usize) -> PyResult<PathBuf> {
        Ok(self.sweep.result_path(&out, self.point(index)?))
    }

    /// Writes the result of a point, given as JSON text, into the folder `out`.
    fn keep(&self, py: Python<'_>, out: PathBuf, index: usize, result: &str) -> PyResult<()> {
        let path = self.sweep.result_path(&out, self.point(index)?);
        let folder = path.parent().unwrap_or(&out);
        let write = || std::fs::create_dir_all(folder).and_then(|()| files::write(&path, result.as_bytes()));
        py.detach(write).map_err(|error| raise(py, &Error::file(&path, &error)))
    }

    /// Runs the points that have no result in `out`. Returns what went wrong, by index, as each would have raised it
    /// alone, and what ended the sweep before all were done: Ctrl-C, or `progress`. The finished points are kept.
    ///
    /// `progress` is called about twenty times a second with points done and points altogether.
    #[pyo3(signature = (out, *, threads=None, force=false, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        out: PathBuf,
        threads: Option<usize>,
        force: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Failures, Option<PyErr>)> {
        let options = RunOptions { threads, shard: None, force };
        let counting = Counting::default();
        let progress = progress.map(|progress| progress.clone().unbind());
        let ask = |py: Python<'_>| self.tell(py, progress.as_ref(), &counting);
        let (finished, asked) = beside(py, &counting.stop, ask, || self.sweep.run(&out, &options, &counting));
        let finished = match finished {
            Ok(finished) => finished,
            Err(error) => return Err(asked.err().unwrap_or_else(|| raise(py, &error))),
        };
        let failures = finished.failures.into_iter();
        Ok((failures.map(|failure| (failure.index, raise(py, &failure.error))).collect(), asked.err()))
    }

    /// Names of numbers that are asked for and that no point with a result in `out` has.
    fn absent(&self, py: Python<'_>, out: PathBuf) -> PyResult<Vec<String>> {
        if !self.sweep.asks() {
            // reads no results for it
            return Ok(Vec::new());
        }
        let found = py.detach(|| self.gather(&out)).map_err(|error| raise(py, &error))?;
        Ok(self.sweep.absent(&found.rows).into_iter().map(str::to_owned).collect())
    }

    /// What the results in `out` say beside their numbers.
    fn notes(&self, py: Python<'_>, out: PathBuf) -> PyResult<Vec<String>> {
        let found = py.detach(|| self.gather(&out)).map_err(|error| raise(py, &error))?;
        Ok(self.sweep.notes(&found.rows))
    }

    /// The points that have a result in `out`, by digest.
    fn finished(&self, py: Python<'_>, out: PathBuf) -> PyResult<Vec<String>> {
        let found = py.detach(|| self.gather(&out)).map_err(|error| raise(py, &error))?;
        Ok(found.rows.into_iter().map(|row| row.digest).collect())
    }

    /// Settings and numbers of the points that have a result in `out`, as JSON text.
    fn numbers(&self, py: Python<'_>, out: PathBuf) -> PyResult<String> {
        let found = py.detach(|| self.gather(&out)).map_err(|error| raise(py, &error))?;
        Ok(self.sweep.json(&found))
    }

    /// The pictures that the sweep asks for, each with its file name and its caption.
    fn pictures(&self, py: Python<'_>, out: PathBuf) -> PyResult<Vec<(String, Picture, String)>> {
        let found = py.detach(|| self.gather(&out)).map_err(|error| raise(py, &error))?;
        let pictures = self.sweep.pictures(&found.rows).into_iter();
        Ok(pictures.map(|(name, drawing, caption)| (name, Picture { drawing }, caption)).collect())
    }

    /// Writes page, pictures and tables of the results in `out` there, with what was raised at other points; the page comes
    /// first. Where there is no result, a page of earlier ones stays.
    fn write(
        &self,
        py: Python<'_>,
        out: PathBuf,
        failures: Vec<(usize, Bound<'_, PyAny>)>,
    ) -> PyResult<Vec<PathBuf>> {
        let failures: PyResult<Vec<Failure>> = failures
            .into_iter()
            .map(|(index, error)| {
                let point = self.point(index)?;
                let text = error.str()?.to_string();
                // without the mark before it and the excerpt below it
                let text = text.trim_start_matches("× ").lines().next().unwrap_or_default().to_owned();
                let is_config = error.is_instance_of::<ConfigError>();
                let error = if is_config { Misfit::new(text, None).into() } else { Error::Broken(text) };
                let (settings, digest) = (self.sweep.describe(point), point.digest.clone());
                Ok(Failure { index, settings, digest, error })
            })
            .collect();
        let failures = failures?;
        let write = || {
            let mut finished = Finished { failures, ..self.gather(&out)? };
            // a result of an earlier run is none of a point that failed now
            finished.rows.retain(|row| finished.failures.iter().all(|failure| failure.digest != row.digest));
            if finished.rows.is_empty() { Ok(Vec::new()) } else { self.sweep.write(&out, &finished) }
        };
        py.detach(write).map_err(|error| raise(py, &error))
    }
}

/// The result of one point of a sweep as JSON text: the experiment in a JSON text, whose relative paths start from `base`. `name` stands
/// for a file name.
#[pyfunction]
pub(crate) fn run_point(py: Python<'_>, text: &str, base: PathBuf, name: &str) -> PyResult<String> {
    let document = Document::from_json(name, text).map_err(|error| misfit(py, error))?;
    let stop = AtomicBool::new(false);
    let asked = || stop.load(Ordering::Relaxed);
    let (result, raised) = beside(py, &stop, |_| Ok(()), || run_document(&document, &base, &asked));
    raised?;
    result.map(|result| result.to_json()).map_err(|error| raise(py, &error))
}

impl SweepPlan {
    fn point(&self, index: usize) -> PyResult<&Point> {
        self.sweep.points().get(index).ok_or_else(|| PyIndexError::new_err(index))
    }

    /// The results that are in `out`. Part 0 has no points, so nothing is run.
    fn gather(&self, out: &Path) -> Result<Finished, Error> {
        self.sweep.run(out, &RunOptions { shard: Some((0, 1)), threads: Some(1), force: false }, &())
    }

    fn tell(&self, py: Python<'_>, progress: Option<&Py<PyAny>>, counting: &Counting) -> PyResult<()> {
        if let Some(progress) = progress {
            progress.call1(py, (counting.done.load(Ordering::Relaxed), self.sweep.points().len()))?;
        }
        Ok(())
    }
}
