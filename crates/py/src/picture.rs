//! Tables and pictures of results.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use stratasim_core::BuildError;
use stratasim_report::forecast::ForecastResult;
use stratasim_report::picture::{Picture as Drawing, Scheme, Timeline, breakdown_bars, link_bars as fullest};
use stratasim_report::{RunResult, Style};

use crate::columns::{Names, read_tasks};
use crate::error::{argument, in_file};
use crate::filter::{RankArgument, filter};

/// A finished picture.
///
/// In a notebook it shows itself, in colours that follow the reader's light or dark scheme.
#[pyclass(frozen, module = "stratasim")]
pub(crate) struct Picture {
    pub(crate) drawing: Drawing,
}

#[pymethods]
impl Picture {
    /// What it shows, in a few words.
    #[getter]
    fn title(&self) -> &str {
        self.drawing.title()
    }

    /// Width and height in pixels.
    #[getter]
    fn size(&self) -> (f64, f64) {
        self.drawing.size()
    }

    /// The picture as SVG text: without background, in colours that follow the reader's scheme, or
    /// with background in the scheme "light" or "dark".
    #[pyo3(signature = (scheme=None))]
    fn svg(&self, py: Python<'_>, scheme: Option<&str>) -> PyResult<String> {
        Ok(match scheme {
            None => self.drawing.svg(),
            Some(scheme) => self.drawing.svg_in(parse_scheme(py, scheme)?),
        })
    }

    /// The picture as a PNG file, `scale` times as large as the SVG.
    #[pyo3(signature = (scheme="light", scale=2.0))]
    fn png<'py>(&self, py: Python<'py>, scheme: &str, scale: f64) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.to_png(py, parse_scheme(py, scheme)?, scale)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the picture to a file whose name ends with .svg or .png.
    #[pyo3(signature = (path, *, scheme=None, scale=2.0))]
    fn save(&self, py: Python<'_>, path: PathBuf, scheme: Option<&str>, scale: f64) -> PyResult<()> {
        let bytes = match path.extension().and_then(|end| end.to_str()) {
            Some("svg") => self.svg(py, scheme)?.into_bytes(),
            Some("png") => self.to_png(py, parse_scheme(py, scheme.unwrap_or("light"))?, scale)?,
            _ => {
                let reason =
                    format!("the name of a picture ends with .svg or .png, found {}", path.display());
                return Err(argument(py, BuildError::new("", reason), "path"));
            }
        };
        std::fs::write(&path, bytes).map_err(|error| in_file(&path, &error))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let text = serde_json::to_string(&self.drawing).expect("a picture is written as JSON");
        Ok((py.import("stratasim._core")?.getattr("restored_picture")?, (text,)))
    }

    fn _repr_html_(&self) -> String {
        self.drawing.svg()
    }

    fn _repr_svg_(&self) -> String {
        self.drawing.svg()
    }

    fn __repr__(&self) -> String {
        let (width, height) = self.drawing.size();
        format!("<Picture `{}`, {width:.0} x {height:.0}>", self.drawing.title())
    }
}

impl Picture {
    fn to_png(&self, py: Python<'_>, scheme: Scheme, scale: f64) -> PyResult<Vec<u8>> {
        if !(0.1..=16.0).contains(&scale) {
            let reason = format!("a number from 0.1 to 16 is expected, found {scale}");
            return Err(argument(py, BuildError::new("", reason), "scale"));
        }
        Ok(py.detach(|| self.drawing.png(scheme, scale)))
    }
}

fn parse_scheme(py: Python<'_>, scheme: &str) -> PyResult<Scheme> {
    match scheme {
        "light" => Ok(Scheme::Light),
        "dark" => Ok(Scheme::Dark),
        other => {
            let reason = format!("`{other}` is unknown (known: light, dark)");
            Err(argument(py, BuildError::new("", reason), "scheme"))
        }
    }
}

/// The picture that was pickled as this text.
#[pyfunction]
pub(crate) fn restored_picture(text: &str) -> PyResult<Picture> {
    match serde_json::from_str(text) {
        Ok(drawing) => Ok(Picture { drawing }),
        Err(error) => Err(PyValueError::new_err(format!("no picture of this version: {error}"))),
    }
}

/// The time line of recorded tasks.
#[pyfunction]
#[pyo3(signature = (title, subtitle, tasks, vertex_names, rank_nodes, ranks, window, width, by_stream))]
#[expect(clippy::too_many_arguments, reason = "one per part of the picture")]
pub(crate) fn timeline(
    py: Python<'_>,
    title: String,
    subtitle: String,
    tasks: &Bound<'_, PyDict>,
    vertex_names: Vec<String>,
    rank_nodes: Vec<String>,
    ranks: Option<RankArgument>,
    window: Option<&str>,
    width: f64,
    by_stream: bool,
) -> PyResult<Picture> {
    if width.is_nan() {
        return Err(argument(py, BuildError::new("", "found nan, expected a number of pixels"), "width"));
    }
    let tasks = read_tasks(tasks)?;
    let filter = filter(py, ranks, window)?;
    let fits = filter.ranks.check(rank_nodes.len() as u32);
    fits.map_err(|error| argument(py, error, "ranks"))?;
    let labels = Names { vertices: vertex_names, nodes: rank_nodes, cpus: by_stream };
    let drawing = py.detach(|| {
        let mut timeline = Timeline::new(title, &tasks, &labels);
        timeline.subtitle = subtitle;
        timeline.filter = filter;
        timeline.width = width;
        timeline.by_stream = by_stream;
        timeline.draw()
    });
    Ok(Picture { drawing })
}

/// Bars of where the time of ranks went; `result` is a result as JSON text.
#[pyfunction]
pub(crate) fn breakdown(title: &str, result: &str) -> PyResult<Picture> {
    let result = read(result)?;
    Ok(Picture { drawing: breakdown_bars(title, &result.ranks).draw() })
}

/// Bars of how full the `most` fullest links were; `result` is a result as JSON text.
#[pyfunction]
pub(crate) fn link_bars(title: &str, result: &str, most: usize) -> PyResult<Picture> {
    let result = read(result)?;
    Ok(Picture { drawing: fullest(title, &result.links.unwrap_or_default(), most).draw() })
}

/// Refuses a text that is no result of one run.
#[pyfunction]
pub(crate) fn check_result(py: Python<'_>, text: &str) -> PyResult<()> {
    py.detach(|| RunResult::from_json(text)).map(drop).map_err(|error| {
        PyValueError::new_err(format!("this is no result that `stratasim run --json` wrote: {error}"))
    })
}

/// The table that the command prints for a result, given as JSON text.
#[pyfunction]
pub(crate) fn summary(result: &str, width: usize, unicode: bool, colour: bool) -> PyResult<String> {
    let style = Style { unicode, colour, width: width.clamp(Style::NARROWEST, 200) };
    let text = match ForecastResult::from_json(result) {
        Some(forecast) => forecast.summary(&style),
        None => stratasim_report::summary(&read(result)?, &style),
    };
    Ok(style.shown(&text).into_owned())
}

fn read(result: &str) -> PyResult<RunResult> {
    RunResult::from_json(result).map_err(|error| PyValueError::new_err(format!("this is no result: {error}")))
}
