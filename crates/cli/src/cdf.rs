//! Which distributions can be asked for, and which networks tell of them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use stratasim_experiment::{ConfigError, Error, Prepared};
use stratasim_report::Distribution;
use stratasim_report::result::RunResult;

use crate::output::{Output, picture_path};
use crate::terminal::Terminal;

/// What `--flows` and some of `--cdf` need.
pub(crate) const OF_MESSAGES: &str = "about messages on their way, which `--network packet` follows";

/// What a distribution is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CdfOf {
    /// Completion times of messages (packet level)
    #[default]
    CompletionTime,
    /// Completion times by those on an idle network (packet level)
    SlowDown,
    /// Use of the links, idle ones included
    LinkUtilisation,
    /// Most bytes that waited in a queue (packet level)
    LongestQueue,
    /// Bytes that waited in a queue, by time (packet level); one curve for each queue
    QueueDepth,
}

impl From<CdfOf> for Distribution {
    fn from(what: CdfOf) -> Self {
        match what {
            CdfOf::CompletionTime => Self::CompletionTime,
            CdfOf::SlowDown => Self::Slowdown,
            CdfOf::LinkUtilisation => Self::LinkUtilisation,
            CdfOf::LongestQueue => Self::LongestQueue,
            CdfOf::QueueDepth => Self::QueueDepth,
        }
    }
}

impl CdfOf {
    /// What it needs where this network does not tell it.
    pub(crate) fn lacks(self, prepared: &Prepared) -> Option<String> {
        let network = prepared.spec.network.plugin();
        let (tells, needs) = match self {
            Self::CompletionTime | Self::SlowDown => (network.follows_messages(), OF_MESSAGES),
            Self::LinkUtilisation => (
                network.tells_link_bytes(),
                "about links, of which `--network flow`, `--network packet` and `--network flit` tell",
            ),
            Self::LongestQueue | Self::QueueDepth => {
                (network.tells_queues(), "about queues, of which `--network packet` tells")
            }
        };
        // by default nobody named what it is of
        let of = match self.to_possible_value() {
            Some(value) if self != Self::default() => format!("-of {}", value.get_name()),
            _ => String::new(),
        };
        (!tells).then(|| format!("--cdf{of} is {needs}"))
    }
}

/// A distribution of several results in one picture.
#[derive(Args)]
pub(crate) struct Together {
    /// Draw a distribution with a curve for each result, as SVG or PNG: by default of the messages' completion times (packet
    /// level)
    #[arg(id = "cdf", long = "cdf", value_name = "OUT", value_parser = picture_path)]
    pub(crate) out: Option<PathBuf>,
    /// What `--cdf` draws the distributions of
    #[arg(long = "cdf-of", value_name = "WHAT", value_enum, default_value_t, requires = "cdf")]
    of: CdfOf,
}

impl Together {
    /// Refuses what none of these will tell.
    pub(crate) fn check(&self, cases: &[(String, Prepared)]) -> Result<(), ConfigError> {
        if self.out.is_none() {
            return Ok(());
        }
        if self.of == CdfOf::QueueDepth {
            let message = "--cdf-of queue-depth: depths over time are watched by `stratasim run` alone; \
                           `stratasim report` draws them of several of its results";
            return Err(ConfigError::new(message, None));
        }
        told_by_some(cases, |prepared| self.of.lacks(prepared))
    }

    /// Draws it into its file; says of which there is no curve.
    pub(crate) fn write(
        &self,
        out: Output,
        experiment: &str,
        results: &[(String, RunResult)],
        terminal: &Terminal,
    ) -> Result<(), Error> {
        let of = Distribution::from(self.of);
        let silent: Vec<String> = results
            .iter()
            .filter(|(_, result)| of.curves(result).is_empty())
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let Some(picture) = of.together(experiment, results) else {
            terminal.note(&format!("  nothing in {}: no result tells of {of}", out.path.display()));
            return Ok(());
        };
        let path = out.path.clone();
        out.draw(&picture)?;
        terminal.note(&format!("  wrote {} ({of})", path.display()));
        if !silent.is_empty() {
            terminal.note(&format!("  no curve there for {}: nothing is told of {of}", silent.join(", ")));
        }
        Ok(())
    }
}

/// Refuses what none of these networks tells: `lacks` says what one of them does not.
pub(crate) fn told_by_some(
    cases: &[(String, Prepared)],
    lacks: impl Fn(&Prepared) -> Option<String>,
) -> Result<(), ConfigError> {
    let lacks: Option<Vec<String>> = cases.iter().map(|(_, prepared)| lacks(prepared)).collect();
    match lacks.and_then(|all| all.into_iter().next()) {
        Some(what) => Err(ConfigError::new(format!("{what}; none of these networks is"), None)),
        None => Ok(()),
    }
}
