//! Ranks and windows of time as Python gives them.

use pyo3::prelude::*;
use stratasim_core::Rank;
use stratasim_report::{Filter, RankSet, TimeWindow};

use crate::error::argument;

/// Ranks as text (`0-7,16`) or as numbers.
#[derive(FromPyObject)]
pub(crate) enum RankArgument {
    /// As in files.
    Text(String),
    /// One by one.
    List(Vec<u32>),
}

/// What passes: `ranks` (None for all) in `window` (text such as `1 s..2 s`; None for always).
pub(crate) fn filter(py: Python<'_>, ranks: Option<RankArgument>, window: Option<&str>) -> PyResult<Filter> {
    let ranks = match ranks {
        None => RankSet::all(),
        Some(RankArgument::Text(text)) => text.parse().map_err(|error| argument(py, error, "ranks"))?,
        Some(RankArgument::List(list)) => RankSet::of(list.into_iter().map(Rank)),
    };
    let window = match window {
        None => TimeWindow::ALWAYS,
        Some(text) => text.parse().map_err(|error| argument(py, error, "window"))?,
    };
    Ok(Filter { ranks, window })
}
