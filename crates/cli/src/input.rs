//! What most verbs are about: an experiment file, and changes to it.

use std::path::PathBuf;

use clap::Args;
use stratasim_core::error::nearest;
use stratasim_experiment::{ConfigError, Document, Error, plugins};

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
            choose_network(&mut document, kind)?;
        }
        for set in &self.sets {
            document.set(set)?;
        }
        document.take("sweep");
        Ok((document, base))
    }
}

/// Sets `network.kind`. Options of another kind of network do not fit and are dropped.
pub(crate) fn choose_network(document: &mut Document, kind: &str) -> Result<(), Error> {
    let kinds: Vec<&str> = plugins::noun("networks")
        .map_or(&[][..], |noun| noun.entries)
        .iter()
        .map(|entry| entry.kind)
        .collect();
    if !kinds.contains(&kind) {
        let hint = nearest(kind, kinds.iter().copied())
            .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        let message = format!("unknown network `{kind}`{hint} (known: {})", kinds.join(", "));
        return Err(ConfigError::new(message, None).into());
    }
    if document.get("network.kind").is_none_or(|there| there != kind) {
        document.take("network");
        document.set(&format!("network.kind={kind}"))?;
    }
    Ok(())
}
