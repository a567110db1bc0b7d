//! What a forecast is about: models, ways to communicate, and figures that others printed.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::error::nearest;
use stratasim_core::{Bandwidth, BuildError, Bytes, Duration, Precision};
use stratasim_device::card::Fidelity;
use stratasim_topo::generators::cards::CardChoice;
use stratasim_workload::training::shape::{Model, Shape, ShapeChoice};
use stratasim_workload::training::volume::EXCHANGES;

/// An experiment that is a forecast: there is no machine in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ForecastFile {
    /// Name in titles; the file's name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// What the experiment is about, for readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    /// The forecast.
    pub(super) forecast: ForecastSpec,
}

/// How long the exchanges of activations inside a card take over a whole training, from the shape of the model
/// and the rates of the collectives (SW-IntraCC paper, equations 1 and 2 and table 5).
///
/// ```toml
/// [[forecast.model]]
/// name = "LLaMA 70B"
/// model = "llama2-70b"
/// sequence = 2048
/// batch = 2048
/// data-parallel = 8
/// pipeline = 16
/// tokens = 2e12
///
/// [[forecast.method]]
/// name = "Ring"
/// all-gather = "34.1 GB/s"
/// reduce-scatter = "54.9 GB/s"
/// ```
/// A method has the rates of its two collectives, or the name of an algorithm of which the card says how fast it is at
/// the length of the model's messages:
///
/// ```toml
/// [forecast]
/// card = { base = "sw-ai", bandwidth = { ring = "200 GB/s" } }
///
/// [[forecast.method]]
/// name = "CSC"
/// algorithm = "csc"
/// ```
/// Every model is combined with every method. Only exchanges are counted: neither computation nor its overlap
/// with them, nor what leaves the card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ForecastSpec {
    /// The card of methods with an `algorithm`: the name of one that is shipped, the path of its file, or a table
    /// with its `base` and what differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<CardChoice>,
    /// Level of detail of the card: `f0` (closed forms), `f1` (task graph) or `f2` (tiles through the scratch-pads).
    #[serde(default)]
    pub fidelity: Fidelity,
    /// The models.
    pub model: Vec<ModelSpec>,
    /// How activations are exchanged; savings are relative to the first.
    pub method: Vec<MethodSpec>,
    /// What others printed, to be shown beside our figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedSpec>,
}

/// A model and how it is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ModelSpec {
    /// Its name in the table.
    pub name: String,
    /// Model from which sizes come that are not given: `gpt-neox-20b`, `llama2-70b`, ... With another hidden size or
    /// activation than its own, heads and feed-forward size follow from those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Number of decoders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u32>,
    /// Hidden size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<u32>,
    /// Tokens per sequence; 4096 when nothing says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u32>,
    /// Sequences per step, of all replicas together.
    pub batch: u64,
    /// Sequences in one collective.
    #[serde(default = "one")]
    pub micro_batch: u32,
    /// Replicas that share the batch.
    #[serde(default = "one")]
    pub data_parallel: u32,
    /// Pipeline stages that share the layers.
    #[serde(default = "one")]
    pub pipeline: u32,
    /// All-gathers per layer and micro-batch, and as many reduce-scatters: 6 with all activations recomputed.
    #[serde(default = "exchanges")]
    pub exchanges: u32,
    /// Number format of the activations.
    #[serde(default = "bf16")]
    pub precision: Precision,
    /// Training steps; or `tokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Tokens of the whole training; or `steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// Bytes of the all-gathers of a layer per step, instead of those that follow from the sizes: to repeat the
    /// arithmetic of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer_volume: Option<Bytes>,
    /// A remark for readers of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A way to exchange activations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MethodSpec {
    /// Its name in the table.
    pub name: String,
    /// Bytes that an all-gather leaves in each member, per second that it takes; the card's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_gather: Option<Bandwidth>,
    /// Bytes that a reduce-scatter starts from in each member, per second that it takes; the card's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_scatter: Option<Bandwidth>,
    /// Algorithm inside of the card, for rates that are not given: `ring`, `csc`, `csc-equation` or `direct`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    /// Another card than the forecast's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<CardChoice>,
    /// Collectives are fused with the operators around them (equation 10), and only the time that this leaves of
    /// them counts. For `csc`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fused: bool,
    /// A remark for readers of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What others printed for a model and a method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedSpec {
    /// Names of the models that the figures are shown beside.
    pub models: Vec<String>,
    /// Name of the method.
    pub method: String,
    /// Communication of a layer per step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<Duration>,
    /// Communication of a stage per step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<Duration>,
    /// Communication of the whole training, in days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<f64>,
}

fn one() -> u32 {
    1
}

fn exchanges() -> u32 {
    EXCHANGES
}

fn bf16() -> Precision {
    Precision::Bf16
}

/// Refuses a number of which there must be at least one.
pub(super) fn positive(field: &str, value: f64) -> Result<(), BuildError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(BuildError::new(field, format!("must be more than 0, got {value}")))
}

/// Refuses two of one name.
fn distinct<'a>(list: &str, names: impl Iterator<Item = &'a str>) -> Result<(), BuildError> {
    let mut seen = BTreeSet::new();
    for (at, name) in names.enumerate() {
        if !seen.insert(name) {
            let reason = format!("there are two called `{name}`; the table tells them apart by their names");
            return Err(BuildError::new(format!("{list}.{at}.name"), reason));
        }
    }
    if seen.is_empty() {
        return Err(BuildError::new(list, "at least one is expected, there is none"));
    }
    Ok(())
}

/// Refuses a name that nothing has.
fn known(field: String, what: &str, name: &str, names: &[&str]) -> Result<(), BuildError> {
    if names.contains(&name) {
        return Ok(());
    }
    let hint = nearest(name, names.iter().copied())
        .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    let reason = format!("there is no {what} `{name}`{hint} (there are: {})", names.join(", "));
    Err(BuildError::new(field, reason))
}

impl ForecastSpec {
    /// What can be said without computing anything.
    ///
    /// # Errors
    /// Nothing to do, names that occur twice or are not there, numbers that are no sizes or rates.
    pub(super) fn check(&self) -> Result<(), BuildError> {
        distinct("model", self.model.iter().map(|model| model.name.as_str()))?;
        distinct("method", self.method.iter().map(|method| method.name.as_str()))?;
        for (at, model) in self.model.iter().enumerate() {
            model.check().map_err(|error| error.within(&format!("model.{at}")))?;
        }
        for (at, printed) in self.published.iter().enumerate() {
            let models: Vec<&str> = self.model.iter().map(|model| model.name.as_str()).collect();
            let methods: Vec<&str> = self.method.iter().map(|method| method.name.as_str()).collect();
            for (index, name) in printed.models.iter().enumerate() {
                known(format!("published.{at}.models.{index}"), "model", name, &models)?;
            }
            if let Some(days) = printed.days {
                positive(&format!("published.{at}.days"), days)?;
            }
            known(format!("published.{at}.method"), "method", &printed.method, &methods)?;
        }
        Ok(())
    }
}

impl ModelSpec {
    fn check(&self) -> Result<(), BuildError> {
        for (field, count) in [
            ("batch", self.batch),
            ("micro-batch", self.micro_batch.into()),
            ("data-parallel", self.data_parallel.into()),
            ("pipeline", self.pipeline.into()),
            ("exchanges", self.exchanges.into()),
            ("steps", self.steps.unwrap_or(1)),
        ] {
            positive(field, count as f64)?;
        }
        if self.layer_volume.is_some() && self.exchanges != exchanges() {
            let reason = "`layer-volume` says what they come to; leave one of the two out";
            return Err(BuildError::new("exchanges", reason));
        }
        positive("tokens", self.tokens.unwrap_or(1.0))
    }

    /// Sizes of the model.
    ///
    /// # Errors
    /// Sizes that are missing or are none.
    pub(super) fn shape(&self) -> Result<Shape, BuildError> {
        let choice = ShapeChoice {
            model: self.model,
            layers: self.layers,
            hidden: self.hidden,
            // heads do not change what is exchanged, and are not asked for
            heads: (self.model.is_none() || self.hidden.is_some_and(|hidden| !hidden.is_multiple_of(128)))
                .then_some(1),
            sequence: self.sequence,
            ..ShapeChoice::default()
        };
        choice.resolve()
    }
}
