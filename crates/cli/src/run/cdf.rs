//! Distributions of a run, as pictures.

use std::path::PathBuf;

use clap::Args;
use stratasim_core::LinkId;
use stratasim_experiment::{ConfigError, Error, Prepared};
use stratasim_report::depths::QueueDepths;
use stratasim_report::result::RunResult;
use stratasim_report::{Distribution, TimeWindow};

use super::no_message;
use crate::cdf::CdfOf;
use crate::output::{Output, picture_path};
use crate::terminal::Terminal;

/// Which distribution is drawn, and where to.
#[derive(Args)]
pub(super) struct Cdf {
    /// Draw a distribution, as SVG or PNG: by default of the messages' completion times (packet level)
    #[arg(id = "cdf", long = "cdf", value_name = "OUT", value_parser = picture_path)]
    pub(super) out: Option<PathBuf>,
    /// What `--cdf` draws the distribution of
    #[arg(long = "cdf-of", value_name = "WHAT", value_enum, default_value_t, requires = "cdf")]
    of: CdfOf,
    /// A queue whose depth `--cdf` draws, by the name of its link, and may be repeated [default: the 8 busiest]
    #[arg(long = "cdf-queue", value_name = "LINK", requires = "cdf")]
    queue: Vec<String>,
}

impl Cdf {
    /// What it is of.
    pub(super) fn distribution(&self) -> Distribution {
        self.of.into()
    }

    /// What is drawn that this network does not tell, and which does.
    pub(super) fn lacks(&self, prepared: &Prepared) -> Option<String> {
        self.out.as_ref()?;
        self.of.lacks(prepared)
    }

    /// Whether there is anything to draw.
    pub(super) fn tells(&self, result: &RunResult) -> bool {
        !self.distribution().curves(result).is_empty()
    }

    /// Who watches the queues, where that is needed: nobody else pays for it.
    pub(super) fn depths(&self, window: TimeWindow) -> Option<QueueDepths> {
        (self.of == CdfOf::QueueDepth).then(|| QueueDepths::new(window))
    }

    /// The links whose queues were asked for by name.
    ///
    /// # Errors
    /// Names that no link has; names where other distributions are drawn.
    pub(super) fn queues(&self, prepared: &Prepared) -> Result<Vec<LinkId>, ConfigError> {
        if !self.queue.is_empty() && self.of != CdfOf::QueueDepth {
            let message =
                "--cdf-queue chooses queues whose depth is drawn, and `--cdf-of queue-depth` asks for that";
            return Err(ConfigError::new(message, None));
        }
        prepared.links_called("--cdf-queue", &self.queue)
    }

    /// Draws it into its file; says where there is nothing to draw.
    pub(super) fn write(&self, out: Output, result: &RunResult, terminal: &Terminal) -> Result<(), Error> {
        if let Some(picture) = self.distribution().picture(result) {
            return out.draw(&picture);
        }
        let reason = match self.of {
            CdfOf::CompletionTime | CdfOf::SlowDown => no_message(result),
            CdfOf::LinkUtilisation => "no link carried anything",
            CdfOf::LongestQueue => "nothing ever waited",
            CdfOf::QueueDepth => "nothing waited, there and at that time",
        };
        terminal.note(&format!("  nothing in {}: {reason}", out.path.display()));
        Ok(())
    }
}
