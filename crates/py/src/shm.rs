//! Collectives between processes, on vectors of bytes: `python/stratasim/shm.py` makes them of arrays.

use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use stratasim_core::error::nearest;
use stratasim_shm::{Algorithm, Block, Choices, ElementType, Group, Operation, Options, Reduction, ShmError};

create_exception!(
    stratasim,
    GroupError,
    PyRuntimeError,
    "A group of processes that cannot be made, or cannot go on: a process died, left, or called something else."
);

/// What a signal handler raised while a rank waited.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// A process's place in a group of processes.
#[pyclass(frozen, module = "stratasim._core")]
pub(crate) struct ShmGroup {
    group: Mutex<Option<Group>>,
    raised: Raised,
}

/// Memory of the rank's Local segment; it goes back when this goes.
#[pyclass(frozen, module = "stratasim._core")]
pub(crate) struct ShmBlock {
    block: Mutex<Option<Block>>,
    /// Where it starts in the file of the group.
    #[pyo3(get)]
    offset: usize,
}

#[pymethods]
impl ShmBlock {
    /// Gives the memory back.
    fn free(&self) {
        self.block.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

#[pymethods]
impl ShmGroup {
    /// Waits until all `size` processes are there.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        name: String,
        rank: u32,
        size: u32,
        local_bytes: usize,
        staging_bytes: usize,
        timeout_s: f64,
        calibration: Option<PathBuf>,
    ) -> PyResult<Self> {
        let timeout = Duration::try_from_secs_f64(timeout_s).map_err(|_| {
            PyValueError::new_err(format!("timeout: seconds are expected, found {timeout_s}"))
        })?;
        let choices = match calibration.filter(|_| rank == 0) {
            Some(path) => Choices::read(&path).map_err(|error| PyValueError::new_err(error.to_string()))?,
            None => Choices::default(),
        };
        let options =
            Options { local_bytes, staging_bytes, timeout, choices, ..Options::new(name, rank, size) };
        let raised = Raised::default();
        let keep = raised.clone();
        let pause = move || {
            Python::attach(|py| py.check_signals()).map_err(|error| {
                *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                ShmError::Interrupted
            })
        };
        let joined = py.detach(|| Group::join_with(options, Box::new(pause)));
        let group = joined.map_err(|error| exception(error, &raised))?;
        Ok(Self { group: Mutex::new(Some(group)), raised })
    }

    /// The processes, by rank.
    fn pids(&self) -> PyResult<Vec<u32>> {
        self.with(|group| Ok(group.pids()))
    }

    /// Descriptor and length of the file behind the memory of the group.
    fn file(&self) -> PyResult<(i32, usize)> {
        self.with(|group| Ok((group.file().as_raw_fd(), group.file_bytes())))
    }

    /// Says where that file has been mapped.
    fn mapped_at(&self, address: usize) -> PyResult<()> {
        self.with(|group| {
            group.mapped_at(address);
            Ok(())
        })
    }

    /// Takes memory of this rank's Local segment.
    fn allocate(&self, bytes: usize) -> PyResult<ShmBlock> {
        let block = self.with(|group| Ok(group.allocate(bytes)?))?;
        Ok(ShmBlock { offset: block.file_offset(), block: Mutex::new(Some(block)) })
    }

    /// The algorithm that `auto` means.
    fn choose(&self, operation: &str, bytes: usize) -> PyResult<&'static str> {
        let operation = Operation::named(operation)
            .ok_or_else(|| unknown("operation", operation, Operation::MOVING.map(Operation::name)))?;
        self.with(|group| Ok(group.choose(operation, bytes).name()))
    }

    fn barrier(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with(Group::barrier))
    }

    fn all_gather(
        &self,
        py: Python<'_>,
        input: PyReadonlyArray1<'_, u8>,
        mut output: PyReadwriteArray1<'_, u8>,
        algorithm: &str,
    ) -> PyResult<()> {
        let (input, output) = (input.as_slice()?, output.as_slice_mut()?);
        let algorithm = choice(algorithm)?;
        py.detach(|| {
            self.with(|group| {
                let algorithm = algorithm.unwrap_or_else(|| group.choose(Operation::AllGather, output.len()));
                group.all_gather(input, output, algorithm)
            })
        })
    }

    fn reduce_scatter(
        &self,
        py: Python<'_>,
        input: PyReadonlyArray1<'_, u8>,
        mut output: PyReadwriteArray1<'_, u8>,
        element: &str,
        reduction: &str,
        algorithm: &str,
    ) -> PyResult<()> {
        let (input, output) = (input.as_slice()?, output.as_slice_mut()?);
        let (algorithm, (element, reduction)) = (choice(algorithm)?, kind(element, reduction)?);
        py.detach(|| {
            self.with(|group| {
                let algorithm =
                    algorithm.unwrap_or_else(|| group.choose(Operation::ReduceScatter, input.len()));
                group.reduce_scatter(input, output, element, reduction, algorithm)
            })
        })
    }

    /// In place when there is no input.
    fn all_reduce(
        &self,
        py: Python<'_>,
        input: Option<PyReadonlyArray1<'_, u8>>,
        mut output: PyReadwriteArray1<'_, u8>,
        element: &str,
        reduction: &str,
        algorithm: &str,
    ) -> PyResult<()> {
        let input = input.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        let output = output.as_slice_mut()?;
        let (algorithm, (element, reduction)) = (choice(algorithm)?, kind(element, reduction)?);
        py.detach(|| {
            self.with(|group| {
                let algorithm = algorithm.unwrap_or_else(|| group.choose(Operation::AllReduce, output.len()));
                match input {
                    None => group.all_reduce_in_place(output, element, reduction, algorithm),
                    Some(input) => group.all_reduce(input, output, element, reduction, algorithm),
                }
            })
        })
    }

    fn broadcast(
        &self,
        py: Python<'_>,
        mut data: PyReadwriteArray1<'_, u8>,
        root: u32,
        algorithm: &str,
    ) -> PyResult<()> {
        let data = data.as_slice_mut()?;
        let algorithm = choice(algorithm)?;
        py.detach(|| {
            self.with(|group| {
                let algorithm = algorithm.unwrap_or_else(|| group.choose(Operation::Broadcast, data.len()));
                group.broadcast(data, root, algorithm)
            })
        })
    }

    /// Leaves the group.
    fn close(&self) {
        self.group.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl ShmGroup {
    fn with<T>(&self, run: impl FnOnce(&mut Group) -> Result<T, ShmError>) -> PyResult<T> {
        let mut group = match self.group.try_lock() {
            Ok(group) => group,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(GroupError::new_err("another thread is in a call of this group"));
            }
        };
        let group = group.as_mut().ok_or_else(|| GroupError::new_err("the group is closed"))?;
        run(group).map_err(|error| exception(error, &self.raised))
    }
}

/// The exception that fits.
fn exception(error: ShmError, raised: &Raised) -> PyErr {
    let text = error.to_string();
    match error {
        ShmError::Interrupted => {
            let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
            raised.unwrap_or_else(|| GroupError::new_err(text))
        }
        ShmError::Argument(_) => PyValueError::new_err(text),
        ShmError::Memory(_) => PyMemoryError::new_err(text),
        ShmError::Timeout { .. } | ShmError::Incomplete { .. } => PyTimeoutError::new_err(text),
        _ => GroupError::new_err(text),
    }
}

/// The algorithm of this name; `None` for `auto`.
fn choice(name: &str) -> PyResult<Option<Algorithm>> {
    if name == "auto" {
        return Ok(None);
    }
    let found = Algorithm::named(name).map(Some);
    found.ok_or_else(|| {
        unknown("algorithm", name, ["auto"].into_iter().chain(Algorithm::ALL.map(Algorithm::name)))
    })
}

fn kind(element: &str, reduction: &str) -> PyResult<(ElementType, Reduction)> {
    let element = ElementType::named(element)
        .ok_or_else(|| unknown("type of elements", element, ElementType::ALL.map(ElementType::name)))?;
    let reduction = Reduction::named(reduction)
        .ok_or_else(|| unknown("reduction", reduction, Reduction::ALL.map(Reduction::name)))?;
    Ok((element, reduction))
}

fn unknown(what: &str, name: &str, known: impl IntoIterator<Item = &'static str>) -> PyErr {
    let known: Vec<&str> = known.into_iter().collect();
    let near = nearest(name, known.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    PyValueError::new_err(format!("unknown {what} `{name}`{hint} (known: {})", known.join(", ")))
}
