//! What a report says of packets that were sent again though they were not lost.

use crate::packets::{count, run};
use crate::support::{network, topology};
use stratasim_core::model::NetworkReport;

/// So many hosts send so many bytes each to one more, all behind a switch, by windows of 100 kB and go-back-N with such a time-out.
fn incast(from: usize, bytes: u64, timeout_us: u32, rest: &str) -> NetworkReport {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 9, "bandwidth": "10 Gbps", "latency": "1 us"}"#);
    let messages: Vec<_> = (0..from).map(|host| (host, 8, bytes)).collect();
    let spec = format!(
        r#"{{"kind": "packet", "congestion": {{"kind": "fixed-window", "window": "100 kB"}},
            "recovery": {{"kind": "go-back-n", "timeout": "{timeout_us} us"}}, {rest}}}"#
    );
    run(network(&spec, machine.clone()).as_mut(), machine.compute_nodes(), &messages).1
}

/// The time-outs, the packets that were dropped or lost, and what is said of them.
fn told(report: &NetworkReport) -> (u64, u64, Vec<&str>) {
    let lost = ["network.drops", "network.lost_on_links"].iter().map(|name| count(report, name)).sum();
    (count(report, "network.timeouts"), lost, report.notes.iter().map(String::as_str).collect())
}

/// Where packets may be lost, time-outs are told of that are many, and more than twice as many as what was lost. Faults that hold packets
/// up have been asked for.
#[test]
fn many_time_outs_in_vain_are_told_beside_losses() {
    let queue = r#""queue": "drop-tail", "buffer": "10 MB""#;
    let faults = |faults: &str| format!(r#"{queue}, "faults": {{{faults}}}"#);
    let loss = |probability: f64| format!(r#"{queue}, "loss": {{"probability": {probability}}}"#);
    let late = faults(r#""reordering": {"probability": 0.01, "delay": "1 us"}"#);
    for (rest, bytes, timeout_us, is_told, times, lost_of_each) in [
        // all are in vain, or most
        (queue.to_owned(), 50_000, 20, true, 300..1000, 0.0..0.01),
        (queue.to_owned(), 100_000, 30, true, 16..20, 0.0..0.01),
        (loss(0.02), 50_000, 20, true, 300..1000, 0.1..0.5),
        // few, as many as one would think, and nobody knows
        (queue.to_owned(), 50_000, 30, false, 4..16, 0.0..0.01),
        (loss(0.1), 50_000, 20, false, 300..2000, 0.5..1.0),
        (queue.to_owned(), 100_000, 15, false, 300..20_000, 1.0..10.0),
        (late, 50_000, 20, false, 300..1000, 0.0..0.01),
        // none
        (queue.to_owned(), 50_000, 50, false, 0..1, 0.0..1.0),
    ] {
        let report = incast(8, bytes, timeout_us, &rest);
        let (timeouts, lost, notes) = told(&report);
        let share = lost as f64 / timeouts.max(1) as f64;
        let is_the_case = times.contains(&timeouts) && lost_of_each.contains(&share);
        assert!(is_the_case, "{rest}, {bytes}: {timeouts} time-outs, {lost} lost");
        let start = format!("{timeouts} time-outs, though only {lost} packets were dropped, cut or lost");
        let found: Vec<_> = notes.iter().filter(|note| note.starts_with(&start)).collect();
        assert_eq!((found.len(), notes.len()), (usize::from(is_told), usize::from(is_told)), "{notes:?}");
    }
}

/// Where nothing is lost, each is; and where there is one way only, no balancing of packets can be the reason.
#[test]
fn every_time_out_without_a_loss_is_told() {
    for (from, bytes, timeout_us, range) in
        [(2, 15_000, 12, 1..2), (2, 20_000, 12, 2..3), (8, 50_000, 20, 20..1000), (2, 15_000, 50, 0..1)]
    {
        for balancing in ["per-flow", "random"] {
            let rest = format!(r#""queue": "lossless", "balancing": "{balancing}""#);
            let report = incast(from, bytes, timeout_us, &rest);
            let (timeouts, lost, notes) = told(&report);
            assert!(range.contains(&timeouts) && lost == 0, "{timeouts} time-outs, {lost} lost");
            let times = if timeouts == 1 { "time-out" } else { "time-outs" };
            let start = format!("{timeouts} {times}, though nothing is lost here: packets waited for longer");
            let is_told = timeouts > 0;
            assert_eq!(notes.len(), usize::from(is_told), "{notes:?}");
            assert!(notes.iter().all(|note| note.starts_with(&start)), "{notes:?}");
        }
    }
}

/// A recovery that keeps what is early repeats some of it where packets overtake each other: that is no time-out, and is not told as one.
#[test]
fn what_is_sent_again_without_a_time_out_is_no_news() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts-per-leaf": 4, "bandwidth": "10 Gbps", "latency": "1 us"}"#,
    );
    let messages: Vec<_> = (0..4).map(|host| (host, host + 4, 400_000)).collect();
    let spec = r#"{"kind": "packet", "congestion": {"kind": "fixed-window", "window": "100 kB"}, "recovery": "irn",
        "queue": "lossless", "balancing": "random"}"#;
    let report = run(network(spec, machine.clone()).as_mut(), machine.compute_nodes(), &messages).1;
    assert!(count(&report, "network.retransmissions") > 0);
    let (timeouts, lost, notes) = told(&report);
    assert_eq!((timeouts, lost, notes), (0, 0, Vec::new()));
}
