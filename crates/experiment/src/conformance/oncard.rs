//! `conformance oncard`: rows of the SW-IntraCC paper, by the files of `ref/oncard.json`'s form.
//!
//! A row has inputs, a formula in words, what the paper prints (`paper`), what the reference computed
//! (`computed`), a unit and a tolerance. Its value is worked out by the models of the card from the inputs, and must
//! be within the tolerance of what the paper prints. Of a row with status `INCONSISTENT` the paper contradicts
//! itself: our value must be the computed one, and is shown with the reason. A row that nobody understands
//! is never in order.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use stratasim_report::Unit;

use super::oncard_rows::{evaluate, unit_scale};
use super::{CaseReport, bad, files};
use crate::error::Error;

/// Digits of `computed` after the decimal point are six.
const ROUNDING: f64 = 1e-6;

/// One row.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Row {
    pub(super) id: String,
    #[serde(rename = "where", default)]
    pub(super) place: String,
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) inputs: IndexMap<String, Value>,
    #[serde(default)]
    pub(super) formula: String,
    #[serde(default)]
    pub(super) paper: Option<f64>,
    #[serde(default)]
    computed: Option<f64>,
    #[serde(default)]
    pub(super) unit: String,
    #[serde(default)]
    tol: f64,
    #[serde(default)]
    tol_kind: Option<String>,
    #[serde(default)]
    status: String,
    #[serde(default)]
    note: String,
}

/// Runs all rows below `paths`. `each` hears of every report as soon as it is there.
///
/// # Errors
/// A path that does not exist, a file that is not what its name says, no row at all.
pub fn run(paths: &[PathBuf], each: &mut dyn FnMut(&CaseReport)) -> Result<Vec<CaseReport>, Error> {
    let mut reports = Vec::new();
    for path in files(paths)? {
        for report in run_file(&path, paths.contains(&path))? {
            each(&report);
            reports.push(report);
        }
    }
    if reports.is_empty() {
        let path = paths.first().cloned().unwrap_or_default();
        return Err(bad(
            &path,
            "no rows of a card here; they are .json files with a list `rows`, each with an `id`, `inputs` and a `formula`",
        ));
    }
    Ok(reports)
}

/// The rows of one file. Files of other kinds are passed over unless they were named.
fn run_file(path: &Path, named: bool) -> Result<Vec<CaseReport>, Error> {
    let is_json = path.extension().is_some_and(|end| end == "json");
    if !is_json && !named {
        return Ok(Vec::new());
    }
    let text = super::read(path)?;
    let value: Value = serde_json::from_str(&text).map_err(|error| bad(path, error))?;
    let is_ours =
        |rows: &Vec<Value>| rows.iter().all(|row| row.get("id").is_some() && row.get("formula").is_some());
    let rows = match value.get("rows") {
        Some(Value::Array(rows)) if named || is_ours(rows) => rows,
        _ if named => return Err(bad(path, "a list `rows` is expected")),
        _ => return Ok(Vec::new()),
    };
    let rows: Result<Vec<Row>, Error> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| Row::deserialize(row).map_err(|error| bad(path, format!("row {at}: {error}"))))
        .collect();
    let rows = rows?;
    Ok(rows.iter().map(|row| report(row, &rows)).collect())
}

/// How a row came out.
fn report(row: &Row, all: &[Row]) -> CaseReport {
    let inconsistent = row.status == "INCONSISTENT";
    let mut report = CaseReport::new(&row.id, if inconsistent { "inconsistent" } else { "value" });
    if !["exact", "approx", "derived", "measured", "INCONSISTENT"].contains(&row.status.as_str()) {
        report.differ(format!(
            "status `{}`: exact, approx, derived, measured or INCONSISTENT is expected",
            row.status
        ));
        return report;
    }
    let relative = match row.tol_kind.as_deref() {
        None | Some("rel") => true,
        Some("abs") => false,
        Some(other) => {
            report.differ(format!("tol_kind `{other}`: rel or abs is expected"));
            return report;
        }
    };
    if !(row.tol >= 0.0 && row.tol.is_finite()) {
        report.differ(format!("tol {}: a number from 0 on is expected", row.tol));
        return report;
    }
    let tolerance = |expected: f64| if relative { row.tol * expected.abs() } else { row.tol };
    // sums of floating-point numbers differ in their last digits
    let rounding = |expected: f64| ROUNDING + 1e-9 * expected.abs();
    let found = match evaluate(row, all) {
        Ok(found) => found,
        Err(reason) => {
            report.differ(reason);
            return report;
        }
    };
    let Some(scale) = unit_scale(&row.unit) else {
        report.differ(format!("unit `{}` is not understood", row.unit));
        return report;
    };
    let ours = found.value / scale;
    if let Some(computed) = row.computed {
        // what the reference rounded on its way is within the tolerance of the row
        let allowed = if inconsistent { 0.0 } else { tolerance(computed) };
        report.compare("computed", Some(ours), computed, allowed + rounding(computed));
    }
    if let Some(paper) = row.paper.filter(|_| !inconsistent) {
        report.compare("paper", Some(ours), paper, tolerance(paper) + rounding(paper));
    }
    if let Some(other) = found.second {
        // the two that a row sets beside each other, or two models that must agree
        let distance = (other / found.value - 1.0).abs();
        report.compared += 1;
        if found.must_differ && distance <= row.tol.max(0.05) {
            report.differ(format!("{ours} and {} do not contradict each other", other / scale));
        } else if !found.must_differ && distance > 1e-9 {
            report.differ(format!("closed form {ours}, task graph {}", other / scale));
        }
    }
    if report.compared == 0 {
        report.differ("there is nothing to compare with: neither `paper` nor `computed`".to_owned());
    }
    if inconsistent {
        let printed = row.paper.map_or_else(|| "-".to_owned(), |paper| paper.to_string());
        let value = match found.second.filter(|_| found.must_differ) {
            Some(other) => [found.value, other].map(|it| Unit::Seconds.format(it)).join(" and "),
            None => format!("{} {}", round(ours), row.unit),
        };
        report.note = format!("ours {value}, printed {printed}");
        if !row.note.is_empty() {
            report.note += &format!(": {}", row.note);
        }
        if row.paper.is_some_and(|paper| (ours - paper).abs() <= rounding(paper)) {
            report.differ(format!("ours is {ours}, as printed: the paper does not contradict itself here"));
        }
    }
    report
}

/// Six digits after the decimal point, without zeros at the end.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
