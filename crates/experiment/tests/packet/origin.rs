//! What happens does not depend on when: the same messages later in a run fare as at its beginning.

use std::fmt::Write as _;
use std::path::Path;

use stratasim_experiment::{Document, Prepared};
use stratasim_report::RunResult;
use stratasim_transport::CongestionSpec;

use crate::common::run_in;

/// Eight ranks send 300 kB each to a ninth and to the one after them, all after `delay_ns`.
fn schedule(delay_ns: u64) -> String {
    let mut text = String::from("num_ranks 12\n");
    for rank in 0..12_u32 {
        writeln!(text, "rank {rank} {{").unwrap();
        if rank < 8 {
            writeln!(text, "c: calc {}", delay_ns + 137 * u64::from(rank)).unwrap();
            for (name, to) in [("s", 8), ("t", (rank + 5) % 8)] {
                writeln!(text, "{name}: send 300000b to {to} tag {rank}\n{name} requires c").unwrap();
            }
            writeln!(text, "r: recv 300000b from {} tag {}", (rank + 3) % 8, (rank + 3) % 8).unwrap();
        }
        if rank == 8 {
            (0..8).for_each(|from| writeln!(text, "r{from}: recv 300000b from {from} tag {from}").unwrap());
        }
        text.push_str("}\n");
    }
    text
}

fn run(folder: &Path, delay_ns: u64, network: &str) -> Option<RunResult> {
    std::fs::write(folder.join("messages.goal"), schedule(delay_ns)).unwrap();
    let text = format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 4\nbandwidth = \"100 Gbps\"\n\
         latency = \"500 ns\"\n[workload]\nkind = \"goal\"\nfile = \"messages.goal\"\n[network]\nkind = \"packet\"\n{network}\n"
    );
    let document = Document::parse("test.toml", &text).unwrap();
    // who recovers nothing may lose nothing
    Prepared::new(&document, folder).ok()?;
    Some(run_in(&text, folder))
}

#[test]
fn messages_fare_late_as_they_do_early() {
    let folder = tempfile::tempdir().unwrap();
    let mut ran = 0;
    for kind in CongestionSpec::KINDS {
        for more in ["", "balancing = \"random\"", "queue = \"drop-tail\"", "loss = { probability = 0.001 }"]
        {
            let network = format!("congestion = {{ kind = \"{kind}\" }}\n{more}");
            let Some(early) = run(folder.path(), 0, &network) else { continue };
            ran += 1;
            // a multiple of no period that anything has
            let late = run(folder.path(), 100_000_003, &network).unwrap();
            let apart = late.makespan_s - early.makespan_s - 0.100_000_003;
            assert!(apart.abs() < 1e-12, "{kind} {more}: {} and {}", early.makespan_s, late.makespan_s);
            let counted = |result: &RunResult| {
                let mut counters = result.counters.clone();
                counters.retain(|name, _| name != "network.events");
                counters
            };
            assert_eq!(counted(&early), counted(&late), "{kind} {more}");
        }
    }
    assert!(ran > 3 * CongestionSpec::KINDS.len(), "{ran}");
}
