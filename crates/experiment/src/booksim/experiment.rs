//! A configuration, from a text or from an experiment, at any load and seed.

use std::path::{Path, PathBuf};
use std::time::Instant;

use stratasim_core::Bandwidth;
use stratasim_report::result::{RunResult, Title};

use super::Setup;
use super::class::mean_size;
use super::config::Config;
use super::control::Verdict;
use super::result::{Facts, result};
use super::text::TextError;
use super::translate::translate;
use crate::document::Document;
use crate::error::{ConfigError, Error};
use crate::files;
use crate::kept;
use crate::run::count;
use crate::traffic::{Point, Subject, Traffic};

/// What BookSim2 simulates, ready to run at any load and seed.
pub struct Experiment {
    name: String,
    /// The configuration without changes.
    text: String,
    /// Where files that it names are.
    folder: PathBuf,
    /// Load that it asks for itself, flits per cycle and terminal.
    load: f64,
    /// `injection_rate`, by class.
    rates: Vec<f64>,
    /// The same where `injection_rate` is 1: the flits of a packet of each class, or 1 where rates are in flits.
    flits_per_rate: f64,
    /// Whether it runs batches, which have no load.
    is_batch: bool,
    seed: u64,
    spec: serde_json::Value,
    clock_hz: f64,
    flit_bytes: u32,
    unwritten: Vec<&'static str>,
}

impl Experiment {
    /// Reads a configuration of BookSim2. `overrides` are assignments such as `num_vcs=2` that come after those of
    /// the file.
    ///
    /// # Errors
    /// A file that cannot be read, and what is no configuration, with the line.
    pub fn from_file(path: &Path, overrides: &[String]) -> Result<Self, Error> {
        Self::from_file_as(path, "--set", overrides)
    }

    /// The same where `--set` has another name, as in Python; errors have that.
    ///
    /// # Errors
    /// As [`Experiment::from_file`].
    pub fn from_file_as(path: &Path, argument: &str, overrides: &[String]) -> Result<Self, Error> {
        let mut text = files::read_text(path).map_err(|error| Error::file(path, &error))?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        // the last line of each
        let mut ends = Vec::new();
        let own = text.lines().count();
        for assignment in overrides {
            text += &format!("{assignment};\n");
            ends.push(text.lines().count());
        }
        let wrong = |error: TextError| match overrides.get(ends.partition_point(|&end| end < error.line)) {
            Some(assignment) if error.line > own => {
                ConfigError::new(format!("{argument} {assignment}: {}", error.reason), None).into()
            }
            _ => Error::File { path: path.display().to_string(), reason: error.to_string() },
        };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let config = Config::read(&text, &folder).map_err(wrong)?;
        let setup = Setup::read_in(&text, &folder).map_err(wrong)?;
        let flits = flits_of(&config, &setup).map_err(wrong)?;
        let loads = loads_of(&config, &flits).map_err(wrong)?;
        let mut spec = serde_json::json!({ "booksim2": text });
        if config.word("topology") == "anynet" {
            spec["network_file"] = config.network_file().map_err(wrong)?.into();
        }
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self {
            name,
            load: loads.iter().sum(),
            rates: config.numbers("injection_rate").map_err(wrong)?,
            flits_per_rate: flits.iter().sum(),
            is_batch: config.word("sim_type") == "batch",
            seed: config.integer("seed", i64::from(i32::MIN), i64::from(u32::MAX)).map_err(wrong)? as u32
                as u64,
            spec,
            text,
            folder,
            clock_hz: 0.0,
            flit_bytes: 0,
            unwritten: config.unwritten().to_vec(),
        })
    }

    /// Translates an experiment with open-loop traffic. Relative paths start from `base`.
    ///
    /// # Errors
    /// What does not fit, and what BookSim2 does not have, with the key.
    pub fn from_document(document: &Document, base: &Path) -> Result<Self, ConfigError> {
        let experiment = Self::of(&Traffic::new(document, base)?, document)?;
        experiment.at(experiment.load, experiment.seed)?;
        Ok(experiment)
    }

    /// The same for other loads than its own, which may be one that the sources cannot make.
    ///
    /// # Errors
    /// As [`Experiment::from_document`].
    pub fn for_loads(document: &Document, base: &Path) -> Result<Self, ConfigError> {
        Self::of(&Traffic::for_loads(document, base)?, document)
    }

    fn of(traffic: &Traffic, document: &Document) -> Result<Self, ConfigError> {
        let translated = translate(traffic).map_err(|error| document.locate(&error, ""))?;
        Ok(Self {
            name: traffic.name.clone(),
            load: traffic.load(),
            rates: Config::read(&translated, Path::new(""))
                .and_then(|config| config.numbers("injection_rate"))
                .map_err(|error| ConfigError::new(format!("as BookSim2: {error}"), None))?,
            flits_per_rate: 1.0,
            is_batch: false,
            seed: traffic.spec.seed,
            spec: serde_json::to_value(&traffic.spec).unwrap_or_default(),
            text: translated,
            folder: PathBuf::new(),
            clock_hz: traffic.network().clock.hz(),
            flit_bytes: traffic.network().flit_bytes,
            unwritten: Vec::new(),
        })
    }

    /// What `injection_rate` is for a load: a number, or a list in which each class has its share.
    fn rates_at(&self, load: f64) -> String {
        if self.rates.len() == 1 || self.load <= 0.0 {
            return rate(load / self.flits_per_rate);
        }
        let rates: Vec<String> = self.rates.iter().map(|&given| rate(given * (load / self.load))).collect();
        format!("{{{}}}", rates.join(","))
    }

    /// The load that it asks for itself, flits per cycle and terminal of all classes.
    pub fn load(&self) -> f64 {
        self.load
    }

    /// Whether it runs batches, which have no load.
    pub fn is_batch(&self) -> bool {
        self.is_batch
    }

    /// Options of the configuration for which BookSim2 prints or writes what is not written here.
    pub fn unwritten(&self) -> &[&'static str] {
        &self.unwritten
    }
}

/// A rate as BookSim2 reads it: it takes no whole number for one with a point.
fn rate(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.1}") } else { value.to_string() }
}

/// The flits of a packet of each class, or 1 where `injection_rate` is in flits: what makes a load of a rate.
fn flits_of(config: &Config, setup: &Setup) -> Result<Vec<f64>, TextError> {
    let in_flits = config.flag("injection_rate_uses_flits")?;
    let of_class = |class: &super::class::Class| if in_flits { 1.0 } else { mean_size(&class.sizes) };
    Ok(setup.source.classes().iter().map(of_class).collect())
}

/// The load of each class in flits per cycle and terminal, by what [`flits_of`] makes of a rate.
fn loads_of(config: &Config, flits: &[f64]) -> Result<Vec<f64>, TextError> {
    let rates = config.numbers("injection_rate")?;
    Ok(flits.iter().enumerate().map(|(class, flits)| Config::of_class(&rates, class) * flits).collect())
}

impl Subject for Experiment {
    fn name(&self) -> &str {
        &self.name
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn flit_rate(&self) -> Option<Bandwidth> {
        let rate = self.clock_hz * f64::from(self.flit_bytes);
        (rate > 0.0).then_some(Bandwidth(rate))
    }

    fn at(&self, load: f64, seed: u64) -> Result<Box<dyn Point + '_>, ConfigError> {
        let mut text = self.text.clone();
        // rates stay as they are where no other load is asked for, and classes keep their shares of one
        if load != self.load {
            text += &format!("injection_rate = {};\n", self.rates_at(load));
        }
        if seed != self.seed {
            text += &format!("seed = {seed};\n");
        }
        let wrong = |error: TextError| ConfigError::new(format!("load {load}, as BookSim2: {error}"), None);
        let config = Config::read(&text, &self.folder).map_err(wrong)?;
        let setup = Setup::read_in(&text, &self.folder).map_err(wrong)?;
        let word = |name: &str| config.word(name).to_owned();
        let classes = setup.source.classes();
        let title = Title {
            experiment: self.name.clone(),
            topology: format!(
                "{}: {} terminals, {} routers",
                word("topology"),
                count(setup.network.extent.nodes.into()),
                count(setup.network.fabric.router_count() as u64)
            ),
            workload: if self.is_batch {
                format!("traffic: {}, batches", word("traffic"))
            } else {
                format!("traffic: {}, {}, load {load}", word("traffic"), word("injection_process"))
            },
            network: format!(
                "as BookSim2: {} virtual channels of {} flits",
                setup.router.virtual_channels, setup.router.buffer_flits
            ),
        };
        let measured: Vec<bool> = classes.iter().map(|class| class.measured).collect();
        let flits = flits_of(&config, &setup).map_err(wrong)?;
        let loads = loads_of(&config, &flits).map_err(wrong)?;
        let offered =
            loads.iter().zip(&measured).filter(|(_, measured)| **measured).map(|(load, _)| load).sum();
        Ok(Box::new(Facts {
            title,
            spec: self.spec.clone(),
            configuration: text,
            folder: &self.folder,
            terminals: setup.network.extent.nodes,
            seed,
            load: if self.is_batch { 0.0 } else { load },
            offered: (!self.is_batch).then_some(offered),
            measured,
            clock_hz: self.clock_hz,
            flit_bytes: self.flit_bytes,
        }))
    }
}

impl Point for Facts<'_> {
    fn run(&self, _: usize, stop: &(dyn Fn() -> bool + Sync), started: Instant) -> Result<RunResult, Error> {
        let broken = |reason: String| Error::Broken(reason);
        // read again: what is ready to run takes memory
        let setup =
            Setup::read_in(&self.configuration, self.folder).map_err(|error| broken(error.to_string()))?;
        let run = setup.run_until(stop).map_err(|error| broken(error.to_string()))?;
        if run.outcome.verdict == Verdict::Stopped {
            return Err(Error::Stopped);
        }
        Ok(result(self, &run, started))
    }

    fn digest(&self) -> String {
        // the files that it names are in the spec
        let whole = serde_json::json!({ "booksim2": self.configuration, "experiment": self.spec });
        kept::digest::of(&whole, Path::new(""))
    }

    fn gave(&self, result: &RunResult) -> bool {
        let made = result.traffic.as_ref().and_then(|traffic| traffic.booksim2.as_ref());
        result.spec == self.spec && made.is_some_and(|made| made.configuration == self.configuration)
    }
}
