//! A GOAL schedule without an experiment: between nodes that all see each other, by our rules or by those
//! of other simulators.

use std::path::Path;
use std::time::Instant;

use stratasim_core::observe::{Event, Observer};
use stratasim_core::random::Streams;
use stratasim_core::{BuildError, Bytes, Duration, NodeId, Rank, Time, TimePerByte};
use stratasim_engine::compat::{self, Parameters, Semantics, Watch};
use stratasim_engine::schedule::noise::Noise;
use stratasim_engine::{RunError, ScheduleEngine, ScheduleOptions};
use stratasim_net::message::{Message, MessageNetwork};
use stratasim_report::Labels;
use stratasim_report::result::{Iteration, RankResult, RunResult, Title};
use stratasim_workload::goal::{OperationKind, Schedule};

use crate::error::{ConfigError, Error};
use crate::noise::NoiseSpec;
use crate::run::{finish_ns, operation_name, peak_rss_bytes, remark_notes, schedule_title, size_note};
use crate::schedules::refused;

/// Whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GoalSemantics {
    /// Ours.
    #[default]
    Native,
    /// Those of another simulator.
    Compatible(Semantics),
}

impl GoalSemantics {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Compatible(Semantics::LogGopSim) => "loggopsim",
            Self::Compatible(Semantics::AtlahsLgs) => "atlahs-lgs",
        }
    }
}

/// LogGOPS as GOAL tools are told: times in nanoseconds. Defaults are LogGOPSim's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogGops {
    /// L.
    pub latency_ns: f64,
    /// o.
    pub overhead_ns: f64,
    /// g.
    pub gap_ns: f64,
    /// G, per byte.
    pub gap_per_byte_ns: f64,
    /// O, per byte.
    pub overhead_per_byte_ns: f64,
    /// S.
    pub eager_limit_bytes: u64,
}

impl Default for LogGops {
    fn default() -> Self {
        Self {
            latency_ns: 2500.0,
            overhead_ns: 1500.0,
            gap_ns: 1000.0,
            gap_per_byte_ns: 6.0,
            overhead_per_byte_ns: 0.0,
            eager_limit_bytes: 65535,
        }
    }
}

impl LogGops {
    /// The same for our network.
    pub fn network(&self) -> Message {
        let time = |ns: f64| Duration::from_ps((ns * 1000.0).round() as u64);
        Message {
            latency: time(self.latency_ns),
            overhead: time(self.overhead_ns),
            gap: time(self.gap_ns),
            gap_per_byte: TimePerByte(self.gap_per_byte_ns * 1000.0),
            overhead_per_byte: TimePerByte(self.overhead_per_byte_ns * 1000.0),
            eager_limit: Bytes(self.eager_limit_bytes),
            ..Message::default()
        }
    }

    /// The same for the peers, who count whole nanoseconds but in G.
    ///
    /// # Errors
    /// A fraction elsewhere.
    pub fn compatible(&self) -> Result<Parameters, ConfigError> {
        let whole = |name: &str, ns: f64| {
            if ns.fract() == 0.0 && (0.0..9e15).contains(&ns) {
                Ok(ns as u64)
            } else {
                let message = format!(
                    "-{name} {ns}: other simulators count whole nanoseconds; `--semantics native` takes fractions"
                );
                Err(ConfigError::new(message, None))
            }
        };
        Ok(Parameters {
            latency_ns: whole("L", self.latency_ns)?,
            overhead_ns: whole("o", self.overhead_ns)?,
            gap_ns: whole("g", self.gap_ns)?,
            gap_per_byte_ns: self.gap_per_byte_ns,
            overhead_per_byte_ns: whole("O", self.overhead_per_byte_ns)?,
            eager_limit_bytes: self.eager_limit_bytes,
        })
    }
}

/// What to run, and how.
pub struct GoalRun<'a> {
    /// The schedule.
    pub schedule: &'a Schedule,
    /// The file that it came from, as it was given.
    pub file: &'a Path,
    /// Whose rules.
    pub semantics: GoalSemantics,
    /// Times.
    pub parameters: LogGops,
    /// Noise; by our rules only.
    pub noise: Option<NoiseSpec>,
    /// Seed of the noise.
    pub seed: u64,
}

/// Names in a schedule.
pub struct ScheduleLabels<'a>(pub &'a Schedule);

impl Labels for ScheduleLabels<'_> {
    fn vertex(&self, vertex: u32) -> String {
        operation_name(self.0, vertex)
    }

    fn stream(&self, _: Rank, stream: u16, _: stratasim_core::observe::Activity) -> String {
        format!("cpu {stream}")
    }
}

impl GoalRun<'_> {
    /// Runs to the end. `started` is when the clock for `wall_s` began.
    ///
    /// # Errors
    /// A schedule that cannot run to its end; parameters, noise or a schedule that the semantics do not take.
    pub fn run(self, observer: &mut dyn Observer, started: Instant) -> Result<RunResult, Error> {
        let mut result = match self.semantics {
            GoalSemantics::Native => self.native(observer)?,
            GoalSemantics::Compatible(semantics) => self.compatible(semantics, observer)?,
        };
        result.notes.splice(0..0, remark_notes(self.schedule));
        result.wall_s = started.elapsed().as_secs_f64();
        result.peak_rss_bytes = peak_rss_bytes();
        Ok(result)
    }

    /// What is wrong with the schedule, with its file.
    fn of_schedule(&self, error: BuildError) -> Error {
        Error::File { path: self.file.display().to_string(), reason: error.reason }
    }

    /// The noise of a run by our rules.
    fn noise(&self) -> Result<Option<Noise>, ConfigError> {
        let Some(spec) = &self.noise else { return Ok(None) };
        let noise = spec.build(self.schedule.ranks(), Streams::new(self.seed), Path::new(""));
        noise.map(Some).map_err(|error| ConfigError::new(error.within("noise").to_string(), None))
    }

    fn native(&self, observer: &mut dyn Observer) -> Result<RunResult, Error> {
        let ranks = self.schedule.ranks();
        let spec = self.parameters.network();
        let noise = self.noise()?;
        let network = MessageNetwork::between(&spec, ranks as usize, self.schedule.nics());
        // the parameters are times that the network takes: what is refused are ranks, streams, NICs and sends
        let mut network = network.map_err(|error| self.of_schedule(error))?;
        let nodes: Vec<NodeId> = (0..ranks).map(NodeId).collect();
        let options = ScheduleOptions { noise, ..ScheduleOptions::default() };
        let engine = ScheduleEngine::new(self.schedule, &nodes, &mut network, observer, options);
        let summary = engine.map_err(|error| self.of_schedule(error))?.run()?;
        let run = summary.run;
        let mut result = self.blank();
        result.finish_ns = Some(finish_ns(&run));
        result.digest = format!("{:016x}{:016x}", run.digest[0], run.digest[1]);
        result.makespan_s = run.makespan.as_secs_f64();
        result.iterations = vec![Iteration { start_s: 0.0, end_s: result.makespan_s }];
        // in the memory of the accounts
        result.ranks = run.ranks.into_iter().map(crate::run::rank_result).collect();
        result.events = run.tasks;
        result.counters.insert("engine.tasks".to_owned(), run.tasks);
        result.counters.insert("engine.instants".to_owned(), run.instants);
        if summary.size_mismatches > 0 {
            result.notes.push(size_note(summary.size_mismatches));
        }
        if run.stopped {
            result.stop();
        }
        Ok(result)
    }

    fn compatible(&self, semantics: Semantics, observer: &mut dyn Observer) -> Result<RunResult, Error> {
        let parameters = self.parameters.compatible()?;
        if self.noise.is_some() {
            let message = "noise is for `--semantics native`; the peers' depends on the time of day";
            return Err(ConfigError::new(message, None).into());
        }
        compat::check(self.schedule, semantics, &parameters).map_err(|error| match error.field.as_str() {
            "" => self.of_schedule(error),
            option => ConfigError::new(format!("-{option}: {}", error.reason), None).into(),
        })?;
        let watch = &mut Watcher(observer);
        let outcome = compat::run(self.schedule, semantics, parameters, watch).map_err(refused)?;
        let makespan_ns = outcome.finish_ns.iter().copied().max().unwrap_or(0);
        if outcome.left > 0 && !outcome.stopped {
            let at = Time::from_ps(makespan_ns.saturating_mul(1000));
            return Err(RunError::Stalled { at, count: outcome.left, waiting: outcome.waiting }.into());
        }
        let seconds = |ns: u64| ns as f64 / 1e9;
        let makespan_s = seconds(makespan_ns);
        let mut result = self.blank();
        let mut digest = [0_u64; 2];
        for (rank, &finish) in outcome.finish_ns.iter().enumerate() {
            let hash = stratasim_core::random::mix(finish ^ stratasim_core::random::mix(rank as u64));
            digest[0] = digest[0].wrapping_add(hash);
            digest[1] = digest[1].wrapping_add(hash.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        result.digest = format!("{:016x}{:016x}", digest[0], digest[1]);
        result.makespan_s = makespan_s;
        result.iterations = vec![Iteration { start_s: 0.0, end_s: makespan_s }];
        result.ranks = outcome
            .finish_ns
            .iter()
            .enumerate()
            .map(|(rank, &finish)| {
                let finish_s = seconds(finish);
                let compute_s = seconds(self.computation_ns(rank as u32)).min(finish_s);
                RankResult {
                    finish_s,
                    compute_s,
                    comm_exposed_s: finish_s - compute_s,
                    memory_s: 0.0,
                    idle_s: makespan_s - finish_s,
                }
            })
            .collect();
        result.finish_ns = Some(outcome.finish_ns.iter().map(|&ns| ns as f64).collect());
        result.events = outcome.events;
        result.counters.insert("engine.events".to_owned(), outcome.events);
        if self.schedule.cpus() > 1 {
            result.notes.push(
                "Computation of a rank is the sum over its streams, at most its finish; the rest counts as communication.".to_owned(),
            );
        }
        if outcome.finish_ns.iter().any(|&ns| ns > u64::MAX / 2) {
            result.notes.push(
                "Times went below 0, which is 2^64 ns here as there: (0 - 1) G of a message of 0 bytes was more than what went before.".to_owned(),
            );
        }
        if outcome.stopped {
            result.stop();
        }
        Ok(result)
    }

    fn computation_ns(&self, rank: u32) -> u64 {
        let operations = self.schedule.of_rank(rank).map(|number| self.schedule.shape(number).operation);
        operations
            .filter(|operation| operation.kind == OperationKind::Calc)
            .fold(0, |sum: u64, operation| sum.saturating_add(operation.size))
    }

    fn blank(&self) -> RunResult {
        let LogGops {
            latency_ns,
            overhead_ns,
            gap_ns,
            gap_per_byte_ns,
            overhead_per_byte_ns,
            eager_limit_bytes,
        } = self.parameters;
        let name = self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut spec = serde_json::json!({"goal": {
            "file": self.file.to_string_lossy(), "semantics": self.semantics.name(),
            "L": latency_ns, "o": overhead_ns, "g": gap_ns, "G": gap_per_byte_ns,
            "O": overhead_per_byte_ns, "S": eager_limit_bytes,
        }});
        if let Some(noise) = &self.noise {
            spec["goal"]["noise"] = serde_json::json!(noise);
        }
        RunResult {
            stratasim: env!("CARGO_PKG_VERSION").to_owned(),
            title: Title {
                experiment: name,
                topology: String::new(),
                workload: schedule_title("goal", self.schedule),
                network: format!(
                    "LogGOPS, {}: L={latency_ns} o={overhead_ns} g={gap_ns} G={gap_per_byte_ns} O={overhead_per_byte_ns} ns, S={eager_limit_bytes} B",
                    self.semantics.name()
                ),
            },
            spec,
            seed: self.seed,
            ..RunResult::default()
        }
    }
}

/// Tells an observer how far a run by other rules is.
struct Watcher<'a>(&'a mut dyn Observer);

impl Watch for Watcher<'_> {
    fn wants_stop(&mut self, time_ns: u64, events: u64) -> bool {
        let at = Time::from_ps(time_ns.saturating_mul(1000));
        self.0.on_event(&Event::Progress { at, done: events, tasks: 0 });
        self.0.wants_stop()
    }
}
