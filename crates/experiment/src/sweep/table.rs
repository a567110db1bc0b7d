//! The numbers of all points: as tables, as CSV, as JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use stratasim_report::result::RunResult;
use stratasim_report::table::{Cell, Comparison, Table, comparison};
use stratasim_report::traffic::TRAFFIC_METRICS;
use stratasim_report::{Unit, capital};

use super::metric;
use super::points::{Point, Sweep, measure, words};
use super::run::{Failure, Finished};
use super::{METRICS, Metric};

/// The numbers of one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Position of the point in the sweep.
    pub index: usize,
    /// The value of each column.
    pub settings: Vec<Value>,
    /// Name of its result.
    pub digest: String,
    /// Its numbers by name: all of [`METRICS`] that it has, and those that the sweep asks for.
    pub numbers: BTreeMap<String, f64>,
    /// What its result says beside them.
    pub notes: Vec<String>,
}

impl Row {
    pub(super) fn new(point: &Point, (numbers, notes): (BTreeMap<String, f64>, Vec<String>)) -> Self {
        let (settings, digest) = (point.settings.clone(), point.digest.clone());
        Self { index: point.index, settings, digest, numbers, notes }
    }
}

/// A setting as a cell: a number where the whole column is of one `unit`.
fn cell(unit: Option<Unit>, value: &Value, measured: bool) -> Cell {
    match (unit, measure(value)) {
        (Some(_), Some(number)) if measured || value.is_number() => number.into(),
        _ => words(value).into(),
    }
}

impl Sweep {
    /// The numbers of a result that this sweep speaks of.
    pub fn numbers(&self, result: &RunResult) -> BTreeMap<String, f64> {
        metric::of(result, self.asked().map(|metric| metric.as_str()))
    }

    /// Names that metrics, plots and references ask for, and what derived numbers are made of.
    fn asked(&self) -> impl Iterator<Item = &String> {
        let plots = self.spec.plots.iter().map(|plot| &plot.y);
        let references = self.spec.references.iter().map(|reference| &reference.metric);
        let derived = self.spec.derived.iter().map(|derived| &derived.of);
        self.spec.metrics.iter().chain(plots).chain(references).chain(derived)
    }

    /// Whether any number is asked for by its name.
    pub fn asks(&self) -> bool {
        self.asked().next().is_some()
    }

    /// Names that are asked for and that no point has a number of; none as long as no point has a result.
    pub fn absent(&self, rows: &[Row]) -> Vec<&str> {
        let has = |name: &str| {
            rows.is_empty()
                || rows.iter().any(|row| row.numbers.contains_key(name))
                || self.spec.derived.iter().any(|derived| derived.name == name)
        };
        let mut absent: Vec<&str> = self.asked().map(String::as_str).filter(|name| !has(name)).collect();
        absent.sort_unstable();
        absent.dedup();
        absent
    }

    /// Settings and numbers, one row per point. Numbers that no point has are left out.
    pub fn table(&self, rows: &[Row]) -> Table {
        let usual = ["step_s", "batches_per_s", "compute_s", "memory_s", "comm_exposed_s", "idle_s"]
            .map(str::to_owned);
        let traffic = [
            "offered_flits_per_cycle",
            "accepted_flits_per_cycle",
            "packet_latency_cycles",
            "packet_latency_p99_cycles",
            "network_latency_cycles",
            "saturated",
        ]
        .map(str::to_owned);
        let is_traffic = rows.iter().any(|row| row.numbers.contains_key("packet_latency_cycles"));
        let usual = if is_traffic { traffic.as_slice() } else { usual.as_slice() };
        let asked = if self.spec.metrics.is_empty() { usual } else { &self.spec.metrics };
        self.table_of(rows, asked, false)
    }

    /// The same with all numbers.
    pub fn full_table(&self, rows: &[Row]) -> Table {
        let usual = METRICS.iter().chain(TRAFFIC_METRICS).map(|(name, ..)| (*name).to_owned());
        let derived = self.spec.derived.iter().map(|derived| derived.name.clone());
        let mut seen = BTreeSet::new();
        let names: Vec<String> = usual
            .chain(self.asked().cloned())
            .chain(derived)
            .filter(|name| seen.insert(name.clone()))
            .collect();
        self.table_of(rows, &names, true)
    }

    /// `measured`: settings in the base unit of their column, for programs, and not as they were written.
    fn table_of(&self, rows: &[Row], names: &[String], measured: bool) -> Table {
        let metrics: Vec<Metric> = names
            .iter()
            .filter(|name| rows.iter().any(|row| row.numbers.contains_key(*name)))
            .filter_map(|name| self.spec.metric(name).ok())
            .collect();
        let headings = self.columns.iter().map(|column| &column.heading);
        let mut table = Table::new(headings.chain(metrics.iter().map(|metric| &metric.title)).cloned())
            .keyed_by(self.columns.len());
        let units: Vec<Option<Unit>> = (0..self.columns.len()).map(|column| self.unit(column)).collect();
        for row in rows {
            let settings = units.iter().zip(&row.settings).map(|(&unit, value)| cell(unit, value, measured));
            let numbers = metrics
                .iter()
                .map(|metric| row.numbers.get(&metric.name).map(|number| (*number, metric.unit)).into());
            table.push(settings.chain(numbers).collect::<Vec<Cell>>());
        }
        table
    }

    /// Our numbers beside published ones, one table per source and number.
    pub fn comparisons(&self, rows: &[Row]) -> Vec<(String, Table)> {
        let mut groups: Vec<(&str, &str)> = Vec::new();
        for reference in &self.spec.references {
            let group = (reference.source.as_str(), reference.metric.as_str());
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        let mut tables = Vec::new();
        for (source, name) in groups {
            let Ok(metric) = self.spec.metric(name) else { continue };
            let mine = || {
                self.spec.references.iter().filter(|it| it.source == source && it.metric == name).filter_map(
                    |reference| {
                        let point = self.points.iter().find(|point| self.matches(point, &reference.at))?;
                        let row = rows.iter().find(|row| row.index == point.index)?;
                        Some((row, *row.numbers.get(name)?, reference.value))
                    },
                )
            };
            // what is the same in all of them needs no column: the caption says it
            let columns: Vec<usize> = (0..self.columns.len())
                .filter(|&column| {
                    let mut values = mine().map(|(row, ..)| &row.settings[column]);
                    let first = values.next();
                    column == 0 || values.any(|value| Some(value) != first)
                })
                .collect();
            let headings: Vec<&str> =
                columns.iter().map(|&column| self.columns[column].heading.as_str()).collect();
            let compared: Vec<Comparison> = mine()
                .map(|(row, ours, theirs)| Comparison {
                    labels: columns.iter().map(|&column| words(&row.settings[column])).collect(),
                    ours,
                    theirs: Some(theirs),
                    unit: metric.unit,
                })
                .collect();
            if let Some((first, ..)) = mine().next() {
                let shared = (0..self.columns.len()).filter(|column| !columns.contains(column));
                let shared: Vec<String> =
                    shared.map(|column| self.setting(column, &first.settings[column])).collect();
                let at = if shared.is_empty() { String::new() } else { format!(", {}", shared.join(", ")) };
                let caption = format!("{}{at}, beside {source}.", capital(&metric.title));
                tables.push((caption, comparison(&headings, "published", &compared)));
            }
        }
        tables
    }

    /// Everything as JSON: settings by path, numbers by name, and notes where there are any; and what failed, at each point.
    pub fn json(&self, Finished { rows, failures, .. }: &Finished) -> String {
        let by_path = |settings: &[Value]| -> serde_json::Map<String, Value> {
            let paths = self.columns.iter().map(|column| column.path.clone());
            paths.zip(settings.iter().cloned()).collect()
        };
        let points: Vec<Value> = rows
            .iter()
            .map(|row| {
                let settings = by_path(&row.settings);
                let mut point = json!({"digest": row.digest, "settings": settings, "numbers": row.numbers});
                if !row.notes.is_empty() {
                    point["notes"] = json!(row.notes);
                }
                point
            })
            .collect();
        let mut text = format!(
            "{{\n  \"stratasim\": {},\n  \"title\": {},\n  \"points\": [",
            json!(env!("CARGO_PKG_VERSION")),
            json!(self.title())
        );
        for (at, point) in points.iter().enumerate() {
            text += &format!("{}\n    {point}", if at == 0 { "" } else { "," });
        }
        text += if points.is_empty() { "]" } else { "\n  ]" };
        let notes = self.notes(rows);
        if !notes.is_empty() {
            text += &format!(",\n  \"notes\": {}", json!(notes));
        }
        if !failures.is_empty() {
            // equal points were run once
            let failed = |point: &Point| {
                let Failure { error, .. } = failures.iter().find(|it| it.digest == point.digest)?;
                let (settings, code) = (by_path(&point.settings), error.exit_code());
                let failed = json!({"point": point.index, "settings": settings, "error": error.to_string(), "exit_code": code});
                Some(format!("\n    {failed}"))
            };
            let failed: Vec<String> = self.points.iter().filter_map(failed).collect();
            text += &format!(",\n  \"failures\": [{}\n  ]", failed.join(","));
        }
        text += "\n}\n";
        text
    }
}
