//! `stratasim report`: a result once more, as a table or as a page.

use std::path::{Path, PathBuf};

use clap::Args;
use stratasim_experiment::{ConfigError, Error, files};
use stratasim_report::forecast::ForecastResult;
use stratasim_report::listed::{longest_queues, slowest_messages};
use stratasim_report::picture::{
    breakdown_bars, channel_map, job_bars, latency_over_time, link_bars, load_over_time,
};
use stratasim_report::result::RunResult;
use stratasim_report::{Distribution, Page, Style, by_size, summary};

use crate::by_size::BySize;
use crate::cdf::Together;
use crate::compare::side_by_side;
use crate::output::Output;
use crate::terminal::Terminal;

/// Links in the picture of a page.
const FULLEST_LINKS: usize = 16;
/// Queues in the table of a page.
const LONGEST_QUEUES: usize = 16;

#[derive(Args)]
pub(crate) struct Report {
    /// Results that `stratasim run --json` or `compare --json` wrote; several are put side by side, forecasts are shown alone
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write a page with tables and pictures of one result, an HTML file that needs nothing else
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    #[command(flatten)]
    by_size: BySize,
    #[command(flatten)]
    cdf: Together,
}

impl Report {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        if self.html.is_some() && self.files.len() > 1 {
            return Err(one_page(self.files.len()));
        }
        let files = [
            ("--html", self.html.as_ref()),
            ("--by-size", self.by_size.out.as_ref()),
            ("--cdf", self.cdf.out.as_ref()),
        ];
        let [page_file, by_size, cdf] = Output::begin_all(&self.files, files)?;
        let texts: Vec<String> = self.files.iter().map(|path| read_text(path)).collect::<Result<_, _>>()?;
        if let [text] = texts.as_slice()
            && let Some(forecast) = ForecastResult::from_json(text)
        {
            let asked = [("--html", &page_file), ("--by-size", &by_size), ("--cdf", &cdf)];
            if let Some((option, _)) = asked.iter().find(|(_, file)| file.is_some()) {
                let message =
                    format!("{option} is about runs, and {} is a forecast", self.files[0].display());
                return Err(ConfigError::new(message, None).into());
            }
            terminal.print(&forecast.summary(&terminal.style));
            return Ok(0);
        }
        let mut results = Vec::new();
        for ((path, name), text) in self.files.iter().zip(names(&self.files)).zip(&texts) {
            results.extend(read(path, name, text)?);
        }
        if self.html.is_some() && results.len() > 1 {
            return Err(one_page(results.len()));
        }
        let title = title(&results);
        match (results.as_slice(), page_file) {
            ([(_, result)], Some(output)) => {
                let note = format!("  wrote {} (page)", output.path.display());
                output.text(&page(result).html())?;
                terminal.note(&note);
            }
            ([(_, result)], _) => terminal.print(&summary(result, &terminal.style)),
            _ => {
                let title = if title.is_empty() { "Results" } else { title };
                terminal.print(&side_by_side(title, &results, &terminal.style));
            }
        }
        if let Some(picture) = by_size {
            BySize::together(picture, title, &results, terminal)?;
        }
        if let Some(picture) = cdf {
            self.cdf.write(picture, title, &results, terminal)?;
        }
        Ok(if results.iter().all(|(_, result)| result.checks_hold()) { 0 } else { 3 })
    }
}

/// The experiment that these are results of; nothing where they are of several.
fn title(results: &[(String, RunResult)]) -> &str {
    let mut names = results.iter().map(|(_, result)| result.title.experiment.as_str());
    let first = names.next().unwrap_or("");
    if names.all(|name| name == first) { first } else { "" }
}

fn one_page(found: usize) -> Error {
    ConfigError::new(format!("--html makes a page of one result, found {found}"), None).into()
}

fn read_text(path: &Path) -> Result<String, Error> {
    files::read_text(path).map_err(|error| Error::file(path, &error))
}

/// What the results of files are called: by the files' names without ending, or by their paths where these are the same.
fn names(files: &[PathBuf]) -> Vec<String> {
    let stem =
        |path: &PathBuf| path.file_stem().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    let is_alone = |name: &str| files.iter().filter(|other| stem(other) == name).count() == 1;
    let name = |path: &PathBuf| Some(stem(path)).filter(|name| is_alone(name));
    files.iter().map(|path| name(path).unwrap_or_else(|| path.display().to_string())).collect()
}

/// The results of a file called `name`, each with a name: one of a run, or the list of a comparison.
fn read(path: &Path, name: String, text: &str) -> Result<Vec<(String, RunResult)>, Error> {
    let no_result = |what: &str| Error::File {
        path: path.display().to_string(),
        reason: format!("this is no result that `stratasim run --json` wrote: {what}"),
    };
    if path.extension().is_some_and(|end| end == "toml") {
        let run = format!("stratasim run {} --json result.json", path.display());
        return Err(no_result(&format!("it looks like an experiment; `{run}` makes one")));
    }
    if text.trim_start().starts_with('[') {
        let list: Vec<RunResult> = serde_json::from_str(text)
            .map_err(|error| no_result(&format!("a list, in which {}", words(&error))))?;
        if list.is_empty() {
            return Err(no_result("a list with nothing in it"));
        }
        let of_list = |(at, result): (usize, RunResult)| {
            (format!("{name} {}: {}", at + 1, result.title.network), result)
        };
        return Ok(list.into_iter().enumerate().map(of_list).collect());
    }
    if ForecastResult::from_json(text).is_some() {
        return Err(no_result("it is a forecast, which stands beside no other result"));
    }
    match RunResult::from_json(text) {
        Ok(result) => Ok(vec![(name, result)]),
        Err(_) if is_list_of_points(text) => {
            let points = path.with_file_name("points").join("*.json");
            let points = points.display();
            Err(no_result(&format!(
                "it lists the points of a sweep or of traffic; give results of points, {points}"
            )))
        }
        Err(error) => Err(no_result(&words(&error))),
    }
}

/// What is wrong with the text of a result.
fn words(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return format!("the text is cut off at line {}, column {}", error.line(), error.column());
    }
    if error.is_syntax() {
        return format!("the text is no JSON from line {}, column {} on", error.line(), error.column());
    }
    error.to_string()
}

/// Whether this is the `results.json` of a sweep or of `stratasim traffic`.
fn is_list_of_points(text: &str) -> bool {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    value["points"].is_array() && value["title"].is_string()
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
    if let Some(flows) = &result.flows {
        if let Some(picture) = by_size::picture(result) {
            page.heading("Slow-downs by size");
            page.picture(picture, "by-size", "");
            page.table(
                by_size::table(flows),
                "Times against the idle network, of groups of about as many messages.",
            );
        }
        page.heading("The slowest messages");
        page.table(slowest_messages(flows), "Those with the largest slow-down against the idle network.");
    }
    if !result.queues.is_empty() {
        page.heading("The longest queues");
        page.table(longest_queues(result, LONGEST_QUEUES), "");
    }
    let mut distributions =
        Distribution::ALL.into_iter().filter_map(|of| Some((of, of.picture(result)?))).peekable();
    if distributions.peek().is_some() {
        page.heading("Distributions");
    }
    for (of, picture) in distributions {
        page.picture(picture, format!("{of:?}"), "");
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
            page.picture(picture, "channels", "In the sample.");
        }
    }
    page.heading("Experiment");
    page.code(serde_json::to_string_pretty(&result.spec).unwrap_or_default());
    page
}
