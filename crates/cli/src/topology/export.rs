//! `stratasim topology export`: in the formats of others.

use std::path::PathBuf;

use clap::Args;
use stratasim_experiment::{ConfigError, Error};
use stratasim_topo::io;

use super::Source;
use crate::output::{Output, check_apart};
use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    source: Source,
    /// simgrid-xml, networkx-json or graphml; by the end of the output's name when absent
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Where to; standard output when absent
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
}

impl Export {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let format = self.format()?;
        check_apart(std::slice::from_ref(&self.source.input.file), &[("--output", self.output.as_ref())])?;
        let mut machine = self.source.build()?;
        let text =
            io::write(format, &machine.topology, machine.routing.as_mut()).map_err(|error| match &*error
                .field
            {
                "" => ConfigError::new(error.reason, None),
                _ => ConfigError::new(format!("--{error}"), None),
            })?;
        if let Some(note) = io::unused(format, &machine.topology) {
            terminal.note(&note);
        }
        match &self.output {
            None => terminal.print(&text),
            Some(path) => {
                Output::begin("--output", path)?.text(&text)?;
                terminal.note(&format!("  wrote {} ({format})", path.display()));
            }
        }
        Ok(0)
    }

    fn format(&self) -> Result<&str, ConfigError> {
        let end = self.output.as_deref().and_then(|path| path.extension()?.to_str());
        let by_name = match end {
            Some("xml") => Some("simgrid-xml"),
            Some("json") => Some("networkx-json"),
            Some("graphml") => Some("graphml"),
            _ => None,
        };
        self.format
            .as_deref()
            .or(by_name)
            .ok_or_else(|| ConfigError::new(format!("say which --format: {}", io::FORMATS.join(", ")), None))
    }
}
