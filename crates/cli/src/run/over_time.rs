//! Links and queues over time, in the result.

use clap::Args;
use stratasim_experiment::{ConfigError, Prepared};
use stratasim_report::{OverTime, TimeWindow};

/// Which links are told of.
#[derive(Args)]
pub(super) struct Wanted {
    /// Add to the JSON what the 64 fullest links carried and the 64 longest queues held over time, in up to 256 stretches (flow level: links)
    #[arg(long, requires = "json")]
    pub(super) over_time: bool,
    /// A link that `--over-time` tells of, with its queue, and may be repeated [default: the 64 fullest]
    #[arg(long, value_name = "LINK", requires = "over_time")]
    over_time_link: Vec<String>,
}

impl Wanted {
    /// Who watches, where somebody asks: nobody else pays for it.
    ///
    /// # Errors
    /// Networks that do not tell of it, names that no link has.
    pub(super) fn watch(
        &self,
        prepared: &Prepared,
        window: TimeWindow,
    ) -> Result<Option<OverTime>, ConfigError> {
        let options = ("--over-time", "--over-time-link");
        self.over_time.then(|| prepared.over_time(options, &self.over_time_link, window)).transpose()
    }
}
