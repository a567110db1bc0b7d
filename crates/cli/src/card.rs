//! `stratasim card`: the inside of an accelerator card.

mod alloc;

use clap::{Args, Subcommand};
use stratasim_experiment::Error;

use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Card {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Replay allocations of Local and Global memory: capacity, peak, fragmentation, failures
    Alloc(alloc::Alloc),
}

impl Card {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        match &self.action {
            Action::Alloc(action) => action.run(terminal),
        }
    }
}
