//! The pictures of a sweep.

use serde_json::Value;
use stratasim_core::words::counted;
use stratasim_report::picture::{Axis, Bars, LineChart, Picture, Series};
use stratasim_report::{Unit, capital};

use super::derived::BySettings;
use super::points::{Sweep, measure, words};
use super::table::Row;
use super::{Metric, Plot};

/// Curves, and bars, that a picture which nobody asked for has at most.
const MOST_CURVES: usize = 8;
const MOST_BARS: usize = 32;

/// A curve in the making.
struct Curve {
    /// Settings that it is for, by column.
    key: Vec<Value>,
    /// With whether the network was saturated there.
    points: Vec<(f64, f64, bool)>,
    reference: Vec<(f64, f64)>,
}

/// The picture of a sweep that asks for none.
struct Usual {
    plot: Plot,
    /// Its curves or bars, how many can be told apart, and which of the two they are.
    parts: usize,
    most: usize,
    part: &'static str,
}

impl Usual {
    fn fits(&self) -> bool {
        self.parts <= self.most
    }
}

impl Sweep {
    /// Every picture with its file name (without ending) and its caption. Where none is asked for, there is one of the first
    /// number over the setting with most values.
    pub fn pictures(&self, rows: &[Row]) -> Vec<(String, Picture, String)> {
        let mut pictures = Vec::new();
        let usual = self.usual_plot(rows).filter(Usual::fits).map(|usual| usual.plot);
        for plot in self.spec.plots.iter().chain(&usual) {
            let Ok((x, metric)) = self.find(&plot.x).and_then(|x| Ok((x, self.spec.metric(&plot.y)?))) else {
                continue;
            };
            let (name, title) = self.words_for(plot, x, &metric);
            let picture = match self.unit(x) {
                Some(unit) => self.curves(rows, plot, x, unit, &metric, &title),
                None => self.bars(rows, plot, x, &metric, &title),
            };
            pictures.push((name, picture, plot.caption.clone()));
        }
        pictures
    }

    /// What a picture, and what its heading is called.
    pub(super) fn words_for(&self, plot: &Plot, x: usize, metric: &Metric) -> (String, String) {
        let usual = || capital(&format!("{} over {}", metric.title, self.columns[x].heading));
        let title = plot.title.clone().unwrap_or_else(usual);
        (plot.name.clone().unwrap_or_else(|| title.clone()), title)
    }

    /// The picture of a sweep that asks for none: where its rows differ.
    fn usual_plot(&self, rows: &[Row]) -> Option<Usual> {
        if !self.spec.plots.is_empty() {
            return None;
        }
        let columns = (0..self.columns.len()).map(|at| (self.unit(at), self.values(at).len(), at));
        let varied = columns.filter(|&(_, values, _)| values > 1);
        let (unit, values, x) = varied.max_by_key(|&(unit, values, _)| (unit.is_some(), values))?;
        let usual = ["packet_latency_cycles", "step_s"].map(str::to_owned);
        let mut numbers = self.spec.metrics.iter().chain(&usual);
        let y = numbers.find(|name| rows.iter().any(|row| row.numbers.contains_key(*name)))?.clone();
        let others = rows.len().div_ceil(values);
        let (parts, most, part) = match unit {
            Some(_) => (others, MOST_CURVES, "curve"),
            None => (others * values, MOST_BARS, "bar"),
        };
        // the latency of a load that is too much would flatten the others
        let log_y = y.ends_with("_cycles");
        let x = self.columns[x].path.clone();
        Some(Usual { plot: Plot { x, y, log_y, ..Plot::default() }, parts, most, part })
    }

    /// Why there is no picture, where nobody asked for one and there would be one of fewer points.
    pub(super) fn undrawn(&self, rows: &[Row]) -> Option<String> {
        let Usual { plot, parts, part, .. } = self.usual_plot(rows).filter(|usual| !usual.fits())?;
        Some(format!(
            "There is no picture: {} would not be told apart. A `[[sweep.plot]]` with x = \"{}\", y = \"{}\" and a choice of \
             points in `only` draws one.",
            counted(parts as u64, part),
            plot.x,
            plot.y
        ))
    }

    /// Rows that a plot shows, each with its number.
    fn shown<'a>(&'a self, rows: &'a [Row], plot: &'a Plot) -> impl Iterator<Item = (&'a Row, f64)> {
        let others = (!plot.relative_to.is_empty()).then(|| BySettings::new(rows));
        rows.iter().filter(|row| self.has(row, &plot.only)).filter_map(move |row| {
            let number = *row.numbers.get(&plot.y)?;
            let Some(others) = &others else { return Some((row, number)) };
            let base = others.like(self, row, &plot.relative_to)?;
            let ratio = number / base.numbers.get(&plot.y)?;
            // of nothing there are no multiples
            ratio.is_finite().then_some((row, if plot.difference { ratio - 1.0 } else { ratio }))
        })
    }

    /// Columns that tell curves apart.
    fn by(&self, rows: &[Row], plot: &Plot, x: usize) -> Vec<usize> {
        match &plot.by {
            Some(names) => names.iter().filter_map(|name| self.find(name).ok()).collect(),
            None => {
                let shown: Vec<&Row> = self.shown(rows, plot).map(|(row, _)| row).collect();
                let varies = |&column: &usize| {
                    shown.iter().any(|row| row.settings[column] != shown[0].settings[column])
                };
                (0..self.columns.len()).filter(|&column| column != x).filter(varies).collect()
            }
        }
    }

    fn curves(
        &self,
        rows: &[Row],
        plot: &Plot,
        x: usize,
        unit: Unit,
        metric: &Metric,
        title: &str,
    ) -> Picture {
        let by = self.by(rows, plot, x);
        let key = |settings: &[Value]| -> Vec<Value> { by.iter().map(|&at| settings[at].clone()).collect() };
        let mut curves: Vec<Curve> = Vec::new();
        for (row, number) in self.shown(rows, plot) {
            let Some((across, _)) = measure(&row.settings[x]) else { continue };
            let key = key(&row.settings);
            let at = curves.iter().position(|curve| curve.key == key).unwrap_or_else(|| {
                curves.push(Curve { key, points: Vec::new(), reference: Vec::new() });
                curves.len() - 1
            });
            curves[at].points.push((across, number, is_saturated(row)));
        }
        let mut sources: Vec<&str> = Vec::new();
        if plot.relative_to.is_empty() {
            for reference in self.spec.references.iter().filter(|reference| reference.metric == plot.y) {
                let Some(point) = self.points.iter().find(|point| self.matches(point, &reference.at)) else {
                    continue;
                };
                let key = key(&point.settings);
                let curve = curves.iter_mut().find(|curve| curve.key == key);
                if let (Some(curve), Some((across, _))) = (curve, measure(&point.settings[x]))
                    && curve.points.iter().any(|(there, ..)| *there == across)
                {
                    curve.reference.push((across, reference.value));
                    sources.push(&reference.source);
                }
            }
        }
        let axis = |title: String, unit, log| {
            if log { Axis::log(title, unit) } else { Axis::linear(title, unit) }
        };
        let x_title = plot.x_title.clone().unwrap_or_else(|| self.columns[x].heading.clone());
        let (y_title, y_unit) = y_axis(plot, metric);
        let own = || curves.iter().flat_map(|curve| &curve.points);
        let others = || curves.iter().flat_map(|curve| &curve.reference);
        let points = || own().map(|&(x, y, _)| (x, y)).chain(others().copied());
        let told = |title: String, unshown: bool| if unshown { title + " (0 has no place)" } else { title };
        let x_title = told(x_title, plot.log_x && points().any(|(x, _)| x <= 0.0));
        let y_title = told(y_title, plot.log_y && points().any(|(_, y)| y <= 0.0));
        let mut chart =
            LineChart::new(title, axis(x_title, unit, plot.log_x), axis(y_title, y_unit, plot.log_y));
        if !sources.is_empty() {
            chart.reference = "published".to_owned();
        }
        if own().any(|&(_, _, saturated)| saturated) {
            chart.hollow = "saturated".to_owned();
        }
        for mut curve in curves {
            curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let name: Vec<String> =
                by.iter().zip(&curve.key).map(|(&column, value)| self.words_of(column, value)).collect();
            // the only curve is told apart from what others published
            let name = if name.is_empty() && !curve.reference.is_empty() {
                "ours".to_owned()
            } else {
                name.join(", ")
            };
            let points = curve.points.iter().map(|&(x, y, _)| (x, y));
            let series = Series::new(name, points).with_reference(curve.reference);
            chart.series.push(series.with_hollow(curve.points.iter().map(|&(_, _, saturated)| saturated)));
        }
        chart.draw()
    }

    fn bars(&self, rows: &[Row], plot: &Plot, x: usize, metric: &Metric, title: &str) -> Picture {
        let (y_title, unit) = y_axis(plot, metric);
        let mut bars = Bars::new(title, Axis::linear(y_title.clone(), unit), [y_title]);
        let by = self.by(rows, plot, x);
        for (row, number) in self.shown(rows, plot) {
            let label: Vec<String> = std::iter::once(x)
                .chain(by.iter().copied())
                .map(|column| self.words_of(column, &row.settings[column]))
                .collect();
            bars.push(label.join(", "), [number]);
            if is_saturated(row) {
                bars.remark("saturated");
            }
        }
        bars.draw()
    }

    /// A setting in a legend: a bare number says what it counts.
    fn words_of(&self, column: usize, value: &Value) -> String {
        match value {
            Value::Number(_) | Value::Bool(_) => format!("{} {}", words(value), self.columns[column].heading),
            _ => words(value),
        }
    }
}

/// Whether it is a load that the network does not carry, whose latency grows with the length of the run.
pub(super) fn is_saturated(row: &Row) -> bool {
    row.numbers.get("saturated").is_some_and(|&it| it > 0.0)
}

/// Title and unit of the axis upwards.
fn y_axis(plot: &Plot, metric: &Metric) -> (String, Unit) {
    if plot.relative_to.is_empty() {
        return (plot.y_title.clone().unwrap_or_else(|| metric.axis_title()), metric.unit);
    }
    let base: Vec<String> = plot.relative_to.values().map(words).collect();
    let title = format!("{} relative to {}", metric.title, base.join(", "));
    let unit = if plot.difference { Unit::Difference } else { Unit::Factor };
    (plot.y_title.clone().unwrap_or(title), unit)
}
