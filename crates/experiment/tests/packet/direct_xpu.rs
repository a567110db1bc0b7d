//! What the experiments of the Direct xPU paper must show: the latencies that it prints, bandwidth near the line rate, and
//! the loss table of an independent simulation. Skipped where the reference data are missing.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use stratasim_core::observe::Blind;
use stratasim_experiment::{Document, Prepared};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/direct-xpu")
}

/// Seconds that `file` takes with `changes`.
fn seconds(file: &str, changes: &[String]) -> f64 {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let mut document = Document::from_toml(file, &text).unwrap();
    document.take("sweep");
    for change in changes {
        document.set(change).unwrap();
    }
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let started = Instant::now();
    let mut prepared = Prepared::new(&document, &folder()).unwrap_or_else(|error| panic!("{error}"));
    prepared.run(&mut Blind, started).unwrap().makespan_s
}

fn reference(name: &str) -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(_) => {
            eprintln!("skipped: no {}", path.display());
            None
        }
    }
}

/// Seconds that a schedule of two ranks takes, or of three.
fn schedule_seconds(ranks: &[&str], changes: &[&str]) -> f64 {
    let file = tempfile::Builder::new().suffix(".goal").tempfile().unwrap();
    let mut text = format!("num_ranks {}\n", ranks.len());
    for (number, operations) in ranks.iter().enumerate() {
        text += &format!("rank {number} {{\n{operations}\n}}\n");
    }
    std::fs::write(file.path(), text).unwrap();
    let mut sets = vec![format!("workload.file={}", file.path().display())];
    sets.extend(changes.iter().map(|&change| change.to_owned()));
    seconds("machine.toml", &sets)
}

fn write_seconds(bytes: u64) -> f64 {
    let ends = [format!("a: send {bytes}b to 1 tag 1"), format!("a: recv {bytes}b from 0 tag 1")];
    schedule_seconds(&[&ends[0], &ends[1]], &[])
}

fn read_seconds(bytes: u64) -> f64 {
    let asks = format!("a: send 0b to 1 tag 1\nc: recv {bytes}b from 1 tag 2");
    let answers = format!(
        "a: recv 0b from 0 tag 1\nb: calc 70\nb requires a\nc: send {bytes}b to 0 tag 2\nc requires b"
    );
    schedule_seconds(&[&asks, &answers], &["network.completion=receiver"])
}

#[test]
fn four_bytes_take_the_printed_latencies_and_more_bytes_their_time_on_two_links() {
    let Some(file) = reference("directxpu.json") else { return };
    let row = |id: &str| file["rows"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone();
    let near = |us: f64, expected: f64, share: f64, what: &str| {
        assert!((us - expected).abs() <= share * expected, "{what}: {us} us for {expected}");
    };
    near(write_seconds(4) * 1e6, row("lat.write4")["paper"].as_f64().unwrap(), 0.001, "write");
    near(read_seconds(4) * 1e6, row("lat.read4")["paper"].as_f64().unwrap(), 0.005, "read");
    for bytes in [64, 256, 1024, 1408, 4096, 8192] {
        let expected = row(&format!("lat.pred.{bytes}"))["computed"].as_f64().unwrap();
        near(write_seconds(bytes) * 1e6, expected, 0.003, &format!("{bytes} B"));
    }
    for (bits, id) in [(1_000_000_u64, "bw.1Mb"), (100_000_000, "bw.1Gb")] {
        let expected = row(id)["computed"].as_f64().unwrap();
        for taken in [write_seconds(bits / 8), read_seconds(bits / 8)] {
            near(bits as f64 / taken / 1e9, expected, 0.015, id);
        }
    }
}

#[test]
fn the_host_trigger_adds_its_time_and_two_one_way_trips() {
    let host = "t: calc 1000000\nh: send 4b to 0 tag 7\nh requires t";
    let starts = "h: recv 4b from 2 tag 7\na: send 4b to 1 tag 1\na requires h";
    let whole = schedule_seconds(&[starts, "a: recv 4b from 0 tag 1", host], &[]);
    // a register write is complete for the network when it is acknowledged
    let expected = 1e-3 + 2.0 * write_seconds(4);
    assert!((whole - expected).abs() < 1e-9, "{whole} for {expected}");
}

#[test]
fn goodput_under_loss_is_that_of_the_reference() {
    let Some(table) = reference("rltp_loss_sim.json") else { return };
    const WIDE: &str = "network.congestion={kind=\"fixed-window\", window=\"141568 B\"}";
    let modes = [
        ("srx", "network.recovery={kind=\"rltp\"}", None),
        ("sr", "network.recovery={kind=\"irn\"}", None),
        ("gbn_nak_w128_rto1ms", "network.recovery={kind=\"go-back-n\", timeout=\"1 ms\"}", Some(WIDE)),
        (
            "gbn_to_rto1ms",
            "network.recovery={kind=\"go-back-n\", nak=\"never\", timeout=\"1 ms\"}",
            Some(WIDE),
        ),
    ];
    for (mode, recovery, window) in modes {
        let rows = table.as_array().unwrap().iter().find(|entry| entry["mode"] == mode).unwrap();
        for row in rows["rows"].as_array().unwrap() {
            let [loss, goodput] = [0, 1].map(|column| row[column].as_f64().unwrap());
            let runs: u32 = if loss > 0.0 { 30 } else { 1 };
            let samples: Vec<f64> = (1..=runs)
                .map(|seed| {
                    let mut changes = vec![recovery.to_owned(), format!("seed={seed}")];
                    changes.push(format!("network.loss.probability={loss:?}"));
                    changes.extend(window.map(str::to_owned));
                    seconds("loss.toml", &changes)
                })
                .collect();
            let count = f64::from(runs);
            let mean = samples.iter().sum::<f64>() / count;
            let square = samples.iter().map(|taken| (taken - mean).powi(2)).sum::<f64>();
            // three standard errors of the twenty runs of the reference and of ours
            let chance = 3.0 * (square / (count - 1.0).max(1.0) * (1.0 / 20.0 + 1.0 / count)).sqrt();
            let expected = 8e-3 / goodput;
            let share = if loss > 0.0 { 0.1 } else { 0.001 };
            assert!(
                (mean - expected).abs() <= share * expected + chance,
                "{mode} at {loss}: {:.4} Gb/s for {goodput}",
                8e-3 / mean
            );
        }
    }
}
