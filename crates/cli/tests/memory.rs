//! A machine that does not fit into memory: one line, and what was finished stays.
#![cfg(target_os = "linux")]

mod support;

use std::process::Command;

use support::{Ended, Scratch};

#[test]
fn memory_that_runs_out_is_said_in_one_line() {
    let scratch = Scratch::new();
    let machine = "[topology]\nkind = \"torus\"\ndimensions = [400, 400, 50]\nbandwidth = \"16 GB/s\"\n\
                   latency = \"2 ns\"\n";
    scratch.write("large.toml", machine);
    // the heap asks for a quarter of this at the start; the links of the machine for more than all of it
    let ended = Ended::of(
        Command::new("sh")
            .args(["-c", "ulimit -v 1000000 && exec \"$0\" topology check large.toml"])
            .arg(env!("CARGO_BIN_EXE_stratasim"))
            .current_dir(scratch.path()),
    );
    ended.failed(3, &["out of memory", "MiB", "a smaller machine"]);
    assert_eq!(ended.errors.lines().count(), 1, "{}", ended.errors);
}
