//! `stratasim card bench --real`: the schedules of a card between processes of this machine, beside a model fitted to them.

mod model;
mod ranks;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stratasim_device::card::{self, Card};
use stratasim_experiment::card::bench::Sizes;
use stratasim_experiment::card::fit::{Fitted, Parameter};
use stratasim_experiment::{ConfigError, Error};
use stratasim_report::Unit;
use stratasim_report::table::{Cell, Table};
use stratasim_shm::{Algorithm, Choices, Operation};

use crate::output::Output;
use crate::terminal::Terminal;
use model::Model;
pub(crate) use ranks::Rank;

/// Largest vector that is timed.
const MOST_BYTES: u64 = 4 << 30;

/// What of `card bench` is about this machine.
#[derive(Args)]
pub(crate) struct Real {
    /// Time the schedules between processes of this machine, beside a model fitted to them
    #[arg(long)]
    pub(crate) real: bool,
    /// Processes that take part [default: as many as the card has core groups]
    #[arg(long, requires = "real", value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    processes: Option<u32>,
    /// Also time layer normalisation, all-gather and product, one after the other and fused
    #[arg(long, requires = "real")]
    fused: bool,
    /// Write which algorithm to use for which size, for `auto` in stratasim.shm; what the file says of other collectives
    /// stays
    #[arg(long, requires = "real", value_name = "OUT")]
    pub(crate) save: Option<PathBuf>,
    /// Write the card with the steps and rates of this machine, fitted to all schedules together, as TOML
    #[arg(long, requires = "real", value_name = "OUT")]
    pub(crate) card_out: Option<PathBuf>,
}

/// Where all numbers go.
pub(crate) enum Json {
    None,
    /// To standard output, in place of the tables.
    Printed,
    File(Output),
}

/// A collective that was timed.
struct Point {
    algorithm: Algorithm,
    bytes: u64,
    median_s: f64,
    least_s: f64,
}

/// A run: what is timed, and what was.
struct Run {
    operation: Operation,
    processes: u32,
    sizes: Vec<u64>,
    points: Vec<Point>,
    models: Vec<Model>,
}

impl Real {
    pub(crate) fn run(
        &self,
        card: &Card,
        operation: card::Operation,
        sizes: &Sizes,
        json: Json,
        terminal: &Terminal,
    ) -> Result<u8, Error> {
        let refuse = |text: String| Err(ConfigError::new(text, None).into());
        let on_card = operation;
        let Some(operation) = Operation::named(on_card.name()) else {
            return refuse(format!("--real: {} does not run between processes", on_card.name()));
        };
        let mut sizes = sizes.0.clone();
        sizes.sort_unstable();
        sizes.dedup();
        if let Some(size) = sizes.iter().find(|size| !(1..=MOST_BYTES).contains(*size)) {
            return refuse(format!(
                "--sizes: with --real, 1 B to {MOST_BYTES} B are expected, found {size} B"
            ));
        }
        let processes = self.processes.unwrap_or(card.core_groups);
        if !(2..=64).contains(&processes) {
            return refuse(format!(
                "--processes: 2 to 64 are expected, found the card's {processes} core groups"
            ));
        }
        // what cannot be read or written is told before minutes of measuring
        let card_out = Output::begin_if("--card-out", self.card_out.as_ref())?;
        let save = self.save.as_ref().map(|path| {
            let there = if path.is_file() { Choices::read(path) } else { Ok(Choices::default()) };
            let there = there.map_err(|error| ConfigError::new(format!("--save: {error}"), None))?;
            Ok::<_, Error>((Output::begin("--save", path)?, there))
        });
        let save = save.transpose()?;
        let algorithms = [Algorithm::RingTwoSided, Algorithm::Ring, Algorithm::Csc, Algorithm::Direct];
        let plan = ranks::Plan {
            operation: operation.name().to_owned(),
            algorithms: algorithms.map(Algorithm::name).join(","),
            sizes: sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
            fused: self.fused,
        };
        let told = ranks::run(processes, &plan)?;
        let times = told.times.iter();
        let points: Vec<Point> = times
            .filter_map(|time| {
                let algorithm = Algorithm::named(&time.algorithm)?;
                Some(Point { algorithm, bytes: time.bytes, median_s: time.median_s, least_s: time.least_s })
            })
            .collect();
        let failed = |text: String| ConfigError::new(format!("--real: {text}"), None);
        let fit = |algorithm| Model::fit(card, processes, on_card, algorithm, &points);
        let models = algorithms.into_iter().map(fit).collect::<Result<_, _>>().map_err(failed)?;
        let run = Run { operation, processes, sizes, points, models };
        run.finish(save, &told.fused, json, terminal)?;
        if let Some(output) = card_out {
            let fitted = model::together(card, processes, on_card, &run.points).map_err(failed)?;
            let rms = 100.0 * fitted.rms();
            let note = format!("  wrote {} (card; mean residual {rms:.0} %)", output.path.display());
            output.text(&stratasim_experiment::card::to_toml(&fitted.card)?)?;
            terminal.note(&note);
        }
        Ok(0)
    }
}

impl Run {
    fn finish(
        &self,
        save: Option<(Output, Choices)>,
        fused: &Option<ranks::Fused>,
        json: Json,
        terminal: &Terminal,
    ) -> Result<(), Error> {
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        let choices = self.choices()?;
        match json {
            Json::Printed => terminal.print(&pretty(&self.json(cores, &choices, fused))),
            Json::None => self.show(cores, fused, terminal),
            Json::File(output) => {
                self.show(cores, fused, terminal);
                output.text(&pretty(&self.json(cores, &choices, fused)))?;
            }
        }
        if let Some((output, there)) = save {
            let path = output.path.display().to_string();
            self.save(output, &there, &choices)?;
            terminal.note(&format!("  wrote {path}: STRATASIM_SHM_CALIBRATION={path} uses it"));
        }
        Ok(())
    }

    /// Prints the tables.
    fn show(&self, cores: usize, fused: &Option<ranks::Fused>, terminal: &Terminal) {
        terminal.print(&format!(
            "{} between {} processes on {cores} cores; medians of 15 batches of calls\n\n",
            self.operation.name(),
            self.processes
        ));
        terminal.print(&self.table().to_text(&terminal.style));
        terminal.print(&format!("\nfitted to the medians\n\n{}", self.parameters().to_text(&terminal.style)));
        if let Some(fused) = fused {
            let saved = 1.0 - fused.fused_s / fused.unfused_s;
            terminal.print(&format!(
                "\nlayer normalisation, CSC all-gather and product over {}: {} one by one, {} fused ({:.0} % saved), equal results\n",
                Unit::Bytes.format(fused.bytes as f64),
                Unit::Seconds.format(fused.unfused_s),
                Unit::Seconds.format(fused.fused_s),
                saved * 100.0
            ));
        }
    }

    fn json(&self, cores: usize, choices: &Choices, fused: &Option<ranks::Fused>) -> serde_json::Value {
        let time = |point: &Point| {
            let model = self.model(point.algorithm);
            json!({
                "algorithm": point.algorithm.name(), "bytes": point.bytes, "median_s": point.median_s,
                "least_s": point.least_s, "model_s": model.map(|model| model.seconds(point.bytes)),
            })
        };
        let times: Vec<_> = self.points.iter().map(time).collect();
        json!({
            "stratasim": env!("CARGO_PKG_VERSION"), "operation": self.operation.name(),
            "processes": self.processes, "cores": cores, "times": times, "models": self.models_json(),
            "choices": choices.to_json(), "fused": fused,
        })
    }

    fn model(&self, algorithm: Algorithm) -> Option<&Model> {
        self.models.iter().find(|model| model.algorithm == algorithm)
    }

    /// What each model takes a step to cost, and what moves at which rate.
    fn parameters(&self) -> Table {
        let mut table = Table::new(["algorithm", "step", "rate"]);
        for model in &self.models {
            let found = |at: usize, unit: Unit| {
                let fitted = model.parameters().get(at);
                Cell::from(fitted.map(|it| (it.after, unit)))
            };
            let rate = found(1, Unit::BytesPerSecond);
            table.push([Cell::from(model.algorithm.name()), found(0, Unit::Seconds), rate]);
        }
        table
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["vector", "algorithm", "measured", "least", "model", "error", "to best"]);
        for &bytes in &self.sizes {
            let row = |point: &&Point| point.bytes == bytes;
            let fastest =
                self.points.iter().filter(row).map(|point| point.median_s).fold(f64::INFINITY, f64::min);
            for point in self.points.iter().filter(row) {
                let model = self.model(point.algorithm).map(|model| model.seconds(bytes));
                table.push([
                    Cell::from((bytes as f64, Unit::Bytes)),
                    Cell::from(point.algorithm.name()),
                    Cell::from((point.median_s, Unit::Seconds)),
                    Cell::from((point.least_s, Unit::Seconds)),
                    Cell::from(model.map(|model| (model, Unit::Seconds))),
                    Cell::from(model.map(|model| (model / point.median_s - 1.0, Unit::Difference))),
                    Cell::from((point.median_s / fastest, Unit::Factor)),
                ]);
            }
        }
        table
    }

    /// The fastest by the models, from size to size.
    fn choices(&self) -> Result<Choices, Error> {
        let mut choices = Choices::default();
        let mut last = None;
        // sizes beyond the largest measured one go as that
        let largest = self.sizes.last().copied().unwrap_or(1);
        let sizes = std::iter::once(0).chain(std::iter::successors(Some(1_u64), |size| Some(size * 2)));
        for bytes in sizes.take_while(|&bytes| bytes <= largest) {
            let time = |model: &&Model| model.seconds(bytes);
            let best = self.models.iter().min_by(|a, b| time(a).total_cmp(&time(b)));
            let best = best.map(|model| model.algorithm);
            if let Some(algorithm) = best.filter(|_| best != last) {
                choices.set(self.operation, bytes, algorithm).map_err(|text| ConfigError::new(text, None))?;
                last = best;
            }
        }
        Ok(choices)
    }

    /// Writes `choices`, and what was there about other collectives.
    fn save(&self, output: Output, there: &Choices, choices: &Choices) -> Result<(), Error> {
        let mut all = Choices::default();
        let others = there.entries().filter(|(operation, ..)| *operation != self.operation);
        for (operation, bytes, algorithm) in others.chain(choices.entries()) {
            all.set(operation, bytes, algorithm).map_err(|text| ConfigError::new(text, None))?;
        }
        output.text(&pretty(&json!({
            "stratasim": env!("CARGO_PKG_VERSION"), "processes": self.processes, "choices": all.to_json(),
            "models": {(self.operation.name()): self.models_json()},
        })))
    }

    fn models_json(&self) -> serde_json::Value {
        let one = |model: &Model| {
            let value = |it: &Fitted| {
                (format!("{}_{}", it.parameter.name().replace('-', "_"), unit(it)), it.after.into())
            };
            let numbers = model.parameters().iter().map(value).collect::<serde_json::Map<_, _>>();
            (model.algorithm.name().to_owned(), numbers.into())
        };
        self.models.iter().map(one).collect::<serde_json::Map<_, _>>().into()
    }
}

/// The unit of a parameter in names.
const fn unit(it: &Fitted) -> &'static str {
    match it.parameter {
        Parameter::Cost(_) => "s",
        Parameter::Rate(_) => "bytes_per_s",
    }
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).expect("numbers and text") + "\n"
}
