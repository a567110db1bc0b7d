//! What most verbs are about: an experiment file, and changes to it.

use std::path::PathBuf;

use clap::Args;
use stratasim_core::error::nearest;
use stratasim_experiment::{ConfigError, Document, Error, Sweep, plugins};

/// An experiment and changes to it.
#[derive(Args)]
pub(crate) struct Input {
    /// The experiment, as TOML or JSON
    pub(crate) file: PathBuf,
    /// Change a value: a dotted path and a TOML value, such as topology.xpus=64; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
}

impl Input {
    /// The document with all changes, and the folder that its paths start from.
    pub(crate) fn load(&self) -> Result<(Document, PathBuf), Error> {
        stratasim_experiment::load(&self.file, &self.sets)
    }

    /// The same without a section `sweep`, on another network if asked for.
    pub(crate) fn experiment(&self, network: Option<&str>) -> Result<(Document, PathBuf), Error> {
        let (mut document, base) = stratasim_experiment::load(&self.file, &[])?;
        if let Some(kind) = network {
            choose_network(&mut document, "--network", kind)?;
        }
        for set in &self.sets {
            document.set(set)?;
        }
        Sweep::leave_out(&mut document)?;
        Ok((document, base))
    }
}

/// Sets `network.kind`. Options of another kind of network do not fit and are dropped; the message level then has the
/// latency and the rate of the machine's routes, as the other levels have, instead of those of no machine.
pub(crate) fn choose_network(document: &mut Document, option: &str, kind: &str) -> Result<(), Error> {
    let kinds = network_kinds();
    if !kinds.contains(&kind) {
        let hint = nearest(kind, kinds.iter().copied())
            .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        let message = format!("unknown network `{kind}`{hint} (known: {})", kinds.join(", "));
        return Err(ConfigError::new(message, None).into());
    }
    if document.get("network.kind").is_none_or(|there| there != kind) {
        document.take("network");
        let origin = format!("{option} {kind}");
        document.set_json(&origin, "network.kind", serde_json::json!(kind))?;
        if kind == "message" {
            for (key, value) in MESSAGE_OF_ROUTES {
                document.set_json(&origin, &format!("network.{key}"), serde_json::json!(value))?;
            }
            document.set_json(&origin, "network.from-routes", serde_json::json!(true))?;
        }
    }
    Ok(())
}

/// LogGOPS without host costs and waits for receives, which the other levels do not have either; L and G come from
/// the routes.
const MESSAGE_OF_ROUTES: [(&str, &str); 5] = [
    ("latency", "0 s"),
    ("overhead", "0 s"),
    ("gap", "0 s"),
    ("gap-per-byte", "0 ns/B"),
    ("eager-limit", "1000 PB"),
];

/// Every kind of network.
pub(crate) fn network_kinds() -> Vec<&'static str> {
    plugins::noun("networks").map_or(&[][..], |noun| noun.entries).iter().map(|entry| entry.kind).collect()
}

/// Whether networks of `kind` have an option `name`.
pub(crate) fn network_has(kind: &str, name: &str) -> bool {
    let entries = plugins::noun("networks").map_or(&[][..], |noun| noun.entries);
    let Some(entry) = entries.iter().find(|entry| entry.kind == kind) else { return false };
    let schema = (entry.schema)(&mut schemars::SchemaGenerator::default()).to_value();
    schema.pointer("/properties").and_then(|options| options.get(name)).is_some()
}
