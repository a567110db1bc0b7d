//! `stratasim report`: a result once more, as a table or as a page.

use std::path::{Path, PathBuf};

use clap::Args;
use stratasim_experiment::{Error, files};
use stratasim_report::picture::{breakdown_bars, link_bars};
use stratasim_report::result::RunResult;
use stratasim_report::{Page, Style, summary};

use crate::terminal::Terminal;

/// Links in the picture of a page.
const FULLEST_LINKS: usize = 16;

#[derive(Args)]
pub(crate) struct Report {
    /// Result that `stratasim run --json` wrote
    file: PathBuf,
    /// Write a page with tables and pictures, one HTML file that needs nothing else
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

impl Report {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let result = read(&self.file)?;
        match &self.html {
            None => terminal.print(&summary(&result, &terminal.style))?,
            Some(path) => {
                files::write(path, page(&result).html().as_bytes())
                    .map_err(|error| Error::file(path, &error))?;
                terminal.note(&format!("  wrote {} (page)", path.display()));
            }
        }
        Ok(if result.checks_hold() { 0 } else { 3 })
    }
}

/// Reads a result.
fn read(path: &Path) -> Result<RunResult, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, &error))?;
    RunResult::from_json(&text).map_err(|error| Error::File {
        path: path.display().to_string(),
        reason: format!("this is no result that `stratasim run --json` wrote: {error}"),
    })
}

fn page(result: &RunResult) -> Page {
    let title = &result.title;
    let name = if title.experiment.is_empty() { "Result" } else { &title.experiment };
    let mut page = Page::new(name);
    // the table has everything but colours and a width of its own
    page.code(summary(result, &Style { width: 84, ..Style::UNICODE }));
    if !result.ranks.is_empty() {
        page.heading("Where the time goes");
        page.picture(breakdown_bars("Time of the ranks", &result.ranks).draw(), "ranks", "");
    }
    if let Some(links) = result.links.as_ref().filter(|links| !links.is_empty()) {
        page.heading("Links");
        page.picture(link_bars("The fullest links", links, FULLEST_LINKS).draw(), "links", "");
    }
    page.heading("Experiment");
    page.code(serde_json::to_string_pretty(&result.spec).unwrap_or_default());
    page
}
