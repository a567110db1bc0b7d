//! Goodput of 1 MB under loss, against an independent simulation of the same protocols: 10 Gb/s, a round trip of 10 us,
//! packets of 1,024 bytes with 82 of headers, acknowledgements of 84 bytes, both lost with the same probability.

use std::path::PathBuf;

use stratasim_core::Duration;
use stratasim_transport::harness::channel::{Impairment, Loss};
use stratasim_transport::harness::{Setting, run};
use stratasim_transport::{PacketSizes, Profile, TransportSpec};

const SIZES: PacketSizes = PacketSizes {
    payload_bytes: 1024,
    header_bytes: 82,
    control_bytes: 84,
    full_packets: true,
    count_headers: true,
};

/// Runs of the reference behind each row.
const SEEDS: f64 = 20.0;

/// Seconds and sent / needed of many runs: mean and standard deviation of each.
fn measure(recovery: &str, window: &str, loss: f64) -> [(f64, f64); 2] {
    let text = format!(r#"{{"congestion": {{"kind": "fixed-window"{window}}}, "recovery": {recovery}}}"#);
    let spec = TransportSpec { packets: SIZES, ..serde_json::from_str(&text).unwrap() };
    let mut samples = Vec::new();
    for seed in 0..60 {
        let impairment = Impairment { loss: Loss::Bernoulli(loss), ..Impairment::default() };
        let (forward, back) = (impairment.clone(), impairment);
        let limit = Duration::from_ns(1_000_000_000_000);
        let setting = Setting { forward, back, seed, limit, ..Setting::default() };
        let profile = Profile::new(&spec, setting.path(1106, 84)).unwrap();
        let outcome = run(&profile, &setting, &[1_000_000]).unwrap();
        samples.push([outcome.acknowledged_at.as_secs_f64(), outcome.sent_per_needed()]);
    }
    [0, 1].map(|column| {
        let count = samples.len() as f64;
        let mean = samples.iter().map(|sample| sample[column]).sum::<f64>() / count;
        let square =
            samples.iter().map(|sample| (sample[column] - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, square.sqrt())
    })
}

/// Compares each loss rate of a mode: within 10 %, and what twenty runs of the reference may be off by chance (three standard
/// errors, which matter where a run has a time-out or none).
fn agree(mode: &str, recovery: &str, window: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/rltp_loss_sim.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no {}", path.display());
        return;
    };
    let table: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rows = table.as_array().unwrap().iter().find(|entry| entry["mode"] == mode).unwrap();
    for row in rows["rows"].as_array().unwrap() {
        let [loss, goodput, sent] = [0, 1, 2].map(|column| row[column].as_f64().unwrap());
        let [(seconds, deviation), (ours_sent, sent_deviation)] = measure(recovery, window, loss);
        let reference = 8e6 / (goodput * 1e9);
        let ours = format!(
            "{mode} at {loss}: {:.4} Gb/s, {ours_sent:.3}; reference {goodput}, {sent}",
            8e-3 / seconds
        );
        eprintln!("{ours}");
        // the table has four digits behind the point
        let chance = 3.0 * deviation / SEEDS.sqrt() + 0.00005 / goodput * reference;
        assert!((reference - seconds).abs() <= 0.1 * seconds + chance, "{ours}");
        let chance = 3.0 * sent_deviation / SEEDS.sqrt() + 0.0005;
        assert!((sent - ours_sent).abs() <= 0.1 * ours_sent + chance, "{ours}");
    }
}

/// Go-back-N of the reference has 128 packets under way.
const WIDE: &str = r#", "window": "141568 B""#;

#[test]
fn irn() {
    agree("sr", r#"{"kind": "irn"}"#, "");
}

#[test]
fn rltp() {
    agree("srx", r#"{"kind": "rltp"}"#, "");
}

#[test]
fn go_back_n_with_reports() {
    agree("gbn_nak", r#"{"kind": "go-back-n"}"#, WIDE);
    agree("gbn_nak_w128_rto1ms", r#"{"kind": "go-back-n", "timeout": "1 ms"}"#, WIDE);
}

#[test]
fn go_back_n_without_reports() {
    agree("gbn_to_rto67ms", r#"{"kind": "go-back-n", "nak": "never"}"#, WIDE);
    agree("gbn_to_rto1ms", r#"{"kind": "go-back-n", "nak": "never", "timeout": "1 ms"}"#, WIDE);
}
