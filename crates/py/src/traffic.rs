//! Open-loop traffic: one load, or a curve of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stratasim_core::Bandwidth;
use stratasim_experiment::booksim::Experiment as BookSim;
use stratasim_experiment::traffic::{Curve, Kept, Loads, PRECISIONS, Progress, Stage, Subject, Watch};
use stratasim_experiment::{ConfigError, Document, Error, Traffic};
use stratasim_report::RunResult;

use crate::error::{SET, interrupted, raise};
use crate::picture::Picture;
use crate::watch::beside;

/// A load-latency curve.
#[pyclass(frozen, module = "stratasim._core")]
pub(crate) struct TrafficCurve {
    curve: Curve,
    found: usize,
    /// Whether all of its runs have their results; they have statistics alone otherwise.
    whole: bool,
}

#[pymethods]
impl TrafficCurve {
    /// The curve of which [`Self::json`] and [`Self::results`] say these.
    #[staticmethod]
    fn restore(
        py: Python<'_>,
        json: &str,
        results: Option<Vec<(f64, Vec<String>)>>,
        found: usize,
    ) -> PyResult<Self> {
        let read = || -> Result<Self, serde_json::Error> {
            let Some(results) = results else {
                let (curve, _) = Curve::read(json, None)?;
                return Ok(Self { curve, found, whole: false });
            };
            let point = |(load, texts): (f64, Vec<String>)| {
                Ok((load, texts.iter().map(|text| RunResult::from_json(text)).collect::<Result<_, _>>()?))
            };
            let results = results.into_iter().map(point).collect::<Result<_, _>>()?;
            Ok(Self { curve: Curve::with_results(json, results)?, found, whole: true })
        };
        py.detach(read).map_err(not_read)
    }

    /// The curve in the text of a `results.json`, with the results of its runs where those are kept in the folder `out`.
    #[staticmethod]
    fn read(py: Python<'_>, json: &str, out: PathBuf) -> PyResult<Self> {
        let (curve, whole) = py.detach(|| Curve::read(json, Some(&out))).map_err(not_read)?;
        Ok(Self { curve, found: 0, whole })
    }

    /// Everything as JSON text, as the command writes it.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.curve.json())
    }

    /// Each load with its results as JSON text, one per seed; `None` where it was read without them.
    fn results(&self, py: Python<'_>) -> Option<Vec<(f64, Vec<String>)>> {
        let points = self.curve.points.iter();
        self.whole.then(|| {
            py.detach(|| {
                points
                    .map(|it| (it.load, it.results.iter().map(|result| result.to_json()).collect()))
                    .collect()
            })
        })
    }

    /// How many results were in the folder before.
    #[getter]
    fn found(&self) -> usize {
        self.found
    }

    /// Why runs have no result, each with its load.
    #[getter]
    fn failures(&self) -> Vec<String> {
        self.curve.failures.iter().map(Error::to_string).collect()
    }

    /// What results say beside their numbers, once each, with the loads of those that do.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.curve.notes()
    }

    /// Latency over load.
    fn latency(&self) -> Picture {
        Picture { drawing: self.curve.latency() }
    }

    /// Accepted over offered load.
    fn throughput(&self) -> Picture {
        Picture { drawing: self.curve.throughput() }
    }

    /// Writes page, pictures and tables into the folder `out`; the page comes first.
    fn write(&self, py: Python<'_>, out: PathBuf) -> PyResult<Vec<PathBuf>> {
        py.detach(|| self.curve.write(&out)).map_err(|error| raise(py, &error))
    }
}

/// An exception for a text that is no curve.
fn not_read(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("this is no curve of this version: {error}"))
}

/// What to run of a curve, and where to keep it.
pub(crate) struct Wanted {
    /// As the command takes them; empty for none.
    pub(crate) loads: Option<String>,
    pub(crate) saturation: Option<f64>,
    pub(crate) seeds: u32,
    pub(crate) out: Option<PathBuf>,
    pub(crate) threads: Option<usize>,
    pub(crate) force: bool,
    pub(crate) progress: Option<Py<PyAny>>,
}

/// The most seeds of a load, as of the command.
const MOST_SEEDS: u32 = 1000;

impl Wanted {
    /// The loads to run, in flits per cycle, in order. Refuses arguments out of range. `own` is the load where none is asked
    /// for, `flit_rate` the rate of one flit per cycle where there is a clock.
    fn check(&self, own: Option<f64>, flit_rate: Option<Bandwidth>) -> Result<Vec<f64>, ConfigError> {
        let wrong = |message: String| Err(ConfigError::new(message, None));
        let refused = |reason: String| ConfigError::new(format!("loads: {reason}"), None);
        let asked = match self.loads.as_deref() {
            None | Some("") => Vec::new(),
            Some(text) => {
                let loads: Loads = text.parse().map_err(refused)?;
                loads.flits_per_cycle(flit_rate).map_err(|error| refused(error.reason))?
            }
        };
        if let Some(bad) = self.saturation.filter(|precision| !PRECISIONS.contains(precision)) {
            return wrong(format!(
                "saturation: {bad}; a part of a flit per cycle from 0.000001 to 0.5 is expected"
            ));
        }
        if !(1..=MOST_SEEDS).contains(&self.seeds) {
            return wrong(format!("seeds: {}; 1 to {MOST_SEEDS} are possible", self.seeds));
        }
        if self.saturation.is_some() || !asked.is_empty() {
            return Ok(asked);
        }
        match own {
            Some(load) if self.loads.is_none() => Ok(vec![load]),
            _ => wrong("which loads? `loads` or `saturation` is expected".to_owned()),
        }
    }
}

/// Counts runs, and stops when asked to.
#[derive(Default)]
struct Counting {
    done: AtomicUsize,
    stop: AtomicBool,
}

impl Progress for Counting {
    fn done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn wants_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs a curve of `subject`; `own` is its load where none is asked for.
fn curve<S: Subject>(
    py: Python<'_>,
    subject: &S,
    own: Option<f64>,
    wanted: &Wanted,
) -> PyResult<TrafficCurve> {
    let loads = wanted.check(own, subject.flit_rate()).map_err(|error| raise(py, &Error::Config(error)))?;
    let counting = Counting::default();
    let asked = loads.len() * wanted.seeds as usize;
    let tell = |py: Python<'_>| -> PyResult<()> {
        let Some(progress) = &wanted.progress else { return Ok(()) };
        let done = counting.done.load(Ordering::Relaxed);
        progress.call1(py, (done, asked.max(done))).map(drop)
    };
    let points = |subject: &dyn Subject| -> Result<Curve, Error> {
        let mut curve = Curve::run(&subject, &loads, wanted.seeds, wanted.threads, &counting)?;
        if let Some(precision) = wanted.saturation {
            curve.find_saturation(&subject, precision, wanted.seeds, wanted.threads, &counting)?;
        }
        Ok(curve)
    };
    let work = || match &wanted.out {
        None => Ok(TrafficCurve { curve: points(subject)?, found: 0, whole: true }),
        Some(out) => {
            let kept = Kept::new(subject, out, wanted.force)?;
            let curve = points(&kept)?;
            curve.write(out)?;
            Ok(TrafficCurve { curve, found: kept.found(), whole: true })
        }
    };
    let (curve, asked): (Result<TrafficCurve, Error>, _) = beside(py, &counting.stop, tell, work);
    match (curve, asked) {
        (Ok(curve), Err(raised)) if !curve.curve.points.is_empty() => Err(interrupted(py, raised, curve)),
        (_, Err(raised)) => Err(raised),
        (curve, Ok(())) => curve.map_err(|error| raise(py, &error)),
    }
}

/// A curve of an experiment, by our rules or by BookSim2's.
pub(crate) fn curve_of(
    py: Python<'_>,
    document: &Document,
    base: &Path,
    booksim2: bool,
    mut wanted: Wanted,
) -> PyResult<TrafficCurve> {
    let refused = |error: ConfigError| raise(py, &Error::Config(error));
    if !Traffic::is_in(document) {
        return Err(refused(
            document.lacks("this experiment has no section `traffic`; `stratasim.run` runs it"),
        ));
    }
    Traffic::check_loads(document, "stratasim.run").map_err(refused)?;
    if wanted.loads.is_none() && wanted.saturation.is_none() {
        wanted.saturation = Traffic::search_in(document);
    }
    // what is built has a load that it can make
    let own = |subject: &dyn Subject| Traffic::load_in(document)?.flits_per_cycle(subject.flit_rate()).ok();
    let has_loads =
        wanted.saturation.is_some() || wanted.loads.as_deref().is_some_and(|text| !text.is_empty());
    if booksim2 {
        let build = if has_loads { BookSim::for_loads } else { BookSim::from_document };
        let subject = py.detach(|| build(document, base)).map_err(refused)?;
        return curve(py, &subject, own(&subject), &wanted);
    }
    let build = if has_loads { Traffic::for_loads } else { Traffic::new };
    let subject = py.detach(|| build(document, base)).map_err(refused)?;
    curve(py, &subject, own(&subject), &wanted)
}

/// A curve of a configuration of BookSim2; `sets` are assignments such as `num_vcs=2`.
#[pyfunction]
#[pyo3(signature = (path, sets, *, loads=None, saturation=None, seeds=1, out=None, threads=None, force=false, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn booksim2_curve(
    py: Python<'_>,
    path: PathBuf,
    sets: Vec<String>,
    loads: Option<String>,
    saturation: Option<f64>,
    seeds: u32,
    out: Option<PathBuf>,
    threads: Option<usize>,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<TrafficCurve> {
    let wanted = Wanted { loads, saturation, seeds, out, threads, force, progress };
    let subject =
        py.detach(|| BookSim::from_file_as(&path, SET, &sets)).map_err(|error| raise(py, &error))?;
    curve(py, &subject, Some(subject.load()), &wanted)
}

/// How far a run has come, and whether it is to stop.
#[derive(Default)]
struct Cycles {
    cycle: AtomicU64,
    stop: AtomicBool,
}

impl Watch for Cycles {
    fn at(&self, stage: &Stage) {
        self.cycle.store(stage.cycle, Ordering::Relaxed);
    }

    fn wants_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs the one load of an experiment; returns the result as JSON text, and what is broken in it.
#[expect(clippy::disallowed_methods, reason = "wall time of the run")]
pub(crate) fn run(
    py: Python<'_>,
    document: &Document,
    base: &Path,
    progress: Option<&Py<PyAny>>,
) -> PyResult<(String, Option<String>)> {
    let started = Instant::now();
    let traffic =
        py.detach(|| Traffic::new(document, base)).map_err(|error| raise(py, &Error::Config(error)))?;
    let watch = Cycles::default();
    let period_s = traffic.period_s();
    let tell = |py: Python<'_>| -> PyResult<()> {
        let simulated_s = watch.cycle.load(Ordering::Relaxed) as f64 * period_s;
        progress.map_or(Ok(()), |progress| progress.call1(py, (simulated_s, 0, 0)).map(drop))
    };
    let work = || traffic.run(&watch, None, started);
    let result = match beside(py, &watch.stop, tell, work) {
        (Ok(result), Err(raised)) => return Err(interrupted(py, raised, result.to_json())),
        (Err(_), Err(raised)) => return Err(raised),
        (result, Ok(())) => result.map_err(|error| raise(py, &error))?,
    };
    let broken = result.checks.iter().find(|check| !check.ok);
    let broken = broken
        .map(|check| format!("{}: {}", check.name, check.violations.first().map_or("", String::as_str)));
    Ok((result.to_json(), broken))
}
