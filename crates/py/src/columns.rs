//! Columns as NumPy arrays, and back.

use std::path::PathBuf;

use numpy::{Element, IntoPyArray as _, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stratasim_core::model::FlowRecord;
use stratasim_core::observe::Activity;
use stratasim_core::{NodeId, Rank};
use stratasim_experiment::files::AtomicFile;
use stratasim_report::Labels;
use stratasim_report::columns::{ACTIVITIES, MessageColumns, TaskColumns};
use stratasim_report::flows::{path, slowdown};

use crate::error::in_file;

/// Moves each named vector into an array without copying it.
macro_rules! into_arrays {
    ($py:expr, $columns:expr, $($name:ident),+) => {{
        let arrays = PyDict::new($py);
        $( arrays.set_item(stringify!($name), $columns.$name.into_pyarray($py))?; )+
        Ok(arrays)
    }};
}

/// The tasks as a dict of arrays.
pub(crate) fn tasks(py: Python<'_>, columns: TaskColumns) -> PyResult<Bound<'_, PyDict>> {
    into_arrays!(py, columns, rank, stream, activity, vertex, iteration, start_ps, end_ps, bytes)
}

/// The messages as a dict of arrays.
pub(crate) fn messages(py: Python<'_>, columns: MessageColumns) -> PyResult<Bound<'_, PyDict>> {
    into_arrays!(py, columns, src, dst, start_ps, end_ps, bytes)
}

/// How messages fared: a dict of arrays, and of lists of names.
pub(crate) fn flows<'py>(
    py: Python<'py>,
    flows: &[FlowRecord],
    labels: &dyn Labels,
) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    let places = |of: fn(&FlowRecord) -> NodeId| -> Vec<String> {
        flows.iter().map(|flow| labels.place(of(flow))).collect()
    };
    made.set_item("from", places(|flow| flow.src))?;
    made.set_item("to", places(|flow| flow.dst))?;
    let wholes = |of: fn(&FlowRecord) -> u64| flows.iter().map(of).collect::<Vec<_>>().into_pyarray(py);
    made.set_item("bytes", wholes(|flow| flow.bytes))?;
    made.set_item("start_ps", wholes(|flow| flow.start.as_ps()))?;
    made.set_item("end_ps", wholes(|flow| flow.end.as_ps()))?;
    made.set_item("slowdown", flows.iter().map(slowdown).collect::<Vec<_>>().into_pyarray(py))?;
    let counts = |of: fn(&FlowRecord) -> u32| flows.iter().map(of).collect::<Vec<_>>().into_pyarray(py);
    made.set_item("packets", counts(|flow| flow.counts.packets))?;
    made.set_item("retransmissions", counts(|flow| flow.counts.retransmissions))?;
    made.set_item("timeouts", counts(|flow| flow.counts.timeouts))?;
    made.set_item("trims", counts(|flow| flow.counts.trims))?;
    made.set_item("marks", counts(|flow| flow.counts.marks))?;
    made.set_item("path", flows.iter().map(|flow| path(flow, labels)).collect::<Vec<String>>())?;
    Ok(made)
}

/// Copies what [`tasks`] made back.
///
/// # Errors
/// Missing columns, other types, different lengths, unknown activities.
pub(crate) fn read_tasks(arrays: &Bound<'_, PyDict>) -> PyResult<TaskColumns> {
    let tasks = TaskColumns {
        rank: read(arrays, "rank")?,
        stream: read(arrays, "stream")?,
        activity: read(arrays, "activity")?,
        vertex: read(arrays, "vertex")?,
        iteration: read(arrays, "iteration")?,
        start_ps: read(arrays, "start_ps")?,
        end_ps: read(arrays, "end_ps")?,
        bytes: read(arrays, "bytes")?,
    };
    let lengths = [tasks.stream.len(), tasks.activity.len(), tasks.vertex.len(), tasks.iteration.len()];
    let more = [tasks.start_ps.len(), tasks.end_ps.len(), tasks.bytes.len()];
    if lengths.iter().chain(&more).any(|&length| length != tasks.len()) {
        return Err(PyValueError::new_err("the columns of tasks have different lengths"));
    }
    if tasks.activity.iter().any(|&activity| usize::from(activity) >= ACTIVITIES.len()) {
        return Err(PyValueError::new_err("an activity is 0 (compute), 1 (memory) or 2 (communication)"));
    }
    Ok(tasks)
}

/// Writes tasks as CSV, as the command does.
#[pyfunction]
pub(crate) fn write_csv(
    py: Python<'_>,
    path: PathBuf,
    tasks: &Bound<'_, PyDict>,
    vertex_names: Vec<String>,
    rank_nodes: Vec<String>,
) -> PyResult<()> {
    let tasks = read_tasks(tasks)?;
    let names = Names { vertices: vertex_names, nodes: rank_nodes, cpus: false };
    let write = || {
        let mut file = AtomicFile::create(&path)?;
        tasks.write_csv(&mut file, &names)?;
        file.commit()
    };
    py.detach(write).map_err(|error| in_file(&path, &error))
}

/// Names that came back from Python: of vertices by id, of nodes by rank.
pub(crate) struct Names {
    pub(crate) vertices: Vec<String>,
    pub(crate) nodes: Vec<String>,
    /// Whether streams are those of a schedule, which are called after its cpus.
    pub(crate) cpus: bool,
}

impl Labels for Names {
    fn rank(&self, rank: Rank) -> String {
        format!("rank {rank} ({})", self.node(rank))
    }

    fn node(&self, rank: Rank) -> String {
        self.nodes.get(rank.index()).cloned().unwrap_or_default()
    }

    fn vertex(&self, vertex: u32) -> String {
        self.vertices.get(vertex as usize).cloned().unwrap_or_default()
    }

    fn stream(&self, _: Rank, stream: u16, activity: Activity) -> String {
        if self.cpus {
            return format!("cpu {stream}");
        }
        stratasim_report::labels::stream_name(stream, activity)
    }
}

fn read<T: Element + Copy>(arrays: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<T>> {
    let array = arrays.as_any().get_item(name)?;
    let array: PyReadonlyArray1<'_, T> = array.extract()?;
    Ok(array.as_array().iter().copied().collect())
}
