//! `stratasim goal run`: a schedule between nodes that all see each other.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use stratasim_core::Duration;
use stratasim_core::observe::Fan;
use stratasim_engine::compat::Semantics;
use stratasim_experiment::goal::{GoalRun, GoalSemantics, LogGops, ScheduleLabels};
use stratasim_experiment::noise::NoiseSpec;
use stratasim_experiment::{ConfigError, Error};
use stratasim_report::perfetto::PerfettoOptions;
use stratasim_report::{Columns, Filter, PerfettoTrace, summary};

use super::arguments::{bytes, fractional_ns, ns_per_byte, seed, time, time_above_zero};
use super::file::read;
use crate::output::{Output, Unwritten, complete};
use crate::progress::Progress;
use crate::run::exit_code;
use crate::terminal::Terminal;

/// Times are bare numbers of nanoseconds, as LogGOPSim and ATLAHS take them, or have a unit.
#[derive(Args)]
pub(crate) struct Run {
    /// The schedule: GOAL text, binary GOAL or .strata
    file: PathBuf,
    /// Whose rules apply
    #[arg(long, value_enum, default_value_t, value_name = "RULES")]
    semantics: Rules,
    /// Latency from NIC to NIC, in ns or with a unit: 2500 or "2.5 us"
    #[arg(short = 'L', long = "latency", default_value_t = LogGops::default().latency_ns, value_parser = fractional_ns, allow_hyphen_values = true, value_name = "TIME", help_heading = "LogGOPS")]
    latency_ns: f64,
    /// Overhead of a message on a processor at each end, in ns or with a unit
    #[arg(short = 'o', long = "overhead", default_value_t = LogGops::default().overhead_ns, value_parser = fractional_ns, allow_hyphen_values = true, value_name = "TIME", help_heading = "LogGOPS")]
    overhead_ns: f64,
    /// Gap between two messages of a NIC, in ns or with a unit
    #[arg(short = 'g', long = "gap", default_value_t = LogGops::default().gap_ns, value_parser = fractional_ns, allow_hyphen_values = true, value_name = "TIME", help_heading = "LogGOPS")]
    gap_ns: f64,
    /// Gap per byte, in ns or with a unit: 0.04 or "0.04 ns/B" for 200 Gbps
    #[arg(short = 'G', long = "gap-per-byte", default_value_t = LogGops::default().gap_per_byte_ns, value_parser = ns_per_byte, allow_hyphen_values = true, value_name = "TIME", help_heading = "LogGOPS")]
    gap_per_byte_ns: f64,
    /// Overhead per byte, in ns or with a unit
    #[arg(short = 'O', long = "overhead-per-byte", default_value_t = LogGops::default().overhead_per_byte_ns, value_parser = ns_per_byte, allow_hyphen_values = true, value_name = "TIME", help_heading = "LogGOPS")]
    overhead_per_byte_ns: f64,
    /// Larger messages are sent by rendezvous; in bytes or with a unit: 65535 or "64 kB"
    #[arg(short = 'S', long = "eager-limit", default_value_t = LogGops::default().eager_limit_bytes, value_parser = bytes, allow_hyphen_values = true, value_name = "BYTES", help_heading = "LogGOPS")]
    eager_limit_bytes: u64,
    /// Detours that stop what streams do: lines of start and length in ns; the record repeats
    #[arg(long, value_name = "FILE", help_heading = "Noise", conflicts_with_all = ["noise_every", "noise_length"])]
    noise_trace: Option<PathBuf>,
    /// All ranks begin at the same place of the record
    #[arg(long, requires = "noise_trace", help_heading = "Noise")]
    noise_together: bool,
    /// Mean time between two random detours, such as "1 ms"
    #[arg(long, value_name = "TIME", value_parser = time_above_zero, allow_hyphen_values = true, requires = "noise_length", help_heading = "Noise")]
    noise_every: Option<Duration>,
    /// Their mean length, such as "10 us"
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true, requires = "noise_every", help_heading = "Noise")]
    noise_length: Option<Duration>,
    /// Seed of the noise
    #[arg(long, default_value_t = 1, value_parser = seed, help_heading = "Noise")]
    seed: u64,
    /// Write the result as JSON; - writes it to standard output, in place of the table
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
    /// Write a trace for https://ui.perfetto.dev (native semantics)
    #[arg(long, value_name = "OUT")]
    trace: Option<PathBuf>,
    /// Write all operations as CSV (native semantics)
    #[arg(long, value_name = "OUT")]
    csv: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Rules {
    /// Ours: time never goes back, both NICs pay for every byte
    #[default]
    Native,
    /// LogGOPSim (2023), to the nanosecond
    Loggopsim,
    /// ATLAHS' LGS (2025), to the nanosecond
    AtlahsLgs,
}

impl Run {
    pub(crate) fn run(&self, terminal: &Terminal, started: Instant) -> Result<u8, Error> {
        let semantics = match self.semantics {
            Rules::Native => GoalSemantics::Native,
            Rules::Loggopsim => GoalSemantics::Compatible(Semantics::LogGopSim),
            Rules::AtlahsLgs => GoalSemantics::Compatible(Semantics::AtlahsLgs),
        };
        if semantics != GoalSemantics::Native && (self.trace.is_some() || self.csv.is_some()) {
            let message = format!(
                "--trace and --csv are for `--semantics native`: in `{}` time goes back and forth",
                semantics.name()
            );
            return Err(ConfigError::new(message, None).into());
        }
        let to_stdout = self.json.as_deref() == Some(Path::new("-"));
        let files = [
            ("--json", self.json.as_ref().filter(|_| !to_stdout)),
            ("--trace", self.trace.as_ref()),
            ("--csv", self.csv.as_ref()),
        ];
        let [json, trace, csv] = Output::begin_all(std::slice::from_ref(&self.file), files)?;
        // the process ends with it
        let schedule = ManuallyDrop::new(read(&self.file, terminal, self.quiet)?.schedule);
        let run = GoalRun {
            schedule: &schedule,
            file: &self.file,
            semantics,
            parameters: LogGops {
                latency_ns: self.latency_ns,
                overhead_ns: self.overhead_ns,
                gap_ns: self.gap_ns,
                gap_per_byte_ns: self.gap_per_byte_ns,
                overhead_per_byte_ns: self.overhead_per_byte_ns,
                eager_limit_bytes: self.eager_limit_bytes,
            },
            noise: self.noise_spec(),
            seed: self.seed,
        };
        let labels = ScheduleLabels(&schedule);
        let mut progress = Progress::new(terminal, self.quiet);
        let mut columns = Columns::new(Filter::default());
        let (trace_path, trace_file) = trace.map(|it| (it.path, it.file)).unzip();
        let mut trace = trace_file.map(|file| PerfettoTrace::new(file, PerfettoOptions::default(), &labels));
        let mut watchers = Fan::new();
        watchers.add(&mut progress);
        if csv.is_some() {
            watchers.add(&mut columns);
        }
        if let Some(trace) = &mut trace {
            watchers.add(trace);
        }
        let result = run.run(&mut watchers, started);
        drop(watchers);
        progress.clear();
        // what was observed before a run stalls is written, too
        let mut unwritten = Unwritten::default();
        if let (Some(trace), Some(path)) = (trace, trace_path) {
            let written = trace.finish().and_then(complete).map_err(|error| Error::file(&path, &error));
            unwritten.note(&path, written);
        }
        unwritten.keep(csv, |csv| csv.write(|file| columns.tasks.write_csv(file, &labels)));
        let result = unwritten.unless_failed(result, terminal)?;
        unwritten.keep(json, |json| json.write(|file| result.write_json(file)));
        if to_stdout {
            terminal.print(&result.to_json());
        } else if !self.quiet {
            terminal.print(&summary(&result, &terminal.style));
        }
        Ok(unwritten.tell(terminal, exit_code(&result, terminal, self.quiet || to_stdout)))
    }

    fn noise_spec(&self) -> Option<NoiseSpec> {
        let any = self.noise_trace.is_some() || self.noise_every.is_some();
        any.then(|| NoiseSpec {
            trace: self.noise_trace.as_ref().map(|path| path.display().to_string()),
            together: self.noise_together,
            every: self.noise_every,
            length: self.noise_length,
        })
    }
}
