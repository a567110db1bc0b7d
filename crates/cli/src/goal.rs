//! `stratasim goal`: schedules in the form that LogGOPSim and ATLAHS share.

mod run;

use std::time::Instant;

use clap::{Args, Subcommand};
use stratasim_experiment::Error;

use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Goal {
    #[command(subcommand)]
    verb: GoalVerb,
}

#[derive(Subcommand)]
enum GoalVerb {
    /// Run a schedule between nodes that all see each other, by our rules or a peer's
    Run(run::Run),
}

impl Goal {
    pub(crate) fn run(&self, terminal: &Terminal, started: Instant) -> Result<u8, Error> {
        match &self.verb {
            GoalVerb::Run(verb) => verb.run(terminal, started),
        }
    }
}
