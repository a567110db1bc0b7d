//! Links and queues that somebody wants to see over time.

use stratasim_core::LinkId;
use stratasim_report::{OverTime, TimeWindow};

use crate::build::Prepared;
use crate::error::ConfigError;

impl Prepared {
    /// The links of these names, which were given by `option`.
    ///
    /// # Errors
    /// A name that no link has.
    pub fn links_called(&self, option: &str, names: &[String]) -> Result<Vec<LinkId>, ConfigError> {
        let topology = &self.topology;
        let find = |name: &String| {
            topology.find_link(name).ok_or_else(|| {
                let message = format!(
                    "{option}: `{name}` is none of the {} links of this machine{}",
                    topology.link_count(),
                    topology.link_hint(name)
                );
                ConfigError::new(message, None)
            })
        };
        names.iter().map(find).collect()
    }

    /// Whether the network tells of links over time, for `option`.
    ///
    /// # Errors
    /// It does not.
    pub fn check_link_use(&self, option: &str) -> Result<(), ConfigError> {
        if self.spec.network.plugin().tells_link_use() {
            return Ok(());
        }
        let message = format!(
            "{option} is about links over time, of which the networks `flow` and `packet` tell; this network is `{}`",
            self.spec.network.kind()
        );
        Err(ConfigError::new(message, None))
    }

    /// Who watches the links of these names and their queues in `window`, or the fullest where there are no names. They were
    /// asked for by `option`, and named by `names_option`.
    ///
    /// # Errors
    /// A network that does not tell of links over time, a name that no link has.
    pub fn over_time(
        &self,
        (option, names_option): (&str, &str),
        names: &[String],
        window: TimeWindow,
    ) -> Result<OverTime, ConfigError> {
        self.check_link_use(option)?;
        let links = self.links_called(names_option, names)?;
        Ok(OverTime::new(window, links, self.spec.network.plugin().tells_queues()))
    }
}
