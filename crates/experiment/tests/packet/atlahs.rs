//! What the experiments of the ATLAHS paper must show, in a form small enough for a test: message and packet level agree on a
//! full fat tree and part on an oversubscribed one, and every file of the folder can be run.

use std::path::{Path, PathBuf};
use std::time::Instant;

use stratasim_core::observe::Blind;
use stratasim_experiment::{Document, Prepared, Sweep};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/atlahs")
}

fn document(file: &str) -> Document {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    Document::from_toml(file, &text).unwrap()
}

/// Seconds of an experiment.
fn seconds_of(document: &Document) -> f64 {
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let started = Instant::now();
    let mut prepared = Prepared::new(document, &folder()).unwrap_or_else(|error| panic!("{error}"));
    prepared.run(&mut Blind, started).unwrap().makespan_s
}

/// Seconds of the training step of levels.toml with a quarter of its decoders on the full tree, on the network of a case of the
/// sweep there.
fn step_seconds(case: &str) -> f64 {
    let mut document = document("levels.toml");
    let cases = document.take("sweep").and_then(|sweep| sweep.get("case")).unwrap();
    let found = cases.as_array().unwrap().iter().find(|each| each["name"] == case);
    let set = &found.unwrap_or_else(|| panic!("no case {case}"))["set"];
    document.set("workload.file=llm-small.strata").unwrap();
    document.set("topology.up=[1, 8]").unwrap();
    for (key, value) in set.as_object().unwrap() {
        document.set_json("test", key, value.clone()).unwrap();
    }
    seconds_of(&document)
}

/// Seconds of a ring all-reduce of 32 ranks on the machine of levels.toml, each neighbour below another switch.
fn seconds(up: &str, network: Option<&str>) -> f64 {
    let mut document = document("levels.toml");
    document.take("sweep");
    document
        .set("workload={kind=\"goal\", pattern={kind=\"ring-allreduce\"}, ranks=32, bytes=\"32 MB\"}")
        .unwrap();
    document.set(&format!("topology.up={up}")).unwrap();
    if let Some(network) = network {
        document.set(&format!("network={network}")).unwrap();
    }
    seconds_of(&document)
}

#[test]
fn a_training_step_takes_as_long_at_message_and_packet_level_on_a_full_tree() {
    let message = step_seconds("message");
    for case in ["MPRDMA", "Swift"] {
        let ratio = step_seconds(case) / message;
        assert!((1.0..1.02).contains(&ratio), "{case}: {ratio}");
    }
    // Ways by a hash: some uplinks get more than their share, and the ring needs them all.
    let hashed = step_seconds("MPRDMA, hashed") / message;
    assert!((1.05..1.25).contains(&hashed), "by a hash: {hashed}");
}

#[test]
fn message_and_packet_level_agree_on_a_full_tree_and_part_on_an_oversubscribed_one() {
    let packets =
        "{kind=\"packet\", congestion={kind=\"ndp\"}, balancing={kind=\"least-queue\"}, buffer=\"1 MiB\"}";
    // 62 messages of 1 MB one after the other, at 25 GB/s and 2 us, and g between them
    let closed_form = 62.0 * (1e6 / 25e9 + 2e-6);
    let message = seconds("[1, 8]", None);
    assert!((message / closed_form - 1.0).abs() < 0.02, "{message} s for {closed_form} s");
    // the rates of the routes are the same where there are fewer of them
    let oversubscribed = seconds("[1, 2]", None);
    assert!((oversubscribed - message).abs() < 1e-12, "{oversubscribed} s, {message} s");
    // Headers are 1.6 %, and each message finds its rate anew; nothing of it hides behind computation here as in the step above,
    // which is within 2 %.
    let full = seconds("[1, 8]", Some(packets)) / message;
    assert!((1.0..1.10).contains(&full), "{full} on the full tree");
    // eight hosts share two ways up: a quarter of the rate
    let quarter = seconds("[1, 2]", Some(packets)) / message;
    assert!((3.5..4.6).contains(&quarter), "{quarter} where four hosts share a way");
}

#[test]
fn every_file_of_the_folder_can_be_run() {
    for file in ["levels.toml", "micro.toml", "placement.toml", "placement-packets.toml"] {
        Sweep::new(document(file), &folder()).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
}
