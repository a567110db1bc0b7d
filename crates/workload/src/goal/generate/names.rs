//! Patterns by name: ours, those of schedgen and Schedgen2, and collectives.

use serde_json::{Map, Value, json};
use stratasim_core::BuildError;
use stratasim_core::error::nearest;

use super::GenerateSpec;
use crate::collective::CollectiveKind;

/// (schedgen's or Schedgen2's name, our kind).
const ALIASES: &[(&str, &str)] = &[
    ("binomialtreebcast", "binomial-broadcast"),
    ("binomialtreereduce", "binomial-reduce"),
    ("binarytreebcast", "binary-broadcast"),
    ("nwaydissemination", "n-way-dissemination"),
    ("chained-dissem", "chained-dissemination"),
    ("pipelinedring", "pipelined-ring"),
    ("pipelinedringdep", "pipelined-ring"),
    ("doublering", "double-ring"),
    ("linbarrier", "linear-barrier"),
    ("allreduce-recdoub", "recursive-doubling-allreduce"),
    ("allreduce-ring", "ring-allreduce"),
    ("random-bisect", "random-bisection"),
    ("random-bisect-fd-sym", "random-bisection"),
    ("resnet152", "resnet"),
    ("bcast", "binomial-broadcast"),
    ("allreduce", "allreduce-by-size"),
    ("alltoall", "linear-alltoall"),
    ("alltoallv", "linear-alltoallv"),
];

/// What an alias says beyond the kind.
fn preset(alias: &str) -> Option<(&'static str, Value)> {
    match alias {
        "pipelinedringdep" => Some(("dependent", json!(true))),
        "random-bisect-fd-sym" => Some(("symmetric", json!(true))),
        _ => None,
    }
}

impl GenerateSpec {
    /// The pattern called `name`, with the fields of `options`: one of the kinds, a pattern of schedgen
    /// or Schedgen2, or a collective (`all-reduce`), for which `algorithm` may be a name.
    ///
    /// ```
    /// use stratasim_workload::goal::generate::GenerateSpec;
    ///
    /// let spec = GenerateSpec::named("allreduce_ring", serde_json::Map::new()).unwrap();
    /// assert_eq!(spec.kind(), "ring-allreduce");
    /// ```
    ///
    /// # Errors
    /// An unknown name; options that the pattern does not have.
    pub fn named(name: &str, mut options: Map<String, Value>) -> Result<Self, BuildError> {
        let mut table = Self::table(name)?;
        if let Some(Value::String(algorithm)) = options.get("algorithm") {
            let algorithm = json!({ "kind": algorithm });
            options.insert("algorithm".to_owned(), algorithm);
        }
        table.extend(options.into_iter().filter(|(key, _)| key != "kind"));
        let kind = table["kind"].as_str().unwrap_or_default().to_owned();
        serde_json::from_value(Value::Object(table))
            .map_err(|error| BuildError::new("", format!("pattern `{kind}`: {error}")))
    }

    /// What the name alone says of the spec: its `kind` and, for some names, an option. The names are those of
    /// [`Self::named`].
    ///
    /// # Errors
    /// An unknown name.
    pub fn table(name: &str) -> Result<Map<String, Value>, BuildError> {
        let plain = name.to_ascii_lowercase().replace('_', "-");
        let (kind, preset) = if let Some(kind) = Self::KINDS.iter().find(|kind| **kind == plain) {
            (*kind, None)
        } else if let Some((alias, kind)) = ALIASES.iter().find(|(alias, _)| *alias == plain) {
            (*kind, preset(alias))
        } else if CollectiveKind::ALL.iter().any(|kind| kind.name() == plain) {
            ("collective", Some(("operation", Value::String(plain))))
        } else {
            return Err(BuildError::new("pattern", unknown(name, &plain)));
        };
        let preset = preset.map(|(key, value)| (key.to_owned(), value));
        let kind = ("kind".to_owned(), Value::String(kind.to_owned()));
        Ok(std::iter::once(kind).chain(preset).collect())
    }

    /// Names of schedgen and Schedgen2, each with our kind.
    pub const fn aliases() -> &'static [(&'static str, &'static str)] {
        ALIASES
    }

    /// Every name that [`Self::named`] knows, our kinds first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let aliases = ALIASES.iter().map(|(alias, _)| *alias);
        let collectives = CollectiveKind::ALL.iter().map(|kind| kind.name());
        Self::KINDS.iter().copied().chain(aliases).chain(collectives)
    }
}

fn unknown(name: &str, plain: &str) -> String {
    let hint = nearest(plain, GenerateSpec::names())
        .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    let collectives: Vec<_> = CollectiveKind::ALL.iter().map(|kind| kind.name()).collect();
    format!(
        "unknown pattern `{name}`{hint} (known: {}; collectives: {}; and the names of schedgen)",
        GenerateSpec::KINDS.join(", "),
        collectives.join(", ")
    )
}
