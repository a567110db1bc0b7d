//! `stratasim report`: a result once more, as a table or as a page.

use std::path::{Path, PathBuf};

use clap::Args;
use stratasim_experiment::{ConfigError, Error};
use stratasim_report::picture::{
    breakdown_bars, channel_map, job_bars, latency_over_time, link_bars, load_over_time,
};
use stratasim_report::result::RunResult;
use stratasim_report::{Page, Style, summary};

use crate::compare::side_by_side;
use crate::output::Output;
use crate::terminal::Terminal;

/// Links in the picture of a page.
const FULLEST_LINKS: usize = 16;

#[derive(Args)]
pub(crate) struct Report {
    /// Results that `stratasim run --json` wrote; several are put side by side
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write a page with tables and pictures of one result, an HTML file that needs nothing else
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

impl Report {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        if self.html.is_some() && self.files.len() > 1 {
            let message = format!("--html makes a page of one result, found {}", self.files.len());
            return Err(ConfigError::new(message, None).into());
        }
        let page_file = Output::begin_if(self.html.as_ref())?;
        let mut results = Vec::new();
        for path in &self.files {
            let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            results.push((stem, read(path)?));
        }
        match (results.as_slice(), page_file) {
            ([(_, result)], Some(output)) => {
                let note = format!("  wrote {} (page)", output.path.display());
                output.text(&page(result).html())?;
                terminal.note(&note);
            }
            ([(_, result)], _) => terminal.print(&summary(result, &terminal.style))?,
            ([(_, first), rest @ ..], _) => {
                let name = first.title.experiment.as_str();
                let same = rest.iter().all(|(_, result)| result.title.experiment == name);
                let title = if same && !name.is_empty() { name } else { "Results" };
                terminal.print(&side_by_side(title, &results, &terminal.style))?;
            }
            ([], ..) => unreachable!("clap asks for a file"),
        }
        Ok(if results.iter().all(|(_, result)| result.checks_hold()) { 0 } else { 3 })
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
    if !result.jobs.is_empty() {
        page.heading("Jobs");
        page.picture(job_bars("Time of the jobs", &result.jobs).draw(), "jobs", "");
    }
    if !result.ranks.is_empty() {
        page.heading("Where the time goes");
        let whose = if result.jobs.is_empty() { "Time of the ranks" } else { "Time of the nodes" };
        page.picture(breakdown_bars(whose, &result.ranks).draw(), "ranks", "");
    }
    if let Some(links) = result.links.as_ref().filter(|links| !links.is_empty()) {
        page.heading("Links");
        page.picture(link_bars("The fullest links", links, FULLEST_LINKS).draw(), "links", "");
    }
    if let Some(traffic) = &result.traffic {
        page.heading("Traffic over time");
        let runs = std::iter::once((String::new(), traffic));
        page.picture(
            latency_over_time("Latency of packets over time", runs),
            "windows",
            "Warm-up and sample.",
        );
        page.picture(load_over_time("Load over time", traffic), "loads", "");
        if let Some(picture) = channel_map("Utilisation of channels", traffic) {
            page.heading("Channels");
            page.picture(picture, "channels", "In the sample; rows of many routers are means.");
        }
    }
    page.heading("Experiment");
    page.code(serde_json::to_string_pretty(&result.spec).unwrap_or_default());
    page
}
