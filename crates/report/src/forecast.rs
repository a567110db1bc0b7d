//! What a forecast gives: seconds and days per model and way of communicating, beside what others printed.

use serde::{Deserialize, Serialize};

use crate::json;
use crate::result::RunResult;
use crate::style::{Style, Tone, pad_right, wrap};
use crate::table::{Cell, Table};
use crate::units::Unit;

/// Columns of the labels on the left, with their margin.
const LABEL: usize = 16;

/// A forecast of the communication of training.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ForecastResult {
    /// Version that made it.
    pub stratasim: String,
    /// Name of the experiment.
    pub experiment: String,
    /// The experiment with all defaults, so that it can be repeated.
    pub spec: serde_json::Value,
    /// The models.
    pub models: Vec<ModelVolume>,
    /// Every model with every method, model by model.
    pub rows: Vec<ForecastRow>,
    /// Remarks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How much a model exchanges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelVolume {
    /// Its name.
    pub model: String,
    /// Bytes of the all-gathers of a layer per step, and of the reduce-scatters.
    pub layer_bytes: f64,
    /// Bytes of one all-gather or reduce-scatter.
    pub message_bytes: u64,
    /// Layers of a pipeline stage.
    pub layers_per_stage: f64,
    /// Training steps.
    pub steps: f64,
    /// Tokens of all steps.
    pub tokens: f64,
}

/// One model with one method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ForecastRow {
    /// Model and method, for paths into the result.
    pub name: String,
    /// The model.
    pub model: String,
    /// The method.
    pub method: String,
    /// Name of the card whose rates these are, where they are not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
    /// Rate of an all-gather, bytes gathered per second.
    pub all_gather_bytes_per_s: f64,
    /// Rate of a reduce-scatter, bytes reduced per second.
    pub reduce_scatter_bytes_per_s: f64,
    /// Communication of a layer per step.
    pub layer_s: f64,
    /// Communication of a stage per step.
    pub iteration_s: f64,
    /// Communication of the whole training, in days.
    pub days: f64,
    /// Days less than with the first method; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_days: Option<f64>,
    /// What others printed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedFigures>,
}

/// Figures that somebody else printed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigures {
    /// Communication of a layer per step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer_s: Option<f64>,
    /// Communication of a stage per step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration_s: Option<f64>,
    /// Communication of the whole training, in days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<f64>,
}

impl ForecastResult {
    /// From what `run` of a forecast wrote, or a sweep of forecasts about one of its points; nothing where this is neither.
    pub fn from_json(text: &str) -> Option<Self> {
        // a result may be large, and is not read for nothing
        if !text.contains("\"forecast\"") {
            return None;
        }
        if let Ok(result) = serde_json::from_str(text) {
            return Some(result);
        }
        let RunResult { stratasim, spec, forecast, notes, .. } = RunResult::from_json(text).ok()?;
        let experiment = spec["name"].as_str().unwrap_or_default().to_owned();
        let result = Self { stratasim, experiment, spec, models: Vec::new(), rows: forecast, notes };
        (!result.rows.is_empty()).then_some(result)
    }

    /// As JSON, one line per key and per entry of a list. Ends with a newline.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        json::by_line(self, &mut out).expect("writing to memory cannot fail");
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    /// The table: a row per model and method, and one below it where somebody printed figures.
    pub fn table(&self) -> Table {
        let published = self.rows.iter().any(|row| row.published.is_some());
        let rates = self.rows.iter().any(|row| row.card.is_some());
        let mut headings = vec!["model", "method"];
        headings.extend(["all-gather", "reduce-scatter"].into_iter().filter(|_| rates));
        headings.extend(["layer", "iteration", "days", "saved days"]);
        headings.extend(["vs printed"].into_iter().filter(|_| published));
        let mut table = Table::new(headings).keyed_by(2);
        let mut before = "";
        for row in &self.rows {
            let mut cells: Vec<Cell> = vec![
                if before == row.model { "" } else { row.model.as_str() }.into(),
                row.method.as_str().into(),
            ];
            if rates {
                let pair = [row.all_gather_bytes_per_s, row.reduce_scatter_bytes_per_s];
                cells.extend(pair.map(|rate| Cell::from((rate, Unit::BytesPerSecond))));
            }
            cells.extend([
                Cell::from((row.layer_s, Unit::Seconds)),
                (row.iteration_s, Unit::Seconds).into(),
                (row.days, Unit::Count).into(),
                row.saved_days.map(|days| (days, Unit::Count)).into(),
            ]);
            before = &row.model;
            let Some(theirs) = &row.published else {
                table.push(cells);
                continue;
            };
            let pairs = [
                (row.days, theirs.days),
                (row.iteration_s, theirs.iteration_s),
                (row.layer_s, theirs.layer_s),
            ];
            let difference = pairs.into_iter().find_map(|(ours, theirs)| Some(ours / theirs? - 1.0));
            cells.push(difference.map(|difference| (difference, Unit::Difference)).into());
            table.push(cells);
            let mut cells = vec![Cell::from(""), "  printed".into()];
            cells.extend([Cell::Missing, Cell::Missing].into_iter().filter(|_| rates));
            cells.extend([
                Cell::from(theirs.layer_s.map(|seconds| (seconds, Unit::Seconds))),
                theirs.iteration_s.map(|seconds| (seconds, Unit::Seconds)).into(),
                theirs.days.map(|days| (days, Unit::Count)).into(),
            ]);
            table.push(cells);
        }
        table
    }

    /// What a person reads: the models, the table and the remarks.
    pub fn summary(&self, style: &Style) -> String {
        let mut out = String::new();
        let fact = |out: &mut String, label: &str, words: &str| {
            for (at, line) in wrap(words, style.width.saturating_sub(LABEL), 0).lines().enumerate() {
                let label = pad_right(if at == 0 { label } else { "" }, LABEL - 2);
                *out += &format!("  {}{line}\n", style.paint(Tone::Muted, &label));
            }
        };
        if !self.experiment.is_empty() {
            out += &format!("{}\n", style.paint(Tone::Strong, &self.experiment));
        }
        for model in &self.models {
            let words = format!(
                "{}: {} per layer and step in all-gathers, as much in reduce-scatters, {} each; {} layers per \
                 stage, {} steps, {} tokens",
                model.model,
                Unit::Bytes.format(model.layer_bytes),
                Unit::Bytes.format(model.message_bytes as f64),
                Unit::Count.format(model.layers_per_stage),
                Unit::Count.format(model.steps),
                Unit::Count.format(model.tokens),
            );
            fact(&mut out, "model", &words);
        }
        if !out.is_empty() {
            out.push('\n');
        }
        for line in self.table().to_text(&Style { width: style.width.saturating_sub(2), ..*style }).lines() {
            out += &format!("  {line}\n");
        }
        out.push('\n');
        for note in &self.notes {
            fact(&mut out, "note", note);
        }
        out
    }
}
