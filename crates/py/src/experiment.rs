//! Experiments: a document and the folder that its relative paths start from.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use pyo3::prelude::*;
use stratasim_core::observe::Fan;
use stratasim_core::{Duration, Time};
use stratasim_experiment::files::AtomicFile;
use stratasim_experiment::{ConfigError, Document, Error, Prepared, RunLabels, Spec, Sweep, Traffic};
use stratasim_report::perfetto::PerfettoOptions;
use stratasim_report::{Columns, Filter, PerfettoTrace};

use crate::error::{change, in_file, interrupted, misfit, raise};
use crate::filter::{RankArgument, filter};
use crate::run::Run;
use crate::sweep::SweepPlan;
use crate::topology::Topology;
use crate::traffic::{self, TrafficCurve, Wanted};
use crate::watch::Watch;

/// An experiment that can be run.
#[pyclass(frozen, module = "stratasim._core")]
pub(crate) struct Experiment {
    document: Document,
    base: PathBuf,
}

/// What to watch during a run.
struct Watching {
    tasks: bool,
    messages: bool,
    filter: Filter,
    trace: Option<PathBuf>,
    /// Links to tell of over time, by name; none for the fullest.
    over_time: Option<Vec<String>>,
}

/// Why there is no result.
enum Failure {
    Error(Error),
    Raised(PyErr),
    /// What stopped a run, and what there was of it by then.
    Stopped(PyErr, Box<Run>),
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl Failure {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Error(error) => raise(py, &error),
            Self::Raised(error) => error,
            Self::Stopped(error, left) => interrupted(py, error, *left),
        }
    }
}

#[pymethods]
impl Experiment {
    /// The experiment in the file at `path` (TOML, or JSON by the end of its name), with assignments
    /// `key=value` applied as `--set` of the command does.
    #[staticmethod]
    #[pyo3(signature = (path, sets=Vec::new()))]
    fn load(py: Python<'_>, path: PathBuf, sets: Vec<String>) -> PyResult<Self> {
        let load = || -> Result<Self, Error> {
            let (mut document, base) = stratasim_experiment::load(&path, &[])?;
            change(&mut document, &sets)?;
            Ok(Self { document, base })
        };
        py.detach(load).map_err(|error| raise(py, &error))
    }

    /// The experiment in a JSON text; relative paths start from `base`. `name` stands for a file name.
    #[staticmethod]
    #[pyo3(signature = (text, base, sets=Vec::new(), name=""))]
    fn from_json(py: Python<'_>, text: &str, base: PathBuf, sets: Vec<String>, name: &str) -> PyResult<Self> {
        let read = || {
            let mut document = Document::from_json(name, text)?;
            change(&mut document, &sets)?;
            Ok(document)
        };
        let document = py.detach(read).map_err(|error| misfit(py, error))?;
        Ok(Self { document, base })
    }

    /// The name of the file, or what stands for it.
    #[getter]
    fn name(&self) -> &str {
        self.document.name()
    }

    /// The sweep that the section `sweep` describes, with keys of that section replaced: name and
    /// JSON text of each.
    fn sweep(&self, py: Python<'_>, section: Vec<(String, String)>) -> PyResult<SweepPlan> {
        let plan = || {
            let value = |(key, text): (String, String)| match serde_json::from_str(&text) {
                Ok(value) => Ok((key, value)),
                Err(error) => Err(ConfigError::new(format!("sweep.{key}: {error}"), None)),
            };
            let given = section.into_iter().map(value).collect::<Result<_, _>>()?;
            Sweep::with(self.document.clone(), given, &self.base)
        };
        let sweep = py.detach(plan).map_err(|error| misfit(py, error))?;
        Ok(SweepPlan { sweep })
    }

    /// The folder that relative paths start from.
    #[getter]
    fn base(&self) -> &OsStr {
        self.base.as_os_str()
    }

    /// The spec with every default, as JSON text.
    fn resolved(&self, py: Python<'_>) -> PyResult<String> {
        let spec = py.detach(|| self.document.read::<Spec>()).map_err(|error| misfit(py, error))?;
        Ok(serde_json::to_string(&spec).expect("a spec is written as JSON"))
    }

    /// Whether it is about open-loop traffic.
    #[getter]
    fn is_traffic(&self) -> bool {
        Traffic::is_in(&self.document)
    }

    /// Runs open-loop traffic at its one load. Returns the result as JSON text, and what is broken in it.
    #[pyo3(signature = (*, progress=None))]
    fn run_traffic(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<(String, Option<String>)> {
        let document = self.without_sweep().map_err(|error| raise(py, &error))?;
        traffic::run(py, &document, &self.base, progress.as_ref())
    }

    /// Runs open-loop traffic at many loads, by our rules or by BookSim2's.
    #[pyo3(signature = (*, booksim2=false, loads=None, saturation=None, seeds=1, out=None, threads=None, force=false, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn curve(
        &self,
        py: Python<'_>,
        booksim2: bool,
        loads: Option<String>,
        saturation: Option<f64>,
        seeds: u32,
        out: Option<PathBuf>,
        threads: Option<usize>,
        force: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<TrafficCurve> {
        let wanted = Wanted { loads, saturation, seeds, out, threads, force, progress };
        let document = self.without_sweep().map_err(|error| raise(py, &error))?;
        traffic::curve_of(py, &document, &self.base, booksim2, wanted)
    }

    /// Builds the topology, the program and the network and runs them, without the interpreter.
    ///
    /// `topology` stands for the section of that name where its seed and folder are the
    /// experiment's own. `ranks` (numbers, or None for all) and `window` (such as `1 s..2 s`) limit
    /// what is recorded and traced. `over_time` names links that are told of over time; with no names, the fullest are.
    #[pyo3(signature = (*, topology=None, tasks=false, messages=false, ranks=None, window=None, trace=None, over_time=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    #[expect(clippy::disallowed_methods, reason = "wall time of the run")]
    fn run(
        &self,
        py: Python<'_>,
        topology: Option<&Topology>,
        tasks: bool,
        messages: bool,
        ranks: Option<RankArgument>,
        window: Option<&str>,
        trace: Option<PathBuf>,
        over_time: Option<Vec<String>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Run> {
        let started = Instant::now();
        let filter = filter(py, ranks, window)?;
        let watching = Watching { tasks, messages, filter, trace, over_time };
        let watch = Watch::new(progress, started);
        let run = py.detach(|| self.execute(topology, watching, watch, started));
        let run = run.map_err(|failure| failure.raise(py))?;
        if run.result.checks_hold() {
            return Ok(run);
        }
        let error = raise(py, &Error::Broken(format!("a physics check is broken: {}", run.violations())));
        error.value(py).setattr("result", Py::new(py, run)?)?;
        Err(error)
    }
}

impl Experiment {
    fn execute(
        &self,
        topology: Option<&Topology>,
        watching: Watching,
        mut watch: Watch,
        started: Instant,
    ) -> Result<Run, Failure> {
        let Watching { tasks, messages, filter, trace, over_time: watched_links } = watching;
        // begun before the run, so that a path that cannot be written costs no time
        let fail = |error| Failure::Raised(in_file(trace.as_deref().unwrap_or(Path::new("")), &error));
        let file = trace.as_deref().map(AtomicFile::create).transpose().map_err(fail)?;
        let mut prepared = self.prepare(topology)?;
        let fits = filter.ranks.check(prepared.program.ranks());
        fits.map_err(|error| ConfigError::new(error.within("ranks").to_string(), None))?;
        let over_time =
            |names: Vec<String>| prepared.over_time(("over_time", "over_time"), &names, filter.window);
        let mut over_time = watched_links.map(over_time).transpose()?;
        let mut columns = (tasks || messages).then(|| {
            let columns = Columns::new(filter.clone());
            if messages { columns.with_messages() } else { columns }
        });
        // names outlive the run, which holds the rest
        let (topology, program) = (prepared.topology.clone(), prepared.program.clone());
        let places = prepared.places.clone();
        let schedule = prepared.schedule.clone();
        let labels = RunLabels {
            topology: &topology,
            program: &program,
            places: &places,
            schedule: schedule.as_deref(),
        };
        let mut tracing = file.map(|file| {
            let Filter { ranks, window } = filter;
            let options = PerfettoOptions { ranks, window, ..PerfettoOptions::default() };
            PerfettoTrace::new(file, options, &labels)
        });
        let mut fan = Fan::new();
        fan.add(&mut watch);
        if let Some(columns) = &mut columns {
            fan.add(columns);
        }
        if let Some(tracing) = &mut tracing {
            fan.add(tracing);
        }
        if let Some(over_time) = &mut over_time {
            fan.add(over_time);
        }
        let outcome = prepared.run(&mut fan, started);
        // what was observed before a run stalls helps to see why
        if let Some(tracing) = tracing {
            tracing.finish().and_then(AtomicFile::commit).map_err(fail)?;
        }
        let raised = watch.into_raised();
        let mut result = match outcome {
            Ok(result) => result,
            Err(error) => return Err(raised.map_or_else(|| error.into(), Failure::Raised)),
        };
        if let Some(over_time) = over_time {
            let end = Time::ZERO + Duration::from_secs_f64(result.makespan_s);
            over_time.tell(&mut result, end, &labels);
        }
        let (recorded, delivered) = columns.map(|columns| (columns.tasks, columns.messages)).unzip();
        let run = Run {
            result,
            topology,
            program,
            schedule,
            places,
            tasks: Mutex::new(recorded),
            messages: Mutex::new(delivered.filter(|_| messages)),
            flows: Mutex::new(messages.then(|| std::mem::take(&mut prepared.report.flows))),
        };
        match raised {
            None => Ok(run),
            Some(error) => Err(Failure::Stopped(error, Box::new(run))),
        }
    }

    /// The document without what it says to run besides.
    fn without_sweep(&self) -> Result<Document, Error> {
        let mut document = self.document.clone();
        Sweep::leave_out(&mut document)?;
        Ok(document)
    }

    /// Builds everything, on a topology that is there already where that is the same.
    fn prepare(&self, topology: Option<&Topology>) -> Result<Prepared, Error> {
        let document = self.without_sweep()?;
        if let Some(topology) = topology {
            let spec: Spec = document.read()?;
            if topology.is_of(&spec, &self.base) {
                return Ok(Prepared::on(spec, topology.graph.clone(), &document, &self.base)?);
            }
        }
        Ok(Prepared::new(&document, &self.base)?)
    }
}
