//! Sweeps: one experiment, many settings.
//!
//! ```text
//!  [sweep] ─→ points (plain specs, named by digest) ─→ run, in parallel ─→ points/<digest>.json
//!                                                                             │
//!        index.html, README.md, pictures, table.csv, results.json ←─ rows ←───┘
//! ```
//! The section is taken out of the document before the spec is read, so that every point is an
//! experiment like any other. What a point gives does not depend on the others: points can be run by
//! several threads, by several machines ([`RunOptions::shard`]), or again later.

mod derived;
mod metric;
mod notes;
mod page;
mod plot;
mod points;
mod run;
mod table;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use metric::{METRICS, Metric};
pub use points::{Column, Point, Sweep};
pub use run::{Failure, Finished, Outcome, RunOptions, Watch, alike, run_document};
pub use table::Row;

/// Settings to vary, and what to make of the results.
///
/// ```toml
/// [sweep]
/// title = "All-reduce on a torus"
/// product = { "workload.bytes" = ["1 MB", "16 MB", "256 MB"] }
///
/// [[sweep.case]]
/// name = "ring"
/// set = { "workload.algorithm.kind" = "ring" }
///
/// [[sweep.case]]
/// name = "direct"
/// set = { "workload.algorithm.kind" = "direct" }
///
/// [[sweep.plot]]
/// x = "workload.bytes"
/// y = "makespan_s"
/// log-x = true
/// log-y = true
/// ```
/// The points are all combinations, each once, of a case, a row of `zip`, and one value of each list in `product`;
/// the last key of `product` varies fastest. Keys are dotted paths in quotes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SweepSpec {
    /// Title of the page; the experiment's name when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Paragraphs at the beginning of the page. Words between backticks are code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// All combinations of these values: a list for each dotted path.
    #[schemars(with = "BTreeMap<String, Vec<Value>>")]
    pub product: IndexMap<String, Vec<Value>>,
    /// Values that change together: lists of one length, one for each dotted path.
    #[schemars(with = "BTreeMap<String, Vec<Value>>")]
    pub zip: IndexMap<String, Vec<Value>>,
    /// Named settings.
    #[serde(rename = "case", skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Case>,
    /// Headings of columns, by dotted path (`case` for the names of cases); when absent the last part of the path, or as
    /// much of its end as tells it from the others.
    #[schemars(with = "BTreeMap<String, String>")]
    pub labels: IndexMap<String, String>,
    /// Numbers in the table of the page; `step_s`, `batches_per_s`, `compute_s`, `memory_s`,
    /// `comm_exposed_s` and `idle_s` when absent. A number is one of these, `makespan_s`, `bound_s`,
    /// `bound_ratio`, `tasks`, a counter such as `network.flows`, or a path into the result such as
    /// `iterations.0.end_s`. Open-loop traffic has others: `packet_latency_cycles`,
    /// `packet_latency_p99_cycles`, `network_latency_cycles`, `accepted_flits_per_cycle`, `saturated`, with
    /// `traffic.load = "saturation"` also `saturation_load_flits_per_cycle`, ... Or the name of one of `derived`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Numbers that are worked out from those of several points, such as what an option saves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<Derived>,
    /// Pictures; when there are none, one of the first number over the setting with most values,
    /// unless it had too many curves or bars to be told apart.
    #[serde(rename = "plot", skip_serializing_if = "Vec::is_empty")]
    pub plots: Vec<Plot>,
    /// Published numbers to compare with.
    #[serde(rename = "reference", skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
}

/// Settings with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// What tables and pictures call it.
    pub name: String,
    /// A value for each dotted path.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub set: IndexMap<String, Value>,
}

/// A number of a point that is worked out from its own and those of others: `of - minus`, divided by `over`.
///
/// ```toml
/// [[sweep.derived]]
/// name = "saved"
/// of = "makespan_s"
/// where = { case = "unfused" }
/// minus = { case = "fused" }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Derived {
    /// Its name, for `metrics`, pictures and published numbers.
    pub name: String,
    /// The number of a result that it is made of, as in `metrics`, but for derived ones.
    pub of: String,
    /// Only points with these settings have it; a list means any of its values. All points when absent.
    #[serde(default, rename = "where")]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub only: IndexMap<String, Value>,
    /// Subtract the number of the point which differs in these settings only.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub minus: IndexMap<String, Value>,
    /// Divide by the number of the point which differs in these settings only.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub over: IndexMap<String, Value>,
    /// The number upside down: of times with `over`, how many times as fast.
    #[serde(default)]
    pub inverse: bool,
}

/// A picture: curves where `x` is a number or a quantity, bars where it is a word.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plot {
    /// Name of its files; made from the title when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Heading; what is shown over what, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A sentence below the picture.
    #[serde(default)]
    pub caption: String,
    /// The setting across: a dotted path, its heading, or `case`.
    pub x: String,
    /// The number upwards; see `metrics`.
    pub y: String,
    /// One curve for each combination of these settings; all that vary but `x` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Vec<String>>,
    /// Only points with these settings; a list means any of its values.
    #[serde(default, rename = "where")]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub only: IndexMap<String, Value>,
    /// Divide each number by that of the point which differs in these settings only, so that the
    /// picture shows a gain or an efficiency.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub relative_to: IndexMap<String, Value>,
    /// With `relative-to`: show by how many percent more, not how many times as much.
    #[serde(default)]
    pub difference: bool,
    /// Logarithmic across.
    #[serde(default)]
    pub log_x: bool,
    /// Logarithmic upwards; not where bars stand on zero, as over names.
    #[serde(default)]
    pub log_y: bool,
    /// Title of the axis across.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_title: Option<String>,
    /// Title of the axis upwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_title: Option<String>,
}

/// A number that somebody else published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reference {
    /// The settings of the point that it belongs to.
    #[schemars(with = "BTreeMap<String, Value>")]
    pub at: IndexMap<String, Value>,
    /// Which number it is; see `metrics`.
    pub metric: String,
    /// Its value in the base unit (seconds, bytes, batches per second).
    pub value: f64,
    /// Where it stands, such as `HCSim, table 6`.
    pub source: String,
}
