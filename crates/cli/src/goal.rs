//! `stratasim goal`: schedules of sends, receives and computations, in files.

mod arguments;
mod check;
mod convert;
mod excerpt;
mod file;
mod generate;
mod info;
mod merge;
mod regroup;
mod run;

use std::time::Instant;

use clap::{Args, Subcommand};
use stratasim_experiment::Error;

use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Goal {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Say what a schedule consists of: operations, dependencies, message sizes, ...
    Info(info::Info),
    /// Look for what can never run, without running it
    Check(check::Check),
    /// Run a schedule between nodes that all see each other, by our rules or a peer's
    Run(Box<run::Run>),
    /// Write a schedule in another form: GOAL text, GOAL binary, .strata
    Convert(convert::Convert),
    /// Write the schedule of a communication pattern or collective
    Generate(Box<generate::Generate>),
    /// Put several schedules on one machine
    Merge(merge::Merge),
    /// Put the ranks of a schedule on nodes of another size
    Regroup(regroup::RegroupCommand),
}

impl Goal {
    pub(crate) fn run(&self, terminal: &Terminal, started: Instant) -> Result<u8, Error> {
        match &self.action {
            Action::Info(action) => action.run(terminal),
            Action::Check(action) => action.run(terminal),
            Action::Run(action) => action.run(terminal, started),
            Action::Convert(action) => action.run(terminal),
            Action::Generate(action) => action.run(terminal),
            Action::Merge(action) => action.run(terminal),
            Action::Regroup(action) => action.run(terminal),
        }
    }
}
