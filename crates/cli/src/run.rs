//! `stratasim run`: one experiment, one table.

mod cdf;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use stratasim_core::observe::Fan;
use stratasim_core::{BuildError, Duration, LinkId, Rank, Time};
use stratasim_experiment::files::AtomicFile;
use stratasim_experiment::traffic::ProbeSink;
use stratasim_experiment::{ConfigError, Document, Error, Forecast, Prepared, RunLabels, Traffic};
use stratasim_report::flows::write_flows;
use stratasim_report::perfetto::PerfettoOptions;
use stratasim_report::picture::{Scheme, Timeline};
use stratasim_report::result::RunResult;
use stratasim_report::{Columns, Filter, PerfettoTrace, Picture, RankSet, TimeWindow, Unit, summary};

use self::cdf::Cdf;
use crate::INTERRUPTED;
use crate::input::Input;
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Ranks in a picture when nobody says which.
const PICTURED_RANKS: u32 = 48;
/// Pixels of a PNG per pixel of the drawing.
const SHARPNESS: f64 = 2.0;

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
    /// Write every message with its times, packets sent again, trims and marks as CSV (packet level)
    #[arg(long, value_name = "OUT")]
    flows: Option<PathBuf>,
    #[command(flatten)]
    cdf: Cdf,
    /// Ranks in trace, CSV and picture, such as 0-7,16 [default: all; a picture shows 48 of them]
    #[arg(long, value_name = "RANKS", value_parser = rank_set)]
    ranks: Option<RankSet>,
    /// Window of simulated time in trace, CSV, picture and depths of queues, such as "1 s..2.5 s"
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

/// A file name of a picture.
pub(crate) fn picture_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|end| end.to_str()) {
        Some("svg" | "png") => Ok(path),
        _ => Err("a picture is written as .svg or .png".to_owned()),
    }
}

/// The files of a run, begun before it so that a path that cannot be written costs no time.
struct Outputs {
    json: Option<AtomicFile>,
    trace: Option<AtomicFile>,
    csv: Option<AtomicFile>,
    picture: Option<AtomicFile>,
    flows: Option<AtomicFile>,
    cdf: Option<AtomicFile>,
}

impl Run {
    pub(crate) fn run(&self, terminal: &Terminal, started: Instant) -> Result<u8, Error> {
        let (document, base) = self.input.experiment(self.network.as_deref())?;
        if Traffic::is_in(&document) {
            return self.traffic(&document, &base, terminal, started);
        }
        if Forecast::is_in(&document) {
            return self.forecast(&document, &base, terminal);
        }
        let to_stdout = self.json.as_deref() == Some(Path::new("-"));
        let begin = |path: &Option<PathBuf>| path.as_deref().map(create).transpose();
        let outputs = Outputs {
            json: if to_stdout { None } else { begin(&self.json)? },
            trace: begin(&self.trace)?,
            csv: begin(&self.csv)?,
            picture: begin(&self.picture)?,
            flows: begin(&self.flows)?,
            cdf: begin(&self.cdf.out)?,
        };
        let mut prepared = Prepared::new(&document, &base)?;
        if let Some(largest) = self.ranks.as_ref().and_then(RankSet::largest)
            && largest.0 >= prepared.program.ranks()
        {
            let (ranks, last) = (prepared.program.ranks(), prepared.program.ranks() - 1);
            let message =
                format!("--ranks names rank {largest}: this run has {ranks} ranks, from 0 to {last}");
            return Err(ConfigError::new(message, None).into());
        }
        let queues = self.cdf.queues(&prepared)?;
        let result = self.watched(&mut prepared, outputs, &queues, terminal, started)?;
        if to_stdout {
            terminal.print(&result.to_json())?;
        } else if !self.quiet {
            terminal.print(&summary(&result, &terminal.style))?;
        }
        self.tell(terminal, self.cdf.tells(&result));
        Ok(exit_code(&result, terminal, self.quiet || to_stdout))
    }

    /// Runs open-loop traffic at its one load. CSV is for single probes.
    fn traffic(
        &self,
        document: &Document,
        base: &Path,
        terminal: &Terminal,
        started: Instant,
    ) -> Result<u8, Error> {
        if let Some(option) = self.about_tasks() {
            let message = format!(
                "{option} is about tasks, and open-loop traffic has none; `stratasim traffic FILE --out DIR` draws it"
            );
            return Err(ConfigError::new(message, None).into());
        }
        let to_stdout = self.json.as_deref() == Some(Path::new("-"));
        let json = if to_stdout { None } else { self.json.as_deref().map(create).transpose()? };
        let traffic = Traffic::new(document, base)?;
        if self.csv.is_some() && !traffic.probes_all_pairs() {
            let message = "--csv writes the probes of all pairs one by one, and `traffic.probes` without `pairs` asks for them";
            return Err(ConfigError::new(message, None).into());
        }
        let mut probes = self.csv.as_deref().map(Probes::begin).transpose()?;
        crate::interrupt::listen();
        let sink = probes.as_mut().map(|probes| probes as &mut dyn ProbeSink);
        let result = traffic.run(&crate::interrupt::wanted, sink, started)?;
        if to_stdout {
            terminal.print(&result.to_json())?;
        } else if !self.quiet {
            terminal.print(&summary(&result, &terminal.style))?;
        }
        let fail = |path: &Option<PathBuf>| {
            let path = path.clone().unwrap_or_default();
            move |error: std::io::Error| Error::file(&path, &error)
        };
        if let Some(probes) = probes {
            probes.end().map_err(fail(&self.csv))?;
        }
        if let Some(mut file) = json {
            result.write_json(&mut file).and_then(|()| file.commit()).map_err(fail(&self.json))?;
        }
        self.tell(terminal, self.cdf.tells(&result));
        Ok(exit_code(&result, terminal, self.quiet || to_stdout))
    }

    /// Makes a forecast.
    fn forecast(&self, document: &Document, base: &Path, terminal: &Terminal) -> Result<u8, Error> {
        if let Some(option) = self.about_tasks().or(self.csv.is_some().then_some("--csv")) {
            let message = format!("{option} is about tasks, and a forecast in closed form has none");
            return Err(ConfigError::new(message, None).into());
        }
        let to_stdout = self.json.as_deref() == Some(Path::new("-"));
        let json = if to_stdout { None } else { self.json.as_deref().map(create).transpose()? };
        let result = Forecast::new(document, base)?.make();
        let result = result.map_err(|error| document.locate(&error, "forecast"))?;
        if to_stdout {
            terminal.print(&result.to_json())?;
        } else if !self.quiet {
            terminal.print(&result.summary(&terminal.style))?;
        }
        if let (Some(mut file), Some(path)) = (json, &self.json) {
            let written = file.write_all(result.to_json().as_bytes()).and_then(|()| file.commit());
            written.map_err(|error| Error::file(path, &error))?;
        }
        self.tell(terminal, false);
        Ok(0)
    }

    /// An option that was given and is about tasks.
    fn about_tasks(&self) -> Option<&'static str> {
        let tasks = [
            ("--trace", self.trace.is_some()),
            ("--picture", self.picture.is_some()),
            ("--flows", self.flows.is_some()),
            ("--cdf", self.cdf.out.is_some()),
            ("--ranks", self.ranks.is_some()),
            ("--window", self.window.is_some()),
        ];
        tasks.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// Runs, and writes the files. What was observed before a run stalls is written, too.
    fn watched(
        &self,
        prepared: &mut Prepared,
        outputs: Outputs,
        queues: &[LinkId],
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
        let recorded = match &self.ranks {
            None if self.csv.is_none() => some_ranks(program.ranks()),
            _ => ranks.clone(),
        };
        let mut columns = Columns::new(Filter { ranks: recorded, window });
        let options = PerfettoOptions { ranks, window, ..PerfettoOptions::default() };
        let mut trace = outputs.trace.map(|file| PerfettoTrace::new(file, options, &labels));
        let mut depths = self.cdf.depths(window);
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
        let result = prepared.run(&mut watchers, started);
        drop(watchers);
        progress.clear();

        let fail = |path: &Option<PathBuf>| {
            let path = path.clone().unwrap_or_default();
            move |error: std::io::Error| Error::file(&path, &error)
        };
        let mut empty = Vec::new();
        if let Some(trace) = trace {
            if trace.slices() == 0 {
                empty.push("trace");
            }
            trace.finish().and_then(AtomicFile::commit).map_err(fail(&self.trace))?;
        }
        if let Some(mut file) = outputs.csv {
            let buffered = std::io::BufWriter::with_capacity(1 << 16, &mut file);
            columns.tasks.write_csv(buffered, &labels).map_err(fail(&self.csv))?;
            file.commit().map_err(fail(&self.csv))?;
        }
        if let (Some(mut file), Some(path)) = (outputs.picture, &self.picture) {
            let picture = timeline(prepared, &columns, &labels, result.as_ref().ok()).draw();
            let bytes = drawn(&picture, path);
            file.write_all(&bytes).and_then(|()| file.commit()).map_err(fail(&self.picture))?;
        }
        if columns.tasks.is_empty() {
            empty.extend(self.csv.as_ref().map(|_| "CSV"));
            empty.extend(self.picture.as_ref().map(|_| "picture"));
        }
        let mut result = result?;
        if let Some(depths) = depths {
            let end = Time::ZERO + Duration::from_secs_f64(result.makespan_s);
            result.queue_depths = depths.of(queues, end, &labels);
        }
        if !empty.is_empty() {
            terminal.note(&self.nothing(&empty, program.ranks(), result.makespan_s));
        }
        if result.flows.is_none() && (self.flows.is_some() || self.cdf.is_of_messages()) {
            terminal.note("  no message was followed on its way: the packet level does that, for messages between nodes");
        }
        if let Some(mut file) = outputs.flows {
            let buffered = std::io::BufWriter::with_capacity(1 << 16, &mut file);
            write_flows(&prepared.report.flows, buffered, &labels).map_err(fail(&self.flows))?;
            file.commit().map_err(fail(&self.flows))?;
        }
        if let Some(file) = outputs.cdf {
            self.cdf.write(file, &result, terminal)?;
        }
        if let Some(mut file) = outputs.json {
            result.write_json(&mut file).and_then(|()| file.commit()).map_err(fail(&self.json))?;
        }
        Ok(result)
    }

    /// What is said about files that are empty because nothing happened where they look.
    fn nothing(&self, files: &[&str], ranks: u32, makespan_s: f64) -> String {
        let mut text = format!("  nothing in {}: nothing happened", files.join(", "));
        match &self.ranks {
            Some(chosen) => text += &format!(" at ranks {chosen}"),
            None if files == ["picture"] && ranks > PICTURED_RANKS => {
                text += &format!(" at the {PICTURED_RANKS} ranks that it shows (--ranks chooses others)");
            }
            None => {}
        }
        if let Some(window) = self.window {
            text += &format!(" in the window {window}");
        }
        format!("{text}; the run ended at {}", Unit::Seconds.format(makespan_s))
    }

    /// Says what was written where; whether there was a distribution to draw.
    fn tell(&self, terminal: &Terminal, drawn: bool) {
        if self.quiet {
            return;
        }
        let distribution = self.cdf.distribution();
        let files = [
            ("trace, for https://ui.perfetto.dev", &self.trace),
            ("tasks", &self.csv),
            ("picture", &self.picture),
            ("messages", &self.flows),
            (&distribution.to_string(), if drawn { &self.cdf.out } else { &None }),
            ("result", &self.json),
        ];
        for (what, path) in files {
            if let Some(path) = path.as_deref().filter(|path| *path != Path::new("-")) {
                terminal.note(&format!("  wrote {} ({what})", path.display()));
            }
        }
    }
}

/// Probes as CSV, one by one.
struct Probes {
    file: std::io::BufWriter<AtomicFile>,
    failure: Option<std::io::Error>,
}

impl Probes {
    fn begin(path: &Path) -> Result<Self, Error> {
        let mut file = std::io::BufWriter::with_capacity(1 << 16, create(path)?);
        let failure = writeln!(file, "source,dest,created_cycle,latency_cycles").err();
        Ok(Self { file, failure })
    }

    fn end(self) -> std::io::Result<()> {
        match self.failure {
            Some(error) => Err(error),
            None => self.file.into_inner().map_err(std::io::IntoInnerError::into_error)?.commit(),
        }
    }
}

impl ProbeSink for Probes {
    fn probe(&mut self, source: u32, dest: u32, created: u64, latency: u64) {
        if self.failure.is_none() {
            self.failure = writeln!(self.file, "{source},{dest},{created},{latency}").err();
        }
    }
}

/// A picture as its file's name asks for it.
pub(crate) fn drawn(picture: &Picture, path: &Path) -> Vec<u8> {
    match path.extension() {
        Some(end) if end == "png" => picture.png(Scheme::Light, SHARPNESS),
        _ => picture.svg().into_bytes(),
    }
}

/// Begins an output file.
pub(crate) fn create(path: &Path) -> Result<AtomicFile, Error> {
    AtomicFile::create(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(Path::new("")).display();
            ConfigError::new(format!("{}: there is no folder `{folder}`", path.display()), None).into()
        }
        _ => Error::file(path, &error),
    })
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
    if crate::interrupt::wanted() { INTERRUPTED } else { 0 }
}

/// As many ranks as fit into a picture, spread evenly.
fn some_ranks(ranks: u32) -> RankSet {
    if ranks <= PICTURED_RANKS {
        return RankSet::all();
    }
    let step = f64::from(ranks) / f64::from(PICTURED_RANKS);
    RankSet::of((0..PICTURED_RANKS).map(|at| Rank((f64::from(at) * step) as u32)))
}

fn timeline<'a>(
    prepared: &Prepared,
    columns: &'a Columns,
    labels: &'a RunLabels<'a>,
    result: Option<&RunResult>,
) -> Timeline<'a> {
    let mut timeline = Timeline::new(prepared.name.as_str(), &columns.tasks, labels);
    timeline.by_stream = prepared.schedule.as_ref().is_some_and(|work| work.schedule.cpus() > 1);
    if let Some(result) = result {
        timeline.subtitle = format!("{} · {}", result.title.topology, result.title.workload);
    }
    timeline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_many_ranks_shows_some_from_all_over() {
        let shown: Vec<_> = some_ranks(1024).below(1024).collect();
        assert_eq!(shown.len(), 48);
        assert_eq!((shown[0], shown[47]), (Rank(0), Rank(1002)));
        assert_eq!(some_ranks(48), RankSet::all());
    }

    #[test]
    fn pictures_are_svg_or_png() {
        assert!(picture_path("out.svg").is_ok() && picture_path("a/b.png").is_ok());
        assert!(picture_path("out.jpg").is_err() && picture_path("svg").is_err());
    }
}
