//! What a run leaves behind.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use stratasim_core::model::FlowRecord;
use stratasim_engine::Place;
use stratasim_experiment::RunLabels;
use stratasim_experiment::jobs::ScheduleWork;
use stratasim_report::Labels as _;
use stratasim_report::RunResult;
use stratasim_report::columns::{MessageColumns, TaskColumns};
use stratasim_workload::program::Program;

use crate::columns;

/// The outcome of one run.
#[pyclass(frozen, module = "stratasim._core")]
pub(crate) struct Run {
    pub(crate) result: RunResult,
    pub(crate) topology: Arc<stratasim_topo::Topology>,
    pub(crate) program: Arc<Program>,
    /// The schedule that ran in place of a program.
    pub(crate) schedule: Option<Arc<ScheduleWork>>,
    pub(crate) places: Vec<Place>,
    /// What was recorded, until it is taken.
    pub(crate) tasks: Mutex<Option<TaskColumns>>,
    /// The same of messages.
    pub(crate) messages: Mutex<Option<MessageColumns>>,
    /// How messages fared on a network that follows them.
    pub(crate) flows: Mutex<Option<Vec<FlowRecord>>>,
}

#[pymethods]
impl Run {
    /// The result as JSON text, as the command writes it.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.result.to_json())
    }

    /// The tasks as a dict of arrays, without a copy; None when not recorded, or taken before.
    fn take_tasks<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        taken(&self.tasks).map(|tasks| columns::tasks(py, tasks)).transpose()
    }

    /// The messages as a dict of arrays, without a copy; None when not recorded, or taken before.
    fn take_messages<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        taken(&self.messages).map(|messages| columns::messages(py, messages)).transpose()
    }

    /// How messages fared, as a dict of arrays and lists of names; None when not recorded, or taken before.
    fn take_flows<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        taken(&self.flows).map(|flows| columns::flows(py, &flows, &self.labels())).transpose()
    }

    /// Names of the program's vertices, by id.
    fn vertex_names(&self) -> Vec<String> {
        let count = match &self.schedule {
            Some(work) => work.schedule.len(),
            None => self.program.vertices().len() as u32,
        };
        let labels = self.labels();
        (0..count).map(|id| labels.vertex(id)).collect()
    }

    /// Names of the nodes that ranks run on, by rank.
    fn rank_nodes(&self) -> Vec<&str> {
        self.places.iter().map(|place| self.topology.node_name(place.node)).collect()
    }
}

impl Run {
    fn labels(&self) -> RunLabels<'_> {
        RunLabels {
            topology: &self.topology,
            program: &self.program,
            places: &self.places,
            schedule: self.schedule.as_deref(),
        }
    }

    /// The physics checks that are broken, each with the first place.
    pub(crate) fn violations(&self) -> String {
        let broken = self.result.checks.iter().filter(|check| !check.ok);
        let lines: Vec<String> = broken
            .map(|check| format!("{}: {}", check.name, check.violations.first().map_or("", String::as_str)))
            .collect();
        lines.join("\n")
    }
}

/// What is in `cell`, which is empty afterwards.
fn taken<T>(cell: &Mutex<Option<T>>) -> Option<T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner).take()
}
