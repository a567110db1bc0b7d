//! The `stratasim` command.

use std::process::ExitCode;

#[global_allocator]
static HEAP: stratasim_cli::heap::Heap = stratasim_cli::heap::Heap;

fn main() -> ExitCode {
    if let Some(reason) = stratasim_core::processor::lacks() {
        eprintln!("error: {reason}");
        return ExitCode::from(2);
    }
    stratasim_cli::heap::prefer_large_pages();
    ExitCode::from(stratasim_cli::main_with_args(std::env::args_os()))
}
