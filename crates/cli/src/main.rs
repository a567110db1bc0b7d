//! The `stratasim` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    stratasim_cli::heap::prefer_large_pages();
    ExitCode::from(stratasim_cli::main_with_args(std::env::args_os()))
}
