//! `stratasim run`: one experiment, one table.

mod cdf;
mod over_time;
mod traffic;

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use stratasim_core::observe::Fan;
use stratasim_core::{BuildError, Duration, LinkId, Rank, Time};
use stratasim_experiment::{ConfigError, Document, Error, Forecast, Prepared, RunLabels, Traffic};
use stratasim_report::by_size::tells;
use stratasim_report::flows::write_flows;
use stratasim_report::perfetto::PerfettoOptions;
use stratasim_report::picture::{MOST_RANKS, Timeline, link_heat_map, pictured};
use stratasim_report::result::RunResult;
use stratasim_report::{
    Columns, Filter, LinkLoad, OverTime, PerfettoTrace, RankSet, TimeWindow, Unit, summary,
};

use self::cdf::Cdf;
use self::over_time::Wanted;
use crate::INTERRUPTED;
use crate::by_size::BySize;
use crate::cdf::OF_MESSAGES;
use crate::input::Input;
use crate::output::{Output, Unwritten, check_apart, complete, picture_path};
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Links in a heat map, the fullest ones, and stretches of time at least half as many as which it has.
const HEAT_MAP_LINKS: usize = 32;
const HEAT_MAP_BINS: usize = 256;

/// Why nothing is known of messages.
fn no_message(result: &RunResult) -> &'static str {
    if result.stopped { "no message was complete" } else { "no message went from one node to another" }
}

#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    input: Input,
    /// Run on this network instead of the file's; `stratasim list networks` says which there are
    #[arg(long, value_name = "KIND")]
    network: Option<String>,
    /// Write the result as JSON; - writes it to standard output, in place of the table
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
    /// Write a trace for https://ui.perfetto.dev
    #[arg(long, value_name = "OUT")]
    trace: Option<PathBuf>,
    /// Write every task with its start and end as CSV
    #[arg(long, value_name = "OUT")]
    csv: Option<PathBuf>,
    /// Draw what each rank did when, as SVG or PNG
    #[arg(long, value_name = "OUT", value_parser = picture_path)]
    picture: Option<PathBuf>,
    /// Draw how full the fullest links were over time, as SVG or PNG (flow and packet level)
    #[arg(long, value_name = "OUT", value_parser = picture_path)]
    heat_map: Option<PathBuf>,
    /// Write every message with its times, packets sent again, trims and marks as CSV (packet level)
    #[arg(long, value_name = "OUT")]
    flows: Option<PathBuf>,
    #[command(flatten)]
    by_size: BySize,
    #[command(flatten)]
    cdf: Cdf,
    #[command(flatten)]
    over_time: Wanted,
    /// Ranks in trace, CSV and picture, such as 0-7,16 [default: all; a picture shows 48 of them]
    #[arg(long, value_name = "RANKS", value_parser = rank_set)]
    ranks: Option<RankSet>,
    /// Window of simulated time in trace, CSV, picture, depths of queues and what is told over time, such as "1 s..2.5 s"
    #[arg(long, value_name = "TIMES", value_parser = time_window)]
    window: Option<TimeWindow>,
    /// Print no table and no progress
    #[arg(long, short)]
    quiet: bool,
}

fn rank_set(text: &str) -> Result<RankSet, String> {
    text.parse().map_err(|error: BuildError| error.reason)
}

fn time_window(text: &str) -> Result<TimeWindow, String> {
    text.parse().map_err(|error: BuildError| error.reason)
}

/// The files of a run.
struct Outputs {
    json: Option<Output>,
    trace: Option<Output>,
    csv: Option<Output>,
    picture: Option<Output>,
    heat_map: Option<Output>,
    flows: Option<Output>,
    by_size: Option<Output>,
    cdf: Option<Output>,
}

impl Run {
    pub(crate) fn run(&self, terminal: &Terminal, started: Instant) -> Result<u8, Error> {
        let (document, base) = self.input.experiment(self.network.as_deref())?;
        let files = [
            ("--json", self.json.as_ref().filter(|_| !self.to_stdout())),
            ("--trace", self.trace.as_ref()),
            ("--csv", self.csv.as_ref()),
            ("--picture", self.picture.as_ref()),
            ("--heat-map", self.heat_map.as_ref()),
            ("--flows", self.flows.as_ref()),
            ("--by-size", self.by_size.out.as_ref()),
            ("--cdf", self.cdf.out.as_ref()),
        ];
        let mut input = document.files(&base);
        input.push(self.input.file.clone());
        check_apart(&input, &files)?;
        if Traffic::is_in(&document) {
            return self.traffic(&document, &base, terminal, started);
        }
        if Forecast::is_in(&document) {
            return self.forecast(&document, &base, terminal);
        }
        let [json, trace, csv, picture, heat_map, flows, by_size, cdf] = Output::begin_all(&input, files)?;
        let outputs = Outputs { json, trace, csv, picture, heat_map, flows, by_size, cdf };
        // the process ends with it: taking thousands of connections apart would be a thirtieth of a short run
        let mut prepared = ManuallyDrop::new(Prepared::new(&document, &base)?);
        self.check(&prepared)?;
        let queues = self.cdf.queues(&prepared)?;
        let over_time = self.over_time.watch(&prepared, self.window.unwrap_or_default())?;
        let mut unwritten = Unwritten::default();
        let looks = (&*queues, over_time);
        let result = self.watched(&mut prepared, (outputs, &mut unwritten), looks, terminal, started);
        if result.is_err() {
            self.tell_of_observed(terminal, "tasks", &unwritten);
        }
        let result = unwritten.unless_failed(result, terminal)?;
        self.say(terminal, || result.to_json(), || summary(&result, &terminal.style));
        self.tell(terminal, "tasks", Some(&result), &unwritten);
        Ok(unwritten.tell(terminal, self.exit_code(&result, terminal)))
    }

    /// Refuses what this run cannot tell.
    fn check(&self, prepared: &Prepared) -> Result<(), ConfigError> {
        if let Some(ranks) = &self.ranks {
            let fits = ranks.check(prepared.program.ranks());
            fits.map_err(|error| ConfigError::new(format!("--ranks: {}", error.reason), None))?;
        }
        let files = [&self.trace, &self.csv, &self.picture].into_iter().any(Option::is_some);
        if self.ranks.is_some() && !files {
            let message = "--ranks: it limits --trace, --csv and --picture, and none of them is given";
            return Err(ConfigError::new(message, None));
        }
        let others = [&self.heat_map, &self.cdf.out].into_iter().any(Option::is_some);
        if self.window.is_some() && !files && !others && !self.over_time.over_time {
            let message = "--window: it limits --trace, --csv, --picture, --heat-map, --cdf and --over-time, and none of them is given";
            return Err(ConfigError::new(message, None));
        }
        let network = prepared.spec.network.plugin();
        let kind = prepared.spec.network.kind();
        let refuse = |message| Err(ConfigError::new(message, None));
        if self.heat_map.is_some() {
            prepared.check_link_use("--heat-map")?;
        }
        if self.flows.is_some() && !network.follows_messages() {
            return refuse(format!("--flows is {OF_MESSAGES}; this network is `{kind}`"));
        }
        match self.by_size.lacks(prepared).or_else(|| self.cdf.lacks(prepared)) {
            Some(what) => refuse(format!("{what}; this network is `{kind}`")),
            None => Ok(()),
        }
    }

    /// Whether the result takes the place of the table.
    fn to_stdout(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// Begins the result's file.
    fn begin_json(&self) -> Result<Option<Output>, Error> {
        Output::begin_if("--json", self.json.as_ref().filter(|_| !self.to_stdout()))
    }

    /// Prints the result or the table.
    fn say(&self, terminal: &Terminal, json: impl FnOnce() -> String, table: impl FnOnce() -> String) {
        match (self.to_stdout(), self.quiet) {
            (true, _) => terminal.print(&json()),
            (false, false) => terminal.print(&table()),
            (false, true) => {}
        }
    }

    fn exit_code(&self, result: &RunResult, terminal: &Terminal) -> u8 {
        exit_code(result, terminal, self.quiet || self.to_stdout())
    }

    /// Makes a forecast.
    fn forecast(&self, document: &Document, base: &Path, terminal: &Terminal) -> Result<u8, Error> {
        if let Some(option) = self.about_tasks().or(self.csv.is_some().then_some("--csv")) {
            let message = format!("{option} is about tasks, and a forecast in closed form has none");
            return Err(ConfigError::new(message, None).into());
        }
        let json = self.begin_json()?;
        let result = Forecast::new(document, base)?.make();
        let result = result.map_err(|error| document.locate(&error, "forecast"))?;
        self.say(terminal, || result.to_json(), || result.summary(&terminal.style));
        if let Some(json) = json {
            json.text(&result.to_json())?;
        }
        self.tell(terminal, "", None, &Unwritten::default());
        Ok(0)
    }

    /// An option that was given and is about tasks.
    fn about_tasks(&self) -> Option<&'static str> {
        let tasks = [
            ("--trace", self.trace.is_some()),
            ("--picture", self.picture.is_some()),
            ("--heat-map", self.heat_map.is_some()),
            ("--flows", self.flows.is_some()),
            ("--by-size", self.by_size.out.is_some()),
            ("--cdf", self.cdf.out.is_some()),
            ("--over-time", self.over_time.over_time),
            ("--ranks", self.ranks.is_some()),
            ("--window", self.window.is_some()),
        ];
        tasks.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// Of a run that failed: which files are not there. Those of what was seen until then are told of like all.
    fn tell_of_no_result(&self, terminal: &Terminal) {
        let of_result = [&self.json, &self.flows, &self.by_size.out, &self.cdf.out];
        let files = of_result.into_iter().flatten().filter(|path| *path != Path::new("-"));
        let names: Vec<String> = files.map(|path| path.display().to_string()).collect();
        if !names.is_empty() {
            terminal.note(&format!("  not written, as there is no result: {}", names.join(", ")));
        }
    }

    /// Runs, and writes the files that can be written. What was observed before a run stalls is written, too.
    fn watched(
        &self,
        prepared: &mut Prepared,
        (outputs, unwritten): (Outputs, &mut Unwritten),
        (queues, mut over_time): (&[LinkId], Option<OverTime>),
        terminal: &Terminal,
        started: Instant,
    ) -> Result<RunResult, Error> {
        // the run borrows what is prepared, so names come from what is shared
        let (topology, program) = (Arc::clone(&prepared.topology), Arc::clone(&prepared.program));
        let places = prepared.places.clone();
        let schedule = prepared.schedule.clone();
        let labels = RunLabels {
            topology: &topology,
            program: &program,
            places: &places,
            schedule: schedule.as_deref(),
        };
        let (ranks, window) = (self.ranks.clone().unwrap_or_default(), self.window.unwrap_or_default());
        // for a picture alone, those that it shows are enough
        let chooses = self.ranks.is_none() && self.csv.is_none();
        let recorded = if chooses { some_ranks(program.ranks()) } else { ranks.clone() };
        let mut columns = Columns::new(Filter { ranks: recorded, window });
        let options = PerfettoOptions { ranks, window, ..PerfettoOptions::default() };
        let (trace_path, trace_file) = outputs.trace.map(|it| (it.path, it.file)).unzip();
        let mut trace = trace_file.map(|file| PerfettoTrace::new(file, options, &labels));
        let mut depths = self.cdf.depths(window);
        let mut load = outputs.heat_map.is_some().then(|| LinkLoad::new(window, HEAT_MAP_BINS));
        let mut progress = Progress::new(terminal, self.quiet);

        let mut watchers = Fan::new();
        watchers.add(&mut progress);
        if self.csv.is_some() || self.picture.is_some() {
            watchers.add(&mut columns);
        }
        if let Some(trace) = &mut trace {
            watchers.add(trace);
        }
        if let Some(depths) = &mut depths {
            watchers.add(depths);
        }
        if let Some(load) = &mut load {
            watchers.add(load);
        }
        if let Some(over_time) = &mut over_time {
            watchers.add(over_time);
        }
        let result = prepared.run(&mut watchers, started);
        drop(watchers);
        progress.clear();

        let mut empty = Vec::new();
        if let (Some(trace), Some(path)) = (trace, trace_path) {
            if trace.slices() == 0 {
                empty.push("trace");
            }
            let written = trace.finish().and_then(complete).map_err(|error| Error::file(&path, &error));
            unwritten.note(&path, written);
        }
        unwritten.keep(outputs.csv, |csv| csv.write(|file| columns.tasks.write_csv(file, &labels)));
        unwritten.keep(outputs.picture, |picture| {
            let mut timeline = timeline(prepared, &columns, &labels, result.as_ref().ok());
            timeline.filter.window = window;
            timeline.ran_until = result.as_ref().ok().map(|result| result.makespan_s);
            timeline.stopped = result.as_ref().is_ok_and(|result| result.stopped);
            timeline.of_ranks = (chooses && window == TimeWindow::ALWAYS).then(|| program.ranks());
            picture.draw(&timeline.draw())
        });
        if let Some(load) = &mut load {
            match &result {
                _ if load.bin_count() == 0 => empty.push("heat map"),
                Ok(result) => load.go_on_to(Time::ZERO + Duration::from_secs_f64(result.makespan_s)),
                Err(_) => {}
            }
            let title = format!("{}: use of links", prepared.name);
            unwritten.keep(outputs.heat_map, |picture| {
                picture.draw(&link_heat_map(title, load, &labels, HEAT_MAP_LINKS).draw())
            });
        }
        if columns.tasks.is_empty() {
            empty.extend(self.csv.as_ref().map(|_| "CSV"));
            empty.extend(self.picture.as_ref().map(|_| "picture"));
        }
        let mut result = result.inspect_err(|_| self.tell_of_no_result(terminal))?;
        let end = Time::ZERO + Duration::from_secs_f64(result.makespan_s);
        if let Some(over_time) = over_time {
            over_time.tell(&mut result, end, &labels);
        }
        if let Some(depths) = depths {
            result.queue_depths = depths.of(queues, end, &labels);
        }
        if !empty.is_empty() {
            terminal.note(&self.nothing(&empty, program.ranks(), &result));
        }
        unwritten.keep(outputs.flows, |flows| {
            if prepared.report.flows.is_empty() {
                terminal.note(&format!("  no line in {}: {}", flows.path.display(), no_message(&result)));
            }
            flows.write(|file| write_flows(&prepared.report.flows, file, &labels))
        });
        unwritten.keep(outputs.by_size, |picture| BySize::draw(picture, &result, terminal));
        unwritten.keep(outputs.cdf, |cdf| self.cdf.write(cdf, &result, terminal));
        unwritten.keep(outputs.json, |json| json.write(|file| result.write_json(file)));
        Ok(result)
    }

    /// What is said about files that are empty because nothing happened where they look.
    fn nothing(&self, files: &[&str], ranks: u32, result: &RunResult) -> String {
        let what = match files {
            _ if result.stopped => "nothing was complete",
            ["heat map"] => "no link carried anything",
            _ => "nothing happened",
        };
        let mut text = format!("  nothing in {}: {what}", files.join(", "));
        match &self.ranks {
            Some(chosen) => text += &format!(" at ranks {chosen}"),
            None if files == ["picture"] && ranks as usize > MOST_RANKS => {
                text += &format!(" at the {MOST_RANKS} ranks that it shows (--ranks chooses others)");
            }
            None => {}
        }
        if let Some(window) = self.window {
            text += &format!(" in the window {window}");
        }
        format!("{text}; the run ended at {}", Unit::Seconds.format(result.makespan_s))
    }

    /// Says what was written where, and what the lines of `--csv` are; `result` is what pictures are drawn from.
    fn tell(&self, terminal: &Terminal, lines: &str, result: Option<&RunResult>, unwritten: &Unwritten) {
        if self.quiet {
            return;
        }
        self.tell_of_observed(terminal, lines, unwritten);
        let distribution = self.cdf.distribution().to_string();
        let (by_size, cdf) = (result.is_some_and(tells), result.is_some_and(|result| self.cdf.tells(result)));
        let files = [
            ("messages", &self.flows),
            ("slow-downs by size", if by_size { &self.by_size.out } else { &None }),
            (&*distribution, if cdf { &self.cdf.out } else { &None }),
            ("result", &self.json),
        ];
        files.iter().for_each(|(what, path)| unwritten.tell_of(path.as_deref(), what, terminal));
    }

    /// The same of the files that a run fills as it goes, and that are there when it fails.
    fn tell_of_observed(&self, terminal: &Terminal, lines: &str, unwritten: &Unwritten) {
        if self.quiet {
            return;
        }
        let files = [
            ("trace, for https://ui.perfetto.dev", &self.trace),
            (lines, &self.csv),
            ("picture", &self.picture),
            ("use of links over time", &self.heat_map),
        ];
        files.iter().for_each(|(what, path)| unwritten.tell_of(path.as_deref(), what, terminal));
    }
}

/// The exit code of a result; a broken check that no table shows is said here.
pub(crate) fn exit_code(result: &RunResult, terminal: &Terminal, silent: bool) -> u8 {
    if !result.checks_hold() {
        if silent {
            for check in result.checks.iter().filter(|check| !check.ok) {
                let place = check.violations.first().map_or("", String::as_str);
                terminal.say(&format!("  × a physics check is broken: {}: {place}", check.name));
            }
        }
        return 3;
    }
    if result.stopped { INTERRUPTED } else { 0 }
}

/// The ranks that fit into a picture.
fn some_ranks(ranks: u32) -> RankSet {
    if ranks as usize <= MOST_RANKS {
        return RankSet::all();
    }
    RankSet::of(pictured(ranks as usize).map(|rank| Rank(rank as u32)))
}

fn timeline<'a>(
    prepared: &Prepared,
    columns: &'a Columns,
    labels: &'a RunLabels<'a>,
    result: Option<&RunResult>,
) -> Timeline<'a> {
    let mut timeline = Timeline::new(prepared.name.as_str(), &columns.tasks, labels);
    timeline.by_stream = prepared.schedule.as_ref().is_some_and(|work| work.schedule.cpus() > 1);
    timeline.subtitle = match result {
        Some(result) => format!("{} · {}", result.title.topology, result.title.workload),
        None => "until the run failed; tasks that had not ended are not shown".to_owned(),
    };
    timeline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_many_ranks_shows_some_from_all_over() {
        let shown: Vec<_> = some_ranks(1024).below(1024).collect();
        assert_eq!(shown.len(), 48);
        assert_eq!((shown[0], shown[47]), (Rank(0), Rank(1023)));
        assert_eq!(some_ranks(48), RankSet::all());
    }
}
