//! Packet-level runs of which bounds, time-outs and credit had once been wrong: they end, and no check is broken.

use std::path::Path;
use std::time::Instant;

use stratasim_core::observe::Blind;
use stratasim_experiment::{Document, Prepared};
use stratasim_report::RunResult;

fn run(text: &str) -> RunResult {
    let document = Document::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let mut prepared = Prepared::new(&document, Path::new("")).unwrap_or_else(|error| panic!("{error}"));
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    let result = prepared.run(&mut Blind, Instant::now()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(result.checks_hold(), "{:?}\n{text}", result.checks);
    result
}

/// One message between two leaves whose uplinks are slower than hosts.
fn leaves(spines: u32, network: &str) -> String {
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = {spines}\nhosts-per-leaf = 1\nbandwidth = \"100 Gbps\"\n\
         uplink-bandwidth = \"50 Gbps\"\nlatency = \"500 ns\"\n\
         [workload]\nkind = \"traffic\"\nflows = 1\nsize = {{ kind = \"fixed\", bytes = \"4 MB\" }}\n\
         pattern = {{ kind = \"list\", pairs = [[0, 1]] }}\n[network]\nkind = \"packet\"\n{network}"
    )
}

#[test]
fn a_message_that_changes_its_way_may_be_faster_than_one_way() {
    for spines in [1, 2] {
        for gap in ["0 ns", "100 ns", "1 us"] {
            run(&leaves(spines, &format!("balancing = {{ kind = \"flowlets\", gap = \"{gap}\" }}\n")));
        }
    }
    let repaired = "congestion = { kind = \"fixed-window\", factor = 100.0 }\nrecovery = { kind = \"sack\" }\n\
        balancing = { kind = \"per-flow\" }\nqueue = { kind = \"drop-tail\" }\nbuffer = \"8 MB\"\n\
        [network.faults]\ndown = [{ link = [\"leaf-0->spine-0\"], from = \"0 ns\", to = \"150 us\" }]\ndetection = \"0 ns\"\n";
    for seed in 1..8 {
        run(&format!("seed = {seed}\n{}", leaves(2, repaired)));
    }
}

#[test]
fn who_goes_back_asks_for_credit_for_what_it_repeats() {
    for seed in 1..40 {
        let result = run(&format!(
            "seed = {seed}\n[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 kB\"\niterations = 10\n\
             algorithm = {{ kind = \"ring\" }}\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"rccc\" }}\n\
             recovery = {{ kind = \"go-back-n\", timeout = \"1 ms\" }}\nqueue = {{ kind = \"drop-tail\" }}\n\
             connections = \"per-pair\"\nloss = {{ probability = 0.01 }}\n"
        ));
        // a few time-outs of a millisecond each
        assert!(result.makespan_s < 0.1, "seed {seed}: {} s", result.makespan_s);
    }
}

#[test]
fn a_buffer_that_no_queue_has_changes_nothing() {
    for queue in ["credit", "lossless"] {
        let of = |buffer: &str| {
            let text = format!(
                "[topology]\nkind = \"fat-tree\"\nk = 4\nbandwidth = \"1 Gbps\"\nlatency = \"0 ns\"\n\
                 [workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"100 kB\"\nalgorithm = {{ kind = \"direct\" }}\n\
                 [network]\nkind = \"packet\"\ncongestion = {{ kind = \"ndp\" }}\npackets = {{ payload-bytes = 256 }}\n\
                 queue = {{ kind = \"{queue}\" }}\n{buffer}"
            );
            run(&text)
        };
        let (without, with) = (of(""), of("buffer = \"400 B\"\n"));
        assert_eq!(without.makespan_s, with.makespan_s, "{queue}");
        assert_eq!(without.counters, with.counters, "{queue}");
    }
}
