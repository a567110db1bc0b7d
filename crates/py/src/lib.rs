//! The compiled half of the Python package `stratasim`, imported as `stratasim._core`.
//!
//! Thin: specs come in as JSON text and become the same documents as files, so that there is one
//! schema and one set of messages; columns leave as NumPy arrays, everything else as JSON text. What
//! is pleasant to use is written in Python, in `python/stratasim`.

mod card;
mod catalogue;
mod columns;
mod command;
mod error;
mod experiment;
mod filter;
mod picture;
mod run;
mod shm;
mod sweep;
mod topology;
mod traffic;
mod watch;

#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::card::{CardModel, CardTimes};
    #[pymodule_export]
    use crate::catalogue::{check, compute_types, experiment_schema, kinds, schema, workload_node_link};
    #[pymodule_export]
    use crate::columns::write_csv;
    #[pymodule_export]
    use crate::command::{explain, main};
    #[pymodule_export]
    use crate::error::{ConfigError, Interrupted, SimulationError};
    #[pymodule_export]
    use crate::experiment::Experiment;
    #[pymodule_export]
    use crate::picture::{Picture, breakdown, check_result, link_bars, restored_picture, summary, timeline};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::shm::{GroupError, ShmBlock, ShmGroup};
    #[pymodule_export]
    use crate::sweep::{SweepPlan, run_point};
    #[pymodule_export]
    use crate::topology::Topology;
    #[pymodule_export]
    use crate::traffic::{TrafficCurve, booksim2_curve};

    #[pymodule_init]
    fn begin(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyAnyMethods as _;

        let refuse = |reason| Err(pyo3::exceptions::PyImportError::new_err(reason));
        stratasim_core::processor::lacks().map_or(Ok(()), refuse)?;
        // those that Python raises have them, too
        let py = module.py();
        py.get_type::<ConfigError>().setattr("position", py.None())?;
        py.get_type::<SimulationError>().setattr("result", py.None())?;
        py.get_type::<Interrupted>().setattr("result", py.None())
    }

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
