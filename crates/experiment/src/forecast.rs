//! Forecasts of the communication of training inside a card, from the shape of the model to days: tables 1 to 5
//! of the SW-IntraCC paper.
//!
//! Closed forms only: nothing is simulated, so there is no machine.

mod rates;
pub mod spec;

use std::path::Path;

use stratasim_core::BuildError;
use stratasim_report::forecast::{ForecastResult, ForecastRow, ModelVolume, PublishedFigures};
use stratasim_workload::training::volume::Step;

use rates::Method;
pub use spec::ForecastSpec;
use spec::{ForecastFile, ModelSpec};

use crate::document::Document;
use crate::error::ConfigError;

const SECONDS_PER_DAY: f64 = 86_400.0;

/// A forecast, ready to be made.
#[derive(Debug, Clone)]
pub struct Forecast {
    file: ForecastFile,
    name: String,
    methods: Vec<Method>,
}

impl Forecast {
    /// Whether a document is a forecast.
    pub fn is_in(document: &Document) -> bool {
        document.get("forecast").is_some()
    }

    /// The resolved spec of the forecast in `document`.
    ///
    /// # Errors
    /// Keys and values that do not fit, with their places.
    pub(crate) fn spec(document: &Document) -> Result<serde_json::Value, ConfigError> {
        Ok(serde_json::to_value(document.read::<ForecastFile>()?).unwrap_or_default())
    }

    /// Reads and checks the forecast in `document`. Relative paths start from `base`.
    ///
    /// # Errors
    /// What does not fit, with its place.
    pub fn new(document: &Document, base: &Path) -> Result<Self, ConfigError> {
        let file: ForecastFile = document.read()?;
        let located = |error: &BuildError| document.locate(error, "forecast");
        file.forecast.check().map_err(|error| located(&error))?;
        let methods = file.forecast.method.iter().enumerate();
        let methods = methods.map(|(at, method)| Method::new(at, method, &file.forecast, base));
        let methods = methods.collect::<Result<Vec<_>, _>>().map_err(|error| located(&error))?;
        let stem = Path::new(document.name()).file_stem();
        let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
        let name = file.name.clone().or(stem).unwrap_or_default();
        let forecast = Self { file, name, methods };
        forecast.rows().map_err(|error| located(&error))?;
        Ok(forecast)
    }

    /// The figures of every model with every method.
    ///
    /// # Errors
    /// None that did not come when the forecast was read.
    pub fn make(&self) -> Result<ForecastResult, BuildError> {
        let (models, rows) = self.rows()?;
        Ok(ForecastResult {
            stratasim: env!("CARGO_PKG_VERSION").to_owned(),
            experiment: self.name.clone(),
            spec: serde_json::to_value(&self.file).unwrap_or_default(),
            models,
            rows,
            notes: self.notes(),
        })
    }

    fn rows(&self) -> Result<(Vec<ModelVolume>, Vec<ForecastRow>), BuildError> {
        let spec = &self.file.forecast;
        let (mut models, mut rows) = (Vec::new(), Vec::new());
        for (at, model) in spec.model.iter().enumerate() {
            let volume = volume(model).map_err(|error| error.within(&format!("model.{at}")))?;
            let mut first = None;
            for (at, (method, rates)) in spec.method.iter().zip(&self.methods).enumerate() {
                let row = row(&volume, &method.name, rates);
                let mut row = row.map_err(|error| error.within(&format!("method.{at}")))?;
                row.saved_days = first.map(|first: f64| first - row.days);
                first.get_or_insert(row.days);
                let printed = spec
                    .published
                    .iter()
                    .find(|printed| printed.method == row.method && printed.models.contains(&row.model));
                row.published = printed.map(|printed| PublishedFigures {
                    layer_s: printed.layer.map(|layer| layer.as_secs_f64()),
                    iteration_s: printed.iteration.map(|iteration| iteration.as_secs_f64()),
                    days: printed.days,
                });
                rows.push(row);
            }
            models.push(volume);
        }
        Ok((models, rows))
    }

    fn notes(&self) -> Vec<String> {
        let spec = &self.file.forecast;
        let models = spec.model.iter().filter_map(|model| Some((&model.name, model.note.as_ref()?)));
        let methods = spec.method.iter().filter_map(|method| Some((&method.name, method.note.as_ref()?)));
        let given = models.chain(methods).map(|(name, note)| format!("{name}: {note}"));
        let on_cards = self.methods.iter().any(|method| method.card().is_some());
        let cut = spec.model.iter().filter(|model| {
            let at_once = u64::from(model.data_parallel).saturating_mul(model.micro_batch.into());
            on_cards && model.batch % at_once.max(1) > 0
        });
        let cut = cut.map(|model| {
            format!(
                "{}: {} sequences on {} replicas are no whole number of collectives of {}; what is left counts by its bytes, \
                 though a shorter collective takes longer for each",
                model.name, model.batch, model.data_parallel, model.micro_batch
            )
        });
        given.chain(cut).collect()
    }
}

/// What a model exchanges.
fn volume(model: &ModelSpec) -> Result<ModelVolume, BuildError> {
    let shape = model.shape()?;
    let step = Step {
        exchanges: model.exchanges,
        value_bytes: model.precision.bytes(),
        batch: model.batch,
        data_parallel: model.data_parallel.into(),
        sequence: shape.sequence,
        hidden: shape.hidden,
        layers: shape.layers,
        pipeline: model.pipeline,
    };
    if step.pipeline > step.layers {
        let reason = format!("{} stages for {} layers; each needs one at least", step.pipeline, step.layers);
        return Err(BuildError::new("pipeline", reason));
    }
    if step.data_parallel.saturating_mul(model.micro_batch.into()) > step.batch {
        let reason = format!(
            "{} sequences at a time on each of {} replicas, of a batch of {}",
            model.micro_batch, step.data_parallel, step.batch
        );
        return Err(BuildError::new("micro-batch", reason));
    }
    let steps = match (model.steps, model.tokens) {
        (Some(steps), None) => steps as f64,
        (None, Some(tokens)) => tokens / step.tokens(),
        _ => {
            return Err(BuildError::new(
                "",
                "how long is the training? one of `steps` and `tokens` is expected",
            ));
        }
    };
    Ok(ModelVolume {
        model: model.name.clone(),
        layer_bytes: model.layer_volume.map_or(step.bytes_per_layer(), |bytes| bytes.count() as f64),
        message_bytes: step.message_bytes(model.micro_batch.into()),
        layers_per_stage: step.layers_per_stage(),
        steps,
        tokens: steps * step.tokens(),
    })
}

/// The times of a model with a method.
fn row(model: &ModelVolume, name: &str, method: &Method) -> Result<ForecastRow, BuildError> {
    let [all_gather, reduce_scatter] = method.rates(model.message_bytes)?;
    let layer_s = model.layer_bytes / all_gather + model.layer_bytes / reduce_scatter;
    let iteration_s = layer_s * model.layers_per_stage;
    Ok(ForecastRow {
        name: format!("{}, {name}", model.model),
        model: model.model.clone(),
        method: name.to_owned(),
        card: method.card().map(str::to_owned),
        all_gather_bytes_per_s: all_gather,
        reduce_scatter_bytes_per_s: reduce_scatter,
        layer_s,
        iteration_s,
        days: iteration_s * model.steps / SECONDS_PER_DAY,
        saved_days: None,
        published: None,
    })
}
