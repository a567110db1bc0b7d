//! `stratasim topology`: show, export, check.

mod check;
mod export;
mod flow;
mod measure;
mod show;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::json;
use stratasim_experiment::{Document, Error, build_context};
use stratasim_topo::{Routing, RoutingSpec, Topology, TopologySpec};

use crate::input::Input;
use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct TopologyCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Say what it consists of: nodes, links, distances, bisection
    Show(show::Show),
    /// Write it in another format
    Export(export::Export),
    /// Check that it is connected and that routes lead where they should
    Check(check::Check),
}

impl TopologyCommand {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        match &self.action {
            Action::Show(action) => action.run(terminal),
            Action::Export(action) => action.run(terminal),
            Action::Check(action) => action.run(terminal),
        }
    }
}

/// What a topology is made from.
#[derive(Args)]
struct Source {
    /// An experiment, its section `topology` alone, a SimGrid platform (.xml), GraphML (.graphml),
    /// or node-link JSON of NetworkX (.json)
    #[command(flatten)]
    input: Input,
}

/// The sections that matter here; others are passed over.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sections {
    #[serde(default)]
    seed: Option<u64>,
    topology: TopologySpec,
    #[serde(default)]
    routing: RoutingSpec,
}

/// A topology with its routing.
struct Machine {
    kind: &'static str,
    routing_kind: &'static str,
    seed: u64,
    topology: Arc<Topology>,
    routing: Box<dyn Routing>,
}

impl Source {
    fn build(&self) -> Result<Machine, Error> {
        let (document, base) = self.document()?;
        let sections: Sections = document.read()?;
        let seed = sections.seed.unwrap_or(1);
        let context = build_context(&base, seed);
        let topology = stratasim_topo::build(&sections.topology, &context);
        let topology = Arc::new(topology.map_err(|error| document.locate(&error, "topology"))?);
        let routing = sections.routing.plugin().build(&topology);
        let routing = routing.map_err(|error| document.locate(&error, "routing"))?;
        let (kind, routing_kind) = (sections.topology.kind(), sections.routing.kind());
        Ok(Machine { kind, routing_kind, seed, topology, routing })
    }

    /// A document with a section `topology`, and the folder that its paths start from.
    fn document(&self) -> Result<(Document, PathBuf), Error> {
        let file = &self.input.file;
        let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
        let format = match end {
            "xml" => Some("simgrid-xml"),
            "graphml" => Some("graphml"),
            _ => None,
        };
        if let Some(format) = format {
            return self.wrapped(format);
        }
        let (document, base) = self.input.load().map_err(|error| self.of_ending(end, error))?;
        if document.get("topology").is_some() {
            Ok((document, base))
        } else if document.get("kind").is_some_and(|kind| kind.is_string()) {
            Ok((document.nested("topology"), base))
        } else if end == "json" && document.get("nodes").is_some() {
            self.wrapped("networkx-json")
        } else {
            let reason = "no topology here: neither a section `topology` nor a `kind`";
            Err(document.error(reason).into())
        }
    }

    /// What is said of a file that is no TOML, and whose name does not say that it should be.
    fn of_ending(&self, end: &str, error: Error) -> Error {
        match &error {
            Error::Config(config) if config.position().is_some() && !matches!(end, "toml" | "json") => {
                let found = match end {
                    "" => "a name without an ending".to_owned(),
                    end => format!("`.{end}` is not an ending that is known here"),
                };
                let reason = format!(
                    "{found}, and the text is no TOML; read are .toml (an experiment, or its section `topology`), \
                     .json (the same, or node-link JSON of NetworkX), .graphml (GraphML) and .xml (a SimGrid platform)"
                );
                Error::File { path: self.input.file.display().to_string(), reason }
            }
            _ => error,
        }
    }

    /// A document whose topology is read from the file.
    fn wrapped(&self, kind: &str) -> Result<(Document, PathBuf), Error> {
        let path = self.input.file.to_string_lossy();
        let text = json!({"topology": {"kind": kind, "path": path}}).to_string();
        let mut document = Document::from_json(&path, &text)?;
        for set in &self.input.sets {
            document.set(set)?;
        }
        Ok((document, PathBuf::new()))
    }
}
