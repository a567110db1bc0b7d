//! The experiment that a result shows, with every default written out, gives the same result.

use std::path::Path;
use std::time::Instant;

use stratasim_core::observe::Blind;
use stratasim_experiment::{Document, Prepared};
use stratasim_report::RunResult;
use stratasim_transport::CongestionSpec;

fn run(document: &Document) -> RunResult {
    let mut prepared = Prepared::new(document, Path::new("")).unwrap_or_else(|error| panic!("{error}"));
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    prepared.run(&mut Blind, Instant::now()).unwrap_or_else(|error| panic!("{error}"))
}

/// Many to one through a switch with small buffers, so that recovery, marks and paths have something to do.
fn incast(network: &str) -> String {
    format!(
        "seed = 3\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 4\nbandwidth = \"100 Gbps\"\n\
         latency = \"500 ns\"\n[workload]\nkind = \"traffic\"\nflows = 24\nsize = {{ kind = \"fixed\", bytes = \"200 kB\" }}\n\
         pattern = {{ kind = \"hot-spot\", target = 0, fraction = 0.5 }}\n[network]\nkind = \"packet\"\n{network}\n"
    )
}

#[test]
fn it_names_what_goes_with_a_congestion_control_and_gives_the_same_result() {
    let mut ran = 0;
    for kind in CongestionSpec::KINDS {
        for more in ["", "buffer-sharing = { alpha = 1.0 }", "loss = { probability = 0.002 }"] {
            let text = incast(&format!("congestion = {{ kind = \"{kind}\" }}\n{more}"));
            let document = Document::from_toml("test.toml", &text).unwrap();
            if let Err(refusal) = Prepared::new(&document, Path::new("")) {
                // queues that drop nothing have no buffer to share, and who recovers nothing may lose nothing
                assert!(!more.is_empty(), "{kind}: {refusal}");
                continue;
            }
            ran += 1;
            let first = run(&document);
            let network = &first.spec["network"];
            for key in ["recovery", "entropy", "queue"] {
                assert!(network[key]["kind"].is_string(), "{kind} {more}: {key} in {network}");
            }
            let again = run(&Document::from_json("test.toml", &first.spec.to_string()).unwrap());
            assert_eq!((&again.digest, &again.counters), (&first.digest, &first.counters), "{kind} {more}");
            assert_eq!((&again.spec, &again.title), (&first.spec, &first.title), "{kind} {more}");
        }
    }
    assert!(ran > 2 * CongestionSpec::KINDS.len(), "{ran}");
}

#[test]
fn a_preset_stays_a_name() {
    let document =
        Document::from_toml("test.toml", &incast("preset = \"htsim\"\ncongestion = { kind = \"nscc\" }"))
            .unwrap();
    let first = run(&document);
    assert_eq!(first.spec["network"].get("recovery"), None);
    let again = run(&Document::from_json("test.toml", &first.spec.to_string()).unwrap());
    assert_eq!((again.digest, again.counters), (first.digest, first.counters));
}
