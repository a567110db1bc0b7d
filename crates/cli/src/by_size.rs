//! Slow-downs over the size of messages, as pictures.

use std::path::PathBuf;

use clap::Args;
use stratasim_experiment::{ConfigError, Error, Prepared};
use stratasim_report::by_size;
use stratasim_report::result::RunResult;

use crate::cdf::{OF_MESSAGES, told_by_some};
use crate::output::{Output, picture_path};
use crate::terminal::Terminal;

/// A picture of slow-downs over sizes: of one result, or a curve for each of several.
#[derive(Args)]
pub(crate) struct BySize {
    /// Draw how many times longer than alone messages took, over their size, as SVG or PNG (packet level)
    #[arg(id = "by_size", long = "by-size", value_name = "OUT", value_parser = picture_path)]
    pub(crate) out: Option<PathBuf>,
}

impl BySize {
    /// What it needs where it is asked for and this network does not tell it.
    pub(crate) fn lacks(&self, prepared: &Prepared) -> Option<String> {
        let tells = self.out.is_none() || prepared.spec.network.plugin().follows_messages();
        (!tells).then(|| format!("--by-size is {OF_MESSAGES}"))
    }

    /// Refuses what none of these will tell.
    pub(crate) fn check(&self, cases: &[(String, Prepared)]) -> Result<(), ConfigError> {
        told_by_some(cases, |prepared| self.lacks(prepared))
    }

    /// Draws that of one run; says where there is nothing to draw.
    pub(crate) fn draw(out: Output, result: &RunResult, terminal: &Terminal) -> Result<(), Error> {
        if let Some(picture) = by_size::picture(result) {
            return out.draw(&picture);
        }
        terminal.note(&format!("  nothing in {}: {}", out.path.display(), reason(result)));
        Ok(())
    }

    /// Draws one of all results; says of which there is no curve.
    pub(crate) fn together(
        out: Output,
        experiment: &str,
        results: &[(String, RunResult)],
        terminal: &Terminal,
    ) -> Result<(), Error> {
        let path = out.path.clone();
        let picture = match results {
            [(_, result)] => by_size::picture(result),
            _ => by_size::together(experiment, results),
        };
        let Some(picture) = picture else {
            let why = results.first().map_or("there is no result", |(_, result)| reason(result));
            terminal.note(&format!("  nothing in {}: {why}", path.display()));
            return Ok(());
        };
        out.draw(&picture)?;
        terminal.note(&format!("  wrote {} (slow-downs by size)", path.display()));
        for (name, result) in results.iter().filter(|(_, result)| !by_size::tells(result)) {
            terminal.note(&format!("  no curve there for `{name}`: {}", reason(result)));
        }
        Ok(())
    }
}

/// Why a run does not tell of slow-downs by size.
fn reason(result: &RunResult) -> &'static str {
    match &result.flows {
        Some(_) => "all messages have the same size",
        None => "nothing is told of messages one by one",
    }
}
