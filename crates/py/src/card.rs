//! Cards: what they consist of, how long collectives take on them, and fits to measurements.

use pyo3::prelude::*;
use stratasim_device::card::{Card, fastest};
use stratasim_experiment::card::bench::{self, Bench, Sizes};
use stratasim_experiment::card::fit::{Fit, Parameter, read_anchors};
use stratasim_experiment::{ConfigError, Document, Error, card};
use stratasim_report::Style;

use crate::error::{SET, change, misfit, raise};
use crate::picture::Picture;

/// An accelerator card.
#[pyclass(frozen, module = "stratasim._core")]
pub(crate) struct CardModel {
    card: Card,
}

/// An argument that does not fit.
fn wrong(py: Python<'_>, argument: &str, reason: impl std::fmt::Display) -> PyErr {
    misfit(py, ConfigError::new(format!("{argument}: {reason}"), None))
}

fn algorithms(py: Python<'_>, names: &[String]) -> PyResult<Vec<stratasim_device::card::AlgorithmSpec>> {
    if names.is_empty() {
        return Err(wrong(py, "algorithms", "at least one is expected, found none"));
    }
    let named = |name: &String| bench::algorithm(name).map_err(|reason| wrong(py, "algorithms", reason));
    names.iter().map(named).collect()
}

#[pymethods]
impl CardModel {
    /// A shipped card, or the file at a path, with changes as `--set` of the command takes them.
    #[staticmethod]
    fn load(py: Python<'_>, name: &str, sets: Vec<String>) -> PyResult<Self> {
        let card = card::load_as(name, SET, &sets).map_err(|error| raise(py, &error))?;
        Ok(Self { card })
    }

    /// The card that JSON text describes, with changes.
    #[staticmethod]
    fn of(py: Python<'_>, json: &str, sets: Vec<String>) -> PyResult<Self> {
        let read = || -> Result<Card, Error> {
            let mut document = Document::from_json("card", json)?;
            change(&mut document, &sets)?;
            Ok(card::read(&document)?)
        };
        Ok(Self { card: read().map_err(|error| raise(py, &error))? })
    }

    /// Names of the cards that are shipped.
    #[staticmethod]
    fn shipped() -> Vec<&'static str> {
        card::PROFILES.iter().map(|profile| profile.name).collect()
    }

    /// The description as JSON text.
    fn json(&self) -> String {
        serde_json::to_string(&self.card).expect("a card is written as JSON")
    }

    /// The description as a file.
    fn toml(&self, py: Python<'_>) -> PyResult<String> {
        card::to_toml(&self.card).map_err(|error| misfit(py, error))
    }

    /// What the command `card show` prints.
    fn show(&self, width: usize) -> String {
        let style = Style { unicode: true, colour: false, width: width.clamp(60, 200) };
        style.shown(&stratasim_cli::card_text(&self.card, &style)).into_owned()
    }

    /// Times of a collective over many sizes.
    fn bench(
        &self,
        py: Python<'_>,
        operation: &str,
        sizes: &str,
        algorithms: Vec<String>,
        fidelity: &str,
    ) -> PyResult<CardTimes> {
        let operation = bench::operation(operation).map_err(|reason| wrong(py, "op", reason))?;
        let sizes: Sizes = sizes.parse().map_err(|reason: String| wrong(py, "sizes", reason))?;
        let algorithms = self::algorithms(py, &algorithms)?;
        let fidelity = bench::fidelity(fidelity).map_err(|reason| wrong(py, "fidelity", reason))?;
        let bench = py.detach(|| Bench::run(&self.card, operation, &algorithms, &sizes, fidelity));
        Ok(CardTimes { bench })
    }

    /// The fastest of several algorithms with its seconds; None where none can do it.
    fn fastest(
        &self,
        py: Python<'_>,
        operation: &str,
        bytes: u64,
        algorithms: Vec<String>,
        fidelity: &str,
    ) -> PyResult<Option<(&'static str, f64)>> {
        let operation = bench::operation(operation).map_err(|reason| wrong(py, "op", reason))?;
        let algorithms = self::algorithms(py, &algorithms)?;
        let fidelity = bench::fidelity(fidelity).map_err(|reason| wrong(py, "fidelity", reason))?;
        let found = py.detach(|| fastest(&self.card, &algorithms, operation, bytes, fidelity));
        Ok(found.map(|(algorithm, seconds)| (algorithm.kind(), seconds)))
    }

    /// Fits parameters to measurements, given as CSV text that errors call `name`. Returns the fitted card, and
    /// all numbers as JSON text.
    fn fit(
        &self,
        py: Python<'_>,
        name: &str,
        measurements: &str,
        free: Vec<String>,
        tolerance: f64,
        fidelity: &str,
    ) -> PyResult<(Self, String)> {
        if !(1e-6..=1.0).contains(&tolerance) {
            return Err(wrong(
                py,
                "tolerance",
                format!("a share from 0.000001 to 1 is expected, found {tolerance}"),
            ));
        }
        let fidelity = bench::fidelity(fidelity).map_err(|reason| wrong(py, "fidelity", reason))?;
        let free = free.iter().map(|name| Parameter::named(name).map_err(|reason| wrong(py, "free", reason)));
        let free = free.collect::<PyResult<Vec<_>>>()?;
        let anchors = read_anchors(measurements).map_err(|reason| wrong(py, name, reason))?;
        let fit = py.detach(|| Fit::run(&self.card, anchors, &free, tolerance, fidelity));
        let fit = fit.map_err(|reason| wrong(py, name, reason))?;
        Ok((Self { card: fit.card.clone() }, fit.json().to_string()))
    }
}

/// Times of a collective on a card.
#[pyclass(frozen, module = "stratasim._core")]
pub(crate) struct CardTimes {
    bench: Bench,
}

#[pymethods]
impl CardTimes {
    /// Everything as JSON text, as the command writes it.
    fn json(&self) -> String {
        self.bench.json().to_string()
    }

    /// Bandwidth over size.
    fn picture(&self) -> Picture {
        Picture { drawing: self.bench.picture() }
    }
}
