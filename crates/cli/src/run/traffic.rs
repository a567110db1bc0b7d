//! `stratasim run` of open-loop traffic at one load.

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use stratasim_experiment::traffic::ProbeSink;
use stratasim_experiment::{ConfigError, Document, Error, Traffic};
use stratasim_report::summary;

use super::Run;
use crate::output::{Output, Unwritten};
use crate::progress::TrafficProgress;
use crate::terminal::Terminal;

impl Run {
    /// Runs open-loop traffic at its one load. CSV is for single probes.
    pub(super) fn traffic(
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
        let json = self.begin_json()?;
        let traffic = Traffic::new(document, base)?;
        if self.csv.is_some() && !traffic.probes_all_pairs() {
            let message = "--csv writes the probes of all pairs one by one, and `traffic.probes` without `pairs` asks for them";
            return Err(ConfigError::new(message, None).into());
        }
        if self.csv.is_some() && traffic.is_search() {
            let message =
                "--csv writes the probes of one load, and `traffic.load = \"saturation\"` runs several";
            return Err(ConfigError::new(message, None).into());
        }
        let mut probes = Output::begin_if("--csv", self.csv.as_ref())?.map(Probes::begin);
        let progress = TrafficProgress::new(terminal, self.quiet);
        let sink = probes.as_mut().map(|probes| probes as &mut dyn ProbeSink);
        let result = traffic.run(&progress, sink, started);
        progress.clear();
        if matches!(result, Err(Error::Stopped)) {
            terminal.note(&progress.nothing());
        }
        let result = result?;
        self.say(terminal, || result.to_json(), || summary(&result, &terminal.style));
        let mut unwritten = Unwritten::default();
        if let Some(probes) = probes {
            unwritten.note(&probes.out.path.clone(), probes.end());
        }
        unwritten.keep(json, |json| json.write(|file| result.write_json(file)));
        self.tell(terminal, "probes", None, &unwritten);
        Ok(unwritten.tell(terminal, self.exit_code(&result, terminal)))
    }
}

/// Probes as CSV, one by one.
struct Probes {
    out: Output,
    written: std::io::Result<()>,
}

impl Probes {
    fn begin(mut out: Output) -> Self {
        let written = writeln!(out.file, "source,dest,created_cycle,latency_cycles");
        Self { out, written }
    }

    fn end(self) -> Result<(), Error> {
        let Self { out, written } = self;
        out.write(|_| written)
    }
}

impl ProbeSink for Probes {
    fn probe(&mut self, source: u32, dest: u32, created: u64, latency: u64) {
        if self.written.is_ok() {
            self.written = writeln!(self.out.file, "{source},{dest},{created},{latency}");
        }
    }
}
