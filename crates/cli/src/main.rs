//! The `stratasim` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(stratasim_cli::main_with_args(std::env::args_os()))
}
