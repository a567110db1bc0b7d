//! The `stratasim` command: one file per verb.
//!
//! Tables go to standard output; progress, notes and errors to standard error. Exit codes: 0 done,
//! 2 bad input, 3 a run that stalled, failed or broke a check, 101 a bug of ours, 130 interrupted.

mod by_size;
mod card;
mod cdf;
mod compare;
mod conformance;
mod explain;
mod goal;
pub mod heap;
mod input;
mod interrupt;
mod list;
mod output;
mod panic;
mod progress;
mod report;
mod run;
mod schema;
mod sweep;
mod terminal;
mod topology;
mod traffic;

use std::ffi::OsString;
use std::io::Write as _;
use std::num::ParseIntError;
use std::time::Instant;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use stratasim_experiment::Error;

pub use card::text as card_text;
pub use explain::text as explain;
use terminal::{Colour, Terminal};

/// Exit code after an interruption.
const INTERRUPTED: u8 = 130;

/// Simulate AI, HPC and storage systems: one workload, one topology, every level of detail.
#[derive(Parser)]
#[command(name = "stratasim", version, max_term_width = 100, arg_required_else_help = true)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
    /// Colours on the terminal
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", alias = "colour")]
    color: Colour,
}

#[derive(Subcommand)]
enum Verb {
    /// Run an experiment and print where its time went
    Run(run::Run),
    /// Run an experiment on several networks or with several settings, side by side
    Compare(compare::Compare),
    /// Run an experiment with many settings and write a page about it
    Sweep(sweep::Sweep),
    /// Run open-loop traffic at many loads: a load-latency curve
    Traffic(traffic::Traffic),
    /// Print the table of a result again, put several side by side, or make a page of one
    Report(report::Report),
    /// Look at a topology, write it in another format, or check it
    Topology(topology::TopologyCommand),
    /// Run GOAL schedules, and write, read, check and combine them
    Goal(goal::Goal),
    /// Look inside an accelerator card: collectives between core groups, memory, fits
    Card(card::Card),
    /// List what can be chosen: topologies, workloads, collectives, compute types, ...
    List(list::List),
    /// Explain a kind: what it is, its parameters, an example, its source
    Explain(explain::Explain),
    /// Print the JSON Schema of experiment files, for editors
    Schema(schema::Schema),
    /// Run reference cases and say how far the results are from the expected ones
    Conformance(conformance::Conformance),
}

/// The command, of which every option takes `-5` as its value and says itself what is wrong with it. Otherwise clap takes it for
/// an option that does not exist, and gives advice that makes a file of it.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let told = |argument: clap::Arg| {
        let takes_value = !argument.is_positional() && argument.get_action().takes_values();
        argument.allow_negative_numbers(takes_value)
    };
    command.mut_args(told).mut_subcommands(with_negative_numbers)
}

/// Shows an error of the arguments, or help. Rust says of a number that it has an invalid digit, but not what is expected. Returns
/// the exit code.
fn show(error: &clap::Error) -> u8 {
    match std::error::Error::source(error).filter(|source| source.is::<ParseIntError>()) {
        Some(source) => {
            let shown = error.render();
            let coloured = Terminal::new(Colour::Auto).shows_colour_in_errors();
            let text = if coloured { shown.ansi().to_string() } else { shown.to_string() };
            let better = text.replace(&source.to_string(), "a whole number is expected");
            let _ = std::io::stderr().write_all(better.as_bytes());
        }
        // help and version are no errors, and go to standard output; a closed pipe is nobody's fault
        None => {
            if let Err(unprinted) = error.print()
                && !error.use_stderr()
                && unprinted.kind() != std::io::ErrorKind::BrokenPipe
            {
                let unprinted = Error::file("standard output", &unprinted);
                Terminal::new(Colour::Auto).fail(&unprinted);
                return unprinted.exit_code();
            }
        }
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// Runs the command with its arguments, the first of which is its own name. Returns the exit code.
pub fn main_with_args(args: impl IntoIterator<Item = OsString>) -> u8 {
    #[allow(clippy::disallowed_methods, reason = "the wall time of a run counts from here")]
    let started = Instant::now();
    let parsed = with_negative_numbers(Command::command()).try_get_matches_from(args);
    let command = match parsed.and_then(|mut matches| Command::from_arg_matches_mut(&mut matches)) {
        Ok(command) => command,
        Err(error) => {
            return show(&error);
        }
    };
    let terminal = Terminal::new(command.color);
    panic::guard(|| {
        let done = match &command.verb {
            Verb::Run(verb) => verb.run(&terminal, started),
            Verb::Compare(verb) => verb.run(&terminal),
            Verb::Sweep(verb) => verb.run(&terminal),
            Verb::Traffic(verb) => verb.run(&terminal),
            Verb::Report(verb) => verb.run(&terminal),
            Verb::Topology(verb) => verb.run(&terminal),
            Verb::Goal(verb) => verb.run(&terminal, started),
            Verb::Card(verb) => verb.run(&terminal),
            Verb::List(verb) => verb.run(&terminal),
            Verb::Explain(verb) => verb.run(&terminal),
            Verb::Schema(verb) => verb.run(&terminal),
            Verb::Conformance(verb) => verb.run(&terminal),
        };
        let code = done.unwrap_or_else(|error: Error| {
            terminal.fail(&error);
            error.exit_code()
        });
        terminal.end(code)
    })
}
