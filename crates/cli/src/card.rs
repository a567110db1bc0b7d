//! `stratasim card`: the inside of an accelerator card.

mod alloc;
mod bench;
mod fit;
mod real;
mod show;

pub(crate) use show::shipped;
pub use show::text;

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
    /// Time a collective between the core groups over many sizes, by several algorithms
    Bench(bench::Bench),
    /// Fit parameters of a card to measurements, and name those that contradict each other
    Fit(fit::Fit),
    /// One of the processes that `bench --real` starts
    #[command(hide = true)]
    Rank(real::Rank),
    /// Say what a card consists of; without a card, which are shipped
    Show(show::Show),
    /// Say where the SW-IntraCC paper contradicts itself, with our values
    Inconsistencies,
}

impl Card {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        match &self.action {
            Action::Alloc(action) => action.run(terminal),
            Action::Bench(action) => action.run(terminal),
            Action::Fit(action) => action.run(terminal),
            Action::Rank(action) => action.run(terminal),
            Action::Show(action) => action.run(terminal),
            Action::Inconsistencies => {
                show::inconsistencies(terminal);
                Ok(0)
            }
        }
    }
}

/// Which card, and changes to it.
#[derive(Args)]
pub(crate) struct Source {
    /// A shipped card such as sw-ai, or a file that describes one (TOML or JSON)
    card: String,
    /// Change a value: a dotted path and a TOML value, such as 'bandwidth.ring="50 GB/s"'; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

impl Source {
    pub(crate) fn load(&self) -> Result<stratasim_device::card::Card, Error> {
        stratasim_experiment::card::load(&self.card, &self.sets)
    }
}
