//! The experiment that a result shows, with every default written out, gives the same result.

use std::path::Path;
use std::time::Instant;

use serde_json::json;
use stratasim_core::observe::Blind;
use stratasim_core::{Bandwidth, Duration};
use stratasim_experiment::{Document, Prepared};
use stratasim_report::RunResult;
use stratasim_transport::{CongestionSpec, presets};

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

/// What is shown says all: it gives the same result without the name of the preset, too.
#[test]
fn it_names_what_a_preset_chose() {
    for (kind, _) in presets::HTSIM_KINDS {
        let text = incast(&format!("preset = \"htsim\"\ncongestion = {{ kind = \"{kind}\" }}"));
        let first = run(&Document::from_toml("test.toml", &text).unwrap());
        let network = &first.spec["network"];
        assert_eq!(network["preset"], "htsim");
        assert_eq!(
            (&network["completion"], &network["queue"]["kind"].is_string()),
            (&json!("sender"), &true)
        );
        let theirs = presets::htsim_of(kind, Bandwidth(12.5e9)).unwrap();
        for (key, chosen) in [
            ("congestion", json!(theirs.congestion)),
            ("recovery", json!(theirs.recovery)),
            ("entropy", json!(theirs.entropy)),
            ("packets", json!(theirs.packets)),
        ] {
            assert_eq!(network[key], chosen, "{kind}: {key}");
        }
        let mut again = Document::from_json("test.toml", &first.spec.to_string()).unwrap();
        for preset in ["htsim", "published"] {
            again.set(&format!("network.preset = {preset}")).unwrap();
            let again = run(&again);
            assert_eq!(
                (again.digest, again.counters),
                (first.digest.clone(), first.counters.clone()),
                "{kind}"
            );
        }
    }
}

#[test]
fn what_is_given_counts_more_than_a_preset_and_is_shown() {
    let text = incast(
        "preset = \"htsim\"\ncongestion = { kind = \"swift\", beta = 0.5 }\nentropy = \"oblivious\"\n\
         packets = { payload-bytes = 1000 }\ncompletion = \"receiver\"",
    );
    let shown = run(&Document::from_toml("test.toml", &text).unwrap()).spec["network"].clone();
    assert_eq!(
        (&shown["congestion"]["beta"], &shown["congestion"]["preset"]),
        (&json!(0.5), &json!("published"))
    );
    assert_eq!((&shown["entropy"]["kind"], &shown["completion"]), (&json!("oblivious"), &json!("receiver")));
    assert_eq!(shown["packets"]["payload-bytes"], 1000);
    // of what is not given the preset has the word
    assert_eq!(shown["recovery"]["min-timeout"], json!(Duration::from_ns(100_000)));
}

#[test]
fn a_plug_in_by_its_name_alone_is_one_without_options() {
    let table = incast("congestion = { kind = \"dctcp\" }")
        .replace("[network]\nkind = \"packet\"", "[network]\nkind=\"packet\"");
    let word = table.replace("{ kind = \"dctcp\" }", "\"dctcp\"");
    assert_ne!(table, word);
    let [table, mut word] = [table, word].map(|text| Document::from_toml("test.toml", &text).unwrap());
    let [table_spec, word_spec] = [&table, &word].map(|document| run(document).spec);
    assert_eq!(table_spec, word_spec);
    // it gets options, and another name, as a table does
    assert_eq!(word.get("network.congestion.kind").unwrap(), "dctcp");
    word.set("network.congestion.gain = 0.25").unwrap();
    assert_eq!(word.get("network.congestion").unwrap(), json!({ "kind": "dctcp", "gain": 0.25 }));
    word.set("network.congestion = swift").unwrap();
    word.set("network.congestion.kind = ndp").unwrap();
    assert_eq!(run(&word).spec["network"]["congestion"]["kind"], "ndp");
    // what is no name of a plug-in stays what it is
    let error = word.set("topology.latency.kilo = 1").unwrap_err().to_string();
    assert!(error.contains("`topology.latency.kilo` leads through something that is not a table"), "{error}");
    for (kind, wanted) in
        [("dctpc", "did you mean `dctcp`?"), ("torus", "there is `topology.kind = \"torus\"`")]
    {
        word.set(&format!("network.congestion = {kind}")).unwrap();
        let error = Prepared::new(&word, Path::new("")).err().unwrap().to_string();
        assert!(error.contains("network.congestion: unknown kind") && error.contains(wanted), "{error}");
    }
}
